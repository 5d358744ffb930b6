//! DatasetRT: immutable caches of samples, each some bytes with a row of metadata.
//!
//! ```text
//! BASE/
//! ├── NAME/                     a cache
//! │   ├── manifest.json         what it holds, with checksums; it alone makes the cache complete
//! │   ├── metadata.arrow        one row a sample: bool, int, float, string columns
//! │   ├── index.bin             one row a sample: shard, offset, length of its record
//! │   └── shards/000000.bin …   records: length of metadata, metadata again as JSON, payload (as it is, or LZ4)
//! └── tmp/NAME/                 a cache in the making
//! ```
//!
//! | | read | written |
//! | --- | --- | --- |
//! | manifest version 2 (releases 0.3) | yes | on request |
//! | manifest version 3 (releases 0.4) | yes | yes |
//! | payloads | none, lz4 | none, lz4 |
//!
//! A sample has the one field `data`; the metadata columns are what is said about it. Rules are those of the public
//! specification; where the original library differs, the modules say so.

pub mod audit;
pub mod codes;
pub mod document;
pub mod layout;
pub mod options;
pub mod parts;
pub mod reader;
pub mod schema;
pub mod writer;

use std::collections::BTreeMap;
use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::json::{Object, Value};
use packstone_io::{Kind, RelPath, Root, RootMut};

use crate::error::{Error, Place, Result};
use crate::format::{
    Audit, AuditOptions, Dataset, Format, MergeOptions, Plan, RepairOptions, RepairReport, Writer,
    Written,
};
use crate::model::{Fidelity, Holds};
use options::{OpenOptions, SampleMetadata, WriterOptions};
use parts::descriptor::FieldPlace;
use parts::rows::{METADATA_COLUMN, places};
use parts::selected::SelectedDataset;
use parts::stage::check_name;
use reader::DatasetRtDataset;

/// The format, see [the module](self).
#[derive(Debug)]
pub struct DatasetRt;

impl Format for DatasetRt {
    fn id(&self) -> &'static str {
        "datasetrt"
    }

    fn title(&self) -> &'static str {
        "DatasetRT: immutable caches of payloads with a metadata table"
    }

    fn write_options(&self) -> &'static [(&'static str, &'static str)] {
        options::NAMES
    }

    fn mark(&self) -> &'static str {
        layout::MANIFEST
    }

    fn recognizes(&self, root: &dyn Root) -> Result<bool> {
        if root.sole_file().is_some() {
            return Ok(false);
        }
        // What a killed writer left is recognized, so that it can be repaired.
        Ok(reader::is_cache(root, &RelPath::root())?
            || !reader::caches_in(root)?.is_empty()
            || reader::has_stages(root)?)
    }

    fn open(&self, root: Arc<dyn Root>, limits: &Limits) -> Result<Arc<dyn Dataset>> {
        Ok(Arc::new(DatasetRtDataset::open(root, &OpenOptions::default(), limits)?))
    }

    fn open_many(&self, roots: Vec<Arc<dyn Root>>, limits: &Limits) -> Result<Arc<dyn Dataset>> {
        match <[_; 1]>::try_from(roots) {
            Ok([only]) => self.open(only, limits),
            Err(roots) => {
                let options = OpenOptions::default();
                Ok(Arc::new(DatasetRtDataset::open_many(roots, &options, limits)?))
            }
        }
    }

    fn open_selection(
        &self,
        document: &[u8],
        open: &mut dyn FnMut(&str) -> Result<Arc<dyn Root>>,
        limits: &Limits,
    ) -> Result<Arc<dyn Dataset>> {
        let options = OpenOptions::default();
        Ok(Arc::new(SelectedDataset::open(document, open, &options, limits)?))
    }

    fn holds(&self, _plan: &Plan, options: &Object) -> Result<Holds> {
        WriterOptions::default().with(options)?;
        let collection_name = |name: &str| check_name(name).is_ok();
        Ok(Holds { empty_collections: false, collection_name, ..Holds::ALL })
    }

    fn fidelity(&self, plan: &Plan, options: &Object) -> Result<Fidelity> {
        let options = settle(plan, options)?;
        let mut fidelity = Fidelity::default();
        for (name, samples) in &plan.collections {
            check_name(name)?;
            if *samples == Some(0) {
                let what = format!("the collection {name:?} has no samples and is left out");
                fidelity.add("", what, false);
            }
        }
        for (name, renamed) in renamed(plan, &options) {
            let what = format!("metadata column {name:?} is stored as {renamed:?}");
            fidelity.add("", what, false);
        }
        for stored in places(&plan.schema, &options)? {
            let what = match stored.place {
                FieldPlace::Payload => continue,
                FieldPlace::Tensor(name) => format!("stored as tensor {name:?} of the payload"),
                FieldPlace::Column(name) => format!("stored as metadata column {name:?}"),
            };
            fidelity.add(stored.field.key.to_string(), what, true);
        }
        if options.metadata == Some(SampleMetadata::Json) {
            let what =
                format!("metadata of samples are stored as text in column {METADATA_COLUMN}");
            fidelity.add("", what, true);
        }
        Ok(fidelity)
    }

    fn resumes(&self, options: &Object) -> bool {
        WriterOptions::default().with(options).is_ok_and(|options| options.resume)
    }

    fn create(
        &self,
        root: Arc<dyn RootMut>,
        plan: &Plan,
        options: &Object,
    ) -> Result<Box<dyn Writer>> {
        let options = settle(plan, options)?;
        for (at, (name, _)) in plan.collections.iter().enumerate() {
            check_name(name)?;
            if plan.collections.iter().take(at).any(|(other, _)| other == name) {
                let message = format!("expected each collection once, found {name:?} again");
                let code = codes::NAME_INVALID;
                return Err(Error::new(Kind::Invalid, code, Place::default(), message));
            }
        }
        let (schema, carried) = (Arc::clone(&plan.schema), plan.carried.clone());
        let mut writer = writer::BaseWriter::new(root, schema, carried, options)?;
        for ((name, _), document) in plan.collections.iter().zip(&plan.documents) {
            let source =
                document.as_ref().and_then(|manifest| manifest.get("source_name")?.as_str());
            writer.name_source(name, source.unwrap_or(name));
        }
        Ok(Box::new(writer))
    }

    fn part(&self, _root: Arc<dyn RootMut>, _name: &str) -> Result<Box<dyn Writer>> {
        Err(immutable("a cache is written once and by one writer"))
    }

    fn audit(&self, root: Arc<dyn Root>, options: &AuditOptions) -> Result<Audit> {
        audit::audit(&root, options)
    }

    fn audit_many(&self, roots: Vec<Arc<dyn Root>>, options: &AuditOptions) -> Result<Audit> {
        audit::audit_many(roots, options)
    }

    fn merge(&self, _root: Arc<dyn RootMut>, _options: &MergeOptions) -> Result<Written> {
        Err(immutable("caches are read as one dataset by naming all of them"))
    }

    fn repair(&self, root: Arc<dyn RootMut>, options: &RepairOptions) -> Result<RepairReport> {
        parts::repair::repair(&root, options)
    }
}

/// The metadata columns of copied caches that get another name.
fn renamed(plan: &Plan, options: &WriterOptions) -> BTreeMap<String, String> {
    let Some(prefix) = options.reserved_prefix.as_deref().filter(|prefix| !prefix.is_empty())
    else {
        return BTreeMap::new();
    };
    let documents = plan.documents.iter().flatten();
    let columns = documents.filter_map(|manifest| manifest.get("metadata_schema")?.as_array());
    let names = columns.flatten().filter_map(|column| column.get("name")?.as_str());
    let reserved = names.filter(|name| layout::RESERVED.contains(name));
    reserved.map(|name| (name.to_owned(), format!("{prefix}{name}"))).collect()
}

fn immutable(why: &str) -> Error {
    let message = format!("expected a format with parts, found that {why}");
    Error::new(Kind::Unsupported, codes::OPTION_INVALID, Place::default(), message)
}

/// What `options` ask for; what they leave open, a dataset of this format takes from where it comes from.
fn settle(plan: &Plan, options: &Object) -> Result<WriterOptions> {
    let own = plan.source.as_ref().filter(|(id, _)| id == DatasetRt.id());
    let mut settled = match own {
        Some(_) => WriterOptions::of_copies(),
        None => WriterOptions { metadata: Some(SampleMetadata::Json), ..WriterOptions::default() },
    };
    let shards = |manifest: &Object| manifest.get("shards")?.as_array()?.first().cloned();
    let first = own.and_then(|_| plan.documents.iter().flatten().find_map(shards));
    if let Some(compression) = first.as_ref().and_then(|shard| shard.get("compression")) {
        let algo = compression.get("algo").and_then(Value::as_str);
        settled.algo = algo.and_then(document::Algo::from_name).unwrap_or_default();
        let ratio = compression.get("ratio").and_then(Value::as_number).map(|n| n.to_f64());
        let kept = settled.algo == document::Algo::Lz4;
        settled.ratio = ratio.filter(|r| kept && r.is_finite() && *r > 0.0).unwrap_or(1.0);
    }
    let asked = options.get("compression").and_then(Value::as_str);
    if asked.is_some_and(|name| name.is_empty() || name.eq_ignore_ascii_case("none")) {
        settled.ratio = 1.0;
    }
    settled.with(options)
}
