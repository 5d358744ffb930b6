//! The check of one cache, in the order in which it is opened; one fault gives one finding.

use std::collections::BTreeSet;
use std::sync::Arc;

use packstone_container::arrow_table::ArrowFile;
use packstone_container::digest::{Algorithm, digest_hex};
use packstone_io::Kind;

use super::super::codes;
use super::super::document::Manifest;
use super::super::layout::{INDEX, MANIFEST, METADATA};
use super::super::parts::cache::{check_shard_length, check_sum, read_table};
use super::super::parts::check::Whole;
use super::super::parts::index::Index;
use super::super::parts::record::Spelling;
use super::super::parts::site::Site;
use super::values::check_values;
use crate::error::{Error, Place, Result};
use crate::format::{Audit, AuditOptions, AuditTask, ReadContext};
use crate::model::{Finding, Severity};

/// The check of one cache.
pub(super) struct Walk<'a> {
    pub(super) site: Site,
    pub(super) options: &'a AuditOptions,
    pub(super) audit: &'a mut Audit,
}

impl Walk<'_> {
    pub(super) fn info(&mut self, code: &'static str, place: Place, message: impl Into<String>) {
        self.audit.findings.push(Finding::new(Severity::Info, code, place, message));
    }

    pub(super) fn found(&mut self, error: Error) {
        self.audit.findings.push(error.into());
    }

    pub(super) fn cache(mut self, manifest: Manifest, position: u64) -> Result<()> {
        self.audit.documents += 1;
        self.audit.findings.extend(manifest.contents().notes.iter().cloned());
        self.expected()?;
        self.names(&manifest, position);
        let lengths = self.shard_lengths(&manifest);
        self.stray(&manifest);
        let index = self.index(&manifest);
        let table = self.table(&manifest, index.as_ref().err());
        let judged = !matches!(&table, Err(codes::ARROW_COLUMNS_DIFFER));
        let (Ok(index), table) = (index, table.ok()) else { return Ok(()) };
        let (samples, known) = self.samples_of_shards(&manifest, &index);
        if manifest.contents().samples == 0 {
            let message = "expected samples, found a cache that opens only beside another one";
            self.info(codes::NO_SAMPLES, self.site.place(MANIFEST), message);
        }
        let spelling = Spelling::new(&manifest.contents().columns, false);
        let (site, entries) = (self.site.clone(), manifest.contents().shards.clone());
        let whole = Arc::new(Whole { site, manifest, index, table, spelling, judged, known });
        if self.options.quick {
            return Ok(());
        }
        for (number, entry) in entries.iter().enumerate() {
            // What is not as long as it should be is not what was hashed.
            if lengths.contains(&number) {
                continue;
            }
            let samples = samples.get(&(number as u64)).cloned().unwrap_or_default();
            let whole = Arc::clone(&whole);
            let count = samples.iter().map(|range| range.end - range.start).sum();
            let run = Box::new(move |context: &mut ReadContext| {
                whole.check_shard(number as u64, &samples, context)
            });
            self.audit.tasks.push(AuditTask { bytes: entry.bytes, samples: count, run });
        }
        if let Some(table) = whole.table.clone() {
            let bytes = table.bytes().len() as u64;
            let run = Box::new(move |_: &mut ReadContext| check_values(&whole, &table));
            self.audit.tasks.push(AuditTask { bytes, samples: 0, run });
        }
        Ok(())
    }

    /// Compares the manifest with checksums that somebody noted.
    fn expected(&mut self) -> Result<()> {
        if self.options.expect.is_empty() {
            return Ok(());
        }
        let bytes = self.site.read(&self.site.path(MANIFEST)?, &self.site.place(MANIFEST))?;
        let found = digest_hex(Algorithm::Sha256, &bytes);
        for expected in &self.options.expect {
            if !expected.eq_ignore_ascii_case(&found) {
                let message = format!("expected checksum {expected}, found {found}");
                let (code, place) = (codes::CHECKSUM_MISMATCH, self.site.place(MANIFEST));
                self.found(Error::new(Kind::Corrupt, code, place, message));
            }
        }
        Ok(())
    }

    /// The numbers of shards that are missing or of another length.
    fn shard_lengths(&mut self, manifest: &Manifest) -> BTreeSet<usize> {
        let mut wrong = BTreeSet::new();
        for (number, shard) in manifest.contents().shards.iter().enumerate() {
            if let Err(error) = check_shard_length(&self.site, shard) {
                wrong.insert(number);
                self.found(error);
            }
        }
        wrong
    }

    /// The table, where it is what was hashed and fits the manifest; else what is wrong with it.
    fn table(
        &mut self,
        manifest: &Manifest,
        index: Option<&&'static str>,
    ) -> Result<Arc<ArrowFile>, &'static str> {
        let contents = manifest.contents();
        let place = self.site.place(METADATA);
        if !self.options.quick {
            let compared = self.site.path(METADATA).and_then(|path| {
                let bytes = self.site.read(&path, &place)?;
                check_sum(&contents.metadata_sha256, &bytes, place)
            });
            if let Err(error) = compared {
                let code = error.code();
                self.found(error);
                return Err(code);
            }
        }
        read_table(&self.site, manifest).map(Arc::new).map_err(|error| {
            let code = error.code();
            // Where both tell another number than the manifest, that was said.
            if (index, code) != (Some(&codes::INDEX_ROW_COUNT), codes::ARROW_ROW_COUNT) {
                self.found(error);
            }
            code
        })
    }

    /// The index, where it is what was hashed and has its shape; else what is wrong with it.
    fn index(&mut self, manifest: &Manifest) -> Result<Index, &'static str> {
        let contents = manifest.contents();
        let place = self.site.place(INDEX);
        let read = || {
            let bytes = self.site.read(&self.site.path(INDEX)?, &place)?;
            let index = Index::new(bytes, contents.samples, &place)?;
            if !self.options.quick {
                check_sum(&contents.index_sha256, index.bytes(), place.clone())?;
            }
            Ok(index)
        };
        let index: Result<Index> = read();
        index.map_err(|error| {
            let code = error.code();
            self.found(error);
            code
        })
    }
}
