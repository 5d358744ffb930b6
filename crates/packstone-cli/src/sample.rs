//! Samples read and hashed on threads, and the JSON line of each.

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use packstone::error::Place;
use packstone::exec::Pipeline;
use packstone::format::{Collection, ReadContext, ShardRef};
use packstone::json::{Object, Style, Value, write_to};
use packstone::model::{Batch, Finding, Sample, Schema};
use packstone::{Error, Kind, Limits, Result};
use packstone_container::digest;
use packstone_io::BufferPool;

use crate::failure::Outcome;
use crate::interrupt;
use crate::output::Out;

/// Which samples of a collection to read, and how.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    /// Threads that decode and hash; 0 for the calling one.
    pub(crate) threads: usize,
    /// Indices of the samples.
    pub(crate) range: Range<u64>,
    /// Positions of the fields; `None` for all.
    pub(crate) fields: Option<Vec<usize>>,
    /// Compare the recorded checksums of each shard first.
    pub(crate) verify: bool,
    /// Hash each value.
    pub(crate) hash: bool,
}

/// The positions of the fields called `names`; `None` where there are no names.
///
/// # Errors
/// `model/unknown_field` with the names there are.
pub(crate) fn positions(schema: &Schema, names: &[String]) -> Result<Option<Vec<usize>>> {
    let position = |name: &String| {
        schema.position(name).ok_or_else(|| {
            let known: Vec<_> = schema.fields.iter().map(|f| f.key.to_string()).collect();
            let message = format!("expected a field of {}, found {name:?}", known.join(", "));
            Error::new(Kind::NotFound, "model/unknown_field", Place::default(), message)
        })
    };
    if names.is_empty() {
        return Ok(None);
    }
    names.iter().map(position).collect::<Result<_>>().map(Some)
}

/// One decoded shard.
pub(crate) struct Shard {
    /// The shard.
    pub(crate) shard: ShardRef,
    /// All of its rows.
    pub(crate) batch: Batch,
    /// The SHA-256 of each value of `rows`, row by row.
    hashes: Vec<[u8; 32]>,
    /// The rows that were asked for.
    rows: Range<usize>,
}

impl Shard {
    /// The samples that were asked for, with their indices and the hashes of their values.
    pub(crate) fn samples(&self) -> impl Iterator<Item = (u64, Sample<'_>, &[[u8; 32]])> {
        let width = self.batch.schema().fields.len();
        self.rows.clone().enumerate().filter_map(move |(place, row)| {
            let hashes = self.hashes.get(place * width..(place + 1) * width).unwrap_or_default();
            Some((self.shard.first + row as u64, self.batch.sample(row)?, hashes))
        })
    }
}

/// Reads the samples of `collection` in order and hands them to `visit`, shard by shard.
///
/// Returns what was noticed and is no error.
pub(crate) fn read(
    collection: &Arc<dyn Collection>,
    reading: &Reading,
    mut visit: impl FnMut(&Shard) -> Outcome<()>,
) -> Outcome<Vec<Finding>> {
    if reading.range.is_empty() {
        return Ok(Vec::new());
    }
    let window = reading.threads + 1;
    let pool = BufferPool::new(window + reading.threads + 1);
    let notes = Arc::new(Mutex::new(Vec::new()));
    let mut pipeline = Pipeline::new(reading.threads, window, || {
        let (collection, reading) = (Arc::clone(collection), reading.clone());
        let context = ReadContext::new(pool.clone(), Limits::default(), reading.verify);
        let (context, notes) = (Mutex::new(context), Arc::clone(&notes));
        move |shard: ShardRef| -> Result<Shard> {
            let mut context = context.lock().unwrap_or_else(PoisonError::into_inner);
            let batch = collection.read(&shard, reading.fields.as_deref(), &mut context);
            notes.lock().unwrap_or_else(PoisonError::into_inner).append(&mut context.notes);
            Ok(decoded(shard, batch?, &reading))
        }
    });
    let (mut listed, mut stop) = (Some(collection.shards(reading.range.start)), None);
    loop {
        while let Some(shards) = listed.as_mut().filter(|_| pipeline.has_room()) {
            match shards.next() {
                Some(Ok(shard)) if shard.first < reading.range.end => pipeline.submit(shard),
                // Told after the samples that come before it.
                Some(Err(error)) => (listed, stop) = (None, Some(error)),
                _ => listed = None,
            }
        }
        interrupt::check()?;
        match pipeline.next_result() {
            Some(shard) => visit(&shard??)?,
            None => break,
        }
    }
    match stop {
        Some(error) => Err(error.into()),
        None => Ok(std::mem::take(&mut notes.lock().unwrap_or_else(PoisonError::into_inner))),
    }
}

fn decoded(shard: ShardRef, batch: Batch, reading: &Reading) -> Shard {
    let inside = |index: u64| {
        let row = index.saturating_sub(shard.first).min(batch.rows() as u64);
        usize::try_from(row).unwrap_or(batch.rows())
    };
    let rows = inside(reading.range.start)..inside(reading.range.end);
    let hashed = rows.clone().filter(|_| reading.hash).filter_map(|row| batch.sample(row));
    let hashes = hashed.flat_map(|s| s.values().map(|v| digest::sha256(v.bytes))).collect();
    Shard { shard, batch, hashes, rows }
}

/// Spells samples of one collection, each as one line of JSON, in one reused buffer.
pub(crate) struct Lines {
    line: String,
    head: String,
    names: Vec<String>,
    fields: Vec<String>,
    values: bool,
    metadata: (Arc<Object>, String),
}

impl Lines {
    /// Lines for a collection with these fields, with or without the values.
    pub(crate) fn new(collection: &str, schema: &Schema, values: bool) -> Self {
        let name = Value::from(collection);
        let names: Vec<_> =
            schema.fields.iter().map(|f| Value::from(f.key.to_string()).to_string()).collect();
        let fields = schema.fields.iter().zip(&names).map(|(field, name)| {
            let (dtype, shape) = (field.dtype.name(), Value::from(field.shape.as_slice()));
            let dtype = Value::from(dtype.as_ref());
            format!("{name}:{{\"dtype\":{dtype},\"shape\":{shape},\"nbytes\":")
        });
        Self {
            line: String::new(),
            head: format!("{{\"type\":\"sample\",\"collection\":{name},\"index\":"),
            fields: fields.collect(),
            names,
            values,
            metadata: (Arc::default(), "{}".to_owned()),
        }
    }

    /// Writes the lines of a shard.
    pub(crate) fn write(&mut self, shard: &Shard, out: &mut Out) -> Outcome<()> {
        let path = Value::from(shard.shard.path.as_str()).to_string();
        for (index, sample, hashes) in shard.samples() {
            self.line.clear();
            self.spell(index, &path, sample, hashes);
            out.raw(self.line.as_bytes())?;
        }
        Ok(())
    }

    fn spell(&mut self, index: u64, path: &str, sample: Sample<'_>, hashes: &[[u8; 32]]) {
        let Self { line, head, names, fields, values, metadata } = self;
        // Writing to a string does not fail.
        let _ = write!(line, "{head}{index},\"shard\":{path},\"fields\":{{");
        let each = fields.iter().zip(sample.values()).zip(hashes);
        for (place, ((field, value), hash)) in each.enumerate() {
            let comma = if place == 0 { "" } else { "," };
            let _ = write!(line, "{comma}{field}{},\"sha256\":\"", value.bytes.len());
            push_hex(line, hash);
            line.push_str("\"}");
        }
        line.push_str("},\"metadata\":");
        match sample.metadata() {
            Some(object) => {
                // Shards share the metadata of their samples.
                if !Arc::ptr_eq(&metadata.0, object) {
                    let text = Value::Object(object.as_ref().clone()).to_string();
                    *metadata = (Arc::clone(object), text);
                }
                line.push_str(&metadata.1);
            }
            None => line.push_str("{}"),
        }
        if *values {
            line.push_str(",\"values\":{");
            for (place, (name, value)) in names.iter().zip(sample.values()).enumerate() {
                line.push_str(if place == 0 { "" } else { "," });
                line.push_str(name);
                line.push(':');
                write_to(line, &value.to_json(), &Style::COMPACT);
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
