//! Names of folders and shards: random, in a tree whose folders hold at most 1000 entries each.

use packstone_io::{Kind, RelPath};

use super::super::layout::{FOLDER_DIGITS, LEVELS, MAX_BRANCHING, SHARD_DIGITS};
use crate::error::{Error, Place, Result};
use crate::random::Random;

/// Where names come from.
#[derive(Debug)]
enum Source {
    Chance,
    Seeded(Random),
}

/// Gives each new shard its folder and name: `<10 hex>/<10 hex>/<10 hex>/<32 hex>`.
///
/// The innermost folder takes shards until it is full, then its parent gets a new one, and so on up; the outermost level
/// may grow without bound.
#[derive(Debug)]
pub struct Names {
    source: Source,
    branching: u64,
    /// The open folders, outermost first, each with the number of entries made in it.
    open: Vec<(String, u64)>,
}

impl Names {
    /// Names by chance, or the same ones for the same seed.
    pub fn new(seed: Option<u64>) -> Self {
        Self::with_branching(seed, MAX_BRANCHING)
    }

    fn with_branching(seed: Option<u64>, branching: u64) -> Self {
        let source = seed.map_or(Source::Chance, |seed| Source::Seeded(Random::new(seed)));
        Self { source, branching, open: Vec::new() }
    }

    fn hex(&mut self, digits: usize) -> Result<String> {
        let mut bytes = [0u8; SHARD_DIGITS / 2];
        match &mut self.source {
            Source::Chance => getrandom::fill(&mut bytes).map_err(|e| {
                Error::new(
                    Kind::Io,
                    "io/fault",
                    Place::default(),
                    format!("no random numbers: {e}"),
                )
            })?,
            Source::Seeded(random) => {
                for chunk in bytes.chunks_mut(8) {
                    let word = random.next_u64().to_le_bytes();
                    chunk.copy_from_slice(word.get(..chunk.len()).unwrap_or_default());
                }
            }
        }
        let mut text = packstone_container::digest::hex(&bytes);
        text.truncate(digits);
        Ok(text)
    }

    /// The next shard below `parent`, without its extension.
    ///
    /// # Errors
    /// `io/fault` where the system gives no random numbers.
    pub fn next(&mut self, parent: &RelPath) -> Result<RelPath> {
        // Full folders are left, innermost first; the outermost level has no limit of its own.
        while self.open.last().is_some_and(|(_, made)| *made >= self.branching) {
            self.open.pop();
        }
        while self.open.len() < LEVELS {
            if let Some((_, made)) = self.open.last_mut() {
                *made += 1;
            }
            let name = self.hex(FOLDER_DIGITS)?;
            self.open.push((name, 0));
        }
        if let Some((_, made)) = self.open.last_mut() {
            *made += 1;
        }
        let shard = self.hex(SHARD_DIGITS)?;
        let mut path = parent.to_string();
        if parent.is_root() {
            path.clear();
        }
        for name in self.open.iter().map(|(name, _)| name).chain([&shard]) {
            path.push('/');
            path.push_str(name);
        }
        RelPath::new(path.trim_start_matches('/'))
            .map_err(|e| Error::new(Kind::Invalid, "io/denied", Place::file(&path), e.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;

    #[test]
    fn no_folder_gets_more_than_its_branching() {
        for (branching, count) in [(3, 100), (MAX_BRANCHING, 2500)] {
            let mut names = Names::with_branching(None, branching);
            let mut entries: HashMap<String, HashSet<String>> = HashMap::new();
            for _ in 0..count {
                let path = names.next(&RelPath::new("train").unwrap()).unwrap();
                let parts: Vec<_> = path.components().map(str::to_owned).collect();
                let lengths: Vec<_> = parts.iter().map(String::len).collect();
                assert_eq!(lengths, [5, 10, 10, 10, 32]);
                for depth in 1..parts.len() {
                    entries
                        .entry(parts[..depth].join("/"))
                        .or_default()
                        .insert(parts[depth].clone());
                }
            }
            let most =
                entries.iter().filter(|(folder, _)| *folder != "train").map(|(_, e)| e.len()).max();
            assert_eq!(most, Some(usize::try_from(branching).unwrap()));
            assert_eq!(
                entries.values().map(HashSet::len).sum::<usize>(),
                entries.len() - 1 + count
            );
        }
    }

    #[test]
    fn equal_seeds_give_equal_names() {
        let run = |seed| {
            let mut names = Names::new(Some(seed));
            (0..5).map(|_| names.next(&RelPath::root()).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(run(7), run(7));
        assert_ne!(run(7), run(8));
        assert!(
            run(7)[0]
                .as_str()
                .bytes()
                .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b) || b == b'/')
        );
    }
}
