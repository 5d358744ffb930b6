//! Integers as pydantic's lax mode takes them from JSON.
//!
//! ```text
//! 7         as it is
//! 7.0 7e0   a decimal with an integral value below 2^63
//! true      1
//! " +7 "    text: white space around, a sign, leading zeros, single underscores between digits, and a fraction of
//! "007.00"  zeros at the end
//! ```

use super::at::Lax;
use super::number::Number;
use super::value::Value;

/// The integer, or `None` if pydantic would refuse the value or it is beyond 64 bits.
pub(super) fn integer(value: &Value) -> Option<Lax<i64>> {
    let coerced = |value| Lax { value, coerced: true };
    match value {
        Value::Number(number) if number.is_integer() => {
            Some(Lax { value: number.as_i64()?, coerced: false })
        }
        Value::Number(number) => from_decimal(number).map(coerced),
        Value::Bool(flag) => Some(coerced(i64::from(*flag))),
        Value::String(text) => from_text(text).map(coerced),
        _ => None,
    }
}

fn from_decimal(number: &Number) -> Option<i64> {
    let x = number.as_f64()?;
    // An integral double prints as its exact value, which the parse then bounds.
    (x.fract() == 0.0).then(|| format!("{x:.0}"))?.parse().ok()
}

fn from_text(text: &str) -> Option<i64> {
    let text = text.trim();
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = match unsigned.split_once('.') {
        Some((digits, zeros)) if !zeros.is_empty() && zeros.bytes().all(|byte| byte == b'0') => {
            digits
        }
        Some(_) => return None,
        None => unsigned,
    };
    let groups = || digits.split('_');
    if !groups().all(|group| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit())) {
        return None;
    }
    let sign = if text.starts_with('-') { "-" } else { "" };
    groups().fold(sign.to_owned(), |all, group| all + group).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{ReadOptions, read};

    #[test]
    fn agrees_with_pydantic() {
        // What BaseModel with `x: int` makes of {"x": …} in pydantic 2.13.
        let cases = [
            (r#"7"#, Some((7, false))),
            (r#"-7"#, Some((-7, false))),
            (r#"7.0"#, Some((7, true))),
            (r#"7e0"#, Some((7, true))),
            (r#"1e3"#, Some((1000, true))),
            (r#"-0.0"#, Some((0, true))),
            (r#"1e18"#, Some((1_000_000_000_000_000_000, true))),
            (r#"9007199254740993.0"#, Some((9_007_199_254_740_992, true))),
            (r#"9223372036854774784.0"#, Some((9_223_372_036_854_774_784, true))),
            (r#"9223372036854775808.0"#, None),
            (r#"1e19"#, None),
            (r#"7.5"#, None),
            (r#"1e400"#, None),
            (r#"true"#, Some((1, true))),
            (r#"false"#, Some((0, true))),
            (r#"null"#, None),
            (r#"[7]"#, None),
            (r#""7""#, Some((7, true))),
            (r#"" 7 ""#, Some((7, true))),
            (r#""\n7""#, Some((7, true))),
            (r#""\t\u000b7\u000c""#, Some((7, true))),
            (r#""\u00a07""#, Some((7, true))),
            (r#""+7""#, Some((7, true))),
            (r#""-7""#, Some((-7, true))),
            (r#""-0""#, Some((0, true))),
            (r#""007""#, Some((7, true))),
            (r#""-007""#, Some((-7, true))),
            (r#""0_7""#, Some((7, true))),
            (r#""1_000""#, Some((1000, true))),
            (r#""7.0""#, Some((7, true))),
            (r#""00.000""#, Some((0, true))),
            (r#""1_000.000""#, Some((1000, true))),
            (r#""1__0""#, None),
            (r#""_1""#, None),
            (r#""_7_""#, None),
            (r#""7.""#, None),
            (r#"".0""#, None),
            (r#""7.5""#, None),
            (r#""7.0_0""#, None),
            (r#""7 .0""#, None),
            (r#""1e3""#, None),
            (r#""0x7""#, None),
            (r#""""#, None),
            (r#"" ""#, None),
            (r#""-""#, None),
            (r#""--7""#, None),
            (r#""+-7""#, None),
            (r#""+ 7""#, None),
            (r#""７""#, None),
            (r#""true""#, None),
        ];
        for (text, expected) in cases {
            let value = read(text.as_bytes(), &ReadOptions::default()).unwrap().value;
            assert_eq!(integer(&value).map(|lax| (lax.value, lax.coerced)), expected, "{text}");
        }
    }
}
