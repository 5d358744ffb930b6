//! A line of JSON for each thing that a tree holds, with the SHA-256 of its bytes.

use packstone_container::Limits;
use packstone_container::digest::{Algorithm, Hasher, hex};
use packstone_container::json::{Object, Value};
use packstone_container::pickle;
use packstone_io::Kind;

use super::leaves::{Content, Entry};
use super::pickles::{Looked, look, to_json};
use crate::error::Result;

/// The line of an entry for `dump --leaves`. One that cannot be read has its error and does not hide the others.
///
/// # Errors
/// `Cancelled`; all others are told in the line.
pub fn line(entry: &Entry<'_>, limits: &Limits) -> Result<Object> {
    let mut out = Object::new();
    match describe(entry, limits, &mut out) {
        Err(error) if error.kind() == Kind::Cancelled => return Err(error),
        Err(error) => drop(out.insert("error", error.to_string())),
        Ok(()) => {}
    }
    Ok(out)
}

fn describe(entry: &Entry<'_>, limits: &Limits, out: &mut Object) -> Result<()> {
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
        let sizes = nested.shapes()?.each().map(Value::from).collect::<Vec<_>>();
        let summed = sum(|sink| nested.stream(sink))?;
        out.insert("sizes", sizes);
        tell(summed, out);
        return Ok(());
    }
    if let Content::Tensor(leaf) = entry.content {
        tell(sum(|sink| leaf.data.stream(sink))?, out);
        return Ok(());
    }
    if let Some(value) = entry.value() {
        out.insert("value", value);
        return Ok(());
    }
    let bytes = entry.open()?;
    describe_pickle(entry, &bytes, limits, out);
    tell(sum(|sink| sink(&bytes))?, out);
    Ok(())
}

/// The number and SHA-256 of bytes that come piece by piece.
fn sum(
    stream: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
) -> Result<(u64, String)> {
    let (mut hasher, mut len) = (Hasher::new(Algorithm::Sha256), 0u64);
    stream(&mut |piece| {
        hasher.update(piece);
        len = len.saturating_add(piece.len() as u64);
        Ok(())
    })?;
    Ok((len, hasher.finish_hex()))
}

fn tell((len, sha256): (u64, String), out: &mut Object) {
    out.insert("nbytes", len);
    out.insert("sha256", sha256);
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
