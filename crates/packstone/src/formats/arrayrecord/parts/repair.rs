//! Giving a file back its end: chunks of records are found without the index.
//!
//! What a killed writer left, or what is left of a file that was cut, goes into a draft with a new index behind it, and the
//! draft takes the place of the file. Chunks stay as they are, byte for byte. A file with damage before its end is left
//! alone: records behind the damage would be lost for good.

use std::io::{BufWriter, Write as _};
use std::sync::Arc;

use packstone_container::array_record::{Placer, Reader, ReaderOptions, Salvaged, salvage};
use packstone_container::riegeli::ChunkErrorKind;
use packstone_io::{ReadAt, RelPath, RootMut};

use super::super::codes;
use super::super::layout::SIGNATURE;
use super::super::writer::Sink;
use super::fault::{damaged, unwritten};
use super::file::sole;
use crate::error::{Place, Result};
use crate::format::{RepairOptions, RepairReport};
use crate::model::{Finding, Severity};

/// Bytes that are copied at once.
const PIECE: u64 = 1 << 20;

/// Mends the file that a root shows, where its end cannot be read.
///
/// # Errors
/// `not_a_file`; I/O faults.
pub fn repair(root: &dyn RootMut, options: &RepairOptions) -> Result<RepairReport> {
    let mut report = RepairReport::default();
    let (path, file) = sole(root)?;
    let reader = Reader::open(Arc::clone(&file), &ReaderOptions::default(), options.limits);
    let Err(error) = reader else { return Ok(report) };
    let fault = damaged(error, path.as_str());
    if fault.kind() == packstone_io::Kind::Io {
        return Err(fault);
    }
    let head = file.read_ranges(&[0..file.len().min(SIGNATURE.len() as u64)])?;
    if !head.iter().all(|bytes| SIGNATURE.starts_with(bytes)) {
        report.left.push(fault.into());
        let place = Place::file(&path);
        let message = "expected the signature of a riegeli file, found other bytes";
        report.left.push(Finding::new(Severity::Error, codes::SIGNATURE_DAMAGED, place, message));
        return Ok(report);
    }
    let found = salvage(&file, options.limits);
    let inside = found.damage.as_ref().filter(|damage| {
        !matches!(damage.kind, ChunkErrorKind::Outside { limit, .. } if limit == file.len())
    });
    if let Some(damage) = inside {
        report.left.push(fault.into());
        let place = Place::file(&path).at(damage.chunk);
        let message = format!("expected chunks up to the end of the file, found damage: {damage}");
        report.left.push(Finding::new(Severity::Error, codes::CHUNK_DATA_HASH, place, message));
        return Ok(report);
    }
    report.salvaged.push((path.to_string(), found.records()));
    if !options.dry_run {
        rewrite(root, &path, file.as_ref(), found)?;
    }
    Ok(report)
}

/// Puts the chunks that were found, and an index of them, in the place of the file.
fn rewrite(root: &dyn RootMut, path: &RelPath, file: &dyn ReadAt, found: Salvaged) -> Result<()> {
    let wrong = |error| unwritten(error, path);
    let mut draft = BufWriter::new(Sink(root.draft(path)?));
    let mut options = found.options.clone();
    (options.transpose, options.transpose_bucket_size) = (false, None);
    // Where not even the signature is whole, there is nothing to go on behind.
    let whole = found.end <= file.len();
    let mut at = if whole { 0 } else { found.end };
    while at < found.end {
        let end = found.end.min(at.saturating_add(PIECE));
        for bytes in file.read_ranges(&[at..end])? {
            draft.write_all(&bytes).map_err(|error| wrong(error.into()))?;
        }
        at = end;
    }
    let placer = match whole {
        true => Placer::resume(draft, &options, found),
        false => Placer::new(draft, &options),
    };
    let placer = placer.map_err(wrong)?;
    let written = placer.finish().map_err(wrong)?;
    let sink = written.out.into_inner().map_err(|error| wrong(error.into_error().into()))?;
    Ok(sink.0.publish()?)
}
