//! `packstone formats`: what packstone reads and writes, and the options of writing.

use packstone::json;
use packstone::json::{Object, Value};
use packstone::registry::FORMATS;

use crate::failure::{Exit, Outcome};
use crate::output::{Out, Paint};
use crate::table::Table;

pub(crate) fn run(out: &mut Out) -> Outcome {
    for format in FORMATS {
        if out.is_json() {
            let options = format.write_options().iter();
            let options: Object = options.map(|(name, meaning)| (*name, *meaning)).collect();
            out.json(&json!({
                "type": "format",
                "schema_version": 1,
                "format": format.id(),
                "title": format.title(),
                "write_options": Value::Object(options),
            }))?;
            continue;
        }
        out.line(format!("{}  {}", out.paint(Paint::Cyan, format.id()), format.title()))?;
        let mut table = Table::new(&["option", "meaning"]).indented();
        for (name, meaning) in format.write_options() {
            table.row([name, meaning]);
        }
        table.print(out)?;
    }
    Ok(Exit::Clean)
}
