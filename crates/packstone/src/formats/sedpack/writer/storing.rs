//! Storing shards on threads: some encode and write them, others wait for the disk.

use std::sync::{Arc, Mutex, PoisonError};

use packstone_io::{AlignedBuf, RelPath, RootMut};

use super::super::document::DatasetInfo;
use super::super::options::FillerOptions;
use super::super::parts::list::{FileInfo, ShardEntry};
use super::super::parts::rotate::FullShard;
use super::super::parts::shard::{Scratch, ShardFormat};
use super::super::reader::checksums;
use crate::error::Result;
use crate::exec::Pipeline;

/// A shard to be stored, of the lane of this number.
pub(super) struct Job {
    pub(super) lane: usize,
    pub(super) path: RelPath,
    pub(super) shard: FullShard,
}

/// A stored shard, and the length of its file.
pub(super) struct Done {
    pub(super) lane: usize,
    pub(super) entry: ShardEntry,
    pub(super) bytes: u64,
}

/// Threads that put shards on the disk.
const SYNC_THREADS: usize = 2;

/// Encodes shards and stores them, with the checksums that their lists want.
pub(super) fn storing(
    root: &Arc<dyn RootMut>,
    info: &DatasetInfo,
    options: &FillerOptions,
) -> Pipeline<Job, Result<Done>> {
    let format = Arc::new(ShardFormat::from(info));
    let (root, algorithms) = (Arc::clone(root), info.algorithms.clone());
    Pipeline::new(options.threads, options.window, move || {
        let state = Mutex::new((Scratch::default(), AlignedBuf::default()));
        let (format, root, algorithms) =
            (Arc::clone(&format), Arc::clone(&root), algorithms.clone());
        move |job: Job| {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            let (scratch, out) = &mut *state;
            let Job { lane, path, shard } = job;
            format.encode(&shard.parts, scratch, out)?;
            root.create_folder(&path.parent().unwrap_or_default())?;
            root.create(&path, out)?;
            let file = FileInfo { path, checksums: checksums(&algorithms, out) };
            let entry =
                ShardEntry { files: vec![file], examples: shard.rows, metadata: shard.metadata };
            Ok(Done { lane, entry, bytes: out.len() as u64 })
        }
    })
}

/// Puts stored shards on the disk. Waiting for that takes no core; shards that wait for it take no memory.
pub(super) fn syncing(
    root: &Arc<dyn RootMut>,
    options: &FillerOptions,
) -> Pipeline<RelPath, Result<()>> {
    let root = Arc::clone(root);
    Pipeline::new(options.threads.min(SYNC_THREADS), usize::MAX, move || {
        let root = Arc::clone(&root);
        move |path: RelPath| Ok(root.persist(&path)?)
    })
}
