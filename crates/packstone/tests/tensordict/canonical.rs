//! A tree in the form of the oracle's `dump`.

use half::{bf16, f16};
use packstone::Limits;
use packstone::formats::tensordict::parts::flat::{Seen, flatten};
use packstone::formats::tensordict::parts::mapping::dim_names;
use packstone::formats::tensordict::parts::node::{
    Bytes, FieldFiles, FieldValue, Node, StackValues,
};
use packstone::formats::tensordict::parts::pickles::{Looked, look};
use packstone::formats::tensordict::schema::{Support, support, torch_name};
use packstone::model::DType;
use packstone_container::digest::{Algorithm, digest_hex, hex};
use packstone_container::json::{Object, Value, python_float};
use packstone_container::{json, json as text_json, pickle};

const INLINE_VALUES: u64 = 32;
const INLINE_HEX: usize = 64;

fn sha256(bytes: &[u8]) -> String {
    digest_hex(Algorithm::Sha256, bytes)
}

fn tagged(tag: &str, value: impl Into<Value>) -> Value {
    let value = value.into();
    json!({ "t": tag, "v": value })
}

/// A value of JSON as the oracle tags it.
pub(crate) fn value(found: &Value) -> Value {
    match found {
        Value::Null => json!({ "t": "null" }),
        Value::Bool(flag) => tagged("bool", *flag),
        Value::Number(n) if n.is_integer() => {
            tagged("int", if n.text() == "-0" { "0" } else { n.text() })
        }
        Value::Number(n) => tagged("float", python_float(n.to_f64())),
        Value::String(_) | Value::Wide(_) => tagged("str", found.clone()),
        Value::Array(items) => tagged("list", items.iter().map(value).collect::<Vec<_>>()),
        Value::Object(object) => {
            let pairs = object.iter().map(|(key, item)| {
                let key = key
                    .as_wide()
                    .map_or_else(|| Value::from(key.as_str().unwrap()), |w| Value::from(w.clone()));
                Value::Array(vec![value(&key), value(item)])
            });
            tagged("dict", pairs.collect::<Vec<_>>())
        }
    }
}

fn field(found: &FieldValue, files: &FieldFiles, name: &str) -> Value {
    match found {
        FieldValue::Json(found) => value(found),
        FieldValue::Container(class) => {
            let module =
                if *class == pickle::Class::OrderedDict { "collections" } else { "builtins" };
            tagged("type", format!("{module}:{}", class.name()))
        }
        FieldValue::Pickled => pickled(files, name),
        other => panic!("{other:?}"),
    }
}

/// The value of a field in a pickle; what only Python could make stands as `opaque`.
fn pickled(files: &FieldFiles, name: &str) -> Value {
    match look(&files.pickle.as_ref().unwrap().open().unwrap(), &Limits::default()) {
        Looked::Plain(fields) => plain(fields.get(name).unwrap()),
        _ => json!({ "t": "opaque" }),
    }
}

fn plain(found: &pickle::Value) -> Value {
    use pickle::Value as P;
    let all = |items: &[P]| items.iter().map(plain).collect::<Vec<_>>();
    match found {
        P::None => json!({ "t": "null" }),
        P::Bool(flag) => tagged("bool", *flag),
        P::Int(n) => tagged("int", n.text()),
        P::Float(x) => tagged("float", python_float(*x)),
        P::Str(text) => tagged("str", text.as_ref()),
        P::Bytes(bytes) => json!({ "t": "bytes", "hex": hex(bytes) }),
        P::List(items) => tagged("list", all(items)),
        P::Tuple(items) => tagged("tuple", all(items)),
        P::Set(items) => {
            let mut items = all(items);
            items.sort_by_key(ToString::to_string);
            tagged("set", items)
        }
        P::Dict(pairs) => {
            let pairs = pairs.iter().map(|(k, v)| Value::Array(vec![plain(k), plain(v)]));
            tagged("dict", pairs.collect::<Vec<_>>())
        }
        other => panic!("{other:?}"),
    }
}

fn stored(files: &FieldFiles, used_types: bool, out: &mut Object) {
    let Some(pickle) = &files.pickle else {
        out.insert("stored", "json");
        return;
    };
    out.insert("pickle_sha256", sha256(&pickle.open().unwrap()));
    out.insert("stored", if used_types { "json_types" } else { "pickle" });
}

fn sizes(shape: &[u64]) -> Value {
    Value::from(shape)
}

fn float(x: f64) -> Value {
    Value::from(python_float(x))
}

fn element(dtype: &DType, bytes: &[u8]) -> Option<Value> {
    let half = |at: usize| f16::from_le_bytes([bytes[at], bytes[at + 1]]).to_f64();
    let single = |at: usize| f64::from(f32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()));
    let double = |at: usize| f64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    Some(match dtype {
        DType::Float16 => float(half(0)),
        DType::BFloat16 => float(bf16::from_le_bytes([bytes[0], bytes[1]]).to_f64()),
        DType::Float32 => float(single(0)),
        DType::Float64 => float(double(0)),
        DType::Complex32 => Value::from([float(half(0)), float(half(2))]),
        DType::BComplex32 => {
            let part = |at: usize| float(bf16::from_le_bytes([bytes[at], bytes[at + 1]]).to_f64());
            Value::from([part(0), part(2)])
        }
        DType::Complex64 => Value::from([float(single(0)), float(single(4))]),
        DType::Complex128 => Value::from([float(double(0)), float(double(8))]),
        DType::Bool => Value::from(bytes[0] != 0),
        _ => packstone::model::ValueRef { dtype, shape: &[], bytes }.to_json(),
    })
}

fn tensor(dtype: &DType, shape: &[u64], bytes: &[u8]) -> Object {
    let mut out = Object::new();
    out.insert("dtype", torch_name(dtype).as_ref());
    out.insert("shape", sizes(shape));
    payload(bytes, &mut out);
    let spelled = support(dtype) == Support::Full || *dtype == DType::BComplex32;
    if spelled && shape.iter().product::<u64>() <= INLINE_VALUES {
        let size = dtype.size().unwrap() as usize;
        out.insert(
            "values",
            bytes.chunks(size).filter_map(|item| element(dtype, item)).collect::<Vec<_>>(),
        );
    }
    out
}

fn payload(bytes: &[u8], out: &mut Object) {
    out.insert("nbytes", bytes.len());
    out.insert("sha256", sha256(bytes));
    if bytes.len() <= INLINE_HEX {
        out.insert("hex", hex(bytes));
    }
}

fn resolved(node: &Node) -> Value {
    let mut leaves: Vec<(Vec<String>, Value)> = Vec::new();
    for (key, seen) in flatten(node) {
        match seen {
            Seen::Tensor(found) => {
                let bytes = found.read(&Limits::default()).unwrap();
                let mut out = tensor(&found.dtype, &found.shape, &bytes);
                out.insert("key", key.iter().map(|k| Value::from(k.as_str())).collect::<Vec<_>>());
                leaves.push((key.to_vec(), out.into()));
            }
            Seen::Values(_) => {}
            other => panic!("{other:?}"),
        }
    }
    leaves.sort_by(|a, b| a.0.cmp(&b.0));
    let leaves: Vec<Value> = leaves.into_iter().map(|(_, leaf)| leaf).collect();
    let batch = sizes(node.batch_size());
    json!({ "batch_size": batch, "leaves": leaves })
}

fn names(node: &Node) -> Value {
    match dim_names(node) {
        Some(names) => {
            names.iter().map(|name| Value::from(name.as_deref())).collect::<Vec<_>>().into()
        }
        None => Value::Null,
    }
}

/// A node as the oracle shows it.
pub(crate) fn node(found: &Node) -> Value {
    let mut out = Object::new();
    out.insert("node", found.word());
    if let Some(class) = found.class() {
        out.insert("class", class.to_string());
        out.insert("batch_size", sizes(found.batch_size()));
    }
    let member =
        |name: &str| found.document().and_then(|d| d.get(name)).cloned().unwrap_or_default();
    match found {
        Node::TensorDict(found_dict) => {
            out.insert("device", found.device());
            out.insert("names", names(found));
            // The library drops leaves whose file it does not find; here they stay, with the fault.
            let there = |(_, node): &&(String, Node)| !matches!(node, Node::Leaf(leaf) if matches!(leaf.data, Bytes::Faulty(_)));
            let mut entries: Vec<_> = found_dict.entries.iter().filter(there).collect();
            let keys: Vec<Value> =
                entries.iter().map(|(key, _)| Value::from(key.as_str())).collect();
            out.insert("key_order", keys);
            entries.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
            let entries =
                entries.into_iter().map(|(key, child)| Value::Array(vec![key.into(), node(child)]));
            out.insert("entries", entries.collect::<Vec<_>>());
        }
        Node::Leaf(leaf) => {
            out.extend_from(tensor(&leaf.dtype, &leaf.shape, &leaf.data.open().unwrap()));
        }
        Node::NestedTensor(nested) => {
            let parts = nested.open().unwrap();
            out.insert("dtype", torch_name(&nested.dtype).as_ref());
            let rows = (0..parts.len()).map(|part| sizes(parts.shape(part).unwrap()));
            out.insert("sizes", rows.collect::<Vec<_>>());
            payload(&parts.data, &mut out);
        }
        Node::NonTensor(found) => {
            out.insert("value", field(&found.value, &found.files, "data"));
            let types = !matches!(found.value, FieldValue::Pickled);
            stored(&found.files, types, &mut out);
        }
        Node::NonTensorStack(stack) => match &stack.values {
            StackValues::Json(values) => {
                out.insert("value", value(&Value::Array(values.clone())));
                out.insert("stored", "json");
            }
            StackValues::Pickled(pickle) => {
                let looked = look(&pickle.open().unwrap(), &Limits::default());
                let Looked::Plain(found) = looked else { panic!("{looked:?}") };
                out.insert("value", plain(&found));
                out.insert("stored", "pickle");
            }
            other => panic!("{other:?}"),
        },
        Node::LazyStack(stack) => {
            out.insert("device", found.device());
            out.insert("stack_dim", stack.stack_dim);
            out.insert("stack_dim_name", stack.stack_dim_name.as_deref());
            out.insert("members", stack.members.iter().map(node).collect::<Vec<_>>());
        }
        Node::SubTensorDict(sub) => {
            out.insert("index", member("index"));
            out.insert("source", node(&sub.source));
            out.insert("resolved", resolved(found));
        }
        Node::LazyView(view) => {
            for name in ["custom_op", "custom_op_kwargs", "inv_op", "inv_op_kwargs"] {
                out.insert(name, member(name));
            }
            out.insert("source", node(&view.source));
            out.insert("resolved", resolved(found));
        }
        Node::TensorClass(class) => {
            out.insert("device", found.device());
            out.insert("names", names(found));
            let mut fields: Vec<_> = class.fields.iter().collect();
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            let fields = fields.into_iter().map(|(name, found)| {
                Value::Array(vec![name.into(), field(found, &class.files, name)])
            });
            out.insert("meta_fields", fields.collect::<Vec<_>>());
            let types =
                class.fields.iter().any(|(_, value)| matches!(value, FieldValue::Container(_)));
            stored(&class.files, types, &mut out);
            out.insert("tensordict", node(&class.tensordict));
        }
        other => panic!("{other:?}"),
    }
    Value::Object(out)
}

trait Extend {
    fn extend_from(&mut self, other: Object);
}

impl Extend for Object {
    fn extend_from(&mut self, other: Object) {
        for (key, value) in other {
            self.insert(key, value);
        }
    }
}

/// The first difference of two trees; members that only `found` has count where `strict` says so.
pub(crate) fn difference(expected: &Value, found: &Value, path: &str) -> Option<String> {
    let show = |value: &Value| {
        text_json::write(value, &text_json::Style::PYTHON).chars().take(200).collect::<String>()
    };
    match (expected, found) {
        // What only Python could make.
        (_, Value::Object(b)) if b.get("t").and_then(Value::as_str) == Some("opaque") => None,
        (Value::Object(a), Value::Object(b)) => {
            let names: std::collections::BTreeSet<String> =
                a.keys().chain(b.keys()).map(ToString::to_string).collect();
            names.iter().find_map(|name| match (a.get(name), b.get(name)) {
                (Some(a), Some(b)) => difference(a, b, &format!("{path}.{name}")),
                // Some types have no scalars that the oracle could list.
                (None, Some(_)) if name == "values" => None,
                // Floats of 8 bits have no spelling here; their bytes are compared.
                (Some(_), None)
                    if name == "values"
                        && a.get("dtype").unwrap().to_string().contains("float8") =>
                {
                    None
                }
                (a, b) => Some(format!(
                    "{path}.{name}: expected {}, found {}",
                    a.map_or("nothing".to_owned(), show),
                    b.map_or("nothing".to_owned(), show)
                )),
            })
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => a
            .iter()
            .zip(b)
            .enumerate()
            .find_map(|(at, (a, b))| difference(a, b, &format!("{path}[{at}]"))),
        (a, b) if a == b => None,
        (a, b) => Some(format!("{path}: expected {}, found {}", show(a), show(b))),
    }
}
