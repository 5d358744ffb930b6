//! Element types, as `descr` names them: `<f4`, `|u1`, `>c16`, `<U12`, `<M8[ns]`.

use super::NpyError;

/// What one element is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// NumPy's letter: `b` bool, `i`, `u`, `f`, `c`, `m` time span, `M` time, `S` bytes, `U` text (UTF-32), `V` raw.
    pub kind: u8,
    /// Bytes of one element.
    pub size: usize,
    /// Bytes that are reversed together when the byte order changes: half an element for complex, 4 for text, 1 where
    /// there is no order.
    pub unit: usize,
    /// Whether units are stored high byte first.
    pub big_endian: bool,
}

impl Item {
    /// Reads a type name. A missing order or `=` counts as little-endian, as on every machine that still writes files.
    ///
    /// # Errors
    /// [`NpyError::Object`] for `O`, [`NpyError::Descr`] for anything else that is not a plain type.
    pub fn parse(descr: &str) -> Result<Self, NpyError> {
        let unknown = || NpyError::Descr { descr: descr.to_owned() };
        let (order, rest) = match descr.split_at_checked(1) {
            Some((order @ ("<" | ">" | "|" | "="), rest)) => (order, rest),
            _ => ("<", descr),
        };
        let (kind, rest) = rest.split_at_checked(1).ok_or_else(unknown)?;
        if kind == "O" {
            return Err(NpyError::Object);
        }
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (count, suffix) = rest.split_at_checked(digits).ok_or_else(unknown)?;
        let count: usize = count.parse().map_err(|_| unknown())?;
        if !(suffix.is_empty() || matches!(kind, "m" | "M") && is_unit(suffix)) {
            return Err(unknown());
        }
        let (size, unit) = match (kind, count) {
            ("b", 1) => (1, 1),
            ("i" | "u", 1 | 2 | 4 | 8) => (count, count),
            ("f", 2 | 4 | 8 | 16) => (count, count),
            ("c", 8 | 16 | 32) => (count, count / 2),
            ("m" | "M", 8) => (8, 8),
            ("S" | "V", _) => (count, 1),
            ("U", _) => (count.checked_mul(4).ok_or_else(unknown)?, 4),
            _ => return Err(unknown()),
        };
        let kind = kind.bytes().next().ok_or_else(unknown)?;
        Ok(Self { kind, size, unit, big_endian: order == ">" && unit > 1 })
    }
}

/// The unit of a time type: `[ns]`, `[25us]`, `[3D]`.
fn is_unit(suffix: &str) -> bool {
    let inner = suffix.strip_prefix('[').and_then(|s| s.strip_suffix(']'));
    inner.is_some_and(|s| !s.is_empty() && s.bytes().all(|b| b.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_units() {
        for (descr, size, unit, big_endian) in [
            ("|b1", 1, 1, false),
            ("|i1", 1, 1, false),
            (">u1", 1, 1, false),
            ("<f2", 2, 2, false),
            (">f4", 4, 4, true),
            ("<f16", 16, 16, false),
            (">c8", 8, 4, true),
            ("<c32", 32, 16, false),
            ("<M8", 8, 8, false),
            (">m8[25us]", 8, 8, true),
            ("|S5", 5, 1, false),
            (">U3", 12, 4, true),
            ("<U0", 0, 4, false),
            ("|V7", 7, 1, false),
            ("=i8", 8, 8, false),
            ("i8", 8, 8, false),
        ] {
            let item = Item::parse(descr).unwrap();
            assert_eq!(
                (item.size, item.unit, item.big_endian),
                (size, unit, big_endian),
                "{descr}"
            );
        }
    }

    #[test]
    fn objects_are_named_and_other_types_refused() {
        assert_eq!(Item::parse("|O"), Err(NpyError::Object));
        assert_eq!(Item::parse("O8"), Err(NpyError::Object));
        for descr in [
            "",
            "<",
            "<f",
            "<f3",
            "<f12",
            "b2",
            "<i16",
            "<c4",
            "<M4",
            "<M8[]",
            "<M8[n s]",
            "<M8ns",
            "<f4[ns]",
            "<f-4",
            "<f+4",
            "<f 4",
            "é4",
            "<é4",
            "<U99999999999999999999",
            "(2,)<f4",
            "<U9223372036854775807",
            "f4,i4",
            "bfloat16",
        ] {
            assert!(matches!(Item::parse(descr), Err(NpyError::Descr { .. })), "{descr}");
        }
    }
}
