//! A bounded store of the files that were read last: shards as maps, of which the kernel keeps what memory allows.
//!
//! A map holds no descriptor, so thousands of caches can be open at once. What is scanned in order is kept for a moment
//! only; what is looked up at random stays, up to some GiB of address space and a small share of real memory.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use packstone_io::Buf;

use crate::error::Result;

/// Bytes of address space that kept files take.
const MAPPED: usize = 4 << 30;
/// Files below this length are copies in memory, no maps.
const COPIED_BELOW: usize = 256 << 10;
/// Bytes of memory that such copies take.
const COPIED: usize = 32 << 20;
/// Files that a scan leaves behind.
const PASSING: usize = 4;

/// Which file: the cache, and the number of its shard.
type Key = (u64, u64);

/// How long a file is of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stay {
    /// It is read from one end to the other.
    Passing,
    /// Parts of it are looked up.
    Kept,
}

/// The store.
#[derive(Debug, Default)]
pub struct Maps(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    kept: HashMap<Key, (Buf, u64)>,
    passing: Vec<(Key, Buf)>,
    turn: u64,
    mapped: usize,
    copied: usize,
}

impl Maps {
    /// The file under `key`, read by `load` where it is not here.
    ///
    /// # Errors
    /// Those of `load`.
    pub fn get(&self, key: Key, stay: Stay, load: impl FnOnce() -> Result<Buf>) -> Result<Buf> {
        if let Some(found) = self.state().find(key) {
            return Ok(found);
        }
        // Outside of the lock: others go on meanwhile, at worst one reads the same file.
        let loaded = load()?;
        self.state().put(key, stay, loaded.clone());
        Ok(loaded)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn find(&mut self, key: Key) -> Option<Buf> {
        self.turn += 1;
        if let Some((bytes, turn)) = self.kept.get_mut(&key) {
            *turn = self.turn;
            return Some(bytes.clone());
        }
        self.passing.iter().find(|(other, _)| *other == key).map(|(_, bytes)| bytes.clone())
    }

    fn put(&mut self, key: Key, stay: Stay, bytes: Buf) {
        match stay {
            Stay::Passing => {
                if self.passing.len() >= PASSING {
                    self.passing.remove(0);
                }
                self.passing.push((key, bytes));
            }
            Stay::Kept => {
                *self.share(bytes.len()) += bytes.len();
                if let Some((old, _)) = self.kept.insert(key, (bytes, self.turn)) {
                    *self.share(old.len()) -= old.len();
                }
                while (self.mapped > MAPPED || self.copied > COPIED) && self.kept.len() > 1 {
                    self.drop_oldest();
                }
            }
        }
    }

    fn share(&mut self, len: usize) -> &mut usize {
        if len < COPIED_BELOW { &mut self.copied } else { &mut self.mapped }
    }

    fn drop_oldest(&mut self) {
        let small = self.copied > COPIED;
        let of_share = |bytes: &Buf| !small || bytes.len() < COPIED_BELOW;
        let candidates = self.kept.iter().filter(|(_, (bytes, _))| of_share(bytes));
        let oldest = candidates.min_by_key(|(_, (_, turn))| *turn).map(|(key, _)| *key);
        if let Some((bytes, _)) = oldest.and_then(|key| self.kept.remove(&key)) {
            *self.share(bytes.len()) -= bytes.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(maps: &Maps, key: Key, stay: Stay, len: usize) -> bool {
        let mut loaded = false;
        let bytes = maps.get(key, stay, || {
            loaded = true;
            Ok(Buf::from(vec![0; len]))
        });
        assert_eq!(bytes.unwrap().len(), len);
        loaded
    }

    #[test]
    fn what_is_kept_is_bounded_by_bytes_and_the_oldest_goes_first() {
        let maps = Maps::default();
        let each = COPIED_BELOW - 1;
        let fits = (COPIED / each) as u64;
        for n in 0..fits {
            assert!(load(&maps, (0, n), Stay::Kept, each));
        }
        assert!(!load(&maps, (0, 0), Stay::Kept, each));
        assert!(load(&maps, (1, 0), Stay::Kept, each));
        assert!(!load(&maps, (0, 0), Stay::Kept, each), "used again, so not the oldest");
        assert!(load(&maps, (0, 1), Stay::Kept, each), "the oldest");
        let copied = maps.0.lock().unwrap().copied;
        assert!(copied <= COPIED && copied > COPIED / 2, "{copied}");
    }

    #[test]
    fn what_passes_stays_for_a_moment() {
        let maps = Maps::default();
        for n in 0..5 {
            assert!(load(&maps, (0, n), Stay::Passing, 10));
        }
        assert!(!load(&maps, (0, 4), Stay::Passing, 10));
        assert!(load(&maps, (0, 0), Stay::Passing, 10));
    }
}
