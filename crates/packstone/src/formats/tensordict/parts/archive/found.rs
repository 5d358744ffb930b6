//! The files and folders of an archive, found by the names of its entries.

use std::collections::HashMap;

use packstone_container::zip::Record;

use super::super::super::codes;
use super::super::store::{Item, ItemKind, join};
use crate::error::Place;
use crate::model::{Finding, Severity};

/// The files and folders of an archive by their names.
#[derive(Default)]
pub(super) struct Found<'a> {
    /// Paths of folders, and what is in them.
    pub(super) folders: Vec<(&'a str, Vec<Item>)>,
    /// Where each folder is among them.
    places: HashMap<&'a str, usize>,
    /// Where the last one is that was asked for: entries mostly come folder by folder.
    last: usize,
    pub(super) notes: Vec<Finding>,
    depth: usize,
}

/// The path of the folder that holds what is at `path`, and the name there.
fn parted(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

impl<'a> Found<'a> {
    /// Nothing yet; entries in more than `depth` folders inside one another are not looked at.
    pub(super) fn new(depth: usize) -> Self {
        Self { depth, ..Self::default() }
    }

    pub(super) fn note(
        &mut self,
        severity: Severity,
        code: &'static str,
        name: &str,
        message: &str,
    ) {
        self.notes.push(Finding::new(severity, code, Place::file(name), message));
    }

    pub(super) fn add(&mut self, number: usize, record: &'a Record) {
        let name = record.unflagged_name().unwrap_or(record.name());
        if record.unflagged_name().is_some() {
            let message = "expected the flag of a UTF-8 name, found none; the original library does not find this entry";
            self.note(Severity::Info, codes::UNFLAGGED_NAME, name, message);
        }
        let path = name.strip_suffix('/').unwrap_or(name);
        if escapes(path) {
            let message = "expected names that are paths below the archive, found one that leads elsewhere; not read";
            self.note(Severity::Error, codes::PATH_ESCAPE, name, message);
            return;
        }
        if path.bytes().filter(|byte| *byte == b'/').count() > self.depth {
            let message = format!(
                "expected at most {} folders inside one another, found more; not read",
                self.depth
            );
            let name: String = name.chars().take(200).collect();
            self.note(Severity::Error, codes::TOO_DEEP, &name, &message);
            return;
        }
        if record.is_dir() {
            self.folder(path);
            return;
        }
        let (folder, name) = parted(path);
        let at = self.folder(folder);
        self.put(
            at,
            Item { name: name.to_owned(), kind: ItemKind::File, len: Some(record.len()), number },
        );
    }

    fn put(&mut self, at: usize, item: Item) {
        if let Some((_, items)) = self.folders.get_mut(at) {
            items.push(item);
        }
    }

    /// Where a folder is; one that is new is made with all that hold it.
    fn folder(&mut self, path: &'a str) -> usize {
        if self.folders.get(self.last).is_some_and(|(last, _)| *last == path) {
            return self.last;
        }
        if let Some(at) = self.places.get(path) {
            self.last = *at;
            return *at;
        }
        if !path.is_empty() {
            let (above, name) = parted(path);
            let at = self.folder(above);
            self.put(
                at,
                Item { name: name.to_owned(), kind: ItemKind::Folder, len: None, number: 0 },
            );
        }
        self.last = self.folders.len();
        self.folders.push((path, Vec::new()));
        self.places.insert(path, self.last);
        self.last
    }

    /// Sorts all folders, and notes names that are files and folders at once: only one of them can be seen.
    pub(super) fn settle(&mut self) {
        let mut both = Vec::new();
        for (folder, items) in &mut self.folders {
            items.sort_by(|a, b| a.name.cmp(&b.name));
            let same = items.chunk_by(|a, b| a.name == b.name).filter(|same| same.len() > 1);
            let folders = same.filter_map(|same| same.iter().find(|i| i.kind == ItemKind::Folder));
            both.extend(folders.map(|item| join(folder, &item.name)));
        }
        both.sort_unstable();
        for path in both {
            let message = "expected a file or a folder of this name, found both";
            self.note(Severity::Error, codes::NAME_COLLISION, &path, message);
        }
    }
}

/// True for a name that a careless program would take somewhere else. A key `x:y` of older releases is none.
fn escapes(path: &str) -> bool {
    let drive = |part: &[u8]| matches!(part, [letter, b':'] if letter.is_ascii_alphabetic());
    let leads = |part: &[u8]| matches!(part, b"" | b"." | b"..") || drive(part);
    path.bytes().any(|byte| matches!(byte, b'\\' | 0))
        || path.as_bytes().split(|byte| *byte == b'/').any(leads)
}
