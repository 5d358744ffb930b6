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

/// The report of a conversion, made before it starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fidelity {
    /// What differs; empty where the target holds everything.
    pub losses: Vec<Loss>,
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

    /// For JSON output.
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
