//! SignalDataset (SDS), layout 0.1: records of arrays with axes, in ArrayRecord shards, published once and for all.
//!
//! ```text
//! root.json                                                   which dataset; written last
//! snapshots/<snapshot>/snapshot.json                          how many records; the pages of the manifest
//! manifests/<2 hex>/<snapshot>-<8 digits>.json                a page: shards, or records of other datasets' shards
//! objects/data/<2 hex>/<sha256>.arrayrecord                   records, one SafeTensors buffer each
//! objects/metadata/<2 hex>/<sha256>.arrayrecord               their rows: all but the values, as JSON
//! annotations/catalog.json                                    the newest revision; the one document that changes
//! annotations/catalogs/<sha256>.json                          revisions: annotation sets by name
//! annotations/sets/<name>/<publication>/root.json             a set: one annotation a record
//! annotations/sets/<name>/<publication>/objects/<2 hex>/<id>.arrayrecord
//! annotations/sets/<name>/<publication>/shards/<2 hex>/<sha256>.json      which worker was first
//! ```
//!
//! | | read | written |
//! | --- | --- | --- |
//! | records, rows, annotations | all of layout 0.1 | byte by byte as the original |
//! | control documents | all of layout 0.1, generations ignored | byte by byte as the original |
//! | views | relative; absolute with consent | relative inside of their folder, else absolute |
//! | dtypes | bool, (u)int8…64, float16…64, complex64 | the same |
//!
//! Nothing is found by listing: readers follow references from the root on, and what none leads to is ignored. Rules are
//! those of the public format document; where the original library (0.4.0) differs, the modules say so.

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
use packstone_container::json::Object;
use packstone_io::{Kind, RelPath, Root, RootMut};

use crate::error::{Error, Place, Result};
use crate::format::{
    Audit, AuditOptions, Dataset, Format, MergeOptions, Parts, Plan, RepairOptions, RepairReport,
    Sources, Writer, Written, only,
};
use crate::model::{Fidelity, Holds};

/// The format's name.
const ID: &str = "sds";

/// The format, see [the module](self).
#[derive(Debug)]
pub struct Sds;

impl Format for Sds {
    fn id(&self) -> &'static str {
        ID
    }

    fn title(&self) -> &'static str {
        "SignalDataset: published records of arrays with axes, on ArrayRecord"
    }

    fn write_options(&self) -> &'static [(&'static str, &'static str)] {
        writer::NAMES
    }

    fn mark(&self) -> &'static str {
        layout::ROOT_DOCUMENT
    }

    fn recognizes(&self, root: &dyn Root) -> Result<bool> {
        let marks = [layout::ROOT_DOCUMENT, layout::PROTOTYPE_DOCUMENT];
        match root.list(&RelPath::root()) {
            Ok(entries) => Ok(entries.iter().any(|entry| marks.contains(&entry.name.as_str()))),
            Err(error) if error.kind() == Kind::NotFound => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn mixes_fields(&self) -> bool {
        true
    }

    fn open(&self, root: Arc<dyn Root>, limits: &Limits) -> Result<Arc<dyn Dataset>> {
        Ok(Arc::new(reader::SdsDataset::open(root, limits)?))
    }

    fn open_following(
        &self,
        roots: Vec<Arc<dyn Root>>,
        limits: &Limits,
        sources: &Sources,
    ) -> Result<Arc<dyn Dataset>> {
        let root = only(ID, roots)?;
        let options = options::OpenOptions::within(limits).with_sources(sources);
        Ok(Arc::new(reader::SdsDataset::open_with(root, &options)?))
    }

    fn holds(&self, plan: &Plan, options: &Object) -> Result<Holds> {
        writer::WriteOptions::new(plan, options)?;
        Ok(schema::holds())
    }

    fn fidelity(&self, plan: &Plan, options: &Object) -> Result<Fidelity> {
        writer::WriteOptions::new(plan, options)?;
        schema::check_plan(plan)?;
        // Several collections, scalars and what is carried stand in the root's metadata, and come back.
        let mut fidelity = Fidelity::default();
        let own = plan.source.as_ref().is_some_and(|(id, _)| id == ID);
        for (name, _) in plan.collections.iter().filter(|_| own) {
            if writer::set_name(name).is_some() {
                let what = format!("what is said about the set {name:?} as a whole is left out");
                fidelity.add("", what, false);
            }
        }
        Ok(fidelity)
    }

    fn create(
        &self,
        root: Arc<dyn RootMut>,
        plan: &Plan,
        options: &Object,
    ) -> Result<Box<dyn Writer>> {
        Ok(Box::new(writer::SdsWriter::create(root, plan, options)?))
    }

    fn part(&self, _root: Arc<dyn RootMut>, _name: &str) -> Result<Box<dyn Writer>> {
        Err(published("a part of its own is written with write_shard, before it is published"))
    }

    fn parts(
        &self,
        root: Arc<dyn RootMut>,
        plan: &Plan,
        options: &Object,
    ) -> Result<Box<dyn Parts>> {
        Ok(Box::new(parts::workers::Workers::new(root, plan, options)?))
    }

    fn audit(&self, root: Arc<dyn Root>, options: &AuditOptions) -> Result<Audit> {
        audit::audit(root, options)
    }

    fn merge(&self, _root: Arc<dyn RootMut>, _options: &MergeOptions) -> Result<Written> {
        Err(published("shards of workers are joined with publish, once"))
    }

    fn repair(&self, _root: Arc<dyn RootMut>, _options: &RepairOptions) -> Result<RepairReport> {
        Err(published("a publication that was cut off is completed by running it again"))
    }
}

/// The error for changes of what cannot change.
fn published(instead: &str) -> Error {
    let message = format!(
        "expected a format whose datasets change, found one that is published once: {instead}"
    );
    Error::new(Kind::Unsupported, codes::PUBLISHED_ONCE, Place::default(), message)
}
