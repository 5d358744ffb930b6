//! What a writer may be told, and what it takes otherwise.

use packstone_container::digest::Algorithm;
use packstone_container::json::{At, Object, ShapeError, Value};
use packstone_io::Kind;
use semver::Version;

use super::codes;
use super::document::unsupported;
use super::layout::{DEFAULT_EXAMPLES_PER_SHARD, LATEST};
use super::schema::{Compression, ShardType};
use crate::error::{Error, Place, Result};
use crate::exec::default_threads;

/// How a new dataset stores its shards.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Structure {
    /// The type of shards.
    pub shard_type: ShardType,
    /// Their compression.
    pub compression: Compression,
    /// Examples in a full shard, at least 1.
    pub examples_per_shard: i64,
    /// The checksums of every file.
    pub algorithms: Vec<Algorithm>,
    /// The version that readers must have.
    pub sedpack_version: String,
}

impl Default for Structure {
    /// The defaults of the original.
    fn default() -> Self {
        Self {
            shard_type: ShardType::Fb,
            compression: Compression::Gzip,
            examples_per_shard: DEFAULT_EXAMPLES_PER_SHARD,
            algorithms: vec![Algorithm::Sha256],
            sedpack_version: LATEST.to_owned(),
        }
    }
}

/// The options of a writer by name, with their meaning.
pub const NAMES: &[(&str, &str)] = &[
    ("shard_type", "fb, npz or tfrec"),
    ("compression", "\"\" (or none), BZ2, GZIP, LZMA, LZ4, ZIP, ZLIB or ZSTD"),
    ("hashes", "checksum algorithms of every file"),
    ("examples_per_shard", "examples in a full shard"),
    ("sedpack_version", "the version that readers must have; 0.1.4 has the same layout as 0.2.0"),
    ("seed", "makes folder and shard names from this number, so that equal runs give equal trees"),
];

impl Structure {
    /// The structure that `options` ask for, with `self` for what they leave open.
    ///
    /// # Errors
    /// `option_invalid`; `unsupported_combination`.
    pub fn with(mut self, options: &Object) -> Result<Self> {
        let value = Value::Object(options.clone());
        let at = At::root(&value);
        for (name, _) in options.iter() {
            if !NAMES.iter().any(|(known, _)| name.as_str() == Some(known)) {
                let known: Vec<_> = NAMES.iter().map(|(known, _)| *known).collect();
                return Err(invalid(format!(
                    "expected an option of {}, found {name}",
                    known.join(", ")
                )));
            }
        }
        self.read_numbers(at).map_err(|e| invalid(e.to_string()))?;
        self.read_names(at)?;
        if !self.compression.fits(self.shard_type) {
            return Err(unsupported(self.shard_type, self.compression));
        }
        if Version::parse(&self.sedpack_version).is_err() {
            let found = &self.sedpack_version;
            return Err(invalid(format!(
                "expected a semantic version as sedpack_version, found {found:?}"
            )));
        }
        Ok(self)
    }

    fn read_numbers(&mut self, at: At<'_>) -> Result<(), ShapeError> {
        if let Some(at) = at.optional("examples_per_shard")? {
            self.examples_per_shard = at.i64()?;
            if self.examples_per_shard < 1 {
                return Err(at.unexpected("at least 1 example"));
            }
        }
        if let Some(at) = at.optional("sedpack_version")? {
            self.sedpack_version = at.str()?.to_owned();
        }
        Ok(())
    }

    fn read_names(&mut self, at: At<'_>) -> Result<()> {
        let shape = |e: ShapeError| invalid(e.to_string());
        if let Some(at) = at.optional("shard_type").map_err(shape)? {
            let name = at.str().map_err(shape)?;
            self.shard_type =
                ShardType::from_name(&name.to_ascii_lowercase()).ok_or_else(|| {
                    invalid(format!("expected shard type fb, npz or tfrec, found {name:?}"))
                })?;
            // A compression that was not asked for follows the type.
            if !self.compression.fits(self.shard_type) {
                self.compression = match self.shard_type {
                    ShardType::Fb => Compression::Gzip,
                    ShardType::Npz | ShardType::Tfrec => Compression::None,
                };
            }
        }
        if let Some(at) = at.optional("compression").map_err(shape)? {
            let name = at.str().map_err(shape)?;
            let name = if name.eq_ignore_ascii_case("none") { "" } else { name };
            self.compression =
                Compression::from_name(&name.to_ascii_uppercase()).ok_or_else(|| {
                    let known: Vec<_> =
                        Compression::ALL.iter().map(|c| format!("{:?}", c.name())).collect();
                    invalid(format!("expected compression {}, found {name:?}", known.join(", ")))
                })?;
        }
        if let Some(at) = at.optional("hashes").map_err(shape)? {
            let names = at.items().map_err(shape)?.map(|item| item.str().map_err(shape));
            self.algorithms = names.map(|name| algorithm(name?)).collect::<Result<_>>()?;
        }
        Ok(())
    }
}

fn algorithm(name: &str) -> Result<Algorithm> {
    Algorithm::from_name(&name.to_ascii_lowercase()).ok_or_else(|| {
        let known: Vec<_> = Algorithm::ALL.iter().map(|a| a.name()).collect();
        invalid(format!("expected a hash of {}, found {name:?}", known.join(", ")))
    })
}

/// The error for an option that cannot be followed.
pub fn invalid(message: String) -> Error {
    Error::new(Kind::Invalid, codes::OPTION_INVALID, Place::default(), message)
}

/// How a filler works.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FillerOptions {
    /// Threads that encode, compress, hash and write shards; 0 does it where examples are written.
    pub threads: usize,
    /// Shards that may wait or be in work at once; bounds memory.
    pub window: usize,
    /// Names folders and shards by this number instead of by chance.
    pub seed: Option<u64>,
    /// Leaves finished shards for `repair` when the filler is dropped without `finish`, instead of removing them.
    pub keep_partial: bool,
    /// Ends a shard at any change of metadata, so that a copy keeps each example's own to the letter. The original, and the
    /// default, let examples without metadata, and equal numbers of another type, join the shard.
    pub exact_metadata: bool,
    /// How long to wait for another writer that is publishing.
    pub patience: std::time::Duration,
}

impl Default for FillerOptions {
    fn default() -> Self {
        let threads = default_threads();
        Self {
            threads,
            window: threads + 2,
            seed: None,
            keep_partial: false,
            exact_metadata: false,
            patience: super::parts::publish::PATIENCE,
        }
    }
}

impl FillerOptions {
    /// The same options with other threads, and the window that goes with them.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self.window = threads + 2;
        self
    }

    /// The same options with names from a number.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// The same options, leaving finished shards behind or not.
    #[must_use]
    pub fn with_keep_partial(mut self, keep: bool) -> Self {
        self.keep_partial = keep;
        self
    }
}

#[cfg(test)]
mod tests {
    use packstone_container::json;

    use super::*;

    fn with(options: Value) -> Result<Structure, String> {
        let Value::Object(options) = options else { return Err(String::new()) };
        Structure::default().with(&options).map_err(|e| e.code().to_owned() + " " + e.message())
    }

    #[test]
    fn the_compression_follows_the_type_unless_it_is_asked_for() {
        let plain = with(json!({ "shard_type": "npz" })).unwrap();
        assert_eq!((plain.shard_type, plain.compression), (ShardType::Npz, Compression::None));
        assert_eq!(with(json!({ "compression": "none" })).unwrap().compression, Compression::None);
        let refused = with(json!({ "shard_type": "npz", "compression": "LZ4" })).unwrap_err();
        assert!(refused.starts_with("sedpack/unsupported_combination"), "{refused}");
    }

    #[test]
    fn names_are_known_in_any_case() {
        let options =
            json!({ "shard_type": "FB", "compression": "zstd", "hashes": ["SHA256", "Md5"] });
        let known = with(options).unwrap();
        assert_eq!((known.shard_type, known.compression), (ShardType::Fb, Compression::Zstd));
        let names: Vec<_> = known.algorithms.iter().map(|algorithm| algorithm.name()).collect();
        assert_eq!(names, ["sha256", "md5"]);
        for none in ["None", "NONE", ""] {
            let none = with(json!({ "compression": none })).unwrap();
            assert_eq!(none.compression, Compression::None);
        }
    }

    #[test]
    fn what_no_writer_can_follow_is_refused() {
        for (options, named) in [
            (json!({ "examples_per_shard": 0 }), "at least 1 example"),
            (json!({ "examples_per_shard": -5 }), "at least 1 example"),
            (json!({ "hashes": ["sha2"] }), "found \"sha2\""),
            (json!({ "compression": "lz5" }), "found \"lz5\""),
            (json!({ "colour": 1 }), "found colour"),
            (json!({ "sedpack_version": "0.2" }), "found \"0.2\""),
        ] {
            let message = with(options).unwrap_err();
            assert!(
                message.starts_with("sedpack/option_invalid") && message.contains(named),
                "{message}"
            );
        }
    }
}
