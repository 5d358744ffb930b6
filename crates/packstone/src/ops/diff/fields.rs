//! Which fields two schemas have in common, and how the others differ.

use std::sync::Arc;

use super::log::Log;
use crate::model::{Batch, DType, Field, Key, Schema};
use crate::ops::content::{ContentType, content_bytes};

/// A field that both sides have with the same type of content, and where each side has it.
pub(super) struct Common {
    pub(super) key: Key,
    pub(super) sides: [Spot; 2],
}

/// Where one side has a field.
pub(super) struct Spot {
    position: usize,
    pub(super) dtype: DType,
    shape: Vec<u64>,
}

impl Spot {
    fn of(position: usize, field: &Field) -> Self {
        Self { position, dtype: field.dtype.clone(), shape: ContentType::of(field).shape }
    }

    /// The bytes and the shape.
    pub(super) fn value<'a>(
        &'a self,
        (batch, row): (&'a Batch, usize),
    ) -> Option<(&'a [u8], &'a [u64])> {
        let column = batch.columns().get(self.position)?;
        let shape = column.shape(row).unwrap_or(&self.shape);
        Some((content_bytes(&self.dtype, column.bytes(row)?), shape))
    }
}

/// What two schemas have in common.
#[derive(Default)]
pub(super) struct Fields {
    pub(super) common: Vec<Common>,
    /// The other fields, and what is expected and found.
    apart: Vec<(String, String)>,
}

impl Fields {
    pub(super) fn of(a: &Schema, b: &Schema) -> Self {
        let (here, there) = (&a.fields, &b.fields);
        let mut out = Self::default();
        for (at, field) in here.iter().enumerate() {
            let twin = there.iter().enumerate().find(|(_, other)| other.key == field.key);
            let content = ContentType::of(field);
            let found = match twin {
                None => "no such field".to_owned(),
                Some((position, twin)) if content.fits(&ContentType::of(twin)) => {
                    let sides = [Spot::of(at, field), Spot::of(position, twin)];
                    out.common.push(Common { key: field.key.clone(), sides });
                    continue;
                }
                Some((_, twin)) => ContentType::of(twin).to_string(),
            };
            out.apart.push((field.key.to_string(), format!("expected {content}, found {found}")));
        }
        for field in there.iter().filter(|field| here.iter().all(|other| other.key != field.key)) {
            let what = format!("expected no such field, found {}", ContentType::of(field));
            out.apart.push((field.key.to_string(), what));
        }
        out
    }

    pub(super) fn log(&self, index: Option<u64>, log: &mut Log) {
        for (field, what) in &self.apart {
            log.add(index, Some(field.clone()), || what.clone());
        }
    }
}

/// The fields of samples that are not those of their collections, as they were last found.
#[derive(Default)]
pub(super) struct Odd(Option<([Arc<Schema>; 2], Fields)>);

impl Odd {
    pub(super) fn fields(&mut self, a: &Arc<Schema>, b: &Arc<Schema>) -> &Fields {
        let known = self.0.take().filter(|([x, y], _)| Arc::ptr_eq(x, a) && Arc::ptr_eq(y, b));
        let found = || ([Arc::clone(a), Arc::clone(b)], Fields::of(a, b));
        &self.0.insert(known.unwrap_or_else(found)).1
    }
}
