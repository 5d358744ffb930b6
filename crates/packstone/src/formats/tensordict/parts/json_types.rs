//! The files of fields that are container classes: a constant pickle, and the document that stands for it.
//!
//! ```text
//! other.pickle      pickle.dumps({"data": dict}), protocol 4
//! json_types.json   {"types": {"data": "dict"}, "pickle_sha256": "8ad0…"}
//! ```

use packstone_container::digest::{Algorithm, digest_hex};
use packstone_container::json::{self, Object, Style, Value};
use packstone_container::pickle::{Class, classes};

/// The pickle of these fields and the document that stands for it; `None` for thousands of fields.
pub fn files(fields: &[(&str, Class)]) -> Option<(Vec<u8>, String)> {
    let pickle = classes(fields)?;
    let named: Object = fields.iter().map(|(field, class)| (*field, class.name())).collect();
    let mut out = Object::new();
    out.insert("types", Value::Object(named));
    out.insert("pickle_sha256", digest_hex(Algorithm::Sha256, &pickle));
    Some((pickle, json::write(&Value::Object(out), &Style::PYTHON)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_names_the_pickle() {
        let (pickle, types) = files(&[("data", Class::Dict)]).unwrap();
        let sum = "8ad074815aa2d5068b9cc8e2839e8662e5fdfab908a4bec4214324cadc5bb6b9";
        assert_eq!(digest_hex(Algorithm::Sha256, &pickle), sum);
        assert_eq!(
            types,
            format!("{{\"types\": {{\"data\": \"dict\"}}, \"pickle_sha256\": \"{sum}\"}}")
        );
    }
}
