//! A tree as people see it: classes, batch sizes, types and shapes, values.

use packstone_container::json::{Object, Value};

use super::node::{Bytes, FieldFiles, FieldValue, Node, StackValues};
use crate::model::Outline;

/// The outline of a node under its name.
pub fn outline(name: &str, node: &Node) -> Outline {
    let mut facts = Object::new();
    let kind = match node {
        Node::Leaf(leaf) => {
            facts.insert("shape", leaf.shape.as_slice());
            fault(&leaf.data, &mut facts);
            leaf.dtype.to_string()
        }
        Node::NestedTensor(nested) => {
            facts.insert("parts", nested.extent.0);
            facts.insert("dimensions", nested.extent.1);
            fault(&nested.sizes, &mut facts);
            format!("nested {}", nested.dtype)
        }
        Node::Broken(fault) => {
            facts.insert("error", fault.error().to_string());
            "broken".to_owned()
        }
        other => {
            collection(other, &mut facts);
            other.class().map(|class| class.name().to_owned()).unwrap_or_default()
        }
    };
    let mut parts: Vec<Outline> =
        node.children().into_iter().map(|(name, child)| outline(&name, child)).collect();
    if let Node::TensorClass(class) = node {
        parts.extend(class.fields.iter().map(|(name, found)| {
            let mut facts = Object::new();
            value(found, &class.files, &mut facts);
            Outline { name: name.clone(), kind: "field".to_owned(), facts, parts: Vec::new() }
        }));
    }
    Outline { name: name.to_owned(), kind, facts, parts }
}

fn fault(bytes: &Bytes, facts: &mut Object) {
    if let Bytes::Faulty(fault) = bytes {
        facts.insert("error", fault.error().to_string());
    }
}

fn collection(node: &Node, facts: &mut Object) {
    facts.insert("batch_size", node.batch_size());
    if let Some(device) = node.device().filter(|device| *device != "cpu") {
        facts.insert("device", device);
    }
    match node {
        Node::TensorDict(found) => {
            if let Some(names) = &found.names {
                let names = names.iter().map(|name| Value::from(name.as_deref()));
                facts.insert("names", names.collect::<Vec<_>>());
            }
        }
        Node::NonTensor(found) => value(&found.value, &found.files, facts),
        Node::NonTensorStack(stack) => match &stack.values {
            StackValues::Json(values) => drop(facts.insert("values", Value::Array(values.clone()))),
            StackValues::Pickled(file) => drop(facts.insert("pickle", file.path())),
            StackValues::Faulty(fault) => drop(facts.insert("error", fault.error().to_string())),
            StackValues::Members(_) => {}
        },
        Node::LazyStack(stack) => {
            facts.insert("stack_dim", stack.stack_dim);
            if let Some(name) = &stack.stack_dim_name {
                facts.insert("stack_dim_name", name.as_str());
            }
        }
        Node::SubTensorDict(sub) => drop(facts.insert("index", sub.index.to_json())),
        Node::LazyView(view) => {
            facts.insert("operation", view.op.name());
            facts.insert("arguments", view.op.arguments());
        }
        _ => {}
    }
}

fn value(value: &FieldValue, files: &FieldFiles, facts: &mut Object) {
    match value {
        FieldValue::Json(value) => drop(facts.insert("value", value.clone())),
        FieldValue::Container(class) => drop(facts.insert("class", class.name())),
        FieldValue::Pickled => {
            facts.insert("pickle", files.pickle.as_ref().map(|file| file.path()));
        }
        FieldValue::Faulty(fault) => drop(facts.insert("error", fault.error().to_string())),
    }
}
