//! Making a new, empty dataset: its root document, which says what shards are to be.

use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::json::{Object, Value};
use packstone_io::{Kind, RelPath, RootMut};

use super::super::codes;
use super::super::document::DatasetInfo;
use super::super::layout::ROOT_DOCUMENT;
use super::super::options::{Structure, invalid};
use super::super::parts::fields;
use super::super::reader::root_document;
use super::super::schema::check_writable;
use crate::error::{Error, Place, Result};
use crate::model::Schema;

/// Makes a new, empty dataset in `root`.
///
/// `metadata` may hold `description`, `dataset_license`, `dataset_version`, `download_from` and `custom_metadata`.
///
/// # Errors
/// `Exists` where there is a dataset already; `not_writable` where shards cannot hold the schema; `option_invalid` where
/// no shard can be filled; `value_invalid` where the metadata is not what readers accept.
pub fn create(
    root: &dyn RootMut,
    schema: Arc<Schema>,
    structure: &Structure,
    metadata: &Object,
) -> Result<DatasetInfo> {
    check_writable(&schema, structure.shard_type)?;
    check_fillable(structure.examples_per_shard)?;
    let info = new_document(schema, structure, metadata);
    // What readers would refuse or read differently is refused here.
    let read = DatasetInfo::parse(info.text().as_bytes(), &Limits::default())?;
    if let Some(note) = read.notes.first() {
        let message = note.message.clone();
        return Err(Error::new(Kind::Invalid, codes::VALUE_INVALID, note.place.clone(), message));
    }
    create_document(root, &info)?;
    Ok(info)
}

/// Makes a new, empty dataset that says of itself and of its attributes what another one does, to the letter.
///
/// `source` is the other one's root document; its splits are not taken, nor what `structure` decides.
///
/// # Errors
/// As for [`create`].
pub fn create_like(
    root: &dyn RootMut,
    source: &Object,
    schema: Arc<Schema>,
    structure: &Structure,
) -> Result<DatasetInfo> {
    check_writable(&schema, structure.shard_type)?;
    check_fillable(structure.examples_per_shard)?;
    let mut info = new_document(schema, structure, &Object::new());
    for (section, decided) in [
        ("metadata", &["sedpack_version"][..]),
        (
            "dataset_structure",
            &["compression", "examples_per_shard", "shard_file_type", "hash_checksum_algorithms"],
        ),
    ] {
        let mut own = fields::take_object(&mut info.document, section);
        for (key, value) in
            source.get(section).and_then(Value::as_object).map(Object::iter).into_iter().flatten()
        {
            if !decided.iter().any(|name| key.as_str() == Some(name)) {
                own.insert(key.clone(), value.clone());
            }
        }
        info.document.insert(section, own);
    }
    DatasetInfo::parse(info.text().as_bytes(), &Limits::default())?;
    create_document(root, &info)?;
    Ok(info)
}

fn new_document(schema: Arc<Schema>, structure: &Structure, metadata: &Object) -> DatasetInfo {
    let mut about = metadata.clone();
    about.insert("sedpack_version", structure.sedpack_version.as_str());
    DatasetInfo::create(
        schema,
        structure.shard_type,
        structure.compression,
        structure.examples_per_shard,
        structure.algorithms.clone(),
        &about,
    )
}

fn create_document(root: &dyn RootMut, info: &DatasetInfo) -> Result<()> {
    let document = root_document()?;
    root.create(&document, info.text().as_bytes()).map_err(|error| {
        let message = "expected a folder without a dataset, found one";
        match error.kind() {
            Kind::Exists => {
                Error::new(Kind::Exists, "io/exists", Place::file(ROOT_DOCUMENT), message)
            }
            _ => error.into(),
        }
    })?;
    root.persist(&document)?;
    root.persist(&RelPath::root())?;
    Ok(())
}

/// The original lists a shard without a file where the number is below 1.
pub(super) fn check_fillable(examples_per_shard: i64) -> Result<()> {
    if examples_per_shard < 1 {
        let message = format!("expected at least 1 example a shard, found {examples_per_shard}");
        return Err(invalid(message));
    }
    Ok(())
}
