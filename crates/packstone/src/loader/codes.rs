//! The stable codes of errors about orders, shares, states and delivery; `docs/findings.md` explains each.

macro_rules! codes {
    ($($name:ident = $code:literal),+ $(,)?) => {
        $(#[doc = concat!("`", $code, "`")] pub const $name: &str = $code;)+
        /// All codes about orders, shares, states and delivery.
        pub const ALL: &[&str] = &[$($code),+];
    };
}

codes! {
    COLUMN_INVALID = "loader/column_invalid",
    COUNT_DIFFERS = "loader/count_differs",
    INDEX_OUT_OF_RANGE = "loader/index_out_of_range",
    MIXTURE_INVALID = "loader/mixture_invalid",
    NO_NATIVE_ORDER = "loader/no_native_order",
    ORDER_TOO_LONG = "loader/order_too_long",
    PADDING_TOO_LARGE = "loader/padding_too_large",
    SAMPLE_SKIPPED = "loader/sample_skipped",
    SCHEMAS_DIFFER = "loader/schemas_differ",
    SHARE_INVALID = "loader/share_invalid",
    STATE_DATASET = "loader/state_dataset",
    STATE_INVALID = "loader/state_invalid",
    STATE_ORDER = "loader/state_order",
    STATE_POSITION = "loader/state_position",
    STALLED = "loader/stalled",
    STATE_REMAINDER = "loader/state_remainder",
    STATE_VERSION = "loader/state_version",
    TOO_FEW_TO_DRAW = "loader/too_few_to_draw",
    WEIGHT_INVALID = "loader/weight_invalid",
    WEIGHTS_ZERO = "loader/weights_zero",
    WINDOW_INVALID = "loader/window_invalid",
}
