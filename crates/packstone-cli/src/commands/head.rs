//! `packstone head`: the first samples, for the eye.

use packstone::format::Collection;

use super::dump::warn;
use crate::address::Address;
use crate::failure::{Exit, Outcome};
use crate::output::{Out, Paint};
use crate::sample::{self, Lines, Reading, Shard};
use crate::table::Table;
use crate::{show, units};

/// Show the first samples of each collection, long values cut.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dataset, or one collection of it.
    #[arg(value_name = "PATH[#COLLECTION]")]
    address: Address,
    /// Samples of each collection.
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 3)]
    limit: u64,
    /// Only these fields.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    field: Vec<String>,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Outcome {
    let opened = args.address.open()?;
    for collection in opened.collections(&args.address, &[])? {
        let fields = sample::positions(collection.schema(), &args.field)?;
        let range = 0..args.limit.min(collection.len());
        let hash = out.is_json();
        let reading = Reading { threads: 0, range, fields, verify: false, hash };
        let notes = if hash {
            let schema = match &reading.fields {
                Some(fields) => collection.schema().project(fields),
                None => collection.schema().as_ref().clone(),
            };
            let mut lines = Lines::new(collection.name(), &schema, true);
            sample::read(&collection, &reading, |shard| lines.write(shard, out))?
        } else {
            title(collection.as_ref(), out)?;
            sample::read(&collection, &reading, |shard| print(shard, out))?
        };
        warn(&notes);
    }
    Ok(Exit::Clean)
}

fn title(collection: &dyn Collection, out: &mut Out) -> Outcome<()> {
    let name = out.data(collection.name());
    let name = out.paint(Paint::Cyan, name);
    out.line(format!("{name}  {}", units::counted(collection.len(), "sample")))
}

fn print(shard: &Shard, out: &mut Out) -> Outcome<()> {
    let schema = shard.batch.schema();
    for (index, sample, _) in shard.samples() {
        let metadata = sample.metadata().map(|object| {
            let text = packstone::json::Value::Object(object.as_ref().clone()).to_string();
            show::shorten(&text, 100)
        });
        let metadata = out.data(metadata.as_deref().unwrap_or_default()).into_owned();
        let number = out.paint(Paint::Bold, format!("#{index}"));
        out.line(format!("  {number} {metadata}").trim_end())?;
        let mut table = Table::headless().indented();
        for (field, value) in schema.fields.iter().zip(sample.values()) {
            let (name, shown) = (field.key.to_string(), show::value(value));
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
