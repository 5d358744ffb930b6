//! Shards in the making: records are appended as they come and hashed beside, which takes longer, and a shard gets its
//! name when it is full and on the disk. The disk is waited for while the next shard is made.
//!
//! A shard ends before a record that would make it longer than the limit, unless it is empty.

use std::sync::{Arc, Mutex, PoisonError};

use packstone_container::digest::{Algorithm, Hasher};
use packstone_io::{Buf, Draft, Kind, RelPath, RootMut};

use super::super::codes;
use super::super::document::ShardEntry;
use super::super::layout::{SHARDS, shard_name};
use super::super::options::WriterOptions;
use super::encode::Records;
use crate::error::{Error, Place, Result};
use crate::exec::Pipeline;

/// Pieces that wait for the disk.
const WAITING: usize = 4;
/// Full shards that wait for it.
const SYNCING: usize = 2;

/// Bytes for a shard.
#[derive(Clone)]
struct Piece {
    number: u64,
    bytes: Vec<Buf>,
    /// Whether they are its last.
    last: bool,
}

/// A shard that is on the disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Closed {
    /// What the manifest says about it.
    pub entry: ShardEntry,
    /// Length of each record.
    pub lengths: Vec<u64>,
}

/// A file with all of its bytes, which is not on the disk and has no name yet.
struct Full {
    number: u64,
    draft: Box<dyn Draft>,
}

/// The open shard and those before it.
pub struct Shards {
    /// Appends, in order.
    disk: Pipeline<Piece, Result<Option<Full>>>,
    /// Hashes the same pieces; the SHA-256 of a shard comes with its last one.
    sums: Pipeline<Piece, Option<String>>,
    /// Waits until full shards are on the disk, while more are made.
    naming: Pipeline<(Full, String), Result<(u64, String)>>,
    options: WriterOptions,
    /// Complete shards.
    pub closed: Vec<Closed>,
    /// Full shards that are on their way to the disk, with what is known of them.
    leaving: std::collections::VecDeque<(u64, u64, Vec<u64>)>,
    number: u64,
    len: u64,
    raw: u64,
    lengths: Vec<u64>,
}

/// The file that the disk's thread has open.
struct Open {
    number: u64,
    draft: Box<dyn Draft>,
}

impl Shards {
    /// Begins after the shards in `closed`, below `folder`.
    pub fn new(
        root: Arc<dyn RootMut>,
        folder: &RelPath,
        options: &WriterOptions,
        closed: Vec<Closed>,
    ) -> Self {
        let folder = folder.clone();
        let threads = options.threads.min(1);
        let disk = Pipeline::new(threads, WAITING, move || {
            let state: Mutex<Option<Open>> = Mutex::new(None);
            let (root, folder) = (Arc::clone(&root), folder.clone());
            move |piece: Piece| {
                let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
                append(root.as_ref(), &folder, &mut state, piece)
            }
        });
        let sums = Pipeline::new(threads, WAITING, || {
            let state = Mutex::new(Hasher::new(Algorithm::Sha256));
            move |piece: Piece| {
                let mut hasher = state.lock().unwrap_or_else(PoisonError::into_inner);
                piece.bytes.iter().for_each(|bytes| hasher.update(bytes));
                let next = || std::mem::replace(&mut *hasher, Hasher::new(Algorithm::Sha256));
                piece.last.then(next).map(Hasher::finish_hex)
            }
        });
        let naming = Pipeline::new(options.threads.min(SYNCING), SYNCING, || {
            |(full, sha256): (Full, String)| {
                full.draft.publish()?;
                Ok((full.number, sha256))
            }
        });
        let number = closed.len() as u64;
        Self {
            disk,
            sums,
            naming,
            options: options.clone(),
            closed,
            leaving: std::collections::VecDeque::new(),
            number,
            len: 0,
            raw: 0,
            lengths: Vec::new(),
        }
    }

    /// Appends records; returns how many shards became complete on the disk meanwhile.
    ///
    /// # Errors
    /// I/O faults of this or an earlier append.
    pub fn push(&mut self, records: &Records) -> Result<usize> {
        let before = self.closed.len();
        let (mut start, mut at) = (0usize, 0usize);
        for (len, raw) in &records.lengths {
            if self.len > 0 && self.len.saturating_add(*len) > self.options.max_shard_bytes {
                self.send(&records.bytes, start..at, true)?;
                start = at;
            }
            at = at.saturating_add(usize::try_from(*len).unwrap_or(usize::MAX));
            self.len += len;
            self.raw += raw;
            self.lengths.push(*len);
        }
        self.send(&records.bytes, start..at, false)?;
        Ok(self.closed.len() - before)
    }

    /// Hands bytes to the disk, and ends the shard with them where it is full.
    fn send(&mut self, bytes: &Buf, range: std::ops::Range<usize>, last: bool) -> Result<()> {
        while !self.disk.has_room() {
            self.collect()?;
        }
        let bytes = bytes.slice(range).filter(|bytes| !bytes.is_empty());
        let bytes: Vec<Buf> = bytes.into_iter().collect();
        if !bytes.is_empty() || last {
            let piece = Piece { number: self.number, bytes, last };
            self.sums.submit(piece.clone());
            self.disk.submit(piece);
        }
        if last {
            let lengths = std::mem::take(&mut self.lengths);
            self.leaving.push_back((self.len, self.raw, lengths));
            (self.len, self.raw) = (0, 0);
            self.number += 1;
        }
        Ok(())
    }

    fn collect(&mut self) -> Result<()> {
        let Some(full) = self.disk.next_result() else { return Ok(()) };
        let sum = self.sums.next_result().transpose()?.flatten();
        let Some(full) = full.and_then(|r| r)?.zip(sum) else { return Ok(()) };
        while !self.naming.has_room() {
            self.settle()?;
        }
        self.naming.submit(full);
        Ok(())
    }

    /// Takes the next shard that is on the disk.
    fn settle(&mut self) -> Result<()> {
        let Some(named) = self.naming.next_result() else { return Ok(()) };
        let (number, sha256) = named.and_then(|r| r)?;
        let Some((bytes, raw_bytes, lengths)) = self.leaving.pop_front() else { return Ok(()) };
        let (algo, ratio) = (self.options.algo, self.options.ratio_number());
        let name = RelPath::new(&shard_name(number)).unwrap_or_default();
        let entry = ShardEntry { name, raw_bytes, bytes, algo, ratio, sha256 };
        self.closed.push(Closed { entry, lengths });
        Ok(())
    }

    /// Ends the open shard and waits for the disk.
    ///
    /// # Errors
    /// I/O faults.
    pub fn finish(&mut self) -> Result<()> {
        if self.len > 0 {
            self.send(&Buf::default(), 0..0, true)?;
        }
        while !self.disk.is_empty() {
            self.collect()?;
        }
        while !self.naming.is_empty() {
            self.settle()?;
        }
        Ok(())
    }

    /// Waits for the disk and forgets what is not complete.
    pub fn abandon(&mut self) {
        while self.disk.next_result().is_some() {}
        while self.sums.next_result().is_some() {}
        while self.naming.next_result().is_some() {}
    }
}

fn append(
    root: &dyn RootMut,
    folder: &RelPath,
    state: &mut Option<Open>,
    piece: Piece,
) -> Result<Option<Full>> {
    let Piece { number, bytes, last } = piece;
    let path = folder.join(&format!("{SHARDS}/{}", shard_name(number))).map_err(|why| {
        let place = Place::file(folder);
        Error::new(Kind::Denied, codes::PATH_ESCAPE, place, why.to_string())
    })?;
    let mut open = match state.take().filter(|open| open.number == number) {
        Some(open) => open,
        None => Open { number, draft: root.draft(&path)? },
    };
    for bytes in bytes {
        open.draft.write(&bytes)?;
    }
    if !last {
        *state = Some(open);
        return Ok(None);
    }
    Ok(Some(Full { number, draft: open.draft }))
}
