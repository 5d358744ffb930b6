//! JSON paths for messages: `$.splits.train`, `$.xs[3]["a b"]`.
//!
//! Names that are not plain words are quoted, and long ones cut, so that a hostile document cannot make its messages
//! much larger than themselves.

use super::escape;
use super::key::Key;

/// The path of the outermost value.
pub(super) const ROOT: &str = "$";

/// Characters shown of one text.
const SHOWN: usize = 64;

/// Appends the step to an item.
pub(super) fn push_index(path: &mut String, index: usize) {
    path.push('[');
    path.push_str(&index.to_string());
    path.push(']');
}

/// Appends the step to a member.
pub(super) fn push_key(path: &mut String, key: &Key) {
    match key.as_str() {
        Some(name) => push_name(path, name),
        None => {
            let escaped = key.to_string();
            path.push_str("[\"");
            path.push_str(shown(&escaped).0);
            path.push_str("\"]");
        }
    }
}

/// Appends the step to a member of a textual name.
pub(super) fn push_name(path: &mut String, name: &str) {
    let is_word = name.len() <= SHOWN
        && name.bytes().enumerate().all(|(place, byte)| {
            byte.is_ascii_alphabetic() || byte == b'_' || (place > 0 && byte.is_ascii_digit())
        })
        && !name.is_empty();
    if is_word {
        path.push('.');
        path.push_str(name);
    } else {
        path.push('[');
        push_quoted(path, name);
        path.push(']');
    }
}

/// Appends a text in quotes, escaped and cut to a length fit for a message.
pub(super) fn push_quoted(out: &mut String, text: &str) {
    let (head, cut) = shown(text);
    out.push('"');
    escape::text(out, head, false);
    out.push_str(if cut { "…\"" } else { "\"" });
}

/// The part of a text that is shown, and whether that is not all.
pub(super) fn shown(text: &str) -> (&str, bool) {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => (text.get(..end).unwrap_or(text), true),
        None => (text, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Wide;

    fn path(name: &str) -> String {
        let mut path = ROOT.to_owned();
        push_key(&mut path, &Key::from(name));
        path
    }

    #[test]
    fn quotes_what_is_not_a_word() {
        assert_eq!(path("file_path"), "$.file_path");
        assert_eq!(path("_2"), "$._2");
        for (name, expected) in [
            ("", r#"$[""]"#),
            ("2", r#"$["2"]"#),
            ("a.b", r#"$["a.b"]"#),
            ("a\"\n", r#"$["a\"\n"]"#),
            ("é", r#"$["é"]"#),
        ] {
            assert_eq!(path(name), expected);
        }
        let mut lone = ROOT.to_owned();
        push_key(&mut lone, &Wide::from_units(&[0x61, 0xd800]).unwrap().into());
        push_index(&mut lone, 12);
        assert_eq!(lone, r#"$["a\ud800"][12]"#);
    }

    #[test]
    fn cuts_long_names() {
        assert_eq!(path(&"x".repeat(64)), format!("$.{}", "x".repeat(64)));
        assert_eq!(path(&"é".repeat(65)), format!("$[\"{}…\"]", "é".repeat(64)));
        let mut wide = String::new();
        push_key(&mut wide, &Wide::from_units(&[0xd800; 1000]).unwrap().into());
        assert!(wide.len() < 100);
    }
}
