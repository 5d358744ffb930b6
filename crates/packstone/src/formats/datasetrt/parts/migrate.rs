//! Migration: manifests of version 2 get, in version 3, the ids that their caches have in a list, so that tables of
//! (cache id, sample id) stay valid.
//!
//! ```text
//! all targets    resolve links ─► no path or id twice ─► parse ─► unchanged since loading ─► note the digest
//! then each one  digest still the same ─► temporary file beside the target, synced ─► rename ─► sync of the folder
//! ```
//!
//! One bad target means no change at all. Several manifests are not one transaction: where a later one fails, the report
//! says what is done, and the same list again does the rest. No lock is taken: the caller owns the manifests meanwhile.
//! Releases of the original before 0.4 read version 2 alone. A subset of the list would give other ids.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::digest::sha256;
use packstone_container::json::{FloatStyle, Number, Object, Value, python_eq};
use packstone_io::{IoError, Kind, LocalRoot, ReadAt, RelPath, Root, RootMut};

use super::super::codes;
use super::super::document::{Contents, Manifest};
use super::super::layout::MANIFEST;
use super::super::options::{OpenOptions, invalid};
use super::super::reader::DatasetRtDataset;
use crate::error::{Error, Place, Result};
use crate::exec::Progress;

/// What whoever migrates must know, for help texts and dry runs.
pub const WARNINGS: [&str; 2] = [
    "ids are positions in the list: name every cache of the dataset, in the order in which it is opened; a part of the \
     list gives other ids",
    "releases of DatasetRT before 0.4 read manifests of version 2 alone and cannot read a migrated cache",
];

/// A manifest to migrate: where it lies, and what it was when its dataset was opened.
pub struct Target {
    /// What its user calls it.
    pub path: String,
    /// Where it really lies.
    pub real_path: String,
    /// The folder that holds it.
    pub root: Arc<dyn RootMut>,
    /// Its name there.
    pub name: RelPath,
    /// What it said.
    pub loaded: Manifest,
    /// The id of its cache in the list.
    pub cache_id: u64,
}

/// What became of a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It is of version 3 now.
    Updated,
    /// It was already.
    Unchanged,
    /// It is of version 3 now, but whether the disk has it is not known.
    DurabilityUnknown,
}

impl Status {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Updated => "updated",
            Self::Unchanged => "unchanged",
            Self::DurabilityUnknown => "durability_unknown",
        }
    }
}

/// One line of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where the manifest really lies.
    pub path: String,
    /// The id that it has.
    pub cache_id: u64,
    /// What became of it.
    pub status: Status,
}

impl Entry {
    /// For JSON output.
    pub fn to_json(&self) -> Value {
        let mut out = Object::new();
        out.insert("type", "manifest");
        out.insert("path", self.path.as_str());
        out.insert("cache_id", self.cache_id);
        out.insert("status", self.status.name());
        Value::Object(out)
    }
}

/// A migration that stopped, with what is done.
#[derive(Debug)]
pub struct Stopped {
    /// The manifest at which it stopped, as its user calls it; none where the request itself is wrong.
    pub path: Option<String>,
    /// Why.
    pub error: Error,
    /// What is done; empty where nothing was changed.
    pub entries: Vec<Entry>,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let done = self.entries.len();
        write!(f, "{} ({done} manifests done before)", self.error)
    }
}

impl std::error::Error for Stopped {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// Opens the caches at `paths`, in this order, and gives each manifest of version 2 the id that its cache has there.
///
/// # Errors
/// [`Stopped`]: `option_invalid` for another version than 3; those of opening; those of [`migrate`].
pub fn migrate_paths(
    paths: &[PathBuf],
    version: u64,
    limits: &Limits,
    progress: Option<&Arc<dyn Progress>>,
) -> Result<Vec<Entry>, Stopped> {
    let stopped = |error| Stopped { path: None, error, entries: Vec::new() };
    check_version(version).map_err(stopped)?;
    let targets = targets(paths, limits).map_err(stopped)?;
    migrate(&targets, version, limits, progress)
}

/// The targets of the caches at `paths`, which are opened as one dataset; tells the id of each before anything is done.
///
/// # Errors
/// Those of opening.
pub fn targets(paths: &[PathBuf], limits: &Limits) -> Result<Vec<Target>> {
    let roots = paths.iter().map(|path| {
        let inner = LocalRoot::open_lean(path)?;
        let manifest = path.join(MANIFEST);
        if !manifest.is_symlink() {
            return Ok(Arc::new(inner) as Arc<dyn Root>);
        }
        let (folder, name, _) = LocalRoot::holding(&manifest)?;
        Ok(Arc::new(Linked { inner, folder, name }) as Arc<dyn Root>)
    });
    let roots = roots.collect::<Result<Vec<_>>>()?;
    let opened = DatasetRtDataset::open_many(roots, &OpenOptions::default(), limits)?;
    let caches = opened.joint().map(|joint| joint.caches().to_vec()).unwrap_or_default();
    let targets = paths.iter().zip(&caches);
    targets.map(|(path, cache)| Target::local(path, &cache.manifest, cache.cache_id)).collect()
}

/// A cache whose manifest is a link, which nobody else follows out of the cache.
struct Linked {
    inner: LocalRoot,
    /// Where the manifest really lies.
    folder: LocalRoot,
    name: RelPath,
}

impl Root for Linked {
    fn label(&self) -> String {
        self.inner.label()
    }

    fn open(&self, path: &RelPath) -> Result<Arc<dyn ReadAt>, IoError> {
        match path.as_str() {
            MANIFEST => self.folder.open(&self.name),
            _ => self.inner.open(path),
        }
    }

    fn list(&self, folder: &RelPath) -> Result<Vec<packstone_io::Entry>, IoError> {
        self.inner.list(folder)
    }
}

impl Target {
    /// The manifest of the cache at a local path. Where it is a link, the link stays and what it leads to is replaced.
    ///
    /// # Errors
    /// `NotFound`, `Denied`, `Io`.
    pub fn local(cache: &Path, loaded: &Manifest, cache_id: u64) -> Result<Self> {
        let path = cache.join(MANIFEST);
        let (root, name, real) = LocalRoot::holding(&path)?;
        Ok(Self {
            path: path.display().to_string(),
            real_path: real.display().to_string(),
            root: Arc::new(root),
            name,
            loaded: loaded.clone(),
            cache_id,
        })
    }

    fn place(&self) -> Place {
        Place::file(&self.path)
    }

    fn entry(&self, status: Status) -> Entry {
        Entry { path: self.real_path.clone(), cache_id: self.cache_id, status }
    }

    fn read(&self) -> Result<Vec<u8>> {
        let bytes =
            self.root.read(&self.name).map_err(|e| super::site::file_error(e, &self.place()));
        Ok(bytes?.to_vec())
    }

    fn changed(&self, message: &str) -> Error {
        Error::new(Kind::Conflict, codes::MANIFEST_CHANGED, self.place(), message)
    }

    /// Checks that the manifest is what it was; gives its digest and, where it is of version 2, its text in version 3.
    fn check(&self, limits: &Limits) -> Result<([u8; 32], Option<String>)> {
        let bytes = self.read()?;
        let manifest = Manifest::parse(&bytes, &self.place(), limits)?;
        match (&self.loaded, &manifest) {
            (Manifest::V3(_), Manifest::V2(_)) => {
                let message = "expected version 3, as when the dataset was opened, found version 2";
                return Err(self.changed(message));
            }
            (_, Manifest::V3(now)) if now.cache_id != self.cache_id => {
                let (expected, found) = (self.cache_id, now.cache_id);
                let message = format!(
                    "expected cache_id {expected}, as when the dataset was opened, found {found}"
                );
                return Err(self.changed(&message));
            }
            _ => {}
        }
        if !same(self.loaded.contents(), manifest.contents()) {
            let message = "expected the manifest as when the dataset was opened, found another";
            return Err(self.changed(message));
        }
        let text = match manifest {
            Manifest::V2(old) => Some(Manifest::V3(old.migrated(self.cache_id)).text()),
            Manifest::V3(_) => None,
        };
        Ok((sha256(&bytes), text))
    }

    /// Replaces the manifest, or puts its folder on the disk where nothing is to be replaced.
    fn apply(
        &self,
        digest: [u8; 32],
        text: Option<&str>,
        progress: Option<&Arc<dyn Progress>>,
    ) -> Result<Entry, (Error, Option<Entry>)> {
        let plain = |error: Error| (error, None);
        if sha256(&self.read().map_err(plain)?) != digest {
            let message = "expected no change during the migration, found one";
            return Err((self.changed(message), None));
        }
        let folder = self.name.parent().unwrap_or_default();
        let Some(text) = text else {
            self.root.persist(&folder).map_err(|error| (error.into(), None))?;
            return Ok(self.entry(Status::Unchanged));
        };
        let mut draft = self.root.draft(&self.name).map_err(|error| (error.into(), None))?;
        draft.write(text.as_bytes()).map_err(|error| (error.into(), None))?;
        // Asked to stop, the draft goes with its temporary file.
        keep_going(progress).map_err(plain)?;
        match draft.publish() {
            Ok(()) => Ok(self.entry(Status::Updated)),
            Err(error) => {
                let replaced = self.read().is_ok_and(|now| now == text.as_bytes());
                let entry = replaced.then(|| self.entry(Status::DurabilityUnknown));
                Err((error.into(), entry))
            }
        }
    }
}

/// Whether two manifests say the same, but for layout, version, id, and members inside of entries that nobody knows.
fn same(a: &Contents, b: &Contents) -> bool {
    let known = |contents: &Contents| {
        let mut known = Contents { document: Object::new(), notes: Vec::new(), ..contents.clone() };
        for shard in &mut known.shards {
            shard.ratio = Number::from_double_in(shard.ratio.to_f64(), FloatStyle::Pydantic);
        }
        known
    };
    let extensions = |contents: &Contents| {
        let members = contents.document.iter();
        let unknown = members.filter(|(key, _)| {
            key.as_str().is_none_or(|name| !super::super::document::KNOWN.contains(&name))
        });
        let unknown: Object = unknown.map(|(key, value)| (key.clone(), value.clone())).collect();
        Value::Object(unknown)
    };
    known(a) == known(b) && python_eq(&extensions(a), &extensions(b))
}

fn check_version(version: u64) -> Result<()> {
    match version {
        3 => Ok(()),
        _ => Err(invalid(format!("expected to migrate to version 3, found {version}"))),
    }
}

fn keep_going(progress: Option<&Arc<dyn Progress>>) -> Result<()> {
    match progress {
        Some(progress) if progress.cancelled() => {
            let message = "stopped before the end, as asked";
            Err(Error::new(Kind::Cancelled, "ops/cancelled", Place::default(), message))
        }
        _ => Ok(()),
    }
}

/// Migrates the manifests of a dataset, in the order of its caches. What is open in memory does not change.
///
/// # Errors
/// [`Stopped`]: `option_invalid` for another version than 3; `migration_duplicate` where two targets are one file or have
/// one id; `manifest_changed`; those of [`Manifest::parse`]; I/O faults; `ops/cancelled`.
pub fn migrate(
    targets: &[Target],
    version: u64,
    limits: &Limits,
    progress: Option<&Arc<dyn Progress>>,
) -> Result<Vec<Entry>, Stopped> {
    let nothing = |path: Option<&Target>, error| Stopped {
        path: path.map(|target| target.path.clone()),
        error,
        entries: Vec::new(),
    };
    check_version(version).map_err(|error| nothing(None, error))?;
    let (mut paths, mut ids, mut checked) = (HashSet::new(), HashSet::new(), Vec::new());
    for target in targets {
        if !paths.insert(&target.real_path) || !ids.insert(target.cache_id) {
            let message = "expected each manifest and each id once, found one again";
            let code = codes::MIGRATION_DUPLICATE;
            let error = Error::new(Kind::Invalid, code, target.place(), message);
            return Err(nothing(Some(target), error));
        }
        checked.push(target.check(limits).map_err(|error| nothing(Some(target), error))?);
    }
    let mut entries = Vec::with_capacity(targets.len());
    for (target, (digest, text)) in targets.iter().zip(checked) {
        let applied = match keep_going(progress) {
            Ok(()) => target.apply(digest, text.as_deref(), progress),
            Err(error) => Err((error, None)),
        };
        match applied {
            Ok(entry) => entries.push(entry),
            Err((error, done)) => {
                entries.extend(done);
                return Err(Stopped { path: Some(target.path.clone()), error, entries });
            }
        }
    }
    Ok(entries)
}
