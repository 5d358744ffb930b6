//! Where a dataset lies on the local disk: a folder, one file, or several that are read as one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::json::Object;
use packstone_io::{IoError, Kind, LocalRoot, RelPath, Root, RootMut, SoleFile};

use crate::error::{Error, Place, Result};
use crate::format::{Dataset, Format, Sources};
use crate::ops::reopened;
use crate::registry;

mod operations;
mod selection;
mod signal;

pub use operations::{convert, digest_record, save_digests, split_address, verify};
pub use selection::{save_selection, sources};
pub use signal::{
    Annotate, Annotated, Annotations, View, Viewed, Which, Work, annotate, signal, view,
};

/// A root for what is at `path`: a folder, or a file as a root that shows nothing else.
///
/// # Errors
/// `NotFound`, `Denied`, `Io`.
pub fn root(path: &Path) -> Result<Arc<dyn RootMut>> {
    if path.is_file() { sole(path) } else { Ok(Arc::new(LocalRoot::open(path)?)) }
}

/// A root for a new dataset of `format` at `path`, where nothing may be yet: a folder, which is made, or a file, by the
/// ending of its name.
///
/// # Errors
/// `site/exists`; `Denied`, `Io`.
pub fn target(path: &Path, format: &dyn Format) -> Result<Arc<dyn RootMut>> {
    free(path)?;
    match is_file_of(path, format) {
        true => sole(path),
        false => Ok(Arc::new(LocalRoot::create(path)?)),
    }
}

/// The same for a writer under these options of [`Format::create`]: what goes on with a dataset that was begun finds it
/// there.
///
/// # Errors
/// As for [`target`].
pub fn target_of(path: &Path, format: &dyn Format, options: &Object) -> Result<Arc<dyn RootMut>> {
    if format.resumes(options) && path.is_dir() { root(path) } else { target(path, format) }
}

/// True where a dataset of `format` at `path` is one file, by the ending of its name.
pub fn is_file_of(path: &Path, format: &dyn Format) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| format.file_endings().contains(&ending))
}

fn sole(path: &Path) -> Result<Arc<dyn RootMut>> {
    let (folder, name) = file(path)?;
    Ok(Arc::new(SoleFile::new(folder, name, path.display().to_string())))
}

/// The folder of a file that must not exist yet, and its name there.
///
/// # Errors
/// `site/exists`, `site/name`; `NotFound` where there is no such folder; `Denied`, `Io`.
pub fn new_file(path: &Path) -> Result<(LocalRoot, RelPath)> {
    free(path)?;
    file(path)
}

fn free(path: &Path) -> Result<()> {
    match path.symlink_metadata() {
        Err(_) => Ok(()),
        Ok(_) => {
            let message = "expected a path where nothing is yet, found something".to_owned();
            let place = Place::file(path.display());
            Err(Error::new(Kind::Exists, "site/exists", place, message))
        }
    }
}

/// The folder of a file, and its name there.
///
/// # Errors
/// `site/name`; `NotFound` where there is no such folder; `Denied`, `Io`.
pub fn file(path: &Path) -> Result<(LocalRoot, RelPath)> {
    let parent = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.and_then(|name| RelPath::new(name).ok()).ok_or_else(|| {
        let message = "expected a file name of Unicode text, found another".to_owned();
        Error::new(Kind::Invalid, "site/name", Place::file(path.display()), message)
    })?;
    Ok((LocalRoot::open(parent)?, name))
}

/// An open dataset with where it lies.
pub struct Opened {
    /// Where it lies; several where they are read as one.
    pub roots: Vec<Arc<dyn Root>>,
    /// Its format.
    pub format: &'static dyn Format,
    /// The dataset, as its first source had it.
    pub dataset: Arc<dyn Dataset>,
}

/// Where a dataset lies, and its format.
pub struct Probed {
    /// Its roots; several where they are read as one.
    pub roots: Vec<Arc<dyn Root>>,
    /// The format of all of them.
    pub format: &'static dyn Format,
}

/// Roots for what is at `paths`, and the one format of all of them.
///
/// # Errors
/// `format/unrecognized`; `format/mixed` where they have different formats; `NotFound`, `Denied`, `Io`.
pub fn probe_all(paths: &[PathBuf]) -> Result<Probed> {
    let mut roots: Vec<Arc<dyn Root>> = Vec::with_capacity(paths.len());
    let mut format: Option<&'static dyn Format> = None;
    for path in paths {
        // Many roots that each held a descriptor would meet the limit of the system.
        let root: Arc<dyn Root> = match paths.len() > 1 && path.is_dir() {
            true => Arc::new(LocalRoot::open_lean(path)?),
            false => root(path)?,
        };
        let found = registry::probe(root.as_ref())?;
        if let Some(first) = format.filter(|first| first.id() != found.id()) {
            let message = format!("expected {} as before, found {}", first.id(), found.id());
            let place = Place::file(path.display());
            return Err(Error::new(Kind::Invalid, "format/mixed", place, message));
        }
        format = Some(found);
        roots.push(root);
    }
    let format = format.ok_or_else(|| {
        let message = "expected a dataset, found no path".to_owned();
        Error::new(Kind::Invalid, "format/unrecognized", Place::default(), message)
    })?;
    Ok(Probed { roots, format })
}

/// Opens what is at `paths` as one dataset, whatever its format; or, where the only one is a file with a selection of
/// samples, these.
///
/// # Errors
/// `format/unrecognized`; `format/mixed` where several have different formats, or one is a selection; those of
/// [`Format::open_many`] and [`Format::open_selection`].
pub fn open_all(paths: &[PathBuf], limits: &Limits) -> Result<Opened> {
    open_following(paths, limits, &Sources::default())
}

/// The same, following references that lead out of the dataset to `sources` and nowhere else, see
/// [`Format::open_following`].
///
/// # Errors
/// As for [`open_all`].
pub fn open_following(paths: &[PathBuf], limits: &Limits, sources: &Sources) -> Result<Opened> {
    for path in paths {
        let Some(saved) = selection::find(path, limits)? else { continue };
        if paths.len() == 1 {
            return saved.open(limits);
        }
        let message = "expected datasets alone, found a selection among several paths";
        let place = Place::file(path.display());
        return Err(Error::new(Kind::Invalid, "format/mixed", place, message));
    }
    let Probed { roots, format } = probe_all(paths)?;
    let dataset = reopened(format.open_following(roots.clone(), limits, sources)?)?;
    Ok(Opened { roots, format, dataset })
}

/// Folders as places that references may lead to, by their absolute paths, with links in them and without.
///
/// # Errors
/// `NotFound`, `Denied`, `Io` for a folder that cannot be opened; `site/name`.
pub fn followed(folders: &[PathBuf]) -> Result<Sources> {
    let mut sources = Sources::default();
    for folder in folders {
        let root: Arc<dyn Root> = Arc::new(LocalRoot::open(folder)?);
        let fault = |error| IoError::os("open", folder.display().to_string(), error);
        let absolute = std::path::absolute(folder).map_err(fault)?;
        let mut paths = vec![absolute, folder.canonicalize().map_err(fault)?];
        paths.dedup();
        for path in paths {
            let text = path.to_str().ok_or_else(|| {
                let message = "expected a path of Unicode text, found another".to_owned();
                let place = Place::file(folder.display());
                Error::new(Kind::Invalid, "site/name", place, message)
            })?;
            sources.0.push((text.trim_end_matches('/').to_owned(), Arc::clone(&root)));
        }
    }
    Ok(sources)
}

/// Opens the dataset at a local path, whatever its format.
///
/// # Errors
/// As for [`open_all`].
pub fn open(path: impl AsRef<Path>) -> Result<Arc<dyn Dataset>> {
    Ok(open_all(&[path.as_ref().to_owned()], &Limits::default())?.dataset)
}
