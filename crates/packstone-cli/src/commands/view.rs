//! `packstone view`: records of a signal dataset as a dataset of their own.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packstone::expr::Expr;
use packstone::formats::sds::parts::publish::PublishOptions;
use packstone::formats::sds::parts::view::{
    RECORDS_PER_SHARD, REFERENCE, ViewSource, matching, materialize, publish_view,
};
use packstone::formats::sds::{Sds, reader::SdsDataset};
use packstone::json::Object;
use packstone::model::own::{MEMBER, Own, RECORDS};
use packstone::{Error, Kind, LocalRoot, Place, RelPath, Result, RootMut, json, site};

use super::annotate::object;
use crate::address::{self, Address};
use crate::failure::{Exit, Outcome};
use crate::hints::NULL_NAME;
use crate::output::{Out, note};
use crate::{interrupt, units};

/// Publish records of a SignalDataset as a dataset of their own, without copying them.
///
/// The view names the records where they are: relative where the source lies in the folder of the view, else by its
/// absolute path, which readers follow only with `--follow`. Annotation sets of the source go with their records.
/// `--materialize` copies the records instead, and the new dataset needs no other.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dataset, or one collection of it.
    #[arg(value_name = "DATASET[#COLLECTION]")]
    source: Address,
    /// The new dataset: a folder that is not there yet, or one that holds the source.
    #[arg(value_name = "DST")]
    target: PathBuf,
    /// Records by their positions, in this order, repeated ones as well; negative ones count from the end.
    #[arg(long, value_name = "INDEX", value_delimiter = ',', allow_negative_numbers = true,
        conflicts_with_all = ["range", "condition"])]
    index: Vec<i64>,
    /// Records from A up to and without B, as in `10:20`, `:5` or `90:`.
    #[arg(long, value_name = "A:B", conflicts_with = "condition", value_parser = span)]
    range: Option<(Option<u64>, Option<u64>)>,
    /// Records whose metadata meet a condition, as in `packstone select`.
    #[arg(long = "where", value_name = "CONDITION")]
    condition: Option<String>,
    /// Copy the records.
    #[arg(long)]
    materialize: bool,
    /// The name of the new dataset; by default that of the source.
    #[arg(long, value_name = "ID")]
    dataset_id: Option<String>,
    /// The name of its snapshot.
    #[arg(long, value_name = "ID", default_value = "snapshot")]
    snapshot_id: String,
    /// What the new dataset says about itself: a JSON object, or `@FILE` with one.
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
    /// With `--materialize`: records in a shard.
    #[arg(long, value_name = "COUNT", default_value_t = RECORDS_PER_SHARD,
        value_parser = clap::value_parser!(u64).range(1..))]
    records_per_shard: u64,
}

/// Reads `A:B`.
fn span(text: &str) -> Result<(Option<u64>, Option<u64>), String> {
    let (from, to) = text.split_once(':').ok_or("expected A:B")?;
    let number = |text: &str| match text.trim() {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|_| format!("expected a number, found {text:?}")),
    };
    Ok((number(from)?, number(to)?))
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Outcome {
    // Without links, as the view will name it.
    let path = args.source.path.canonicalize();
    let label = args.source.path.display().to_string();
    let path = path.map_err(|error| packstone_io::IoError::os("open", label, error))?;
    let (_, source) = address::signal(&path)?;
    let ordinals = args.ordinals(&source)?;
    let mut options = PublishOptions::new(
        args.dataset_id.as_deref().unwrap_or(&source.document().dataset_id),
        args.snapshot_id.as_str(),
    );
    options.metadata = args.metadata(&source, ordinals.len() as u64)?;
    interrupt::check()?;
    let place = Target::of(&args.target, &path)?;
    let made = match args.materialize {
        true => materialize(&place.root, &source, &ordinals, &options, args.records_per_shard),
        false => publish_view(&place.root, &source, &place.source, &ordinals, &options),
    };
    if made.is_err() && place.fresh {
        // Only an empty folder can be removed this way; anything in it is left for a look.
        let _ = std::fs::remove_dir(&args.target);
    }
    let made = made?;
    let inside = matches!(place.source, ViewSource::Inside(_));
    let target = args.target.display().to_string();
    if out.is_json() {
        let references = match (args.materialize, inside) {
            (true, _) => "none",
            (false, true) => "relative",
            (false, false) => "absolute",
        };
        let report = json!({
            "records": made.len(),
            "of": source.len(),
            "path": target.as_str(),
            "source": path.display().to_string(),
            "references": references,
            "dataset_id": options.dataset_id.as_str(),
            "snapshot_id": options.snapshot_id.as_str(),
        });
        out.summary("view", report)?;
        return Ok(Exit::Clean);
    }
    if made.is_empty() && args.condition.is_some() {
        note(NULL_NAME);
    }
    let verb = if args.materialize { "copied" } else { "published" };
    let counts =
        format!("{} of {}", units::count(made.len()), units::counted(source.len(), "record"));
    out.line(format!("{verb} {counts} as {}", out.data(&target)))?;
    if !args.materialize && !inside {
        let source = path.display().to_string();
        out.line(format!("read it with --follow {}", out.data(&source)))?;
    }
    Ok(Exit::Clean)
}

impl Args {
    /// What the new dataset says about itself: what is asked for, that it is a view, and what packstone's writer left in
    /// the source about fields.
    fn metadata(&self, source: &SdsDataset, records: u64) -> Result<Object> {
        let mut metadata = self.metadata.as_deref().map_or_else(|| Ok(Object::new()), object)?;
        if !self.materialize {
            metadata.insert(REFERENCE, true);
        }
        if let Some(mut own) = Own::of(&source.document().metadata, source.len()) {
            let name = match (&self.source.collection, &own.collections[..]) {
                (Some(name), _) | (None, [(name, _)]) => name.clone(),
                _ => RECORDS.to_owned(),
            };
            own.collections = vec![(name, records)];
            metadata.insert(MEMBER, own.to_value());
        }
        Ok(metadata)
    }

    /// The ordinals of the records that are meant.
    fn ordinals(&self, source: &SdsDataset) -> Result<Vec<u64>> {
        let all = match &self.source.collection {
            Some(name) => source.ordinals(name)?,
            None => 0..source.len(),
        };
        match &self.condition {
            Some(condition) => matching(source, all, &Expr::parse(condition)?),
            None => self.positions(&all),
        }
    }

    /// The records at the positions that are named, or all.
    fn positions(&self, all: &Range<u64>) -> Result<Vec<u64>> {
        let len = all.end.saturating_sub(all.start);
        let refused = |found: String| {
            let message = format!("expected positions of {len} records, found {found}");
            Error::new(Kind::NotFound, "ops/index_out_of_range", Place::default(), message)
        };
        if let Some((from, to)) = self.range {
            let (from, to) = (from.unwrap_or(0), to.unwrap_or(len));
            if from > to || to > len {
                return Err(refused(format!("{from}:{to}")));
            }
            return Ok((all.start.saturating_add(from)..all.start.saturating_add(to)).collect());
        }
        if self.index.is_empty() {
            return Ok(all.clone().collect());
        }
        let position = |index: &i64| {
            let at = match u64::try_from(*index) {
                Ok(at) => Some(at),
                Err(_) => len.checked_sub(index.unsigned_abs()),
            };
            let at = at.filter(|at| *at < len).ok_or_else(|| refused(index.to_string()))?;
            Ok(all.start.saturating_add(at))
        };
        self.index.iter().map(position).collect()
    }
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
        let root = site::target(path, &Sds)?;
        Ok(Self { root, source: ViewSource::At(text.to_owned()), fresh: true })
    }
}
