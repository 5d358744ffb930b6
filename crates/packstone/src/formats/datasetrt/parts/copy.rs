//! Whether the copy of metadata in a record is spelled as writers spell it: nearly all are, and then it is enough to
//! walk along it once, without a parser and without memory.

use packstone_container::arrow_table::Cell;

use super::record::Spelling;

impl Spelling {
    /// True where `copy` says what these cells say, one a column, in the order of the columns and without spaces. False
    /// where it says something else, or says it in another way.
    pub fn is_of<'c>(&self, cells: impl Iterator<Item = Option<Cell<'c>>>, copy: &[u8]) -> bool {
        let mut rest = copy;
        for (before, cell) in self.before.iter().zip(cells) {
            let after = cell.and_then(|cell| {
                let value = rest.strip_prefix(before.as_bytes())?;
                after_value(cell, value)
            });
            let Some(after) = after else { return false };
            rest = after;
        }
        rest == if self.before.is_empty() { &b"{}"[..] } else { b"}" }
    }
}

/// What stands behind the value of a cell; `None` where another value stands there, or another spelling.
fn after_value<'b>(cell: Cell<'_>, text: &'b [u8]) -> Option<&'b [u8]> {
    match cell {
        Cell::Bool(true) => text.strip_prefix(b"true"),
        Cell::Bool(false) => text.strip_prefix(b"false"),
        Cell::Int64(value) => after_integer(value, text),
        Cell::Float64(value) => after_float(value, text),
        Cell::Utf8(value) => {
            let plain = |byte: &u8| *byte >= b' ' && *byte != b'"' && *byte != b'\\';
            let text = text.strip_prefix(b"\"")?.strip_prefix(value.as_bytes())?;
            let text = text.strip_prefix(b"\"")?;
            value.as_bytes().iter().all(plain).then_some(text)
        }
        // No metadata column holds these.
        Cell::UInt64(_) | Cell::Null => None,
    }
}

fn after_integer(value: i64, text: &[u8]) -> Option<&[u8]> {
    let digits = if value < 0 { text.strip_prefix(b"-")? } else { text };
    let (mut sum, mut rest) = (0u64, digits);
    while let Some((digit @ b'0'..=b'9', after)) = rest.split_first() {
        sum = sum.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
        rest = after;
    }
    let plain = match digits {
        [b'0', ..] => digits.len() - rest.len() == 1,
        _ => digits.len() > rest.len(),
    };
    (plain && sum == value.unsigned_abs()).then_some(rest)
}

fn after_float(value: f64, text: &[u8]) -> Option<&[u8]> {
    let rest = after_number(text)?;
    let number = text.get(..text.len() - rest.len())?;
    let found: f64 = std::str::from_utf8(number).ok()?.parse().ok()?;
    (found == value && found.is_finite()).then_some(rest)
}

/// What stands behind a JSON number that has a fraction or an exponent, as floats have.
fn after_number(text: &[u8]) -> Option<&[u8]> {
    let whole = text.strip_prefix(b"-").unwrap_or(text);
    let after_whole = match whole {
        [b'0', rest @ ..] => rest,
        _ => after_digits(whole)?,
    };
    let after_fraction = match after_whole {
        [b'.', fraction @ ..] => after_digits(fraction)?,
        _ => after_whole,
    };
    match after_fraction {
        [b'e' | b'E', b'+' | b'-', exponent @ ..] | [b'e' | b'E', exponent @ ..] => {
            after_digits(exponent)
        }
        _ => (after_fraction.len() < after_whole.len()).then_some(after_fraction),
    }
}

/// What stands behind one digit or more.
fn after_digits(text: &[u8]) -> Option<&[u8]> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 { None } else { text.get(digits..) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::schema::{ColumnSpec, ValueKind};
    use super::super::record;
    use super::*;
    use crate::error::Place;

    fn columns() -> Vec<ColumnSpec> {
        ValueKind::ALL.map(|kind| ColumnSpec::new(kind.name(), kind)).to_vec()
    }

    fn is_of(cells: [Cell<'_>; 4], copy: &str) -> bool {
        Spelling::new(&columns(), false).is_of(cells.into_iter().map(Some), copy.as_bytes())
    }

    const CELLS: [Cell<'static>; 4] =
        [Cell::Bool(true), Cell::Int64(-30), Cell::Float64(1.5), Cell::Utf8("é/")];
    const COPY: &str = r#"{"bool":true,"int":-30,"float":1.5,"string":"é/"}"#;

    #[test]
    fn the_spelling_of_writers_is_known() {
        assert!(is_of(CELLS, COPY));
        for float in ["1.50", "15e-1", "0.15E+1", "15E-1"] {
            assert!(is_of(CELLS, &COPY.replace("1.5", float)), "{float}");
        }
        let zero = [Cell::Bool(false), Cell::Int64(0), Cell::Float64(-0.0), Cell::Utf8("")];
        assert!(is_of(zero, r#"{"bool":false,"int":0,"float":0.0,"string":""}"#));
        let least =
            [Cell::Bool(false), Cell::Int64(i64::MIN), Cell::Float64(5e-324), Cell::Utf8("")];
        let copy = r#"{"bool":false,"int":-9223372036854775808,"float":5e-324,"string":""}"#;
        assert!(is_of(least, copy));
        assert!(Spelling::new(&[], false).is_of(std::iter::empty(), b"{}"));
        assert!(!Spelling::new(&[], false).is_of(std::iter::empty(), b"{"));
    }

    #[test]
    fn other_values_and_other_spellings_are_not() {
        for (from, to) in [
            ("true", "false"),
            ("-30", "30"),
            ("-30", "-3"),
            ("-30", "-300"),
            ("-30", "-030"),
            ("-30", "-30.0"),
            ("-30", "-99999999999999999999999"),
            ("-30", "-"),
            ("1.5", "1.25"),
            ("1.5", "1.5.0"),
            ("1.5", "01.5"),
            ("1.5", "1.5e"),
            ("1.5", "+1.5"),
            ("1.5", "null"),
            ("1.5", "1.5 "),
            ("é/", "é"),
            ("é/", "\\u00e9/"),
            ("}", "} "),
            ("}", ",\"z\":1}"),
            ("}", ""),
            ("{", "[{"),
            ("int", "inu"),
        ] {
            let copy = COPY.replacen(from, to, 1);
            assert!(copy != COPY && !is_of(CELLS, &copy), "{copy}");
        }
        // A number without fraction is an integer to the original, and no float.
        let one = [Cell::Bool(true), Cell::Int64(1), Cell::Float64(1.0), Cell::Utf8("a\"b")];
        assert!(!is_of(one, r#"{"bool":true,"int":1,"float":1,"string":"a"b"}"#));
        assert!(!is_of(one, r#"{"bool":true,"int":1,"float":1.0,"string":"a"b"}"#));
        let huge = [Cell::Bool(true), Cell::Int64(1), Cell::Float64(f64::INFINITY), Cell::Utf8("")];
        assert!(!is_of(huge, r#"{"bool":true,"int":1,"float":1e999,"string":""}"#));
    }

    proptest! {
        /// It takes nothing that the parser would not take for the same.
        #[test]
        fn it_agrees_with_the_parser(
            bool in any::<bool>(),
            int in any::<i64>(),
            float in any::<f64>(),
            text in "[ -~é\n]{0,6}",
            at in any::<prop::sample::Index>(),
            byte in prop::sample::select(b"0123456789.eE+-\"\\{}:,tfn x".to_vec()),
        ) {
            let cells = [Cell::Bool(bool), Cell::Int64(int), Cell::Float64(float), Cell::Utf8(&text)];
            let mut copy = String::new();
            Spelling::new(&columns(), false).spell(cells.into_iter(), &mut copy);
            let plain = !text.contains(['"', '\\', '\n']) && float.is_finite();
            prop_assert_eq!(is_of(cells, &copy), plain, "{}", &copy);
            let mut changed = copy.into_bytes();
            let at = at.index(changed.len());
            changed[at] = byte;
            let Ok(changed) = String::from_utf8(changed) else { return Ok(()) };
            if is_of(cells, &changed) {
                let place = Place::default();
                let object = record::parse(changed.as_bytes(), &columns(), &place, &Default::default()).unwrap();
                record::compare(&object, &columns(), cells.into_iter(), &place).unwrap();
            }
        }
    }
}
