//! What a writer has finished, so that another can go on after it was killed.
//!
//! ```text
//! {"packstone":1,"name":…,"options":{…},"json":false,"columns":[…],"descriptor":{…}}
//! {"shard":{…},"lengths":[…],"non_finite":[[column, row, "bits"], …]}              one line a full shard
//! ```
//! The metadata themselves are in the records of the shards, but for floats that JSON has no word for.

use packstone_container::Limits;
use packstone_container::arrow_table::{Cell, Column};
use packstone_container::json::{self, At, Object, ReadOptions, ShapeError, Style, Value};
use packstone_io::{EntryKind, Journal, Kind, RelPath, RootMut, TEMPORARY};

use super::super::codes;
use super::super::document::{Algo, ShardEntry};
use super::super::schema::{ColumnSpec, ValueKind};
use super::record;
use super::shards::Closed;
use crate::error::{Error, Place, Result};

/// End of the name of a journal.
const ENDING: &str = ".journal";
/// Version of the lines.
const VERSION: u64 = 1;

/// What a writer does, as far as another one must do the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// What the manifest will call the cache.
    pub name: String,
    /// The options that shape it.
    pub options: Object,
    /// Whether metadata of samples are JSON text.
    pub json: bool,
    /// The columns.
    pub columns: Vec<ColumnSpec>,
    /// What the samples are, as the manifest will say it.
    pub descriptor: Value,
}

impl Head {
    /// The first line.
    pub fn line(&self) -> String {
        let mut out = Object::new();
        out.insert("packstone", VERSION);
        out.insert("name", self.name.as_str());
        out.insert("options", self.options.clone());
        out.insert("json", self.json);
        let columns = self.columns.iter().map(|column| {
            let pair = [column.name.as_str(), column.kind.name()].map(Value::from);
            Value::Array(pair.to_vec())
        });
        out.insert("columns", columns.collect::<Vec<_>>());
        out.insert("descriptor", self.descriptor.clone());
        line(out)
    }

    fn read(at: At<'_>) -> Result<Self, ShapeError> {
        let version = at.field("packstone")?;
        if version.u64()? != VERSION {
            return Err(version.unexpected("another version"));
        }
        let columns = at.field("columns")?.items()?.map(|column| {
            let kind = column.index(1)?;
            let kind =
                ValueKind::from_name(kind.str()?).ok_or_else(|| kind.unexpected("a kind"))?;
            Ok(ColumnSpec::new(column.index(0)?.str()?, kind))
        });
        Ok(Self {
            name: at.field("name")?.str()?.to_owned(),
            options: at.field("options")?.object()?.clone(),
            json: at.field("json")?.bool()?,
            columns: columns.collect::<Result<_, _>>()?,
            descriptor: at.field("descriptor")?.value().clone(),
        })
    }
}

fn line(object: Object) -> String {
    let mut text = json::write(&Value::Object(object), &Style::COMPACT);
    text.push('\n');
    text
}

/// A line for a shard whose samples have these values, from `first` on.
pub fn shard_line(
    closed: &Closed,
    columns: &[ColumnSpec],
    values: &[Column],
    first: u64,
) -> String {
    let mut entry = Object::new();
    entry.insert("name", closed.entry.name.as_str());
    entry.insert("raw_bytes", closed.entry.raw_bytes);
    entry.insert("bytes", closed.entry.bytes);
    entry.insert("sha256", closed.entry.sha256.as_str());
    let mut out = Object::new();
    out.insert("shard", entry);
    out.insert("lengths", closed.lengths.as_slice());
    let mut special = Vec::new();
    for (number, (column, values)) in columns.iter().zip(values).enumerate() {
        if column.kind != ValueKind::Float {
            continue;
        }
        for row in 0..closed.lengths.len() {
            let at = usize::try_from(first).unwrap_or(usize::MAX).saturating_add(row);
            if let Some(Cell::Float64(x)) = values.get(at)
                && !x.is_finite()
            {
                let bits = Value::from(format!("{:016x}", x.to_bits()));
                special.push(Value::Array(vec![number.into(), row.into(), bits]));
            }
        }
    }
    out.insert("non_finite", special);
    line(out)
}

/// A shard of a journal, and its floats that are not finite: column, row in the shard, value.
#[derive(Clone, Debug)]
pub struct Noted {
    /// The shard.
    pub closed: Closed,
    non_finite: Vec<(usize, usize, f64)>,
}

fn noted(at: At<'_>, algo: Algo, ratio: &json::Number) -> Result<Noted, ShapeError> {
    let shard = at.field("shard")?;
    let name = shard.field("name")?;
    let path = RelPath::new(name.str()?).map_err(|_| name.unexpected("a path"))?;
    let entry = ShardEntry {
        name: path,
        raw_bytes: shard.field("raw_bytes")?.u64()?,
        bytes: shard.field("bytes")?.u64()?,
        algo,
        ratio: ratio.clone(),
        sha256: shard.field("sha256")?.str()?.to_owned(),
    };
    let lengths = at.field("lengths")?.items()?.map(At::u64).collect::<Result<_, _>>()?;
    let special = at.field("non_finite")?.items()?.map(|item| {
        let place = |at: At<'_>| {
            let place = usize::try_from(at.u64()?);
            place.map_err(|_| at.unexpected("a position"))
        };
        let bits = item.index(2)?;
        let value = u64::from_str_radix(bits.str()?, 16).map_err(|_| bits.unexpected("digits"))?;
        Ok((place(item.index(0)?)?, place(item.index(1)?)?, f64::from_bits(value)))
    });
    let non_finite = special.collect::<Result<_, _>>()?;
    Ok(Noted { closed: Closed { entry, lengths }, non_finite })
}

/// What a journal says: the first lines that are whole.
#[derive(Clone, Debug)]
pub struct Told {
    /// What its writer did.
    pub head: Head,
    /// The shards that it finished.
    pub shards: Vec<Noted>,
}

fn told(bytes: &[u8], limits: &Limits) -> Option<Told> {
    // The last line may be cut.
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').filter(|l| l.ends_with(b"\n"));
    let options = ReadOptions::default().with_limits(*limits);
    let read = |line: &[u8]| Some(json::read(line, &options).ok()?.value);
    let head = Head::read(At::root(&read(lines.next()?)?)).ok()?;
    let algo = head.options.get("compression").and_then(Value::as_str);
    let (algo, ratio) = (Algo::from_name(algo?)?, head.options.get("ratio")?.as_number()?.clone());
    let mut shards = Vec::new();
    for line in lines {
        match read(line).and_then(|value| noted(At::root(&value), algo, &ratio).ok()) {
            Some(shard) => shards.push(shard),
            None => break,
        }
    }
    Some(Told { head, shards })
}

/// The journals in a stage.
///
/// # Errors
/// I/O faults.
pub fn journals(root: &dyn RootMut, folder: &RelPath) -> Result<Vec<RelPath>> {
    let entries = match root.list(folder) {
        Err(error) if error.kind() == Kind::NotFound => Vec::new(),
        other => other?,
    };
    let named = entries.into_iter().filter(|entry| {
        entry.kind == EntryKind::File
            && entry.name.starts_with(TEMPORARY)
            && entry.name.ends_with(ENDING)
    });
    Ok(named.filter_map(|entry| folder.join(&entry.name).ok()).collect())
}

/// What the journal of a stage that says most says; `None` where there is none.
///
/// # Errors
/// `io/conflict` where its writer is alive; I/O faults.
pub fn read(root: &dyn RootMut, folder: &RelPath, limits: &Limits) -> Result<Option<Told>> {
    let mut best: Option<Told> = None;
    for path in journals(root, folder)? {
        if root.journal_is_held(&path)? {
            let message = "expected no writer at work, found one";
            return Err(Error::new(Kind::Conflict, "io/conflict", Place::file(&path), message));
        }
        let told = told(&root.read(&path)?, limits);
        let more = |told: &Told| best.as_ref().is_none_or(|b| told.shards.len() >= b.shards.len());
        best = told.filter(more).or(best);
    }
    Ok(best)
}

/// Starts a journal that no other one in the stage is called.
///
/// # Errors
/// `Io`.
pub fn start(root: &dyn RootMut, folder: &RelPath) -> Result<(RelPath, Box<dyn Journal>)> {
    let taken = journals(root, folder)?;
    for number in 0.. {
        let path = folder.join(&format!("{TEMPORARY}{number:06}{ENDING}")).unwrap_or_default();
        if !taken.contains(&path) {
            return Ok((path.clone(), root.journal(&path)?));
        }
    }
    Err(Error::new(Kind::Exists, "io/exists", Place::file(folder), "expected a free name"))
}

/// Appends the metadata of a shard's records to columns.
///
/// # Errors
/// What [`record::locate`] and [`record::parse`] say; `index_past_end` where the lengths do not make up the shard.
pub fn restore(
    noted: &Noted,
    shard: &[u8],
    columns: &[ColumnSpec],
    values: &mut [Column],
    place: &Place,
    limits: &Limits,
) -> Result<()> {
    let mut fresh: Vec<Column> = columns.iter().map(|c| Column::empty(c.kind.column())).collect();
    let mut offset = 0u64;
    for (row, len) in noted.closed.lengths.iter().enumerate() {
        let at = super::index::Row { shard: 0, offset, len: *len };
        let place = place.clone().record(row as u64).at(offset);
        let found = record::locate(shard, at, &place)?;
        let copy = shard.get(found.metadata).unwrap_or_default();
        let object = record::parse(copy, columns, &place, limits)?;
        for (number, (column, to)) in columns.iter().zip(&mut fresh).enumerate() {
            let value = object.get(&column.name).unwrap_or(&Value::Null);
            let special = || noted.non_finite.iter().find(|(c, r, _)| (*c, *r) == (number, row));
            let cell = match value {
                Value::Bool(value) => Cell::Bool(*value),
                Value::String(text) => Cell::Utf8(text),
                Value::Number(n) if column.kind == ValueKind::Int => {
                    Cell::Int64(n.as_i64().unwrap_or(0))
                }
                Value::Number(n) => Cell::Float64(n.to_f64()),
                _ => Cell::Float64(special().map_or(f64::NAN, |(_, _, value)| *value)),
            };
            to.push(cell).map_err(|error| {
                let message = error.to_string();
                Error::new(Kind::Corrupt, codes::ENVELOPE_KIND_DIFFERS, place.clone(), message)
            })?;
        }
        offset = offset.saturating_add(*len);
    }
    if offset != shard.len() as u64 {
        let message = format!("expected records of {offset} bytes, found {}", shard.len());
        return Err(Error::new(Kind::Corrupt, codes::SHARD_LENGTH, place.clone(), message));
    }
    for (to, from) in values.iter_mut().zip(&fresh) {
        to.extend(from).map_err(|error| {
            let message = error.to_string();
            Error::new(Kind::Corrupt, codes::ENVELOPE_KIND_DIFFERS, place.clone(), message)
        })?;
    }
    Ok(())
}
