//! The stable codes of errors and findings; `docs/findings.md` explains each, and a test keeps both lists equal.

macro_rules! codes {
    ($($name:ident = $code:literal),+ $(,)?) => {
        $(#[doc = concat!("`", $code, "`")] pub const $name: &str = $code;)+
        /// All codes of this format.
        pub const ALL: &[&str] = &[$($code),+];
    };
}

codes! {
    ARROW_COLUMNS_DIFFER = "datasetrt/arrow_columns_differ",
    ARROW_INVALID = "datasetrt/arrow_invalid",
    ARROW_NULL = "datasetrt/arrow_null",
    ARROW_ROW_COUNT = "datasetrt/arrow_row_count",
    ARROW_UNSUPPORTED = "datasetrt/arrow_unsupported",
    CHECKSUM_MISMATCH = "datasetrt/checksum_mismatch",
    DUPLICATE_CACHE_ID = "datasetrt/duplicate_cache_id",
    ENVELOPE_KEYS_DIFFER = "datasetrt/envelope_keys_differ",
    ENVELOPE_KIND_DIFFERS = "datasetrt/envelope_kind_differs",
    ENVELOPE_LENGTH = "datasetrt/envelope_length",
    ENVELOPE_NOT_JSON = "datasetrt/envelope_not_json",
    ENVELOPE_NULL = "datasetrt/envelope_null",
    ENVELOPE_VALUE_DIFFERS = "datasetrt/envelope_value_differs",
    FILE_CHANGED = "datasetrt/file_changed",
    FILE_MISSING = "datasetrt/file_missing",
    ID_NOT_FROM_NAME = "datasetrt/id_not_from_name",
    INDEX_PARTIAL_ROW = "datasetrt/index_partial_row",
    INDEX_PAST_END = "datasetrt/index_past_end",
    INDEX_ROW_COUNT = "datasetrt/index_row_count",
    INDEX_ROW_TOO_SHORT = "datasetrt/index_row_too_short",
    INDEX_SHARD_OUT_OF_RANGE = "datasetrt/index_shard_out_of_range",
    LEFTOVER_MANIFEST_TEMP = "datasetrt/leftover_manifest_temp",
    LEFTOVER_WRITE_TEMP = "datasetrt/leftover_write_temp",
    LOSSY_FLOAT = "datasetrt/lossy_float",
    LZ4_DAMAGED = "datasetrt/lz4_damaged",
    LZ4_LENGTH = "datasetrt/lz4_length",
    MANIFEST_DUPLICATE_KEY = "datasetrt/manifest_duplicate_key",
    MANIFEST_INVALID = "datasetrt/manifest_invalid",
    MANIFEST_MISSING = "datasetrt/manifest_missing",
    MANIFEST_NOT_JSON = "datasetrt/manifest_not_json",
    MANIFEST_SHA_UPPERCASE = "datasetrt/manifest_sha_uppercase",
    MANIFEST_UNKNOWN_ALGO = "datasetrt/manifest_unknown_algo",
    MANIFEST_UNKNOWN_KIND = "datasetrt/manifest_unknown_kind",
    MANIFEST_VERSION = "datasetrt/manifest_version",
    NON_FINITE = "datasetrt/non_finite",
    NO_SAMPLES = "datasetrt/no_samples",
    PAYLOAD_INVALID = "datasetrt/payload_invalid",
    PATH_ESCAPE = "datasetrt/path_escape",
    RAW_LENGTH_DIFFERS = "datasetrt/raw_length_differs",
    RECORDS_OVERLAP = "datasetrt/records_overlap",
    RESERVED_NAME = "datasetrt/reserved_name",
    SCHEMA_DIFFERS = "datasetrt/schema_differs",
    SHARD_LENGTH = "datasetrt/shard_length",
    SHARD_LISTED_TWICE = "datasetrt/shard_listed_twice",
    UNKNOWN_COLLECTION = "datasetrt/unknown_collection",
    UNKNOWN_SAMPLE = "datasetrt/unknown_sample",
    UNLISTED_FILE = "datasetrt/unlisted_file",
    UNUSED_BYTES = "datasetrt/unused_bytes",
    UNUSED_SHARD = "datasetrt/unused_shard",
    V2_CACHE_ID = "datasetrt/v2_cache_id",
    VALUE_INVALID = "datasetrt/value_invalid",
}
