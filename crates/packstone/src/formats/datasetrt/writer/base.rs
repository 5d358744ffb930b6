//! Writing the collections of a dataset, one cache each.

use std::collections::BTreeMap;
use std::sync::Arc;

use packstone_container::json::Object;
use packstone_io::{Kind, RootMut};

use super::super::codes;
use super::super::options::WriterOptions;
use super::super::parts::rows::places;
use super::CacheWriter;
use super::finish::finish_all;
use crate::error::{Error, Place, Result};
use crate::format::{Writer, Written};
use crate::model::{Batch, Schema};

/// Writes the collections of a dataset, one cache each, into one folder.
pub struct BaseWriter {
    root: Arc<dyn RootMut>,
    schema: Arc<Schema>,
    carried: Option<Object>,
    options: WriterOptions,
    /// What manifests call the caches whose folders have other names.
    sources: BTreeMap<String, String>,
    caches: Vec<(String, CacheWriter)>,
}

impl BaseWriter {
    /// For collections of this schema.
    ///
    /// # Errors
    /// `option_invalid`.
    pub fn new(
        root: Arc<dyn RootMut>,
        schema: Arc<Schema>,
        carried: Option<Object>,
        options: WriterOptions,
    ) -> Result<Self> {
        options.check()?;
        places(&schema, &options)?;
        let (sources, caches) = (BTreeMap::new(), Vec::new());
        Ok(Self { root, schema, carried, options, sources, caches })
    }

    /// Says what the manifest of a collection calls it, where that is not the name of its folder.
    pub fn name_source(&mut self, collection: &str, source: &str) {
        self.sources.insert(collection.to_owned(), source.to_owned());
    }
}

impl Writer for BaseWriter {
    fn write(&mut self, collection: &str, batch: &Batch) -> Result<()> {
        let at = match self.caches.iter().position(|(name, _)| name == collection) {
            Some(at) => at,
            None => {
                let (root, carried) = (Arc::clone(&self.root), self.carried.clone());
                let source_name = self.sources.get(collection).cloned();
                let options = WriterOptions { source_name, ..self.options.clone() };
                let cache = CacheWriter::create(root, collection, &self.schema, carried, &options)?;
                self.caches.push((collection.to_owned(), cache));
                self.caches.len() - 1
            }
        };
        let Some((_, cache)) = self.caches.get_mut(at) else { return Ok(()) };
        // What another writer had written comes again.
        let skip = usize::try_from(cache.ahead).unwrap_or(usize::MAX).min(batch.rows());
        cache.ahead -= skip as u64;
        match skip {
            0 => cache.write(batch),
            _ => cache.write(&batch.slice(skip..batch.rows())?),
        }
    }

    fn finish(self: Box<Self>) -> Result<Written> {
        if self.caches.is_empty() {
            let message =
                "expected at least one sample, found none: the format has no dataset without";
            return Err(Error::new(Kind::Invalid, codes::NO_SAMPLES, Place::default(), message));
        }
        finish_all(self.caches.into_iter().map(|(_, cache)| cache).collect())
    }
}
