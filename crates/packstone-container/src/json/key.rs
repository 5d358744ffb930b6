//! The name of an object's member.

use std::cmp::Ordering;
use std::fmt;

use super::escape;
use super::small::Small;
use super::wide::Wide;

/// A member name: text, or in documents written by Python possibly text with unpaired surrogates.
///
/// Compare with `key == "name"`, borrow with [`as_str`](Self::as_str). The order is that of code points, which is
/// Python's `sort_keys`. [`Display`](fmt::Display) shows the text as JSON escapes it, without quotes.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Key(Repr);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    Text(Small),
    Wide(Wide),
}

impl Key {
    /// A name of UTF-16 units, which need not be valid UTF-16.
    #[must_use]
    pub fn from_utf16(units: &[u16]) -> Self {
        Wide::from_units(units).map_or_else(Self::from, Self::from)
    }

    /// The name, or `None` if it has an unpaired surrogate.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match &self.0 {
            Repr::Text(text) => Some(text.as_str()),
            Repr::Wide(_) => None,
        }
    }

    /// The name, if it has an unpaired surrogate.
    #[must_use]
    pub fn as_wide(&self) -> Option<&Wide> {
        match &self.0 {
            Repr::Text(_) => None,
            Repr::Wide(wide) => Some(wide),
        }
    }

    /// Appends the name as JSON escapes it, without quotes.
    pub(super) fn escape_into(&self, out: &mut String, ascii: bool) {
        match &self.0 {
            Repr::Text(text) => escape::text(out, text.as_str(), ascii),
            Repr::Wide(wide) => escape::wide(out, wide, ascii),
        }
    }
}

impl From<&str> for Key {
    fn from(name: &str) -> Self {
        Self(Repr::Text(Small::new(name)))
    }
}

impl From<String> for Key {
    fn from(name: String) -> Self {
        Self::from(name.as_str())
    }
}

impl From<&String> for Key {
    fn from(name: &String) -> Self {
        Self::from(name.as_str())
    }
}

impl From<Wide> for Key {
    fn from(name: Wide) -> Self {
        Self(Repr::Wide(name))
    }
}

impl PartialEq<str> for Key {
    fn eq(&self, name: &str) -> bool {
        matches!(&self.0, Repr::Text(text) if text.as_bytes() == name.as_bytes())
    }
}

impl PartialEq<&str> for Key {
    fn eq(&self, name: &&str) -> bool {
        *self == **name
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            // The order of UTF-8 bytes is the order of code points.
            (Repr::Text(a), Repr::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Repr::Text(a), Repr::Wide(b)) => {
                a.as_str().chars().map(u32::from).cmp(b.code_points())
            }
            (Repr::Wide(a), Repr::Text(b)) => {
                a.code_points().cmp(b.as_str().chars().map(u32::from))
            }
            (Repr::Wide(a), Repr::Wide(b)) => a.code_points().cmp(b.code_points()),
        }
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.escape_into(&mut text, false);
        f.write_str(&text)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wide(units: &[u16]) -> Key {
        Wide::from_units(units).unwrap().into()
    }

    #[test]
    fn compares_with_text() {
        let key = Key::from("hash_checksums");
        assert!(key == "hash_checksums" && key != "hash_checksum");
        assert_eq!(key.as_str(), Some("hash_checksums"));
        let long = Key::from("a name of more than twenty-two bytes");
        assert!(
            long == "a name of more than twenty-two bytes"
                && long != "a name of more than twenty-two"
        );
    }

    #[test]
    fn with_a_surrogate_is_no_text() {
        let key = wide(&[0xd800]);
        assert_eq!(key.as_str(), None);
        assert_eq!(key.as_wide().unwrap().units(), [0xd800]);
        assert!(key != "\\ud800");
        assert_eq!(key.to_string(), "\\ud800");
    }

    #[test]
    fn sorts_by_code_point_as_python_does() {
        // sorted(["\U0001f600", "\uffff", "\udc80", "z", "é", "", "\udc80\U0001f600"])
        let sorted = [
            Key::from(""),
            Key::from("z"),
            Key::from("é"),
            wide(&[0xdc80]),
            wide(&[0xdc80, 0xd83d, 0xde00]),
            Key::from("\u{ffff}"),
            Key::from("😀"),
        ];
        let mut keys = sorted.clone();
        keys.reverse();
        keys.sort();
        assert_eq!(keys, sorted);
        assert!(sorted.is_sorted());
    }
}
