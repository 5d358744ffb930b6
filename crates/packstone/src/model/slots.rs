//! A batch of known size whose rows come in any order: each is copied once, to the place that it has in the batch.
//!
//! ```text
//! fixed width   slot 0│slot 1│slot 2│…         a row goes to slot × width
//! any length    row of slot 2│row of slot 0│…  rows lie as they came; the column knows where
//! ```

mod filling;

use std::sync::Arc;

use packstone_io::BufferPool;

use filling::Filling;

use super::batch::{Batch, mismatch};
use super::column::Column;
use super::said::SaidSlots;
use super::schema::Schema;
use crate::error::Result;

/// Takes rows of other batches to places of their own.
#[derive(Debug)]
pub struct BatchSlots {
    schema: Arc<Schema>,
    rows: usize,
    pool: BufferPool,
    columns: Vec<Filling>,
    said: SaidSlots,
}

/// A row of a source and its slot.
pub type RowSlot = (usize, usize);

impl BatchSlots {
    /// A batch of `rows` slots.
    ///
    /// # Errors
    /// `io/out_of_memory`.
    pub fn new(schema: Arc<Schema>, rows: usize, pool: &BufferPool) -> Result<Self> {
        let columns = schema.fields.iter().map(|field| Filling::new(field, rows, pool));
        let columns = columns.collect::<Result<_>>()?;
        Ok(Self { schema, rows, pool: pool.clone(), columns, said: SaidSlots::default() })
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
            to.put(from, rows, self.rows, &self.pool)?;
        }
        self.said.put(batch.said(), rows, self.rows);
        Ok(())
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
        batch.with_said(self.said.finish(kept))
    }
}

#[cfg(test)]
mod tests {
    use packstone_container::json::{Object, Value};
    use packstone_io::Buf;

    use super::super::{DType, Field, Key};
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
