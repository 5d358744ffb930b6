//! How to compare, and what was found.

use packstone_container::Limits;
use packstone_container::json::{Object, Value};

use crate::exec::default_threads;
use crate::ops::digest::Level;

/// How to compare.
#[derive(Clone, Debug)]
pub struct DiffOptions {
    /// Collections to compare; empty for all of both.
    pub collections: Vec<String>,
    /// One collection of each side that are compared, and no others, whatever they are called.
    pub pair: Option<(String, String)>,
    /// Whether sample metadata counts.
    pub level: Level,
    /// Compare collections as bags: by the digests that ignore order, without saying which samples differ.
    pub ignore_order: bool,
    /// Differences that are described; the rest is counted.
    pub limit: usize,
    /// Threads that decode each side; 0 decodes where it is called.
    pub threads: usize,
    /// How much a shard may ask for.
    pub limits: Limits,
}

impl Default for DiffOptions {
    fn default() -> Self {
        Self {
            collections: Vec::new(),
            pair: None,
            level: Level::Full,
            ignore_order: false,
            limit: 20,
            threads: default_threads(),
            limits: Limits::default(),
        }
    }
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The collection.
    pub collection: String,
    /// The sample; `None` where the collections differ as such.
    pub index: Option<u64>,
    /// The field; `None` where it is about all of the sample or its metadata.
    pub field: Option<String>,
    /// What differs: `expected X, found Y`.
    pub what: String,
}

impl Difference {
    /// For JSON output.
    pub fn to_json(&self) -> Value {
        let mut out = Object::new();
        out.insert("type", Value::from("difference"));
        out.insert("collection", Value::from(self.collection.as_str()));
        if let Some(index) = self.index {
            out.insert("index", Value::from(index));
        }
        if let Some(field) = &self.field {
            out.insert("field", Value::from(field.as_str()));
        }
        out.insert("what", Value::from(self.what.as_str()));
        Value::Object(out)
    }
}

/// What a comparison found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiffReport {
    /// True without any difference.
    pub equal: bool,
    /// The first differences.
    pub differences: Vec<Difference>,
    /// Differences beyond those.
    pub more: u64,
    /// Samples that were compared.
    pub samples: u64,
}

impl DiffReport {
    /// For JSON output: the summary; differences have [lines of their own](Difference::to_json).
    pub fn to_json(&self) -> Value {
        let mut out = Object::new();
        out.insert("type", Value::from("diff"));
        out.insert("equal", Value::Bool(self.equal));
        out.insert(
            "differences",
            Value::from((self.differences.len() as u64).saturating_add(self.more)),
        );
        out.insert("shown", Value::from(self.differences.len()));
        out.insert("samples", Value::from(self.samples));
        Value::Object(out)
    }
}
