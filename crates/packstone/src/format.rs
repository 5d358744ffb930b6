//! What a format offers: the traits that operations are written against.

mod audit;
mod collection;
mod context;
mod dataset;
mod mend;
mod parts;
mod selection;
mod shard;
mod sources;
mod writer;

use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::json::Object;
use packstone_io::{Kind, Root, RootMut};

use crate::error::{Error, Place, Result};
use crate::model::{Fidelity, Holds};

pub use audit::{Audit, AuditOptions, AuditTask, Check};
pub use collection::Collection;
pub use context::ReadContext;
pub use dataset::{Dataset, Info, Leaves, Rewrite};
pub use mend::{MergeOptions, PartSource, RepairOptions, RepairReport};
pub use parts::Parts;
pub use selection::{SELECTION, Selected};
pub use shard::{Access, ShardRef};
pub use sources::Sources;
pub use writer::{Plan, Writer, Written};

use selection::no_selections;
pub(crate) use sources::only;

/// A dataset format: how it is recognized, opened, made, checked and mended. One line in the registry each.
pub trait Format: Sync {
    /// The short name, as in `--to sedpack` and in codes.
    fn id(&self) -> &'static str;

    /// One line for people.
    fn title(&self) -> &'static str;

    /// The options of [`Format::create`] with their meaning, for `packstone formats` and for messages.
    fn write_options(&self) -> &'static [(&'static str, &'static str)];

    /// What it is recognized by, for people: `dataset_info.json`.
    fn mark(&self) -> &'static str;

    /// Endings of file names, without the dot, for datasets of this format that are one file.
    fn file_endings(&self) -> &'static [&'static str] {
        &[]
    }

    /// True where `root` holds a dataset of this format; looks at names only.
    ///
    /// # Errors
    /// I/O faults.
    fn recognizes(&self, root: &dyn Root) -> Result<bool>;

    /// True where samples of one dataset may differ in their fields, so that a copy takes collections as they are.
    fn mixes_fields(&self) -> bool {
        false
    }

    /// True where [`Format::create`] under these options goes on with what a killed writer left.
    fn resumes(&self, _options: &Object) -> bool {
        false
    }

    /// Opens a dataset; reads no more than its first control document.
    ///
    /// # Errors
    /// `NotFound`, `Unsupported` (newer version), `Invalid`, `Corrupt`.
    fn open(&self, root: Arc<dyn Root>, limits: &Limits) -> Result<Arc<dyn Dataset>>;

    /// Opens several roots as one dataset, in their order, where the format knows what that means.
    ///
    /// # Errors
    /// Those of [`Format::open`]; `Unsupported`; `Invalid` where they do not go together.
    fn open_many(&self, roots: Vec<Arc<dyn Root>>, limits: &Limits) -> Result<Arc<dyn Dataset>> {
        self.open(only(self.id(), roots)?, limits)
    }

    /// The same, following references that lead out of the dataset to `sources` and nowhere else. Formats without such
    /// references open as always.
    ///
    /// # Errors
    /// Those of [`Format::open_many`].
    fn open_following(
        &self,
        roots: Vec<Arc<dyn Root>>,
        limits: &Limits,
        _sources: &Sources,
    ) -> Result<Arc<dyn Dataset>> {
        self.open_many(roots, limits)
    }

    /// What samples of a new dataset can be made of, under these options. What they cannot be made of is carried in
    /// other words by the operations, see [`Plan::carried`].
    ///
    /// # Errors
    /// `Invalid` where the options contradict each other.
    fn holds(&self, plan: &Plan, options: &Object) -> Result<Holds>;

    /// What this format cannot hold of a dataset, under these options. Nothing is written.
    ///
    /// # Errors
    /// `Invalid` where the options contradict each other or the schema.
    fn fidelity(&self, plan: &Plan, options: &Object) -> Result<Fidelity>;

    /// Starts a new dataset in an empty folder.
    ///
    /// # Errors
    /// `Exists`, `Invalid`, `Denied`, `Io`.
    fn create(
        &self,
        root: Arc<dyn RootMut>,
        plan: &Plan,
        options: &Object,
    ) -> Result<Box<dyn Writer>>;

    /// Starts a worker's part of a dataset that exists: invisible until [`Format::merge`].
    ///
    /// # Errors
    /// Those of [`Format::open`]; `Exists` where there is a part of that name; `Unsupported`.
    fn part(&self, root: Arc<dyn RootMut>, name: &str) -> Result<Box<dyn Writer>>;

    /// The parts of a dataset that several processes write: of a new one in an empty folder, or of the one that is there and
    /// was made with the same plan.
    ///
    /// # Errors
    /// Those of [`Format::create`]; `Unsupported`, with the reason, where the format has none.
    fn parts(
        &self,
        root: Arc<dyn RootMut>,
        _plan: &Plan,
        _options: &Object,
    ) -> Result<Box<dyn Parts>> {
        self.part(root, "part")?;
        let message = format!("expected a format whose parts are named, found {}", self.id());
        Err(Error::new(Kind::Unsupported, "format/no_parts", Place::default(), message))
    }

    /// Prepares a check of a whole dataset.
    ///
    /// # Errors
    /// Those of [`Format::open`].
    fn audit(&self, root: Arc<dyn Root>, options: &AuditOptions) -> Result<Audit>;

    /// Prepares a check of several roots that are read as one dataset, and of what must hold between them.
    ///
    /// # Errors
    /// Those of [`Format::audit`]; `Unsupported` as for [`Format::open_many`].
    fn audit_many(&self, roots: Vec<Arc<dyn Root>>, options: &AuditOptions) -> Result<Audit> {
        self.audit(only(self.id(), roots)?, options)
    }

    /// Joins what workers wrote on their own into the dataset, from the part files of the root that are named, or all.
    ///
    /// # Errors
    /// `Invalid` where parts overlap, are missing or do not belong here; `Conflict`; `Unsupported`.
    fn merge(&self, root: Arc<dyn RootMut>, options: &MergeOptions) -> Result<Written>;

    /// Mends what a killed writer left.
    ///
    /// # Errors
    /// `Unsupported` where the format has nothing to mend.
    fn repair(&self, root: Arc<dyn RootMut>, options: &RepairOptions) -> Result<RepairReport>;

    /// Opens a saved selection of samples, see [`Dataset::selection`]. `open` gives what lies at a path as the document
    /// spells it.
    ///
    /// # Errors
    /// `Unsupported` where the format has none; those of [`Format::open`]; `Conflict` where the dataset changed since.
    fn open_selection(
        &self,
        _document: &[u8],
        _open: &mut dyn FnMut(&str) -> Result<Arc<dyn Root>>,
        _limits: &Limits,
    ) -> Result<Arc<dyn Dataset>> {
        Err(no_selections(self.id()))
    }
}
