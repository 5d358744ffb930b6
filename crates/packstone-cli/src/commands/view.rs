//! `packstone view`: records of a signal dataset as a dataset of their own.

use std::path::PathBuf;

use packstone::Result;
use packstone::formats::sds::parts::view::RECORDS_PER_SHARD;
use packstone::json::Object;
use packstone::site::{View, Which, view};

use super::annotate::object;
use crate::address::{self, Address};
use crate::failure::{Exit, Outcome};
use crate::hints::NULL_NAME;
use crate::output::{Out, note};
use crate::progress::Bar;
use crate::units;

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
    let request = args.request()?;
    let bar = Bar::counting("view");
    let made = view(&request, Some(&bar));
    drop(bar);
    let made = made?;
    if out.is_json() {
        out.summary("view", made.to_json())?;
        return Ok(Exit::Clean);
    }
    if made.records == 0 && args.condition.is_some() {
        note(NULL_NAME);
    }
    let verb = if args.materialize { "copied" } else { "published" };
    let counts = format!("{} of {}", units::count(made.records), units::counted(made.of, "record"));
    out.line(format!("{verb} {counts} as {}", out.data(&made.path)))?;
    if made.references == "absolute" {
        out.line(format!("read it with --follow {}", out.data(&made.source)))?;
    }
    Ok(Exit::Clean)
}

impl Args {
    fn request(&self) -> Result<View> {
        let which = match (&self.condition, self.range) {
            (Some(condition), _) => Which::Where(condition.clone()),
            (None, Some((from, to))) => Which::Between(from, to),
            (None, None) if self.index.is_empty() => Which::All,
            (None, None) => Which::At(self.index.clone()),
        };
        Ok(View {
            collection: self.source.collection.clone(),
            which,
            materialize: self.materialize,
            dataset_id: self.dataset_id.clone(),
            snapshot_id: self.snapshot_id.clone(),
            metadata: self.metadata.as_deref().map_or_else(|| Ok(Object::new()), object)?,
            records_per_shard: self.records_per_shard,
            sources: address::sources()?,
            ..View::new(self.source.path.clone(), self.target.clone())
        })
    }
}
