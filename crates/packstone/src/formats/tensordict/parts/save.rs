//! Saving a tree: to a folder, or to an archive.
//!
//! All names and sizes are worked out and checked first ([`Files`]); then leaves are written, then documents bottom-up,
//! the root's last, all of it out of sight ([`Stage`]); then the tree appears as a whole. Saving over an older tree
//! replaces it as a whole, so nothing of the older one stays: no longer leaf, no member of a longer stack, no pickle.

use std::sync::Arc;

use packstone_io::{RelPath, RootMut};

use super::super::options::SaveOptions;
use super::files::{Body, Files, OutFile};
use super::node::Node;
use super::stage::Stage;
use crate::error::Result;
use crate::exec::{Progress, for_each, keep_going};
use crate::model::Finding;

/// What was saved.
#[derive(Clone, Debug, Default)]
pub struct Saved {
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What readers may see otherwise than it is meant.
    pub notes: Vec<Finding>,
}

/// From this many bytes on, files are written by several threads.
const MANY_BYTES: u64 = 8 << 20;

/// Saves a tree at `at` below `root`; the empty path is the root itself, which must be empty then.
///
/// # Errors
/// Those of [`Files::of`] and [`Stage`]; then nothing has changed.
pub fn save(
    root: &Arc<dyn RootMut>,
    at: &RelPath,
    node: &Node,
    options: &SaveOptions,
) -> Result<Saved> {
    write(root, at, Files::of(node, options)?, options, None)
}

/// Writes files as a tree, see [`save`].
///
/// # Errors
/// Those of [`Stage`] and of reading what is to be written; then nothing has changed.
pub fn write(
    root: &Arc<dyn RootMut>,
    at: &RelPath,
    files: Files,
    options: &SaveOptions,
    progress: Option<&Arc<dyn Progress>>,
) -> Result<Saved> {
    let bytes = files.bytes();
    let saved = Saved { files: files.files.len() as u64, bytes, notes: files.notes };
    let mut stage = Stage::begin(root, at, options.replace)?;
    if let Some(progress) = progress {
        progress.total(bytes);
    }
    files.folders.iter().try_for_each(|folder| stage.folder(folder))?;
    let mut body = files.files;
    let document = body.pop();
    let placed: Vec<(RelPath, OutFile)> =
        body.into_iter().map(|file| (stage.file(&file.path), file)).collect();
    let threads = if bytes < MANY_BYTES { 0 } else { options.threads };
    let put = |(path, file): &(RelPath, OutFile)| {
        put(root.as_ref(), path, file)?;
        step(progress, file.len)
    };
    if threads < 2 {
        placed.iter().try_for_each(put)?;
    } else {
        for_each(&placed, threads, put)?;
    }
    let document = match document {
        Some(file) => file.open()?.into_iter().next().unwrap_or_default(),
        None => return Ok(saved),
    };
    stage.finish(&document)?;
    Ok(saved)
}

fn put(root: &dyn RootMut, path: &RelPath, file: &OutFile) -> Result<()> {
    if let Body::Zeros = file.body {
        root.create(path, b"")?;
        return Ok(root.edit(path)?.set_len(file.len)?);
    }
    if let Some((source, _)) = file.streamed() {
        let mut draft = root.draft(path)?;
        source.stream(&mut |piece| Ok(draft.write(piece)?))?;
        return Ok(draft.publish()?);
    }
    match file.open()?.as_slice() {
        [whole] => Ok(root.create(path, whole)?),
        pieces => {
            let mut draft = root.draft(path)?;
            pieces.iter().try_for_each(|piece| draft.write(piece))?;
            Ok(draft.publish()?)
        }
    }
}

/// Tells that bytes are written, and hears whether to stop.
///
/// # Errors
/// `ops/cancelled`.
pub fn step(progress: Option<&Arc<dyn Progress>>, bytes: u64) -> Result<()> {
    if let Some(progress) = progress {
        progress.advance(bytes);
    }
    keep_going(progress)
}
