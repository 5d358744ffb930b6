//! Which samples each shard of a cache has, for its check.

use std::collections::BTreeMap;
use std::ops::Range;

use packstone_io::Kind;

use super::super::codes;
use super::super::document::Manifest;
use super::super::layout::INDEX;
use super::super::parts::check::Found;
use super::super::parts::index::Index;
use super::walk::Walk;
use crate::error::Error;

impl Walk<'_> {
    /// Which samples each shard has, as runs of neighbours, and whether all of them are known.
    pub(super) fn samples_of_shards(
        &mut self,
        manifest: &Manifest,
        index: &Index,
    ) -> (BTreeMap<u64, Vec<Range<u64>>>, bool) {
        let known = manifest.contents().shards.len() as u64;
        let mut runs: BTreeMap<u64, Vec<Range<u64>>> = BTreeMap::new();
        let mut found = Found::default();
        for (sample, row) in (0u64..).zip(index.iter()) {
            if row.shard >= known {
                let message = format!("expected one of {known} shards, found number {}", row.shard);
                let place = self.site.place(INDEX).record(sample);
                let code = codes::INDEX_SHARD_OUT_OF_RANGE;
                found.error(Error::new(Kind::Corrupt, code, place, message));
                continue;
            }
            let of_shard = runs.entry(row.shard).or_default();
            match of_shard.last_mut() {
                Some(last) if last.end == sample => last.end = sample + 1,
                _ => of_shard.push(sample..sample + 1),
            }
        }
        let found = found.finish();
        let all = found.is_empty();
        self.audit.findings.extend(found);
        for (number, shard) in manifest.contents().shards.iter().enumerate() {
            if all && !runs.contains_key(&(number as u64)) {
                let message = "expected records in every shard, found one that no row names";
                self.info(codes::UNUSED_SHARD, self.site.shard_place(&shard.name), message);
            }
        }
        (runs, all)
    }
}
