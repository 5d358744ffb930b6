//! Reading a manifest by the original's rules of what is accepted.

use packstone_container::Limits;
use packstone_container::json::{self, At, NoteKind, Object, ReadOptions, ShapeError, Value};
use packstone_io::{Kind, RelPath};

use super::super::codes;
use super::super::layout::VERSIONS;
use super::super::schema::{ColumnSpec, ValueKind};
use super::original;
use super::{Algo, Contents, Manifest, ManifestV2, ManifestV3, ShardEntry};
use crate::error::{Error, Place, Result};
use crate::model::{Finding, Severity};

pub(super) fn manifest(bytes: &[u8], place: &Place, limits: &Limits) -> Result<Manifest> {
    let mut notes = Vec::new();
    let value = read(bytes, place, limits, &mut notes)?;
    let mut reader = Reader { place, notes };
    let root = At::root(&value);
    let version = reader.version(root)?;
    let cache_id = match version {
        3 => Some(reader.number(reader.field(root, "cache_id")?)?),
        _ => None,
    };
    let mut contents = reader.contents(root)?;
    if version == 2
        && let Some(at) = root.optional("cache_id").map_err(|e| reader.shape(&e))?
    {
        let message = "expected no cache_id in a manifest of version 2, found one that is ignored";
        reader.note(Severity::Warning, codes::V2_CACHE_ID, at, message.to_owned());
    }
    contents.notes = reader.notes;
    if let Value::Object(document) = value {
        contents.document = document;
    }
    Ok(match cache_id {
        Some(cache_id) => Manifest::V3(ManifestV3 { cache_id, contents }),
        None => Manifest::V2(ManifestV2 { contents }),
    })
}

fn read(bytes: &[u8], place: &Place, limits: &Limits, notes: &mut Vec<Finding>) -> Result<Value> {
    let not_json = |place: Place, message: String| {
        Error::new(Kind::Corrupt, codes::MANIFEST_NOT_JSON, place, message)
    };
    let options = ReadOptions::default().with_limits(*limits);
    let document = json::read(bytes, &options)
        .map_err(|e| not_json(place.clone().at(e.offset as u64), e.to_string()))?;
    // It is UTF-8, or it had not been read.
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    if let Some((at, why)) = original::refuses(text, original::MANIFEST) {
        return Err(not_json(place.clone().at(at as u64), why));
    }
    let Value::Object(members) = &document.value else {
        let message = format!("expected an object, found {} at line 1", document.value.kind());
        return Err(not_json(place.clone().at(0), message));
    };
    let top: Vec<String> = members
        .keys()
        .filter_map(|key| At::root(&document.value).optional(key.as_str()?).ok()?)
        .map(At::path)
        .collect();
    for note in &document.notes {
        let at = place.clone().json(&note.path).at(note.offset as u64);
        let message = "expected each member once, found it again";
        // The last one counts inside of members, as for the original; in the manifest itself none does.
        if note.kind == NoteKind::DuplicateKey && top.contains(&note.path) {
            return Err(Error::new(Kind::Invalid, codes::MANIFEST_DUPLICATE_KEY, at, message));
        }
        notes.push(Finding::new(Severity::Warning, codes::MANIFEST_DUPLICATE_KEY, at, message));
    }
    if document.notes_left_off > 0 {
        let message = "expected each member once, found hundreds again";
        let place = place.clone();
        return Err(Error::new(Kind::Invalid, codes::MANIFEST_DUPLICATE_KEY, place, message));
    }
    Ok(document.value)
}

struct Reader<'a> {
    place: &'a Place,
    notes: Vec<Finding>,
}

impl Reader<'_> {
    fn shape(&self, error: &ShapeError) -> Error {
        let message = match error {
            ShapeError::Missing { .. } => "expected this member, found none".to_owned(),
            ShapeError::Unexpected { expected, found, .. } => {
                format!("expected {expected}, found {found}")
            }
            other => other.to_string(),
        };
        self.invalid(error.path().to_owned(), message)
    }

    fn invalid(&self, path: String, message: String) -> Error {
        let place = self.place.clone().json(path);
        Error::new(Kind::Invalid, codes::MANIFEST_INVALID, place, message)
    }

    fn note(&mut self, severity: Severity, code: &'static str, at: At<'_>, message: String) {
        let place = self.place.clone().json(at.path());
        self.notes.push(Finding::new(severity, code, place, message));
    }

    fn field<'v>(&self, at: At<'v>, name: &str) -> Result<At<'v>> {
        at.field(name).map_err(|e| self.shape(&e))
    }

    fn text<'v>(&self, at: At<'v>, name: &str) -> Result<&'v str> {
        self.field(at, name)?.str().map_err(|e| self.shape(&e))
    }

    /// A count, in digits alone: the original takes `-0` for a float.
    fn number(&self, at: At<'_>) -> Result<u64> {
        let digits = at.value().as_number().filter(|n| !n.text().starts_with('-'));
        let number = digits.and_then(json::Number::as_u64);
        number.ok_or_else(|| self.shape(&at.unexpected("a non-negative 64-bit integer")))
    }

    fn version(&self, root: At<'_>) -> Result<u64> {
        let at = self.field(root, "format_version")?;
        let version = self.number(at)?;
        if VERSIONS.contains(&version) {
            return Ok(version);
        }
        let message = format!("expected format version 2 or 3, found {version}");
        let place = self.place.clone().json(at.path());
        Err(Error::new(Kind::Unsupported, codes::MANIFEST_VERSION, place, message))
    }

    fn contents(&mut self, root: At<'_>) -> Result<Contents> {
        let source_name = self.text(root, "source_name")?.to_owned();
        let samples = self.number(self.field(root, "sample_count")?)?;
        let mut columns: Vec<ColumnSpec> = Vec::new();
        let mut names = std::collections::HashSet::new();
        let listed = self.field(root, "metadata_schema")?.items().map_err(|e| self.shape(&e))?;
        for at in listed {
            let column = self.column(at)?;
            if !names.insert(column.name.clone()) {
                let message = format!("expected each column once, found {:?} again", column.name);
                return Err(self.invalid(at.path(), message));
            }
            columns.push(column);
        }
        let metadata_sha256 = self.sha256(root, "metadata_sha256")?;
        let index_sha256 = self.sha256(root, "index_sha256")?;
        let listed = self.field(root, "shards")?.items().map_err(|e| self.shape(&e))?;
        let shards = listed.map(|at| self.shard(at)).collect::<Result<_>>()?;
        let (document, notes) = (Object::new(), Vec::new());
        Ok(Contents {
            source_name,
            samples,
            columns,
            metadata_sha256,
            index_sha256,
            shards,
            document,
            notes,
        })
    }

    fn column(&self, at: At<'_>) -> Result<ColumnSpec> {
        let (name, kind) = (self.text(at, "name")?, self.text(at, "kind")?);
        match ValueKind::from_name(kind) {
            Some(kind) => Ok(ColumnSpec::new(name, kind)),
            None => {
                let message = format!("expected kind bool, int, float or string, found {kind:?}");
                let place = self.place.clone().json(self.field(at, "kind")?.path());
                let code = codes::MANIFEST_UNKNOWN_KIND;
                Err(Error::new(Kind::Invalid, code, place, message))
            }
        }
    }

    fn sha256(&mut self, at: At<'_>, name: &str) -> Result<String> {
        let (at, text) = (self.field(at, name)?, self.text(at, name)?);
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let message = "expected 64 hexadecimal digits, found other text".to_owned();
            return Err(self.invalid(at.path(), message));
        }
        if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            let message = "expected lower-case digits, found others: the original compares letters";
            let code = codes::MANIFEST_SHA_UPPERCASE;
            self.note(Severity::Warning, code, at, message.to_owned());
        }
        Ok(text.to_owned())
    }

    fn shard(&mut self, at: At<'_>) -> Result<ShardEntry> {
        let name = self.shard_name(self.field(at, "name")?)?;
        let raw_bytes = self.number(self.field(at, "uncompressed_byte_len")?)?;
        let bytes = self.number(self.field(at, "byte_len")?)?;
        let compression = self.field(at, "compression")?;
        let algo_at = self.field(compression, "algo")?;
        let algo = algo_at.str().map_err(|e| self.shape(&e))?;
        let algo = Algo::from_name(algo).ok_or_else(|| {
            let message = format!("expected compression none or lz4, found {algo:?}");
            let place = self.place.clone().json(algo_at.path());
            Error::new(Kind::Invalid, codes::MANIFEST_UNKNOWN_ALGO, place, message)
        })?;
        let ratio_at = self.field(compression, "ratio")?;
        let ratio = ratio_at.number().map_err(|e| self.shape(&e))?.clone();
        if !ratio.to_f64().is_finite() {
            return Err(self.shape(&ratio_at.unexpected("a number in the range of doubles")));
        }
        let sha256 = self.sha256(at, "sha256")?;
        Ok(ShardEntry { name, raw_bytes, bytes, algo, ratio, sha256 })
    }

    fn shard_name(&self, at: At<'_>) -> Result<RelPath> {
        let text = at.str().map_err(|e| self.shape(&e))?;
        let why = match RelPath::new(text) {
            Ok(path) if !path.is_root() => return Ok(path),
            Ok(_) => "no name".to_owned(),
            Err(why) => why.to_string(),
        };
        let message = format!("expected a path below the folder of shards, found {why}: {text:?}");
        let place = self.place.clone().json(at.path());
        Err(Error::new(Kind::Denied, codes::PATH_ESCAPE, place, message))
    }
}
