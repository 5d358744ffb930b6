//! Content digests kept in a file, to prove later that nothing changed: for formats that keep none themselves.
//!
//! ```text
//! {"packstone_digest": 1, "format": "tensordict", "collections": [{"collection": "data", "samples": 7, "values": "…", …}]}
//! ```

use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::json::{self, At, Object, ReadOptions, ShapeError, Value};
use packstone_io::Kind;

use super::digest::{CollectionDigest, DigestOptions, digest_metered};
use super::meter::Meter;
use crate::error::{Error, Place, Result};
use crate::exec::Progress;
use crate::format::Dataset;
use crate::model::{Finding, Severity};

/// Version of the document.
const VERSION: u64 = 1;

/// The digests of some collections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestRecord {
    /// The format that they were taken from; other formats with the same content have the same digests.
    pub format: String,
    /// One a collection.
    pub collections: Vec<CollectionDigest>,
}

impl DigestRecord {
    /// The document.
    pub fn to_json(&self) -> Value {
        let digests = self.collections.iter().map(|digest| {
            let mut line = Object::new();
            if let Value::Object(members) = digest.to_json() {
                members.iter().filter(|(name, _)| name.as_str() != Some("type")).for_each(
                    |(name, value)| {
                        line.insert(name.clone(), value.clone());
                    },
                );
            }
            Value::Object(line)
        });
        let mut out = Object::new();
        out.insert("packstone_digest", VERSION);
        out.insert("format", self.format.as_str());
        out.insert("collections", digests.collect::<Vec<_>>());
        Value::Object(out)
    }

    /// Reads a document.
    ///
    /// # Errors
    /// `ops/digest_record` where it is not one, or of another version.
    pub fn read(bytes: &[u8], limits: &Limits) -> Result<Self> {
        let refuse = |message: String| {
            Error::new(Kind::Invalid, "ops/digest_record", Place::default(), message)
        };
        let options = ReadOptions::default().with_limits(*limits);
        let document = json::read(bytes, &options).map_err(|e| refuse(e.to_string()))?;
        Self::parse(At::root(&document.value)).map_err(|e| refuse(e.to_string()))
    }

    fn parse(at: At<'_>) -> Result<Self, ShapeError> {
        let version = at.field("packstone_digest")?;
        if version.u64()? != VERSION {
            return Err(version.unexpected(format!("version {VERSION}")));
        }
        let collections = at.field("collections")?.items()?.map(|line| {
            let text = |name| Ok::<_, ShapeError>(line.field(name)?.str()?.to_owned());
            Ok(CollectionDigest {
                name: text("collection")?,
                samples: line.field("samples")?.u64()?,
                values: text("values")?,
                values_unordered: text("values_unordered")?,
                full: text("full")?,
                full_unordered: text("full_unordered")?,
            })
        });
        let collections = collections.collect::<Result<_, ShapeError>>()?;
        Ok(Self { format: at.field("format")?.str()?.to_owned(), collections })
    }

    /// What differs in `dataset` from what was recorded: nothing where all is as it was.
    ///
    /// # Errors
    /// `ops/cancelled`; faults of reading are findings.
    pub fn compare(
        &self,
        dataset: &dyn Dataset,
        options: &DigestOptions,
        progress: Option<&Arc<dyn Progress>>,
    ) -> Result<Vec<Finding>> {
        let total = self.collections.iter().fold(0u64, |sum, c| sum.saturating_add(c.samples));
        let mut meter = Meter::new(progress, total);
        let mut findings = Vec::new();
        let mut add = |message| {
            let (severity, place) = (Severity::Error, Place::default());
            findings.push(Finding { severity, code: "ops/digest_differs", place, message });
        };
        for recorded in &self.collections {
            let found = dataset
                .collection(&recorded.name)
                .and_then(|collection| digest_metered(collection, options, &mut meter));
            match found {
                Err(error) if error.kind() == Kind::Cancelled => return Err(error),
                Err(error) => add(format!("{:?} could not be digested: {error}", recorded.name)),
                Ok(found) if found == *recorded => {}
                Ok(found) => add(differing(recorded, &found)),
            }
        }
        let names = dataset.collections();
        let unknown = |name: &&String| self.collections.iter().all(|c| c.name != **name);
        for name in names.iter().filter(unknown) {
            add(format!("expected no collection {name:?}, found one"));
        }
        Ok(findings)
    }
}

fn differing(recorded: &CollectionDigest, found: &CollectionDigest) -> String {
    let name = &recorded.name;
    if recorded.samples != found.samples {
        return format!(
            "expected {} samples in {name:?}, found {}",
            recorded.samples, found.samples
        );
    }
    if recorded.values == found.values {
        return format!("expected the recorded metadata of samples in {name:?}, found others");
    }
    let order = match recorded.values_unordered == found.values_unordered {
        true => ": the same samples in another order",
        false => "",
    };
    format!("expected values digest {} of {name:?}, found {}{order}", recorded.values, found.values)
}
