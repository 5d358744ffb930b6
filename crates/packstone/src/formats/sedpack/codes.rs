//! The stable codes of errors and findings; `docs/findings.md` explains each, and a test keeps both lists equal.

macro_rules! codes {
    ($($name:ident = $code:literal),+ $(,)?) => {
        $(#[doc = concat!("`", $code, "`")] pub const $name: &str = $code;)+
        /// All codes of this format.
        pub const ALL: &[&str] = &[$($code),+];
    };
}

codes! {
    AMBIGUOUS_STREAM = "sedpack/ambiguous_stream",
    ATTRIBUTE_COUNT_MISMATCH = "sedpack/attribute_count_mismatch",
    ATTRIBUTE_SIZE_MISMATCH = "sedpack/attribute_size_mismatch",
    COUNT_MISMATCH = "sedpack/count_mismatch",
    DECOMPRESS_ERROR = "sedpack/decompress_error",
    DUPLICATE_ATTRIBUTE = "sedpack/duplicate_attribute",
    DUPLICATE_KEY = "sedpack/duplicate_key",
    DUPLICATE_SHARD = "sedpack/duplicate_shard",
    FEATURE_MISSING = "sedpack/feature_missing",
    FLATBUFFER_INVALID = "sedpack/flatbuffer_invalid",
    HASH_COUNT_MISMATCH = "sedpack/hash_count_mismatch",
    HASH_MISMATCH = "sedpack/hash_mismatch",
    INEXACT_VALUE = "sedpack/inexact_value",
    INVALID_UTF8 = "sedpack/invalid_utf8",
    JSON_INVALID = "sedpack/json_invalid",
    LOOSE_VALUE = "sedpack/loose_value",
    METADATA_CYCLE = "sedpack/metadata_cycle",
    MISSING_FILE = "sedpack/missing_file",
    NOT_WRITABLE = "sedpack/not_writable",
    NPZ_COLUMN_MISMATCH = "sedpack/npz_column_mismatch",
    NPZ_INVALID = "sedpack/npz_invalid",
    NPZ_MISSING_KEY = "sedpack/npz_missing_key",
    NPZ_OBJECT_ARRAY = "sedpack/npz_object_array",
    NPZ_OFFSETS_INVALID = "sedpack/npz_offsets_invalid",
    OPTION_INVALID = "sedpack/option_invalid",
    PARTS_INVALID = "sedpack/parts_invalid",
    PATH_ESCAPE = "sedpack/path_escape",
    ROOT_CHANGED = "sedpack/root_changed",
    SCHEMA_INVALID = "sedpack/schema_invalid",
    SURPLUS_FILE = "sedpack/surplus_file",
    TFRECORD_CRC = "sedpack/tfrecord_crc",
    TFRECORD_INVALID = "sedpack/tfrecord_invalid",
    TFRECORD_TRUNCATED = "sedpack/tfrecord_truncated",
    TRAILING_BYTES = "sedpack/trailing_bytes",
    UNKNOWN_COMPRESSION = "sedpack/unknown_compression",
    UNKNOWN_DTYPE = "sedpack/unknown_dtype",
    UNKNOWN_HASH = "sedpack/unknown_hash",
    UNKNOWN_KEY = "sedpack/unknown_key",
    UNKNOWN_SHARD_TYPE = "sedpack/unknown_shard_type",
    UNKNOWN_SPLIT = "sedpack/unknown_split",
    UNLISTED_FILE = "sedpack/unlisted_file",
    UNSUPPORTED_COMBINATION = "sedpack/unsupported_combination",
    VALUE_INVALID = "sedpack/value_invalid",
    VERSION_INVALID = "sedpack/version_invalid",
    VERSION_TOO_NEW = "sedpack/version_too_new",
}
