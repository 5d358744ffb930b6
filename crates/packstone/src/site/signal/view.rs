//! Records of a signal dataset as a dataset of their own.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packstone_container::json::{Object, Value};
use packstone_io::{IoError, Kind, LocalRoot, RelPath, RootMut};

use super::signal;
use crate::error::{Error, Place, Result};
use crate::exec::{Progress, keep_going};
use crate::expr::Expr;
use crate::format::Sources;
use crate::formats::sds::Sds;
use crate::formats::sds::parts::publish::PublishOptions;
use crate::formats::sds::parts::view::{
    RECORDS_PER_SHARD, REFERENCE, ViewSource, matching, materialize_with, publish_view,
};
use crate::formats::sds::reader::SdsDataset;
use crate::json;
use crate::model::own::{MEMBER, Own, RECORDS};

/// Which records become a dataset of their own, and how.
pub struct View {
    /// The dataset.
    pub source: PathBuf,
    /// One collection of it; all records without one.
    pub collection: Option<String>,
    /// Which of its records.
    pub which: Which,
    /// The new dataset: a folder that is not there yet, or one that holds the source.
    pub target: PathBuf,
    /// Copy the records, so that the new dataset needs no other.
    pub materialize: bool,
    /// The name of the new dataset; by default that of the source.
    pub dataset_id: Option<String>,
    /// The name of its snapshot.
    pub snapshot_id: String,
    /// What the new dataset says about itself.
    pub metadata: Object,
    /// Records in a shard of a copy.
    pub records_per_shard: u64,
    /// Where references that lead out of the source may lead.
    pub sources: Sources,
}

/// Which records are meant.
#[derive(Clone, Debug)]
pub enum Which {
    /// All.
    All,
    /// Those at positions, in this order, repeated ones as well; negative ones count from the end.
    At(Vec<i64>),
    /// Those from a position up to and without another.
    Between(Option<u64>, Option<u64>),
    /// Those whose metadata meet a condition.
    Where(String),
}

/// What a view is.
#[derive(Clone, Debug)]
pub struct Viewed {
    /// Its records.
    pub records: u64,
    /// Those of its source.
    pub of: u64,
    /// Where it lies.
    pub path: String,
    /// Where its source lies, without links.
    pub source: String,
    /// How it names its source: `none`, `relative` or `absolute`.
    pub references: &'static str,
    /// The name of the new dataset.
    pub dataset_id: String,
    /// The name of its snapshot.
    pub snapshot_id: String,
}

impl Viewed {
    /// For JSON output.
    pub fn to_json(&self) -> Value {
        json!({
            "records": self.records,
            "of": self.of,
            "path": self.path.as_str(),
            "source": self.source.as_str(),
            "references": self.references,
            "dataset_id": self.dataset_id.as_str(),
            "snapshot_id": self.snapshot_id.as_str(),
        })
    }
}

impl View {
    /// All records of `source` as a view at `target`.
    pub fn new(source: PathBuf, target: PathBuf) -> Self {
        Self {
            source,
            collection: None,
            which: Which::All,
            target,
            materialize: false,
            dataset_id: None,
            snapshot_id: "snapshot".to_owned(),
            metadata: Object::new(),
            records_per_shard: RECORDS_PER_SHARD,
            sources: Sources::default(),
        }
    }

    /// What the new dataset says about itself: what is asked for, that it is a view, and what packstone's writer left in
    /// the source about fields.
    fn said(&self, source: &SdsDataset, records: u64) -> Object {
        let mut metadata = self.metadata.clone();
        if !self.materialize {
            metadata.insert(REFERENCE, true);
        }
        if let Some(mut own) = Own::of(&source.document().metadata, source.len()) {
            let name = match (&self.collection, &own.collections[..]) {
                (Some(name), _) | (None, [(name, _)]) => name.clone(),
                _ => RECORDS.to_owned(),
            };
            own.collections = vec![(name, records)];
            metadata.insert(MEMBER, own.to_value());
        }
        metadata
    }

    /// The ordinals of the records that are meant.
    fn ordinals(&self, source: &SdsDataset) -> Result<Vec<u64>> {
        let all = match &self.collection {
            Some(name) => source.ordinals(name)?,
            None => 0..source.len(),
        };
        let len = all.end.saturating_sub(all.start);
        match &self.which {
            Which::All => Ok(all.collect()),
            Which::Where(condition) => matching(source, all, &Expr::parse(condition)?),
            Which::Between(from, to) => {
                let (from, to) = (from.unwrap_or(0), to.unwrap_or(len));
                if from > to || to > len {
                    return Err(outside(len, &format!("{from}:{to}")));
                }
                Ok((all.start.saturating_add(from)..all.start.saturating_add(to)).collect())
            }
            Which::At(positions) => positions.iter().map(|at| position(*at, &all, len)).collect(),
        }
    }
}

fn outside(len: u64, found: &str) -> Error {
    let message = format!("expected positions of {len} records, found {found}");
    Error::new(Kind::NotFound, "ops/index_out_of_range", Place::default(), message)
}

fn position(index: i64, all: &Range<u64>, len: u64) -> Result<u64> {
    let at = match u64::try_from(index) {
        Ok(at) => Some(at),
        Err(_) => len.checked_sub(index.unsigned_abs()),
    };
    let at = at.filter(|at| *at < len).ok_or_else(|| outside(len, &index.to_string()))?;
    Ok(all.start.saturating_add(at))
}

/// Publishes records of a signal dataset as a dataset of their own. Progress is in records.
///
/// # Errors
/// Those of opening, of [`publish_view`] and [`materialize_with`]; `ops/index_out_of_range`; `ops/cancelled`, and then
/// nothing is published.
pub fn view(request: &View, progress: Option<&Arc<dyn Progress>>) -> Result<Viewed> {
    // Without links, as the view will name it.
    let path = request.source.canonicalize();
    let label = request.source.display().to_string();
    let path = path.map_err(|error| IoError::os("open", label, error))?;
    let (_, source) = signal(&path, &request.sources)?;
    let ordinals = request.ordinals(&source)?;
    let id = request.dataset_id.as_ref().unwrap_or(&source.document().dataset_id);
    let mut options = PublishOptions::new(id.as_str(), request.snapshot_id.as_str());
    options.metadata = request.said(&source, ordinals.len() as u64);
    keep_going(progress)?;
    let place = Target::of(&request.target, &path)?;
    let made = match request.materialize {
        true => {
            let per_shard = request.records_per_shard;
            materialize_with(&place.root, &source, &ordinals, &options, per_shard, progress)
        }
        false => publish_view(&place.root, &source, &place.source, &ordinals, &options),
    };
    if made.is_err() && place.fresh {
        // Only an empty folder can be removed this way; anything in it is left for a look.
        let _ = std::fs::remove_dir(&request.target);
    }
    let made = made?;
    let references = match (request.materialize, &place.source) {
        (true, _) => "none",
        (false, ViewSource::Inside(_)) => "relative",
        (false, ViewSource::At(_)) => "absolute",
    };
    Ok(Viewed {
        records: made.len(),
        of: source.len(),
        path: request.target.display().to_string(),
        source: path.display().to_string(),
        references,
        dataset_id: options.dataset_id,
        snapshot_id: options.snapshot_id,
    })
}

/// Where the new dataset goes, and how it names its source.
struct Target {
    root: Arc<dyn RootMut>,
    source: ViewSource,
    /// True where its folder was made for it.
    fresh: bool,
}

impl Target {
    /// The folder at `path`, which is new or holds the source at the absolute path `source`.
    fn of(path: &Path, source: &Path) -> Result<Self> {
        let inside = path.canonicalize().ok().and_then(|folder| {
            let rest = source.strip_prefix(folder).ok()?.to_str()?;
            RelPath::new(rest).ok().filter(|rest| !rest.is_root())
        });
        if let Some(inside) = inside {
            let root = Arc::new(LocalRoot::open(path)?);
            return Ok(Self { root, source: ViewSource::Inside(inside), fresh: false });
        }
        let text = source.to_str().ok_or_else(|| {
            let message = "expected a path of Unicode text, found another";
            Error::new(Kind::Invalid, "site/name", Place::file(source.display()), message)
        })?;
        let root = super::super::target(path, &Sds)?;
        Ok(Self { root, source: ViewSource::At(text.to_owned()), fresh: true })
    }
}
