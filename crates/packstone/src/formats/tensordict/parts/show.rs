//! Trees for people and programs: an outline of the nodes, and a line for each thing that they hold.

use packstone_container::Limits;
use packstone_container::digest::{Algorithm, digest_hex, hex};
use packstone_container::json::{Object, Value};
use packstone_container::pickle;

use super::leaves::{Content, Entry};
use super::node::{Leaf, Node};
use super::pickles::{Looked, look, to_json};
use crate::error::Result;
use crate::model::Outline;

/// The line of an entry for `dump --leaves`: with the SHA-256 of its bytes where it has any.
///
/// # Errors
/// Those of [`Entry::open`].
pub fn line(entry: &Entry<'_>, limits: &Limits) -> Result<Object> {
    let mut out = Object::new();
    let is_tensor = matches!(entry.content, Content::Tensor(_) | Content::Nested(_));
    out.insert("type", if is_tensor { "leaf" } else { "value" });
    out.insert("key", entry.key.iter().map(String::as_str).collect::<Vec<_>>());
    out.insert("node", if is_tensor { entry.holder } else { entry.word() });
    if let Some(dtype) = entry.dtype() {
        out.insert("dtype", dtype.name().as_ref());
    }
    if let Some(shape) = entry.shape() {
        out.insert("shape", shape.as_slice());
    }
    if let Content::Nested(nested) = entry.content {
        let parts = nested.open()?;
        let sizes = (0..parts.len()).filter_map(|part| parts.shape(part)).map(Value::from);
        out.insert("sizes", sizes.collect::<Vec<_>>());
        sum(&parts.data, &mut out);
        return Ok(out);
    }
    if let Some(value) = entry.value() {
        out.insert("value", value);
        return Ok(out);
    }
    let bytes = entry.open()?;
    if !is_tensor {
        describe_pickle(entry, &bytes, limits, &mut out);
    }
    sum(&bytes, &mut out);
    Ok(out)
}

fn sum(bytes: &[u8], out: &mut Object) {
    out.insert("nbytes", bytes.len() as u64);
    out.insert("sha256", digest_hex(Algorithm::Sha256, bytes));
}

/// What a pickle is, without running it: its plain value, or the names that it would have Python import.
fn describe_pickle(entry: &Entry<'_>, bytes: &[u8], limits: &Limits, out: &mut Object) {
    if let Some(file) = entry.file() {
        out.insert("pickle", file);
    }
    match look(bytes, limits) {
        Looked::Plain(value) => {
            // A pickle of fields holds the one of a NonTensorData by its name.
            let field = if entry.word() == "non_tensor" { value.get("data") } else { None };
            out.insert("value", tagged(field.unwrap_or(&value)));
            out.insert("decoded", true);
        }
        Looked::Data(scan) | Looked::Foreign(scan, _) => {
            let names = scan.globals.iter().map(|g| format!("{}.{}", g.module, g.name));
            out.insert("globals", names.collect::<Vec<_>>());
        }
        Looked::Damaged(why) => {
            out.insert("damaged", why);
        }
    }
}

/// A plain value as JSON; what JSON has no word for is an object of one member that names it: `{"bytes": "00ff"}`,
/// `{"tuple": […]}`, `{"dict": [[key, value], …]}`.
fn tagged(value: &pickle::Value) -> Value {
    use pickle::Value as P;
    let all = |items: &[P]| Value::Array(items.iter().map(tagged).collect());
    let (name, inner) = match value {
        P::List(items) => return all(items),
        P::Bytes(bytes) => ("bytes", Value::from(hex(bytes))),
        P::ByteArray(bytes) => ("bytearray", Value::from(hex(bytes))),
        P::Tuple(items) => ("tuple", all(items)),
        P::Set(items) => ("set", all(items)),
        P::FrozenSet(items) => ("frozenset", all(items)),
        P::Dict(pairs) => {
            let pairs = pairs.iter().map(|(k, v)| Value::Array(vec![tagged(k), tagged(v)]));
            ("dict", Value::Array(pairs.collect()))
        }
        P::Float(x) if !x.is_finite() => ("float", Value::from(x.to_string())),
        plain => return to_json(plain).unwrap_or_default(),
    };
    let mut out = Object::new();
    out.insert(name, inner);
    Value::Object(out)
}

/// A node and everything below it: classes, batch sizes, names, devices; nothing is opened.
pub fn outline(name: &str, node: &Node) -> Outline {
    let mut facts = Object::new();
    let kind = match node {
        Node::Leaf(leaf) => leaf_kind(leaf),
        Node::NestedTensor(nested) => {
            facts.insert("parts", nested.extent.0);
            facts.insert("rank", nested.extent.1);
            format!("nested {}", nested.dtype)
        }
        Node::Broken(fault) => {
            facts.insert("error", fault.error().to_string());
            "unreadable".to_owned()
        }
        other => {
            facts.insert("batch_size", other.batch_size());
            let class = other.class();
            class.map_or_else(String::new, |class| class.name().to_owned())
        }
    };
    describe(node, &mut facts);
    let parts = node.children().into_iter().map(|(name, child)| outline(&name, child)).collect();
    Outline { name: name.to_owned(), kind, facts, parts }
}

fn leaf_kind(leaf: &Leaf) -> String {
    let dims: Vec<_> = leaf.shape.iter().map(u64::to_string).collect();
    format!("{}[{}]", leaf.dtype, dims.join(", "))
}

/// What only some kinds of nodes say of themselves.
fn describe(node: &Node, facts: &mut Object) {
    if let Some(device) = node.device() {
        facts.insert("device", device);
    }
    match node {
        Node::TensorDict(node) => {
            if let Some(names) = &node.names {
                let names = names.iter().map(|n| n.as_deref().map_or(Value::Null, Value::from));
                facts.insert("names", names.collect::<Vec<_>>());
            }
        }
        Node::LazyStack(node) => {
            facts.insert("stack_dim", node.stack_dim);
            if let Some(name) = &node.stack_dim_name {
                facts.insert("stack_dim_name", name.as_str());
            }
        }
        Node::SubTensorDict(node) => {
            facts.insert("index", node.index.to_json());
        }
        Node::LazyView(node) => {
            facts.insert("op", node.op.name());
            facts.insert("arguments", Value::Object(node.op.arguments()));
        }
        Node::TensorClass(node) => {
            facts.insert("class", node.class.to_string());
        }
        _ => {}
    }
}
