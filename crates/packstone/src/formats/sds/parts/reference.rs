//! References to objects: a path, a size, and where the original's bucket stores had versions, a generation.
//!
//! A path is absolute where it starts with `/`, `gs://` or `s3://`; all else is relative to the dataset and may not lead
//! out of it. Generations pin a version of an object; stores without versions have one only, so they are kept, noted and
//! ignored. The original's local store refuses them, and with them every dataset that was copied from a bucket.

use std::fmt;
use std::sync::Arc;

use packstone_container::json::{At, Object, ShapeError, Value};
use packstone_io::{IoError, Kind, ReadAt, RelPath, Root};

use super::super::codes;
use super::notes::Notes;
use super::text::misshapen;
use crate::error::{Error, Place, Result};
use crate::model::Severity;

const KEYS: [&str; 3] = ["path", "stored_bytes", "generation"];
/// Texts that absolute paths start with.
const ABSOLUTE: [&str; 3] = ["/", "gs://", "s3://"];

/// A path in a reference.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ObjectPath {
    /// Below the dataset.
    Relative(RelPath),
    /// Anywhere, as it is written.
    Absolute(String),
}

impl fmt::Display for ObjectPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relative(path) => path.fmt(f),
            Self::Absolute(text) => f.write_str(text),
        }
    }
}

impl ObjectPath {
    /// Checks and normalizes a path.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(text: &str) -> Result<Self, &'static str> {
        if ABSOLUTE.iter().any(|start| text.starts_with(start)) {
            return Ok(Self::Absolute(text.to_owned()));
        }
        if text.is_empty() {
            return Err("a path that is not empty");
        }
        if text.contains(['#', '?']) {
            return Err("a path without # and ?");
        }
        match RelPath::new(text) {
            Ok(path) if path.is_root() => Err("a path that leads somewhere"),
            Ok(path) => Ok(Self::Relative(path)),
            Err(_) => Err("a path below the dataset"),
        }
    }
}

/// A reference to an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectReference {
    /// Where it is.
    pub path: ObjectPath,
    /// Its size in bytes.
    pub stored_bytes: u64,
}

impl ObjectReference {
    /// A reference to an object of the dataset itself.
    pub fn new(path: RelPath, stored_bytes: u64) -> Self {
        Self { path: ObjectPath::Relative(path), stored_bytes }
    }

    /// Reads a reference; other keys are noted.
    ///
    /// # Errors
    /// `path_invalid`; `code` where it has another shape.
    pub fn parse(at: At<'_>, code: &'static str, notes: &mut Notes) -> Result<Self> {
        let shape = |e: ShapeError| misshapen(code, &e, &notes.place);
        let (path, stored_bytes) = (at.field("path").map_err(shape)?, at.field("stored_bytes"));
        let text = path.str().map_err(shape)?;
        let stored_bytes = stored_bytes.and_then(At::u64).map_err(shape)?;
        let path = ObjectPath::new(text).map_err(|expected| {
            let place = notes.place.clone().json(path.path());
            let message = format!("expected {expected}, found {text:?}");
            Error::new(Kind::Denied, codes::PATH_INVALID, place, message)
        })?;
        notes.unknown(at, &KEYS).map_err(|e| misshapen(code, &e, &notes.place))?;
        generation(at, code, notes)?;
        Ok(Self { path, stored_bytes })
    }

    /// As it is written.
    pub fn to_value(&self) -> Value {
        let mut out = Object::new();
        out.insert("path", self.path.to_string());
        out.insert("stored_bytes", self.stored_bytes);
        Value::Object(out)
    }
}

/// Checks a `generation`, which may be absent or null.
///
/// # Errors
/// `code` where it is no nonnegative integer.
pub fn generation(at: At<'_>, code: &'static str, notes: &mut Notes) -> Result<()> {
    let found = at.optional("generation").map_err(|e| misshapen(code, &e, &notes.place))?;
    let Some(at) = found.filter(|at| !at.value().is_null()) else { return Ok(()) };
    let number = at.number().ok().filter(|n| n.is_integer() && !n.text().starts_with("-"));
    if number.is_none() && at.value().as_u64() != Some(0) {
        let error = at.unexpected("a nonnegative integer or null");
        return Err(misshapen(code, &error, &notes.place));
    }
    let message = format!("expected no pinned version on this store, found {}", at.value());
    // The original refuses to read such a dataset from a disk.
    notes.add(Severity::Warning, codes::GENERATION_IGNORED, Some(at), message);
    Ok(())
}

/// Opens objects: those of the dataset, and those elsewhere that somebody consented to.
#[derive(Clone)]
pub struct Objects {
    /// The dataset.
    pub root: Arc<dyn Root>,
    sources: Arc<[(String, Arc<dyn Root>)]>,
}

impl Objects {
    /// The objects of `root`, and of `sources` by what their paths start with.
    pub fn new(root: Arc<dyn Root>, sources: &[(String, Arc<dyn Root>)]) -> Self {
        Self { root, sources: sources.into() }
    }

    /// Where absolute paths may lead, see [`Objects::new`].
    pub fn sources(&self) -> &[(String, Arc<dyn Root>)] {
        &self.sources
    }

    /// Opens a path below the dataset; no link is followed.
    ///
    /// # Errors
    /// `missing_object`, `path_link`; I/O faults.
    pub fn open_own(&self, path: &RelPath) -> Result<Arc<dyn ReadAt>> {
        open(self.root.as_ref(), path, path.as_str())
    }

    /// Opens what a path leads to.
    ///
    /// # Errors
    /// `path_absolute` where it leads to where nobody consented; as for [`Objects::open_own`].
    pub fn open(&self, path: &ObjectPath) -> Result<Arc<dyn ReadAt>> {
        let text = match path {
            ObjectPath::Relative(path) => return self.open_own(path),
            ObjectPath::Absolute(text) => text,
        };
        let refused = |why: &str| {
            let message = format!("expected a path below the dataset, found an absolute one{why}");
            Error::new(Kind::Denied, codes::PATH_ABSOLUTE, Place::file(text), message)
        };
        let own = (self.root.label(), Arc::clone(&self.root));
        let own = own.0.starts_with('/').then_some(&own);
        let below = |prefix: &str| text.strip_prefix(prefix)?.strip_prefix('/');
        let found = self.sources.iter().chain(own).find_map(|(prefix, root)| {
            Some((root, below(prefix.trim_end_matches('/')).filter(|rest| !rest.is_empty())?))
        });
        let (root, rest) = found.ok_or_else(|| refused(", where none was allowed"))?;
        match ObjectPath::new(rest) {
            Ok(ObjectPath::Relative(path)) => open(root.as_ref(), &path, text),
            _ => Err(refused(" that leads out of its source")),
        }
    }

    /// Opens an object and compares its size with its reference.
    ///
    /// # Errors
    /// `size_mismatch`; as for [`Objects::open`].
    pub fn open_whole(&self, reference: &ObjectReference) -> Result<Arc<dyn ReadAt>> {
        let file = self.open(&reference.path)?;
        check_size(&reference.path, reference.stored_bytes, file.len())?;
        Ok(file)
    }
}

/// Compares a size with what a reference says.
///
/// # Errors
/// `size_mismatch`.
pub fn check_size(path: impl fmt::Display, expected: u64, found: u64) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    let message = format!("expected {expected} bytes, found {found}");
    Err(Error::new(Kind::Corrupt, codes::SIZE_MISMATCH, Place::file(path), message))
}

fn open(root: &dyn Root, path: &RelPath, called: &str) -> Result<Arc<dyn ReadAt>> {
    root.open_unlinked(path).map_err(|error| opening(error, called))
}

/// The error for an object that does not open.
pub fn opening(error: IoError, called: &str) -> Error {
    let (kind, code, message) = match error.kind() {
        Kind::NotFound => {
            (Kind::NotFound, codes::MISSING_OBJECT, "expected this object, found none".to_owned())
        }
        Kind::Denied => (
            Kind::Denied,
            codes::PATH_LINK,
            format!("expected a file and no link on the way, found: {}", error.reason()),
        ),
        Kind::Invalid => (
            Kind::Corrupt,
            codes::MISSING_OBJECT,
            format!("expected a file, found: {}", error.reason()),
        ),
        _ => return error.into(),
    };
    Error::new(kind, code, Place::file(called), message).because(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_normalized_or_refused() {
        let relative = |text: &str| match ObjectPath::new(text) {
            Ok(ObjectPath::Relative(path)) => Some(path.as_str().to_owned()),
            _ => None,
        };
        for (text, want) in [
            ("./a//b/./c", "a/b/c"),
            ("a/", "a"),
            ("gs:x", "gs:x"),
            ("http://h/x", "http:/h/x"),
            ("GS://b/x", "GS:/b/x"),
            ("Ün/x", "Ün/x"),
        ] {
            assert_eq!(relative(text).as_deref(), Some(want), "{text}");
        }
        for text in ["", ".", "./", "a/../b", "..", "a\\b", "a\0b", "a#b", "a?b"] {
            assert!(ObjectPath::new(text).is_err(), "{text:?}");
        }
        for text in ["/x", "gs://b/x", "s3://b/x", "/a/../b"] {
            assert_eq!(ObjectPath::new(text), Ok(ObjectPath::Absolute(text.to_owned())));
        }
    }
}
