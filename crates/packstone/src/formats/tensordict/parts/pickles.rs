//! Pickles: looked at, decoded where they are plain data, never executed.
//!
//! | a pickle | is |
//! | --- | --- |
//! | of None, numbers, text, bytes, lists, tuples, dicts, sets | decoded |
//! | that names only classes of data: arrays, scalars, dates, tensors | left alone; Python makes its value |
//! | that names anything else, or is damaged | left alone, and an error when it is checked |

use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::digest::{Algorithm, digest_hex};
use packstone_container::json::{self, Number, Object};
use packstone_container::pickle::{Scan, Value, decode, scan};
use packstone_io::Kind;

use super::super::codes;
use super::node::{Fault, FieldValue, Node, Source, StackValues};
use crate::error::{Place, Result};

/// A pickle of a tree.
#[derive(Clone, Debug)]
pub struct Pickle {
    /// The keys that lead to its node.
    pub keys: Vec<String>,
    /// The file.
    pub file: Arc<dyn Source>,
    /// What it is to its node.
    pub role: Role,
}

/// What a pickle is to its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It holds what JSON does not.
    Value,
    /// `json_types.json` stands for it.
    Replaced,
    /// The document has the value too; the library takes the pickle.
    Both,
    /// `json_types.json` was written for another pickle.
    Mismatched,
    /// `json_types.json` was written for it and is damaged.
    Hidden,
}

/// What a pickle is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Looked {
    /// Plain data.
    Plain(Value),
    /// Names classes of data only.
    Data(Scan),
    /// Names something else, as Python would be told to import it, or does what no data needs.
    Foreign(Scan, String),
    /// No pickle.
    Damaged(String),
}

/// Modules and names that pickles of data name.
const DATA: [(&str, &[&str]); 11] = [
    (
        "builtins",
        &[
            "complex",
            "dict",
            "list",
            "tuple",
            "set",
            "frozenset",
            "bytes",
            "bytearray",
            "int",
            "float",
            "str",
            "bool",
            "slice",
            "range",
        ],
    ),
    ("collections", &["OrderedDict"]),
    ("datetime", &["date", "datetime", "time", "timedelta", "timezone"]),
    ("numpy", &["ndarray", "dtype"]),
    ("numpy._core.multiarray", &["_reconstruct", "scalar"]),
    ("numpy.core.multiarray", &["_reconstruct", "scalar"]),
    ("numpy._core.numeric", &["_frombuffer"]),
    ("numpy.core.numeric", &["_frombuffer"]),
    ("torch", &["Size", "device", "dtype"]),
    ("torch._utils", &["_rebuild_tensor_v2"]),
    // Holds another pickle, of a storage.
    ("torch.storage", &["_load_from_bytes"]),
];

/// Looks at a pickle.
pub fn look(bytes: &[u8], limits: &Limits) -> Looked {
    if let Ok(decoded) = decode(bytes, limits) {
        return Looked::Plain(decoded.value);
    }
    let scan = match scan(bytes, limits) {
        Ok(scan) => scan,
        Err(error) => return Looked::Damaged(error.to_string()),
    };
    let known = |module: &str, name: &str| {
        DATA.iter().any(|(m, names)| *m == module && names.contains(&name))
    };
    let foreign = scan.globals.iter().find(|global| !known(&global.module, &global.name));
    let what = match foreign {
        Some(global) => Some(format!("{}.{}", global.module, global.name)),
        None if scan.globals_left_off > 0 => Some("more names than data has".to_owned()),
        None if scan.hidden_globals > 0 => Some("a name that it does not spell".to_owned()),
        None if scan.asks.is_some() => Some("something outside of it".to_owned()),
        None => None,
    };
    match what {
        Some(what) => Looked::Foreign(scan, what),
        None => Looked::Data(scan),
    }
}

impl Pickle {
    /// What it is, in full.
    ///
    /// # Errors
    /// Those of [`Source::open`].
    pub fn look(&self, limits: &Limits) -> Result<Looked> {
        Ok(look(&self.file.open()?, limits))
    }

    /// Path, size, SHA-256, the globals it names and whether Python is needed for its value, for JSON output.
    ///
    /// # Errors
    /// Those of [`Source::open`].
    pub fn to_json(&self, limits: &Limits) -> Result<Object> {
        let bytes = self.file.open()?;
        let mut out = Object::new();
        out.insert("path", self.file.path());
        out.insert("size", self.file.len());
        out.insert("sha256", digest_hex(Algorithm::Sha256, &bytes));
        describe(&bytes, limits, &mut out);
        out.insert("needs_pickle", self.role != Role::Replaced);
        Ok(out)
    }
}

/// Adds what a pickle names and, where it is plain data that JSON holds, its value.
pub fn describe(bytes: &[u8], limits: &Limits, out: &mut Object) {
    let found = look(bytes, limits);
    let globals = match &found {
        Looked::Data(scan) | Looked::Foreign(scan, _) => scan.globals.as_slice(),
        Looked::Plain(_) | Looked::Damaged(_) => &[],
    };
    let globals = globals.iter().map(|global| format!("{}.{}", global.module, global.name));
    out.insert("globals", globals.collect::<Vec<_>>());
    if let Looked::Plain(value) = found
        && let Some(value) = to_json(&value)
    {
        out.insert("plain", value);
    }
}

/// The pickles below a node, in tree order.
pub fn pickles(node: &Node) -> Vec<Pickle> {
    let mut out = Vec::new();
    walk(node, &mut Vec::new(), &mut out);
    out
}

fn walk(node: &Node, keys: &mut Vec<String>, out: &mut Vec<Pickle>) {
    let faulty = |value: &FieldValue| matches!(value, FieldValue::Faulty(_));
    let found = match node {
        Node::NonTensor(node) => {
            let has = |name: &str| {
                node.document.as_ref().is_some_and(|document| document.contains_key(name))
            };
            // A document that has all fields leaves nothing for a pickle to hold.
            let complete = has("data") && has("_metadata");
            let role = role(node.replaced, node.mismatch, complete, faulty(&node.value));
            node.files.pickle.clone().map(|file| (file, role))
        }
        Node::TensorClass(node) => {
            let hidden = node.fields.iter().any(|(_, value)| faulty(value));
            let role = role(node.replaced, node.mismatch, false, hidden);
            node.files.pickle.clone().map(|file| (file, role))
        }
        Node::NonTensorStack(node) => match &node.values {
            StackValues::Pickled(file) => Some((Arc::clone(file), Role::Value)),
            _ => None,
        },
        _ => None,
    };
    out.extend(found.map(|(file, role)| Pickle { keys: keys.clone(), file, role }));
    for (key, child) in node.children() {
        keys.push(key.into_owned());
        walk(child, keys, out);
        keys.pop();
    }
}

fn role(replaced: bool, mismatch: bool, complete: bool, faulty: bool) -> Role {
    match (replaced, mismatch, complete, faulty) {
        (true, ..) => Role::Replaced,
        (_, true, ..) => Role::Mismatched,
        (_, _, true, _) => Role::Both,
        (.., true) => Role::Hidden,
        _ => Role::Value,
    }
}

/// A value as JSON holds it, tuples as lists; `None` where it holds bytes, sets or keys that are no text.
pub fn to_json(value: &Value) -> Option<json::Value> {
    Some(match value {
        Value::None => json::Value::Null,
        Value::Bool(flag) => json::Value::Bool(*flag),
        Value::Int(number) => json::Value::Number(number.clone()),
        Value::Float(x) => match Number::from_f64_in(*x, json::FloatStyle::Python) {
            Some(number) => json::Value::Number(number),
            None => return None,
        },
        Value::Str(text) => json::Value::from(text.as_ref()),
        Value::Wide(text) => json::Value::Wide(text.as_ref().clone()),
        Value::List(items) | Value::Tuple(items) => {
            json::Value::Array(items.iter().map(to_json).collect::<Option<Vec<_>>>()?)
        }
        Value::Dict(pairs) => {
            let pairs = pairs.iter().map(|(key, value)| match key {
                Value::Str(key) => Some((key.to_string(), to_json(value)?)),
                _ => None,
            });
            json::Value::Object(pairs.collect::<Option<Vec<_>>>()?.into_iter().collect())
        }
        _ => return None,
    })
}

/// The batch size of pickled values, where they are plain data: lists of one length are one more dimension.
pub fn stack_size(file: &dyn Source, limits: &Limits) -> Option<Vec<u64>> {
    let Looked::Plain(Value::List(items)) = look(&file.open().ok()?, limits) else { return None };
    let mut sizes = vec![items.len() as u64];
    let mut level: Vec<&Value> = items.iter().collect();
    while let Some(Value::List(first)) = level.first() {
        let length = first.len();
        let inner: Option<Vec<&[Value]>> = level
            .iter()
            .map(|value| match value {
                Value::List(items) if items.len() == length => Some(items.as_ref()),
                _ => None,
            })
            .collect();
        let Some(inner) = inner else { break };
        sizes.push(length as u64);
        level = inner.into_iter().flatten().collect();
    }
    Some(sizes)
}

/// The plain value of a field in a node's pickle, which is a dict of fields.
pub fn plain_field(file: &dyn Source, name: &str, limits: &Limits) -> Option<Value> {
    match look(&file.open().ok()?, limits) {
        Looked::Plain(fields) => fields.get(name).cloned(),
        _ => None,
    }
}

/// The names of the fields in a node's pickle, where it is plain data.
pub fn field_names(file: &dyn Source, limits: &Limits) -> Vec<String> {
    let Some(Looked::Plain(Value::Dict(fields))) =
        file.open().ok().map(|bytes| look(&bytes, limits))
    else {
        return Vec::new();
    };
    let names = fields.iter().filter_map(|(name, _)| match name {
        Value::Str(name) => Some(name.to_string()),
        _ => None,
    });
    names.collect()
}

/// The error of whoever needs the value of a pickle.
pub fn needed(file: &dyn Source, message: &str) -> Fault {
    Fault::new(Kind::Unsupported, codes::NEEDS_PICKLE, Place::file(file.path()), message)
}
