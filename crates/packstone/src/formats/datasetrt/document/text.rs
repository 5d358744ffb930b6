//! Writing a manifest as the original does.

use packstone_container::json::{self, Object, Style, Value};

use super::super::layout::EXTENSION;
use super::{Contents, KNOWN, Manifest, ShardEntry};

pub(super) fn manifest(manifest: &Manifest) -> String {
    let contents = manifest.contents();
    let mut out = Object::new();
    out.insert("format_version", manifest.version());
    if let Manifest::V3(manifest) = manifest {
        out.insert("cache_id", manifest.cache_id);
    }
    out.insert("source_name", contents.source_name.as_str());
    out.insert("sample_count", contents.samples);
    out.insert("metadata_schema", Value::Array(columns(contents)));
    out.insert("metadata_sha256", contents.metadata_sha256.as_str());
    out.insert("index_sha256", contents.index_sha256.as_str());
    out.insert("shards", Value::Array(shards(contents)));
    let mut extensions: Vec<_> = contents
        .document
        .iter()
        .filter(|(key, _)| key.as_str().is_none_or(|name| !KNOWN.contains(&name)))
        .collect();
    extensions.sort_by_key(|(key, _)| *key);
    for (key, value) in extensions {
        // The original knows no order of members; what packstone keeps for other formats may have one.
        let own = key.as_str() == Some(EXTENSION);
        out.insert(key.clone(), if own { value.clone() } else { sorted(value) });
    }
    json::write(&Value::Object(out), &Style::PYDANTIC)
}

/// The same value with the members of its objects sorted by name.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut members: Vec<_> = object.iter().collect();
            members.sort_by_key(|(key, _)| *key);
            let members = members.into_iter().map(|(key, value)| (key.clone(), sorted(value)));
            Value::Object(members.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

/// What the document has in the entry of this number, for the members that packstone does not know.
fn entry<'a>(contents: &'a Contents, list: &str, number: usize) -> Option<&'a Value> {
    contents.document.get(list)?.as_array()?.get(number)
}

/// Appends the members of `from` that `out` has not.
fn keep_unknown(out: &mut Object, from: Option<&Value>) {
    for (key, value) in from.and_then(Value::as_object).into_iter().flat_map(Object::iter) {
        if key.as_str().is_none_or(|name| !out.contains_key(name)) {
            out.insert(key.clone(), value.clone());
        }
    }
}

fn columns(contents: &Contents) -> Vec<Value> {
    let columns = contents.columns.iter().enumerate();
    let columns = columns.map(|(number, column)| {
        let mut out = Object::new();
        out.insert("name", column.name.as_str());
        out.insert("kind", column.kind.name());
        keep_unknown(&mut out, entry(contents, "metadata_schema", number));
        Value::Object(out)
    });
    columns.collect()
}

fn shards(contents: &Contents) -> Vec<Value> {
    let shards = contents.shards.iter().enumerate();
    let shards = shards.map(|(number, shard)| {
        let known = entry(contents, "shards", number);
        let mut out = Object::new();
        out.insert("name", shard_name(shard, known));
        out.insert("uncompressed_byte_len", shard.raw_bytes);
        out.insert("byte_len", shard.bytes);
        let mut compression = Object::new();
        compression.insert("algo", shard.algo.name());
        compression.insert("ratio", shard.ratio.clone());
        keep_unknown(&mut compression, known.and_then(|known| known.get("compression")));
        out.insert("compression", compression);
        out.insert("sha256", shard.sha256.as_str());
        keep_unknown(&mut out, known);
        Value::Object(out)
    });
    shards.collect()
}

/// The name as the document spells it, which may hold dots and slashes that a path does without.
fn shard_name<'a>(shard: &'a ShardEntry, known: Option<&'a Value>) -> &'a str {
    known.and_then(|known| known.get("name")?.as_str()).unwrap_or(shard.name.as_str())
}
