//! The file behind a map, kept open so that large runs of it are read where they are wanted.
//!
//! Copying out of a fresh map costs a page fault every few pages, and undoing the map costs as much again; one read of the
//! same bytes copies them from the page cache straight to where they go. Small runs are cheaper by the map.
//!
//! Descriptors are few: those kept here are at most an eighth of what the process may have. Without one the map serves.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::{Resource, getrlimit};

use crate::error::{IoError, Kind};

/// Runs from this many bytes on are read.
const READ_FROM: usize = 64 << 10;
/// The share of the descriptors of a process, and the most that are kept.
const SHARE: u64 = 8;
const MOST: usize = 256;

/// How many descriptors are kept now.
static KEPT: AtomicUsize = AtomicUsize::new(0);

/// A file that is mapped, with its own descriptor.
#[derive(Debug)]
pub(crate) struct Backing {
    file: File,
    /// Where its first byte lies in memory; only compared, never followed.
    base: usize,
}

impl Backing {
    /// Keeps a descriptor of `file`, whose map begins at `map`; `None` where enough are kept already.
    pub(crate) fn keep(file: &File, map: &[u8]) -> Option<Self> {
        let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX) / SHARE;
        let most = usize::try_from(most).unwrap_or(MOST).min(MOST);
        let room = |kept: usize| (kept < most).then_some(kept + 1);
        KEPT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).ok()?;
        match file.try_clone() {
            Ok(file) => Some(Self { file, base: map.as_ptr() as usize }),
            Err(_) => {
                KEPT.fetch_sub(1, Ordering::Relaxed);
                None
            }
        }
    }

    /// Copies `from`, which is a part of the map, to `out`, which is as long; false where the map serves better.
    ///
    /// # Errors
    /// `Corrupt` where the file was cut since it was mapped; `Io`.
    pub(crate) fn copy(&self, from: &[u8], out: &mut [u8]) -> Result<bool, IoError> {
        let start = (from.as_ptr() as usize).checked_sub(self.base);
        let Some(start) = start.filter(|_| from.len() >= READ_FROM) else { return Ok(false) };
        self.file.read_exact_at(out, start as u64).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => {
                let detail = "the file was cut while it was read";
                IoError::new(
                    Kind::Corrupt,
                    "read",
                    format!("byte {start} of a mapped file"),
                    detail,
                )
            }
            _ => IoError::os("read", format!("byte {start} of a mapped file"), error),
        })?;
        Ok(true)
    }
}

impl Drop for Backing {
    fn drop(&mut self) {
        KEPT.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use crate::{AlignedBuf, Kind, LocalRoot, RelPath, Root};

    const LEN: usize = 1 << 20;

    fn content() -> Vec<u8> {
        (0..LEN).map(|n| u8::try_from((n * 7 + n / 251) % 256).unwrap()).collect()
    }

    #[test]
    fn large_runs_and_small_ones_are_the_bytes_of_the_file() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join("a"), content()).unwrap();
        let root = LocalRoot::open(temp.path()).unwrap();
        let all = root.read(&RelPath::new("a").unwrap()).unwrap();
        let part = all.slice(1000..LEN - 10).unwrap();
        for range in [0..100, 3..200_003, 0..part.len(), 500_000..part.len(), 7..7] {
            let want = &content()[1000 + range.start..1000 + range.end];
            let mut out = vec![0; range.len()];
            assert!(part.copy_to(range.clone(), &mut out).unwrap());
            assert!(out == want, "{range:?}");
            let mut grown = AlignedBuf::default();
            grown.extend_from_slice(b"x").unwrap();
            assert!(grown.extend_from_buf(&part, range.clone()).unwrap());
            assert!(grown[1..] == *want && grown[0] == b'x', "{range:?}");
        }
        let mut out = vec![0; 100];
        assert!(!part.copy_to(part.len() - 99..part.len() + 1, &mut out).unwrap());
        assert!(!part.copy_to(0..99, &mut out).unwrap());
        let mut grown = AlignedBuf::default();
        assert!(!grown.extend_from_buf(&part, 5..part.len() + 1).unwrap() && grown.is_empty());
    }

    #[test]
    fn a_file_that_was_cut_meanwhile_is_an_error() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("a");
        std::fs::write(&path, content()).unwrap();
        let root = LocalRoot::open(temp.path()).unwrap();
        let all = root.read(&RelPath::new("a").unwrap()).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_len(500_000).unwrap();
        let mut out = vec![0; 200_000];
        assert!(all.copy_to(0..200_000, &mut out).unwrap());
        let error = all.copy_to(400_000..600_000, &mut out).unwrap_err();
        assert_eq!(error.kind(), Kind::Corrupt);
    }
}
