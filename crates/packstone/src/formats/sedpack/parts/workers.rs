//! Parts of a dataset by the names that workers know them by, each perhaps tried more than once.
//!
//! ```text
//! w3            the folder and the part file of the first try
//! w3.try1       those of the second one, after a worker that left its shards and no part file
//! ```

use std::collections::BTreeSet;
use std::sync::Arc;

use packstone_container::Limits;
use packstone_io::{Kind, RelPath, RootMut};

use super::super::codes;
use super::super::layout::{PART_PREFIX, PART_SUFFIX, SPLITS};
use super::super::options::FillerOptions;
use super::super::reader::read_info;
use super::super::writer::PartFiller;
use super::merge;
use crate::error::{Error, Place, Result};
use crate::format::{MergeOptions, PartSource, Parts, Writer, Written};
use crate::model::Schema;

/// Tries of one part at most.
const TRIES: u32 = 1000;
/// Between the name of a part and the number of a later try.
const TRY: &str = ".try";

/// The parts of a dataset.
pub struct Workers {
    root: Arc<dyn RootMut>,
}

fn invalid(message: String) -> Error {
    Error::new(Kind::Invalid, codes::PARTS_INVALID, Place::default(), message)
}

fn tried(name: &str, number: u32) -> String {
    if number == 0 { name.to_owned() } else { format!("{name}{TRY}{number}") }
}

/// The name that a worker knows a try by.
fn known(tried: &str) -> &str {
    match tried.rsplit_once(TRY) {
        Some((name, number)) if number.parse::<u32>().is_ok() => name,
        _ => tried,
    }
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

    /// The tries of a part that somebody began, in their order.
    fn tries(&self, name: &str) -> impl Iterator<Item = String> {
        let tries = (0..TRIES).map(|number| tried(name, number));
        tries.take_while(|tried| !merge::is_unused(self.root.as_ref(), tried))
    }

    /// Removes what tries of joined parts left that do not count: nobody writes these parts any more.
    fn sweep(&self, names: &[String]) {
        let root = self.root.as_ref();
        // Best effort: what stays is listed nowhere, and `repair` knows it.
        for tried in names.iter().flat_map(|name| self.tries(name)).collect::<Vec<_>>() {
            let (Ok(folder), Ok(part)) = (merge::part_folder(&tried), merge::part_path(&tried))
            else {
                continue;
            };
            if !merge::is_merged(root, &tried) {
                let _ = root.remove(&part);
                for split in SPLITS {
                    let split = RelPath::new(split).unwrap_or_default();
                    remove_all(root, &split.below(&folder), 0);
                }
            }
        }
    }
}

/// Removes a folder and what is in it, as deep as shards lie.
fn remove_all(root: &dyn RootMut, folder: &RelPath, depth: usize) {
    const DEEPEST: usize = 16;
    for entry in root.list(folder).unwrap_or_default() {
        let Ok(path) = folder.join(&entry.name) else {
            continue;
        };
        if root.remove(&path).is_err() && depth < DEEPEST {
            remove_all(root, &path, depth + 1);
        }
    }
    let _ = root.remove_folder(folder);
}

impl Parts for Workers {
    fn open(&self, name: &str) -> Result<Box<dyn Writer>> {
        merge::part_folder(name)?;
        if name.contains('/') || known(name) != name {
            let message =
                format!("expected the name of a part without / and {TRY}, found {name:?}");
            return Err(invalid(message));
        }
        let mut next = 0;
        for tried in self.tries(name) {
            let root = self.root.as_ref();
            if merge::is_waiting(root, &tried) || merge::is_merged(root, &tried) {
                let message = format!("expected a part to be written, found {name:?} finished");
                let place = Place::default();
                return Err(Error::new(Kind::Exists, codes::PARTS_INVALID, place, message));
            }
            next += 1;
        }
        if next < TRIES {
            let options = FillerOptions { exact_metadata: true, ..FillerOptions::default() };
            let (root, name) = (Arc::clone(&self.root), tried(name, next));
            return Ok(Box::new(PartFiller::open(root, &name, options)?));
        }
        Err(invalid(format!("expected a part in fewer tries, found {TRIES} that did not end")))
    }

    fn finished(&self) -> Result<Vec<String>> {
        let files = merge::part_files(self.root.as_ref())?;
        let names = files
            .iter()
            .filter_map(|path| path.as_str().strip_prefix(PART_PREFIX)?.strip_suffix(PART_SUFFIX));
        let names: BTreeSet<String> = names.map(|tried| known(tried).to_owned()).collect();
        Ok(names.into_iter().collect())
    }

    fn commit(&self, names: &[String]) -> Result<Written> {
        let wanted = match names {
            [] => self.finished()?,
            names => names.to_vec(),
        };
        let mut parts = Vec::with_capacity(wanted.len());
        for name in &wanted {
            let tries: Vec<String> = self.tries(name).collect();
            let root = self.root.as_ref();
            if tries.iter().any(|tried| merge::is_merged(root, tried)) {
                continue;
            }
            let found = tries.into_iter().find(|tried| merge::is_waiting(root, tried));
            let missing = || invalid(format!("expected a finished part {name:?}, found none"));
            parts.push(PartSource::Named(found.ok_or_else(missing)?));
        }
        let mut written = Written::default();
        if !parts.is_empty() {
            let options = MergeOptions { parts, ..MergeOptions::default() };
            written = merge::merge(&self.root, &options)?;
        }
        self.sweep(&wanted);
        Ok(written)
    }
}
