//! Sedpack: shards of examples, listed in a tree of JSON files, hashed as a Merkle tree.
//!
//! ```text
//! dataset_info.json                     schema, compression, shard type, checksum algorithms; one pointer a split
//! train/shards_list.json                shards of this folder, pointers to the lists below; counts at every level
//! train/<10 hex>/shards_list.json
//! train/<10 hex>/<10 hex>/<10 hex>/shards_list.json
//! train/<10 hex>/<10 hex>/<10 hex>/<32 hex>.fb|npz|tfrec
//! ```
//!
//! | | fb | npz | tfrec |
//! | --- | --- | --- | --- |
//! | compressions | none, BZ2, GZIP, LZMA, LZ4, ZLIB (as gzip), ZSTD | none, ZIP | none, GZIP, ZLIB |
//! | dtypes | all | all | int8, uint8, int32, int64, int, float16, float32, str, bytes |
//!
//! Rules are those of the public specification; where the original library differs, the modules say so.

pub mod audit;
pub mod codes;
pub mod document;
pub mod layout;
pub mod options;
pub mod parts;
pub mod reader;
pub mod schema;
pub mod writer;

use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::json::{Object, Style, Value};
use packstone_io::{Kind, Root, RootMut};

use crate::error::{Error, Place, Result};
use crate::format::{
    Audit, AuditOptions, Dataset, Format, MergeOptions, Parts, Plan, RepairOptions, RepairReport,
    Writer, Written,
};
use crate::model::{Fidelity, Holds};
use options::FillerOptions;

/// The format, see [the module](self).
#[derive(Debug)]
pub struct Sedpack;

impl Format for Sedpack {
    fn id(&self) -> &'static str {
        "sedpack"
    }

    fn title(&self) -> &'static str {
        "Sedpack: sharded examples with a Merkle tree of lists"
    }

    fn write_options(&self) -> &'static [(&'static str, &'static str)] {
        options::NAMES
    }

    fn mark(&self) -> &'static str {
        layout::ROOT_DOCUMENT
    }

    fn recognizes(&self, root: &dyn Root) -> Result<bool> {
        match root.len(&reader::root_document()?) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == Kind::NotFound => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn open(&self, root: Arc<dyn Root>, limits: &Limits) -> Result<Arc<dyn Dataset>> {
        Ok(Arc::new(reader::SedpackDataset::open(root, limits)?))
    }

    fn holds(&self, plan: &Plan, options: &Object) -> Result<Holds> {
        let shard_type = structure(plan, options)?.shard_type;
        Ok(schema::holds(shard_type, plan.source.as_ref().is_some_and(|(id, _)| id == self.id())))
    }

    fn fidelity(&self, plan: &Plan, options: &Object) -> Result<Fidelity> {
        let structure = structure(plan, options)?;
        schema::check_writable(&plan.schema, structure.shard_type)?;
        collections(plan)?;
        // Within the format everything is kept: values, attribute and shard metadata, and what the dataset says.
        let mut fidelity = Fidelity::default();
        for (name, _) in plan.collections.iter().filter(|(_, samples)| *samples == Some(0)) {
            fidelity.add(
                "",
                format!("the collection {name:?} has no samples and is left out"),
                false,
            );
        }
        Ok(fidelity)
    }

    fn create(
        &self,
        root: Arc<dyn RootMut>,
        plan: &Plan,
        options: &Object,
    ) -> Result<Box<dyn Writer>> {
        let structure = structure(plan, options)?;
        collections(plan)?;
        match &plan.source {
            Some((id, native)) if id == self.id() => {
                writer::create_like(root.as_ref(), native, Arc::clone(&plan.schema), &structure)?
            }
            _ => {
                let mut about = Object::new();
                if let Some(carried) = &plan.carried {
                    let mut custom = Object::new();
                    custom.insert(layout::CARRIED, Value::Object(carried.clone()));
                    about.insert("custom_metadata", Value::Object(custom));
                }
                writer::create(root.as_ref(), Arc::clone(&plan.schema), &structure, &about)?
            }
        };
        let seed = options.get("seed").and_then(Value::as_u64);
        let filler = FillerOptions { seed, exact_metadata: true, ..FillerOptions::default() };
        Ok(Box::new(writer::Filler::open_created(root, filler)?))
    }

    fn parts(
        &self,
        root: Arc<dyn RootMut>,
        plan: &Plan,
        options: &Object,
    ) -> Result<Box<dyn Parts>> {
        if root.len(&reader::root_document()?).is_err() {
            self.create(Arc::clone(&root), plan, options)?.finish()?;
        }
        Ok(Box::new(parts::workers::Workers::open(root, &plan.schema)?))
    }

    fn audit(&self, root: Arc<dyn Root>, options: &AuditOptions) -> Result<Audit> {
        audit::audit(root, options)
    }

    fn part(&self, root: Arc<dyn RootMut>, name: &str) -> Result<Box<dyn Writer>> {
        Ok(Box::new(writer::PartFiller::open(
            root,
            name,
            FillerOptions { exact_metadata: true, ..FillerOptions::default() },
        )?))
    }

    fn merge(&self, root: Arc<dyn RootMut>, options: &MergeOptions) -> Result<Written> {
        parts::merge::merge(&root, options)
    }

    fn repair(&self, root: Arc<dyn RootMut>, options: &RepairOptions) -> Result<RepairReport> {
        parts::repair::repair(&root, options)
    }
}

/// What a new dataset takes from its source where that is Sedpack too, from `options`, and by default.
fn structure(plan: &Plan, options: &Object) -> Result<options::Structure> {
    let mut structure = options::Structure::default();
    if let Some((_, native)) = plan.source.as_ref().filter(|(id, _)| id == Sedpack.id()) {
        let text =
            packstone_container::json::write(&Value::Object(native.clone()), &Style::COMPACT);
        let source = document::DatasetInfo::parse(text.as_bytes(), &Limits::default())?;
        structure.shard_type = source.shard_type;
        structure.compression = source.compression;
        structure.algorithms = source.algorithms;
        structure.examples_per_shard = source.examples_per_shard.max(1);
    }
    structure.with(options)
}

/// Checks that the collections of a new dataset can be splits.
fn collections(plan: &Plan) -> Result<()> {
    match plan.collections.iter().find(|(name, _)| !layout::SPLITS.contains(&name.as_str())) {
        Some((name, _)) => {
            let message =
                format!("expected collections of {}, found {name:?}", layout::SPLITS.join(", "));
            Err(Error::new(Kind::Unsupported, codes::UNKNOWN_SPLIT, Place::default(), message))
        }
        None => Ok(()),
    }
}
