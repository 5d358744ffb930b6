//! `meta.json` of every kind of node: reading without loss, spelling as the library spells.
//!
//! ```text
//! TensorDict     one entry a key, shape, device, _type, _format_version, _class, _names where a dim has one
//!   leaf         device, shape, dtype, is_nested          collection: type
//! LazyStack      _type, _format_version, _class, stack_dim, stack_dim_name
//! SubTensorDict  _type, _format_version, _class, index
//! LazyView       shape, device, _type, custom_op, inv_op, custom_op_kwargs, inv_op_kwargs, _format_version, _class
//! NonTensorStack _type, _format_version, _class, stack_dim, device, data                      without spaces
//! NonTensor      _type, data, _metadata, _is_non_tensor                                       data not if pickled
//! TensorClass    _type, fields
//! ```
//!
//! The spelling is that of Python's `json` with its defaults: bare `NaN` and infinities, everything outside ASCII
//! escaped, no line end. Releases up to 0.14 wrote without spaces and in UTF-8; [`style_of`] tells them apart.

use packstone_container::Limits;
use packstone_container::json::{
    self, JsonErrorKind, NonFinite, NoteKind, Object, ReadOptions, Style, Value,
};
use packstone_io::Kind;

use super::codes;
use super::layout::{STACK_PICKLE, VERSION};
use super::parts::class::Class;
use super::parts::node::{
    FieldValue, LazyStack, LazyView, Node, NonTensor, NonTensorStack, StackValues, SubTensorDict,
    TensorClass, TensorDict,
};
use super::schema;
use crate::error::{Error, Place, Result};
use crate::model::{Finding, Severity};

/// Python's `json` without spaces, as the values of a NonTensorStack are written.
pub const TIGHT: Style = Style { item_separator: ",", key_separator: ":", ..Style::PYTHON };

/// Reads a document, an object; names that occur twice are noted.
///
/// # Errors
/// `malformed_json` with the byte, `malformed_meta` where it is no object, `too_deep`.
pub fn read(
    bytes: &[u8],
    place: &Place,
    limits: &Limits,
    notes: &mut Vec<Finding>,
) -> Result<Object> {
    let options =
        ReadOptions::default().with_limits(*limits).with_nan(true).with_any_encoding(true);
    let document = json::read(bytes, &options).map_err(|error| {
        let code = match error.kind {
            JsonErrorKind::TooDeep { .. } => codes::TOO_DEEP,
            _ => codes::MALFORMED_JSON,
        };
        let kind = match error.kind {
            JsonErrorKind::TooDeep { .. } | JsonErrorKind::TooLarge { .. } => Kind::Limit,
            _ => Kind::Corrupt,
        };
        Error::new(kind, code, place.clone().at(error.offset as u64), error.to_string())
    })?;
    for note in document.notes.into_iter().filter(|note| note.kind == NoteKind::DuplicateKey) {
        let place = place.clone().json(note.path).at(note.offset as u64);
        let message = "expected each key once, found it again; the last one counts";
        notes.push(Finding::new(Severity::Info, codes::DUPLICATE_KEY, place, message));
    }
    match document.value {
        Value::Object(object) => Ok(object),
        other => {
            let message = format!("expected an object, found {}", other.kind());
            Err(Error::new(Kind::Invalid, codes::MALFORMED_META, place.clone().json("$"), message))
        }
    }
}

/// The style in which `bytes` spell `value`; Python's, where it is none that the library writes.
pub fn style_of(bytes: &[u8], value: &Value) -> Style {
    let orjson = Style { non_finite: NonFinite::Null, ..Style::COMPACT };
    let styles = [Style::PYTHON, TIGHT, orjson];
    styles
        .into_iter()
        .find(|style| json::write(value, style).as_bytes() == bytes)
        .unwrap_or(Style::PYTHON)
}

/// The document of a node in the words and the order of the library; `None` for tensors.
///
/// Only what the node itself says: entries that packstone does not know are in [`Node::document`].
pub fn of(node: &Node) -> Option<Object> {
    Some(match node {
        Node::TensorDict(node) => tensordict(node),
        Node::NonTensor(node) => non_tensor(node),
        Node::NonTensorStack(node) => non_tensor_stack(node),
        Node::LazyStack(node) => lazy_stack(node),
        Node::SubTensorDict(node) => sub_tensordict(node),
        Node::LazyView(node) => lazy_view(node),
        Node::TensorClass(node) => tensorclass(node),
        Node::Leaf(_) | Node::NestedTensor(_) | Node::Broken(_) => return None,
    })
}

/// The text of a node's document as the library spells it.
pub fn text(node: &Node, document: &Object) -> String {
    let style = if matches!(node, Node::NonTensorStack(_)) { &TIGHT } else { &Style::PYTHON };
    json::write(&Value::Object(document.clone()), style)
}

/// The entry of a node in the document of its parent.
pub fn entry(node: &Node) -> Option<Object> {
    let mut out = Object::new();
    let (shape, dtype, is_nested) = match node {
        Node::Leaf(leaf) => (leaf.shape.clone(), &leaf.dtype, false),
        Node::NestedTensor(nested) => (vec![nested.extent.0, nested.extent.1], &nested.dtype, true),
        other => {
            out.insert("type", other.class()?.name());
            return Some(out);
        }
    };
    out.insert("device", "cpu");
    out.insert("shape", shape.as_slice());
    out.insert("dtype", schema::torch_name(dtype).as_ref());
    out.insert("is_nested", is_nested);
    Some(out)
}

fn tensordict(node: &TensorDict) -> Object {
    let entries =
        node.entries.iter().filter_map(|(key, node)| Some((key, Value::Object(entry(node)?))));
    let mut members: Vec<(json::Key, Value)> =
        entries.map(|(key, entry)| (json::Key::from(key), entry)).collect();
    let device = node.device.as_deref().unwrap_or("None");
    members.push(("shape".into(), node.batch_size.as_slice().into()));
    members.push(("device".into(), device.into()));
    members.push(("_type".into(), node.class.type_text().into()));
    // The library writes these before any key of their name, which therefore wins.
    let own =
        [("_format_version", Value::from(VERSION)), ("_class", node.class.to_string().into())];
    let names = node.names.as_ref().map(|names| {
        let names: Vec<Value> = names.iter().map(|name| Value::from(name.as_deref())).collect();
        ("_names", Value::Array(names))
    });
    for (name, value) in own.into_iter().chain(names) {
        if !node.entries.iter().any(|(key, _)| key == name) {
            members.push((name.into(), value));
        }
    }
    members.into_iter().collect()
}

fn class_members(out: &mut Object, class: &Class) {
    out.insert("_format_version", VERSION);
    out.insert("_class", class.to_string());
}

fn lazy_stack(node: &LazyStack) -> Object {
    let mut out = Object::new();
    out.insert("_type", node.class.type_text());
    class_members(&mut out, &node.class);
    out.insert("stack_dim", node.stack_dim);
    out.insert("stack_dim_name", node.stack_dim_name.as_deref());
    out
}

fn sub_tensordict(node: &SubTensorDict) -> Object {
    let mut out = Object::new();
    out.insert("_type", node.class.type_text());
    class_members(&mut out, &node.class);
    out.insert("index", node.index.to_json());
    out
}

fn lazy_view(node: &LazyView) -> Object {
    let (inverse, inverse_arguments) = node.op.inverse(node.source.batch_size());
    let mut out = Object::new();
    out.insert("shape", node.batch_size.as_slice());
    out.insert("device", node.source.device().unwrap_or("None"));
    out.insert("_type", node.class.type_text());
    out.insert("custom_op", node.op.name());
    out.insert("inv_op", inverse);
    out.insert("custom_op_kwargs", node.op.arguments());
    out.insert("inv_op_kwargs", inverse_arguments);
    class_members(&mut out, &node.class);
    out
}

fn non_tensor_stack(node: &NonTensorStack) -> Object {
    let mut out = Object::new();
    out.insert("_type", node.class.type_text());
    class_members(&mut out, &node.class);
    out.insert("stack_dim", node.stack_dim);
    out.insert("device", node.device.as_deref());
    match &node.values {
        StackValues::Json(values) => drop(out.insert("data", Value::Array(values.clone()))),
        StackValues::Pickled(_) => drop(out.insert("data", STACK_PICKLE)),
        StackValues::Members(_) | StackValues::Faulty(_) => {}
    }
    out
}

fn non_tensor(node: &NonTensor) -> Object {
    let mut out = Object::new();
    out.insert("_type", node.class.type_text());
    if let FieldValue::Json(value) = &node.value {
        out.insert("data", value.clone());
    }
    out.insert("_metadata", Value::Null);
    out.insert("_is_non_tensor", true);
    out
}

fn tensorclass(node: &TensorClass) -> Object {
    let mut out = Object::new();
    out.insert("_type", node.class.type_text());
    for (name, value) in &node.fields {
        if let FieldValue::Json(value) = value {
            out.insert(name.as_str(), value.clone());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use packstone_io::Buf;

    use super::super::parts::node::{Bytes, Leaf, NestedTensor};
    use super::*;
    use crate::model::DType;

    fn parse(text: &str) -> Result<(Object, Vec<Finding>)> {
        let mut notes = Vec::new();
        let place = Place::file("meta.json");
        let object = read(text.as_bytes(), &place, &Limits::default(), &mut notes)?;
        Ok((object, notes))
    }

    #[test]
    fn documents_are_objects_and_errors_name_the_byte() {
        for (text, code, offset) in [
            ("", codes::MALFORMED_JSON, Some(0)),
            ("{\"a\": 1", codes::MALFORMED_JSON, Some(7)),
            ("{} x", codes::MALFORMED_JSON, Some(3)),
            ("[]", codes::MALFORMED_META, None),
            ("\"a\"", codes::MALFORMED_META, None),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!((error.code(), error.place().offset), (code, offset), "{text}");
        }
        let deep = format!("{{\"a\": {}{}}}", "[".repeat(20_000), "]".repeat(20_000));
        assert_eq!(parse(&deep).unwrap_err().code(), codes::TOO_DEEP);
    }

    #[test]
    fn the_last_of_two_values_counts_and_is_noted() {
        let (object, notes) = parse("{\"a\": 1, \"b\": NaN, \"a\": 2}").unwrap();
        assert_eq!(object.get("a").and_then(Value::as_u64), Some(2));
        assert_eq!(notes.len(), 1);
        assert_eq!(notes[0].code, codes::DUPLICATE_KEY);
        assert_eq!(notes[0].place.json_path.as_deref(), Some("$.a"));
    }

    #[test]
    fn a_document_is_written_as_the_library_writes_it() {
        let leaf = |shape: &[u64]| {
            Node::Leaf(Leaf {
                dtype: DType::Float32,
                shape: shape.to_vec(),
                data: Bytes::Given(Buf::default()),
            })
        };
        let nested = Node::NestedTensor(NestedTensor {
            dtype: DType::BFloat16,
            extent: (2, 3),
            sizes: Bytes::Given(Buf::default()),
            data: Bytes::Given(Buf::default()),
        });
        let mut root = TensorDict::new(
            vec![3],
            vec![
                ("é".to_owned(), leaf(&[3, 4])),
                ("nt".to_owned(), nested),
                ("next".to_owned(), Node::TensorDict(TensorDict::new(vec![3], Vec::new()))),
            ],
        );
        root.names = Some(vec![Some("time".to_owned())]);
        let node = Node::TensorDict(root);
        let document = of(&node).unwrap();
        assert_eq!(
            text(&node, &document),
            "{\"\\u00e9\": {\"device\": \"cpu\", \"shape\": [3, 4], \"dtype\": \"torch.float32\", \"is_nested\": false}, \
             \"nt\": {\"device\": \"cpu\", \"shape\": [2, 3], \"dtype\": \"torch.bfloat16\", \"is_nested\": true}, \
             \"next\": {\"type\": \"TensorDict\"}, \"shape\": [3], \"device\": \"cpu\", \
             \"_type\": \"<class 'tensordict._td.TensorDict'>\", \"_format_version\": 1, \
             \"_class\": \"tensordict:TensorDict\", \"_names\": [\"time\"]}"
        );
    }

    #[test]
    fn styles_are_told_apart() {
        let (object, _) = parse("{\"é\": [1.0, NaN]}").unwrap();
        let value = Value::Object(object);
        let style = |text: &str| style_of(text.as_bytes(), &value);
        assert_eq!(style("{\"\\u00e9\": [1.0, NaN]}"), Style::PYTHON);
        assert_eq!(style("{\"\\u00e9\":[1.0,NaN]}"), TIGHT);
        assert_eq!(style("{\"é\":[1.0,null]}").non_finite, NonFinite::Null);
        assert_eq!(style("{ }"), Style::PYTHON);
    }
}
