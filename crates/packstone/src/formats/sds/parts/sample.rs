//! Records as samples: what a batch of them is, and back.
//!
//! A field is a field. A sample's metadata are the record's, and where axes or fields say more than shapes do, that stands
//! in the member [`ABOUT_FIELDS`](crate::model::ABOUT_FIELDS). Axes called `dim_0`, `dim_1`, … with nothing else are those
//! of a field that came without any, and are left out.

use packstone_container::json::{At, Object};
use packstone_io::Kind;

use super::super::codes;
use super::axes::{Axis, parse_all};
use super::notes::Notes;
use super::record::RecordField;
use super::text::pythonic_object;
use crate::error::{Error, Place, Result};
use crate::model::{about_fields, with_about_fields};

const AXES: &str = "axes";
const METADATA: &str = "metadata";

/// The metadata of a sample.
pub fn metadata(record: Object, fields: &[(String, RecordField)]) -> Object {
    let mut about = Object::new();
    for (name, field) in fields {
        let mut said = Object::new();
        if !Axis::are_unnamed(&field.axes) {
            said.insert(AXES, field.axes.iter().map(Axis::to_value).collect::<Vec<_>>());
        }
        if !field.metadata.is_empty() {
            said.insert(METADATA, pythonic_object(&field.metadata));
        }
        if !said.is_empty() {
            about.insert(name.as_str(), said);
        }
    }
    with_about_fields(record, about)
}

/// What a sample's metadata say, taken apart again.
#[derive(Debug, Default)]
pub struct Said {
    /// The record's metadata.
    pub record: Object,
    about: Object,
}

impl Said {
    /// Takes the metadata of a sample apart.
    pub fn of(metadata: &Object) -> Self {
        let apart = about_fields(metadata);
        let (record, about) = apart.unwrap_or_else(|| (metadata.clone(), Object::new()));
        Self { record, about }
    }

    /// The axes and the metadata of a field.
    ///
    /// # Errors
    /// `record_invalid` where the axes are none.
    pub fn field(&self, name: &str, shape: &[u64]) -> Result<(Vec<Axis>, Object)> {
        let Some(said) = self.about.get(name) else {
            return Ok((Axis::unnamed(shape), Object::new()));
        };
        let at = At::root(said);
        let place = Place::default().field(name);
        let mut notes = Notes::silent(place.clone());
        let axes = at.optional(AXES).and_then(|axes| match axes {
            Some(axes) => parse_all(axes, &mut notes),
            None => Ok(Axis::unnamed(shape)),
        });
        let metadata = notes.metadata(at);
        axes.and_then(|axes| Ok((axes, metadata?))).map_err(|error| {
            let place = place.json(error.path());
            let message = super::text::said(&error);
            Error::new(Kind::Invalid, codes::RECORD_INVALID, place, message)
        })
    }
}

#[cfg(test)]
mod tests {
    use packstone_container::json;
    use packstone_container::json::Value;
    use packstone_io::Buf;

    use super::*;
    use crate::model::DType;

    fn field(axes: Vec<Axis>, metadata: Value) -> RecordField {
        let metadata = metadata.as_object().unwrap().clone();
        RecordField {
            dtype: DType::UInt8,
            shape: vec![2],
            data: Buf::from(vec![0; 2]),
            axes,
            metadata,
        }
    }

    #[test]
    fn what_is_said_about_fields_comes_apart_again() {
        let named = vec![Axis { role: Some("time".to_owned()), ..Axis::new("t", 2) }];
        let fields = [
            ("plain".to_owned(), field(Axis::unnamed(&[2]), json!({}))),
            ("axes".to_owned(), field(named.clone(), json!({}))),
            ("said".to_owned(), field(Axis::unnamed(&[2]), json!({ "unit": "V" }))),
        ];
        for own in [json!({ "a": 1 }), json!({ "packstone.fields": { "axes": 7 } }), json!({})] {
            let own = own.as_object().unwrap().clone();
            let made = metadata(own.clone(), &fields);
            let said = Said::of(&made);
            assert_eq!(said.record, own);
            assert_eq!(said.field("plain", &[2]).unwrap(), (Axis::unnamed(&[2]), Object::new()));
            assert_eq!(said.field("axes", &[2]).unwrap().0, named);
            let unit = said.field("said", &[2]).unwrap().1;
            assert_eq!(unit.get("unit").and_then(Value::as_str), Some("V"));
        }
        assert_eq!(metadata(Object::new(), &fields[..1]), Object::new());
    }
}
