//! Caches as a dataset.
//!
//! | what is opened | collections |
//! | --- | --- |
//! | one cache | one, called by its source name, or by its folder where that is empty |
//! | a folder with caches in it | one a cache, called by its folder; a cache is opened when it is asked for |
//! | a list of caches | `all`: their samples one after another, in the order of the list |
//!
//! In a list no two caches may have one id, all must have the same metadata columns, and there must be a sample. An id is
//! what a manifest of version 3 stores, and for version 2 the position in the list. A folder of caches stands for the list
//! of them in the order of their names; where the id that a cache of version 2 has by that is stored in another cache, as
//! the original allows in no list, the cache cannot be opened by way of the folder.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use packstone_container::Limits;
use packstone_container::json::{Object, Value};
use packstone_io::{EntryKind, Kind, RelPath, Root};

use super::codes;
use super::document::Manifest;
use super::layout::{INDEX, MANIFEST, METADATA, SHARDS, STAGING};
use super::options::OpenOptions;
use super::parts::cache::{Cache, read_manifest};
use super::parts::descriptor::Descriptor;
use super::parts::joint::Joint;
use super::parts::maps::Maps;
use super::parts::selected::save;
use super::parts::site::Site;
use super::parts::stage::check_name;
use crate::error::{Error, Place, Result};
use crate::format::{Collection, Dataset, Info, Selected};
use crate::model::Schema;

/// The collection of a list of caches.
pub const ALL: &str = "all";
/// The member of a manifest with the metadata columns.
const COLUMNS: &str = "metadata_schema";

/// True where `folder` holds parts of a cache, complete or not.
///
/// # Errors
/// I/O faults.
pub fn is_cache(root: &dyn Root, folder: &RelPath) -> Result<bool> {
    let entries = root.list(folder)?;
    let has = |name: &str, kind| entries.iter().any(|e| e.name == name && e.kind == kind);
    let files = [MANIFEST, METADATA, INDEX].map(|name| {
        // A manifest may be a link.
        has(name, EntryKind::File) || has(name, EntryKind::Other)
    });
    let found = files.into_iter().chain([has(SHARDS, EntryKind::Folder)]).filter(|is| *is).count();
    Ok(found >= 2)
}

/// The folders of the complete caches in `root`, sorted by name.
///
/// # Errors
/// I/O faults.
pub fn caches_in(root: &dyn Root) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in root.list(&RelPath::root())? {
        let Ok(folder) = RelPath::new(&entry.name) else { continue };
        let Ok(manifest) = folder.join(MANIFEST) else { continue };
        let candidate = entry.kind == EntryKind::Folder && entry.name != STAGING;
        if candidate && root.len(&manifest).is_ok() && is_cache(root, &folder)? {
            found.push(entry.name);
        }
    }
    Ok(found)
}

/// True where `root` holds caches in the making.
///
/// # Errors
/// I/O faults.
pub fn has_stages(root: &dyn Root) -> Result<bool> {
    let tmp = RelPath::new(STAGING).unwrap_or_default();
    let entries = match root.list(&tmp) {
        Err(error) if error.kind() == Kind::NotFound => return Ok(false),
        other => other?,
    };
    let stage = |name: &str| {
        let shards = tmp.join(name).and_then(|folder| folder.join(SHARDS));
        shards.is_ok_and(|shards| root.list(&shards).is_ok())
    };
    Ok(entries.iter().any(|entry| entry.kind == EntryKind::Folder && stage(&entry.name)))
}

/// Open caches.
pub struct DatasetRtDataset {
    info: Info,
    schema: Arc<Schema>,
    kind: DatasetKind,
}

enum DatasetKind {
    /// Caches that are read as one collection.
    Joint(Joint),
    /// A folder of caches, each a collection of its own.
    Folder(Folder),
}

struct Folder {
    root: Arc<dyn Root>,
    names: Vec<String>,
    options: OpenOptions,
    limits: Limits,
    /// The ids that caches store, looked up for the first cache that stores none.
    stored: OnceLock<BTreeMap<u64, String>>,
}

impl DatasetRtDataset {
    /// Opens what lies in `root`: a cache, or a folder of caches.
    ///
    /// # Errors
    /// Those of [`Cache::open`]; `no_samples` for a cache without any.
    pub fn open(root: Arc<dyn Root>, options: &OpenOptions, limits: &Limits) -> Result<Self> {
        Self::open_at(root, 0, options, limits)
    }

    /// The same, where a cache is the one at `position` of a list that is not opened.
    ///
    /// # Errors
    /// As for [`DatasetRtDataset::open`].
    pub fn open_at(
        root: Arc<dyn Root>,
        position: u64,
        options: &OpenOptions,
        limits: &Limits,
    ) -> Result<Self> {
        if !is_cache(root.as_ref(), &RelPath::root())? {
            let names = caches_in(root.as_ref())?;
            if !names.is_empty() {
                let caches: Vec<Value> = names.iter().map(|n| Value::from(n.as_str())).collect();
                let native = Object::from_iter([("caches", Value::Array(caches))]);
                let options = options.clone();
                let first = first_descriptor(&root, &names, limits);
                let (limits, stored) = (*limits, OnceLock::new());
                let kind = DatasetKind::Folder(Folder { root, names, options, limits, stored });
                return Ok(Self::of(native, Arc::new(first.schema()), first.carried, kind));
            }
        }
        let site = Site::new(root, RelPath::root());
        let cache = Cache::open(site, position, Arc::default(), options, limits)?;
        let native = cache.manifest.contents().document.clone();
        let carried = cache.descriptor.carried.clone();
        let name = collection_name(&cache);
        let joint = Joint::new(name, vec![Arc::new(cache)])?;
        Ok(Self::of(native, Arc::clone(joint.schema()), carried, DatasetKind::Joint(joint)))
    }

    /// Opens caches as one dataset, in this order.
    ///
    /// # Errors
    /// Those of [`Cache::open`]; `duplicate_cache_id`, `schema_differs`, `no_samples`.
    pub fn open_many(
        roots: Vec<Arc<dyn Root>>,
        options: &OpenOptions,
        limits: &Limits,
    ) -> Result<Self> {
        let maps: Arc<Maps> = Arc::default();
        let mut caches = Vec::with_capacity(roots.len());
        for (position, root) in roots.into_iter().enumerate() {
            let site = Site::among_many(root);
            let maps = Arc::clone(&maps);
            let cache = Cache::open(site, position as u64, maps, options, limits)?;
            caches.push(Arc::new(cache));
        }
        let joint = Joint::new(ALL.to_owned(), caches)?;
        let about = joint.caches().iter().map(|cache| {
            let mut about = Object::new();
            about.insert("path", cache.site.label());
            about.insert("cache_id", cache.cache_id);
            about.insert("source_name", cache.manifest.contents().source_name.as_str());
            about.insert("sample_count", cache.samples());
            Value::Object(about)
        });
        let mut native = Object::from_iter([("caches", Value::Array(about.collect()))]);
        let first = joint.caches().first().map(|cache| &cache.manifest.contents().document);
        if let Some(columns) = first.and_then(|document| document.get(COLUMNS)) {
            native.insert(COLUMNS, columns.clone());
        }
        let carried = joint.caches().first().and_then(|cache| cache.descriptor.carried.clone());
        Ok(Self::of(native, Arc::clone(joint.schema()), carried, DatasetKind::Joint(joint)))
    }

    fn of(native: Object, schema: Arc<Schema>, carried: Option<Object>, kind: DatasetKind) -> Self {
        Self { info: Info { format: "datasetrt", native, carried }, schema, kind }
    }

    /// The caches that are read as one collection; none for a folder of caches.
    pub fn joint(&self) -> Option<&Joint> {
        match &self.kind {
            DatasetKind::Joint(joint) => Some(joint),
            DatasetKind::Folder(_) => None,
        }
    }
}

/// What the samples of the first cache are, for all of them; a cache that is damaged says so when it is opened.
fn first_descriptor(root: &Arc<dyn Root>, names: &[String], limits: &Limits) -> Descriptor {
    let first = names.first().and_then(|name| RelPath::new(name).ok());
    let read = |folder: RelPath| {
        let site = Site::new(Arc::clone(root), folder);
        let contents = read_manifest(&site, limits)?.contents().clone();
        Descriptor::of(&contents.document, &contents.columns, &site.place(MANIFEST))
    };
    first.and_then(|folder| read(folder).ok()).unwrap_or_default()
}

/// What the manifest calls a cache, unless no cache can be written under that name; then its folder's name.
fn collection_name(cache: &Cache) -> String {
    match cache.manifest.contents().source_name.as_str() {
        name if check_name(name).is_ok() => name.to_owned(),
        _ => cache.site.folder_name(),
    }
}

impl Dataset for DatasetRtDataset {
    fn info(&self) -> &Info {
        &self.info
    }

    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn collections(&self) -> Vec<String> {
        match &self.kind {
            DatasetKind::Joint(joint) => vec![joint.name().to_owned()],
            DatasetKind::Folder(folder) => folder.names.clone(),
        }
    }

    fn selection(
        &self,
        selected: &Selected<'_>,
        spell: &dyn Fn(&str) -> Result<String>,
    ) -> Result<String> {
        save(&self.joint_of(selected.collection)?, selected, spell)
    }

    fn collection(&self, name: &str) -> Result<Arc<dyn Collection>> {
        Ok(Arc::new(self.joint_of(name)?))
    }
}

impl DatasetRtDataset {
    fn joint_of(&self, name: &str) -> Result<Joint> {
        match &self.kind {
            DatasetKind::Joint(joint) if joint.name() == name => Ok(joint.clone()),
            DatasetKind::Folder(folder) if folder.names.iter().any(|n| n == name) => {
                folder.joint(name)
            }
            _ => {
                let known = self.collections().join(", ");
                let message = format!("expected one of the collections {known}, found {name:?}");
                let code = codes::UNKNOWN_COLLECTION;
                Err(Error::new(Kind::NotFound, code, Place::default(), message))
            }
        }
    }
}

impl Folder {
    fn joint(&self, name: &str) -> Result<Joint> {
        let position = self.names.iter().take_while(|n| *n != name).count() as u64;
        let site = Site::new(Arc::clone(&self.root), RelPath::new(name).unwrap_or_default());
        let cache = Cache::open(site, position, Arc::default(), &self.options, &self.limits)?;
        if let Manifest::V2(_) = cache.manifest
            && let Some(error) = position_taken(&cache.site, position, self.stored())
        {
            return Err(error);
        }
        Joint::new(name.to_owned(), vec![Arc::new(cache)])
    }

    /// The ids that the caches of the folder store, with the folder of each.
    fn stored(&self) -> &BTreeMap<u64, String> {
        self.stored.get_or_init(|| {
            let id = |name: &String| {
                let site = Site::new(Arc::clone(&self.root), RelPath::new(name).ok()?);
                // What is wrong with another cache is said when that one is opened.
                match read_manifest(&site, &self.limits).ok()? {
                    Manifest::V2(_) => None,
                    Manifest::V3(manifest) => Some((manifest.cache_id, name.clone())),
                }
            };
            self.names.iter().filter_map(id).collect()
        })
    }
}

/// The error for a cache of version 2 whose position in its folder is an id that another one stores.
pub fn position_taken(site: &Site, position: u64, stored: &BTreeMap<u64, String>) -> Option<Error> {
    let other = stored.get(&position)?;
    let message = format!(
        "expected an id of its own, found {position}, its place among the caches of the folder by \
         name, stored in {other} already: name the caches in the order of the dataset"
    );
    let place = site.place(MANIFEST);
    Some(Error::new(Kind::Conflict, codes::DUPLICATE_CACHE_ID, place, message))
}
