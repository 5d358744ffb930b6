//! `packstone head`: the first samples, for the eye.

use std::sync::Arc;

use packstone::format::Collection;
use packstone::json::Value;
use packstone::ops::Scan;

use crate::address::{self, Address};
use crate::failure::{Exit, Outcome};
use crate::output::{Out, Paint};
use crate::sample::{self, Lines, Shard};
use crate::table::Table;
use crate::{show, units};

/// Show the first samples of each collection, long values cut.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dataset, or one collection of it; several paths where the format reads them as one dataset.
    #[arg(value_name = "PATH[#COLLECTION]", required = true)]
    addresses: Vec<Address>,
    /// Samples of each collection.
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 3)]
    limit: u64,
    /// Only these fields.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    field: Vec<String>,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Outcome {
    let opened = address::open_all(&args.addresses)?;
    for collection in opened.collections(&args.addresses, &[])? {
        let scan = Scan::new(Arc::clone(&collection))
            .identities(true)
            .runs(true)
            .threads(0)
            .range(0..args.limit);
        let (scan, schema) = sample::project(scan, collection.schema(), &args.field)?;
        if out.is_json() {
            let mut lines = Lines::new(collection.name(), &schema, true);
            sample::read(scan, true, |shard| lines.write(shard, out))?;
        } else {
            title(collection.as_ref(), out)?;
            sample::read(scan, false, |shard| print(shard, out))?;
        }
    }
    Ok(Exit::Clean)
}

fn title(collection: &dyn Collection, out: &mut Out) -> Outcome<()> {
    let name = out.data(collection.name());
    let name = out.paint(Paint::Cyan, name);
    out.line(format!("{name}  {}", units::counted(collection.len(), "sample")))
}

fn print(shard: &Shard, out: &mut Out) -> Outcome<()> {
    let schema = shard.schema();
    for (index, sample, _) in shard.samples() {
        let metadata = sample.metadata().map(|object| {
            let text = Value::Object(object.as_ref().clone()).to_string();
            show::shorten(&text, 100)
        });
        let metadata = out.data(metadata.as_deref().unwrap_or_default()).into_owned();
        let number = out.paint(Paint::Bold, format!("#{index}"));
        out.line(format!("  {number} {metadata}").trim_end())?;
        let mut table = Table::headless().indented();
        for (field, value) in schema.fields.iter().zip(sample.values()) {
            let (name, shown) = (show::name(field), show::value(value));
            table.row([
                format!("  {}", out.data(&name)),
                show::field_type(field),
                out.data(&shown).into_owned(),
            ]);
        }
        table.print(out)?;
    }
    Ok(())
}
