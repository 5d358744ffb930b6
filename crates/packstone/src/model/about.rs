//! What is said about the fields of one sample, where a format says it sample by sample.

use packstone_container::json::{Object, Value};

/// The member of a sample's metadata that says it: `{"x": {"axes": [...], "metadata": {...}}}`, by the names of fields.
pub const ABOUT_FIELDS: &str = "packstone.fields";

/// A sample's metadata without what is said about its fields, and that; `None` where nothing is.
///
/// Where the sample's own metadata had a member of that name, it is given back in its place.
pub fn about_fields(metadata: &Object) -> Option<(Object, Object)> {
    let Some(Value::Object(about)) = metadata.get(ABOUT_FIELDS) else { return None };
    let (mut rest, mut about) = (metadata.clone(), about.clone());
    match about.remove(OWN) {
        Some(own) => rest.insert(ABOUT_FIELDS, own),
        None => rest.remove(ABOUT_FIELDS),
    };
    Some((rest, about))
}

/// Puts together what [`about_fields`] takes apart.
pub fn with_about_fields(mut metadata: Object, mut about: Object) -> Object {
    if let Some(own) = metadata.remove(ABOUT_FIELDS) {
        about.insert(OWN, own);
    }
    if !about.is_empty() {
        metadata.insert(ABOUT_FIELDS, about);
    }
    metadata
}

/// Where the sample's own member of that name is kept: no field has this name.
const OWN: &str = "";

#[cfg(test)]
mod tests {
    use packstone_container::json;

    use super::*;

    #[test]
    fn comes_apart_and_together_whatever_names_there_are() {
        let object = |value: Value| value.as_object().unwrap().clone();
        let about = object(json!({ "x": { "axes": [] } }));
        for own in [json!({}), json!({ "a": 1 }), json!({ "packstone.fields": { "x": 7 }, "b": 2 })]
        {
            let own = object(own);
            let (rest, said) =
                about_fields(&with_about_fields(own.clone(), about.clone())).unwrap();
            assert_eq!(said, about);
            assert!(json::python_eq(&Value::Object(rest), &Value::Object(own.clone())));
            let again = with_about_fields(own.clone(), Object::new());
            let rest = about_fields(&again).map_or(again, |(rest, _)| rest);
            assert!(json::python_eq(&Value::Object(rest), &Value::Object(own)));
        }
        assert!(about_fields(&object(json!({ "packstone.fields": 3 }))).is_none());
    }
}
