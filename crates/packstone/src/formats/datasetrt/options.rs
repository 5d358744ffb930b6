//! What readers and writers may be told, and what they take otherwise.

use packstone_container::json::{At, Number, Object, ShapeError, Value};
use packstone_io::Kind;

use super::codes;
use super::document::Algo;
use super::layout::DEFAULT_SHARD_BYTES;
use crate::error::{Error, Place, Result};
use crate::exec::default_threads;

/// How caches are read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpenOptions {
    /// Compare the copy of the metadata in each record that is read with `metadata.arrow`, as the specification has it.
    /// Otherwise the copy is not looked at; either way values come from `metadata.arrow`.
    pub compare: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { compare: true }
    }
}

impl OpenOptions {
    /// The same options, comparing copies or not.
    #[must_use]
    pub fn with_compare(mut self, compare: bool) -> Self {
        self.compare = compare;
        self
    }
}

/// Where the metadata of samples go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleMetadata {
    /// Each member is a metadata column: flat, and the same names and kinds in all samples, as the format has it.
    Columns,
    /// As JSON text in one column, which holds any.
    Json,
}

/// How a cache is written. Equal samples and options give equal bytes, whatever the number of threads.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WriterOptions {
    /// How payloads are stored.
    pub algo: Algo,
    /// What the manifest says about the compression: no measurement, finite and above zero, 1 without compression.
    pub ratio: f64,
    /// A record that would make a shard longer begins the next one; a single record may be longer.
    pub max_shard_bytes: u64,
    /// Manifest version: 3, or 2 for releases before 0.4.
    pub version: u64,
    /// Spell floats so that the original reads each as what it is, and opens the cache under `validate_cache`. Where the
    /// shortest digits will do, and that is nine times in ten, they are taken; else 17 to 20. Off, the bytes are those
    /// of the original, which misreads these floats.
    pub peer_exact_floats: bool,
    /// Take floats that are not finite. The original stores them too and cannot read such samples.
    pub non_finite: bool,
    /// What is put in front of the column names `cache_id`, `sample_id` and `weight`, of which the original cannot make
    /// a table; empty to leave them as they are. Without it they are refused.
    pub reserved_prefix: Option<String>,
    /// Fields that become metadata columns: scalars of numbers, booleans and text.
    pub columns: Vec<String>,
    /// Where the metadata of samples go; without it into columns where the first sample's are flat, and as JSON else.
    pub metadata: Option<SampleMetadata>,
    /// Go on with what a killed writer left, if it did the same.
    pub resume: bool,
    /// Leave a cache that was not finished for `resume` and `repair` when the writer is dropped, instead of removing it.
    pub keep_partial: bool,
    /// What the manifest calls the source, and what the id is made of; the name of the cache's folder where not said.
    pub source_name: Option<String>,
    /// Threads that compress; 0 does all work where samples are written.
    pub threads: usize,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            algo: Algo::None,
            ratio: 1.0,
            max_shard_bytes: DEFAULT_SHARD_BYTES,
            version: 3,
            peer_exact_floats: true,
            non_finite: false,
            reserved_prefix: None,
            columns: Vec::new(),
            metadata: None,
            resume: false,
            keep_partial: false,
            source_name: None,
            threads: default_threads(),
        }
    }
}

/// The options of a writer by name, with their meaning.
pub const NAMES: &[(&str, &str)] = &[
    ("compression", "none or lz4, which compresses each payload on its own"),
    ("ratio", "what the manifest says about the compression; 1.0 unless told"),
    ("max_shard_bytes", "a record that would make a shard longer begins the next one; 67108864"),
    ("format_version", "3, or 2 for releases of the original before 0.4"),
    (
        "peer_exact_floats",
        "spell floats so that the original reads them exactly (true), or with its own digits (false)",
    ),
    ("non_finite", "take NaN and infinities, which the original cannot read back (false)"),
    (
        "reserved_prefix",
        "put in front of columns named cache_id, sample_id or weight; empty leaves them; else refused",
    ),
    ("metadata", "names of scalar fields that become metadata columns"),
    (
        "sample_metadata",
        "columns: each member of the samples' metadata is one; json: all as text in one column",
    ),
    ("resume", "go on with what a killed writer of the same samples and options left (false)"),
];

impl WriterOptions {
    /// What a copy within the format is written with: it keeps what there is, also what the original cannot read.
    #[must_use]
    pub fn of_copies() -> Self {
        Self { reserved_prefix: Some(String::new()), non_finite: true, ..Self::default() }
    }

    /// The options that `options` ask for, with `self` for what they leave open.
    ///
    /// # Errors
    /// `option_invalid`.
    pub fn with(mut self, options: &Object) -> Result<Self> {
        let value = Value::Object(options.clone());
        for (name, _) in options.iter() {
            if !NAMES.iter().any(|(known, _)| name.as_str() == Some(known)) {
                let known: Vec<_> = NAMES.iter().map(|(known, _)| *known).collect();
                return Err(invalid(format!(
                    "expected an option of {}, found {name}",
                    known.join(", ")
                )));
            }
        }
        self.read(At::root(&value)).map_err(|e| invalid(e.to_string()))?;
        self.check()?;
        Ok(self)
    }

    fn read(&mut self, at: At<'_>) -> Result<(), ShapeError> {
        if let Some(at) = at.optional("compression")? {
            let name = at.str()?.to_ascii_lowercase();
            let algo = if name.is_empty() { Some(Algo::None) } else { Algo::from_name(&name) };
            self.algo = algo.ok_or_else(|| at.unexpected("compression none or lz4"))?;
        }
        if let Some(at) = at.optional("ratio")? {
            self.ratio = at.number()?.to_f64();
        }
        if let Some(at) = at.optional("max_shard_bytes")? {
            self.max_shard_bytes = at.u64()?;
        }
        if let Some(at) = at.optional("format_version")? {
            self.version = at.u64()?;
        }
        for (name, flag) in [
            ("peer_exact_floats", &mut self.peer_exact_floats),
            ("non_finite", &mut self.non_finite),
            ("resume", &mut self.resume),
        ] {
            if let Some(at) = at.optional(name)? {
                *flag = at.bool()?;
            }
        }
        if let Some(at) = at.optional("reserved_prefix")? {
            self.reserved_prefix = Some(at.str()?.to_owned());
        }
        if let Some(at) = at.optional("metadata")? {
            let names = at.items()?.map(|name| name.str().map(str::to_owned));
            self.columns = names.collect::<Result<_, _>>()?;
        }
        if let Some(at) = at.optional("sample_metadata")? {
            self.metadata = match at.str()? {
                "columns" => Some(SampleMetadata::Columns),
                "json" => Some(SampleMetadata::Json),
                _ => return Err(at.unexpected("columns or json")),
            };
        }
        Ok(())
    }

    /// Checks what no writer could follow.
    ///
    /// # Errors
    /// `option_invalid`.
    pub fn check(&self) -> Result<()> {
        if self.max_shard_bytes == 0 {
            return Err(invalid("expected max_shard_bytes of at least 1, found 0".to_owned()));
        }
        if !(self.ratio.is_finite() && self.ratio > 0.0) {
            return Err(invalid(format!("expected a ratio above zero, found {}", self.ratio)));
        }
        if self.algo == Algo::None && self.ratio != 1.0 {
            let found = self.ratio;
            let message = format!("expected a ratio of 1.0 without compression, found {found}");
            return Err(invalid(message));
        }
        if !super::layout::VERSIONS.contains(&self.version) {
            let message = format!("expected format version 2 or 3, found {}", self.version);
            return Err(invalid(message));
        }
        Ok(())
    }

    /// The ratio as manifests spell it.
    pub fn ratio_number(&self) -> Number {
        Number::from_f64(self.ratio).unwrap_or_else(|| Number::from(1))
    }

    /// The same options with other threads.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// What must be equal for one writer to go on with what another left.
    pub fn fingerprint(&self) -> Object {
        let mut out = Object::new();
        out.insert("compression", self.algo.name());
        out.insert("ratio", self.ratio_number());
        out.insert("max_shard_bytes", self.max_shard_bytes);
        out.insert("format_version", self.version);
        out.insert("peer_exact_floats", self.peer_exact_floats);
        out
    }
}

/// The error for an option that cannot be followed.
pub fn invalid(message: String) -> Error {
    Error::new(Kind::Invalid, codes::OPTION_INVALID, Place::default(), message)
}

#[cfg(test)]
mod tests {
    use packstone_container::json;

    use super::*;

    fn with(options: Value) -> Result<WriterOptions, String> {
        let Value::Object(options) = options else { return Err(String::new()) };
        WriterOptions::default().with(&options).map_err(|e| e.to_string())
    }

    #[test]
    fn defaults_are_those_of_the_original() {
        let options = with(json!({})).unwrap();
        assert_eq!((options.algo, options.max_shard_bytes), (Algo::None, 67_108_864));
        assert_eq!((options.ratio_number().text(), options.version), ("1.0", 3));
    }

    #[test]
    fn every_option_is_followed() {
        let options = with(json!({
            "compression": "lz4", "ratio": 2, "max_shard_bytes": 1, "format_version": 2,
            "peer_exact_floats": false, "non_finite": true, "reserved_prefix": "x_",
            "metadata": ["a", "b.c"], "sample_metadata": "json", "resume": true,
        }))
        .unwrap();
        for (name, algo) in [("LZ4", Algo::Lz4), ("None", Algo::None), ("", Algo::None)] {
            assert_eq!(with(json!({ "compression": name })).unwrap().algo, algo, "{name}");
        }
        assert_eq!((options.ratio_number().text(), options.version), ("2.0", 2));
        assert_eq!(options.columns, ["a", "b.c"]);
        assert_eq!(options.metadata, Some(SampleMetadata::Json));
        assert!(options.non_finite && options.resume && !options.peer_exact_floats);
        assert_eq!(options.reserved_prefix.as_deref(), Some("x_"));
    }

    #[test]
    fn what_no_writer_can_follow_is_refused() {
        for (options, named) in [
            (json!({ "max_shard_bytes": 0 }), "at least 1"),
            (json!({ "max_shard_bytes": -1 }), "found -1"),
            (json!({ "compression": "zstd" }), "none or lz4"),
            (json!({ "compression": "lz4", "ratio": 0.0 }), "above zero"),
            (json!({ "compression": "lz4", "ratio": -1 }), "above zero"),
            (json!({ "ratio": 2.0 }), "without compression"),
            (json!({ "format_version": 4 }), "2 or 3"),
            (json!({ "metadata": "a" }), "an array"),
            (json!({ "sample_metadata": "none" }), "columns or json"),
            (json!({ "shards": 1 }), "found shards"),
        ] {
            let message = with(options).unwrap_err();
            assert!(
                message.contains(named) && message.contains("option_invalid"),
                "{named}: {message}"
            );
        }
    }
}
