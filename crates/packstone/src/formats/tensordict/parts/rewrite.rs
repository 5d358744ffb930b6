//! The document of a node that is to be written: anew, or as it was read with what has changed since.
//!
//! A node that was read keeps its document: unknown entries, the order, spellings, and what it says of version, class,
//! device and names. Entries of keys, batch sizes and values follow the node. To change anything else, take the document
//! away.

use std::collections::{HashMap, HashSet};

use packstone_container::json::{self, FloatStyle, Key, Number, Object, ReadOptions, Value};

use super::super::document;
use super::super::layout::STACK_PICKLE;
use super::leaf::{Entry, LeafEntry, classify, sizes};
use super::names::shown;
use super::node::{FieldValue, Node, NonTensorStack, StackValues, TensorDict};
use crate::error::Place;

/// The document of a node; `None` for tensors.
pub fn of(node: &Node) -> Option<Object> {
    let fresh = document::of(node)?;
    let Some(old) = node.document() else { return Some(python(fresh)) };
    let old = old.as_ref().clone();
    Some(match node {
        Node::TensorDict(node) => mapping(node, old, &fresh),
        Node::NonTensorStack(node) => stack(node, old),
        Node::NonTensor(node) => match &node.value {
            FieldValue::Json(value) => with(old, "data", value),
            _ => old,
        },
        Node::TensorClass(node) => node.fields.iter().fold(old, |old, (name, value)| match value {
            FieldValue::Json(value) => with(old, name, value),
            _ => old,
        }),
        _ => old,
    })
}

fn with(mut document: Object, name: &str, value: &Value) -> Object {
    if document.get(name) != Some(value) {
        document.insert(name, value.clone());
    }
    document
}

/// Entries that say the same stay as they are, entries of keys that are gone go, new ones come at the end.
fn mapping(node: &TensorDict, old: Object, fresh: &Object) -> Object {
    let fresh: HashMap<&str, &Value> =
        fresh.iter().filter_map(|(key, value)| Some((key.as_str()?, value))).collect();
    let keys: HashSet<&str> = node.entries.iter().map(|(key, _)| key.as_str()).collect();
    let wanted =
        |key: &Key| fresh.get(shown(key).as_str()).filter(|_| keys.contains(shown(key).as_str()));
    let mut written: HashSet<String> = HashSet::new();
    let mut members: Vec<(Key, Value)> = Vec::new();
    for (key, value) in old {
        let is_entry = !matches!(classify(&value), Entry::Other);
        match wanted(&key).filter(|_| is_entry) {
            Some(entry) => {
                written.insert(shown(&key));
                members.push((key, entry_like(value, entry)));
            }
            None if is_entry => {}
            None if key == *"shape" => {
                let same = sizes(&value, &Place::default()).is_ok_and(|s| s == node.batch_size);
                members.push((key, if same { value } else { node.batch_size.as_slice().into() }));
            }
            None => members.push((key, value)),
        }
    }
    for (key, _) in node.entries.iter().filter(|(key, _)| !written.contains(key)) {
        if let Some(entry) = fresh.get(key.as_str()) {
            members.push((key.as_str().into(), (*entry).clone()));
        }
    }
    members.into_iter().collect()
}

/// The old entry of a key where it says what the new one says; else the new one with the old label of the device.
fn entry_like(old: Value, fresh: &Value) -> Value {
    let read = |value: &Value| match classify(value) {
        Entry::Leaf(entry) => LeafEntry::parse(entry, &Place::default()).ok().map(Some),
        Entry::Collection => Some(None),
        Entry::Other => None,
    };
    if read(&old).is_some_and(|said| Some(said) == read(fresh)) {
        return old;
    }
    let device = old.as_object().and_then(|old| old.get("device")).cloned();
    let mut entry = fresh.clone();
    if let (Some(device), Some(entry)) = (device, entry.as_object_mut())
        && entry.contains_key("device")
    {
        entry.insert("device", device);
    }
    entry
}

fn stack(node: &NonTensorStack, old: Object) -> Object {
    match &node.values {
        StackValues::Json(values) => match old.get("data").and_then(Value::as_array) {
            Some(same) if same == values.as_slice() => old,
            _ => with(old, "data", &Value::Array(values.clone())),
        },
        StackValues::Pickled(_) => with(old, "data", &Value::from(STACK_PICKLE)),
        StackValues::Members(_) | StackValues::Faulty(_) => old,
    }
}

/// The document with numbers as Python spells them; those of a document that was read have been spelled before.
fn python(document: Object) -> Object {
    document.into_iter().map(|(key, value)| (key, python_value(value))).collect()
}

/// The value with numbers as Python spells them.
pub fn python_value(value: Value) -> Value {
    match value {
        Value::Number(number) => python_number(&number),
        Value::Array(items) => items.into_iter().map(python_value).collect(),
        Value::Object(object) => Value::Object(python(object)),
        other => other,
    }
}

fn python_number(number: &Number) -> Value {
    if number.is_integer() {
        let zero = number.text() == "-0";
        return if zero { Value::from(0) } else { Value::Number(number.clone()) };
    }
    match Number::from_f64_in(number.to_f64(), FloatStyle::Python) {
        Some(number) => Value::Number(number),
        None if number.is_standard() => {
            // A decimal beyond the doubles.
            let token: &[u8] =
                if number.text().starts_with('-') { b"-Infinity" } else { b"Infinity" };
            let read = json::read(token, &ReadOptions::default().with_nan(true));
            read.map_or_else(|_| Value::Number(number.clone()), |document| document.value)
        }
        None => Value::Number(number.clone()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use packstone_container::json::Style;
    use packstone_io::Buf;

    use super::super::node::{Bytes, Leaf};
    use super::*;
    use crate::model::DType;

    fn read(text: &str) -> Value {
        json::read(text.as_bytes(), &ReadOptions::default().with_nan(true)).unwrap().value
    }

    fn leaf(shape: &[u64]) -> Node {
        let data = Bytes::Given(Buf::default());
        Node::Leaf(Leaf { dtype: DType::Int16, shape: shape.to_vec(), data })
    }

    fn rewritten(old: &str, batch: &[u64], entries: Vec<(String, Node)>) -> String {
        let mut node = TensorDict::new(batch.to_vec(), entries);
        node.document = read(old).as_object().cloned().map(Arc::new);
        json::write(&Value::Object(of(&Node::TensorDict(node)).unwrap()), &Style::PYTHON)
    }

    const OLD: &str = r#"{"_type": "<class 'x.Y'>", "a": {"shape": [2.0, 1], "odd": 1, "dtype": "torch.int16", "device": "cuda:0"}, "note": [1.50], "sub": {"type": "Own"}, "shape": [2], "device": "None"}"#;

    #[test]
    fn what_says_the_same_stays_to_the_letter() {
        let old = OLD.replace("2.0", "2");
        let sub = Node::TensorDict(TensorDict::new(vec![2], Vec::new()));
        let entries = vec![("a".to_owned(), leaf(&[2, 1])), ("sub".to_owned(), sub)];
        assert_eq!(rewritten(&old, &[2], entries), old);
    }

    #[test]
    fn what_changed_follows_the_node() {
        let entries = vec![("a".to_owned(), leaf(&[3, 1])), ("new".to_owned(), leaf(&[3]))];
        assert_eq!(
            rewritten(OLD, &[3], entries),
            "{\"_type\": \"<class 'x.Y'>\", \"a\": {\"device\": \"cuda:0\", \"shape\": [3, 1], \"dtype\": \"torch.int16\", \
             \"is_nested\": false}, \"note\": [1.50], \"shape\": [3], \"device\": \"None\", \"new\": {\"device\": \"cpu\", \
             \"shape\": [3], \"dtype\": \"torch.int16\", \"is_nested\": false}}"
        );
    }

    #[test]
    fn new_numbers_are_spelled_as_python_spells_them() {
        let text = r#"[1e0, 1.00, 1e16, 0.0000001, -0, -0.0, 1e400, -1e400, NaN, Infinity, 123456789012345678901234567890]"#;
        let value = python_value(read(text));
        assert_eq!(
            json::write(&value, &Style::PYTHON),
            "[1.0, 1.0, 1e+16, 1e-07, 0, -0.0, Infinity, -Infinity, NaN, Infinity, 123456789012345678901234567890]"
        );
    }
}
