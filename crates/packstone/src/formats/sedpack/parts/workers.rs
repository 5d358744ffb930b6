//! Parts of a dataset by the names that workers know them by, each perhaps tried more than once.
//!
//! ```text
//! train/w3.try5f0c…/            shards of one try of the part w3; each try has a folder that nobody else writes to
//! packstone-part-w3.try5f0c….json     that try is finished
//! ```

use std::collections::BTreeSet;
use std::sync::Arc;

use packstone_container::Limits;
use packstone_io::{Kind, RelPath, RootMut};

use super::super::codes;
use super::super::layout::{MERGED_PREFIX, PART_PREFIX, PART_SUFFIX, SPLITS};
use super::super::options::FillerOptions;
use super::super::reader::read_info;
use super::super::writer::PartFiller;
use super::merge;
use crate::error::{Error, Place, Result};
use crate::format::{MergeOptions, PartSource, Parts, Writer, Written};
use crate::model::Schema;

/// Between the name of a part and what sets its tries apart.
const TRY: &str = ".try";

/// The parts of a dataset.
pub struct Workers {
    root: Arc<dyn RootMut>,
}

fn invalid(message: String) -> Error {
    Error::new(Kind::Invalid, codes::PARTS_INVALID, Place::default(), message)
}

/// The name that a worker knows a try by.
fn known(tried: &str) -> &str {
    tried.rsplit_once(TRY).map_or(tried, |(name, _)| name)
}

impl Workers {
    /// The parts of the dataset in `root`, whose attributes are those of `schema`.
    ///
    /// # Errors
    /// Those of opening; `parts_invalid` where the attributes are others.
    pub fn open(root: Arc<dyn RootMut>, schema: &Schema) -> Result<Self> {
        let info = read_info(root.as_ref(), &Limits::default())?;
        if *info.schema != *schema {
            let message = "expected a dataset with these attributes, found one with others";
            return Err(invalid(message.to_owned()));
        }
        Ok(Self { root })
    }

    /// The tries that are finished, waiting or merged.
    fn tries(&self, merged: bool) -> Result<Vec<String>> {
        let files = match merged {
            true => merge::merged_files(self.root.as_ref())?,
            false => merge::part_files(self.root.as_ref())?,
        };
        let prefix = if merged { MERGED_PREFIX } else { PART_PREFIX };
        let name = |path: &RelPath| {
            let name = path.as_str().strip_prefix(prefix)?.strip_suffix(PART_SUFFIX)?;
            name.contains(TRY).then(|| name.to_owned())
        };
        let mut tries: Vec<String> = files.iter().filter_map(name).collect();
        tries.sort();
        Ok(tries)
    }

    /// Removes what tries of joined parts left that do not count: nobody writes these parts any more.
    fn sweep(&self, names: &[String]) -> Result<()> {
        let merged = self.tries(true)?;
        let stale = |tried: &str| {
            tried.contains(TRY)
                && names.iter().any(|name| name == known(tried))
                && !merged.iter().any(|merged| merged == tried)
        };
        for tried in self.tries(false)?.iter().filter(|tried| stale(tried)) {
            self.root.remove(&merge::part_path(tried)?)?;
        }
        for split in SPLITS {
            let split = RelPath::new(split).unwrap_or_default();
            // Best effort: what stays is listed nowhere, and `repair` knows it.
            for entry in self.root.list(&split).unwrap_or_default() {
                if let (true, Ok(folder)) = (stale(&entry.name), split.join(&entry.name)) {
                    remove_all(self.root.as_ref(), &folder, 0);
                }
            }
        }
        Ok(())
    }
}

/// Removes a folder and what is in it, as deep as shards lie.
fn remove_all(root: &dyn RootMut, folder: &RelPath, depth: usize) {
    const DEEPEST: usize = 16;
    for entry in root.list(folder).unwrap_or_default() {
        let Ok(path) = folder.join(&entry.name) else { continue };
        if root.remove(&path).is_err() && depth < DEEPEST {
            remove_all(root, &path, depth + 1);
        }
    }
    let _ = root.remove_folder(folder);
}

impl Parts for Workers {
    fn open(&self, name: &str) -> Result<Box<dyn Writer>> {
        merge::part_folder(name)?;
        if name.contains('/') || name.contains(TRY) {
            let message =
                format!("expected the name of a part without / and {TRY}, found {name:?}");
            return Err(invalid(message));
        }
        let mut finished = self.tries(false)?.into_iter().chain(self.tries(true)?);
        if finished.any(|tried| known(&tried) == name) {
            let message = format!("expected a part to be written, found {name:?} finished");
            let place = Place::default();
            return Err(Error::new(Kind::Exists, codes::PARTS_INVALID, place, message));
        }
        let mut token = [0u8; 8];
        getrandom::fill(&mut token)
            .map_err(|e| Error::new(Kind::Io, "io/fault", Place::default(), e.to_string()))?;
        let tried = format!("{name}{TRY}{:016x}", u64::from_le_bytes(token));
        let options = FillerOptions { exact_metadata: true, ..FillerOptions::default() };
        Ok(Box::new(PartFiller::open(Arc::clone(&self.root), &tried, options)?))
    }

    fn finished(&self) -> Result<Vec<String>> {
        let names = self.tries(false)?.iter().map(|tried| known(tried).to_owned()).collect();
        Ok(BTreeSet::into_iter(names).collect())
    }

    fn commit(&self, names: &[String]) -> Result<Written> {
        let (waiting, merged) = (self.tries(false)?, self.tries(true)?);
        let wanted = match names {
            [] => self.finished()?,
            names => names.to_vec(),
        };
        let mut parts = Vec::with_capacity(wanted.len());
        for name in &wanted {
            let is_of = |tried: &&String| known(tried) == name;
            if merged.iter().any(|tried| is_of(&tried)) {
                continue;
            }
            let found = waiting.iter().find(is_of);
            let missing = || invalid(format!("expected a finished part {name:?}, found none"));
            parts.push(PartSource::Named(found.ok_or_else(missing)?.clone()));
        }
        let mut written = Written::default();
        if !parts.is_empty() {
            let options = MergeOptions { parts, ..MergeOptions::default() };
            written = merge::merge(&self.root, &options)?;
        }
        self.sweep(&wanted)?;
        Ok(written)
    }
}
