//! From the words of the container to errors and findings with codes.

use packstone_container::array_record::{self, ArrayRecordError, WriteError};
use packstone_io::{Kind, RelPath};

use super::super::codes;
use crate::error::{Error, Place};
use crate::model::{Finding, Severity};

/// The code for a word of the container.
fn code(word: &str) -> &'static str {
    match word {
        "block_header_hash" => codes::BLOCK_HEADER_HASH,
        "block_header_link" => codes::BLOCK_HEADER_LINK,
        "chunk_begin" => codes::CHUNK_BEGIN,
        "chunk_data_hash" => codes::CHUNK_DATA_HASH,
        "chunk_empty" => codes::CHUNK_EMPTY,
        "chunk_header_hash" => codes::CHUNK_HEADER_HASH,
        "chunk_misplaced" => codes::CHUNK_MISPLACED,
        "chunk_outside" => codes::CHUNK_OUTSIDE,
        "chunk_records" => codes::CHUNK_RECORDS,
        "chunk_type" => codes::CHUNK_TYPE,
        "chunk_unindexed" => codes::CHUNK_UNINDEXED,
        "compressed_stream" => codes::COMPRESSED_STREAM,
        "compression_type" => codes::COMPRESSION_TYPE,
        "entry_size" => codes::ENTRY_SIZE,
        "file_size" => codes::FILE_SIZE,
        "footer_offset" => codes::FOOTER_OFFSET,
        "index_count" => codes::INDEX_COUNT,
        "index_entry" => codes::INDEX_ENTRY,
        "index_group" => codes::INDEX_GROUP,
        "index_offset" => codes::INDEX_OFFSET,
        "index_records" => codes::INDEX_RECORDS,
        "limit" => codes::LIMIT_EXCEEDED,
        "metadata_invalid" => codes::METADATA_INVALID,
        "padding_damaged" => codes::PADDING_DAMAGED,
        "postscript_copies" => codes::POSTSCRIPT_COPIES,
        "postscript_damaged" => codes::POSTSCRIPT_DAMAGED,
        "postscript_invalid" => codes::POSTSCRIPT_INVALID,
        "record_index" => codes::RECORD_INDEX,
        "record_sizes" => codes::RECORD_SIZES,
        "record_values" => codes::RECORD_VALUES,
        "signature_damaged" => codes::SIGNATURE_DAMAGED,
        "transposed_data" => codes::TRANSPOSED_DATA,
        "version" => codes::VERSION,
        "io" => "io/fault",
        _ => codes::FOOTER_DAMAGED,
    }
}

/// The error for a file that cannot be read.
pub fn damaged(error: ArrayRecordError, file: &str) -> Error {
    let mut place = Place::file(file);
    place.offset = error.offset();
    place.record = match &error {
        ArrayRecordError::Chunk { records, .. } => Some(records.start),
        ArrayRecordError::RecordIndex { index, .. } => Some(*index),
        _ => None,
    };
    let message = error.to_string();
    Error::new(error.kind(), code(error.code()), place, message).because(error)
}

/// What a check of the container found.
pub fn found(finding: &array_record::Finding, file: &str) -> Finding {
    let mut place = Place::file(file);
    place.offset = finding.offset();
    if let array_record::Finding::Unreadable(ArrayRecordError::Chunk { records, .. }) = finding {
        place.record = Some(records.start);
    }
    let severity = if finding.unreadable() { Severity::Error } else { Severity::Warning };
    Finding::new(severity, code(finding.code()), place, finding.to_string())
}

/// The error for a file that cannot be written.
pub fn unwritten(error: WriteError, file: &RelPath) -> Error {
    let code = match error.kind() {
        Kind::Io => "io/fault",
        _ => codes::OPTION_INVALID,
    };
    Error::new(error.kind(), code, Place::file(file), error.to_string()).because(error)
}
