//! TensorDict memory maps: a folder or archive a tree, a file a tensor.
//!
//! ```text
//! meta.json              keys, shapes, dtypes of the leaves, class; marks the dataset
//! obs.memmap             a leaf: elements in C order, little-endian, no header
//! nt.memmap              a nested tensor: its parts one after another …
//! nt.shape.memmap        … and their sizes, 64-bit integers
//! next/meta.json …       a nested collection: a tensordict, a lazy stack, a value that is no tensor, …
//! text/other.pickle      what JSON cannot hold; never executed
//! x.tdz                  all of this as a zip file
//! ```
//!
//! | | read | written |
//! | --- | --- | --- |
//! | versions | 0 and 1, as folder and as archive | 1; what was read stays what it was |
//! | nodes | tensordicts, nested tensors, values and their stacks, lazy stacks, sub-tensordicts, lazy views, tensorclasses | the same |
//! | dtypes | all that the library saves, also those it cannot load | those it loads; the others on request |
//! | archives | stored, deflate, bzip2, LZMA; of any zip program | the same, aligned as the library does |
//! | in place | | rows, appended rows, added entries; checksums of archives |
//!
//! Rules are those of the page on the on-disk format; where the library differs, the modules say so.

pub mod audit;
pub mod codes;
pub mod document;
pub mod layout;
pub mod options;
pub mod parts;
pub mod reader;
pub mod schema;
pub mod writer;

use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::json::Object;
use packstone_io::{Kind, RelPath, Root, RootMut};

use crate::error::{Error, Place, Result};
use crate::format::{
    Audit, AuditOptions, Dataset, Format, MergeOptions, Plan, RepairOptions, RepairReport, Writer,
    Written,
};
use crate::model::{Fidelity, Holds};
use options::{SaveOptions, TreeOptions};

/// The format, see [the module](self).
#[derive(Debug)]
pub struct TensorDict;

impl Format for TensorDict {
    fn id(&self) -> &'static str {
        "tensordict"
    }

    fn title(&self) -> &'static str {
        "TensorDict: memory-mapped tensors in a tree of folders or a .tdz archive"
    }

    fn write_options(&self) -> &'static [(&'static str, &'static str)] {
        options::NAMES
    }

    fn mark(&self) -> &'static str {
        "meta.json, or a .tdz file"
    }

    fn file_endings(&self) -> &'static [&'static str] {
        &["tdz"]
    }

    fn recognizes(&self, root: &dyn Root) -> Result<bool> {
        let file = match root.sole_file() {
            Some(file) => {
                return Ok(
                    file.name().ends_with(layout::ARCHIVE) || reader::is_archive(root, file)?
                );
            }
            None => RelPath::new(layout::META).unwrap_or_default(),
        };
        match root.len(&file) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == Kind::NotFound => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn open(&self, root: Arc<dyn Root>, limits: &Limits) -> Result<Arc<dyn Dataset>> {
        let options = TreeOptions::default().with_limits(*limits);
        Ok(Arc::new(reader::TensorDictDataset::open_sketched(root, &options)?))
    }

    fn holds(&self, _plan: &Plan, options: &Object) -> Result<Holds> {
        let options = SaveOptions::default().with(options)?;
        Ok(Holds {
            bytes: false,
            metadata: false,
            dtype: match options.allow_unloadable_dtypes {
                true => |dtype| schema::support(dtype) != schema::Support::Foreign,
                false => |dtype| schema::support(dtype) == schema::Support::Full,
            },
            reserved: &layout::RESERVED_KEYS,
            ..Holds::ALL
        })
    }

    fn fidelity(&self, plan: &Plan, options: &Object) -> Result<Fidelity> {
        let options = SaveOptions::default().with(options)?;
        writer::check(plan, &options)?;
        let mut fidelity = Fidelity::default();
        let keys = match writer::once_root(plan) {
            Some(_) => Vec::new(),
            None => writer::keys(plan, &options),
        };
        for (name, key) in keys.iter().filter(|(name, key)| name != key) {
            fidelity.add("", format!("collection {name:?} is stored at the key {key:?}"), true);
        }
        Ok(fidelity)
    }

    fn create(
        &self,
        root: Arc<dyn RootMut>,
        plan: &Plan,
        options: &Object,
    ) -> Result<Box<dyn Writer>> {
        let options = SaveOptions::default().with(options)?;
        Ok(Box::new(writer::TreeWriter::create(root, plan, options)?))
    }

    fn part(&self, _root: Arc<dyn RootMut>, _name: &str) -> Result<Box<dyn Writer>> {
        Err(unsupported("written in parts"))
    }

    fn audit(&self, root: Arc<dyn Root>, options: &AuditOptions) -> Result<Audit> {
        audit::audit(root, options)
    }

    fn merge(&self, _root: Arc<dyn RootMut>, _options: &MergeOptions) -> Result<Written> {
        Err(unsupported("merged"))
    }

    fn repair(&self, root: Arc<dyn RootMut>, options: &RepairOptions) -> Result<RepairReport> {
        parts::repair::repair(&root, options)
    }
}

fn unsupported(what: &str) -> Error {
    let message = format!("expected a format that can be {what}, found tensordict");
    Error::new(Kind::Unsupported, codes::NOT_WRITABLE, Place::default(), message)
}
