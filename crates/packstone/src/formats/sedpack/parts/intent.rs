//! What a publication is about to do, so that one which was cut off between two renames can be completed.
//!
//! ```text
//! .packstone-publish.json   { "before": SHA-256 of the old root, "files": [{ "path": …, "text": … }, …] }
//! ```
//!
//! It is written and synced before the first rename and removed after the last. Whoever takes the root's lock next, and
//! `repair`, finishes what it says, unless the root has moved on since.

use packstone_container::Limits;
use packstone_container::digest::{Algorithm, digest_hex};
use packstone_container::json::{At, Object, Value};
use packstone_io::{Kind, RelPath, RootMut};

use super::super::layout::{INTENT, ROOT_DOCUMENT, SHARDS_LIST};
use super::super::reader::root_document;
use super::fields::{self, Notes};
use crate::error::{Place, Result};

type Files = Vec<(RelPath, Vec<u8>)>;

fn path() -> RelPath {
    RelPath::new(INTENT).unwrap_or_default()
}

/// Replaces `files`, the last of which is the root, so that a cut leaves something to complete.
///
/// # Errors
/// `Io`; where staging fails all old contents stand.
pub fn replace(root: &dyn RootMut, before: &[u8], files: &Files) -> Result<()> {
    let each = files.iter().map(|(path, text)| {
        let mut file = Object::new();
        file.insert("path", path.as_str());
        file.insert("text", String::from_utf8_lossy(text).into_owned());
        Value::Object(file)
    });
    let mut intent = Object::new();
    intent.insert("before", digest_hex(Algorithm::Sha256, before));
    intent.insert("files", Value::Array(each.collect()));
    root.replace(&[(path(), fields::text(&mut intent).into_bytes())])?;
    let replaced = root.replace(files);
    let begun =
        |(path, text): &(RelPath, Vec<u8>)| root.read(path).is_ok_and(|b| b[..] == text[..]);
    // After the last rename nothing is left to do, and before the first one there is nothing to complete. An intent that
    // cannot be removed is seen to be done by whoever reads it.
    if replaced.is_ok() || !files.iter().any(begun) {
        let _ = root.remove(&path());
    }
    Ok(replaced?)
}

/// What a publication that was cut off had left to do; `None` where none was.
///
/// # Errors
/// `json_invalid`, `schema_invalid` for an intent that packstone did not write; I/O faults.
pub fn unfinished(root: &dyn RootMut, limits: &Limits) -> Result<Option<Files>> {
    let bytes = match root.read(&path()) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == Kind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let place = Place::file(INTENT);
    let shape = |e| fields::shape_error(e, &place);
    let value = fields::read(&bytes, limits, &mut Notes::new(place.clone()))?;
    let at = At::root(&value);
    let before = at.field("before").and_then(At::str).map_err(shape)?;
    let mut files = Files::new();
    for file in at.field("files").and_then(At::items).map_err(shape)? {
        let text = file.field("text").and_then(At::str).map_err(shape)?;
        let path_at = file.field("path").map_err(shape)?;
        let path = super::list::path(path_at, &place)?;
        // An intent is a file like any other that nobody vouches for: it may say nothing about data.
        if path.name() != SHARDS_LIST && path.as_str() != ROOT_DOCUMENT {
            return Err(shape(path_at.unexpected("a list or the root document")));
        }
        files.push((path, text.as_bytes().to_vec()));
    }
    let current = root.read(&root_document()?)?;
    let moved_on = digest_hex(Algorithm::Sha256, &current) != before
        && files.last().is_none_or(|(_, text)| text[..] != current[..]);
    Ok((!moved_on).then_some(files))
}

/// Completes a publication that was cut off, under the root's lock; returns the files that it had left.
///
/// # Errors
/// As for [`unfinished`].
pub fn complete(root: &dyn RootMut, limits: &Limits) -> Result<Vec<RelPath>> {
    let files = unfinished(root, limits)?.unwrap_or_default();
    if !files.is_empty() {
        root.replace(&files)?;
    }
    match root.remove(&path()) {
        Err(error) if error.kind() != Kind::NotFound => Err(error.into()),
        _ => Ok(files.into_iter().map(|(path, _)| path).collect()),
    }
}
