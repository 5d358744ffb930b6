//! An open dataset: what it says about itself, its collections, and how it is written again as a whole.

use std::sync::Arc;

use packstone_container::json::Object;
use packstone_io::RootMut;

use super::selection::no_selections;
use super::{Collection, Selected, Written};
use crate::error::Result;
use crate::exec::Progress;
use crate::model::{Outline, Schema};

/// An open dataset.
pub trait Dataset: Send + Sync {
    /// What it says about itself.
    fn info(&self) -> &Info;

    /// The fields that samples have where a collection does not say otherwise; known also without any collection.
    fn schema(&self) -> &Arc<Schema>;

    /// The names of its collections, in the order of the format.
    fn collections(&self) -> Vec<String>;

    /// What it is made of, where that is more than collections of fields.
    ///
    /// # Errors
    /// Damage and I/O faults.
    fn outline(&self) -> Result<Option<Outline>> {
        Ok(None)
    }

    /// A JSON object for each stored leaf and value, with its key and the SHA-256 of its bytes, for formats of trees.
    fn leaves(&self) -> Option<Leaves<'_>> {
        None
    }

    /// The dataset as it is stored, where this one gives back what is stored in other words.
    fn stored(&self) -> Option<Arc<dyn Dataset>> {
        None
    }

    /// How to write the dataset again with all that samples do not show, where they do not show everything.
    fn rewriter(&self) -> Option<&dyn Rewrite> {
        None
    }

    /// True for a collection that others published beside those of the dataset's writer, as annotations are:
    /// [`Info::carried`] says nothing about it.
    fn is_beside(&self, _collection: &str) -> bool {
        false
    }

    /// A collection by name.
    ///
    /// # Errors
    /// `NotFound` with the names there are.
    fn collection(&self, name: &str) -> Result<Arc<dyn Collection>>;

    /// The document of a selection of samples, from which [`Format::open_selection`](super::Format::open_selection) shows
    /// them alone. `spell` says how the document spells the place that a root calls itself by.
    ///
    /// # Errors
    /// `Unsupported` where the format has none; those of [`Dataset::collection`].
    fn selection(
        &self,
        _selected: &Selected<'_>,
        _spell: &dyn Fn(&str) -> Result<String>,
    ) -> Result<String> {
        Err(no_selections(self.info().format))
    }
}

/// What a dataset says about itself.
#[derive(Clone, Debug)]
pub struct Info {
    /// The format's [id](super::Format::id).
    pub format: &'static str,
    /// The format's own metadata, as its documents have it.
    pub native: Object,
    /// The [`Plan::carried`](super::Plan::carried) of the one who wrote it.
    pub carried: Option<Object>,
}

/// The leaves of a dataset, one after another.
pub type Leaves<'a> = Box<dyn Iterator<Item = Result<Object>> + 'a>;

/// Writes a whole dataset again in its own format, losing nothing.
pub trait Rewrite {
    /// Writes it to a root that holds nothing yet, under the options of [`Format::create`](super::Format::create).
    ///
    /// # Errors
    /// `Exists`, `Invalid`, `Corrupt` where something of it cannot be read, `Io`; then nothing is published.
    fn rewrite(
        &self,
        target: &Arc<dyn RootMut>,
        options: &Object,
        progress: Option<&Arc<dyn Progress>>,
    ) -> Result<Written>;
}
