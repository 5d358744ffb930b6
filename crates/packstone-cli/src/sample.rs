//! Samples read and hashed on threads, and the JSON line of each.

use std::fmt::Write as _;
use std::sync::Arc;

use packstone::json::{Object, Style, Value, write, write_to};
use packstone::model::{Sample, Schema, about_fields};
use packstone::ops::{Decoded, Scan};
use packstone_container::digest;

use crate::failure::Outcome;
use crate::interrupt;
use crate::output::{Out, note, note_data};

/// One decoded shard, with the SHA-256 of each value where they were asked for.
pub(crate) struct Shard {
    decoded: Decoded,
    hashes: Vec<[u8; 32]>,
}

impl Shard {
    fn new(decoded: Decoded, hash: bool) -> Self {
        let rows = decoded.rows.clone().filter(|_| hash);
        let samples = rows.filter_map(|row| decoded.batch.sample(row));
        let hashes = samples.flat_map(|s| s.values().map(|v| digest::sha256(v.bytes))).collect();
        Self { decoded, hashes }
    }

    /// The fields.
    pub(crate) fn schema(&self) -> &Schema {
        self.decoded.batch.schema()
    }

    /// The samples that were asked for, with their indices and the hashes of their values.
    pub(crate) fn samples(&self) -> impl Iterator<Item = (u64, Sample<'_>, &[[u8; 32]])> {
        let (Decoded { shard, batch, rows }, width) = (&self.decoded, self.schema().fields.len());
        rows.clone().enumerate().filter_map(move |(place, row)| {
            let hashes = self.hashes.get(place * width..(place + 1) * width).unwrap_or_default();
            Some((shard.first + row as u64, batch.sample(row)?, hashes))
        })
    }
}

/// Hands the samples of `scan` to `visit`, shard by shard, hashed on the threads that decode.
///
/// Tells on standard error what was noticed and is no error.
pub(crate) fn read(
    scan: Scan,
    hash: bool,
    mut visit: impl FnMut(&Shard) -> Outcome<()>,
) -> Outcome<()> {
    let mut shards = scan.map_shards(move |decoded| Ok(Shard::new(decoded, hash)));
    while let Some(shard) = shards.next() {
        interrupt::check()?;
        visit(&shard?)?;
        for finding in shards.take_notes() {
            note(note_data(&finding.to_string()));
        }
    }
    Ok(())
}

/// The fields that are called `names`; all where there are no names.
pub(crate) fn project(
    scan: Scan,
    schema: &Schema,
    names: &[String],
) -> packstone::Result<(Scan, Schema)> {
    if names.is_empty() {
        return Ok((scan, schema.clone()));
    }
    let scan = scan.fields(names)?;
    let positions: Vec<usize> = names.iter().filter_map(|name| schema.position(name)).collect();
    Ok((scan, schema.project(&positions)))
}

/// Spells samples of one collection, each as one line of JSON, in one reused buffer.
pub(crate) struct Lines {
    line: String,
    head: String,
    /// The fields of the last shard.
    schema: Schema,
    names: Vec<String>,
    fields: Vec<String>,
    varying: Vec<bool>,
    values: bool,
    metadata: Spelled,
}

/// The metadata of the last sample; shards share those of their samples.
struct Spelled {
    of: Arc<Object>,
    /// What is said about the sample.
    text: String,
    /// What is said about its fields.
    fields: Object,
}

impl Spelled {
    fn new(of: Arc<Object>) -> Self {
        let text = |object: &Object| write(&Value::Object(object.clone()), &Style::LINES);
        match about_fields(&of) {
            Some((rest, fields)) => Self { text: text(&rest), of, fields },
            None => Self { text: text(&of), of, fields: Object::new() },
        }
    }
}

impl Lines {
    /// Lines for a collection with these fields, with or without the values.
    pub(crate) fn new(collection: &str, schema: &Schema, values: bool) -> Self {
        let name = Value::from(collection);
        let mut lines = Self {
            line: String::new(),
            head: format!("{{\"type\":\"sample\",\"collection\":{name},\"index\":"),
            schema: schema.clone(),
            fields: Vec::new(),
            varying: Vec::new(),
            names: Vec::new(),
            values,
            metadata: Spelled::new(Arc::default()),
        };
        lines.spell_fields();
        lines
    }

    /// Spells what is the same in all lines of a shard.
    fn spell_fields(&mut self) {
        let fields = &self.schema.fields;
        let names = self.schema.names();
        self.names = names.iter().map(|name| Value::from(name.as_str()).to_string()).collect();
        let heads = fields.iter().zip(&self.names).map(|(field, name)| {
            let dtype = Value::from(field.dtype.name().as_ref());
            let start = format!("{name}:{{\"dtype\":{dtype},\"shape\":");
            // Where shapes vary, each line spells its own.
            let shape = Value::from(field.shape.as_slice());
            if field.varying { start } else { format!("{start}{shape},\"nbytes\":") }
        });
        self.fields = heads.collect();
        self.varying = fields.iter().map(|field| field.varying).collect();
    }

    /// Writes the lines of a shard.
    pub(crate) fn write(&mut self, shard: &Shard, out: &mut Out) -> Outcome<()> {
        if *shard.schema() != self.schema {
            self.schema = shard.schema().clone();
            self.spell_fields();
        }
        let path = Value::from(shard.decoded.shard.path.as_str()).to_string();
        for (index, sample, hashes) in shard.samples() {
            self.line.clear();
            self.spell(index, &path, sample, hashes);
            out.json_lines(&self.line)?;
        }
        Ok(())
    }

    fn spell(&mut self, index: u64, path: &str, sample: Sample<'_>, hashes: &[[u8; 32]]) {
        let Self { line, head, schema, names, fields, varying, values, metadata } = self;
        match sample.metadata() {
            Some(object) if Arc::ptr_eq(&metadata.of, object) => {}
            Some(object) => *metadata = Spelled::new(Arc::clone(object)),
            None => *metadata = Spelled::new(Arc::default()),
        }
        // Writing to a string does not fail.
        let _ = write!(line, "{head}{index},\"shard\":{path},");
        for (key, value) in sample.identity().into_iter().flat_map(Object::iter) {
            let _ = write!(line, "{}:{value},", Value::from(key.to_string()));
        }
        line.push_str("\"fields\":{");
        let each = fields.iter().zip(sample.values()).zip(hashes);
        for (place, ((field, value), hash)) in each.enumerate() {
            let comma = if place == 0 { "" } else { "," };
            let _ = write!(line, "{comma}{field}");
            if varying.get(place) == Some(&true) {
                let _ = write!(line, "{},\"nbytes\":", Value::from(value.shape));
            }
            let _ = write!(line, "{},\"sha256\":\"", value.bytes.len());
            push_hex(line, hash);
            line.push('"');
            let name = schema.fields.get(place).map(|field| field.key.to_string());
            let said = name.filter(|_| !metadata.fields.is_empty());
            let said = said.and_then(|name| metadata.fields.get(&name)?.as_object());
            for (key, value) in said.into_iter().flat_map(Object::iter) {
                let _ = write!(line, ",{}:{value}", Value::from(key.to_string()));
            }
            line.push('}');
        }
        line.push_str("},\"metadata\":");
        line.push_str(&metadata.text);
        if *values {
            line.push_str(",\"values\":{");
            for (place, (name, value)) in names.iter().zip(sample.values()).enumerate() {
                line.push_str(if place == 0 { "" } else { "," });
                line.push_str(name);
                line.push(':');
                write_to(line, &value.to_json(), &Style::LINES);
            }
            line.push('}');
        }
        line.push_str("}\n");
    }
}

fn push_hex(line: &mut String, bytes: &[u8]) {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    line.extend(digits.filter_map(|digit| char::from_digit(digit.into(), 16)));
}
