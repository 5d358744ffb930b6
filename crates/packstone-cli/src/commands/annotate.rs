//! `packstone annotate`: publishes an annotation set of a signal dataset.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use packstone::format::Collection;
use packstone::formats::sds::layout::publication_id;
use packstone::formats::sds::parts::annotate::{
    AnnotationOptions, WorkerShard, check_annotations, publish_annotation_shards,
    publish_annotations, worker_pointers, write_annotation_shard,
};
use packstone::formats::sds::parts::carrier::{Annotation, Status};
use packstone::formats::sds::parts::lines::{self, Found, in_order, lines, of_sample};
use packstone::formats::sds::reader::SdsDataset;
use packstone::json::{Object, ReadOptions, Value};
use packstone::ops::{Decoded, Scan};
use packstone::{Error, Kind, Limits, Place, Result, Root, RootMut, json, registry, site};

use packstone_io::{Buf, IoError};

use crate::address::{self, Address};
use crate::failure::{Exit, Outcome};
use crate::output::Out;
use crate::{interrupt, units};

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
    let target = Target::open(args)?;
    let mut tally = Tally::default();
    let (verb, shards) = if args.publish {
        ("joined", Some(target.join(&mut tally)?))
    } else if let (Some(shard), Some(first)) = (&args.worker, args.first) {
        target.shard(shard, first, &mut tally)?;
        ("wrote", None)
    } else {
        target.publish(&mut tally)?;
        ("published", None)
    };
    let records =
        tally.counts.iter().map(|(_, count)| count).fold(0u64, |a, b| a.saturating_add(*b));
    if out.is_json() {
        let counts: Object = tally.counts.iter().map(|(status, n)| (status.name(), *n)).collect();
        let report = json!({
            "set": args.name.as_str(),
            "publication_id": target.publication_id.as_str(),
            "done": verb,
            "worker": args.worker.as_deref(),
            "shards": shards,
            "records": records,
            "statuses": counts,
        });
        out.summary("annotate", report)?;
        return Ok(Exit::Clean);
    }
    let counts = tally.counts.iter().filter(|(_, count)| *count > 0);
    let counts: Vec<String> =
        counts.map(|(status, n)| format!("{} {}", units::count(*n), status.name())).collect();
    let what = match (&args.worker, shards) {
        (Some(shard), _) => format!("the shard {shard:?} of the annotation set {:?}", args.name),
        (None, Some(n)) => {
            format!("{} as the annotation set {:?}", units::counted(n, "shard"), args.name)
        }
        (None, None) => format!("the annotation set {:?}", args.name),
    };
    let gap = if counts.is_empty() { "" } else { ": " };
    let told =
        format!("{verb} {what}, {}{gap}{}", units::counted(records, "record"), counts.join(", "));
    out.line(out.data(&told).into_owned())?;
    Ok(Exit::Clean)
}

/// How many annotations have each status.
struct Tally {
    counts: [(Status, u64); 3],
}

impl Default for Tally {
    fn default() -> Self {
        Self { counts: Status::ALL.map(|status| (status, 0)) }
    }
}

impl Tally {
    fn add(&mut self, status: Status) {
        let found = self.counts.iter_mut().find(|(known, _)| *known == status);
        if let Some((_, count)) = found {
            *count = count.saturating_add(1);
        }
    }
}

/// Where annotations come from.
enum Source {
    Lines { text: Buf, label: String },
    Samples { collection: Arc<dyn Collection>, label: String },
}

/// Annotations of records in a row.
type Annotations<'s> = Box<dyn Iterator<Item = Result<Annotation>> + 's>;

impl Source {
    /// A dataset, or else lines.
    fn open(address: &Address) -> Result<Self> {
        let path = address.path.as_path();
        let label = path.display().to_string();
        if path == Path::new("-") {
            let mut text = Vec::new();
            let read = std::io::stdin().lock().read_to_end(&mut text);
            read.map_err(|error| IoError::os("read", "standard input", error))?;
            let (text, label) = (Buf::from(text), "standard input".to_owned());
            return Ok(Self::Lines { text, label });
        }
        if path.is_file() && address.collection.is_none() {
            let root = site::root(path)?;
            let known = !matches!(
                registry::probe(root.as_ref()), Err(error) if error.kind() == Kind::NotFound
            );
            if !known && site::sources(path, &Limits::default())?.is_none() {
                let text = root.read(&root.sole_file().cloned().unwrap_or_default())?;
                return Ok(Self::Lines { text, label });
            }
        }
        let collections = address.open()?.collections(std::slice::from_ref(address), &[])?;
        let names: Vec<_> = collections.iter().map(|c| c.name().to_owned()).collect();
        let [collection] = <[_; 1]>::try_from(collections).map_err(|_| {
            let names = names.join(", ");
            let message = format!("expected one collection, as in SRC#NAME, found {names}");
            Error::new(Kind::Invalid, "cli/usage", Place::file(&label), message)
        })?;
        Ok(Self::Samples { collection, label })
    }
}

/// The dataset, and what is to be published in it.
struct Target<'a> {
    args: &'a Args,
    root: Arc<dyn RootMut>,
    dataset: SdsDataset,
    publication_id: String,
}

impl<'a> Target<'a> {
    fn open(args: &'a Args) -> Result<Self> {
        let (root, dataset) = address::signal(&args.dataset.whole()?.path)?;
        let usual = || publication_id(&dataset.snapshot().snapshot_id, &args.name);
        let publication_id = args.publication_id.clone().unwrap_or_else(usual);
        Ok(Self { args, root, dataset, publication_id })
    }

    fn options(&self) -> AnnotationOptions {
        AnnotationOptions {
            records_per_shard: self.args.records_per_shard,
            publication_id: Some(self.publication_id.clone()),
            retries: self.args.retries,
            ..AnnotationOptions::default()
        }
    }

    fn metadata(&self) -> Result<Object> {
        self.args.metadata.as_deref().map_or_else(|| Ok(Object::new()), object)
    }

    /// The annotations of `source`: of the records from `first` on.
    fn all<'s>(&'s self, source: &'s Source, first: u64) -> Result<Annotations<'s>> {
        let by_id = self.args.by_id;
        let policy = self.dataset.store().policy.records.descriptor();
        let found: Box<dyn Iterator<Item = Result<Found>>> = match source {
            Source::Lines { text, label } => Box::new(lines(label, text, policy)),
            Source::Samples { collection, label } => Box::new(samples(collection, label, by_id)),
        };
        let found = found.map(|found| interrupt::check().and(found));
        if !by_id {
            return Ok(Box::new(in_order(&self.dataset, first, found)));
        }
        let missing = self.args.missing.as_deref();
        let missing = Status::ALL.into_iter().find(|status| Some(status.name()) == missing);
        Ok(Box::new(lines::by_id(&self.dataset, found, missing)?.into_iter().map(Ok)))
    }

    fn source(&self) -> Result<Source> {
        let usage = || {
            let message = "expected annotations to publish, found no path";
            Error::new(Kind::Invalid, "cli/usage", Place::default(), message)
        };
        Source::open(self.args.source.as_ref().ok_or_else(usage)?)
    }

    fn publish(&self, tally: &mut Tally) -> Result<()> {
        let (metadata, source) = (self.metadata()?, self.source()?);
        // All of them are looked at before the first is written, so that a bad one leaves nothing behind.
        let looked_at = self.all(&source, 0)?.inspect(|annotation| {
            if let Ok(annotation) = annotation {
                tally.add(annotation.status);
            }
        });
        check_annotations(&self.dataset, looked_at)?;
        let (name, options) = (&self.args.name, self.options());
        let annotations = self.all(&source, 0)?;
        publish_annotations(&self.root, &self.dataset, name, annotations, &metadata, &options)
    }

    fn shard(&self, shard: &str, first: u64, tally: &mut Tally) -> Result<()> {
        let source = self.source()?;
        let annotations = self.all(&source, first)?.collect::<Result<Vec<_>>>()?;
        let shard = WorkerShard {
            name: self.args.name.clone(),
            publication_id: self.publication_id.clone(),
            logical_shard_id: shard.to_owned(),
            first_ordinal: first,
        };
        let pointer = write_annotation_shard(&self.root, &self.dataset, &shard, &annotations)?;
        // Somebody may have been first, and then it is theirs that counts.
        pointer.statuses.iter().for_each(|status| tally.add(*status));
        Ok(())
    }

    fn join(&self, tally: &mut Tally) -> Result<u64> {
        let root: Arc<dyn Root> = Arc::clone(&self.root) as _;
        let (name, id) = (&self.args.name, &self.publication_id);
        let pointers = worker_pointers(&root, name, id, &self.dataset.store().policy)?;
        for pointer in &pointers {
            pointer.statuses.iter().for_each(|status| tally.add(*status));
        }
        let (metadata, options) = (self.metadata()?, self.options());
        let (root, dataset) = (&self.root, &self.dataset);
        publish_annotation_shards(root, dataset, name, id, &pointers, &metadata, &options)?;
        Ok(pointers.len() as u64)
    }
}

/// The samples of a collection.
fn samples<'s>(
    collection: &Arc<dyn Collection>,
    label: &'s str,
    identities: bool,
) -> impl Iterator<Item = Result<Found>> + use<'s> {
    // Samples that are skipped have no fields, so they need not be alike.
    let scan = Scan::new(Arc::clone(collection)).identities(identities).runs(true);
    scan.map_shards(Ok).flat_map(move |decoded| {
        let found: Vec<_> = match decoded {
            Err(error) => vec![Err(error)],
            Ok(Decoded { shard, batch, rows }) => {
                let number = |row: usize| shard.first.saturating_add(row as u64);
                rows.map(|row| of_sample(&batch, row, label, number(row))).collect()
            }
        };
        found.into_iter()
    })
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
