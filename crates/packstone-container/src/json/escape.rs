//! The bodies of strings as they are written: what is escaped, and how.
//!
//! `"` and `\` get a backslash; backspace, tab, line feed, form feed and carriage return have short forms; the other
//! characters below U+0020 are `\u00xx` in lower case. In ASCII output so is everything outside U+0020..=U+007E, in
//! UTF-16 units. Unpaired surrogates are escaped in both. `/` never is.

use super::scan;
use super::wide::Wide;

/// Appends the escaped text, without quotes.
pub(super) fn text(out: &mut String, text: &str, ascii: bool) {
    let mut rest = text;
    loop {
        let length = match ascii {
            true => rest.bytes().position(|byte| !is_plain_ascii(byte)).unwrap_or(rest.len()),
            false => scan::plain_run(rest.as_bytes()),
        };
        let (plain, tail) = rest.split_at_checked(length).unwrap_or((rest, ""));
        out.push_str(plain);
        let mut chars = tail.chars();
        let Some(special) = chars.next() else { return };
        character(out, special, ascii);
        rest = chars.as_str();
    }
}

/// Appends the escaped text of a string with unpaired surrogates, without quotes.
pub(super) fn wide(out: &mut String, text: &Wide, ascii: bool) {
    for item in char::decode_utf16(text.units().iter().copied()) {
        match item {
            Ok(c) => character(out, c, ascii),
            Err(lone) => unit(out, lone.unpaired_surrogate()),
        }
    }
}

fn is_plain_ascii(byte: u8) -> bool {
    matches!(byte, 0x20..=0x7e) && byte != b'"' && byte != b'\\'
}

fn character(out: &mut String, c: char, ascii: bool) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\u{8}' => out.push_str("\\b"),
        '\t' => out.push_str("\\t"),
        '\n' => out.push_str("\\n"),
        '\u{c}' => out.push_str("\\f"),
        '\r' => out.push_str("\\r"),
        ' '..='~' => out.push(c),
        _ if c < ' ' || ascii => {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|&half| unit(out, half))
        }
        _ => out.push(c),
    }
}

fn unit(out: &mut String, unit: u16) {
    out.push_str("\\u");
    for shift in [12, 8, 4, 0] {
        out.extend(char::from_digit(u32::from(unit >> shift & 0xf), 16));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(body: &str, ascii: bool) -> String {
        let mut out = String::new();
        text(&mut out, body, ascii);
        out
    }

    #[test]
    fn escapes_as_pydantic() {
        let controls: String = (0..0x21_u8).map(char::from).collect();
        assert_eq!(
            escaped(&controls, false),
            "\\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007\\b\\t\\n\\u000b\\f\\r\\u000e\\u000f\\u0010\\u0011\
             \\u0012\\u0013\\u0014\\u0015\\u0016\\u0017\\u0018\\u0019\\u001a\\u001b\\u001c\\u001d\\u001e\\u001f "
        );
        assert_eq!(
            escaped("a\"b\\c/d\u{7f}\u{80}é漢\u{2028}😀", false),
            "a\\\"b\\\\c/d\u{7f}\u{80}é漢\u{2028}😀"
        );
    }

    #[test]
    fn escapes_as_python_in_ascii() {
        // json.dumps('a"b\\c/d\x7f\x80é漢\u2028\U0001f600~ \x1f\n')
        assert_eq!(
            escaped("a\"b\\c/d\u{7f}\u{80}é漢\u{2028}😀~ \u{1f}\n", true),
            r#"a\"b\\c/d\u007f\u0080\u00e9\u6f22\u2028\ud83d\ude00~ \u001f\n"#
        );
    }

    #[test]
    fn escapes_lone_surrogates_in_both() {
        let lone = Wide::from_units(&[0xe9, 0xd800, 0xd83d, 0xde00, 0xdfff, 0x22]).unwrap();
        let render = |ascii| {
            let mut out = String::new();
            wide(&mut out, &lone, ascii);
            out
        };
        assert_eq!(render(false), "é\\ud800😀\\udfff\\\"");
        assert_eq!(render(true), "\\u00e9\\ud800\\ud83d\\ude00\\udfff\\\"");
    }
}
