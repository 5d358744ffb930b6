//! Batches that have all of their rows leave, in order.

use std::sync::Arc;

use super::{PLAN_BYTES, Planner, Ready};
use crate::error::{Error, Result};
use crate::exec::died;
use crate::loader::codes;
use crate::loader::delivery::Delivery;
use crate::loader::options::OnFault;
use crate::model::{Field, Finding, Severity};

impl Planner {
    /// Lets batches leave that have all of their rows.
    pub(super) fn leave(&mut self) {
        while !self.closed {
            let seq = self.sent;
            let Some(batch) = self.at(seq) else { break };
            if batch.missing > 0 {
                return;
            }
            let made = self.finish(seq);
            self.sent += 1;
            match made {
                Ok((delivery, skipped)) => {
                    self.ready.push_back(Ready::Batch(Box::new(delivery), skipped));
                }
                Err(error) => {
                    self.ready.push_back(Ready::Failed(error));
                    (self.ended, self.closed) = (true, true);
                    return;
                }
            }
        }
        if self.ended && !self.closed {
            self.closed = true;
            self.ready.push_back(self.last.take().map_or(Ready::End, Ready::Failed));
        }
    }

    /// Makes a batch of what came.
    fn finish(&mut self, seq: u64) -> Result<(Delivery, u64)> {
        let (epoch, policy) = (self.course.epoch, self.course.faults);
        let Some(batch) = self.at(seq) else { return Err(died()) };
        batch.faults.sort_by_key(|(slot, _)| *slot);
        let mut faults = std::mem::take(&mut batch.faults);
        let target = Arc::clone(&batch.target);
        let (slots, indices) =
            (std::mem::take(&mut batch.slots), std::mem::take(&mut batch.indices));
        let step = batch.step;
        let number = self.course.steps.number(step);
        if policy == OnFault::Raise && !faults.is_empty() {
            return Err(faults.swap_remove(0).1);
        }
        let kept: Option<Vec<usize>> = (!faults.is_empty()).then(|| {
            let faulty = |slot: &usize| faults.binary_search_by_key(slot, |fault| fault.0).is_ok();
            (0..slots.len()).filter(|slot| !faulty(slot)).collect()
        });
        let blank = slots.iter().enumerate().filter(|(_, slot)| slot.position.is_none());
        let blank: Vec<usize> = blank.map(|(at, _)| at).collect();
        let rows = target.finish(kept.as_deref(), &blank)?;
        let all: Vec<usize>;
        let kept = match &kept {
            Some(kept) => kept,
            None => {
                all = (0..slots.len()).collect();
                &all
            }
        };
        let skipped = (slots.len() - kept.len()) as u64;
        let mut notes: Vec<Finding> =
            faults.into_iter().map(|(_, error)| left_out(&error)).collect();
        self.shared.note(&mut notes);
        self.learn(rows.rows() as u64, rows.value_bytes());
        let slot = |at: &usize| slots.get(*at);
        let delivery = Delivery {
            epoch,
            step: number,
            positions: kept.iter().filter_map(slot).map(|slot| slot.position).collect(),
            indices: kept.iter().filter_map(|at| indices.get(*at)).copied().collect(),
            mask: kept.iter().filter_map(slot).map(|slot| slot.fresh).collect(),
            batch: rows,
        };
        // What the batch was planned with is what it gives back when it is taken.
        if let Some(batch) = self.at(seq) {
            batch.slots = slots;
        }
        Ok((delivery, skipped))
    }

    /// Rows are guessed by those that were seen.
    pub(super) fn learn(&mut self, rows: u64, bytes: u64) {
        if self.sources.schema.fields.iter().any(Field::varies)
            && let Some(seen) = bytes.checked_div(rows)
        {
            // A long row is believed at once, a short one by and by.
            let seen = seen.saturating_add(PLAN_BYTES);
            let by_and_by = (self.row_bytes / 8).saturating_mul(7).saturating_add(seen / 8);
            self.row_bytes = if self.learned { seen.max(by_and_by) } else { seen };
            self.learned = true;
        }
    }
}

/// What is said about a sample that was left out.
fn left_out(error: &Error) -> Finding {
    let message = format!("left out: {} [{}]", error.message(), error.code());
    Finding {
        severity: Severity::Warning,
        code: codes::SAMPLE_SKIPPED,
        place: error.place().clone(),
        message,
    }
}
