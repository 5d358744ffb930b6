//! `packstone inspect`: what a dataset says about itself.

use std::sync::Arc;

use packstone::format::Collection;
use packstone::json;
use packstone::json::{Key, Object, Value};
use packstone::model::{Outline, Schema};
use packstone::{Result, Root};

use crate::address::{self, Address, Opened};
use crate::failure::{Exit, Outcome};
use crate::output::{Out, Paint};
use crate::table::Table;
use crate::{interrupt, show, units};

/// Show schema, collections, sizes and metadata of a dataset.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dataset, or one collection of it; several paths where the format reads them as one dataset.
    #[arg(value_name = "PATH[#COLLECTION]", required = true)]
    addresses: Vec<Address>,
    /// Add up the sizes of the shard files; this walks all lists of shards.
    #[arg(long)]
    sizes: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Outcome {
    let opened = address::open_all(&args.addresses)?;
    let collections = opened.collections(&args.addresses, &[])?;
    let sizes = collections
        .iter()
        .map(|collection| match args.sizes {
            true => shard_bytes(opened.root.as_ref(), collection.as_ref()).map(Some),
            false => Ok(None),
        })
        .collect::<Result<Vec<_>>>()?;
    let overview = Overview { args, opened: &opened, collections: &collections, sizes: &sizes };
    if out.is_json() {
        out.json(&overview.json()?)?
    } else {
        overview.print(out)?
    }
    Ok(Exit::Clean)
}

/// The bytes of a collection's shard files, or of what is its own in them.
pub(crate) fn shard_bytes(root: &dyn Root, collection: &dyn Collection) -> Result<u64> {
    collection.shards(0).try_fold(0u64, |sum, shard| {
        interrupt::check()?;
        let shard = shard?;
        let bytes = match collection.stored_bytes(&shard) {
            Some(bytes) => bytes,
            None => root.len(&shard.path)?,
        };
        Ok(sum.saturating_add(bytes))
    })
}

struct Overview<'a> {
    args: &'a Args,
    opened: &'a Opened,
    collections: &'a [Arc<dyn Collection>],
    sizes: &'a [Option<u64>],
}

impl Overview<'_> {
    fn schema(&self) -> &Arc<Schema> {
        self.opened.dataset.schema()
    }

    /// The path, or all of them.
    fn path(&self) -> String {
        let paths = self.args.addresses.iter().map(|address| address.path.to_string_lossy());
        paths.collect::<Vec<_>>().join(" ")
    }

    fn native(&self) -> &Object {
        &self.opened.dataset.info().native
    }

    fn json(&self) -> Result<Value> {
        let schema = self.schema();
        let rows = self.collections.iter().zip(self.sizes).map(|(collection, bytes)| {
            let mut row = Object::new();
            row.insert("name", collection.name());
            row.insert("samples", collection.len());
            row.insert("shards", collection.shard_count());
            if let Some(bytes) = bytes {
                row.insert("bytes", *bytes);
            }
            if collection.schema() != schema {
                row.insert("schema", collection.schema().to_json());
            }
            Value::Object(row)
        });
        let rows: Vec<Value> = rows.collect();
        let total = |of: fn(&dyn Collection) -> u64| {
            self.collections.iter().map(|c| of(c.as_ref())).fold(0u64, u64::saturating_add)
        };
        let outline = self.opened.dataset.outline()?;
        Ok(json!({
            "type": "dataset",
            "schema_version": 1,
            "format": self.opened.format.id(),
            "path": self.path(),
            "schema": schema.to_json(),
            "collections": rows,
            "samples": total(|c| c.len()),
            "shards": total(|c| c.shard_count()),
            "metadata": self.native().get("metadata").cloned().unwrap_or_default(),
            "tree": outline.map_or(Value::Null, |outline| outline.to_json()),
            "native": self.native().clone(),
        }))
    }

    fn print(&self, out: &mut Out) -> Outcome<()> {
        let path = self.path();
        let title = out.paint(Paint::Cyan, out.data(&path));
        out.line(format!("{title}  {}", self.opened.format.title()))?;
        let schema = self.schema();
        out.line("")?;
        self.print_schema(schema, out)?;
        self.print_collections(out)?;
        for collection in self.collections.iter().filter(|c| c.schema() != schema) {
            out.line(format!("{}:", out.data(collection.name())))?;
            self.print_schema(collection.schema(), out)?;
        }
        if let Some(outline) = self.opened.dataset.outline()? {
            // The documents of a tree say nothing that its outline does not.
            return print_outline(&outline, out);
        }
        print_native(self.native(), &self.opened.dataset.collections(), out)
    }

    fn print_schema(&self, schema: &Schema, out: &mut Out) -> Outcome<()> {
        let mut table = Table::new(&["field", "type", ">bytes", "metadata"]);
        for field in &schema.fields {
            let name = show::name(field);
            let bytes = if field.varies() { None } else { field.value_bytes() };
            let metadata = match field.metadata.is_empty() {
                true => String::new(),
                false => Value::Object(field.metadata.clone()).to_string(),
            };
            table.row([
                out.data(&name).into_owned(),
                show::field_type(field),
                bytes.map_or_else(|| "varies".to_owned(), units::size),
                out.data(&show::shorten(&metadata, 60)).into_owned(),
            ]);
        }
        table.print_with_gap(out)
    }

    fn print_collections(&self, out: &mut Out) -> Outcome<()> {
        let mut heads = vec!["collection", ">samples", ">shards"];
        if self.args.sizes {
            heads.push(">size");
        }
        let mut table = Table::new(&heads);
        for (collection, bytes) in self.collections.iter().zip(self.sizes) {
            let mut row = vec![
                out.data(collection.name()).into_owned(),
                units::count(collection.len()),
                units::count(collection.shard_count()),
            ];
            row.extend(bytes.map(units::size));
            table.row(row);
        }
        table.print_with_gap(out)
    }
}

/// The tree: `├── name  kind  fact value, …`.
fn print_outline(outline: &Outline, out: &mut Out) -> Outcome<()> {
    outline.walk(&mut |lead, node: &Outline| {
        interrupt::check()?;
        let facts = node.facts.iter().map(|(name, value)| format!("{name} {value}"));
        let facts = show::shorten(&facts.collect::<Vec<_>>().join(", "), 120);
        let name = out.paint(Paint::Cyan, out.data(&node.name));
        let facts = out.paint(Paint::Dim, out.data(&facts));
        let kind = out.data(&node.kind).into_owned();
        let parts = [name, kind, facts];
        let words: Vec<_> =
            parts.iter().filter(|part| !part.is_empty()).map(String::as_str).collect();
        out.line(format!("{lead}{}", words.join("  ")))
    })
}

/// Rows of a list that are shown.
const LISTED: usize = 12;

/// The format's own metadata: plain members, then a section for each object and each list of objects. Lists deeper inside
/// and what is said of single collections are in the tables above.
fn print_native(native: &Object, collections: &[String], out: &mut Out) -> Outcome<()> {
    let plain = native.iter().filter(|(_, value)| !matches!(value, Value::Object(_)));
    let mut table = Table::headless();
    print_members(plain, collections, &mut table, out);
    table.print_with_gap(out)?;
    for (section, value) in native.iter() {
        let mut table = match value {
            Value::Object(members) => {
                let mut table = Table::headless().indented();
                print_members(members.iter(), collections, &mut table, out);
                table
            }
            Value::Array(items) if items.iter().any(|item| item.as_object().is_some()) => {
                list(items, out)
            }
            _ => continue,
        };
        if !table.is_empty() {
            let section = section.to_string();
            out.line(out.paint(Paint::Bold, out.data(&section)))?;
            if let Some(more) = value.as_array().and_then(|items| items.len().checked_sub(LISTED))
                && more > 0
            {
                table.row([format!("… {more} more")]);
            }
            table.print(out)?;
        }
    }
    Ok(())
}

/// A row for each member that says something plain.
fn print_members<'o>(
    members: impl Iterator<Item = (&'o Key, &'o Value)>,
    collections: &[String],
    table: &mut Table,
    out: &Out,
) {
    for (name, value) in members {
        let listed = collections.iter().any(|c| *name == **c);
        let nested = value.as_array().is_some_and(|items| items.iter().any(is_container));
        if !listed && !nested {
            let (name, text) = (name.to_string(), show::shorten(&value.to_string(), 100));
            table.row([out.data(&name).into_owned(), out.data(&text).into_owned()]);
        }
    }
}

/// A row for each of the first objects of a list.
fn list(items: &[Value], out: &Out) -> Table {
    let mut table = Table::headless().indented();
    for object in items.iter().take(LISTED).filter_map(Value::as_object) {
        table.row(object.iter().map(|(name, value)| {
            let text = match value {
                Value::String(text) => text.clone(),
                other => format!("{name} {other}"),
            };
            out.data(&show::shorten(&text, 48)).into_owned()
        }));
    }
    table
}

fn is_container(value: &Value) -> bool {
    matches!(value, Value::Array(_) | Value::Object(_))
}
