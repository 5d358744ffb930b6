//! What the original's reader of JSON refuses in documents that are JSON by the grammar.
//!
//! Escapes have to make Unicode text, numbers have to be in the range of doubles, and nesting ends; all of this also in
//! members that nobody reads, and in those that a later one of the same name replaces.

use super::super::parts::float::peer_reads;

/// What a document may have.
#[derive(Clone, Copy)]
pub struct Rules {
    /// Levels of arrays and objects in each other.
    depth: usize,
    null: bool,
}

/// Of a manifest.
pub const MANIFEST: Rules = Rules { depth: 127, null: true };
/// Of the metadata of a record: values that are not `null` in one object.
pub const RECORD: Rules = Rules { depth: 1, null: false };

/// Where and why the original refuses a text that the grammar allows.
pub fn refuses(json: &str, rules: Rules) -> Option<(usize, String)> {
    let bytes = json.as_bytes();
    let (mut at, mut depth) = (0, 0usize);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => match text(bytes, at + 1) {
                Ok(end) => at = end,
                Err(at) => {
                    let why = "expected Unicode text, found an unpaired surrogate".to_owned();
                    return Some((at, why));
                }
            },
            b'-' | b'0'..=b'9' => {
                let rest = json.get(at..).unwrap_or_default();
                let more = |c: char| !matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E');
                let number = rest.get(..rest.find(more).unwrap_or(rest.len())).unwrap_or_default();
                if peer_reads(number).is_none() {
                    let why = "expected a number in the range of float64, found a larger one";
                    return Some((at, why.to_owned()));
                }
                at += number.len().max(1);
                continue;
            }
            b'n' if !rules.null => return Some((at, "expected a value, found null".to_owned())),
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > rules.depth {
            let why = format!("expected at most {} levels of nesting, found more", rules.depth);
            return Some((at, why));
        }
        at += 1;
    }
    None
}

/// The end of a text, its closing quote; or the escape of half a character in it.
fn text(bytes: &[u8], mut at: usize) -> Result<usize, usize> {
    let unit = |at: usize| {
        let digits = bytes.get(at..)?.strip_prefix(b"\\u")?.get(..4)?;
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    while let Some(&byte) = bytes.get(at) {
        match (byte, unit(at)) {
            (b'"', _) => break,
            (b'\\', Some(0xd800..=0xdbff)) => match unit(at + 6) {
                Some(0xdc00..=0xdfff) => at += 12,
                _ => return Err(at),
            },
            (b'\\', Some(0xdc00..=0xdfff)) => return Err(at),
            (b'\\', _) => at += 2,
            _ => at += 1,
        }
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_characters_and_numbers_beyond_doubles_are_refused_wherever_they_are() {
        let digits = format!("1{}", "0".repeat(310));
        for (json, want) in [
            (r#"{"a": "\ud83d\ude00", "b": "\\ud800 \\\" \"\u00e9"}"#, None),
            (r#"{"a": "é\ud800"}"#, Some(9)),
            (r#"["\ud800\ud800"]"#, Some(2)),
            (r#"["\udc00"]"#, Some(2)),
            (r#"{"\udc00": 1, "x": 2}"#, Some(2)),
            (r#"["\"", 1e999]"#, Some(7)),
            (r#"[-1E+400, 1]"#, Some(1)),
            (r#"[1e-400, 0e999, 0e99999999999, 1e-99999999999]"#, None),
            (r#"[1e99999999999]"#, Some(1)),
            (r#"[1.7976931348623157e308, 123456789012345678901234567890]"#, None),
            (&digits, Some(0)),
            ("", None),
        ] {
            assert_eq!(refuses(json, MANIFEST).map(|(at, _)| at), want, "{json}");
        }
    }

    #[test]
    fn nesting_ends() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert_eq!(refuses(&nested(127), MANIFEST), None);
        assert_eq!(refuses(&nested(128), MANIFEST).map(|(at, _)| at), Some(127));
        assert_eq!(refuses(&"[],{}".repeat(200), MANIFEST), None);
        assert_eq!(refuses(r#"{"n": "null [", "true": true}"#, RECORD), None);
        assert_eq!(refuses(r#"{"n": null}"#, RECORD).map(|(at, _)| at), Some(6));
        assert_eq!(refuses(r#"{"n": []}"#, RECORD).map(|(at, _)| at), Some(6));
    }
}
