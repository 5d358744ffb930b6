//! A shard file as a whole: decompressed, then decoded by its type, or the other way round.

use std::sync::Arc;

use packstone_container::codec::{Codec, CodecError, Encoder, Encoding, looks_like_zlib};
use packstone_io::{AlignedBuf, Buf, Kind, RelPath};

use super::super::codes;
use super::super::document::DatasetInfo;
use super::super::schema::{Compression, ShardType};
use super::{fb, npz, tfrec};
use crate::error::{Error, Place, Result};
use crate::format::ReadContext;
use crate::model::{Batch, Column, Finding, Schema, Severity};

/// What shards of a dataset have in common.
#[derive(Clone, Debug)]
pub struct ShardFormat {
    /// The attributes in stored order.
    pub schema: Arc<Schema>,
    /// The type of shards.
    pub shard_type: ShardType,
    /// Their compression.
    pub compression: Compression,
}

impl From<&DatasetInfo> for ShardFormat {
    fn from(info: &DatasetInfo) -> Self {
        let DatasetInfo { schema, shard_type, compression, .. } = info;
        Self { schema: Arc::clone(schema), shard_type: *shard_type, compression: *compression }
    }
}

/// A decoder's view of one shard file.
pub struct ShardBytes<'a> {
    /// Where it is, for errors.
    pub path: &'a RelPath,
    /// Its bytes, decompressed.
    pub bytes: Buf,
    /// All attributes.
    pub schema: &'a Schema,
    /// Positions of the attributes that are wanted.
    pub wanted: &'a [usize],
    /// Numbers of the examples that are wanted; all where not given.
    pub rows: Option<&'a [usize]>,
}

/// What a decoder found: how many examples the file holds, and columns of those that were wanted.
pub struct Found {
    /// Examples in the file.
    pub stored: usize,
    /// Examples in the columns.
    pub rows: usize,
    /// The wanted attributes.
    pub columns: Vec<Column>,
}

impl Found {
    /// All examples of a file.
    pub fn all(rows: usize, columns: Vec<Column>) -> Self {
        Self { stored: rows, rows, columns }
    }
}

impl ShardBytes<'_> {
    /// The place of the file.
    pub fn place(&self) -> Place {
        Place::file(self.path)
    }
}

impl ShardFormat {
    /// Decodes a shard file, with the attributes at `fields` only where given. What is unusual and no error goes to the
    /// notes of `context`.
    ///
    /// # Errors
    /// The damage, with its file, record and attribute.
    pub fn decode(
        &self,
        path: &RelPath,
        file: Buf,
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        self.decode_rows(path, file, None, fields, context).map(|(batch, _)| batch)
    }

    /// Decodes the examples at `rows` of a shard file, or all; also returns how many the file holds.
    ///
    /// # Errors
    /// As for [`ShardFormat::decode`].
    pub fn decode_rows(
        &self,
        path: &RelPath,
        file: Buf,
        rows: Option<&[usize]>,
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<(Batch, usize)> {
        let bytes = self.decompress(path, file, context)?;
        let all: Vec<usize>;
        let (wanted, schema) = match fields {
            Some(fields) => (fields, Arc::new(self.schema.project(fields))),
            None => {
                all = (0..self.schema.fields.len()).collect();
                (all.as_slice(), Arc::clone(&self.schema))
            }
        };
        let shard = ShardBytes { path, bytes, schema: &self.schema, wanted, rows };
        let found = match self.shard_type {
            ShardType::Fb => fb::decode(&shard)?,
            ShardType::Npz => npz::decode(&shard, self.compression, context)?,
            ShardType::Tfrec => tfrec::decode(&shard, context)?,
        };
        let batch = Batch::new(schema, found.rows, found.columns)?;
        match rows {
            // Decoders that read all examples leave the choice to the columns.
            Some(rows) if found.rows == found.stored && self.shard_type != ShardType::Fb => {
                Ok((batch.select(rows)?, found.stored))
            }
            _ => Ok((batch, found.stored)),
        }
    }

    /// Takes the compression of the whole file away.
    ///
    /// # Errors
    /// `decompress_error`; `io/out_of_memory` through its kind `Limit`.
    pub fn decompress(&self, path: &RelPath, file: Buf, context: &mut ReadContext) -> Result<Buf> {
        let declared = self.compression.codec(self.shard_type);
        if declared == Codec::None {
            return Ok(file);
        }
        let mut note = |severity, code, message: String| {
            context.notes.push(Finding::new(severity, code, Place::file(path), message));
        };
        let codec = if declared == Codec::Gzip && looks_like_zlib(&file) {
            let message = "expected a gzip stream, found a zlib stream".to_owned();
            note(Severity::Warning, codes::AMBIGUOUS_STREAM, message);
            Codec::Zlib
        } else {
            declared
        };
        let mut out = context.pool.take_growing(file.len())?;
        let stream = context
            .decoder
            .decode(codec, &file, &mut out, &context.limits)
            .map_err(|e| codec_error(e, path))?;
        if stream.members > 1 {
            let message = format!(
                "expected one {codec} member, found {}; the original's Rust reader stops after the first",
                stream.members
            );
            note(Severity::Warning, codes::AMBIGUOUS_STREAM, message);
        }
        if stream.trailing.bytes > 0 && !(stream.trailing.zeros && codec == Codec::Gzip) {
            let message = format!(
                "expected the end of the {codec} stream, found {} more bytes",
                stream.trailing.bytes
            );
            note(Severity::Warning, codes::TRAILING_BYTES, message);
        }
        if codec == Codec::Zstd && stream.declared_size.is_none() {
            let message = "expected a zstd frame with its content size, found one without; the original's Python \
                           reader refuses it";
            note(Severity::Warning, codes::DECOMPRESS_ERROR, message.to_owned());
        }
        Ok(out.freeze())
    }

    /// The settings that files of this format are compressed with.
    pub fn encoding(&self) -> Encoding {
        match (self.compression.codec(self.shard_type), self.shard_type) {
            (Codec::Gzip, ShardType::Tfrec) => Encoding::tensorflow_gzip(),
            (codec, _) => Encoding::new(codec),
        }
    }

    /// Encodes `parts`, one after another, as the bytes of one shard file in `out`.
    ///
    /// # Errors
    /// `value_invalid` where a value cannot be stored; `Limit`.
    pub fn encode(
        &self,
        parts: &[Batch],
        scratch: &mut Scratch,
        out: &mut AlignedBuf,
    ) -> Result<()> {
        let encoding = self.encoding();
        let plain = encoding.codec() == Codec::None;
        let Scratch { encoder, raw } = scratch;
        let target = if plain { &mut *out } else { &mut *raw };
        match self.shard_type {
            ShardType::Fb => fb::encode(parts, &self.schema, target)?,
            ShardType::Npz => npz::encode(parts, &self.schema, self.compression, target)?,
            ShardType::Tfrec => tfrec::encode(parts, &self.schema, target)?,
        }
        if !plain {
            encoder.encode(encoding, raw, out).map_err(|e| codec_error(e, &RelPath::root()))?;
        }
        Ok(())
    }
}

/// What an encoding thread keeps between shards.
#[derive(Default)]
pub struct Scratch {
    encoder: Encoder,
    raw: AlignedBuf,
}

fn codec_error(error: CodecError, path: &RelPath) -> Error {
    let kind = match error {
        CodecError::Limit { .. } | CodecError::Memory { .. } => Kind::Limit,
        _ => Kind::Corrupt,
    };
    Error::new(kind, codes::DECOMPRESS_ERROR, Place::file(path), error.to_string()).because(error)
}
