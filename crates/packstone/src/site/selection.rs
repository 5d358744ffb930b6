//! Saved selections of samples as files: they open wherever a dataset does.
//!
//! ```text
//! {"format":"packstone.view","dataset":"datasetrt", …}     the document is the format's; it names where its data lie
//! ```
//!
//! Places are spelled relative to the file where they can be, so that both can be moved together.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::json::{self, At, ReadOptions};
use packstone_io::{IoError, Kind, LocalRoot, Root, RootMut};

use super::{Opened, new_file};
use crate::error::{Error, Place, Result};
use crate::format::{Dataset, Format, SELECTION, Selected};
use crate::ops::reopened;
use crate::registry;

/// Bytes of a file that are looked at to see whether it can be a selection.
const HEAD: u64 = 4096;

/// A file that holds a selection.
pub(super) struct Saved {
    path: PathBuf,
    folder: PathBuf,
    bytes: packstone_io::Buf,
    format: &'static dyn Format,
}

/// The selection that is in a file; `None` where the file holds something else.
pub(super) fn find(path: &Path, limits: &Limits) -> Result<Option<Saved>> {
    if !path.is_file() {
        return Ok(None);
    }
    let root = super::root(path)?;
    let file = root.open(&root.sole_file().cloned().unwrap_or_default())?;
    let head = file.read_ranges(&[0..file.len().min(HEAD)])?;
    let start = head.first().map(|bytes| &bytes[..]).unwrap_or_default();
    let marked = start.windows(SELECTION.len()).any(|part| part == SELECTION.as_bytes());
    if !marked || start.trim_ascii_start().first() != Some(&b'{') {
        return Ok(None);
    }
    let bytes = file.read_all()?;
    let place = Place::file(path.display());
    let refuse =
        |message: String| Error::new(Kind::Corrupt, "site/selection", place.clone(), message);
    let options = ReadOptions::default().with_limits(*limits);
    let document = json::read(&bytes, &options).map_err(|error| refuse(error.to_string()))?;
    let at = At::root(&document.value);
    let text = |name: &str| at.field(name)?.str();
    match text("format") {
        Ok(SELECTION) => {}
        _ => return Ok(None),
    }
    let format = registry::format(text("dataset").map_err(|error| refuse(error.to_string()))?)?;
    let folder = folder_of(path)?;
    Ok(Some(Saved { path: path.to_owned(), folder, bytes, format }))
}

impl Saved {
    /// Opens it.
    pub(super) fn open(&self, limits: &Limits) -> Result<Opened> {
        let mut roots: Vec<Arc<dyn Root>> = Vec::new();
        let mut open = |path: &str| {
            let root: Arc<dyn Root> = Arc::new(LocalRoot::open_lean(resolve(&self.folder, path))?);
            roots.push(Arc::clone(&root));
            Ok(root)
        };
        let dataset = self.format.open_selection(&self.bytes, &mut open, limits);
        let dataset = dataset.map_err(|error| match error.place().file {
            Some(_) => error,
            None => {
                let place =
                    Place { file: Some(self.path.display().to_string()), ..error.place().clone() };
                error.with_place(place)
            }
        })?;
        Ok(Opened { roots, format: self.format, dataset: reopened(dataset)? })
    }
}

/// Where the data of the selection at `path` lie; `None` where there is no selection.
///
/// # Errors
/// As for [`open_all`](super::open_all).
pub fn sources(path: &Path, limits: &Limits) -> Result<Option<Vec<PathBuf>>> {
    let Some(saved) = find(path, limits)? else { return Ok(None) };
    let opened = saved.open(limits)?;
    Ok(Some(opened.roots.iter().map(|root| PathBuf::from(root.label())).collect()))
}

/// Saves a selection of the samples of `dataset` as a new file, whole or not at all.
///
/// # Errors
/// `site/exists`, `site/name`; those of [`Dataset::selection`]; `Io`.
pub fn save_selection(dataset: &dyn Dataset, selected: &Selected<'_>, file: &Path) -> Result<()> {
    let (root, name) = new_file(file)?;
    let folder = folder_of(file)?;
    let spell = |label: &str| {
        let path = canonical(Path::new(label))?;
        relative(&folder, &path).ok_or_else(|| {
            let message = "expected a path of Unicode text, found another";
            Error::new(Kind::Invalid, "site/name", Place::file(label), message)
        })
    };
    let text = dataset.selection(selected, &spell)?;
    root.create(&name, text.as_bytes())?;
    root.persist(&name)?;
    Ok(())
}

/// The folder of a file, without links.
fn folder_of(file: &Path) -> Result<PathBuf> {
    match file.parent() {
        Some(parent) if parent != Path::new("") => canonical(parent),
        _ => canonical(Path::new(".")),
    }
}

fn canonical(path: &Path) -> Result<PathBuf> {
    let found = path.canonicalize();
    found.map_err(|error| IoError::os("open", path.display().to_string(), error).into())
}

/// How `path` is spelled in a file that is in `folder`, with `/` between its parts. Both are absolute and free of
/// `..`; nothing is looked up. Paths with no part in common stay absolute, as do those that are no Unicode.
fn relative(folder: &Path, path: &Path) -> Option<String> {
    let (mut from, mut to) = (folder.components().peekable(), path.components().peekable());
    let mut common = 0;
    while from.peek().is_some() && from.peek() == to.peek() {
        common += usize::from(matches!(from.next(), Some(Component::Normal(_))));
        to.next();
    }
    if common == 0 {
        return path.to_str().map(str::to_owned);
    }
    let up = from.map(|_| Some(".."));
    let parts = up.chain(to.map(|part| part.as_os_str().to_str())).collect::<Option<Vec<_>>>()?;
    Some(if parts.is_empty() { ".".to_owned() } else { parts.join("/") })
}

/// Where the path in a file that is in `folder` leads. Nothing is looked up.
fn resolve(folder: &Path, path: &str) -> PathBuf {
    let mut out = folder.to_path_buf();
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_where_they_can_be() {
        for (folder, path, expected) in [
            ("/data/views", "/data/caches/a", "../caches/a"),
            ("/data", "/data/a", "a"),
            ("/data/a", "/data/a", "."),
            ("/data/a/b/c", "/data", "../../.."),
            ("/home/x", "/data/a", "/data/a"),
            ("/", "/data/a", "/data/a"),
        ] {
            assert_eq!(relative(Path::new(folder), Path::new(path)).unwrap(), expected, "{folder}");
            assert_eq!(resolve(Path::new(folder), expected), Path::new(path), "{folder}");
        }
        assert_eq!(resolve(Path::new("/a"), "../../../b/./c"), Path::new("/b/c"));
    }
}
