//! Parts: what workers on any machine wrote below paths of their own, and the one merge that joins them.
//!
//! ```text
//! packstone-part-<name>.json   { "packstone_part": 1, "name": …, "structure": {…}, "updates": [ShardListInfo, …] }
//! ```
//!
//! A bare array of `ShardListInfo`, as the original's `get_updated_infos` gives it, is a part too. Merging is harmless
//! when repeated, in any order.

use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::json::{self, At, Object, Value};
use packstone_io::{Kind, RelPath, RootMut};

use super::super::codes;
use super::super::document::DatasetInfo;
use super::super::layout::{MERGED_PREFIX, PART_PREFIX, PART_SUFFIX, SPLITS};
use super::super::reader::read_info;
use super::fields::{self, Notes, shape_error};
use super::list::ListPointer;
use super::publish::{PATIENCE, Update, publish};
use super::tree::file_error;
use crate::error::{Error, Place, Result};
use crate::format::{MergeOptions, PartSource, Written};

const VERSION: u64 = 1;

fn invalid(place: Place, message: String) -> Error {
    Error::new(Kind::Invalid, codes::PARTS_INVALID, place, message)
}

/// The folder of a part inside each split.
///
/// # Errors
/// `path_escape`; `parts_invalid` for an empty name.
pub fn part_folder(name: &str) -> Result<RelPath> {
    let folder = RelPath::new(name).map_err(|why| {
        let message =
            format!("expected a part name that is a path below the split, found {name:?}: {why}");
        Error::new(Kind::Denied, codes::PATH_ESCAPE, Place::default(), message)
    })?;
    if folder.is_root() {
        return Err(invalid(
            Place::default(),
            "expected a part name, found an empty one".to_owned(),
        ));
    }
    Ok(folder)
}

/// The part file of a part; the folders of its name become one name.
///
/// # Errors
/// As for [`part_folder`].
pub fn part_path(name: &str) -> Result<RelPath> {
    let flat = part_folder(name)?.as_str().replace('/', "--");
    let file = format!("{PART_PREFIX}{flat}{PART_SUFFIX}");
    RelPath::new(&file).map_err(|why| invalid(Place::file(&file), why.to_string()))
}

/// Checks that nothing was ever written under a part name: a worker that died leaves shards there, which `repair` lists.
///
/// # Errors
/// `parts_invalid`.
pub fn check_unused(root: &dyn packstone_io::Root, name: &str) -> Result<()> {
    let folder = part_folder(name)?;
    let used = |what: &RelPath| {
        let message = format!("expected a part name that nobody used, found {what}");
        Err(Error::new(Kind::Exists, codes::PARTS_INVALID, Place::file(what), message))
    };
    for path in [part_path(name)?, merged_path(&part_path(name)?)] {
        if root.len(&path).is_ok() {
            return used(&path);
        }
    }
    for split in SPLITS {
        let folder = RelPath::new(split).unwrap_or_default().below(&folder);
        if root.list(&folder).is_ok_and(|entries| !entries.is_empty()) {
            return used(&folder);
        }
    }
    Ok(())
}

/// Where a part file goes once it is merged.
fn merged_path(part: &RelPath) -> RelPath {
    let name = part.as_str().replacen(PART_PREFIX, MERGED_PREFIX, 1);
    RelPath::new(&name).unwrap_or_default()
}

/// True for the name of a part file.
pub fn is_part_file(name: &str) -> bool {
    name.starts_with(PART_PREFIX) && name.ends_with(PART_SUFFIX)
}

fn structure_of(info: &DatasetInfo) -> Value {
    info.document.get("dataset_structure").cloned().unwrap_or_default()
}

/// Updates as JSON, each a `ShardListInfo` in full.
pub fn updates_json(updates: &[ListPointer]) -> Value {
    let each = updates.iter().map(|update| {
        let mut out = Object::new();
        update.write_all(&mut out);
        Value::Object(out)
    });
    Value::Array(each.collect())
}

/// The text of a part file.
pub fn part_text(name: &str, info: &DatasetInfo, updates: &[ListPointer]) -> String {
    let mut out = Object::new();
    out.insert("packstone_part", VERSION);
    out.insert("name", name);
    out.insert("structure", structure_of(info));
    out.insert("updates", updates_json(updates));
    fields::text(&mut out)
}

struct Part {
    label: String,
    updates: Vec<ListPointer>,
}

fn parse(label: &str, bytes: &[u8], info: &DatasetInfo, limits: &Limits) -> Result<Part> {
    let place = Place::file(label);
    let shape = |e| shape_error(e, &place);
    let mut notes = Notes::new(place.clone());
    let value = fields::read(bytes, limits, &mut notes)?;
    let at = At::root(&value);
    let list = if value.as_array().is_some() {
        at
    } else {
        let version = at.field("packstone_part").and_then(At::u64).map_err(shape)?;
        if version != VERSION {
            return Err(invalid(
                place,
                format!("expected part version {VERSION}, found {version}"),
            ));
        }
        let structure = at.field("structure").map_err(shape)?;
        if !json::python_eq(structure.value(), &structure_of(info)) {
            return Err(invalid(
                place,
                "expected a part of this dataset, found one of another structure".to_owned(),
            ));
        }
        at.field("updates").map_err(shape)?
    };
    let updates = list.items().map_err(shape)?.map(|item| ListPointer::parse(item, &mut notes));
    Ok(Part { label: label.to_owned(), updates: updates.collect::<Result<_>>()? })
}

/// All part files of a root that wait for their merge, by name.
///
/// # Errors
/// I/O faults.
pub fn part_files(root: &dyn packstone_io::Root) -> Result<Vec<RelPath>> {
    files(root, is_part_file)
}

/// All part files of a root that were merged, by name.
///
/// # Errors
/// I/O faults.
pub fn merged_files(root: &dyn packstone_io::Root) -> Result<Vec<RelPath>> {
    files(root, |name| name.starts_with(MERGED_PREFIX) && name.ends_with(PART_SUFFIX))
}

fn files(root: &dyn packstone_io::Root, kept: impl Fn(&str) -> bool) -> Result<Vec<RelPath>> {
    let entries = root.list(&RelPath::root())?;
    let names = entries.iter().filter(|entry| kept(&entry.name));
    Ok(names.filter_map(|entry| RelPath::new(&entry.name).ok()).collect())
}

/// The folders that parts which wait for their merge have to themselves.
///
/// # Errors
/// I/O faults.
pub fn pending_folders(
    root: &dyn packstone_io::Root,
    info: &DatasetInfo,
    limits: &Limits,
) -> Result<Vec<RelPath>> {
    let mut folders = Vec::new();
    for path in part_files(root)? {
        // A part that cannot be read waits for nothing; `merge` says what is wrong with it.
        let read = root.read(&path).map_err(Error::from);
        if let Ok(part) = read.and_then(|bytes| parse(path.as_str(), &bytes, info, limits)) {
            folders.extend(part.updates.iter().filter_map(|u| u.file.path.parent()));
        }
    }
    Ok(folders)
}

/// Joins parts into the dataset.
///
/// # Errors
/// `parts_invalid` where a part is missing, given twice, overlaps another or belongs to another dataset;
/// `missing_file`, `hash_mismatch` where what it lists is not there as listed; `Conflict`.
pub fn merge(root: &Arc<dyn RootMut>, options: &MergeOptions) -> Result<Written> {
    let info = read_info(root.as_ref(), &options.limits)?;
    let mut parts: Vec<Part> = Vec::new();
    let (mut waiting, mut seen, mut done) = (Vec::new(), Vec::new(), 0);
    let sources = if options.parts.is_empty() {
        part_files(root.as_ref())?.into_iter().map(PartSource::File).collect()
    } else {
        options.parts.clone()
    };
    for source in sources {
        let part = match source {
            PartSource::Document { label, bytes } => parse(&label, &bytes, &info, &options.limits)?,
            source => {
                let path = match source {
                    PartSource::Named(name) => part_path(&name)?,
                    PartSource::File(path) => path,
                    PartSource::Document { .. } => continue,
                };
                if seen.contains(&path) {
                    let message = "expected each part once, found it twice".to_owned();
                    return Err(invalid(Place::file(&path), message));
                }
                seen.push(path.clone());
                if root.len(&path).is_err() && root.len(&merged_path(&path)).is_ok() {
                    done += 1; // merged before
                    continue;
                }
                waiting.push(path.clone());
                let bytes = root.read(&path).map_err(|e| file_error(e, &path))?;
                parse(path.as_str(), &bytes, &info, &options.limits)?
            }
        };
        if parts.iter().any(|p| p.label == part.label) {
            let message = "expected each part once, found it twice".to_owned();
            return Err(invalid(Place::file(&part.label), message));
        }
        parts.push(part);
    }
    if let Some(expect) = options.expect
        && parts.len() + done != expect
    {
        let found = parts.len() + done;
        return Err(invalid(Place::default(), format!("expected {expect} part(s), found {found}")));
    }
    check_apart(&parts)?;
    let updates: Vec<ListPointer> = parts.into_iter().flat_map(|p| p.updates).collect();
    let total = |info: &DatasetInfo, of: fn(&ListPointer) -> u64| {
        info.splits.iter().map(|(_, pointer)| of(pointer)).fold(0, u64::saturating_add)
    };
    let mut after = info.clone();
    if !updates.is_empty() {
        let lists = updates.iter().map(|u| Update::List(u.file.path.clone())).collect();
        after = publish(root, lists, PATIENCE, &options.limits, |_| Ok(()))?;
    }
    for path in waiting {
        let text = root.read(&path)?.to_vec();
        root.replace(&[(merged_path(&path), text)])?;
        root.remove(&path)?;
    }
    let gained = |of: fn(&ListPointer) -> u64| total(&after, of).saturating_sub(total(&info, of));
    Ok(Written { samples: gained(|p| p.examples), shards: gained(|p| p.shards), bytes: 0 })
}

/// No part may lie in another, nor be there twice.
fn check_apart(parts: &[Part]) -> Result<()> {
    let mut folders: Vec<(RelPath, &str)> = parts
        .iter()
        .flat_map(|part| part.updates.iter().map(move |u| (u, part.label.as_str())))
        .map(|(update, label)| (update.file.path.parent().unwrap_or_default(), label))
        .collect();
    folders.sort();
    for (before, after) in folders.iter().zip(folders.iter().skip(1)) {
        if after.0.starts_with(&before.0) {
            let message = format!(
                "expected parts apart from each other, found {} inside {} of {}",
                after.0, before.0, before.1
            );
            return Err(invalid(Place::file(after.1), message));
        }
    }
    Ok(())
}
