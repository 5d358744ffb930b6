//! How trees are read and written.

use packstone_container::Limits;
use packstone_container::json::{At, Object, ShapeError, Value};
use packstone_container::zip::Method;
use packstone_io::Kind;

use super::codes;
use super::parts::dates;
use crate::error::{Error, Place, Result};
use crate::exec::default_threads;

/// How to read a tree.
#[derive(Clone, Debug)]
pub struct TreeOptions {
    /// Look for files under encoded names first; without, under the keys only, as releases up to 0.11 named them.
    pub robust_key: bool,
    /// How much a tree may ask for; folders nest as deep as documents may.
    pub limits: Limits,
}

impl Default for TreeOptions {
    fn default() -> Self {
        Self { robust_key: true, limits: Limits::default() }
    }
}

impl TreeOptions {
    /// The same options with other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The same options with keys as names, or encoded ones.
    #[must_use]
    pub fn with_robust_key(mut self, robust: bool) -> Self {
        self.robust_key = robust;
        self
    }
}

/// How keys become names of files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyNames {
    /// Encoded, as every release since 0.15 writes and reads them.
    #[default]
    Encoded,
    /// As they are, for older releases; then only keys that are one path component can be written.
    Raw,
}

/// How a tree is written.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SaveOptions {
    /// How keys become names.
    pub key_names: KeyNames,
    /// Write keys that readers then lose, or that make readers lose something else, see
    /// [`LOST_KEYS`](super::layout::LOST_KEYS) and [`KEPT_KEYS`](super::layout::KEPT_KEYS).
    pub allow_lossy_keys: bool,
    /// Write types of elements that the original library writes and cannot load.
    pub allow_unloadable_dtypes: bool,
    /// Replace an older save as a whole; else an existing one is an error.
    pub replace: bool,
    /// How leaves are stored in an archive.
    pub method: Method,
    /// The date of the entries of an archive: DOS time in the low half, DOS date in the high half.
    pub modified: u32,
    /// Threads that write or compress; 0 for the calling one alone.
    pub threads: usize,
    /// How deep nodes may nest.
    pub depth: usize,
}

impl Default for SaveOptions {
    fn default() -> Self {
        Self {
            key_names: KeyNames::Encoded,
            allow_lossy_keys: false,
            allow_unloadable_dtypes: false,
            replace: false,
            method: Method::Stored,
            modified: dates::EPOCH,
            threads: default_threads(),
            depth: Limits::default().depth,
        }
    }
}

/// The options of a writer by name, with their meaning.
pub const NAMES: &[(&str, &str)] = &[
    (
        "compression",
        "how leaves are stored in a .tdz: stored (the default), deflate, bzip2 or lzma",
    ),
    (
        "date",
        "the date of the entries of a .tdz, as 2024-05-17 or 2024-05-17 08:30:00; 1980-01-01 by default",
    ),
    ("robust_key", "false to use keys as file names as they are, for releases before 0.15"),
    (
        "allow_lossy_keys",
        "true to write keys that readers lose: shape, device, _type, and some more",
    ),
    (
        "allow_unloadable_dtypes",
        "true to write float8 and other types that tensordict writes and cannot load",
    ),
];

impl SaveOptions {
    /// The options that `options` ask for by name, with `self` for what they leave open.
    ///
    /// # Errors
    /// `option_invalid`.
    pub fn with(mut self, options: &Object) -> Result<Self> {
        let value = Value::Object(options.clone());
        for (name, at) in At::root(&value).entries().map_err(|e| invalid(e.to_string()))? {
            self.set(name, at)?;
        }
        Ok(self)
    }

    fn set(&mut self, name: &str, at: At<'_>) -> Result<()> {
        let shape = |e: ShapeError| invalid(e.to_string());
        match name {
            "compression" => self.method = method(at.str().map_err(shape)?)?,
            "date" => self.modified = dates::parse(at.str().map_err(shape)?)?,
            "robust_key" => {
                let robust = at.bool().map_err(shape)?;
                self.key_names = if robust { KeyNames::Encoded } else { KeyNames::Raw };
            }
            "allow_lossy_keys" => self.allow_lossy_keys = at.bool().map_err(shape)?,
            "allow_unloadable_dtypes" => {
                self.allow_unloadable_dtypes = at.bool().map_err(shape)?;
            }
            _ => {
                let known: Vec<_> = NAMES.iter().map(|(known, _)| *known).collect();
                let message = format!("expected an option of {}, found {name}", known.join(", "));
                return Err(invalid(message));
            }
        }
        Ok(())
    }

    /// The same options with another compression of archives.
    #[must_use]
    pub fn with_method(mut self, method: Method) -> Self {
        self.method = method;
        self
    }

    /// The same options with another date of archives.
    #[must_use]
    pub fn with_modified(mut self, modified: u32) -> Self {
        self.modified = modified;
        self
    }

    /// The same options, replacing an older save or refusing one.
    #[must_use]
    pub fn with_replace(mut self, replace: bool) -> Self {
        self.replace = replace;
        self
    }

    /// The same options with another number of threads.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// The same options, writing keys that readers lose or refusing them.
    #[must_use]
    pub fn with_lossy_keys(mut self, allow: bool) -> Self {
        self.allow_lossy_keys = allow;
        self
    }

    /// The same options, writing types that the original library cannot load or refusing them.
    #[must_use]
    pub fn with_unloadable_dtypes(mut self, allow: bool) -> Self {
        self.allow_unloadable_dtypes = allow;
        self
    }

    /// The same options with other names of keys.
    #[must_use]
    pub fn with_key_names(mut self, key_names: KeyNames) -> Self {
        self.key_names = key_names;
        self
    }
}

/// A compression of archives by the names that the original library takes, in any case.
///
/// # Errors
/// `option_invalid`.
pub fn method(name: &str) -> Result<Method> {
    Ok(match name.to_ascii_lowercase().as_str() {
        "" | "none" | "stored" => Method::Stored,
        "deflate" | "deflated" => Method::Deflate,
        "bzip2" => Method::Bzip2,
        "lzma" => Method::Lzma,
        _ => {
            let message =
                format!("expected the compression stored, deflate, bzip2 or lzma, found {name:?}");
            return Err(invalid(message));
        }
    })
}

/// The error for an option that cannot be followed.
pub fn invalid(message: String) -> Error {
    Error::new(Kind::Invalid, codes::OPTION_INVALID, Place::default(), message)
}

#[cfg(test)]
mod tests {
    use packstone_container::json;

    use super::*;

    fn with(options: Value) -> Result<SaveOptions, String> {
        let Value::Object(options) = options else { return Err(String::new()) };
        let told = |e: Error| e.code().to_owned() + " " + e.message();
        SaveOptions::default().with(&options).map_err(told)
    }

    #[test]
    fn options_are_taken_by_name() {
        let options = with(json!({
            "compression": "Deflated", "date": "2024-05-17", "robust_key": false, "allow_lossy_keys": true,
            "allow_unloadable_dtypes": true,
        }));
        let options = options.unwrap();
        assert_eq!((options.method, options.key_names), (Method::Deflate, KeyNames::Raw));
        assert!(options.allow_lossy_keys && options.allow_unloadable_dtypes);
        assert_eq!(options.modified, 0x58b1_0000);
        assert_eq!(with(json!({ "compression": "" })).unwrap().method, Method::Stored);
    }

    #[test]
    fn what_no_writer_can_follow_is_refused() {
        for (options, named) in [
            (json!({ "compression": "zstd" }), "found \"zstd\""),
            (json!({ "compression": 8 }), "found 8"),
            (json!({ "date": "yesterday" }), "found \"yesterday\""),
            (json!({ "robust_key": 1 }), "found 1"),
            (json!({ "colour": 1 }), "found colour"),
        ] {
            let message = with(options).unwrap_err();
            assert!(
                message.starts_with("tensordict/option_invalid") && message.contains(named),
                "{message}"
            );
        }
    }
}
