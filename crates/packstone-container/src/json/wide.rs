//! Strings that UTF-8 cannot hold.

use std::fmt;

use super::escape;

/// A string with at least one unpaired surrogate, such as Python writes for `"\ud800"`.
///
/// It is kept as UTF-16 units, which is what the escapes of JSON denote, so that it can be written back as it was.
/// Two such strings are equal if their units are. [`Display`](fmt::Display) shows the text as JSON escapes it,
/// without quotes.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Wide(Box<[u16]>);

impl Wide {
    /// Takes UTF-16 units: `Ok` if a surrogate stands alone, else the ordinary string that they spell.
    ///
    /// # Errors
    ///
    /// The decoded string, if the units are valid UTF-16.
    pub fn from_units(units: &[u16]) -> Result<Self, String> {
        match String::from_utf16(units) {
            Ok(text) => Err(text),
            Err(_) => Ok(Self(units.into())),
        }
    }

    /// The UTF-16 units.
    #[must_use]
    pub fn units(&self) -> &[u16] {
        &self.0
    }

    /// The code points in order, surrogates included.
    pub(super) fn code_points(&self) -> impl Iterator<Item = u32> {
        char::decode_utf16(self.0.iter().copied())
            .map(|item| item.map_or_else(|lone| u32::from(lone.unpaired_surrogate()), u32::from))
    }
}

impl fmt::Display for Wide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        escape::wide(&mut text, self, false);
        f.write_str(&text)
    }
}

impl fmt::Debug for Wide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_only_what_a_string_cannot() {
        assert_eq!(Wide::from_units(&[0x61, 0xd83d, 0xde00]), Err("a😀".to_owned()));
        let lone = Wide::from_units(&[0x61, 0xde00, 0xd83d, 0x22]).unwrap();
        assert_eq!(lone.units(), [0x61, 0xde00, 0xd83d, 0x22]);
        assert_eq!(lone.to_string(), r#"a\ude00\ud83d\""#);
    }

    #[test]
    fn counts_pairs_as_one_code_point() {
        let text = Wide::from_units(&[0xdc80, 0xd83d, 0xde00]).unwrap();
        assert!(text.code_points().eq([0xdc80, 0x1f600]));
    }
}
