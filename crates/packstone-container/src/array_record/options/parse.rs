//! Keys and values.

use std::ops::RangeInclusive;

/// What is wrong with a text of options.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionError {
    /// No such option.
    #[error("expected one of the options {known}, found {key:?}")]
    Unknown {
        /// The key.
        key: String,
        /// All keys that there are.
        known: String,
    },
    /// The option is there twice.
    #[error("expected the option {0} once, found it twice")]
    Repeated(String),
    /// The option must be in front.
    #[error("expected the option default in front of all others")]
    DefaultFirst,
    /// Two options exclude each other.
    #[error("expected one of the options {first} and {second}, found both")]
    Conflict {
        /// The one that comes first.
        first: &'static str,
        /// The other one.
        second: &'static str,
    },
    /// The option has no such value.
    #[error("expected the option {key} to be {valid}, found {value:?}")]
    Value {
        /// The key.
        key: String,
        /// The value.
        value: String,
        /// What it can be.
        valid: String,
    },
    /// An index out of memory is not prefetched.
    #[error("expected footer_prefetch_bytes:0 with index_storage_option:offloaded, found {0}")]
    Prefetch(u64),
}

/// A key and its value.
#[derive(Clone, Copy)]
pub(super) struct Pair<'t> {
    pub(super) key: &'t str,
    /// Empty where there is none.
    pub(super) value: &'t str,
}

/// The options of a text, empty ones left out.
pub(super) fn pairs(text: &str) -> impl Iterator<Item = Pair<'_>> + Clone {
    text.split(',').filter(|option| !option.is_empty()).map(|option| {
        let (key, value) = option.split_once(':').unwrap_or((option, ""));
        Pair { key, value }
    })
}

/// Which of the options of a list were seen.
pub(super) struct Seen {
    known: &'static [&'static str],
    seen: Vec<&'static str>,
}

impl Seen {
    pub(super) fn of(known: &'static [&'static str]) -> Self {
        Self { known, seen: Vec::new() }
    }

    /// Takes note of a key, which must be known and new.
    pub(super) fn note(&mut self, key: &str) -> Result<&'static str, OptionError> {
        let Some(known) = self.known.iter().find(|known| **known == key) else {
            let known = self.known.join(", ");
            return Err(OptionError::Unknown { key: key.to_owned(), known });
        };
        if self.seen.contains(known) {
            return Err(OptionError::Repeated(key.to_owned()));
        }
        if *known == "default" && !self.seen.is_empty() {
            return Err(OptionError::DefaultFirst);
        }
        self.seen.push(known);
        Ok(known)
    }
}

impl Pair<'_> {
    fn invalid(self, valid: String) -> OptionError {
        OptionError::Value { key: self.key.to_owned(), value: self.value.to_owned(), valid }
    }

    /// A whole number.
    pub(super) fn integer(self, range: RangeInclusive<i64>) -> Result<i64, OptionError> {
        let found = self.value.trim_matches(BLANKS).parse().ok();
        found.filter(|number| range.contains(number)).ok_or_else(|| {
            self.invalid(format!("a number from {} to {}", range.start(), range.end()))
        })
    }

    /// The same, or `usual` without a value.
    pub(super) fn integer_or(
        self,
        usual: i64,
        range: RangeInclusive<i64>,
    ) -> Result<i64, OptionError> {
        if self.value.is_empty() { Ok(usual) } else { self.integer(range) }
    }

    /// The same, or `None` for `auto`.
    pub(super) fn integer_or_auto(
        self,
        range: RangeInclusive<i64>,
    ) -> Result<Option<i64>, OptionError> {
        if self.value == "auto" { Ok(None) } else { self.integer(range).map(Some) }
    }

    /// A number of bytes: a real number, rounded, times what a letter stands for; `None` for `auto`.
    pub(super) fn bytes_or_auto(
        self,
        range: RangeInclusive<u64>,
    ) -> Result<Option<u64>, OptionError> {
        if self.value == "auto" {
            return Ok(None);
        }
        let found = bytes(self.value).filter(|number| range.contains(number));
        found.map(Some).ok_or_else(|| {
            let (least, most) = (range.start(), range.end());
            self.invalid(format!("auto or {least} to {most} bytes, perhaps with one of [BkKMGTPE]"))
        })
    }

    /// One of some words; the empty one means the same as `usual`.
    pub(super) fn word(self, words: [&str; 2], usual: usize) -> Result<usize, OptionError> {
        match words.iter().position(|word| *word == self.value) {
            Some(found) => Ok(found),
            None if self.value.is_empty() => Ok(usual),
            None => Err(self.invalid(format!("{} or {}", words[0], words[1]))),
        }
    }

    /// No value.
    pub(super) fn nothing(self) -> Result<(), OptionError> {
        if self.value.is_empty() { Ok(()) } else { Err(self.invalid("without a value".to_owned())) }
    }
}

/// What may stand around a number.
const BLANKS: [char; 6] = [' ', '\t', '\n', '\x0b', '\x0c', '\r'];

fn bytes(text: &str) -> Option<u64> {
    let suffixes = ["B", "kK", "M", "G", "T", "P", "E"];
    let power = text
        .chars()
        .next_back()
        .and_then(|last| suffixes.iter().position(|suffix| suffix.contains(last)));
    let number = match power {
        Some(_) => text.get(..text.len() - 1)?,
        None => text,
    };
    let number: f64 = number.trim_matches(BLANKS).parse().ok()?;
    let power = i32::try_from(power.unwrap_or(0)).ok()?;
    let bytes = number * 1024f64.powi(power);
    if number < 0.0 || bytes.is_nan() {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
    Some(bytes.round() as u64)
}
