//! The stable codes of errors and findings; `docs/findings.md` explains each, and a test keeps both lists equal.

macro_rules! codes {
    ($($name:ident = $code:literal),+ $(,)?) => {
        $(#[doc = concat!("`", $code, "`")] pub const $name: &str = $code;)+
        /// All codes of this format.
        pub const ALL: &[&str] = &[$($code),+];
    };
}

codes! {
    SAMPLING_INVALID = "datasetrt/sampling_invalid",
    STATE_INVALID = "datasetrt/state_invalid",
    STATE_VERSION = "datasetrt/state_version",
    TABLE_INVALID = "datasetrt/table_invalid",
    UNKNOWN_IDENTITY = "datasetrt/unknown_identity",
    VIEW_INVALID = "datasetrt/view_invalid",
    VIEW_STALE = "datasetrt/view_stale",
    VIEW_VERSION = "datasetrt/view_version",
    WEIGHT_INVALID = "datasetrt/weight_invalid",
}
