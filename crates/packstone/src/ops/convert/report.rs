//! How to convert, and what a conversion did.

use packstone_container::Limits;
use packstone_container::json::{Object, Value};

use crate::exec::default_threads;
use crate::format::Written;
use crate::model::Fidelity;
use crate::ops::digest::{CollectionDigest, Level};

/// How to convert.
#[derive(Clone, Debug)]
pub struct ConvertOptions {
    /// Collections to convert, in this order; empty for all, in the order of the source.
    pub collections: Vec<String>,
    /// The target format's own options, see [`Format::write_options`](crate::format::Format::write_options).
    pub options: Object,
    /// Refuse where the target cannot hold everything.
    pub strict: bool,
    /// Threads that decode; 0 decodes where it is called.
    pub threads: usize,
    /// Read the result back and compare content digests.
    pub proof: bool,
    /// How much a shard may ask for.
    pub limits: Limits,
}

impl Default for ConvertOptions {
    fn default() -> Self {
        Self {
            collections: Vec::new(),
            options: Object::new(),
            strict: false,
            threads: default_threads(),
            proof: false,
            limits: Limits::default(),
        }
    }
}

/// The digests of a collection before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// Of the source.
    pub source: CollectionDigest,
    /// Of the result.
    pub result: CollectionDigest,
    /// The level at which both are equal; `None` where the fidelity report tells of fields that change, so that
    /// equality is not to be expected.
    pub level: Option<Level>,
}

/// What a conversion did.
#[derive(Clone, Debug, Default)]
pub struct ConvertReport {
    /// What the target does not hold as the source has it.
    pub fidelity: Fidelity,
    /// What the writer published.
    pub written: Written,
    /// Samples that were read.
    pub samples: u64,
    /// Wall time, proof included.
    pub seconds: f64,
    /// One a collection, where a proof was asked for.
    pub digests: Vec<Proof>,
}

impl ConvertReport {
    /// For JSON output.
    pub fn to_json(&self) -> Value {
        let mut written = Object::new();
        written.insert("samples", Value::from(self.written.samples));
        written.insert("shards", Value::from(self.written.shards));
        written.insert("bytes", Value::from(self.written.bytes));
        let proofs = self.digests.iter().map(|proof| {
            let mut out = Object::new();
            out.insert("collection", Value::from(proof.source.name.as_str()));
            let level = proof.level.map(|level| match level {
                Level::Values => "values",
                Level::Full => "full",
            });
            out.insert("equal", level.map_or(Value::Null, Value::from));
            out.insert("source", proof.source.to_json());
            out.insert("result", proof.result.to_json());
            Value::Object(out)
        });
        let mut out = Object::new();
        out.insert("type", Value::from("convert"));
        out.insert("samples", Value::from(self.samples));
        out.insert("written", Value::Object(written));
        out.insert("losses", self.fidelity.to_json());
        out.insert("unreadable", self.fidelity.unreadable_json());
        out.insert("proofs", proofs.collect::<Vec<_>>());
        out.insert("seconds", Value::from(self.seconds));
        Value::Object(out)
    }
}
