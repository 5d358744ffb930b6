//! Strings and floats, in the spellings of the protocols.

use std::sync::Arc;

use super::Value;
use crate::json::{Wide, utf16_of_python_utf8};

/// UTF-8 in which surrogates may stand alone.
pub(super) fn from_utf8(bytes: &[u8]) -> Option<Value> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(Value::Str(text.into())),
        Err(_) => Some(from_units(&utf16_of_python_utf8(bytes)?)),
    }
}

fn from_units(units: &[u16]) -> Value {
    match Wide::from_units(units) {
        Ok(wide) => Value::Wide(Arc::new(wide)),
        Err(text) => Value::Str(text.into()),
    }
}

/// The strings of Python 2: ASCII, or Python 3 refuses them, too.
pub(super) fn from_ascii(bytes: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| text.is_ascii());
    text.map(|text| Value::Str(text.into()))
}

/// A quoted string of Python 2, without escapes.
pub(super) fn from_quoted(line: &[u8]) -> Option<Value> {
    let (first, rest) = line.split_first()?;
    let (last, body) = rest.split_last()?;
    let quoted = matches!(first, b'\'' | b'"') && first == last;
    if quoted && !body.contains(&b'\\') && !body.contains(first) { from_ascii(body) } else { None }
}

/// Latin-1 with `\uXXXX` and `\UXXXXXXXX` for everything else ("raw-unicode-escape").
pub(super) fn from_raw_escapes(line: &[u8]) -> Option<Value> {
    let mut units = Vec::with_capacity(line.len());
    let mut rest = line.iter();
    while let Some(byte) = rest.next() {
        if *byte != b'\\' {
            units.push(u16::from(*byte));
            continue;
        }
        let digits = match rest.as_slice().first() {
            Some(b'u') => 4,
            Some(b'U') => 8,
            // Any other backslash stands for itself, and so does what follows it.
            next => {
                units.push(u16::from(*byte));
                units.extend(next.map(|next| u16::from(*next)));
                rest.next();
                continue;
            }
        };
        let (escape, after) = rest.as_slice().split_at_checked(digits + 1)?;
        let code = escape
            .iter()
            .skip(1)
            .try_fold(0, |code: u32, digit| Some(code << 4 | char::from(*digit).to_digit(16)?))?;
        match (char::from_u32(code), u16::try_from(code)) {
            (Some(character), _) => units.extend_from_slice(character.encode_utf16(&mut [0; 2])),
            (None, Ok(surrogate)) => units.push(surrogate),
            (None, Err(_)) => return None,
        }
        rest = after.iter();
    }
    Some(from_units(&units))
}

/// A float as Python prints it.
pub(super) fn float(line: &[u8]) -> Option<f64> {
    std::str::from_utf8(line).ok()?.parse().ok()
}
