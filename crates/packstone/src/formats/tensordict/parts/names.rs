//! Keys and the names of their files and folders.
//!
//! ```text
//! / \ < > : " | ? * space % 0x00..0x1f 0x7f  ─►  % and two upper-case hex digits
//! ""  ─►  %        "."  ─►  %2E        ".."  ─►  %2E%2E        all else stays, without normalization
//! ```
//!
//! Releases before 0.15 used keys as they are, so a reader looks for the encoded name first and then, where the key is
//! a single component, for the key itself.

use std::borrow::Cow;

use packstone_container::json::Key;

const HEX: &[u8; 16] = b"0123456789ABCDEF";

fn special(byte: u8) -> bool {
    matches!(
        byte,
        0..=0x20 | 0x7f | b'/' | b'\\' | b'<' | b'>' | b':' | b'"' | b'|' | b'?' | b'*' | b'%'
    )
}

fn escape(out: &mut String, byte: u8) {
    out.push('%');
    for nibble in [byte >> 4, byte & 15] {
        out.extend(HEX.get(usize::from(nibble)).map(|digit| char::from(*digit)));
    }
}

/// The file name of a key, without suffix.
pub fn encode(key: &str) -> Cow<'_, str> {
    match key {
        "" => return Cow::Borrowed("%"),
        "." => return Cow::Borrowed("%2E"),
        ".." => return Cow::Borrowed("%2E%2E"),
        _ if !key.bytes().any(special) => return Cow::Borrowed(key),
        _ => {}
    }
    let mut out = String::with_capacity(key.len() + 8);
    for c in key.chars() {
        match u8::try_from(c) {
            Ok(byte) if special(byte) => escape(&mut out, byte),
            _ => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// The key that [`encode`] makes `name` of; `None` where it makes it of none.
pub fn decode(name: &str) -> Option<String> {
    match name {
        "" => return None,
        "%" => return Some(String::new()),
        "%2E" => return Some(".".to_owned()),
        "%2E%2E" => return Some("..".to_owned()),
        _ => {}
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find('%') {
        let (plain, tail) = rest.split_at_checked(at)?;
        out.push_str(plain);
        let digits = tail.get(1..3)?;
        let byte = u8::from_str_radix(digits, 16).ok().filter(|byte| special(*byte))?;
        out.push(char::from(byte));
        rest = tail.get(3..)?;
    }
    out.push_str(rest);
    // What is not the spelling of `encode` (lower-case digits, bare special characters) names no key.
    (encode(&out) == name).then_some(out)
}

/// Whether a reader may look for the file of a leaf, or the folder of a collection, under the key itself.
pub fn is_safe(key: &str, collection: bool) -> bool {
    let mut chars = key.chars();
    let drive = chars.next().is_some_and(char::is_alphabetic) && chars.next() == Some(':');
    let path = key.contains(['/', '\\']);
    let folder = collection && matches!(key, "" | "." | "..");
    !(path || drive || folder)
}

/// A key of a document as text: unpaired surrogates, which no file name can hold, as their escapes.
pub fn shown(key: &Key) -> String {
    key.as_str().map_or_else(|| key.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_are_encoded_as_the_library_encodes_them() {
        for (key, name) in [
            ("", "%"),
            (".", "%2E"),
            ("..", "%2E%2E"),
            ("...", "..."),
            (".hidden", ".hidden"),
            ("a/b", "a%2Fb"),
            ("a b%", "a%20b%25"),
            ("<>:\"|?*\\", "%3C%3E%3A%22%7C%3F%2A%5C"),
            ("\0\u{1f}\u{7f}\u{80}", "%00%1F%7F\u{80}"),
            ("é e\u{301}", "é%20e\u{301}"),
            ("%2F", "%252F"),
        ] {
            assert_eq!(encode(key), name);
            assert_eq!(decode(name).as_deref(), Some(key));
        }
    }

    #[test]
    fn what_no_key_is_encoded_as_decodes_to_nothing() {
        for name in ["", "%2f", "%41", "a b", "100%", "%zz", "%2", ".", "..", "%%", "a%2E", "%é"] {
            assert_eq!(decode(name), None, "{name}");
        }
    }

    #[test]
    fn unsafe_keys_are_those_that_could_lead_away() {
        for key in ["a/b", "\\", "../x", "/", "x:y", "é:y"] {
            assert!(!is_safe(key, false) && !is_safe(key, true), "{key}");
        }
        for key in ["", ".", ".."] {
            assert!(is_safe(key, false) && !is_safe(key, true), "{key}");
        }
        for key in ["a b", "%", "1:2", "ab:c", ":"] {
            assert!(is_safe(key, false) && is_safe(key, true), "{key}");
        }
    }

    proptest! {
        #[test]
        fn encoding_and_decoding_are_inverses(key in any::<String>()) {
            let name = encode(&key).into_owned();
            prop_assert_eq!(decode(&name), Some(key));
            prop_assert!(!name.contains('/') && !name.is_empty() && name != "." && name != "..");
        }

        #[test]
        fn what_decodes_is_what_is_encoded(name in "[%0-9A-Fa-f/. é]{0,12}") {
            if let Some(key) = decode(&name) {
                prop_assert_eq!(encode(&key), name);
            }
        }
    }
}
