//! The stable codes of errors and findings; `docs/findings.md` explains each, and a test keeps both lists equal.

macro_rules! codes {
    ($($name:ident = $code:literal),+ $(,)?) => {
        $(#[doc = concat!("`", $code, "`")] pub const $name: &str = $code;)+
        /// All codes of this format.
        pub const ALL: &[&str] = &[$($code),+];
    };
}

codes! {
    BLOCK_HEADER_HASH = "arrayrecord/block_header_hash",
    BLOCK_HEADER_LINK = "arrayrecord/block_header_link",
    CHUNK_BEGIN = "arrayrecord/chunk_begin",
    CHUNK_DATA_HASH = "arrayrecord/chunk_data_hash",
    CHUNK_EMPTY = "arrayrecord/chunk_empty",
    CHUNK_HEADER_HASH = "arrayrecord/chunk_header_hash",
    CHUNK_MISPLACED = "arrayrecord/chunk_misplaced",
    CHUNK_OUTSIDE = "arrayrecord/chunk_outside",
    CHUNK_RECORDS = "arrayrecord/chunk_records",
    CHUNK_TYPE = "arrayrecord/chunk_type",
    CHUNK_UNINDEXED = "arrayrecord/chunk_unindexed",
    COLLECTION_ORDER = "arrayrecord/collection_order",
    COMPRESSED_STREAM = "arrayrecord/compressed_stream",
    COMPRESSION_TYPE = "arrayrecord/compression_type",
    ENTRY_SIZE = "arrayrecord/entry_size",
    FILE_MISMATCH = "arrayrecord/file_mismatch",
    FILE_SIZE = "arrayrecord/file_size",
    FOOTER_DAMAGED = "arrayrecord/footer_damaged",
    FOOTER_OFFSET = "arrayrecord/footer_offset",
    INDEX_COUNT = "arrayrecord/index_count",
    INDEX_ENTRY = "arrayrecord/index_entry",
    INDEX_GROUP = "arrayrecord/index_group",
    INDEX_OFFSET = "arrayrecord/index_offset",
    INDEX_RECORDS = "arrayrecord/index_records",
    LIMIT_EXCEEDED = "arrayrecord/limit_exceeded",
    METADATA_INVALID = "arrayrecord/metadata_invalid",
    MIXED_FILES = "arrayrecord/mixed_files",
    NOTE_INVALID = "arrayrecord/note_invalid",
    NOT_A_FILE = "arrayrecord/not_a_file",
    NOT_WRITABLE = "arrayrecord/not_writable",
    OPTION_INVALID = "arrayrecord/option_invalid",
    PADDING_DAMAGED = "arrayrecord/padding_damaged",
    POSTSCRIPT_COPIES = "arrayrecord/postscript_copies",
    POSTSCRIPT_DAMAGED = "arrayrecord/postscript_damaged",
    POSTSCRIPT_INVALID = "arrayrecord/postscript_invalid",
    RECORD_FRAME = "arrayrecord/record_frame",
    RECORD_INDEX = "arrayrecord/record_index",
    RECORD_SIZES = "arrayrecord/record_sizes",
    RECORD_VALUES = "arrayrecord/record_values",
    SIGNATURE_DAMAGED = "arrayrecord/signature_damaged",
    TRANSPOSED_DATA = "arrayrecord/transposed_data",
    UNKNOWN_COLLECTION = "arrayrecord/unknown_collection",
    VERSION = "arrayrecord/version",
}
