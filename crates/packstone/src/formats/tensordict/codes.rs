//! The stable codes of errors and findings; `docs/findings.md` explains each, and a test keeps both lists equal.

macro_rules! codes {
    ($($name:ident = $code:literal),+ $(,)?) => {
        $(#[doc = concat!("`", $code, "`")] pub const $name: &str = $code;)+
        /// All codes of this format.
        pub const ALL: &[&str] = &[$($code),+];
    };
}

codes! {
    DUPLICATE_KEY = "tensordict/duplicate_key",
    MALFORMED_JSON = "tensordict/malformed_json",
    MALFORMED_META = "tensordict/malformed_meta",
    TOO_DEEP = "tensordict/too_deep",
    TRUNCATED_LEAF = "tensordict/truncated_leaf",
}
