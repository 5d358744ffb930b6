//! ArrayRecord: one file of byte records in chunks, with an index of them at its end.
//!
//! ```text
//! x.arrayrecord
//! │ signature │ records │ records │ … │ footer: options of the writer, index of the chunks, note? │ postscript │
//! ```
//!
//! | | read | written |
//! | --- | --- | --- |
//! | codecs | none, Zstandard, Brotli, Snappy, each chunk its own | one for all chunks |
//! | chunks | simple and transposed, in groups of one size | simple |
//! | files | one, or several as one dataset, in their order | one |
//!
//! A record is a sample with the field `record` of bytes. Samples of other fields become records too, see
//! [`frame`](parts::frame): a note in the footer, which other readers pass over, says how they were called, so that the
//! way back restores them. Files of plain records have no note and are those of the original.
//!
//! The container itself is [`packstone_container::array_record`].

pub mod audit;
pub mod codes;
pub mod layout;
pub mod options;
pub mod parts;
pub mod reader;
pub mod schema;
pub mod writer;

use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::json::Object;
use packstone_io::{Kind, Root, RootMut};

use crate::error::{Error, Place, Result};
use crate::format::{
    Audit, AuditOptions, Dataset, Format, MergeOptions, Plan, RepairOptions, RepairReport, Writer,
    Written,
};
use crate::model::{Fidelity, Holds};

/// The format's name.
const ID: &str = "arrayrecord";

/// The format, see [the module](self).
#[derive(Debug)]
pub struct ArrayRecord;

impl Format for ArrayRecord {
    fn id(&self) -> &'static str {
        ID
    }

    fn title(&self) -> &'static str {
        "ArrayRecord: byte records in one file, with an index"
    }

    fn write_options(&self) -> &'static [(&'static str, &'static str)] {
        options::NAMES
    }

    fn mark(&self) -> &'static str {
        "a .arrayrecord file"
    }

    fn file_endings(&self) -> &'static [&'static str] {
        &layout::ENDINGS
    }

    fn recognizes(&self, root: &dyn Root) -> Result<bool> {
        let Some(file) = root.sole_file() else { return Ok(false) };
        let ending = file.name().rsplit_once('.').map(|(_, ending)| ending);
        if ending.is_some_and(|ending| layout::ENDINGS.contains(&ending)) {
            return Ok(true);
        }
        let file = root.open(file)?;
        let signature = layout::SIGNATURE.len() as u64;
        if file.len() < signature {
            return Ok(false);
        }
        Ok(file.read_ranges(&[0..signature])?.first().is_some_and(|b| b[..] == layout::SIGNATURE))
    }

    fn open(&self, root: Arc<dyn Root>, limits: &Limits) -> Result<Arc<dyn Dataset>> {
        self.open_many(vec![root], limits)
    }

    fn open_many(&self, roots: Vec<Arc<dyn Root>>, limits: &Limits) -> Result<Arc<dyn Dataset>> {
        Ok(Arc::new(reader::ArrayRecordDataset::open(&roots, limits)?))
    }

    fn holds(&self, plan: &Plan, options: &Object) -> Result<Holds> {
        options::write_options(plan, options)?;
        Ok(schema::holds())
    }

    fn fidelity(&self, plan: &Plan, options: &Object) -> Result<Fidelity> {
        options::write_options(plan, options)?;
        schema::check_writable(&plan.schema)?;
        Ok(Fidelity::default())
    }

    fn create(
        &self,
        root: Arc<dyn RootMut>,
        plan: &Plan,
        options: &Object,
    ) -> Result<Box<dyn Writer>> {
        Ok(Box::new(writer::FileWriter::create(root.as_ref(), plan, options)?))
    }

    fn part(&self, _root: Arc<dyn RootMut>, _name: &str) -> Result<Box<dyn Writer>> {
        Err(fixed("written in parts: several files are read as one dataset"))
    }

    fn audit(&self, root: Arc<dyn Root>, options: &AuditOptions) -> Result<Audit> {
        self.audit_many(vec![root], options)
    }

    fn audit_many(&self, roots: Vec<Arc<dyn Root>>, options: &AuditOptions) -> Result<Audit> {
        audit::audit(&roots, options)
    }

    fn merge(&self, _root: Arc<dyn RootMut>, _options: &MergeOptions) -> Result<Written> {
        Err(fixed("merged: several files are read as one dataset"))
    }

    fn repair(&self, root: Arc<dyn RootMut>, options: &RepairOptions) -> Result<RepairReport> {
        parts::repair::repair(root.as_ref(), options)
    }
}

fn fixed(what: &str) -> Error {
    let message = format!("expected a format that can be {what}; found arrayrecord");
    Error::new(Kind::Unsupported, codes::NOT_WRITABLE, Place::default(), message)
}
