//! A batch of known size whose rows come in any order: each is copied once, to the place that it has in the batch.
//!
//! ```text
//! fixed width   slot 0│slot 1│slot 2│…         a row goes to slot × width
//! any length    row of slot 2│row of slot 0│…  rows lie as they came; the column knows where
//! ```

use std::ops::Range;
use std::sync::Arc;

use packstone_container::json::Object;
use packstone_io::{BufferPool, PooledBuf};

use super::batch::{Batch, mismatch};
use super::column::Column;
use super::dtype::DType;
use super::schema::{Field, Schema};
use crate::error::Result;
use crate::exec::at_once;

/// Takes rows of other batches to places of their own.
#[derive(Debug)]
pub struct BatchSlots {
    schema: Arc<Schema>,
    rows: usize,
    pool: BufferPool,
    threads: usize,
    columns: Vec<Filling>,
    metadata: Vec<Arc<Object>>,
}

/// Bytes that a thread copies at least, where several do: less is done before another one has started.
const THREAD_BYTES: usize = 4 << 20;
/// Bytes that are had at most for rows that are still to come.
const MOST_GUESSED: usize = 64 << 20;

/// A row of a source and its slot.
pub type RowSlot = (usize, usize);

#[derive(Debug)]
struct Filling {
    data: PooledBuf,
    /// Bytes of a row, where all have the same.
    width: Option<usize>,
    /// Rows of another width are possible and no fault.
    wide: bool,
    /// Where rows lie that have no common width.
    spans: Vec<Range<usize>>,
    /// Bytes of the shortest row that can be.
    least: usize,
    /// The rank of shapes that vary, and these.
    shapes: Option<(usize, Vec<u64>)>,
}

impl BatchSlots {
    /// A batch of `rows` slots.
    ///
    /// # Errors
    /// `io/out_of_memory`.
    pub fn new(schema: Arc<Schema>, rows: usize, pool: &BufferPool) -> Result<Self> {
        let columns = schema.fields.iter().map(|field| Filling::new(field, rows, pool));
        let columns = columns.collect::<Result<_>>()?;
        Ok(Self { schema, rows, pool: pool.clone(), threads: 1, columns, metadata: Vec::new() })
    }

    /// Copies much on up to `threads` threads at once; of itself it has none.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Copies rows of `batch`, which has the same schema, to their slots.
    ///
    /// # Errors
    /// `model/column_mismatch` where `batch` has other columns, or a row or a slot is outside; `io/out_of_memory`.
    pub fn put(&mut self, batch: &Batch, rows: &[RowSlot]) -> Result<()> {
        let outside = |(row, slot): &RowSlot| *row >= batch.rows() || *slot >= self.rows;
        if batch.columns().len() != self.columns.len() || rows.iter().any(outside) {
            return Err(mismatch(format!(
                "expected {} columns, and rows below {} for slots below {}, found others",
                self.columns.len(),
                batch.rows(),
                self.rows
            )));
        }
        for (to, from) in self.columns.iter_mut().zip(batch.columns()) {
            to.put(from, rows, (self.rows, self.threads), &self.pool)?;
        }
        self.put_metadata(batch, rows);
        Ok(())
    }

    fn put_metadata(&mut self, batch: &Batch, rows: &[RowSlot]) {
        if batch.metadata_runs().next().is_none() {
            return;
        }
        self.metadata.resize_with(self.rows, Arc::default);
        for (row, slot) in rows {
            if let (Some(to), Some(object)) = (self.metadata.get_mut(*slot), batch.metadata(*row)) {
                *to = Arc::clone(object);
            }
        }
    }

    /// Fills slots that no row comes to: with zeros, or with nothing where rows have no common width.
    ///
    /// # Errors
    /// `io/out_of_memory`.
    pub fn blank(&mut self, slots: &[usize]) -> Result<()> {
        self.columns.iter_mut().try_for_each(|column| column.blank(slots))
    }

    /// The batch; with `kept`, only the slots named there, in ascending order, one after another.
    ///
    /// Every slot that is kept must have had a row: memory is reused, and others hold what was there before.
    ///
    /// # Errors
    /// `model/column_mismatch` where slots kept are outside, or a shape does not fit its row.
    pub fn finish(self, kept: Option<&[usize]>) -> Result<Batch> {
        let rows = kept.map_or(self.rows, <[usize]>::len);
        let columns = self.columns.into_iter().map(|column| column.finish(rows, kept));
        let columns: Option<Vec<Column>> = columns.collect();
        let columns = columns.ok_or_else(|| mismatch("slots outside of the batch".to_owned()))?;
        let batch = Batch::new(self.schema, rows, columns)?;
        let mut runs: Vec<(usize, Arc<Object>)> = Vec::new();
        let add = |object: &Arc<Object>| match runs.last_mut() {
            Some((end, last)) if Arc::ptr_eq(last, object) => *end += 1,
            last => {
                let end = last.map_or(0, |(end, _)| *end);
                runs.push((end + 1, Arc::clone(object)));
            }
        };
        match kept {
            None => self.metadata.iter().for_each(add),
            Some(kept) => kept.iter().filter_map(|slot| self.metadata.get(*slot)).for_each(add),
        }
        if runs.is_empty() { Ok(batch) } else { batch.with_metadata_runs(runs) }
    }
}

impl Filling {
    fn new(field: &Field, rows: usize, pool: &BufferPool) -> Result<Self> {
        let width = if field.varies() { None } else { field.value_bytes() };
        let width = width.and_then(|width| usize::try_from(width).ok());
        let need = width.unwrap_or(0).saturating_mul(rows);
        // How much rows of any length take is known when the first ones come.
        let mut data = pool.take(need.max(1))?;
        data.set_len(need)?;
        let spans = if width.is_some() { Vec::new() } else { vec![0..0; rows] };
        let rank = field.shape.len();
        let shapes = field.varying.then(|| (rank, vec![0; rank.saturating_mul(rows)]));
        let element = field.element_bytes().filter(|_| field.varying && rank == 0).unwrap_or(0);
        let least = usize::try_from(element).unwrap_or(0);
        Ok(Self { data, width, wide: field.dtype == DType::Int, spans, least, shapes })
    }

    fn blank(&mut self, slots: &[usize]) -> Result<()> {
        for slot in slots {
            if let Some(width) = self.width {
                let start = slot.saturating_mul(width);
                let span = start..start.saturating_add(width);
                self.data.get_mut(span).unwrap_or_default().fill(0);
                continue;
            }
            // A value of rank 0 is never nothing.
            let start = self.data.len();
            self.data.set_len(start.saturating_add(self.least))?;
            self.data.get_mut(start..).unwrap_or_default().fill(0);
            if let Some(span) = self.spans.get_mut(*slot) {
                *span = start..self.data.len();
            }
            if let Some((rank, dims)) = &mut self.shapes {
                let place = slot.saturating_mul(*rank);
                dims.get_mut(place..place.saturating_add(*rank)).unwrap_or_default().fill(0);
            }
        }
        Ok(())
    }

    fn put(
        &mut self,
        from: &Column,
        rows: &[RowSlot],
        (all, threads): (usize, usize),
        pool: &BufferPool,
    ) -> Result<()> {
        if let Some(width) = self.width {
            match self.put_fixed(from, rows, width, threads)? {
                None => return Ok(()),
                Some(found) if !self.wide => {
                    let message = format!("expected rows of {width} bytes, found one of {found}");
                    return Err(mismatch(message));
                }
                // A Python integer beyond 64 bits: from here on the rows have lengths of their own.
                Some(_) => {
                    let place = |slot: usize| slot.saturating_mul(width);
                    self.spans = (0..all).map(|slot| place(slot)..place(slot + 1)).collect();
                    self.width = None;
                }
            }
        }
        let bytes = |row| from.bytes(row).unwrap_or_default();
        let more = rows.iter().map(|(row, _)| bytes(*row).len()).fold(0, usize::saturating_add);
        if self.data.is_empty() {
            // The other rows are taken to be as long, so that memory is had once.
            let all = more.checked_div(rows.len()).unwrap_or(0).saturating_mul(all);
            let all = all.min(MOST_GUESSED).checked_next_power_of_two().unwrap_or(0).max(more);
            if all > self.data.capacity() {
                self.data = pool.take(all)?;
            }
        }
        self.data.reserve(more)?;
        for (row, slot) in rows {
            let start = self.data.len();
            from.append_to(*row, &mut self.data)?;
            let end = self.data.len();
            if let Some(span) = self.spans.get_mut(*slot) {
                *span = start..end;
            }
            let Some((rank, dims)) = &mut self.shapes else { continue };
            let place = slot.saturating_mul(*rank);
            let to = dims.get_mut(place..place.saturating_add(*rank)).unwrap_or_default();
            match from.shape(*row) {
                Some(shape) if shape.len() == to.len() => to.copy_from_slice(shape),
                _ => {
                    let message = format!("expected a shape of rank {rank} in row {row}");
                    return Err(mismatch(message));
                }
            }
        }
        Ok(())
    }

    /// Copies rows of one width; where one has another, that one.
    fn put_fixed(
        &mut self,
        from: &Column,
        rows: &[RowSlot],
        width: usize,
        threads: usize,
    ) -> Result<Option<usize>> {
        if let Some(found) = from.width().filter(|found| *found != width) {
            return Ok(Some(found));
        }
        let bytes = rows.len().saturating_mul(width);
        let parts = threads.min(bytes / THREAD_BYTES).max(1);
        if parts == 1 || !rows.is_sorted_by(|(_, one), (_, next)| one < next) {
            return copy_rows(from, rows, width, 0, &mut self.data);
        }
        // Slots ascend, so each part of the rows has a part of the memory to itself.
        let mut rest: &mut [u8] = &mut self.data;
        let mut before = 0;
        let mut work = Vec::with_capacity(parts);
        for part in rows.chunks(rows.len().div_ceil(parts)) {
            let (Some((_, first)), Some((_, last))) = (part.first(), part.last()) else { continue };
            let skip = first.saturating_sub(before).saturating_mul(width);
            let len = (last + 1).saturating_sub(*first).saturating_mul(width);
            let memory = std::mem::take(&mut rest).split_at_mut_checked(skip);
            let memory = memory.and_then(|(_, own)| own.split_at_mut_checked(len));
            // Only where a slot is outside.
            let Some((own, after)) = memory else {
                return copy_rows(from, rows, width, 0, &mut self.data);
            };
            work.push((part, *first, own));
            (rest, before) = (after, last + 1);
        }
        let copied = at_once(work, |(part, first, own)| copy_rows(from, part, width, first, own))?;
        copied.into_iter().find(|found| !matches!(found, Ok(None))).unwrap_or(Ok(None))
    }

    fn finish(mut self, rows: usize, kept: Option<&[usize]>) -> Option<Column> {
        let dims = self.shapes.map(|(rank, dims)| match kept {
            None => Some((rank, dims)),
            Some(kept) => {
                let mut some = Vec::with_capacity(kept.len().saturating_mul(rank));
                for slot in kept {
                    let start = slot.checked_mul(rank)?;
                    some.extend_from_slice(dims.get(start..start.checked_add(rank)?)?);
                }
                Some((rank, some))
            }
        });
        let column = match (self.width, kept) {
            (Some(width), None) => Column::dense(self.data.freeze(), width, rows),
            (Some(width), Some(kept)) => {
                for (to, from) in kept.iter().enumerate().filter(|(to, from)| to != *from) {
                    let start = from.checked_mul(width)?;
                    let end = start.checked_add(width).filter(|end| *end <= self.data.len())?;
                    self.data.copy_within(start..end, to.checked_mul(width)?);
                }
                self.data.truncate(rows.checked_mul(width)?);
                Column::dense(self.data.freeze(), width, rows)
            }
            (None, kept) => {
                let spans = match kept {
                    None => self.spans,
                    Some(kept) => {
                        let span = |slot: &usize| self.spans.get(*slot).cloned();
                        kept.iter().map(span).collect::<Option<_>>()?
                    }
                };
                let starts = std::iter::once(0).chain(spans.iter().map(|span| span.end));
                let last = spans.last().map_or(0, |span| span.end);
                let ordered = spans.iter().zip(starts).all(|(span, before)| span.start == before);
                if ordered && last == self.data.len() {
                    let ends = spans.into_iter().map(|span| span.end).collect();
                    Column::ragged(self.data.freeze(), ends)
                } else {
                    Column::scattered_ragged(self.data.freeze(), spans)
                }
            }
        };
        match dims {
            None => column,
            Some(dims) => dims.and_then(|(rank, dims)| column?.with_shapes(rank, dims)),
        }
    }
}

/// Copies rows to their slots in `out`, which begins with the slot `first`; a row that is not of `width` bytes is told.
fn copy_rows(
    from: &Column,
    rows: &[RowSlot],
    width: usize,
    first: usize,
    out: &mut [u8],
) -> Result<Option<usize>> {
    let same = from.width().is_some();
    let mut rest = rows;
    while let Some((row, slot)) = rest.first().copied() {
        // Neighbours that stay neighbours go in one copy, where lengths cannot differ.
        let follows = |(n, (r, s)): (usize, &RowSlot)| {
            row.checked_add(n) == Some(*r) && slot.checked_add(n) == Some(*s)
        };
        let run = if same {
            rest.iter().enumerate().take_while(|(n, next)| follows((*n, next))).count()
        } else {
            1
        };
        let run = run.max(1);
        let start = slot.saturating_sub(first).saturating_mul(width);
        let end = start.saturating_add(run.saturating_mul(width));
        let to = out.get_mut(start..end).unwrap_or_default();
        if !from.copy_to(row..row.saturating_add(run), to)? {
            return Ok(Some(from.bytes(row).map_or(0, <[u8]>::len)));
        }
        rest = rest.get(run..).unwrap_or_default();
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use packstone_container::json::Value;
    use packstone_io::Buf;

    use super::super::Key;
    use super::*;

    fn source(label: Option<&str>) -> Batch {
        let schema = Schema::new(vec![
            Field::new("n", DType::UInt16, []),
            Field::new("text", DType::Str, []),
            Field::varying(Key::new("v"), DType::UInt8, 1),
        ]);
        let text = Column::ragged(Buf::from(b"abbccc".to_vec()), vec![1, 3, 6, 6]).unwrap();
        let v = Column::ragged(Buf::from(b"xyyz".to_vec()), vec![1, 3, 3, 4]).unwrap();
        let columns = vec![
            Column::dense(Buf::from(vec![0, 0, 1, 0, 2, 0, 3, 0]), 2, 4).unwrap(),
            text,
            v.with_shapes(1, vec![1, 2, 0, 1]).unwrap(),
        ];
        let batch = Batch::new(Arc::new(schema), 4, columns).unwrap();
        let label = label.map(|label| Object::from_iter([("label", Value::from(label))]));
        batch.with_metadata(Arc::new(label.unwrap_or_default()))
    }

    fn rows(batch: &Batch) -> Vec<(u8, String, Vec<u64>, bool)> {
        let row = |row| {
            let [n, text, v] = [0, 1, 2].map(|at| batch.columns()[at].bytes(row).unwrap());
            assert_eq!(batch.columns()[2].shape(row).unwrap()[0], v.len() as u64);
            let text = String::from_utf8(text.to_vec()).unwrap();
            let shape = batch.columns()[2].shape(row).unwrap().to_vec();
            (n[0], text, shape, batch.metadata(row).is_some())
        };
        (0..batch.rows()).map(row).collect()
    }

    #[test]
    fn rows_go_to_their_slots_in_any_order() {
        let (one, other) = (source(None), source(Some("x")));
        let pool = BufferPool::new(4);
        let mut slots = BatchSlots::new(Arc::clone(one.schema()), 5, &pool).unwrap();
        slots.put(&other, &[(1, 3), (2, 4)]).unwrap();
        slots.put(&one, &[(0, 1), (1, 2), (3, 0)]).unwrap();
        let batch = slots.finish(None).unwrap();
        let n = |n: u8, text: &str, len: u64, m| (n, text.to_owned(), vec![len], m);
        let want = [
            n(3, "", 1, false),
            n(0, "a", 1, false),
            n(1, "bb", 2, false),
            n(1, "bb", 2, true),
            n(2, "ccc", 0, true),
        ];
        assert_eq!(rows(&batch), want);
        assert!(batch.columns()[0].as_dense().is_some());
        let mut slots = BatchSlots::new(Arc::clone(one.schema()), 5, &pool).unwrap();
        slots.put(&other, &[(1, 3), (2, 4)]).unwrap();
        slots.put(&one, &[(0, 1)]).unwrap();
        let batch = slots.finish(Some(&[1, 3, 4])).unwrap();
        assert_eq!(rows(&batch), [want[1].clone(), want[3].clone(), want[4].clone()]);
        assert_eq!(batch.columns()[0].as_dense().unwrap()[..], [0, 0, 1, 0, 2, 0]);
    }

    #[test]
    fn slots_without_a_row_are_blank() {
        let one = source(None);
        let pool = BufferPool::new(4);
        for _ in 0..2 {
            // The second time in memory that was used before.
            let mut slots = BatchSlots::new(Arc::clone(one.schema()), 3, &pool).unwrap();
            slots.put(&one, &[(3, 0)]).unwrap();
            slots.blank(&[1, 2]).unwrap();
            let batch = slots.finish(None).unwrap();
            let blank = (0, String::new(), vec![0], false);
            assert_eq!(rows(&batch)[1..], [blank.clone(), blank]);
            let mut slots = BatchSlots::new(Arc::clone(one.schema()), 3, &pool).unwrap();
            slots.put(&one, &[(3, 0), (2, 1), (1, 2)]).unwrap();
        }
        let schema = Arc::new(Schema::new(vec![Field::varying(Key::new("x"), DType::Int32, 0)]));
        let mut slots = BatchSlots::new(schema, 1, &pool).unwrap();
        slots.blank(&[0]).unwrap();
        assert_eq!(slots.finish(None).unwrap().columns()[0].bytes(0), Some(&[0; 4][..]));
    }

    #[test]
    fn rows_in_order_are_values_and_offsets() {
        let one = source(None);
        let pool = BufferPool::new(4);
        let mut slots = BatchSlots::new(Arc::clone(one.schema()), 4, &pool).unwrap();
        slots.put(&one, &[(0, 0), (1, 1), (2, 2), (3, 3)]).unwrap();
        let batch = slots.finish(None).unwrap();
        assert_eq!(rows(&batch), rows(&one));
        assert_eq!(batch.columns()[1].ends(), Some(&[1, 3, 6, 6][..]));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let one = source(None);
        let pool = BufferPool::new(4);
        let mut slots = BatchSlots::new(Arc::clone(one.schema()), 2, &pool).unwrap();
        assert!(slots.put(&one, &[(4, 0)]).is_err() && slots.put(&one, &[(0, 2)]).is_err());
        let schema = Arc::new(Schema::new(vec![Field::new("n", DType::UInt16, [])]));
        let narrow = Column::ragged(Buf::from(vec![1, 2, 3, 4]), vec![1, 4]).unwrap();
        let narrow = Batch::new(Arc::clone(&schema), 2, vec![narrow]).unwrap();
        let mut slots = BatchSlots::new(schema, 2, &pool).unwrap();
        // As long in sum as two rows should be.
        assert!(slots.put(&narrow, &[(0, 0), (1, 1)]).unwrap_err().to_string().contains("of 1"));
        assert!(slots.finish(Some(&[2])).is_err());
    }

    #[test]
    fn integers_beyond_64_bits_lie_behind_the_others() {
        let schema = Arc::new(Schema::new(vec![Field::new("n", DType::Int, [])]));
        let data = Buf::from((0..26).collect::<Vec<u8>>());
        let wide = Column::ragged(data, vec![8, 18, 26]).unwrap();
        let wide = Batch::new(Arc::clone(&schema), 3, vec![wide]).unwrap();
        let pool = BufferPool::new(4);
        let mut slots = BatchSlots::new(schema, 3, &pool).unwrap();
        slots.put(&wide, &[(0, 2)]).unwrap();
        slots.put(&wide, &[(1, 0), (2, 1)]).unwrap();
        let batch = slots.finish(None).unwrap();
        let lens = [0, 1, 2].map(|row| batch.columns()[0].bytes(row).unwrap().to_vec());
        assert_eq!(lens[0], (8..18).collect::<Vec<u8>>());
        assert_eq!(lens[2], (0..8).collect::<Vec<u8>>());
        assert_eq!(lens[1].len(), 8);
    }
}
