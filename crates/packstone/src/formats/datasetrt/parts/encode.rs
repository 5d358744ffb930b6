//! Samples become records: envelope, metadata, payload as it is stored. Done on several threads, some samples at a time.

use std::sync::Arc;

use packstone_container::codec::Lz4BlockEncoder;
use packstone_io::{Buf, BufferPool, Kind, PooledBuf};

use super::super::codes;
use super::super::document::Algo;
use super::descriptor::{FieldPlace, StoredField};
use super::rows::{Spelled, refused};
use super::tensors::TensorWriter;
use crate::error::{Error, Place, Result};
use crate::model::Batch;

/// Some samples.
pub struct Job {
    /// Their fields.
    pub batch: Batch,
    /// Their metadata.
    pub metadata: Spelled,
    /// The number of the first one.
    pub first: u64,
}

/// The records of some samples, one after another.
pub struct Records {
    /// All of them.
    pub bytes: Buf,
    /// Length of each record, and of its payload before compression.
    pub lengths: Vec<(u64, u64)>,
}

/// What one thread needs to make records.
pub struct Encoder {
    algo: Algo,
    payload: Payload,
    lz4: Lz4BlockEncoder,
    pool: BufferPool,
    scratch: Vec<u8>,
}

/// What the payload of a sample is.
enum Payload {
    /// Nothing: all fields are columns.
    Empty,
    /// The field at this position.
    Field(usize),
    /// Several fields.
    Tensors(Box<TensorWriter>),
}

impl Encoder {
    /// For samples with these fields.
    pub fn new(fields: &Arc<[StoredField]>, algo: Algo, pool: BufferPool) -> Self {
        let whole = fields.iter().position(|stored| stored.place == FieldPlace::Payload);
        let tensors = fields.iter().enumerate().filter_map(|(at, stored)| match &stored.place {
            FieldPlace::Tensor(name) => Some((at, name.as_str(), &stored.field)),
            _ => None,
        });
        let payload = match (whole, tensors.clone().next()) {
            (Some(position), _) => Payload::Field(position),
            (None, Some(_)) => Payload::Tensors(Box::new(TensorWriter::new(tensors))),
            (None, None) => Payload::Empty,
        };
        Self { algo, payload, lz4: Lz4BlockEncoder::default(), pool, scratch: Vec::new() }
    }

    /// Makes the records of some samples.
    ///
    /// # Errors
    /// `value_invalid` where a payload is too long to be compressed, or a value does not fit its field.
    pub fn encode(&mut self, job: &Job) -> Result<Records> {
        let Job { batch, metadata, first } = job;
        let size = batch.value_bytes().saturating_add(metadata.text.len() as u64);
        let size = size.saturating_add(batch.rows() as u64 * 64);
        let mut out = self.pool.take(usize::try_from(size).unwrap_or(0))?;
        let mut lengths = Vec::with_capacity(batch.rows());
        let mut start = 0;
        for (row, end) in metadata.ends.iter().enumerate() {
            let text = metadata.text.get(start..*end).unwrap_or_default();
            let before = out.len();
            out.extend_from_slice(&(text.len() as u64).to_le_bytes())?;
            out.extend_from_slice(text.as_bytes())?;
            let raw = self.payload(batch, row, *first, &mut out)?;
            lengths.push(((out.len() - before) as u64, raw));
            start = *end;
        }
        Ok(Records { bytes: out.freeze(), lengths })
    }

    fn payload(
        &mut self,
        batch: &Batch,
        row: usize,
        first: u64,
        out: &mut PooledBuf,
    ) -> Result<u64> {
        let sample = first + row as u64;
        let raw: &[u8] = match &mut self.payload {
            Payload::Empty => &[],
            Payload::Field(position) => {
                let column = batch.columns().get(*position);
                column.and_then(|column| column.bytes(row)).ok_or_else(|| {
                    refused(sample, "", "expected a payload, found none".to_owned())
                })?
            }
            Payload::Tensors(tensors) => {
                self.scratch.clear();
                let written = tensors.write(batch, row, &mut self.scratch);
                written.map_err(|e| e.with_place(Place::default().record(sample)))?;
                &self.scratch
            }
        };
        if self.algo == Algo::None {
            out.extend_from_slice(raw)?;
            return Ok(raw.len() as u64);
        }
        let len = lz4_length(raw.len() as u64, sample)?;
        out.extend_from_slice(&len.to_le_bytes())?;
        self.lz4.encode(raw, out).map_err(|error| {
            let message = error.to_string();
            Error::new(Kind::Io, codes::VALUE_INVALID, Place::default().record(sample), message)
        })?;
        Ok(raw.len() as u64)
    }
}

/// The length in front of a compressed payload, which has 32 bits; the original lets it wrap.
fn lz4_length(len: u64, sample: u64) -> Result<u32> {
    u32::try_from(len).map_err(|_| {
        let message = format!("expected a payload below 4 GiB for lz4, found {len} bytes");
        refused(sample, "", message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_of_4_gib_is_refused_for_lz4() {
        assert_eq!(lz4_length(u64::from(u32::MAX), 7).unwrap(), u32::MAX);
        let error = lz4_length(1 << 32, 7).unwrap_err();
        assert_eq!((error.code(), error.place().record), (codes::VALUE_INVALID, Some(7)));
    }
}
