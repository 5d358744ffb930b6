//! The end of a filler: what is stored is listed, or, where it never finishes, taken back.

use std::sync::Arc;

use packstone_container::Limits;
use packstone_io::{Kind, RelPath};

use super::super::codes;
use super::super::document::DatasetInfo;
use super::super::layout::ROOT_DOCUMENT;
use super::super::parts::list::ListPointer;
use super::super::parts::{merge, publish};
use super::super::reader::root_document;
use super::Filler;
use crate::error::{Error, Place, Result};
use crate::format::Written;

impl Filler {
    /// Stores what is left and lists everything: up to `dataset_info.json`, or, for a filler with a path of its own, up
    /// to the list of that path. Returns what was written and the pointers for a coordinator.
    ///
    /// # Errors
    /// `Conflict`, `Io`; then nothing is published.
    pub fn finish(mut self) -> Result<(Written, Vec<ListPointer>)> {
        self.check_failed()?;
        for lane in 0..self.lanes.len() {
            let rest = self.lanes.get_mut(lane).and_then(|l| l.rotation.finish());
            rest.map_or(Ok(()), |shard| self.store(lane, shard))?;
        }
        while !self.pipeline.is_empty() {
            self.collect()?;
        }
        while let Some(synced) = self.syncing.next_result() {
            synced.and_then(|r| r)?;
        }
        let root = Arc::clone(&self.root);
        let algorithms = self.info.algorithms.clone();
        let mut updates = Vec::new();
        for lane in self.lanes.iter().filter(|lane| !lane.done.is_empty()) {
            let fresh = publish::write_fresh(root.as_ref(), &lane.folder, &lane.done, &algorithms)?;
            if self.relative.is_root() {
                updates.extend(fresh);
            } else {
                updates.extend(publish::write_joint(
                    root.as_ref(),
                    &lane.folder,
                    fresh,
                    &algorithms,
                )?);
            }
        }
        // From here on nothing is taken back: where publishing fails, `repair` finds shards, lists and journal.
        self.lanes.clear();
        self.created = false;
        let journal = self.journal.take();
        if self.relative.is_root() && !updates.is_empty() {
            let schema = Arc::clone(&self.info.schema);
            let same = move |info: &mut DatasetInfo| {
                if info.schema == schema {
                    return Ok(());
                }
                let message =
                    "expected the attributes that the filler was opened with, found others";
                Err(Error::new(
                    Kind::Conflict,
                    codes::ROOT_CHANGED,
                    Place::file(ROOT_DOCUMENT),
                    message,
                ))
            };
            let lists =
                updates.iter().map(|u| publish::Update::List(u.file.path.clone())).collect();
            publish::publish(&root, lists, self.options.patience, &Limits::default(), same)?;
        }
        self.journal = journal;
        Ok((self.written.clone(), updates))
    }

    /// Finishes a filler with a path of its own and leaves its part file for `merge`.
    ///
    /// # Errors
    /// As for [`Filler::finish`]; `Exists` where there is a part of that name.
    pub fn finish_part(self, name: &str) -> Result<Written> {
        let (root, info) = (Arc::clone(&self.root), self.info.clone());
        let path = merge::part_path(name)?;
        if root.len(&path).is_ok() {
            let message = format!("expected a new part, found {name:?} written already");
            return Err(Error::new(
                Kind::Exists,
                codes::PARTS_INVALID,
                Place::file(&path),
                message,
            ));
        }
        let (written, updates) = self.finish()?;
        root.create(&path, merge::part_text(name, &info, &updates).as_bytes())?;
        root.persist(&path)?;
        root.persist(&RelPath::root())?;
        Ok(written)
    }

    /// Takes back what was stored and never published.
    fn discard(&mut self) {
        // Best effort: what cannot be removed stays unlisted, and `repair` knows it.
        while self.pipeline.next_result().is_some() {}
        self.lanes.iter().for_each(|lane| lane.discard(self.root.as_ref()));
        if self.created
            && let Ok(document) = root_document()
        {
            let _ = self.root.remove(&document);
        }
    }
}

impl Drop for Filler {
    fn drop(&mut self) {
        if !self.lanes.is_empty() || self.created {
            if self.options.keep_partial {
                while !self.pipeline.is_empty() && self.collect().is_ok() {}
                return;
            }
            self.discard();
        }
        if let Some((path, journal)) = self.journal.take() {
            drop(journal);
            let _ = self.root.remove(&path);
        }
    }
}
