//! Fields that are no tensors: in a node's document, pickled beside it, or container classes named without pickle.
//!
//! ```text
//! meta.json         the fields that JSON holds
//! other.pickle      a pickled mapping of the others
//! json_types.json   {"types": {"data": "dict"}, "pickle_sha256": …}   used instead of exactly this pickle
//! ```

use packstone_container::Limits;
use packstone_container::digest::{Algorithm, digest_hex};
use packstone_container::json::{self, Object, ReadOptions, Value};
use packstone_container::pickle::Class as Container;
use packstone_io::Kind;

use super::super::codes;
use super::node::{Fault, FieldFiles, FieldValue};
use crate::error::{Place, Result};

/// The fields of a node.
#[derive(Debug)]
pub struct Fields {
    /// The fields of the document, without `_type`.
    pub document: Vec<(String, Value)>,
    /// Container classes, where `json_types.json` stands for the pickle.
    pub types: Option<Vec<(String, Container)>>,
    /// Why `json_types.json` cannot be used.
    pub fault: Option<Fault>,
    /// True where there is a pickle and nothing stands for it.
    pub pickled: bool,
    /// True where `json_types.json` was written for another pickle.
    pub mismatch: bool,
    /// The files.
    pub files: FieldFiles,
}

impl Fields {
    /// Reads the fields of a document and of the files beside it.
    pub fn read(document: &Object, files: FieldFiles, limits: &Limits) -> Self {
        let own = document.iter().filter(|(key, _)| **key != *"_type");
        let document = own.map(|(key, value)| (super::names::shown(key), value.clone())).collect();
        let mut fields = Self {
            document,
            types: None,
            fault: None,
            pickled: files.pickle.is_some(),
            mismatch: false,
            files,
        };
        if let (Some(pickle), Some(types)) = (&fields.files.pickle, &fields.files.types) {
            let place = Place::file(types.path());
            let read = || -> Result<(Object, String)> {
                let bytes = types.open()?;
                Ok((
                    types_document(&bytes, &place, limits)?,
                    digest_hex(Algorithm::Sha256, &pickle.open()?),
                ))
            };
            match read() {
                Ok((types, sum))
                    if types.get("pickle_sha256").and_then(Value::as_str) == Some(&sum) =>
                {
                    match named_types(&types, &place) {
                        Ok(types) => {
                            fields.types = Some(types);
                            fields.pickled = false;
                        }
                        Err(fault) => fields.fault = Some(fault),
                    }
                }
                Ok(_) => fields.mismatch = true,
                Err(error) => fields.fault = Some(error.into()),
            }
        }
        fields
    }

    /// The value of a field: that of the pickle or its stand-in where there is one, else that of the document.
    pub fn value(&self, name: &str) -> Option<FieldValue> {
        let named = |types: &Vec<(String, Container)>| {
            types.iter().find(|(field, _)| field == name).map(|(_, class)| *class)
        };
        if let Some(fault) = &self.fault {
            return Some(FieldValue::Faulty(fault.clone()));
        }
        if let Some(class) = self.types.as_ref().and_then(named) {
            return Some(FieldValue::Container(class));
        }
        self.json(name).cloned().map(FieldValue::Json)
    }

    /// The value of a field in the document.
    pub fn json(&self, name: &str) -> Option<&Value> {
        self.document.iter().find(|(field, _)| field == name).map(|(_, value)| value)
    }
}

fn malformed(place: &Place, message: String) -> Fault {
    Fault::new(Kind::Invalid, codes::MALFORMED_JSON_TYPES, place.clone(), message)
}

fn types_document(bytes: &[u8], place: &Place, limits: &Limits) -> Result<Object> {
    let options = ReadOptions::default().with_limits(*limits).with_any_encoding(true);
    let value =
        json::read(bytes, &options).map_err(|e| malformed(place, e.to_string()).error())?.value;
    match value {
        Value::Object(object) => Ok(object),
        other => {
            Err(malformed(place, format!("expected an object, found {}", other.kind())).error())
        }
    }
}

fn named_types(document: &Object, place: &Place) -> Result<Vec<(String, Container)>, Fault> {
    let types = document.get("types").and_then(Value::as_object);
    let types = types.ok_or_else(|| malformed(place, "expected an object of types".to_owned()))?;
    let named = types.iter().map(|(field, class)| {
        let found = class.as_str().and_then(Container::from_name);
        let wrong = || {
            let known = Container::ALL.map(Container::name).join(", ");
            let place = place.clone().json(format!("$.types.{field}"));
            malformed(&place, format!("expected one of {known}, found {class}"))
        };
        Ok((super::names::shown(field), found.ok_or_else(wrong)?))
    });
    named.collect()
}
