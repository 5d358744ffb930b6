//! The description: what was stored in other words, as JSON.

use std::sync::Arc;

use packstone_container::json::{At, Object, ShapeError, Value};

use super::plan::{Carry, Slot};
use super::{Form, VERSION};
use crate::model::{DType, Field, Key, Schema};

impl Carry {
    /// The description.
    pub(in crate::ops) fn describe(&self) -> Object {
        let mut out = Object::new();
        out.insert("version", VERSION);
        if let Some((format, native)) = &self.source {
            let mut source = Object::new();
            source.insert("format", format.as_str());
            source.insert("native", Value::Object(native.clone()));
            out.insert("source", Value::Object(source));
        }
        let fields = self.slots.iter().map(|slot| {
            let mut line = Object::new();
            line.insert("key", texts(slot.source.key.parts()));
            describe(&slot.source, &mut line);
            let mut stored = Object::new();
            stored.insert("form", slot.form.name());
            stored.insert("key", texts(slot.stored.key.parts()));
            describe(&slot.stored, &mut stored);
            line.insert("stored", Value::Object(stored));
            Value::Object(line)
        });
        out.insert("fields", fields.collect::<Vec<_>>());
        if let Some(field) = &self.metadata {
            out.insert("metadata", texts(field.key.parts()));
        }
        let renamed = self.renamed.iter().map(|(source, target)| {
            let pair = [source, target].map(|name| Value::from(name.as_str()));
            Value::Array(pair.to_vec())
        });
        out.insert("renamed", renamed.collect::<Vec<_>>());
        out.insert("empty", texts(&self.empty));
        out
    }

    /// Reads a description.
    pub(super) fn read(description: &Object) -> Result<Self, ShapeError> {
        let value = Value::Object(description.clone());
        let at = At::root(&value);
        let version = at.field("version")?;
        if version.u64()? != VERSION {
            return Err(version.unexpected(format!("version {VERSION}")));
        }
        let source = match at.optional("source")? {
            None => None,
            Some(source) => {
                let native = source.field("native")?.object()?.clone();
                Some((source.field("format")?.str()?.to_owned(), native))
            }
        };
        let slots = at.field("fields")?.items()?.map(slot).collect::<Result<Vec<_>, _>>()?;
        let metadata = match at.optional("metadata")? {
            None => None,
            Some(key) => Some(Field::at(Key::nested(names(key)?), DType::Json, [])),
        };
        let pairs = at
            .field("renamed")?
            .items()?
            .map(|pair| Ok((pair.index(0)?.str()?.to_owned(), pair.index(1)?.str()?.to_owned())));
        let renamed = pairs.collect::<Result<Vec<_>, ShapeError>>()?;
        let empty = names(at.field("empty")?)?;
        let schema = Schema::new(slots.iter().map(|slot| slot.source.clone()).collect());
        Ok(Self { slots, metadata, renamed, empty, source, schema: Arc::new(schema) })
    }
}

fn texts(names: &[String]) -> Value {
    names.iter().map(String::as_str).collect()
}

fn names(at: At<'_>) -> Result<Vec<String>, ShapeError> {
    at.items()?.map(|name| Ok(name.str()?.to_owned())).collect()
}

fn describe(field: &Field, line: &mut Object) {
    line.insert("dtype", field.dtype.name().as_ref());
    if field.varying {
        line.insert("rank", field.shape.len() as u64);
    } else {
        line.insert("shape", Value::from(field.shape.as_slice()));
    }
    if !field.metadata.is_empty() {
        line.insert("metadata", Value::Object(field.metadata.clone()));
    }
}

fn slot(at: At<'_>) -> Result<Slot, ShapeError> {
    let stored = at.field("stored")?;
    let form = stored.field("form")?;
    let name = form.str()?;
    let known = Form::ALL.into_iter().find(|form| form.name() == name);
    let form = known.ok_or_else(|| form.unexpected("one of same, framed, absent"))?;
    Ok(Slot { source: field(at)?, stored: field(stored)?, form })
}

fn field(at: At<'_>) -> Result<Field, ShapeError> {
    let (key, dtype) = (Key::nested(names(at.field("key")?)?), at.field("dtype")?);
    let dtype = DType::from_name(dtype.str()?).ok_or_else(|| dtype.unexpected("a dtype"))?;
    let mut field = match at.optional("rank")? {
        Some(rank) => {
            let count = usize::try_from(rank.u64()?).ok().filter(|n| *n <= 64);
            Field::varying(key, dtype, count.ok_or_else(|| rank.unexpected("at most 64"))?)
        }
        None => {
            let dims = at.field("shape")?.items()?.map(At::u64);
            Field::at(key, dtype, dims.collect::<Result<Vec<_>, _>>()?)
        }
    };
    if let Some(metadata) = at.optional("metadata")? {
        field.metadata = metadata.object()?.clone();
    }
    Ok(field)
}
