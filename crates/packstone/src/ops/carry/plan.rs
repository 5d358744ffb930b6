//! Decides in which words a target stores each field.

use std::collections::HashSet;
use std::sync::Arc;

use packstone_container::json::Object;

use super::{Form, METADATA_FIELD};
use crate::error::Result;
use crate::format::{Collection, Plan};
use crate::model::{DType, Fidelity, Field, Holds, Key, Schema};

/// A field of the source and the field that stores it.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) source: Field,
    pub(super) stored: Field,
    pub(super) form: Form,
}

/// What is stored in other words.
#[derive(Clone, Debug)]
pub(in crate::ops) struct Carry {
    pub(super) slots: Vec<Slot>,
    /// The field of the samples' metadata, where these are stored as a field.
    pub(super) metadata: Option<Field>,
    /// Names of collections: of the source, of the target.
    pub(super) renamed: Vec<(String, String)>,
    /// Collections without samples that are not stored.
    pub(super) empty: Vec<String>,
    /// What the source says about itself.
    pub(super) source: Option<(String, Object)>,
    pub(super) schema: Arc<Schema>,
}

impl Carry {
    /// The fields as the target stores them.
    pub(in crate::ops) fn stored(&self) -> Schema {
        let fields = self.slots.iter().filter(|slot| slot.form != Form::Absent);
        let fields = fields.map(|slot| slot.stored.clone());
        Schema::new(fields.chain(self.metadata.clone()).collect())
    }

    /// What the target calls a collection.
    pub(in crate::ops) fn name<'a>(&'a self, collection: &'a str) -> &'a str {
        let renamed = self.renamed.iter().find(|(source, _)| source == collection);
        renamed.map_or(collection, |(_, target)| target.as_str())
    }

    /// True for a collection that the target does not store.
    pub(in crate::ops) fn leaves_out(&self, collection: &str) -> bool {
        self.empty.iter().any(|name| name == collection)
    }

    /// True where the target stores everything as the source has it.
    pub(in crate::ops) fn is_plain(&self) -> bool {
        let same = |slot: &Slot| slot.form == Form::Same && slot.source == slot.stored;
        self.slots.iter().all(same)
            && self.metadata.is_none()
            && self.renamed.is_empty()
            && self.empty.is_empty()
    }

    /// Says what is carried.
    pub(in crate::ops) fn report(&self, fidelity: &mut Fidelity) {
        for Slot { source, stored, form } in &self.slots {
            let name = source.key.to_string();
            let what = match form {
                Form::Absent => "arrays without elements are described, not stored".to_owned(),
                _ if source == stored => continue,
                _ => format!("stored as {}", spelled(stored, source)),
            };
            fidelity.add(name, what, true);
        }
        if let Some(field) = &self.metadata {
            let what = format!("metadata of samples are stored as the field {}", field.key);
            fidelity.add("", what, true);
        }
        for (source, target) in &self.renamed {
            fidelity.add("", format!("collection {source:?} is stored as {target:?}"), true);
        }
        for name in &self.empty {
            let what = format!("collection {name:?} has no samples and is described, not stored");
            fidelity.add("", what, true);
        }
    }
}

fn spelled(stored: &Field, source: &Field) -> String {
    let (dtype, rank) = (&stored.dtype, stored.shape.len());
    let mut text = match stored.varying {
        true => format!("{dtype} of {rank} dimensions that vary"),
        false if rank == 0 => dtype.to_string(),
        false => format!("{dtype}{:?}", stored.shape),
    };
    if stored.key != source.key {
        text = format!("{text} named {}", stored.key);
    }
    text
}

/// Decides how a target that `holds` so much stores what `wanted` plans, and changes the plan to that.
///
/// # Errors
/// Those of walking the lists of shards.
pub(in crate::ops) fn plan(
    wanted: &mut Plan,
    collections: &[Arc<dyn Collection>],
    holds: &Holds,
) -> Result<Carry> {
    let schema = Arc::clone(&wanted.schema);
    let mut names = Names::new(&schema, holds);
    let slots: Vec<Slot> =
        schema.fields.iter().map(|field| slot(field, holds, &mut names)).collect();
    let mut about = false;
    for collection in collections.iter().filter(|_| !holds.metadata) {
        about = about || collection.has_metadata()?;
    }
    let metadata = about.then(|| {
        let (dtype, rank) = match (holds.json, holds.text, holds.bytes) {
            (true, ..) => (DType::Json, None),
            (_, true, _) => (DType::Str, None),
            (_, _, true) => (DType::Bytes, None),
            _ => (DType::UInt8, Some(1)),
        };
        let key = Key::new(names.free(METADATA_FIELD));
        rank.map_or_else(
            || Field::at(key.clone(), dtype.clone(), []),
            |rank| Field::varying(key.clone(), dtype.clone(), rank),
        )
    });
    let empty =
        wanted.collections.iter().filter(|(_, n)| *n == Some(0) && !holds.empty_collections);
    let empty: Vec<String> = empty.map(|(name, _)| name.clone()).collect();
    wanted.collections.retain(|(name, _)| !empty.contains(name));
    let renamed = rename(wanted, holds);
    let source = wanted.source.clone().map(|(format, native)| (format.to_owned(), native));
    let carry = Carry { slots, metadata, renamed, empty, source, schema };
    wanted.schema = Arc::new(carry.stored());
    Ok(carry)
}

/// Gives collections names that the target knows, those that fit keeping theirs; names that do not find one stay, for
/// the target to refuse.
fn rename(wanted: &mut Plan, holds: &Holds) -> Vec<(String, String)> {
    let Some(known) = holds.collections else { return respell(wanted, holds.collection_name) };
    let taken: HashSet<String> = wanted.collections.iter().map(|(name, _)| name.clone()).collect();
    let mut free = known.iter().filter(|name| !taken.contains(**name));
    let mut renamed = Vec::new();
    for (name, _) in &mut wanted.collections {
        if known.contains(&name.as_str()) {
            continue;
        }
        let Some(target) = free.next() else { continue };
        renamed.push((std::mem::replace(name, (*target).to_owned()), (*target).to_owned()));
    }
    renamed
}

/// Gives collections whose names the target cannot spell names that it can.
fn respell(wanted: &mut Plan, fits: fn(&str) -> bool) -> Vec<(String, String)> {
    let mut taken: HashSet<String> =
        wanted.collections.iter().map(|(name, _)| name.clone()).collect();
    let mut renamed = Vec::new();
    for (name, _) in wanted.collections.iter_mut().filter(|(name, _)| !fits(name)) {
        let mut target = name.replace(['/', '\\', '\0'], "_");
        if !fits(&target) {
            "collection".clone_into(&mut target);
        }
        while !taken.insert(target.clone()) {
            target.push('_');
        }
        renamed.push((std::mem::replace(name, target.clone()), target));
    }
    renamed
}

/// The names of stored fields, each once.
struct Names {
    taken: HashSet<String>,
    nested: bool,
    reserved: &'static [&'static str],
}

impl Names {
    fn new(schema: &Schema, holds: &Holds) -> Self {
        let plain = schema.fields.iter().filter(|field| field.key.parts().len() == 1);
        let taken = plain.map(|field| field.key.to_string()).collect();
        Self { taken, nested: holds.nested, reserved: holds.reserved }
    }

    /// A name like `wish` that nothing else has.
    fn free(&mut self, wish: &str) -> String {
        let mut name = wish.to_owned();
        while self.reserved.contains(&name.as_str()) || !self.taken.insert(name.clone()) {
            name.push('_');
        }
        name
    }

    fn store(&mut self, key: &Key) -> Key {
        let fits = |part: &String| !self.reserved.contains(&part.as_str());
        match key.parts().len() {
            1 if key.parts().iter().all(fits) => key.clone(),
            1 => Key::new(self.free(&key.to_string())),
            _ if self.nested && key.parts().iter().all(fits) => key.clone(),
            _ => Key::new(self.free(&key.to_string())),
        }
    }
}

fn slot(source: &Field, holds: &Holds, names: &mut Names) -> Slot {
    let mut stored = source.clone();
    let mut form = Form::Same;
    stored.key = names.store(&source.key);
    if stored.dtype == DType::Bytes && !stored.is_variable() {
        stored.dtype =
            if holds.bytes && (holds.dtype)(&DType::Bytes) { DType::Bytes } else { DType::UInt8 };
    }
    if stored.dtype == DType::Int && !(holds.dtype)(&DType::Int) {
        stored.dtype = DType::Int64;
    }
    if !stored.is_variable() && !(holds.dtype)(&stored.dtype) {
        stored.shape.extend(stored.dtype.size());
        stored.dtype = DType::UInt8;
    }
    if stored.dtype == DType::Json && !holds.json {
        stored.dtype = DType::Str;
    }
    if stored.dtype == DType::Str && !holds.text {
        stored.dtype = DType::Bytes;
    }
    if stored.varying && !holds.varying {
        (stored.dtype, stored.shape, stored.varying) = (DType::Bytes, Vec::new(), false);
        form = Form::Framed;
    }
    if stored.is_variable() && stored.dtype == DType::Bytes && !holds.bytes {
        (stored.dtype, stored.shape, stored.varying) = (DType::UInt8, vec![0], true);
    }
    if !holds.empty_arrays && !stored.varying && stored.shape.contains(&0) {
        form = Form::Absent;
    }
    Slot { source: source.clone(), stored, form }
}
