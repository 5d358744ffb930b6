//! The stable codes of errors and findings; `docs/findings.md` explains each, and a test keeps both lists equal.

macro_rules! codes {
    ($($name:ident = $code:literal),+ $(,)?) => {
        $(#[doc = concat!("`", $code, "`")] pub const $name: &str = $code;)+
        /// All codes of this format.
        pub const ALL: &[&str] = &[$($code),+];
    };
}

codes! {
    BAD_BOOL = "tensordict/bad_bool",
    BAD_INDEX = "tensordict/bad_index",
    BAD_NAMES = "tensordict/bad_names",
    BAD_SHAPE = "tensordict/bad_shape",
    BAD_VIEW_OP = "tensordict/bad_view_op",
    BATCH_MISMATCH = "tensordict/batch_mismatch",
    CONSOLIDATED = "tensordict/consolidated",
    CORRUPT_ZIP = "tensordict/corrupt_zip",
    CRC_MISMATCH = "tensordict/crc_mismatch",
    CYCLE = "tensordict/cycle",
    DEVICE_LABEL = "tensordict/device_label",
    DUPLICATE_ENTRY = "tensordict/duplicate_entry",
    DUPLICATE_KEY = "tensordict/duplicate_key",
    ENCRYPTED_ENTRY = "tensordict/encrypted_entry",
    EXTRA_FIELD = "tensordict/extra_field",
    LAZY_GAP = "tensordict/lazy_gap",
    LEAF_TAIL = "tensordict/leaf_tail",
    MALFORMED_JSON = "tensordict/malformed_json",
    MALFORMED_JSON_TYPES = "tensordict/malformed_json_types",
    MALFORMED_META = "tensordict/malformed_meta",
    MISSING_COLLECTION = "tensordict/missing_collection",
    MISSING_LEAF = "tensordict/missing_leaf",
    MISSING_META = "tensordict/missing_meta",
    MISSING_SIZES = "tensordict/missing_sizes",
    MISSING_TYPE = "tensordict/missing_type",
    MISSING_VALUE = "tensordict/missing_value",
    NAME_COLLISION = "tensordict/name_collision",
    NEEDS_PICKLE = "tensordict/needs_pickle",
    NOT_AN_ARCHIVE = "tensordict/not_an_archive",
    NOT_WRITABLE = "tensordict/not_writable",
    NO_COMMON_FORM = "tensordict/no_common_form",
    ODD_VERSION = "tensordict/odd_version",
    ORPHAN = "tensordict/orphan",
    PATH_ESCAPE = "tensordict/path_escape",
    SIZE_MISMATCH = "tensordict/size_mismatch",
    SYMLINK = "tensordict/symlink",
    TOO_DEEP = "tensordict/too_deep",
    TOO_LARGE = "tensordict/too_large",
    TRUNCATED_LEAF = "tensordict/truncated_leaf",
    UNALIGNED_LEAF = "tensordict/unaligned_leaf",
    UNFLAGGED_NAME = "tensordict/unflagged_name",
    UNKNOWN_CLASS = "tensordict/unknown_class",
    UNKNOWN_COLLECTION = "tensordict/unknown_collection",
    UNKNOWN_DEVICE = "tensordict/unknown_device",
    UNKNOWN_DTYPE = "tensordict/unknown_dtype",
    UNSUPPORTED_COMPRESSION = "tensordict/unsupported_compression",
    UNSUPPORTED_DTYPE = "tensordict/unsupported_dtype",
    UNSUPPORTED_VERSION = "tensordict/unsupported_version",
    WRITE_ONLY_DTYPE = "tensordict/write_only_dtype",
}
