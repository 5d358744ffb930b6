//! Operations on what lies at paths, as every front end offers them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use packstone_container::Limits;
use packstone_io::{Kind, RootMut};

use super::{Probed, probe_all, sources, target_of};
use crate::error::{Error, Place, Result};
use crate::exec::Progress;
use crate::format::{Dataset, Format};
use crate::model::Finding;
use crate::ops::{self, ConvertOptions, ConvertReport, DigestRecord, VerifyOptions, VerifyReport};

/// Divides `path#collection`: the last `#` does, unless the whole text is a path that exists.
pub fn split_address(text: &str) -> (PathBuf, Option<String>) {
    let split = text.rsplit_once('#').filter(|_| !Path::new(text).exists());
    match split {
        Some((path, name)) if !path.is_empty() => (path.into(), Some(name.to_owned())),
        _ => (text.into(), None),
    }
}

/// Checks what is at `paths` as one dataset; where the only one is a selection of samples, the data that it is of.
///
/// A dataset that cannot even be opened is a finding: whoever verifies wants to know.
///
/// # Errors
/// Those of [`probe_all`] and [`ops::verify_many`] that are about the request or the machine.
pub fn verify(
    paths: &[PathBuf],
    options: &VerifyOptions,
    progress: Option<&Arc<dyn Progress>>,
) -> Result<VerifyReport> {
    let found = match paths {
        [only] => sources(only, &options.audit.limits)?,
        _ => None,
    };
    let Probed { roots, format } = probe_all(found.as_deref().unwrap_or(paths))?;
    match ops::verify_many(format, roots, options, progress) {
        Err(error) if is_damage(&error, format.id()) => Ok(VerifyReport {
            format: format.id(),
            findings: vec![Finding::from(error)],
            documents: 1,
            ..VerifyReport::default()
        }),
        other => other,
    }
}

/// The digests in a file that [`save_digests`] wrote.
///
/// # Errors
/// `ops/digest_record`; `NotFound`, `Io`.
pub fn digest_record(file: &Path) -> Result<DigestRecord> {
    let root = super::root(file)?;
    let name = root.sole_file().cloned().unwrap_or_default();
    let bytes = root.read(&name)?;
    DigestRecord::read(&bytes, &Limits::default())
        .map_err(|error| error.with_place(Place::file(file.display())))
}

/// Writes digests to a new file, complete or not at all.
///
/// # Errors
/// Those of [`super::new_file`]; `Io`.
pub fn save_digests(record: &DigestRecord, file: &Path) -> Result<()> {
    let text = format!("{}\n", record.to_json());
    let (root, name) = super::new_file(file)?;
    root.create(&name, text.as_bytes())?;
    root.persist(&name)?;
    Ok(())
}

/// True for an error that is about the dataset and not about the request or the machine.
fn is_damage(error: &Error, format: &str) -> bool {
    let own = error.code().strip_prefix(format).is_some_and(|rest| rest.starts_with('/'));
    own && error.place().file.is_some() && !matches!(error.kind(), Kind::Io | Kind::Cancelled)
}

/// Writes the content of `source` as a new dataset of `format` at `path`, where nothing may be yet but what options go on
/// with. A folder that stays empty is taken away again.
///
/// # Errors
/// Those of [`target_of`] and [`ops::convert`].
pub fn convert(
    source: Arc<dyn Dataset>,
    format: &dyn Format,
    path: &Path,
    options: &ConvertOptions,
    progress: Option<&Arc<dyn Progress>>,
) -> Result<ConvertReport> {
    let root = target_of(path, format, &options.options)?;
    let report = ops::convert(source, format, root, options, progress);
    if report.is_err() {
        // Only an empty folder can be removed this way; anything in it is left for a look.
        let _ = std::fs::remove_dir(path);
    }
    report
}
