//! The whole check: every hash of every chunk, the index against the chunks, what lies between them, and the records
//! against the note.
//!
//! Each file is a task. Where the end of a file cannot be read that is the fault, and of what else looks odd then only
//! damage is told.

use std::sync::Arc;

use packstone_container::array_record;
use packstone_container::digest::{Algorithm, Hasher};
use packstone_io::{ReadAt, RelPath, Root};

use super::codes;
use super::parts::collection::Records;
use super::parts::fault::found;
use super::parts::file::{File, sole};
use super::parts::frame::Frame;
use super::reader::ArrayRecordDataset;
use crate::error::{Place, Result};
use crate::format::{Audit, AuditOptions, AuditTask, Collection, ReadContext};
use crate::model::{Finding, Severity};

/// Bytes that are hashed at once.
const PIECE: u64 = 1 << 20;

/// Prepares the check.
///
/// # Errors
/// `not_a_file`; `NotFound`, `Denied`, `Io` where a file cannot be opened.
pub fn audit(roots: &[Arc<dyn Root>], options: &AuditOptions) -> Result<Audit> {
    let mut audit = Audit::default();
    let mut whole = true;
    for root in roots {
        let (path, file) = sole(root.as_ref())?;
        expected(&path, file.as_ref(), options, &mut audit)?;
        audit.documents = audit.documents.saturating_add(1);
        let opened = File::open(root.as_ref(), &options.limits);
        whole = whole && opened.is_ok();
        match opened {
            Err(error) if options.quick => audit.findings.push(error.into()),
            opened => audit.tasks.extend((!options.quick).then(|| task(path, file, opened.ok()))),
        }
    }
    if whole && roots.len() > 1 {
        let joined = ArrayRecordDataset::open(roots, &options.limits);
        audit.findings.extend(joined.err().map(Finding::from));
    }
    Ok(audit)
}

/// Compares a file with checksums that somebody noted.
fn expected(
    path: &RelPath,
    file: &dyn ReadAt,
    options: &AuditOptions,
    audit: &mut Audit,
) -> Result<()> {
    if options.expect.is_empty() {
        return Ok(());
    }
    let mut hasher = Hasher::new(Algorithm::Sha256);
    let mut at = 0u64;
    while at < file.len() {
        let end = file.len().min(at.saturating_add(PIECE));
        file.read_ranges(&[at..end])?.iter().for_each(|bytes| hasher.update(bytes));
        at = end;
    }
    let sum = hasher.finish_hex();
    for expected in options.expect.iter().filter(|hash| !hash.eq_ignore_ascii_case(&sum)) {
        let message = format!("expected sha256 {expected}, found {sum}");
        let place = Place::file(path);
        let finding = Finding::new(Severity::Error, codes::FILE_MISMATCH, place, message);
        audit.findings.push(finding);
    }
    Ok(())
}

fn task(path: RelPath, file: Arc<dyn ReadAt>, opened: Option<File>) -> AuditTask {
    let (bytes, samples) = (file.len(), opened.as_ref().map_or(0, |file| file.reader.len()));
    let run = Box::new(move |context: &mut ReadContext| {
        let mut findings = Vec::new();
        let whole = opened.is_some();
        array_record::verify(&file, context.limits, &mut |finding| {
            let finding = found(&finding, path.as_str());
            if whole || finding.severity == Severity::Error {
                findings.push(finding);
            }
        });
        if let Some(file) = opened {
            noted(file, context, &mut findings);
        }
        findings
    });
    AuditTask { bytes, samples, run }
}

/// Checks the note, and that records are what it says.
fn noted(file: File, context: &mut ReadContext, findings: &mut Vec<Finding>) {
    let fault = file.note_fault();
    findings.extend(fault.map(|error| Finding { severity: Severity::Warning, ..error.into() }));
    let schema = file.own.as_ref().map(|own| Arc::new(own.schema.clone()));
    let Some(frame) = schema.and_then(Frame::new) else { return };
    let range = 0..file.reader.len();
    let files = Arc::from(vec![(Arc::new(file), 0)]);
    let records = Records { name: String::new(), range, frame: Arc::new(frame), files };
    for shard in records.shards(0).map_while(Result::ok) {
        // Damage was told before.
        match records.read(&shard, Some(&[]), context) {
            Err(error) if error.code() == codes::RECORD_FRAME => findings.push(error.into()),
            _ => {}
        }
    }
}
