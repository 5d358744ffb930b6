//! What a target format cannot hold, said field by field before anything is written.

use packstone_container::json::{Object, Value};

/// One thing that the target does not hold as the source has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The field, or empty for the dataset.
    pub field: String,
    /// What becomes of it.
    pub what: String,
    /// True where the target carries it along elsewhere, so that the way back restores it.
    pub carried: bool,
}

/// Something that a copy within a format keeps as it is, and that the format's original library cannot read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The collection.
    pub collection: String,
    /// The field or the metadata column.
    pub field: String,
    /// The first sample that has it; `None` where all have.
    pub sample: Option<u64>,
    /// Why.
    pub what: String,
}

impl Unreadable {
    /// For people, on one line.
    pub fn text(&self) -> String {
        let Self { collection, field, sample, what } = self;
        match sample {
            None => format!("{collection}, {field}: {what}"),
            Some(sample) => format!("{collection}, {field}, from sample {sample} on: {what}"),
        }
    }
}

/// The report of a conversion, made before it starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fidelity {
    /// What differs; empty where the target holds everything.
    pub losses: Vec<Loss>,
    /// What is kept and is of no use to the original library. Nothing of it is lost.
    pub unreadable: Vec<Unreadable>,
}

impl Fidelity {
    /// Adds a loss.
    pub fn add(&mut self, field: impl Into<String>, what: impl Into<String>, carried: bool) {
        self.losses.push(Loss { field: field.into(), what: what.into(), carried });
    }

    /// True where nothing is lost for good.
    pub fn is_lossless(&self) -> bool {
        self.losses.iter().all(|loss| loss.carried)
    }

    /// What the original cannot read, for JSON output.
    pub fn unreadable_json(&self) -> Value {
        let rows = self.unreadable.iter().map(|kept| {
            let mut row = Object::new();
            row.insert("collection", Value::from(kept.collection.as_str()));
            row.insert("field", Value::from(kept.field.as_str()));
            row.insert("sample", kept.sample.map_or(Value::Null, Value::from));
            row.insert("what", Value::from(kept.what.as_str()));
            Value::Object(row)
        });
        rows.collect::<Vec<_>>().into()
    }

    /// The losses, for JSON output.
    pub fn to_json(&self) -> Value {
        let rows = self.losses.iter().map(|loss| {
            let mut row = Object::new();
            row.insert("field", Value::from(loss.field.as_str()));
            row.insert("what", Value::from(loss.what.as_str()));
            row.insert("carried", Value::Bool(loss.carried));
            Value::Object(row)
        });
        rows.collect::<Vec<_>>().into()
    }
}
