//! Opening files as a dataset.
//!
//! Opening reads the end of each file: postscript, footer, index. Records are read when they are asked for.

use std::ops::Range;
use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::json::{Object, Value};
use packstone_io::{Kind, Root};

use super::codes;
use super::parts::collection::{Placed, Records};
use super::parts::file::File;
use super::parts::frame::Frame;
use super::schema::{check_writable, plain};
use crate::error::{Error, Place, Result};
use crate::format::{Collection, Dataset, Info};
use crate::model::Schema;
use crate::model::own::{Own, RECORDS};

/// One file, or several in their order.
pub struct ArrayRecordDataset {
    info: Info,
    frame: Arc<Frame>,
    files: Arc<[Placed]>,
    collections: Vec<(String, u64)>,
}

impl ArrayRecordDataset {
    /// Opens the files that these roots show.
    ///
    /// # Errors
    /// Those of [`File::open`]; `mixed_files` where files have fields of their own that are not the same.
    pub fn open(roots: &[Arc<dyn Root>], limits: &Limits) -> Result<Self> {
        let mut files: Vec<Placed> = Vec::with_capacity(roots.len());
        let mut records = 0u64;
        for root in roots {
            let file = File::open(root.as_ref(), limits)?;
            let first = records;
            records = records.saturating_add(file.reader.len());
            files.push((Arc::new(file), first));
        }
        let own = together(&files, records)?;
        let native = match &files[..] {
            [(file, _)] => file.native(),
            _ => natives(&files, records),
        };
        let carried = own.as_ref().and_then(|own| own.carried.clone());
        let info = Info { format: super::ID, native, carried };
        let schema = own.as_ref().map_or_else(plain, |own| own.schema.clone());
        let frame = match Frame::new(Arc::new(schema)) {
            Some(frame) => frame,
            None => check_writable(&plain())?,
        };
        let collections =
            own.map_or_else(|| vec![(RECORDS.to_owned(), records)], |own| own.collections);
        Ok(Self { info, frame: Arc::new(frame), files: files.into(), collections })
    }

    fn range(&self, name: &str) -> Option<Range<u64>> {
        let mut next = 0u64;
        for (known, len) in &self.collections {
            let first = next;
            next = next.saturating_add(*len);
            if known == name {
                return Some(first..next);
            }
        }
        None
    }
}

/// What the notes of all files say together.
fn together(files: &[Placed], records: u64) -> Result<Option<Own>> {
    let [(first, _), others @ ..] = files else { return Ok(None) };
    if others.is_empty() {
        return Ok(first.own.clone());
    }
    let kind = |file: &File| match &file.own {
        None => None,
        Some(own) => {
            let name = match &own.collections[..] {
                [(name, _)] => Some(name.clone()),
                _ => None,
            };
            Some((own.schema.clone(), own.carried.clone(), name))
        }
    };
    let expected = kind(first);
    let several = matches!(&expected, Some((_, _, None)));
    let other = others.iter().find(|(file, _)| several || kind(file) != expected);
    if let Some((file, _)) = other {
        let message = format!(
            "expected one collection of the fields and name of that in {}, found another",
            first.label
        );
        let place = Place::file(&file.label);
        return Err(Error::new(Kind::Invalid, codes::MIXED_FILES, place, message));
    }
    Ok(expected.map(|(schema, carried, name)| Own {
        schema,
        carried,
        collections: vec![(name.unwrap_or_else(|| RECORDS.to_owned()), records)],
        ..Own::default()
    }))
}

/// What several files say about themselves.
fn natives(files: &[Placed], records: u64) -> Object {
    let sum = |of: &dyn Fn(&File) -> u64| {
        files.iter().map(|(file, _)| of(file)).fold(0u64, u64::saturating_add)
    };
    let list = files.iter().map(|(file, _)| {
        let mut out = Object::from_iter([("path", Value::from(file.label.as_str()))]);
        for (name, value) in file.native() {
            out.insert(name, value);
        }
        Value::Object(out)
    });
    let mut out = Object::new();
    let first = files.first().and_then(|(file, _)| file.reader.writer_options());
    out.insert("writer_options", first.map_or(Value::Null, Value::from));
    out.insert("records", records);
    out.insert("chunks", sum(&|file| file.reader.chunk_count()));
    out.insert("file_bytes", sum(&|file| file.reader.file_len()));
    out.insert("files", list.collect::<Vec<_>>());
    out
}

impl Dataset for ArrayRecordDataset {
    fn info(&self) -> &Info {
        &self.info
    }

    fn schema(&self) -> &Arc<Schema> {
        self.frame.schema()
    }

    fn collections(&self) -> Vec<String> {
        self.collections.iter().map(|(name, _)| name.clone()).collect()
    }

    fn collection(&self, name: &str) -> Result<Arc<dyn Collection>> {
        let range = self.range(name).ok_or_else(|| {
            let known = self.collections().join(", ");
            let message = format!("expected one of the collections {known}, found {name:?}");
            let place = Place::default();
            Error::new(Kind::NotFound, codes::UNKNOWN_COLLECTION, place, message)
        })?;
        let (frame, files) = (Arc::clone(&self.frame), Arc::clone(&self.files));
        Ok(Arc::new(Records { name: name.to_owned(), range, frame, files }))
    }
}
