//! `manifest.json`: strict reading, lossless keeping, exact writing.
//!
//! ```text
//! format_version   2 or 3
//! cache_id         version 3 only
//! source_name, sample_count
//! metadata_schema  [{name, kind}]
//! metadata_sha256, index_sha256
//! shards           [{name, uncompressed_byte_len, byte_len, compression {algo, ratio}, sha256}]
//! ```
//!
//! Two versions, two types, so that the rules of one never reach the other. Both keep the document as it was read:
//! members that packstone does not know survive an edit, at any depth, and so does the spelling of numbers. Known
//! difference: the original loses unknown members inside of the entries when it migrates, and rounds floats.

pub mod original;
mod parse;
mod text;

use packstone_container::Limits;
use packstone_container::json::{self, Number, Object, ReadOptions, Style, Value};
use packstone_io::RelPath;

use super::schema::ColumnSpec;
use crate::error::{Place, Result};
use crate::model::Finding;

/// How the payloads of a shard are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algo {
    /// As they are.
    #[default]
    None,
    /// Each as one LZ4 block behind its length.
    Lz4,
}

impl Algo {
    /// The name in manifests.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Lz4 => "lz4",
        }
    }

    /// By name, case-sensitive.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::None, Self::Lz4].into_iter().find(|algo| algo.name() == name)
    }
}

/// A shard as its manifest lists it; its place in the list is its number.
#[derive(Clone, Debug, PartialEq)]
pub struct ShardEntry {
    /// Its path below the folder of shards.
    pub name: RelPath,
    /// Bytes of all payloads before compression; nothing relies on it.
    pub raw_bytes: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// How payloads are stored.
    pub algo: Algo,
    /// What a writer was told about the compression; nothing relies on it.
    pub ratio: Number,
    /// SHA-256 of the file, 64 hexadecimal digits.
    pub sha256: String,
}

/// What manifests of both versions say.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents {
    /// What the source was called.
    pub source_name: String,
    /// Number of samples.
    pub samples: u64,
    /// The metadata columns.
    pub columns: Vec<ColumnSpec>,
    /// SHA-256 of the table of metadata, 64 hexadecimal digits.
    pub metadata_sha256: String,
    /// SHA-256 of the index, 64 hexadecimal digits.
    pub index_sha256: String,
    /// The shards.
    pub shards: Vec<ShardEntry>,
    /// The document as it was read.
    pub document: Object,
    /// What is unusual and no error.
    pub notes: Vec<Finding>,
}

/// A manifest of version 2: the cache is called by its position among those that are opened together.
#[derive(Clone, Debug, PartialEq)]
pub struct ManifestV2 {
    /// What it says.
    pub contents: Contents,
}

/// A manifest of version 3: the cache has an id of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct ManifestV3 {
    /// The id.
    pub cache_id: u64,
    /// What it says.
    pub contents: Contents,
}

/// True where a manifest can have this value, so many levels deep, and the original still reads the manifest.
pub fn holds(value: &Value, levels: usize) -> bool {
    let text = json::write(value, &Style::PYTHON);
    let nested = format!("{}{text}{}", "[".repeat(levels), "]".repeat(levels));
    json::read(text.as_bytes(), &ReadOptions::default()).is_ok()
        && original::refuses(&nested, original::MANIFEST).is_none()
}

/// A manifest.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Manifest {
    V2(ManifestV2),
    V3(ManifestV3),
}

impl Manifest {
    /// Reads a manifest; `place` is its file.
    ///
    /// # Errors
    /// `manifest_not_json`, `manifest_duplicate_key`, `manifest_version`, `manifest_invalid`, `manifest_unknown_kind`,
    /// `manifest_unknown_algo`, `path_escape`.
    pub fn parse(bytes: &[u8], place: &Place, limits: &Limits) -> Result<Self> {
        parse::manifest(bytes, place, limits)
    }

    /// The version.
    pub fn version(&self) -> u64 {
        match self {
            Self::V2(_) => 2,
            Self::V3(_) => 3,
        }
    }

    /// What it says.
    pub fn contents(&self) -> &Contents {
        match self {
            Self::V2(manifest) => &manifest.contents,
            Self::V3(manifest) => &manifest.contents,
        }
    }

    /// The id of the cache at this position among those that are opened together.
    pub fn cache_id(&self, position: u64) -> u64 {
        match self {
            Self::V2(_) => position,
            Self::V3(manifest) => manifest.cache_id,
        }
    }

    /// The text as the original writes it: its members first and in its order, unknown ones sorted by name behind them.
    pub fn text(&self) -> String {
        text::manifest(self)
    }
}

impl ManifestV2 {
    /// The same cache with an id of its own.
    #[must_use]
    pub fn migrated(self, cache_id: u64) -> ManifestV3 {
        let mut contents = self.contents;
        // What version 2 had under this name was nothing.
        contents.document.remove("cache_id");
        ManifestV3 { cache_id, contents }
    }
}

/// The members that a manifest has itself, in the order in which they are written.
pub(super) const KNOWN: [&str; 8] = [
    "format_version",
    "cache_id",
    "source_name",
    "sample_count",
    "metadata_schema",
    "metadata_sha256",
    "index_sha256",
    "shards",
];
