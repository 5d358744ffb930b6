//! Batches to come: which rows they have, and which shards these are in.

use std::sync::Arc;

use super::{Pending, Planned, Planner};
use crate::error::Result;
use crate::loader::job::Target;
use crate::loader::sources::outside;
use crate::loader::steps::Slot;

impl Planner {
    /// Plans the next batch.
    pub(super) fn plan(&mut self) -> Result<()> {
        let drawn = match &self.drawn {
            Some(drawn) => Arc::clone(drawn),
            None => {
                let _reading = self.shared.reading("the order of samples".to_owned());
                Arc::clone(self.drawn.insert(self.course.order.epoch(self.course.epoch)?))
            }
        };
        let step = self.course.step;
        let Some(slots) = self.course.steps.slots(step) else {
            self.ended = true;
            return Ok(());
        };
        self.course.step += 1;
        let seq = self.head + self.planned.len() as u64;
        let positions: Vec<u64> = slots.iter().filter_map(|slot| slot.position).collect();
        let mut drawn = drawn.each(&positions).into_iter();
        let index = |slot: &Slot| {
            let Some(position) = slot.position else { return Ok(None) };
            let missing = || outside(self.course.order.len(), position);
            drawn.next().flatten().map(Some).ok_or_else(missing)
        };
        let indices = slots.iter().map(index).collect::<Result<Vec<Option<u64>>>>()?;
        let bytes = self.row_bytes.saturating_mul(slots.len() as u64);
        let schema = Arc::clone(&self.sources.schema);
        let target = Arc::new(Target::new(schema, slots.len(), self.pool.clone()));
        let mut batch = Planned {
            step,
            missing: indices.iter().flatten().count(),
            wanted: if self.hand { Vec::new() } else { vec![None; slots.len()] },
            faults: Vec::new(),
            slots,
            indices,
            target,
            bytes,
        };
        if self.hand {
            self.fetch_at_hand(seq, &mut batch);
        } else {
            self.want(seq, &mut batch);
        }
        self.bytes = self.bytes.saturating_add(bytes);
        self.rows = self.rows.saturating_add(batch.slots.len() as u64);
        self.planned.push_back(batch);
        Ok(())
    }

    /// Writes down which rows of which shards a batch wants.
    fn want(&mut self, seq: u64, batch: &mut Planned) {
        let shared = Arc::clone(&self.shared);
        let _reading = shared.reading("the lists of shards".to_owned());
        let ahead = self.checks_ahead();
        for (slot, (index, wanted)) in batch.indices.iter().zip(&mut batch.wanted).enumerate() {
            let Some(index) = index else { continue };
            match self.directory.find(*index) {
                Ok((id, row, shard)) => {
                    *wanted = Some(id);
                    // Shards that lie in one file have its checksum: the threads take a file each.
                    let anew = |planner: &mut Self| {
                        planner.checked.insert(id)
                            && planner.checked_files.insert((id.0, shard.path.clone()))
                    };
                    if ahead && anew(self) && !shared.was_touched(id.0, &shard) {
                        self.awaited.insert((id.0, shard.path.clone()), id);
                        self.to_check.push_back((id, Arc::clone(&shard)));
                    }
                    let pending = self.pending.entry(id);
                    let pending = pending.or_insert_with(|| Pending { shard, rows: Vec::new() });
                    pending.rows.push((seq, row, slot));
                }
                Err(error) => {
                    batch.faults.push((slot, error));
                    batch.missing -= 1;
                }
            }
        }
    }
}
