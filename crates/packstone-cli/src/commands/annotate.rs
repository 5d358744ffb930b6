//! `packstone annotate`: publishes an annotation set of a signal dataset.

use std::io::Read as _;
use std::path::Path;

use packstone::formats::sds::parts::carrier::Status;
use packstone::json::{Object, ReadOptions, Value};
use packstone::site::{Annotate, Annotated, Annotations, Work, annotate};
use packstone::{Error, Kind, Place, Result, json};

use packstone_io::{Buf, IoError};

use crate::address::{self, Address};
use crate::failure::{Exit, Outcome};
use crate::output::Out;
use crate::progress::Bar;
use crate::units;

/// Publish annotations of a SignalDataset's records: one a record, all of them or none.
///
/// From JSON Lines, as in `{"id": "rec-1", "status": "success", "values": {"label": 3}, "fields": {"mask": {"dtype":
/// "uint8", "data": [[0, 1], [1, 0]]}}}`, or from a dataset of any format, whose samples they are. Nothing is visible before
/// everything is there; running it again with the same annotations changes nothing. Several workers write a shard each
/// (`--worker`), and one process joins them (`--publish`).
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dataset whose records are annotated.
    #[arg(value_name = "DATASET")]
    dataset: Address,
    /// The annotations: a file of JSON Lines, `-` for standard input, or a dataset.
    #[arg(value_name = "SRC[#COLLECTION]", required_unless_present = "publish")]
    source: Option<Address>,
    /// The name of the set, which must be new.
    #[arg(long, value_name = "NAME")]
    name: String,
    /// Annotations come in any order and name their records by id; else they are about the records in their order.
    #[arg(long, conflicts_with_all = ["worker", "publish"])]
    by_id: bool,
    /// With `--by-id`: what became of records without an annotation, `skipped` or `failed`; else there must be none.
    #[arg(long, value_name = "STATUS", requires = "by_id", value_parser = ["skipped", "failed"])]
    missing: Option<String>,
    /// What the set says about itself: a JSON object, or `@FILE` with one.
    #[arg(long, value_name = "JSON", conflicts_with = "worker")]
    metadata: Option<String>,
    /// Which publication of the set this is; by default one that follows from snapshot and name.
    #[arg(long, value_name = "ID")]
    publication_id: Option<String>,
    /// Annotations in a shard.
    #[arg(long, value_name = "COUNT", default_value_t = 10_000,
        value_parser = clap::value_parser!(u64).range(1..), conflicts_with_all = ["worker", "publish"])]
    records_per_shard: u64,
    /// Only write the shard of this name, for others to join; who is first with a name wins.
    #[arg(long, value_name = "SHARD", requires = "first")]
    worker: Option<String>,
    /// With `--worker`: the record that the shard begins with.
    #[arg(long, value_name = "INDEX", requires = "worker")]
    first: Option<u64>,
    /// Join the shards that workers wrote, which together cover every record once.
    #[arg(long, conflicts_with_all = ["source", "worker"])]
    publish: bool,
    /// How often to begin again where somebody else changes the catalog in between.
    #[arg(long, value_name = "COUNT", default_value_t = 8)]
    retries: u32,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Outcome {
    let request = args.request()?;
    let bar = Bar::counting("annotate");
    let report = annotate(&request, Some(&bar));
    drop(bar);
    let report = report?;
    if out.is_json() {
        out.summary("annotate", report.to_json())?;
        return Ok(Exit::Clean);
    }
    out.line(out.data(&story(&report)).into_owned())?;
    Ok(Exit::Clean)
}

/// What was done, in a line.
fn story(report: &Annotated) -> String {
    let counts = report.statuses.iter().filter(|(_, count)| *count > 0);
    let counts: Vec<String> =
        counts.map(|(status, n)| format!("{} {}", units::count(*n), status.name())).collect();
    let set = &report.set;
    let what = match (&report.worker, report.shards) {
        (Some(shard), _) => format!("the shard {shard:?} of the annotation set {set:?}"),
        (None, Some(n)) => {
            format!("{} as the annotation set {set:?}", units::counted(n, "shard"))
        }
        (None, None) => format!("the annotation set {set:?}"),
    };
    let gap = if counts.is_empty() { "" } else { ": " };
    let records = units::counted(report.records(), "record");
    format!("{} {what}, {records}{gap}{}", report.done(), counts.join(", "))
}

impl Args {
    fn request(&self) -> Result<Annotate> {
        let work = match (&self.worker, self.first) {
            _ if self.publish => Work::Join,
            (Some(shard), Some(first)) => {
                Work::Shard { annotations: self.annotations()?, shard: shard.clone(), first }
            }
            _ => Work::Publish {
                annotations: self.annotations()?,
                by_id: self.by_id,
                missing: self.missing.as_deref().and_then(Status::named),
            },
        };
        Ok(Annotate {
            metadata: self.metadata.as_deref().map_or_else(|| Ok(Object::new()), object)?,
            publication_id: self.publication_id.clone(),
            records_per_shard: self.records_per_shard,
            retries: self.retries,
            sources: address::sources()?,
            ..Annotate::new(self.dataset.whole()?.path.clone(), &*self.name, work)
        })
    }

    fn annotations(&self) -> Result<Annotations> {
        let usage = || {
            let message = "expected annotations to publish, found no path";
            Error::new(Kind::Invalid, "cli/usage", Place::default(), message)
        };
        let Address { path, collection } = self.source.as_ref().ok_or_else(usage)?;
        if path == Path::new("-") {
            let mut text = Vec::new();
            let read = std::io::stdin().lock().read_to_end(&mut text);
            read.map_err(|error| IoError::os("read", "standard input", error))?;
            let (text, label) = (Buf::from(text), "standard input".to_owned());
            return Ok(Annotations::Lines { text, label });
        }
        Annotations::open(path, collection.as_deref(), &address::sources()?)
    }
}

/// A JSON object from the command line, or from a file where `@` stands before its path.
pub(super) fn object(text: &str) -> Result<Object> {
    let bytes = match text.strip_prefix('@') {
        None => text.as_bytes().to_vec(),
        Some(file) => std::fs::read(file).map_err(|e| IoError::os("read", file, e))?,
    };
    let refused = |found: String| {
        let message = format!("expected a JSON object, found {found}");
        Error::new(Kind::Invalid, "cli/usage", Place::default(), message)
    };
    // Of two members with one name the first would be gone without a word.
    let read = json::read(&bytes, &ReadOptions::default().with_refused_duplicates(true));
    match read.map_err(|error| refused(format!("none: {error}")))?.value {
        Value::Object(object) => Ok(object),
        other => Err(refused(other.kind().to_owned())),
    }
}
