//! Which samples a loader loads, told from control documents alone.
//!
//! ```text
//! format id · collection · samples · shards · schema · what the format records, where it does
//! first, middle, last shard: path, first sample, rows                                              ──▶ XXH3-128
//! ```
//!
//! Costs the same however many shards there are. It tells another dataset, another version of a dataset and another
//! collection from the one that a state was taken of. It does not notice bytes that were changed in place: checksums do.

use packstone_container::digest::{Algorithm, digest_hex};
use packstone_container::json::{Object, Value};

use super::order::cut;
use crate::error::Result;
use crate::format::{Collection, Dataset};
use crate::model::canonical;

/// Names that take more bytes are cut; the digest has them whole.
const NAME: usize = 96;

/// What is loaded, as a state remembers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// The format's id.
    pub format: String,
    /// The collection.
    pub collection: String,
    /// Its samples.
    pub samples: u64,
    /// A digest of all that is known, in hex.
    pub digest: String,
}

impl Fingerprint {
    /// That of a collection of a dataset.
    ///
    /// # Errors
    /// Those of [`Collection::shards`].
    pub fn of(dataset: &dyn Dataset, collection: &dyn Collection) -> Result<Self> {
        let format = dataset.info().format;
        let mut about = Object::new();
        about.insert("format", format);
        about.insert("collection", collection.name());
        about.insert("samples", collection.len());
        about.insert("shards", collection.shard_count());
        about.insert("schema", collection.schema().to_json());
        about.insert("recorded", collection.recorded());
        let mut seen = Vec::new();
        if let Some(last) = collection.len().checked_sub(1) {
            for sample in [0, last / 2, last] {
                let Some(shard) = collection.shards(sample).next().transpose()? else { continue };
                let mut about = Object::new();
                about.insert("path", shard.path.to_string());
                about.insert("first", shard.first);
                about.insert("rows", shard.rows);
                seen.push(Value::Object(about));
            }
        }
        about.insert("seen", Value::Array(seen));
        Ok(Self::digested(format, collection.name(), collection.len(), &about))
    }

    /// That of several collections that are loaded as one, in this order.
    #[must_use]
    pub fn joined(parts: &[Self]) -> Self {
        let names: Vec<&str> = parts.iter().map(|part| part.collection.as_str()).collect();
        let samples = parts.iter().fold(0u64, |sum, part| sum.saturating_add(part.samples));
        let parts = parts.iter().map(|part| Value::Object(part.to_json())).collect();
        let about = Object::from_iter([("parts", Value::Array(parts))]);
        Self::digested("several", &names.join("+"), samples, &about)
    }

    fn digested(format: &str, collection: &str, samples: u64, about: &Object) -> Self {
        let digest = digest_hex(Algorithm::Xxh128, canonical::object(about).as_bytes());
        let (format, collection) = (format.to_owned(), cut(collection, NAME).to_owned());
        Self { format, collection, samples, digest }
    }

    /// As an object: format, collection, samples, digest.
    #[must_use]
    pub fn to_json(&self) -> Object {
        let mut out = Object::new();
        out.insert("format", self.format.as_str());
        out.insert("collection", self.collection.as_str());
        out.insert("samples", self.samples);
        out.insert("digest", self.digest.as_str());
        out
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { format, collection, samples, digest } = self;
        write!(f, "{collection:?} of {format} with {samples} samples (digest {})", cut(digest, 8))
    }
}
