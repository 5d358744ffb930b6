//! The root document `dataset_info.json`: strict reading, lossless keeping, exact writing.
//!
//! ```text
//! metadata           description, dataset_license, dataset_version, download_from, custom_metadata, sedpack_version
//! dataset_structure  saved_data_description [{name, dtype, shape, custom_metadata}], compression, examples_per_shard,
//!                    shard_file_type, hash_checksum_algorithms
//! splits             {<split>: {shard_list_info_file {file_path, hash_checksums}, number_of_examples, number_of_shards}}
//! ```
//!
//! The document is kept as it was read, so unknown fields, the order of keys and the spelling of numbers survive a
//! rewrite. Known difference from the original: it ignores and then loses unknown fields.

use std::collections::HashSet;
use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::digest::Algorithm;
use packstone_container::json::{At, Object, Value};
use packstone_io::Kind;
use semver::Version;

use super::codes;
use super::layout::{DEFAULT_EXAMPLES_PER_SHARD, DEFAULT_LICENSE, LATEST, ROOT_DOCUMENT, SPLITS};
use super::parts::fields::{self, Notes};
use super::parts::list::ListPointer;
use super::schema::{self, Compression, ShardType};
use crate::error::{Error, Place, Result};
use crate::model::{Finding, Schema, Severity};

/// What `dataset_info.json` says.
#[derive(Clone, Debug)]
pub struct DatasetInfo {
    /// The document as it was read or will be written.
    pub document: Object,
    /// The attributes.
    pub schema: Arc<Schema>,
    /// The compression of shard files.
    pub compression: Compression,
    /// The format of shard files.
    pub shard_type: ShardType,
    /// Examples in a full shard; what is stored may be any number, also one that no writer can use.
    pub examples_per_shard: i64,
    /// The checksums that each file has.
    pub algorithms: Vec<Algorithm>,
    /// The populated splits in the order of the document.
    pub splits: Vec<(String, ListPointer)>,
    /// What is unusual and no error.
    pub notes: Vec<Finding>,
}

const METADATA: [&str; 6] = [
    "description",
    "dataset_license",
    "dataset_version",
    "download_from",
    "custom_metadata",
    "sedpack_version",
];
const STRUCTURE: [&str; 5] = [
    "saved_data_description",
    "compression",
    "examples_per_shard",
    "shard_file_type",
    "hash_checksum_algorithms",
];
const ATTRIBUTE: [&str; 4] = ["name", "dtype", "shape", "custom_metadata"];

impl DatasetInfo {
    /// Reads the document.
    ///
    /// # Errors
    /// `json_invalid`, `schema_invalid`, `version_invalid`, `version_too_new`, `unknown_split`, `unknown_compression`,
    /// `unknown_shard_type`, `unknown_hash`, `unknown_dtype`, `unsupported_combination`, `path_escape`.
    pub fn parse(bytes: &[u8], limits: &Limits) -> Result<Self> {
        let place = Place::file(ROOT_DOCUMENT);
        let mut notes = Notes::new(place.clone());
        let value = fields::read(bytes, limits, &mut notes)?;
        let root = At::root(&value);
        let shape = |e| fields::shape_error(e, &place);
        notes.unknown(root, &["metadata", "dataset_structure", "splits"]).map_err(shape)?;
        if let Some(metadata) = root.optional("metadata").map_err(shape)? {
            check_metadata(metadata, &mut notes)?;
        }
        let structure = root.optional("dataset_structure").map_err(shape)?;
        let mut info = match structure {
            Some(structure) => parse_structure(structure, &mut notes)?,
            None => Self::empty(),
        };
        if !info.compression.fits(info.shard_type) {
            return Err(unsupported(info.shard_type, info.compression));
        }
        if let Some(splits) = root.optional("splits").map_err(shape)? {
            for (name, at) in splits.entries().map_err(shape)? {
                if !SPLITS.contains(&name) {
                    let message = format!("expected one of {}, found {name:?}", SPLITS.join(", "));
                    let place = place.clone().json(at.path());
                    return Err(Error::new(Kind::Invalid, codes::UNKNOWN_SPLIT, place, message));
                }
                info.splits.push((name.to_owned(), ListPointer::parse(at, &mut notes)?));
            }
        }
        if let Value::Object(document) = value {
            info.document = document;
        }
        info.notes = notes.findings;
        Ok(info)
    }

    fn empty() -> Self {
        Self {
            document: Object::new(),
            schema: Arc::default(),
            compression: Compression::Gzip,
            shard_type: ShardType::Fb,
            examples_per_shard: DEFAULT_EXAMPLES_PER_SHARD,
            algorithms: vec![Algorithm::Sha256],
            splits: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The text of the document, spelled as the original spells it.
    pub fn text(&self) -> String {
        fields::text(&mut self.document.clone())
    }

    /// The pointer to the list of a split.
    pub fn split(&self, name: &str) -> Option<&ListPointer> {
        self.splits.iter().find(|(n, _)| n == name).map(|(_, pointer)| pointer)
    }

    /// Sets the pointer of a split; new splits come last.
    pub fn set_split(&mut self, name: &str, pointer: ListPointer) {
        let mut splits = fields::take_object(&mut self.document, "splits");
        let mut object = fields::take_object(&mut splits, name);
        pointer.write_all(&mut object);
        splits.insert(name, object);
        self.document.insert("splits", splits);
        match self.splits.iter_mut().find(|(n, _)| n == name) {
            Some((_, old)) => *old = pointer,
            None => self.splits.push((name.to_owned(), pointer)),
        }
    }

    /// The document of a new dataset without splits, all fields written out.
    pub fn create(
        schema: Arc<Schema>,
        shard_type: ShardType,
        compression: Compression,
        examples_per_shard: i64,
        algorithms: Vec<Algorithm>,
        metadata: &Object,
    ) -> Self {
        let mut document = Object::new();
        let text = |name: &str, default: &str| {
            metadata.get(name).cloned().unwrap_or_else(|| Value::from(default))
        };
        let custom =
            metadata.get("custom_metadata").cloned().unwrap_or_else(|| Object::new().into());
        let mut about = Object::new();
        about.insert("description", text("description", ""));
        about.insert("dataset_license", text("dataset_license", DEFAULT_LICENSE));
        about.insert("dataset_version", text("dataset_version", "1.0.0"));
        about.insert("download_from", text("download_from", ""));
        about.insert("custom_metadata", custom);
        about.insert("sedpack_version", text("sedpack_version", LATEST));
        document.insert("metadata", about);
        let attributes: Vec<Value> = schema
            .fields
            .iter()
            .map(|field| {
                let mut out = Object::new();
                out.insert("name", schema::attribute_name(field));
                out.insert("dtype", schema::attribute_dtype(&field.dtype));
                let shape: Vec<Value> = field.shape.iter().map(|n| Value::from(*n)).collect();
                out.insert("shape", Value::Array(shape));
                out.insert("custom_metadata", field.metadata.clone());
                Value::Object(out)
            })
            .collect();
        let mut structure = Object::new();
        structure.insert("saved_data_description", Value::Array(attributes));
        structure.insert("compression", compression.name());
        structure.insert("examples_per_shard", examples_per_shard);
        structure.insert("shard_file_type", shard_type.name());
        let names = algorithms.iter().map(|a| Value::from(a.name())).collect();
        structure.insert("hash_checksum_algorithms", Value::Array(names));
        document.insert("dataset_structure", structure);
        document.insert("splits", Object::new());
        Self {
            document,
            schema,
            compression,
            shard_type,
            examples_per_shard,
            algorithms,
            ..Self::empty()
        }
    }
}

/// The error for a pair of shard type and compression that the original does not implement.
pub fn unsupported(shard_type: ShardType, compression: Compression) -> Error {
    let fitting: Vec<_> = Compression::ALL
        .into_iter()
        .filter(|c| c.fits(shard_type))
        .map(|c| format!("{:?}", c.name()))
        .collect();
    let message = format!(
        "expected compression {} for {} shards, found {:?}",
        fitting.join(", "),
        shard_type.name(),
        compression.name()
    );
    let place = Place::file(ROOT_DOCUMENT).json("$.dataset_structure.compression");
    Error::new(Kind::Unsupported, codes::UNSUPPORTED_COMBINATION, place, message)
}

/// Checks a `sedpack_version` against the newest release that packstone implements.
fn check_version(text: &str, place: Place) -> Result<()> {
    let Ok(found) = Version::parse(text) else {
        let message = format!("expected a semantic version such as {LATEST}, found {text:?}");
        return Err(Error::new(Kind::Invalid, codes::VERSION_INVALID, place, message));
    };
    let newer = Version::parse(LATEST).is_ok_and(|latest| found.cmp_precedence(&latest).is_gt());
    if newer {
        let message = format!("expected sedpack version {LATEST} or older, found {text}");
        return Err(Error::new(Kind::Unsupported, codes::VERSION_TOO_NEW, place, message));
    }
    Ok(())
}

fn check_metadata(metadata: At<'_>, notes: &mut Notes) -> Result<()> {
    let place = notes.place.clone();
    let shape = |e| fields::shape_error(e, &place);
    notes.unknown(metadata, &METADATA).map_err(shape)?;
    for name in ["description", "dataset_license", "download_from"] {
        metadata.optional(name).map_err(shape)?.map(At::str).transpose().map_err(shape)?;
    }
    if let Some(at) = metadata.optional("dataset_version").map_err(shape)? {
        let text = at.str().map_err(shape)?;
        if Version::parse(text).is_err() {
            let message = format!("expected a semantic version, found {text:?}");
            notes.add(Severity::Warning, codes::LOOSE_VALUE, at, message);
        }
    }
    fields::custom_metadata(metadata, &place)?;
    if let Some(at) = metadata.optional("sedpack_version").map_err(shape)? {
        check_version(at.str().map_err(shape)?, place.clone().json(at.path()))?;
    }
    Ok(())
}

fn parse_structure(structure: At<'_>, notes: &mut Notes) -> Result<DatasetInfo> {
    let place = notes.place.clone();
    let shape = |e| fields::shape_error(e, &place);
    let mut info = DatasetInfo::empty();
    notes.unknown(structure, &STRUCTURE).map_err(shape)?;
    let one_of = |at: At<'_>, code, names: Vec<String>| {
        let found = at.value().to_string();
        let message = format!("expected one of {}, found {found}", names.join(", "));
        Error::new(Kind::Invalid, code, place.clone().json(at.path()), message)
    };
    if let Some(at) = structure.optional("compression").map_err(shape)? {
        let names = || Compression::ALL.iter().map(|c| format!("{:?}", c.name())).collect();
        info.compression = Compression::from_name(at.str().map_err(shape)?)
            .ok_or_else(|| one_of(at, codes::UNKNOWN_COMPRESSION, names()))?;
    }
    if let Some(at) = structure.optional("shard_file_type").map_err(shape)? {
        let names = || ShardType::ALL.iter().map(|t| t.name().to_owned()).collect();
        info.shard_type = ShardType::from_name(at.str().map_err(shape)?)
            .ok_or_else(|| one_of(at, codes::UNKNOWN_SHARD_TYPE, names()))?;
    }
    if let Some(at) = structure.optional("examples_per_shard").map_err(shape)? {
        info.examples_per_shard = notes.integer(at)?;
    }
    if let Some(at) = structure.optional("hash_checksum_algorithms").map_err(shape)? {
        let names = || Algorithm::ALL.iter().map(|a| a.name().to_owned()).collect();
        info.algorithms.clear();
        for item in at.items().map_err(shape)? {
            let algorithm = Algorithm::from_name(item.str().map_err(shape)?)
                .ok_or_else(|| one_of(item, codes::UNKNOWN_HASH, names()))?;
            info.algorithms.push(algorithm);
        }
    }
    let (mut attributes, mut names) = (Vec::new(), HashSet::new());
    if let Some(at) = structure.optional("saved_data_description").map_err(shape)? {
        for item in at.items().map_err(shape)? {
            notes.unknown(item, &ATTRIBUTE).map_err(shape)?;
            let name = item.field("name").and_then(At::str).map_err(shape)?;
            let dtype = item.field("dtype").and_then(At::str).map_err(shape)?;
            let mut dims = Vec::new();
            for dim in item.field("shape").and_then(At::items).map_err(shape)? {
                let size = notes.integer(dim)?;
                let positive = u64::try_from(size).ok().filter(|n| *n > 0);
                dims.push(positive.ok_or_else(|| shape(dim.unexpected("a dimension above zero")))?);
            }
            let metadata = fields::custom_metadata(item, &place)?;
            let at_place = place.clone().json(item.path());
            attributes.push(schema::field(name, dtype, dims, metadata, &at_place)?);
            if !names.insert(name) {
                let message = format!("expected each attribute name once, found {name:?} again");
                notes.add(Severity::Warning, codes::DUPLICATE_ATTRIBUTE, item, message);
            }
        }
    }
    info.schema = Arc::new(Schema::new(attributes));
    Ok(info)
}
