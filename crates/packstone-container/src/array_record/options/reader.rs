//! How a file shall be read; nothing here changes what is read.

use std::fmt;
use std::str::FromStr;

use super::parse::{OptionError, Seen, pairs};

/// The keys, in the order in which the original lists them.
const KEYS: [&str; 4] =
    ["max_parallelism", "readahead_buffer_size", "index_storage_option", "footer_prefetch_bytes"];
/// The most bytes of a buffer.
const MOST: u64 = 1 << 30;
/// What is read of the end of a file at first.
const PREFETCH: u64 = 1 << 20;

/// Options of a reader, as in `readahead_buffer_size:16M,max_parallelism:0`. The default is the original's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReaderOptions {
    /// Bytes of file that are read ahead where records are read one after another, up to 1 GiB; `None` for auto.
    pub readahead_buffer_size: Option<u64>,
    /// How many threads may decode at once, 0 for none but the caller's; `None` for auto. A hint to those who have
    /// threads: this crate starts none.
    pub max_parallelism: Option<u32>,
    /// Where the original keeps the index. Here it is always in memory.
    pub index_storage: IndexStorage,
    /// Bytes at the end of a file that are read at first, up to 1 GiB; the last 64 KiB are always read.
    pub footer_prefetch_bytes: u64,
}

/// Where the original keeps the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexStorage {
    /// In memory.
    #[default]
    InMemory,
    /// In the file: each look-up decodes the footer again.
    Offloaded,
}

impl Default for ReaderOptions {
    fn default() -> Self {
        Self {
            readahead_buffer_size: None,
            max_parallelism: None,
            index_storage: IndexStorage::InMemory,
            footer_prefetch_bytes: PREFETCH,
        }
    }
}

impl FromStr for ReaderOptions {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let mut options = Self::default();
        let mut seen = Seen::of(&KEYS);
        for pair in pairs(text) {
            match seen.note(pair.key)? {
                "max_parallelism" => {
                    let threads = pair.integer_or_auto(0..=i64::from(i32::MAX))?;
                    options.max_parallelism = threads.and_then(|n| u32::try_from(n).ok());
                }
                "readahead_buffer_size" => {
                    options.readahead_buffer_size = pair.bytes_or_auto(0..=MOST)?;
                }
                "index_storage_option" => {
                    let offloaded = pair.word(["in_memory", "offloaded"], 0)? == 1;
                    options.index_storage =
                        if offloaded { IndexStorage::Offloaded } else { IndexStorage::InMemory };
                }
                _ => {
                    let bytes = pair.bytes_or_auto(0..=MOST)?;
                    options.footer_prefetch_bytes = bytes.unwrap_or(PREFETCH);
                }
            }
        }
        let prefetch = options.footer_prefetch_bytes;
        if options.index_storage == IndexStorage::Offloaded && prefetch > 0 {
            return Err(OptionError::Prefetch(prefetch));
        }
        Ok(options)
    }
}

/// All options, as they parse.
impl fmt::Display for ReaderOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let auto = |number: Option<u64>| number.map_or("auto".to_owned(), |n| n.to_string());
        let storage = match self.index_storage {
            IndexStorage::InMemory => "in_memory",
            IndexStorage::Offloaded => "offloaded",
        };
        write!(
            f,
            "max_parallelism:{},readahead_buffer_size:{},index_storage_option:{storage},footer_prefetch_bytes:{}",
            auto(self.max_parallelism.map(u64::from)),
            auto(self.readahead_buffer_size),
            self.footer_prefetch_bytes
        )
    }
}
