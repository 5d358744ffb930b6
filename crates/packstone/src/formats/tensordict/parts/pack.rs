//! Archives: the files of a tree as a zip file with the library's bytes.
//!
//! ```text
//! meta.json, other files by name, then folders by name, in each the same          order
//! leaves stored: payload at a multiple of 64, by a padding block `td`             or compressed; all else is stored
//! ```
//!
//! Dates are a choice, and one for all entries, so that equal trees give equal archives. The archive is written beside
//! its target and renamed over it when it is whole.

use std::cmp::Ordering;
use std::io::{self, BufWriter, Write};
use std::sync::{Arc, Mutex, PoisonError};

use packstone_container::zip::{
    Compressor, EntryOptions, Method, Padding, Payload, WriteError, Writer,
};
use packstone_io::{Draft, IoError, Kind, RelPath, Root, RootMut};

use super::super::codes;
use super::super::layout::{LEAF, META};
use super::super::options::{SaveOptions, TreeOptions, invalid};
use super::super::reader::open_store;
use super::files::{Files, OutFile};
use super::node::Source;
use super::save::{Saved, step};
use super::transfer;
use super::tree::Tree;
use crate::error::{Error, Place, Result};
use crate::exec::{Progress, for_each};

/// The padding block in front of leaves: `td`.
const PADDING: Padding = Padding { id: 0x6474, to: 64 };
/// Permissions that entries carry.
const MODE: u16 = 0o644;
/// Files that are compressed at once are no more than this.
const TURN_FILES: usize = 256;
/// And, but for a single larger one, no larger in sum.
const TURN_BYTES: u64 = 64 << 20;

/// Packs the tree in `source`, a folder or another archive, as an archive at `path` below `root`; with `stray`, also
/// files that no document names.
///
/// # Errors
/// Those of reading the tree, of [`transfer::files`] and of [`write()`]; then nothing has changed.
pub fn pack(
    source: Arc<dyn Root>,
    root: &Arc<dyn RootMut>,
    path: &RelPath,
    stray: bool,
    reading: &TreeOptions,
    options: &SaveOptions,
    progress: Option<&Arc<dyn Progress>>,
) -> Result<Saved> {
    let store = open_store(source, &reading.limits)?.store();
    let tree = Tree::load(Arc::clone(&store), reading)?;
    write(root, path, transfer::files(&store, &tree, stray)?, options, progress)
}

/// Writes files as an archive at `path`.
///
/// # Errors
/// `io/exists` where there is a file already and it is not to be replaced; `option_invalid` where the method is none
/// that is written; those of reading what is to be written; `Io`. Then nothing has changed.
pub fn write(
    root: &Arc<dyn RootMut>,
    path: &RelPath,
    files: Files,
    options: &SaveOptions,
    progress: Option<&Arc<dyn Progress>>,
) -> Result<Saved> {
    if !options.replace {
        refuse_existing(root.as_ref(), path)?;
    }
    let mut saved = Saved { files: files.files.len() as u64, bytes: 0, notes: files.notes };
    if let Some(progress) = progress {
        progress.total(files.files.iter().fold(0, |sum, file| sum.saturating_add(file.len)));
    }
    let mut entries = files.files;
    entries.sort_by(|a, b| order(&a.path, &b.path));
    let mut packer = Packer::new(root.draft(path)?, options);
    let mut rest = entries.as_slice();
    while let Some(turn) = rest.get(..turn(rest)).filter(|turn| !turn.is_empty()) {
        packer.add(turn, |bytes| step(progress, bytes))?;
        rest = rest.get(turn.len()..).unwrap_or_default();
    }
    saved.bytes = packer.finish()?;
    Ok(saved)
}

/// Refuses a target that is there already.
///
/// # Errors
/// `io/exists`.
pub fn refuse_existing(root: &dyn Root, path: &RelPath) -> Result<()> {
    if root.len(path).is_err() {
        return Ok(());
    }
    let message = "expected no archive yet, found a file";
    Err(Error::new(Kind::Exists, "io/exists", Place::file(path), message))
}

/// How many of `files` are worked on at once; at least one where there is one.
fn turn(files: &[OutFile]) -> usize {
    let mut sum = 0u64;
    let fits = files.iter().take(TURN_FILES).take_while(|file| {
        let first = sum == 0;
        sum = sum.saturating_add(file.len.max(1));
        first || sum <= TURN_BYTES
    });
    fits.count()
}

/// The order of entries: in each folder the document, other files by name, then folders by name.
fn order(one: &RelPath, other: &RelPath) -> Ordering {
    let (mut one, mut other) = (one.components().peekable(), other.components().peekable());
    loop {
        let (Some(a), Some(b)) = (one.next(), other.next()) else { return Ordering::Equal };
        let rank = |name: &str, is_file: bool| match (is_file, name) {
            (true, META) => 0,
            (true, _) => 1,
            (false, _) => 2,
        };
        let (a, b) = ((rank(a, one.peek().is_none()), a), (rank(b, other.peek().is_none()), b));
        match a.cmp(&b) {
            Ordering::Equal => {}
            unequal => return unequal,
        }
    }
}

/// An archive in the making; dropped before it is finished, nothing of it stays.
pub struct Packer {
    writer: Writer<BufWriter<Sink>>,
    method: Method,
    modified: u32,
    threads: usize,
}

struct Sink {
    draft: Box<dyn Draft>,
    len: u64,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.draft.write(bytes).map_err(io::Error::other)?;
        self.len = self.len.saturating_add(bytes.len() as u64);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Packer {
    /// Starts an archive in a draft.
    pub fn new(draft: Box<dyn Draft>, options: &SaveOptions) -> Self {
        let SaveOptions { method, modified, threads, .. } = *options;
        let writer = Writer::new(BufWriter::with_capacity(64 << 10, Sink { draft, len: 0 }));
        Self { writer, method, modified, threads }
    }

    /// How an entry of this name is written.
    fn entry(&self, name: &str) -> EntryOptions {
        let leaf = name.ends_with(LEAF);
        let method = if leaf { self.method } else { Method::Stored };
        let padding = Some(PADDING).filter(|_| leaf && method == Method::Stored);
        EntryOptions::default()
            .with_method(method)
            .with_modified(self.modified)
            .with_mode(MODE)
            .with_padding(padding)
    }

    /// Appends files in their order; compresses several at once.
    ///
    /// # Errors
    /// Those of reading the files; `Io`; those of `done`, which is told the bytes of each file.
    pub fn add(&mut self, files: &[OutFile], done: impl Fn(u64) -> Result<()>) -> Result<()> {
        let open = |file: &OutFile| match file.streamed() {
            Some(_) => Ok(Vec::new()),
            None => file.open(),
        };
        let opened = files.iter().map(open).collect::<Result<Vec<_>>>()?;
        let parts: Vec<Vec<&[u8]>> =
            opened.iter().map(|pieces| pieces.iter().map(AsRef::as_ref).collect()).collect();
        let entries: Vec<EntryOptions> =
            files.iter().map(|file| self.entry(file.path.as_str())).collect();
        let input = |(file, parts): (&'_ OutFile, _)| match file.streamed() {
            Some((source, crc32)) => Input::Stream(Arc::clone(source), crc32),
            None => Input::Parts(parts),
        };
        let inputs = files.iter().zip(parts.iter().map(Vec::as_slice)).map(input);
        let jobs: Vec<Job<'_>> =
            inputs.zip(&entries).map(|(input, entry)| Job::new(input, entry.method)).collect();
        // A checksum alone is not worth a thread.
        match self.method {
            Method::Stored => jobs.iter().try_for_each(Job::run)?,
            _ => for_each(&jobs, self.threads, Job::run)?,
        }
        for ((file, entry), job) in files.iter().zip(entries).zip(jobs) {
            let payload = job.payload.into_inner().unwrap_or_else(PoisonError::into_inner);
            let name = file.path.as_str();
            match (payload, job.input) {
                (Some(payload), _) => {
                    self.writer.write(name, &payload, entry).map_err(|e| fault(e, Some(name)))?;
                }
                (None, Input::Stream(source, crc32)) => {
                    self.stream(name, (&source, crc32), file.len, entry)?;
                }
                (None, Input::Parts(_)) => {}
            }
            done(file.len)?;
        }
        Ok(())
    }

    /// Appends a stored entry that is decoded while it is written.
    fn stream(
        &mut self,
        name: &str,
        (source, crc32): (&Arc<dyn Source>, u32),
        len: u64,
        entry: EntryOptions,
    ) -> Result<()> {
        let done = self.writer.stream::<Halted>(name, (crc32, len), entry, |write| {
            let sink = &mut |piece: &[u8]| write(piece).map_err(|e| fault(e, Some(name)));
            Ok(source.stream(sink)?)
        });
        done.map_err(|halted| match halted {
            Halted::Write(error) => fault(error, Some(name)),
            Halted::Read(error) => error,
        })
    }

    /// Closes the archive and gives it its name; returns its length.
    ///
    /// # Errors
    /// `Io`; then an older archive stands.
    pub fn finish(self) -> Result<u64> {
        let out = self.writer.finish().map_err(|e| fault(e, None))?;
        let sink = out.into_inner().map_err(|e| fault(e.into_error().into(), None))?;
        sink.draft.publish()?;
        Ok(sink.len)
    }
}

/// Why an entry that is streamed is not whole.
enum Halted {
    Write(WriteError),
    Read(Error),
}

impl From<WriteError> for Halted {
    fn from(error: WriteError) -> Self {
        Self::Write(error)
    }
}

impl From<Error> for Halted {
    fn from(error: Error) -> Self {
        Self::Read(error)
    }
}

/// Where the bytes of an entry come from.
enum Input<'a> {
    Parts(&'a [&'a [u8]]),
    /// With their CRC-32.
    Stream(Arc<dyn Source>, u32),
}

/// One file to be compressed, and what came of it.
struct Job<'a> {
    input: Input<'a>,
    method: Method,
    payload: Mutex<Option<Payload<'a>>>,
}

impl<'a> Job<'a> {
    fn new(input: Input<'a>, method: Method) -> Self {
        Self { input, method, payload: Mutex::new(None) }
    }

    fn run(&self) -> Result<()> {
        let made = match &self.input {
            Input::Parts(parts) => Payload::new(parts, self.method).map_err(|e| fault(e, None))?,
            // What is stored as it is has its checksum already.
            Input::Stream(..) if self.method == Method::Stored => return Ok(()),
            Input::Stream(source, _) => {
                let mut compressor = Compressor::new(self.method).map_err(|e| fault(e, None))?;
                source.stream(&mut |piece| compressor.push(piece).map_err(|e| fault(e, None)))?;
                compressor.finish().map_err(|e| fault(e, None))?
            }
        };
        *self.payload.lock().unwrap_or_else(PoisonError::into_inner) = Some(made);
        Ok(())
    }
}

fn fault(error: WriteError, name: Option<&str>) -> Error {
    let place = name.map_or_else(Place::default, Place::file);
    match error {
        WriteError::Io(error) => match error.downcast::<IoError>() {
            Ok(error) => error.into(),
            Err(error) => Error::new(Kind::Io, "io/fault", place, error.to_string()),
        },
        WriteError::Unsupported(method) => {
            invalid(format!("expected a compression that is written, found {method}"))
        }
        WriteError::NameLength { .. } => {
            Error::new(Kind::Invalid, codes::NAME_TOO_LONG, place, error.to_string())
        }
        other => Error::new(Kind::Invalid, codes::NAME_COLLISION, place, other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_come_first_then_files_then_folders() {
        let mut paths: Vec<RelPath> = [
            "b/meta.json",
            "meta.json",
            "a.memmap",
            "B.memmap",
            "a/x/meta.json",
            "a/meta.json",
            "a/%.memmap",
            "%.memmap",
            "a/x.memmap",
            "meta.jsn",
            "b.c/meta.json",
            "é.memmap",
        ]
        .iter()
        .map(|text| RelPath::new(text).unwrap())
        .collect();
        paths.sort_by(order);
        let sorted: Vec<&str> = paths.iter().map(RelPath::as_str).collect();
        assert_eq!(
            sorted,
            [
                "meta.json",
                "%.memmap",
                "B.memmap",
                "a.memmap",
                "meta.jsn",
                "é.memmap",
                "a/meta.json",
                "a/%.memmap",
                "a/x.memmap",
                "a/x/meta.json",
                "b/meta.json",
                "b.c/meta.json",
            ]
        );
    }
}
