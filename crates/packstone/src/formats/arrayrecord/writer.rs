//! Writing a new file of samples.
//!
//! Chunks go into a draft as they are full; the index follows, then everything is put on the disk, and only then the file
//! gets its name, which must be free. A writer that is dropped before leaves nothing.

use std::io::{self, BufWriter};

use packstone_container::array_record::Writer as RecordWriter;
use packstone_container::json::Object;
use packstone_io::{Draft, Kind, RelPath, RootMut};

use super::codes;
use super::options::write_options;
use super::parts::fault::unwritten;
use super::parts::frame::Frame;
use super::schema::{check_writable, plain};
use crate::error::{Error, Place, Result};
use crate::format::{Plan, Writer, Written};
use crate::model::Batch;
use crate::model::own::{Own, RECORDS};

/// Bytes that are handed to the draft at once.
const BUFFER: usize = 256 << 10;

/// A draft as a stream.
pub(super) struct Sink(pub(super) Box<dyn Draft>);

impl io::Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a new file.
pub struct FileWriter {
    path: RelPath,
    frame: Frame,
    own: Own,
    /// The collection that is written now.
    current: usize,
    writer: RecordWriter<BufWriter<Sink>>,
    failed: bool,
}

impl FileWriter {
    /// Starts the file that `root` shows, where none may be.
    ///
    /// # Errors
    /// `not_a_file`, `not_writable`, `option_invalid`; `io/exists`, I/O faults.
    pub fn create(root: &dyn RootMut, plan: &Plan, options: &Object) -> Result<Self> {
        let options = write_options(plan, options)?;
        let frame = check_writable(&plan.schema)?;
        let Some(path) = root.sole_file().cloned() else {
            let message = "expected a path that ends in .arrayrecord, found another".to_owned();
            let place = Place::file(root.label());
            return Err(Error::new(Kind::Invalid, codes::NOT_A_FILE, place, message));
        };
        let draft = BufWriter::with_capacity(BUFFER, Sink(root.draft(&path)?));
        let writer = RecordWriter::new(draft, &options).map_err(|e| unwritten(e, &path))?;
        let own = Own {
            schema: plan.schema.as_ref().clone(),
            collections: plan.collections.iter().map(|(name, _)| (name.clone(), 0)).collect(),
            carried: plan.carried.clone(),
            ..Own::default()
        };
        Ok(Self { path, frame, own, current: 0, writer, failed: false })
    }

    fn invalid(&self, code: &'static str, message: String) -> Error {
        Error::new(Kind::Invalid, code, Place::file(&self.path), message)
    }

    /// Goes on to a collection, whose records follow those of the ones before.
    fn turn_to(&mut self, collection: &str) -> Result<()> {
        let known = self.own.collections.iter().position(|(name, _)| name == collection);
        match known {
            Some(at) if at < self.current => {
                let message = format!(
                    "expected the records of a collection one after another, found more of {collection:?}"
                );
                return Err(self.invalid(codes::COLLECTION_ORDER, message));
            }
            Some(at) => self.current = at,
            None => {
                self.current = self.own.collections.len();
                self.own.collections.push((collection.to_owned(), 0));
            }
        }
        Ok(())
    }

    /// True where the file says everything by itself.
    fn is_plain(&self) -> bool {
        let alone = matches!(&self.own.collections[..], [] | [_])
            && self.own.collections.iter().all(|(name, _)| name == RECORDS);
        alone && self.own.schema == plain() && self.own.carried.is_none()
    }
}

impl Writer for FileWriter {
    fn write(&mut self, collection: &str, batch: &Batch) -> Result<()> {
        if self.failed {
            let message = "expected a writer without a failure, found one that failed before";
            return Err(self.invalid(codes::NOT_WRITABLE, message.to_owned()));
        }
        let record = |row: usize| {
            self.frame.join(batch, row).ok_or_else(|| {
                let message =
                    format!("expected values of the planned fields in row {row}, found others");
                Error::new(Kind::Invalid, "model/column_mismatch", Place::default(), message)
            })
        };
        // A batch is taken as a whole or not at all.
        let records = (0..batch.rows()).map(record).collect::<Result<Vec<_>>>()?;
        self.turn_to(collection)?;
        self.failed = true;
        for record in &records {
            self.writer.write(record).map_err(|error| unwritten(error, &self.path))?;
        }
        self.failed = false;
        if let Some((_, len)) = self.own.collections.get_mut(self.current) {
            *len = len.saturating_add(records.len() as u64);
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Written> {
        if self.failed {
            let message = "expected a writer without a failure, found one that failed before";
            return Err(self.invalid(codes::NOT_WRITABLE, message.to_owned()));
        }
        if !self.is_plain() {
            self.writer.set_note(self.own.to_value().to_string().into_bytes());
        }
        let Self { path, writer, .. } = *self;
        let written = writer.finish().map_err(|error| unwritten(error, &path))?;
        let sink = written.out.into_inner();
        let sink = sink.map_err(|error| unwritten(error.into_error().into(), &path))?;
        sink.0.publish_new()?;
        Ok(Written { samples: written.records, shards: 1, bytes: written.len })
    }
}
