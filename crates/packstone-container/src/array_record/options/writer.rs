//! What a file shall look like.

use std::fmt::Write as _;
use std::str::FromStr;

use super::super::error::WriteError;
use super::parse::{OptionError, Pair, Seen, pairs};
use crate::riegeli::Compression;

/// The keys, in the order in which the original lists them.
const KEYS: [&str; 12] = [
    "default",
    "group_size",
    "max_parallelism",
    "saturation_delay_ms",
    "transpose",
    "transpose_bucket_size",
    "uncompressed",
    "brotli",
    "zstd",
    "snappy",
    "window_log",
    "pad_to_block_boundary",
];
/// Bytes of a bucket where none are named.
const BUCKET: u64 = 256;
const INT_MAX: i64 = i32::MAX as i64;

/// Options of a writer, as in `group_size:1,zstd:3`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriterOptions {
    /// Records in a chunk, 1 to 2³¹-1.
    pub group_size: u32,
    /// Whether records are taken apart by their fields. This crate reads such files but does not write them.
    pub transpose: bool,
    /// Bytes of a bucket of a transposed chunk; 256 where none are named.
    pub transpose_bucket_size: Option<u64>,
    /// How chunks are compressed.
    pub compression: Compression,
    /// Whether each chunk of records is followed by padding up to the next block.
    pub pad_to_block_boundary: bool,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            group_size: 1,
            transpose: false,
            transpose_bucket_size: None,
            compression: Compression::default(),
            pad_to_block_boundary: false,
        }
    }
}

impl WriterOptions {
    /// The same options with another compression.
    #[must_use]
    pub fn with_compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// The same options with other groups.
    #[must_use]
    pub fn with_group_size(mut self, group_size: u32) -> Self {
        self.group_size = group_size;
        self
    }

    /// The text that the original stores in the file: all options that matter to it, in its order. It parses to the
    /// same options.
    pub fn stored(&self) -> String {
        let Self { group_size, transpose, pad_to_block_boundary, compression, .. } = self;
        let mut text = format!(
            "group_size:{group_size},transpose:{transpose},pad_to_block_boundary:{pad_to_block_boundary}"
        );
        let mut add = |option: std::fmt::Arguments<'_>| {
            // Writing to a string does not fail.
            let _ = text.write_fmt(option);
        };
        if *transpose {
            let bytes = self.transpose_bucket_size.unwrap_or(BUCKET);
            add(format_args!(",transpose_bucket_size:{bytes}"));
        }
        match compression {
            Compression::None => add(format_args!(",uncompressed")),
            Compression::Brotli { level, .. } => add(format_args!(",brotli:{level}")),
            Compression::Zstd { level, .. } => add(format_args!(",zstd:{level}")),
            Compression::Snappy => add(format_args!(",snappy")),
        }
        if let Some(log) = compression.stated_window_log() {
            add(format_args!(",window_log:{log}"));
        }
        add(format_args!(",max_parallelism:1"));
        text
    }

    /// Refuses what cannot be written.
    pub(in super::super) fn check(&self) -> Result<(), WriteError> {
        if self.transpose { Err(WriteError::Transpose) } else { Ok(()) }
    }
}

impl FromStr for WriterOptions {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let mut options = Self::default();
        let mut seen = Seen::of(&KEYS);
        for pair in pairs(text) {
            match seen.note(pair.key)? {
                "group_size" => {
                    let size = pair.integer(1..=INT_MAX)?;
                    options.group_size = u32::try_from(size).unwrap_or(u32::MAX);
                }
                "max_parallelism" => drop(pair.integer_or_auto(1..=INT_MAX)?),
                "saturation_delay_ms" => drop(pair.integer(1..=INT_MAX)?),
                "transpose" => options.transpose = pair.word(["true", "false"], 0)? == 0,
                "transpose_bucket_size" => {
                    options.transpose_bucket_size = pair.bytes_or_auto(1..=u64::MAX)?;
                }
                "pad_to_block_boundary" => {
                    options.pad_to_block_boundary = pair.word(["true", "false"], 1)? == 0;
                }
                // Anything may follow default; the others are looked at together.
                _ => {}
            }
        }
        options.compression = compression(pairs(text))?;
        Ok(options)
    }
}

/// What the options on compression say together: first which of them exclude each other, then their values.
fn compression<'t>(
    pairs: impl Iterator<Item = Pair<'t>> + Clone,
) -> Result<Compression, OptionError> {
    let ours = ["uncompressed", "brotli", "zstd", "snappy", "window_log"];
    let mut seen: Vec<&'static str> = Vec::new();
    for pair in pairs.clone() {
        let Some(second) = ours.into_iter().find(|key| *key == pair.key) else { continue };
        if let Some(first) = ours.into_iter().find(|k| seen.contains(k) && excludes(k, second)) {
            return Err(OptionError::Conflict { first, second });
        }
        seen.push(second);
    }
    let brotli = seen.contains(&"brotli");
    let (mut compression, mut window_log) = (Compression::default(), None);
    let level = |level: i64| i32::try_from(level).unwrap_or(0);
    for pair in pairs {
        match pair.key {
            "uncompressed" => {
                pair.nothing()?;
                compression = Compression::None;
            }
            "brotli" => {
                let level = level(pair.integer_or(6, 0..=11)?);
                compression = Compression::Brotli { level, window_log: None };
            }
            "zstd" => {
                let level = level(pair.integer_or(3, -131_072..=22)?);
                compression = Compression::Zstd { level, window_log: None };
            }
            "snappy" => {
                // It has two levels, which give the same format; the original does not store which.
                pair.integer_or(1, 1..=2)?;
                compression = Compression::Snappy;
            }
            "window_log" => {
                let log = pair.integer_or_auto(10..=if brotli { 30 } else { 31 })?;
                window_log = log.and_then(|log| u32::try_from(log).ok());
            }
            _ => {}
        }
    }
    Ok(match compression {
        Compression::Brotli { level, .. } => Compression::Brotli { level, window_log },
        Compression::Zstd { level, .. } => Compression::Zstd { level, window_log },
        other => other,
    })
}

/// Whether two options on compression exclude each other: all do but a window and what has one.
fn excludes(first: &str, second: &str) -> bool {
    let windowed = |key| matches!(key, "brotli" | "zstd");
    match (first, second) {
        ("window_log", key) | (key, "window_log") => !windowed(key),
        _ => true,
    }
}
