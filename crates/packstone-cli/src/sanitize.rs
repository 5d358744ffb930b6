//! Names from data on a terminal: what could move the cursor, turn the text around or hide in it is escaped.

use std::borrow::Cow;
use std::fmt::Write as _;

/// True for characters that a terminal must not get from data.
fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{00ad}'                  // soft hyphen
            | '\u{061c}'                // Arabic letter mark
            | '\u{115f}' | '\u{1160}'   // Hangul fillers
            | '\u{180e}'                // Mongolian vowel separator
            | '\u{200b}'..='\u{200f}'   // zero width, directional marks
            | '\u{2028}'..='\u{202e}'   // line and paragraph separators, bidirectional overrides
            | '\u{2060}'..='\u{206f}'   // word joiner, invisible operators, isolates
            | '\u{3164}' | '\u{ffa0}'   // Hangul fillers
            | '\u{fe00}'..='\u{fe0f}'   // variation selectors
            | '\u{feff}'                // zero-width no-break space
            | '\u{fff9}'..='\u{fffb}'   // interlinear annotation
            | '\u{e0000}'..='\u{e0fff}' // tags, variation selectors
        )
}

/// `text` with those characters as `\n`, `\t`, `\r` or `\u{…}`.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hostile) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if is_hostile(c) => {
                // Writing to a string does not fail.
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// JSON lines with those characters as `\uXXXX`, which means the same to whoever reads them as JSON.
pub(crate) fn escape_json(text: &str) -> Cow<'_, str> {
    let hostile = |c: char| c != '\n' && is_hostile(c);
    if !text.contains(hostile) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if hostile(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string does not fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_lines_keep_their_meaning() {
        assert_eq!(escape_json("{\"a\":\"x\u{202e}y\u{9b}\"}\n"), "{\"a\":\"x\\u202ey\\u009b\"}\n");
        assert_eq!(escape_json("\u{e0001}"), "\\udb40\\udc01");
    }

    #[test]
    fn plain_text_of_any_script_stays() {
        for text in ["", "train/ab.fb", "größe 大きさ", "مرحبا", "😀 e\u{301}"] {
            assert!(matches!(escape(text), Cow::Borrowed(same) if same == text), "{text:?}");
        }
    }

    #[test]
    fn what_moves_turns_or_hides_is_escaped() {
        for (text, shown) in [
            ("a\x1b[2Jb", "a\\u{1b}[2Jb"),
            ("a\nb\tc\r", "a\\nb\\tc\\r"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("x\u{202e}gpj", "x\\u{202e}gpj"),
            ("\u{2066}i\u{2069}", "\\u{2066}i\\u{2069}"),
            ("a\u{200b}b\u{feff}", "a\\u{200b}b\\u{feff}"),
            ("\u{e0041}", "\\u{e0041}"),
            ("\x7f\0", "\\u{7f}\\u{0}"),
        ] {
            assert_eq!(escape(text), shown);
        }
    }
}
