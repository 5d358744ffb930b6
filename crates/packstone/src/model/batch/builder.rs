//! Batches that are gathered from rows of others.

use std::ops::Range;
use std::sync::Arc;

use packstone_io::{BufferPool, PooledBuf};

use super::{Batch, mismatch};
use crate::error::Result;
use crate::model::column::Column;
use crate::model::dtype::DType;
use crate::model::said::Said;
use crate::model::schema::Schema;

/// Gathers rows of other batches into dense columns, each row copied once into a reused buffer.
#[derive(Debug)]
pub struct BatchBuilder {
    schema: Arc<Schema>,
    pool: BufferPool,
    columns: Vec<Growing>,
    said: Said,
    rows: usize,
    capacity: usize,
}

#[derive(Debug)]
struct Growing {
    data: PooledBuf,
    width: Option<usize>,
    /// Rows of another width are possible and no fault.
    wide: bool,
    ends: Vec<usize>,
    /// The rank of shapes that vary, and these.
    shapes: Option<(usize, Vec<u64>)>,
}

impl BatchBuilder {
    /// A builder for batches of up to about `capacity` rows.
    ///
    /// # Errors
    /// `io/out_of_memory`.
    pub fn new(schema: Arc<Schema>, capacity: usize, pool: BufferPool) -> Result<Self> {
        let mut builder =
            Self { schema, pool, columns: Vec::new(), said: Said::default(), rows: 0, capacity };
        builder.columns = builder.fresh()?;
        Ok(builder)
    }

    /// Buffers for the first row to come, late: who lets go of a batch before asking for the next one gets the same, still
    /// in the processor's cache.
    fn begin(&mut self) -> Result<()> {
        if self.columns.is_empty() {
            self.columns = self.fresh()?;
        }
        Ok(())
    }

    fn fresh(&self) -> Result<Vec<Growing>> {
        let fields = self.schema.fields.iter();
        fields
            .map(|field| {
                let width = if field.varies() { None } else { field.value_bytes() };
                let width = width.and_then(|w| usize::try_from(w).ok());
                let need = width.unwrap_or(0).saturating_mul(self.capacity);
                let wide = field.dtype == DType::Int;
                let shapes = field.varying.then(|| (field.shape.len(), Vec::new()));
                Ok(Growing { data: self.pool.take(need)?, width, wide, ends: Vec::new(), shapes })
            })
            .collect()
    }

    /// Rows gathered so far.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Appends `rows` of `batch`, which has the same schema.
    ///
    /// # Errors
    /// `model/column_mismatch` where `batch` has other columns; `io/out_of_memory`.
    pub fn push(&mut self, batch: &Batch, rows: Range<usize>) -> Result<()> {
        self.begin()?;
        if batch.columns.len() != self.columns.len() || rows.end > batch.rows {
            return Err(mismatch(format!(
                "expected {} columns and at least {} rows, found {} and {}",
                self.columns.len(),
                rows.end,
                batch.columns.len(),
                batch.rows
            )));
        }
        for (to, from) in self.columns.iter_mut().zip(&batch.columns) {
            let start = to.data.len();
            let more = from.total(rows.clone());
            if let Some(width) = to.width.filter(|w| w.saturating_mul(rows.len()) != more) {
                if !to.wide {
                    return Err(mismatch(format!("expected rows of {width} bytes")));
                }
                // A Python integer beyond 64 bits: from here on the rows have lengths of their own.
                to.ends = (1..=self.rows).map(|row| row.saturating_mul(width)).collect();
                to.width = None;
            }
            to.data.set_len(start.saturating_add(more))?;
            let out = to.data.get_mut(start..).unwrap_or_default();
            from.fill(rows.clone(), out)?;
            if let Some((_, dims)) = &mut to.shapes {
                let shapes = rows.clone().filter_map(|row| from.shape(row));
                dims.extend(shapes.flatten());
            }
            if to.width.is_none() {
                let mut end = start;
                to.ends.extend(rows.clone().map(|row| {
                    end += from.bytes(row).map_or(0, <[u8]>::len);
                    end
                }));
            }
        }
        self.push_metadata(batch, &rows);
        self.rows += rows.len();
        Ok(())
    }

    fn push_metadata(&mut self, batch: &Batch, rows: &Range<usize>) {
        if batch.said.is_empty() && self.said.is_empty() {
            return;
        }
        // Rows pushed before the first metadata came have none.
        self.said.pass(self.rows.saturating_sub(self.said.rows()));
        self.said.extend(&batch.said, rows.clone());
    }

    /// The rows gathered so far as a batch; the builder starts afresh.
    ///
    /// # Errors
    /// `io/out_of_memory`.
    pub fn finish(&mut self) -> Result<Batch> {
        self.begin()?;
        let rows = std::mem::take(&mut self.rows);
        let grown = std::mem::take(&mut self.columns);
        let columns = grown.into_iter().map(|column| {
            let data = column.data.freeze();
            let dense = match column.width {
                Some(width) => Column::dense(data, width, rows),
                None => Column::ragged(data, column.ends),
            };
            let shaped = match column.shapes {
                Some((rank, dims)) => dense.and_then(|dense| dense.with_shapes(rank, dims)),
                None => dense,
            };
            shaped.ok_or_else(|| mismatch("rows of another width or shape".to_owned()))
        });
        let batch = Batch::new(Arc::clone(&self.schema), rows, columns.collect::<Result<_>>()?)?;
        batch.with_said(std::mem::take(&mut self.said))
    }
}
