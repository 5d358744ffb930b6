//! `shards_list.json`, and the pointers that lead to it.
//!
//! ```text
//! relative_path_self    this file, from the root
//! number_of_examples    in this folder and below                            (omitted when 0)
//! shard_files           [{file_infos [{file_path, hash_checksums}], number_of_examples, custom_metadata}]
//! children_shard_lists  [{shard_list_info_file {file_path, hash_checksums}, number_of_examples, number_of_shards}]
//! ```
//!
//! Members with their default value are omitted at every level, except `relative_path_self` and `file_infos`. In
//! `dataset_info.json` pointers are written in full.

use std::collections::HashSet;
use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::json::{At, Object, Value};
use packstone_io::{Kind, RelPath};

use super::super::codes;
use super::super::layout::SHARDS_LIST;
use super::fields::{self, Notes, set_or_omit, shape_error, sort_members};
use crate::error::{Error, Place, Result};
use crate::model::{Finding, Severity};

const POINTER: [&str; 3] = ["shard_list_info_file", "number_of_examples", "number_of_shards"];
const FILE: [&str; 2] = ["file_path", "hash_checksums"];
const SHARD: [&str; 3] = ["file_infos", "number_of_examples", "custom_metadata"];
const LIST: [&str; 4] =
    ["relative_path_self", "number_of_examples", "shard_files", "children_shard_lists"];

/// A file and its checksums, one for each algorithm of the dataset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileInfo {
    /// Its path from the root.
    pub path: RelPath,
    /// Lower-case hex, in the order of the algorithms.
    pub checksums: Vec<String>,
}

impl FileInfo {
    fn parse(at: At<'_>, notes: &mut Notes) -> Result<Self> {
        let place = notes.place.clone();
        notes.unknown(at, &FILE).map_err(|e| shape_error(e, &place))?;
        let text = at.field("file_path").map_err(|e| shape_error(e, &place))?;
        let path = path(text, &place)?;
        Ok(Self { path, checksums: fields::checksums(at, &place)? })
    }

    fn write(&self, into: &mut Object, all: bool) {
        into.insert("file_path", self.path.as_str());
        let list = self.checksums.iter().map(|c| Value::from(c.as_str())).collect();
        set_or_omit(into, "hash_checksums", Value::Array(list), !all && self.checksums.is_empty());
        sort_members(into, &FILE);
    }
}

/// A path as documents spell it.
///
/// # Errors
/// `schema_invalid`, `path_escape`.
pub fn path(at: At<'_>, place: &Place) -> Result<RelPath> {
    let text = at.str().map_err(|e| shape_error(e, place))?;
    RelPath::new(text).map_err(|why| {
        let message = format!("expected a path below the dataset, found {text:?}: {why}");
        Error::new(Kind::Denied, codes::PATH_ESCAPE, place.clone().json(at.path()), message)
    })
}

/// A pointer to a list, with what lies below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListPointer {
    /// The list.
    pub file: FileInfo,
    /// Examples in its subtree.
    pub examples: u64,
    /// Shards in its subtree.
    pub shards: u64,
}

impl ListPointer {
    /// Reads a pointer.
    ///
    /// # Errors
    /// `schema_invalid`, `path_escape`.
    pub fn parse(at: At<'_>, notes: &mut Notes) -> Result<Self> {
        let place = notes.place.clone();
        let shape = |e| shape_error(e, &place);
        notes.unknown(at, &POINTER).map_err(shape)?;
        let file_at = at.field("shard_list_info_file").map_err(shape)?;
        let file = FileInfo::parse(file_at, notes)?;
        if file.path.name() != SHARDS_LIST {
            let at = file_at.field("file_path").map_err(shape)?;
            return Err(shape(at.unexpected("a path that ends in shards_list.json")));
        }
        let examples = notes.count(at.optional("number_of_examples").map_err(shape)?)?;
        let shards = notes.count(at.optional("number_of_shards").map_err(shape)?)?;
        Ok(Self { file, examples, shards })
    }

    /// Writes all members, as `dataset_info.json` has them; unknown ones in `into` stay.
    pub fn write_all(&self, into: &mut Object) {
        self.write(into, true);
    }

    /// Writes the members that lists have; unknown ones in `into` stay.
    pub fn write_brief(&self, into: &mut Object) {
        self.write(into, false);
    }

    fn write(&self, into: &mut Object, all: bool) {
        let mut file = fields::take_object(into, "shard_list_info_file");
        self.file.write(&mut file, all);
        into.insert("shard_list_info_file", file);
        set_or_omit(into, "number_of_examples", self.examples, !all && self.examples == 0);
        set_or_omit(into, "number_of_shards", self.shards, !all && self.shards == 0);
        sort_members(into, &POINTER);
    }
}

/// A shard as its list has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShardEntry {
    /// Its files; the first holds the examples.
    pub files: Vec<FileInfo>,
    /// Its examples.
    pub examples: u64,
    /// What was said about them.
    pub metadata: Arc<Object>,
}

impl ShardEntry {
    /// Reads one.
    ///
    /// # Errors
    /// `schema_invalid`, `path_escape`.
    pub fn parse(at: At<'_>, notes: &mut Notes) -> Result<Self> {
        let place = notes.place.clone();
        let shape = |e| shape_error(e, &place);
        notes.unknown(at, &SHARD).map_err(shape)?;
        let files_at = at.field("file_infos").map_err(shape)?;
        let files: Vec<_> = files_at
            .items()
            .map_err(shape)?
            .map(|f| FileInfo::parse(f, notes))
            .collect::<Result<_>>()?;
        if files.is_empty() {
            return Err(shape(files_at.unexpected("at least one file")));
        }
        if files.len() > 1 {
            let message =
                format!("expected one file, found {}; the first holds the examples", files.len());
            notes.add(Severity::Warning, codes::SURPLUS_FILE, files_at, message);
        }
        let examples = notes.count(at.optional("number_of_examples").map_err(shape)?)?;
        let metadata = Arc::new(fields::custom_metadata(at, &place)?);
        Ok(Self { files, examples, metadata })
    }

    /// The entry as its list has it.
    pub fn to_value(&self) -> Value {
        let mut out = Object::new();
        let files = self.files.iter().map(|file| {
            let mut out = Object::new();
            file.write(&mut out, false);
            Value::Object(out)
        });
        out.insert("file_infos", Value::Array(files.collect()));
        set_or_omit(&mut out, "number_of_examples", self.examples, self.examples == 0);
        let metadata = self.metadata.as_ref().clone();
        set_or_omit(&mut out, "custom_metadata", metadata, self.metadata.is_empty());
        Value::Object(out)
    }
}

/// What a `shards_list.json` says.
#[derive(Clone, Debug, Default)]
pub struct ShardsList {
    /// The document as it was read or will be written.
    pub document: Object,
    /// Where it says that it is.
    pub self_path: String,
    /// Examples in its subtree, as it says.
    pub examples: u64,
    /// The shards that it lists.
    pub shards: Vec<Arc<ShardEntry>>,
    /// The lists below it.
    pub children: Vec<ListPointer>,
    /// What is unusual and no error.
    pub notes: Vec<Finding>,
    /// The count in the document is not that of its entries any more.
    changed: bool,
}

impl ShardsList {
    /// An empty list that will stand at `path`.
    pub fn new(path: &RelPath) -> Self {
        let mut list = Self { self_path: path.to_string(), ..Self::default() };
        list.document.insert("relative_path_self", path.as_str());
        list
    }

    /// Reads the list that stands at `path`.
    ///
    /// # Errors
    /// `json_invalid`, `schema_invalid`, `path_escape`.
    pub fn parse(bytes: &[u8], path_of_file: &RelPath, limits: &Limits) -> Result<Self> {
        let place = Place::file(path_of_file);
        let mut notes = Notes::new(place.clone());
        let value = fields::read(bytes, limits, &mut notes)?;
        let root = At::root(&value);
        let shape = |e| shape_error(e, &place);
        notes.unknown(root, &LIST).map_err(shape)?;
        let self_at = root.field("relative_path_self").map_err(shape)?;
        let self_path = path(self_at, &place)?;
        if self_path != *path_of_file {
            let message = format!("expected {path_of_file}, found {self_path}");
            notes.add(Severity::Warning, codes::SCHEMA_INVALID, self_at, message);
        }
        let mut list = Self { self_path: self_path.to_string(), ..Self::default() };
        list.examples = notes.count(root.optional("number_of_examples").map_err(shape)?)?;
        if let Some(at) = root.optional("shard_files").map_err(shape)? {
            for item in at.items().map_err(shape)? {
                list.shards.push(Arc::new(ShardEntry::parse(item, &mut notes)?));
            }
        }
        if let Some(at) = root.optional("children_shard_lists").map_err(shape)? {
            for item in at.items().map_err(shape)? {
                list.children.push(ListPointer::parse(item, &mut notes)?);
            }
        }
        list.notes = notes.findings;
        if let Value::Object(document) = value {
            list.document = document;
        }
        Ok(list)
    }

    /// Path, examples and shards of everything listed, once each and without the list as its own child.
    fn distinct(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut seen = HashSet::new();
        let own = self.shards.iter().map(|s| (s.files.first().map(|f| &f.path), s.examples, 1));
        let below = self.children.iter().map(|c| (Some(&c.file.path), c.examples, c.shards));
        own.chain(below)
            .filter(move |(path, ..)| {
                path.is_none_or(|p| p.as_str() != self.self_path) && seen.insert(*path)
            })
            .map(|(_, examples, shards)| (examples, shards))
    }

    /// Examples of its own shards and of its children, added up; what is listed again does not count.
    pub fn counted(&self) -> u64 {
        self.distinct().map(|(examples, _)| examples).fold(0, u64::saturating_add)
    }

    /// Shards of its own and of its children, added up; what is listed again does not count.
    pub fn counted_shards(&self) -> u64 {
        self.distinct().map(|(_, shards)| shards).fold(0, u64::saturating_add)
    }

    /// A shard that is listed again, or a child that is the list itself or is listed again.
    pub fn repeated(&self) -> Option<(&'static str, &RelPath)> {
        let mut seen = HashSet::new();
        let shards = self.shards.iter().filter_map(|s| s.files.first()).map(|f| &f.path);
        if let Some(path) = shards.into_iter().find(|path| !seen.insert(*path)) {
            return Some((codes::DUPLICATE_SHARD, path));
        }
        let mut children = self.children.iter().map(|c| &c.file.path);
        let again = children.find(|path| path.as_str() == self.self_path || !seen.insert(*path));
        again.map(|path| (codes::METADATA_CYCLE, path))
    }

    /// Appends a shard.
    pub fn push_shard(&mut self, shard: ShardEntry) {
        push(&mut self.document, "shard_files", shard.to_value());
        self.examples = self.examples.saturating_add(shard.examples);
        self.shards.push(Arc::new(shard));
        self.changed = true;
    }

    /// Sets the pointer to a child, in place of the one with the same path or as the last.
    pub fn set_child(&mut self, pointer: ListPointer) {
        let same = |c: &ListPointer| c.file.path == pointer.file.path;
        self.examples = self.examples.saturating_add(pointer.examples);
        self.changed = true;
        let Some(at) = self.children.iter().position(same) else {
            let mut object = Object::new();
            pointer.write_brief(&mut object);
            push(&mut self.document, "children_shard_lists", Value::Object(object));
            self.children.push(pointer);
            return;
        };
        let list = self.document.get_mut("children_shard_lists").and_then(Value::as_array_mut);
        if let Some(Value::Object(object)) = list.and_then(|l| l.get_mut(at)) {
            pointer.write_brief(object);
        }
        if let Some(child) = self.children.get_mut(at) {
            self.examples = self.examples.saturating_sub(child.examples);
            *child = pointer;
        }
    }

    /// The text of the document, spelled as the original spells it.
    pub fn text(&mut self) -> String {
        if std::mem::take(&mut self.changed) {
            let examples = self.examples;
            set_or_omit(&mut self.document, "number_of_examples", examples, examples == 0);
            sort_members(&mut self.document, &LIST);
        }
        fields::text(&mut self.document)
    }
}

fn push(object: &mut Object, name: &str, value: Value) {
    match object.get_mut(name).and_then(Value::as_array_mut) {
        Some(list) => list.push(value),
        None => {
            object.insert(name, Value::Array(vec![value]));
        }
    }
}
