//! Many samples at once, and one of them.

use std::ops::Range;
use std::sync::Arc;

use packstone_container::json::Object;
use packstone_io::{BufferPool, Kind, PooledBuf};

use super::column::Column;
use super::dtype::DType;
use super::schema::{Field, Schema};
use super::value::ValueRef;
use crate::error::{Error, Place, Result};

/// Rows of named columns. Cloning shares the bytes.
#[derive(Clone, Debug)]
pub struct Batch {
    schema: Arc<Schema>,
    rows: usize,
    columns: Vec<Column>,
    metadata: Vec<(usize, Arc<Object>)>,
    identities: Arc<[Object]>,
}

impl Batch {
    /// A batch of columns that have the order of `schema` and `rows` rows each.
    ///
    /// # Errors
    /// `model/column_mismatch` where a column is missing or has another number of rows.
    pub fn new(schema: Arc<Schema>, rows: usize, columns: Vec<Column>) -> Result<Self> {
        if columns.len() != schema.fields.len() || columns.iter().any(|c| c.rows() != rows) {
            let found: Vec<_> = columns.iter().map(Column::rows).collect();
            let fields = schema.fields.len();
            return Err(mismatch(format!(
                "expected {fields} columns of {rows} rows, found {found:?}"
            )));
        }
        for (field, column) in schema.fields.iter().zip(&columns).filter(|(field, _)| field.varying)
        {
            check_shapes(field, column)?;
        }
        Ok(Self { schema, rows, columns, metadata: Vec::new(), identities: Arc::default() })
    }

    /// The same rows with metadata of their own, as runs: each ends before its row and begins where the one before ends.
    ///
    /// # Errors
    /// `model/column_mismatch` where they do not end with the last row, or are out of order.
    pub fn with_metadata_runs(mut self, runs: Vec<(usize, Arc<Object>)>) -> Result<Self> {
        if runs.last().map_or(0, |run| run.0) != self.rows || !runs.is_sorted_by_key(|run| run.0) {
            return Err(mismatch(format!("expected metadata for {} rows", self.rows)));
        }
        self.metadata = runs;
        Ok(self)
    }

    /// The same rows with what their container calls each, which is no content: `{"cache_id": 7, "sample_id": 3}`.
    ///
    /// # Errors
    /// `model/column_mismatch` where there are more or fewer than rows.
    pub fn with_identities(mut self, identities: Vec<Object>) -> Result<Self> {
        if identities.len() != self.rows {
            let found = identities.len();
            return Err(mismatch(format!("expected {} identities, found {found}", self.rows)));
        }
        self.identities = identities.into();
        Ok(self)
    }

    /// The same rows, all with this metadata; an empty object is none.
    #[must_use]
    pub fn with_metadata(mut self, metadata: Arc<Object>) -> Self {
        self.metadata = if metadata.is_empty() { Vec::new() } else { vec![(self.rows, metadata)] };
        self
    }

    /// Takes the metadata of `other`, which has as many rows.
    pub(crate) fn copy_metadata(&mut self, other: &Self) {
        self.metadata.clone_from(&other.metadata);
    }

    /// Takes the identities of `other`, which has as many rows.
    pub(crate) fn copy_identities(&mut self, other: &Self) {
        self.identities = Arc::clone(&other.identities);
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The fields.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The columns in the order of the schema.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The metadata of a row, where it has any.
    pub fn metadata(&self, row: usize) -> Option<&Arc<Object>> {
        let run = self.metadata.get(self.metadata.partition_point(|(end, _)| *end <= row))?;
        (!run.1.is_empty()).then_some(&run.1)
    }

    /// What the container calls a row, where it was asked for.
    pub fn identity(&self, row: usize) -> Option<&Object> {
        self.identities.get(row)
    }

    /// One row.
    pub fn sample(&self, row: usize) -> Option<Sample<'_>> {
        (row < self.rows).then_some(Sample { batch: self, row })
    }

    /// All rows, one by one, without a copy.
    pub fn samples(&self) -> impl Iterator<Item = Sample<'_>> {
        (0..self.rows).map(|row| Sample { batch: self, row })
    }

    /// True where nothing is gained by copying the batch: its rows lie one after another in memory of their own.
    pub(crate) fn is_own(&self) -> bool {
        let mut fields = self.schema.fields.iter().zip(&self.columns);
        fields.all(|(field, c)| c.is_own() && (c.as_dense().is_some() || field.varies()))
    }

    /// The rows of `rows` as a batch of their own, without a copy of their values.
    ///
    /// # Errors
    /// `model/column_mismatch` where there are fewer.
    pub fn slice(&self, rows: Range<usize>) -> Result<Self> {
        let columns = self.columns.iter().map(|column| {
            let short =
                || mismatch(format!("expected at least {} rows, found {}", rows.end, self.rows));
            column.slice(rows.clone()).ok_or_else(short)
        });
        let mut slice =
            Self::new(Arc::clone(&self.schema), rows.len(), columns.collect::<Result<_>>()?)?;
        for (range, object) in self.metadata_runs() {
            if range.end > rows.start && range.start < rows.end {
                slice.metadata.push((range.end.min(rows.end) - rows.start, Arc::clone(object)));
            }
        }
        slice.identities = self.identities.get(rows).map(Arc::from).unwrap_or_default();
        Ok(slice)
    }

    /// The given rows in the given order as a batch of their own, without a copy of their values.
    ///
    /// # Errors
    /// `model/column_mismatch` where one is past the end.
    pub fn select(&self, rows: &[usize]) -> Result<Self> {
        let columns = self.columns.iter().map(|column| {
            let short =
                || mismatch(format!("expected rows below {}, found one past them", self.rows));
            column.select(rows).ok_or_else(short)
        });
        let columns = columns.collect::<Result<_>>()?;
        let mut out = Self::new(Arc::clone(&self.schema), rows.len(), columns)?;
        if !self.metadata.is_empty() {
            let of = |row: &usize| self.metadata(*row).cloned().unwrap_or_default();
            out.metadata = rows.iter().enumerate().map(|(at, row)| (at + 1, of(row))).collect();
        }
        out.identities = rows.iter().filter_map(|row| self.identities.get(*row).cloned()).collect();
        Ok(out)
    }

    /// Neighbouring rows that share their metadata, in order; empty objects stand for none.
    pub fn metadata_runs(&self) -> impl Iterator<Item = (Range<usize>, &Arc<Object>)> {
        let starts = std::iter::once(0).chain(self.metadata.iter().map(|(end, _)| *end));
        self.metadata.iter().zip(starts).map(|((end, object), start)| (start..*end, object))
    }

    /// Bytes of the values of `rows`.
    pub fn bytes_of(&self, rows: Range<usize>) -> u64 {
        self.columns.iter().map(|c| c.total(rows.clone()) as u64).sum()
    }

    /// Bytes of all values.
    pub fn value_bytes(&self) -> u64 {
        self.bytes_of(0..self.rows)
    }
}

/// One row of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    batch: &'a Batch,
    row: usize,
}

impl<'a> Sample<'a> {
    /// The value of the field at `position` in the schema.
    pub fn value(&self, position: usize) -> Option<ValueRef<'a>> {
        let field = self.batch.schema.fields.get(position)?;
        value(field, self.batch.columns.get(position)?, self.row)
    }

    /// The value of a field by name.
    pub fn get(&self, name: &str) -> Option<ValueRef<'a>> {
        self.value(self.batch.schema.position(name)?)
    }

    /// All values in the order of the schema.
    pub fn values(&self) -> impl Iterator<Item = ValueRef<'a>> + use<'a> {
        let Sample { batch, row } = *self;
        let fields = batch.schema.fields.iter().zip(&batch.columns);
        fields.filter_map(move |(field, column)| value(field, column, row))
    }

    /// What the container calls the sample, where it was asked for.
    pub fn identity(&self) -> Option<&'a Object> {
        self.batch.identity(self.row)
    }

    /// The metadata of the sample, where it has any.
    pub fn metadata(&self) -> Option<&'a Arc<Object>> {
        self.batch.metadata(self.row)
    }
}

fn value<'a>(field: &'a Field, column: &'a Column, row: usize) -> Option<ValueRef<'a>> {
    let shape = column.shape(row).unwrap_or(&field.shape);
    Some(ValueRef { dtype: &field.dtype, shape, bytes: column.bytes(row)? })
}

/// Each value of a field of varying shape has the bytes that its shape asks for.
fn check_shapes(field: &Field, column: &Column) -> Result<()> {
    let fits = |row| {
        let (shape, bytes) = (column.shape(row)?, column.bytes(row)?);
        (shape.len() == field.shape.len()).then_some(())?;
        let size = field.element_bytes()?;
        let need = shape.iter().try_fold(size, |n, dim| n.checked_mul(*dim))?;
        (need == bytes.len() as u64).then_some(())
    };
    match (0..column.rows()).find(|row| fits(*row).is_none()) {
        None => Ok(()),
        Some(row) => {
            let message = format!(
                "expected bytes for {} of shape {:?} in row {row}, found {}",
                field.dtype,
                column.shape(row).unwrap_or_default(),
                column.bytes(row).map_or(0, <[u8]>::len)
            );
            Err(mismatch(message))
        }
    }
}

/// Gathers rows of other batches into dense columns, each row copied once into a reused buffer.
#[derive(Debug)]
pub struct BatchBuilder {
    schema: Arc<Schema>,
    pool: BufferPool,
    columns: Vec<Growing>,
    metadata: Vec<(usize, Arc<Object>)>,
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
            Self { schema, pool, columns: Vec::new(), metadata: Vec::new(), rows: 0, capacity };
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
        if batch.metadata.is_empty() && self.metadata.is_empty() {
            return;
        }
        // Rows pushed before the first metadata came have none.
        if self.metadata.is_empty() && self.rows > 0 {
            self.metadata.push((self.rows, Arc::default()));
        }
        let mut start = rows.start;
        let mut runs = batch.metadata.iter().skip_while(|(end, _)| *end <= rows.start);
        while start < rows.end {
            let run = runs.next();
            let end = run.map_or(rows.end, |(end, _)| (*end).min(rows.end));
            let object = run.map(|(_, object)| Arc::clone(object)).unwrap_or_default();
            self.metadata.push((self.rows + end - rows.start, object));
            start = end;
        }
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
        let mut batch =
            Batch::new(Arc::clone(&self.schema), rows, columns.collect::<Result<_>>()?)?;
        batch.metadata = std::mem::take(&mut self.metadata);
        Ok(batch)
    }
}

pub(super) fn mismatch(message: String) -> Error {
    Error::new(Kind::Invalid, "model/column_mismatch", Place::default(), message)
}

#[cfg(test)]
mod tests {
    use packstone_container::json::Value;
    use packstone_io::Buf;

    use super::super::Key;
    use super::*;

    fn batch(texts: &[&str], label: Option<&str>) -> Batch {
        let schema = Schema::new(vec![
            Field::new("n", DType::UInt8, []),
            Field::new("text", DType::Str, []),
        ]);
        let ends = texts.iter().scan(0, |end, t| {
            *end += t.len();
            Some(*end)
        });
        let numbers: Vec<u8> = (0..texts.len()).map(|n| u8::try_from(n).unwrap()).collect();
        let columns = vec![
            Column::dense(Buf::from(numbers), 1, texts.len()).unwrap(),
            Column::ragged(Buf::from(texts.concat().into_bytes()), ends.collect()).unwrap(),
        ];
        let mut metadata = Object::new();
        if let Some(label) = label {
            metadata.insert("label", Value::from(label));
        }
        Batch::new(Arc::new(schema), texts.len(), columns).unwrap().with_metadata(metadata.into())
    }

    #[test]
    fn shapes_that_vary_are_checked_and_gathered() {
        let schema = Arc::new(Schema::new(vec![Field::varying(Key::new("x"), DType::Int16, 2)]));
        let column = |dims: &[u64]| {
            let data = Buf::from(vec![7; 12]);
            Column::ragged(data, vec![8, 8, 12]).unwrap().with_shapes(2, dims.to_vec()).unwrap()
        };
        let batch = |dims: &[u64]| Batch::new(Arc::clone(&schema), 3, vec![column(dims)]);
        assert!(batch(&[2, 2, 3, 0, 1, 1]).unwrap_err().to_string().contains("in row 2"));
        assert!(batch(&[2, 2, u64::MAX, 3, 2, 1]).is_err());
        let batch = batch(&[2, 2, 3, 0, 2, 1]).unwrap();
        let identities = (0..3).map(|n| packstone_container::json!({"n": n}));
        let identities = identities.map(|v| v.as_object().unwrap().clone()).collect();
        let batch = batch.with_identities(identities).unwrap();
        let last = batch.slice(1..3).unwrap().select(&[1]).unwrap();
        assert_eq!(last.identity(0).unwrap().get("n").and_then(Value::as_u64), Some(2));
        let mut builder = BatchBuilder::new(schema, 8, BufferPool::new(1)).unwrap();
        builder.push(&batch, 2..3).unwrap();
        builder.push(&batch, 0..2).unwrap();
        let got = builder.finish().unwrap();
        let shapes: Vec<_> = got.samples().map(|s| s.get("x").unwrap().shape.to_vec()).collect();
        assert_eq!(shapes, [[2, 1], [2, 2], [3, 0]]);
        assert!(got.identity(0).is_none());
    }

    #[test]
    fn gathers_rows_and_their_metadata_across_batches() {
        let parts =
            [batch(&["", "bc", "d"], None), batch(&["e", "fgh"], Some("x")), batch(&["i"], None)];
        let mut builder =
            BatchBuilder::new(Arc::clone(parts[0].schema()), 8, BufferPool::new(4)).unwrap();
        builder.push(&parts[0], 1..3).unwrap();
        builder.push(&parts[1], 0..2).unwrap();
        builder.push(&parts[2], 0..1).unwrap();
        let got = builder.finish().unwrap();
        let texts: Vec<_> = got.samples().map(|s| s.get("text").unwrap().bytes.to_vec()).collect();
        assert_eq!(texts, [&b"bc"[..], b"d", b"e", b"fgh", b"i"]);
        let labelled: Vec<_> = got.samples().map(|s| s.metadata().is_some()).collect();
        assert_eq!(labelled, [false, false, true, true, false]);
        assert_eq!(got.columns()[0].as_dense().unwrap()[..], [1, 2, 0, 1, 0]);
        assert_eq!(builder.finish().unwrap().rows(), 0);
        assert!(builder.push(&parts[1], 1..3).is_err());
    }
}
