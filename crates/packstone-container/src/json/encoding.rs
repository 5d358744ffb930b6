//! Documents that are not plain UTF-8, brought to it.
//!
//! ```text
//! bytes ── detect ──▶ UTF-8 | UTF-16 | UTF-32 ── recode ──▶ UTF-8 text ── read ──▶ Document
//!                                                  ▲                                  │
//!                                                  └──────── offsets, located ◀───────┘
//! ```
//!
//! This is what Python's `json.loads` does with bytes: it guesses from byte order marks and from where the zeros stand
//! among the first four bytes, and lets bare surrogates pass in every encoding. Text of Rust cannot hold those, so a
//! bare surrogate becomes its escape, which denotes the same in a string and is as wrong elsewhere.

use std::fmt;

use super::error::{JsonError, JsonErrorKind as Kind};

/// How the characters of a document are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Encoding {
    /// UTF-8.
    Utf8,
    /// UTF-16, low byte first.
    Utf16Le,
    /// UTF-16, high byte first.
    Utf16Be,
    /// UTF-32, low byte first.
    Utf32Le,
    /// UTF-32, high byte first.
    Utf32Be,
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Utf8 => "UTF-8",
            Self::Utf16Le => "UTF-16 (little-endian)",
            Self::Utf16Be => "UTF-16 (big-endian)",
            Self::Utf32Le => "UTF-32 (little-endian)",
            Self::Utf32Be => "UTF-32 (big-endian)",
        })
    }
}

impl Encoding {
    /// What Python takes a document for: `json.detect_encoding`.
    pub(super) fn detect(bytes: &[u8]) -> Self {
        match bytes {
            [0, 0, 0xfe, 0xff, ..] => Self::Utf32Be,
            [0xff, 0xfe, 0, 0, ..] => Self::Utf32Le,
            [0xfe, 0xff, ..] => Self::Utf16Be,
            [0xff, 0xfe, ..] => Self::Utf16Le,
            [0, 0, _, _, ..] => Self::Utf32Be,
            [0, _, _, _, ..] | [0, _] => Self::Utf16Be,
            [_, 0, 0, 0, ..] => Self::Utf32Le,
            [_, 0, _, _, ..] | [_, 0] => Self::Utf16Le,
            _ => Self::Utf8,
        }
    }
}

/// A document with its text in UTF-8.
pub(super) struct Recoded<'a> {
    source: &'a [u8],
    encoding: Encoding,
    /// The text; begins with a byte order mark if the document does.
    pub(super) text: String,
}

impl<'a> Recoded<'a> {
    /// Decodes `source`, which is in `encoding`.
    ///
    /// # Errors
    /// Bytes that encode no character, with their offset.
    pub(super) fn new(source: &'a [u8], encoding: Encoding) -> Result<Self, JsonError> {
        let mut text = String::new();
        match walk(source, encoding, |_, piece| text.push_str(piece)) {
            Ok(()) => Ok(Self { source, encoding, text }),
            Err(offset) => {
                let kind = match encoding {
                    Encoding::Utf8 => Kind::InvalidUtf8,
                    encoding => Kind::InvalidText { encoding },
                };
                let at = JsonError::new(text.as_bytes(), text.len(), kind);
                Err(JsonError { offset, ..at })
            }
        }
    }

    /// Turns offsets in the text into offsets in the document.
    pub(super) fn locate<'o>(&self, offsets: impl Iterator<Item = &'o mut usize>) {
        let mut wanted: Vec<&mut usize> = offsets.collect();
        wanted.sort_unstable_by(|a, b| b.cmp(a));
        let mut text_at = 0;
        let located = walk(self.source, self.encoding, |source_at, piece| {
            let text_end = text_at + piece.len();
            while let Some(offset) = wanted.pop_if(|offset| **offset < text_end) {
                // Only a run of UTF-8 is longer than what an offset can point at, and there the bytes are the same.
                *offset = source_at + (*offset - text_at);
            }
            text_at = text_end;
        });
        // The text came out of the same walk, so all of it is behind us.
        debug_assert!(located.is_ok());
        wanted.into_iter().for_each(|offset| *offset = self.source.len());
    }
}

/// Calls `take` with each piece of text and where its bytes start; gives the offset of what is no text.
fn walk(source: &[u8], encoding: Encoding, mut take: impl FnMut(usize, &str)) -> Result<(), usize> {
    let mut at = 0;
    // Whether a backslash stands before, so that the next character is the second of an escape.
    let mut escaped = false;
    while let Some(rest) = source.get(at..).filter(|rest| !rest.is_empty()) {
        let (piece, len) = match encoding {
            Encoding::Utf8 => utf8(rest),
            Encoding::Utf16Le => utf16(rest, u16::from_le_bytes),
            Encoding::Utf16Be => utf16(rest, u16::from_be_bytes),
            Encoding::Utf32Le => utf32(rest, u32::from_le_bytes),
            Encoding::Utf32Be => utf32(rest, u32::from_be_bytes),
        }
        .ok_or(at)?;
        match piece {
            Piece::Run(text) => {
                take(at, text);
                escaped = text.bytes().fold(escaped, |on, byte| byte == b'\\' && !on);
            }
            Piece::Character(character) => {
                take(at, character.encode_utf8(&mut [0; 4]));
                escaped = character == '\\' && !escaped;
            }
            // No surrogate is the second of an escape, but its own escape would pair up with the backslash.
            Piece::Surrogate(_) if escaped => take(at, "\u{fffd}"),
            Piece::Surrogate(unit) => take(at, &format!("\\u{unit:04x}")),
        }
        at += len;
    }
    Ok(())
}

enum Piece<'a> {
    Run(&'a str),
    Character(char),
    Surrogate(u32),
}

/// A code point: a character or a bare surrogate.
fn code_point<'a>(code: u32) -> Option<Piece<'a>> {
    match code {
        0xd800..=0xdfff => Some(Piece::Surrogate(code)),
        _ => char::from_u32(code).map(Piece::Character),
    }
}

fn utf8(rest: &[u8]) -> Option<(Piece<'_>, usize)> {
    let valid = match std::str::from_utf8(rest) {
        Ok(text) => return Some((Piece::Run(text), rest.len())),
        Err(error) => error.valid_up_to(),
    };
    match rest {
        _ if valid > 0 => {
            let run = std::str::from_utf8(rest.get(..valid)?).ok()?;
            Some((Piece::Run(run), valid))
        }
        [0xed, second @ 0xa0..=0xbf, third @ 0x80..=0xbf, ..] => {
            let low = u32::from(second & 0x3f) << 6 | u32::from(third & 0x3f);
            Some((Piece::Surrogate(0xd000 | low), 3))
        }
        _ => None,
    }
}

fn utf16(rest: &[u8], unit: fn([u8; 2]) -> u16) -> Option<(Piece<'_>, usize)> {
    let (first, rest) = rest.split_first_chunk()?;
    let first = unit(*first);
    let second = rest.first_chunk().map(|second| unit(*second));
    let mut units = [first].into_iter().chain(second.filter(|_| first & 0xfc00 == 0xd800));
    match char::decode_utf16(&mut units).next()? {
        Ok(character) => Some((Piece::Character(character), 2 * character.len_utf16())),
        Err(bare) => Some((Piece::Surrogate(bare.unpaired_surrogate().into()), 2)),
    }
}

fn utf32(rest: &[u8], unit: fn([u8; 4]) -> u32) -> Option<(Piece<'_>, usize)> {
    Some((code_point(unit(*rest.first_chunk()?))?, 4))
}

/// Reads UTF-8 in which surrogates may stand alone, as Python writes strings that have them.
pub(crate) fn utf16_of_python_utf8(bytes: &[u8]) -> Option<Vec<u16>> {
    let mut units = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let (piece, len) = utf8(rest)?;
        match piece {
            Piece::Run(text) => units.extend(text.encode_utf16()),
            Piece::Character(character) => {
                units.extend_from_slice(character.encode_utf16(&mut [0; 2]));
            }
            Piece::Surrogate(unit) => units.extend(u16::try_from(unit)),
        }
        at += len;
    }
    Some(units)
}
