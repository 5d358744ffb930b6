//! Integers of any size, from two's complement and from digits.

use crate::json::Number;

/// Bytes of the largest integer: 4932 digits, somewhat more than Python itself prints.
///
/// Turning bytes into digits takes time with the square of their number.
const MAX_BYTES: usize = 2048;
const MAX_DIGITS: usize = 4932;
/// The largest power of ten in 32 bits, and its digits.
const GROUP: u64 = 1_000_000_000;
const GROUP_DIGITS: usize = 9;

/// A little-endian two's complement number; `None` where it is too large. No bytes make 0.
pub(super) fn from_twos_complement(bytes: &[u8]) -> Option<Number> {
    let negative = bytes.last().is_some_and(|last| last & 0x80 != 0);
    let fill = if negative { 0xff } else { 0 };
    if bytes.len() <= 16 {
        let mut wide = [fill; 16];
        wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
        return Some(Number::from(i128::from_le_bytes(wide)));
    }
    if bytes.len() > MAX_BYTES {
        return None;
    }
    let mut limbs: Vec<u32> = bytes
        .chunks(4)
        .map(|chunk| {
            let mut limb = [fill; 4];
            limb.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
            u32::from_le_bytes(limb)
        })
        .collect();
    if negative {
        // The magnitude: all bits flipped, plus one.
        let mut carry = true;
        for limb in &mut limbs {
            (*limb, carry) = (!*limb).overflowing_add(u32::from(carry));
        }
        if carry {
            limbs.push(1);
        }
    }
    let mut groups = Vec::new();
    while limbs.iter().any(|limb| *limb != 0) {
        let mut rest = 0;
        for limb in limbs.iter_mut().rev() {
            let value = rest << 32 | u64::from(*limb);
            *limb = u32::try_from(value / GROUP).unwrap_or_default();
            rest = value % GROUP;
        }
        groups.push(rest);
        while limbs.last() == Some(&0) {
            limbs.pop();
        }
    }
    let mut text = String::from(if negative { "-" } else { "" });
    let mut groups = groups.iter().rev();
    text.push_str(&groups.next().copied().unwrap_or_default().to_string());
    groups.for_each(|group| text.push_str(&format!("{group:0GROUP_DIGITS$}")));
    text.parse().ok()
}

/// Decimal digits with an optional minus, as Python prints integers.
pub(super) fn from_digits(line: &[u8]) -> Option<Number> {
    let digits = line.strip_prefix(b"-").unwrap_or(line);
    let plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let canonical = digits == b"0" || digits.first() != Some(&b'0');
    if !plain || !canonical || digits.len() > MAX_DIGITS {
        return None;
    }
    let text = std::str::from_utf8(line).ok()?;
    if text == "-0" { Some(Number::from(0)) } else { text.parse().ok() }
}
