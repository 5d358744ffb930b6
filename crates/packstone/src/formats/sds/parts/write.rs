//! Writing a shard: records and their rows, side by side, under names that follow from a worker and its attempt.

use std::sync::Arc;

use packstone_container::array_record::{WriteError, Writer, WriterOptions};
use packstone_io::{Kind, RelPath, RootMut};

use super::super::codes;
use super::super::layout::{WRITER_OPTIONS, shard_paths};
use super::super::options::Policy;
use super::encode::Piece;
use super::payload::{Encoded, encode};
use super::record::{Record, exceeded};
use super::reference::ObjectReference;
use super::store::Object;
use crate::error::{Error, Place, Result};
use crate::exec::Retry;

/// How shards are written.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ShardOptions {
    /// Bounds of records.
    pub policy: Policy,
    /// Records in a shard at most; none for any number.
    pub max_records: Option<u64>,
    /// Bytes of each of its objects at most; none for any number.
    pub max_bytes: Option<u64>,
    /// How containers are written. Anything but the default is not the layout, though readers take it.
    pub container: WriterOptions,
    /// How often to try again to give an object its name after faults that pass.
    pub retry: Retry,
}

impl Default for ShardOptions {
    fn default() -> Self {
        // The text is one of its grammar; a test sees to it.
        let container = WRITER_OPTIONS.parse().unwrap_or_default();
        let (policy, retry) = (Policy::default(), Retry::default());
        Self { policy, max_records: None, max_bytes: None, container, retry }
    }
}

/// What a worker wrote; given to whoever publishes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedShard {
    /// Which piece of work it is.
    pub work_id: String,
    /// How often it was tried before.
    pub attempt: u64,
    /// Its records.
    pub record_count: u64,
    /// The object of records.
    pub data: ObjectReference,
    /// The object of rows.
    pub metadata: ObjectReference,
    /// True where both objects were made by this writer.
    pub created: bool,
}

/// A shard in the making; dropped before [`ShardWriter::finish`], it leaves nothing.
pub struct ShardWriter<'r> {
    data: Writer<Object<'r>>,
    rows: Writer<Object<'r>>,
    paths: (RelPath, RelPath),
    work_id: String,
    attempt: u64,
    options: Arc<ShardOptions>,
}

/// The paths of the objects of a shard.
///
/// # Errors
/// `work_ids` for an empty work id.
pub fn checked_paths(work_id: &str, attempt: u64) -> Result<(RelPath, RelPath)> {
    if work_id.is_empty() {
        let message = "expected a work id that is not empty, found an empty one";
        return Err(Error::new(Kind::Invalid, codes::WORK_IDS, Place::default(), message));
    }
    let (data, metadata) = shard_paths(work_id, attempt);
    // Digests in hex are paths.
    Ok((RelPath::new(&data).unwrap_or_default(), RelPath::new(&metadata).unwrap_or_default()))
}

impl<'r> ShardWriter<'r> {
    /// Starts the shard of a piece of work.
    ///
    /// # Errors
    /// `work_ids`; I/O faults.
    pub fn start(
        root: &'r dyn RootMut,
        work_id: &str,
        attempt: u64,
        options: &Arc<ShardOptions>,
    ) -> Result<Self> {
        let paths = checked_paths(work_id, attempt)?;
        let open = |path: &RelPath| {
            let object = Object::start(root, &path.parent().unwrap_or_default())?;
            Writer::new(object, &options.container).map_err(|error| failed(error, path))
        };
        let (data, rows) = (open(&paths.0)?, open(&paths.1)?);
        let (work_id, options) = (work_id.to_owned(), Arc::clone(options));
        Ok(Self { data, rows, paths, work_id, attempt, options })
    }

    /// Records so far.
    pub fn records(&self) -> u64 {
        self.data.records()
    }

    /// Appends a record.
    ///
    /// # Errors
    /// Those of [`encode`]; as for [`ShardWriter::push_encoded`].
    pub fn push(&mut self, record: &Record) -> Result<()> {
        let encoded = encode(record, &self.options.policy)?;
        self.push_encoded(&encoded)
    }

    /// Appends a record that is spelled already.
    ///
    /// # Errors
    /// `limit_exceeded` where the shard is full; I/O faults. The writer is of no use after one.
    pub fn push_encoded(&mut self, encoded: &Encoded) -> Result<()> {
        self.room()?;
        self.data.write(&encoded.record).map_err(|error| failed(error, &self.paths.0))?;
        self.rows.write(&encoded.row).map_err(|error| failed(error, &self.paths.1))
    }

    /// Appends a record that is a chunk already, of containers with the same options.
    ///
    /// # Errors
    /// As for [`ShardWriter::push_encoded`].
    pub fn place(&mut self, piece: &Piece) -> Result<()> {
        self.room()?;
        self.data.place(&piece.data).map_err(|error| failed(error, &self.paths.0))?;
        self.rows.place(&piece.row).map_err(|error| failed(error, &self.paths.1))
    }

    fn room(&self) -> Result<()> {
        let count = self.records().saturating_add(1);
        match self.options.max_records.filter(|limit| count > *limit) {
            Some(limit) => Err(exceeded("records in a shard", limit, count)),
            None => Ok(()),
        }
    }

    /// Gives both objects their names: records first.
    ///
    /// # Errors
    /// `limit_exceeded` where an object is too large; `shard_conflict` where this attempt wrote something else before;
    /// I/O faults.
    pub fn finish(self) -> Result<PublishedShard> {
        let (data_path, rows_path) = self.paths;
        let data = self.data.finish().map_err(|error| failed(error, &data_path))?;
        let rows = self.rows.finish().map_err(|error| failed(error, &rows_path))?;
        let found = data.len.max(rows.len);
        if let Some(limit) = self.options.max_bytes.filter(|limit| found > *limit) {
            return Err(exceeded("bytes in an object", limit, found));
        }
        let (count, retry) = (data.records, &self.options.retry);
        let (mut data, mut rows) = (data.out, rows.out);
        data.seal()?;
        rows.seal()?;
        let (data_bytes, first) = retry.run(|| data.publish(&data_path))?;
        let (rows_bytes, second) = retry.run(|| rows.publish(&rows_path))?;
        Ok(PublishedShard {
            work_id: self.work_id,
            attempt: self.attempt,
            record_count: count,
            data: ObjectReference::new(data_path, data_bytes),
            metadata: ObjectReference::new(rows_path, rows_bytes),
            created: first && second,
        })
    }
}

/// Writes the shard of one piece of work. Run again with the same records, it finds its objects; run with others under the
/// same attempt, it refuses.
///
/// # Errors
/// As for [`ShardWriter`]; whatever `records` gives.
pub fn write_shard(
    root: &dyn RootMut,
    records: impl IntoIterator<Item = Result<Record>>,
    work_id: &str,
    attempt: u64,
    options: &ShardOptions,
) -> Result<PublishedShard> {
    let mut writer = ShardWriter::start(root, work_id, attempt, &Arc::new(options.clone()))?;
    for record in records {
        let number = writer.records();
        writer.push(&record?).map_err(|error| {
            let place = error.place().clone().record(number);
            error.with_place(place)
        })?;
    }
    writer.finish()
}

/// The error for a container that cannot be written.
pub(super) fn failed(error: WriteError, path: &RelPath) -> Error {
    let code = match error.kind() {
        Kind::Io => "io/fault",
        Kind::Limit => "io/out_of_memory",
        _ => codes::OPTION_INVALID,
    };
    Error::new(error.kind(), code, Place::file(path), error.to_string()).because(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_container_is_that_of_the_layout() {
        let options: WriterOptions = WRITER_OPTIONS.parse().unwrap();
        assert_eq!((options.group_size, options), (1, ShardOptions::default().container));
    }
}
