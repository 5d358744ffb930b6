//! What a publication of several documents is about to do, so that one which was cut off between two renames can be
//! completed.
//!
//! ```text
//! { "before": SHA-256 of the last document as it was, "files": [{ "path": …, "text": … }, …] }
//! ```
//!
//! It is written and synced before the first rename and removed after the last. Whoever takes the root's lock next
//! finishes what it says, unless the last document, the one that makes the others count, has moved on since.

use packstone_container::Limits;
use packstone_container::digest::{Algorithm, digest_hex};
use packstone_container::json::{self, At, Object, ReadOptions, Style, Value};
use packstone_io::{Kind, RelPath, RootMut};

use crate::error::{Error, Place, Result};

/// Documents with the texts that they will have; the one that makes the others count comes last.
pub type Documents = Vec<(RelPath, Vec<u8>)>;

/// How a format keeps its intents.
pub struct Intent<'a> {
    /// The file that says it.
    pub file: &'a str,
    /// Whether it may speak of a file: it is a file like any other that nobody vouches for, and says nothing about data.
    pub may: fn(&RelPath) -> bool,
    /// What `may` allows, for messages: `a list or the root document`.
    pub allowed: &'static str,
    /// The code of an intent that packstone did not write.
    pub malformed: &'static str,
    /// Drop a publication of which no document was renamed yet, instead of completing it: for changes that must not
    /// happen twice when a caller who was told of a failure tries again.
    pub only_begun: bool,
}

impl Intent<'_> {
    fn path(&self) -> RelPath {
        RelPath::new(self.file).unwrap_or_default()
    }

    fn malformed(&self, message: String) -> Error {
        Error::new(Kind::Invalid, self.malformed, Place::file(self.file), message)
    }

    /// Replaces documents, so that a cut leaves something to complete. `before` is the old text of the last one.
    ///
    /// # Errors
    /// `Io`; where staging fails all old contents stand.
    pub fn replace(&self, root: &dyn RootMut, before: &[u8], files: &Documents) -> Result<()> {
        let each = files.iter().map(|(path, text)| {
            let mut file = Object::new();
            file.insert("path", path.as_str());
            file.insert("text", String::from_utf8_lossy(text).into_owned());
            Value::Object(file)
        });
        let mut intent = Object::new();
        intent.insert("before", digest_hex(Algorithm::Sha256, before));
        intent.insert("files", Value::Array(each.collect()));
        let text = json::write(&Value::Object(intent), &Style::PYDANTIC);
        root.replace(&[(self.path(), text.into_bytes())])?;
        let replaced = root.replace(files);
        // After the last rename nothing is left to do, and before the first one there is nothing to complete. An intent
        // that cannot be removed is seen to be done by whoever reads it.
        if replaced.is_ok() || !begun(root, files) {
            let _ = root.remove(&self.path());
        }
        Ok(replaced?)
    }

    /// What a publication that was cut off had left to do; `None` where none was.
    ///
    /// # Errors
    /// The code for an intent that packstone did not write; I/O faults.
    pub fn unfinished(&self, root: &dyn RootMut, limits: &Limits) -> Result<Option<Documents>> {
        let bytes = match root.read(&self.path()) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == Kind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let options = ReadOptions::default().with_limits(*limits);
        let value = json::read(&bytes, &options).map_err(|e| self.malformed(e.to_string()))?.value;
        let shape = |e: json::ShapeError| self.malformed(e.to_string());
        let at = At::root(&value);
        let before = at.field("before").and_then(At::str).map_err(shape)?;
        let mut files = Documents::new();
        for file in at.field("files").and_then(At::items).map_err(shape)? {
            let text = file.field("text").and_then(At::str).map_err(shape)?;
            let path_at = file.field("path").map_err(shape)?;
            // A name such as `x:y` is a name here and no drive.
            let path = RelPath::new(&format!("./{}", path_at.str().map_err(shape)?));
            let path = path.ok().filter(|path| (self.may)(path));
            let path = path.ok_or_else(|| shape(path_at.unexpected(self.allowed)))?;
            files.push((path, text.as_bytes().to_vec()));
        }
        let Some((marker, text)) = files.last() else { return Ok(None) };
        let current = root.read(marker)?;
        let moved_on = digest_hex(Algorithm::Sha256, &current) != before && text[..] != current[..];
        let dropped = self.only_begun && !begun(root, &files);
        Ok((!moved_on && !dropped).then_some(files))
    }

    /// Completes a publication that was cut off, under the root's lock; returns the files that it had left.
    ///
    /// # Errors
    /// As for [`Intent::unfinished`].
    pub fn complete(&self, root: &dyn RootMut, limits: &Limits) -> Result<Vec<RelPath>> {
        let files = self.unfinished(root, limits)?.unwrap_or_default();
        if !files.is_empty() {
            root.replace(&files)?;
        }
        match root.remove(&self.path()) {
            Err(error) if error.kind() != Kind::NotFound => Err(error.into()),
            _ => Ok(files.into_iter().map(|(path, _)| path).collect()),
        }
    }
}

/// True where a document has its new text already.
fn begun(root: &dyn RootMut, files: &Documents) -> bool {
    files.iter().any(|(path, text)| root.read(path).is_ok_and(|b| b[..] == text[..]))
}
