//! Annotation sets: published by one process, or shard by shard by workers and joined by one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::json::{Object, Value};
use packstone_io::{Buf, Kind, Root, RootMut};

use super::{signal, usage};
use crate::error::{Place, Result};
use crate::exec::{Progress, default_threads, keep_going};
use crate::format::{Collection, Sources};
use crate::formats::sds::layout::publication_id;
use crate::formats::sds::parts::annotate::{
    AnnotationOptions, WorkerShard, check_annotations, publish_annotation_shards,
    publish_annotations, worker_pointers, write_annotation_shard,
};
use crate::formats::sds::parts::carrier::{Annotation, Status};
use crate::formats::sds::parts::lines::{self, Found, in_order, lines, of_sample};
use crate::formats::sds::reader::SdsDataset;
use crate::json;
use crate::ops::{Decoded, Scan};
use crate::registry;

/// What is to be published about the records of a signal dataset.
pub struct Annotate {
    /// The dataset whose records are annotated.
    pub dataset: PathBuf,
    /// The name of the set, which must be new.
    pub name: String,
    /// Which part of the work is done.
    pub work: Work,
    /// What the set says about itself.
    pub metadata: Object,
    /// Which publication of the set this is; by default one that follows from snapshot and name.
    pub publication_id: Option<String>,
    /// Annotations in a shard, where one process publishes all of them.
    pub records_per_shard: u64,
    /// How often to begin again where somebody else changes the catalog in between.
    pub retries: u32,
    /// Threads that decode annotations which are samples.
    pub threads: usize,
    /// Where references that lead out of the dataset may lead.
    pub sources: Sources,
}

/// Which part of publishing annotations is done.
pub enum Work {
    /// All of it.
    Publish {
        /// The annotations.
        annotations: Annotations,
        /// They name their records by id, in any order; else they are about the records in their order.
        by_id: bool,
        /// By id: what became of records without an annotation; by default there must be none.
        missing: Option<Status>,
    },
    /// One shard, for others to join.
    Shard {
        /// The annotations of its records.
        annotations: Annotations,
        /// Its name; who is first with a name wins.
        shard: String,
        /// The record that it begins with.
        first: u64,
    },
    /// The shards that workers wrote are joined and published.
    Join,
}

/// Where annotations come from.
pub enum Annotations {
    /// JSON Lines.
    Lines {
        /// The lines.
        text: Buf,
        /// What to call them in messages.
        label: String,
    },
    /// The samples of a collection.
    Samples {
        /// The collection.
        collection: Arc<dyn Collection>,
        /// What to call it in messages.
        label: String,
    },
}

impl Annotations {
    /// What is at `path`: a dataset with one collection, the one that is named, or else JSON Lines.
    ///
    /// # Errors
    /// `cli/usage` for several collections; those of opening.
    pub fn open(path: &Path, collection: Option<&str>, sources: &Sources) -> Result<Self> {
        let label = path.display().to_string();
        if path.is_file() && collection.is_none() {
            let root = super::super::root(path)?;
            let known = !matches!(
                registry::probe(root.as_ref()), Err(error) if error.kind() == Kind::NotFound
            );
            if !known && super::super::sources(path, &Limits::default())?.is_none() {
                let text = root.read(&root.sole_file().cloned().unwrap_or_default())?;
                return Ok(Self::Lines { text, label });
            }
        }
        let paths = [path.to_owned()];
        let dataset = super::super::open_following(&paths, &Limits::default(), sources)?.dataset;
        let names = match collection {
            Some(name) => vec![name.to_owned()],
            None => dataset.collections(),
        };
        let [name] = &names[..] else {
            let message =
                format!("expected one collection, as in SRC#NAME, found {}", names.join(", "));
            return Err(usage(Place::file(&label), message));
        };
        Ok(Self::Samples { collection: dataset.collection(name)?, label })
    }
}

/// What became of annotations.
#[derive(Clone, Debug)]
pub struct Annotated {
    /// The name of the set.
    pub set: String,
    /// Which publication of it this is.
    pub publication_id: String,
    /// The shard, where one was written.
    pub worker: Option<String>,
    /// How many shards were joined.
    pub shards: Option<u64>,
    /// How many annotations have each status.
    pub statuses: [(Status, u64); 3],
}

impl Annotated {
    /// What was done: `published`, `wrote` or `joined`.
    pub fn done(&self) -> &'static str {
        match (&self.worker, self.shards) {
            (Some(_), _) => "wrote",
            (None, Some(_)) => "joined",
            (None, None) => "published",
        }
    }

    /// How many annotations there are.
    pub fn records(&self) -> u64 {
        self.statuses.iter().map(|(_, count)| *count).fold(0, u64::saturating_add)
    }

    /// For JSON output.
    pub fn to_json(&self) -> Value {
        let counts: Object = self.statuses.iter().map(|(status, n)| (status.name(), *n)).collect();
        json!({
            "set": self.set.as_str(),
            "publication_id": self.publication_id.as_str(),
            "done": self.done(),
            "worker": self.worker.as_deref(),
            "shards": self.shards,
            "records": self.records(),
            "statuses": counts,
        })
    }

    fn add(&mut self, status: Status) {
        if let Some((_, count)) = self.statuses.iter_mut().find(|(known, _)| *known == status) {
            *count = count.saturating_add(1);
        }
    }
}

/// Publishes annotations of the records of a signal dataset, or does one part of that. Progress is in records.
///
/// # Errors
/// Those of opening and of [`publish_annotations`]; `ops/cancelled`, and then nothing is published.
pub fn annotate(request: &Annotate, progress: Option<&Arc<dyn Progress>>) -> Result<Annotated> {
    let (root, dataset) = signal(&request.dataset, &request.sources)?;
    let usual = || publication_id(&dataset.snapshot().snapshot_id, &request.name);
    let mut report = Annotated {
        set: request.name.clone(),
        publication_id: request.publication_id.clone().unwrap_or_else(usual),
        worker: None,
        shards: None,
        statuses: Status::ALL.map(|status| (status, 0)),
    };
    let target = Target { request, root, dataset, progress };
    match &request.work {
        Work::Publish { annotations, by_id, missing } => {
            target.publish(annotations, *by_id, *missing, &mut report)?;
        }
        Work::Shard { annotations, shard, first } => {
            report.worker = Some(shard.clone());
            target.shard(annotations, shard, *first, &mut report)?;
        }
        Work::Join => target.join(&mut report)?,
    }
    Ok(report)
}

/// Annotations of records in a row.
type InOrder<'s> = Box<dyn Iterator<Item = Result<Annotation>> + 's>;

struct Target<'a> {
    request: &'a Annotate,
    root: Arc<dyn RootMut>,
    dataset: SdsDataset,
    progress: Option<&'a Arc<dyn Progress>>,
}

impl Target<'_> {
    fn options(&self, report: &Annotated) -> AnnotationOptions {
        AnnotationOptions {
            records_per_shard: self.request.records_per_shard,
            publication_id: Some(report.publication_id.clone()),
            retries: self.request.retries,
            ..AnnotationOptions::default()
        }
    }

    fn total(&self, records: u64) {
        if let Some(progress) = self.progress {
            progress.total(records);
        }
    }

    /// The annotations of `source`, as they are found.
    fn found<'s>(
        &'s self,
        source: &'s Annotations,
        identities: bool,
    ) -> Box<dyn Iterator<Item = Result<Found>> + 's> {
        let policy = self.dataset.store().policy.records.descriptor();
        let found: Box<dyn Iterator<Item = Result<Found>>> = match source {
            Annotations::Lines { text, label } => Box::new(lines(label, text, policy)),
            Annotations::Samples { collection, label } => {
                Box::new(samples(collection, label, identities, self.request.threads))
            }
        };
        Box::new(found.map(|found| keep_going(self.progress).and(found)))
    }

    fn all<'s>(
        &'s self,
        source: &'s Annotations,
        by_id: bool,
        missing: Option<Status>,
    ) -> Result<InOrder<'s>> {
        let found = self.found(source, by_id);
        if !by_id {
            return Ok(Box::new(in_order(&self.dataset, 0, found)));
        }
        Ok(Box::new(lines::by_id(&self.dataset, found, missing)?.into_iter().map(Ok)))
    }

    fn publish(
        &self,
        source: &Annotations,
        by_id: bool,
        missing: Option<Status>,
        report: &mut Annotated,
    ) -> Result<()> {
        // All of them are looked at before the first is written, so that a bad one leaves nothing behind.
        self.total(self.dataset.len().saturating_mul(2));
        let looked_at = self.all(source, by_id, missing)?.inspect(|annotation| {
            if let Ok(annotation) = annotation {
                report.add(annotation.status);
                self.advance();
            }
        });
        check_annotations(&self.dataset, looked_at)?;
        let options = self.options(report);
        let annotations = self.all(source, by_id, missing)?.map(|annotation| {
            keep_going(self.progress)?;
            self.advance();
            annotation
        });
        let (name, metadata) = (&self.request.name, &self.request.metadata);
        publish_annotations(&self.root, &self.dataset, name, annotations, metadata, &options)
    }

    fn advance(&self) {
        if let Some(progress) = self.progress {
            progress.advance(1);
        }
    }

    fn shard(
        &self,
        source: &Annotations,
        shard: &str,
        first: u64,
        report: &mut Annotated,
    ) -> Result<()> {
        let found = in_order(&self.dataset, first, self.found(source, false));
        let annotations = found.inspect(|_| self.advance()).collect::<Result<Vec<_>>>()?;
        let shard = WorkerShard {
            name: self.request.name.clone(),
            publication_id: report.publication_id.clone(),
            logical_shard_id: shard.to_owned(),
            first_ordinal: first,
        };
        keep_going(self.progress)?;
        let pointer = write_annotation_shard(&self.root, &self.dataset, &shard, &annotations)?;
        // Somebody may have been first, and then it is theirs that counts.
        pointer.statuses.iter().for_each(|status| report.add(*status));
        Ok(())
    }

    fn join(&self, report: &mut Annotated) -> Result<()> {
        let root: Arc<dyn Root> = Arc::clone(&self.root) as _;
        let (name, id) = (&self.request.name, report.publication_id.clone());
        let pointers = worker_pointers(&root, name, &id, &self.dataset.store().policy)?;
        for pointer in &pointers {
            pointer.statuses.iter().for_each(|status| report.add(*status));
        }
        report.shards = Some(pointers.len() as u64);
        keep_going(self.progress)?;
        let (options, metadata) = (self.options(report), &self.request.metadata);
        let (root, dataset) = (&self.root, &self.dataset);
        publish_annotation_shards(root, dataset, name, &id, &pointers, metadata, &options)
    }
}

/// The samples of a collection.
fn samples<'s>(
    collection: &Arc<dyn Collection>,
    label: &'s str,
    identities: bool,
    threads: usize,
) -> impl Iterator<Item = Result<Found>> + use<'s> {
    // Samples that are skipped have no fields, so they need not be alike.
    let scan = Scan::new(Arc::clone(collection)).identities(identities).runs(true);
    scan.threads(threads).map_shards(Ok).flat_map(move |decoded| {
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

impl Annotate {
    /// A request with the usual options, on as many threads as the machine runs.
    pub fn new(dataset: PathBuf, name: impl Into<String>, work: Work) -> Self {
        Self {
            dataset,
            name: name.into(),
            work,
            metadata: Object::new(),
            publication_id: None,
            records_per_shard: 10_000,
            retries: 8,
            threads: default_threads(),
            sources: Sources::default(),
        }
    }
}
