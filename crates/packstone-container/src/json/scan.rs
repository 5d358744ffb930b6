//! Finding the ends of tokens: runs of plain string bytes, runs of white space, numbers.

const LANES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Length of the leading run without `"`, `\` and control characters below U+0020.
pub(super) fn plain_run(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    // Eight bytes at a time: the lowest bit set in `stops` marks the first byte that ends the run.
    while let Some((chunk, tail)) = rest.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*chunk);
        let control = word.wrapping_sub(LANES * 0x20) & !word;
        let stops =
            (control | zero_lanes(word ^ (LANES * 0x22)) | zero_lanes(word ^ (LANES * 0x5c)))
                & HIGH;
        if stops != 0 {
            let lane = usize::try_from(stops.trailing_zeros() / 8).unwrap_or(0);
            return bytes.len() - rest.len() + lane;
        }
        rest = tail;
    }
    let last =
        rest.iter().position(|&byte| matches!(byte, b'"' | b'\\' | ..0x20)).unwrap_or(rest.len());
    bytes.len() - rest.len() + last
}

/// Sets the high bit of the lowest zero byte (and maybe of higher ones).
fn zero_lanes(word: u64) -> u64 {
    word.wrapping_sub(LANES) & !word
}

/// Length of the leading run of JSON white space.
pub(super) fn white_space(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    loop {
        match rest {
            // Indentation comes in long runs of spaces.
            [b' ', b' ', b' ', b' ', tail @ ..] | [b' ' | b'\n' | b'\r' | b'\t', tail @ ..] => {
                rest = tail
            }
            _ => return bytes.len() - rest.len(),
        }
    }
}

/// Why a number ends where it must not, after so many bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BadNumber {
    /// A digit had to follow.
    NoDigit(usize),
    /// A zero is followed by another digit.
    LeadingZero(usize),
}

/// Length of the leading number by the grammar of RFC 8259: `-? int frac? exp?`.
pub(super) fn number(bytes: &[u8]) -> Result<usize, BadNumber> {
    let at = |place: usize| bytes.get(place).copied();
    let digits = |start: usize| -> Result<usize, BadNumber> {
        let rest = bytes.get(start..).unwrap_or_default();
        match rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len()) {
            0 => Err(BadNumber::NoDigit(start)),
            count => Ok(start + count),
        }
    };

    let start = usize::from(at(0) == Some(b'-'));
    let mut end = digits(start)?;
    if at(start) == Some(b'0') && end > start + 1 {
        return Err(BadNumber::LeadingZero(start));
    }
    if at(end) == Some(b'.') {
        end = digits(end + 1)?;
    }
    if matches!(at(end), Some(b'e' | b'E')) {
        let signed = matches!(at(end + 1), Some(b'+' | b'-'));
        end = digits(end + 1 + usize::from(signed))?;
    }
    Ok(end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_end_where_the_grammar_ends() {
        for (text, length) in [
            ("0", 1),
            ("-0,", 2),
            ("10]", 2),
            ("1.50e-07 ", 8),
            ("1E5}", 3),
            ("0e0", 3),
            ("12a", 2),
            ("0.0.0", 3),
        ] {
            assert_eq!(number(text.as_bytes()), Ok(length), "{text}");
        }
        for (text, place) in [
            ("", 0),
            ("-", 1),
            ("-a", 1),
            ("1.", 2),
            ("1.e", 2),
            ("1e", 2),
            ("1e+", 3),
            ("1.5E-x", 5),
            ("+1", 0),
        ] {
            assert_eq!(number(text.as_bytes()), Err(BadNumber::NoDigit(place)), "{text}");
        }
        assert_eq!(number(b"007"), Err(BadNumber::LeadingZero(0)));
        assert_eq!(number(b"-01.5"), Err(BadNumber::LeadingZero(1)));
    }

    #[test]
    fn every_byte_at_every_place_is_told_apart() {
        for byte in 0..=u8::MAX {
            for place in 0..20 {
                let mut bytes = [b'x'; 20];
                bytes[place] = byte;
                let stops = byte < 0x20 || byte == b'"' || byte == b'\\';
                assert_eq!(
                    plain_run(&bytes),
                    if stops { place } else { 20 },
                    "{byte:#04x} at {place}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn runs_agree_with_the_plain_loop(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let plain = bytes.iter().take_while(|&&b| b >= 0x20 && b != b'"' && b != b'\\').count();
            prop_assert_eq!(plain_run(&bytes), plain);
        }

        #[test]
        fn white_space_agrees_with_the_plain_loop(text in "[ \n\r\t]{0,40}[a\u{b}\u{a0}]?[ \n]{0,3}") {
            let blank = text.bytes().take_while(|b| b" \n\r\t".contains(b)).count();
            prop_assert_eq!(white_space(text.as_bytes()), blank);
        }
    }
}
