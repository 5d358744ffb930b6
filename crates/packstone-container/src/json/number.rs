//! A JSON number as it was spelled.

use std::fmt;
use std::io::Write;
use std::str::FromStr;

use super::float::{FloatStyle, float_text};
use super::scan;
use super::small::Small;

/// A number that keeps its exact text: `1.0`, `1.00`, `1e0` and `1` are four different numbers.
///
/// Integers have no size limit. A reader that allows them also yields the tokens `NaN`, `Infinity` and `-Infinity`.
/// `==` compares texts; [`python_eq`](super::python_eq) compares values.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Number(Small);

impl Number {
    /// Spells a finite double in the pydantic way; `None` for NaN and infinities.
    #[must_use]
    pub fn from_f64(x: f64) -> Option<Self> {
        Self::from_f64_in(x, FloatStyle::Pydantic)
    }

    /// Spells a finite double in the given way; `None` for NaN and infinities.
    #[must_use]
    pub fn from_f64_in(x: f64, style: FloatStyle) -> Option<Self> {
        Some(Self(Small::new(&float_text(x, style)?)))
    }

    /// Spells any double: in the given way, or as `NaN`, `Infinity` or `-Infinity`, which JSON does not have.
    #[must_use]
    pub fn from_double_in(x: f64, style: FloatStyle) -> Self {
        Self::from_f64_in(x, style).unwrap_or_else(|| {
            Self::from_checked(match x {
                _ if x.is_nan() => "NaN",
                _ if x.is_sign_negative() => "-Infinity",
                _ => "Infinity",
            })
        })
    }

    /// A number whose text the caller has checked against the grammar.
    pub(super) fn from_checked(text: &str) -> Self {
        Self(Small::new(text))
    }

    /// The text as read or as it will be written.
    #[must_use]
    pub fn text(&self) -> &str {
        self.0.as_str()
    }

    /// Whether the text has neither fraction nor exponent: `-7` and `-0`, but not `7.0` or `7e0`.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        self.0.as_bytes().iter().all(|byte| matches!(byte, b'-' | b'0'..=b'9'))
    }

    /// Whether this is a number by RFC 8259, not one of `NaN`, `Infinity` and `-Infinity`.
    #[must_use]
    pub fn is_standard(&self) -> bool {
        !self.0.as_bytes().iter().any(|byte| matches!(byte, b'N' | b'I'))
    }

    /// The value of an integer that fits.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        self.text().parse().ok()
    }

    /// The value of a non-negative integer that fits.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        let text = self.text();
        if text == "-0" { Some(0) } else { text.parse().ok() }
    }

    /// The value as a double: of an integer exactly or not at all, of a decimal the nearest double.
    ///
    /// `None` if the value is beyond the range of doubles (`1e400`) or an integer between two of them
    /// (`9007199254740993`). The three tokens have their IEEE values.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        let x = self.to_f64();
        let held = match self.is_integer() {
            true => integer_eq(self.text(), x),
            false => x.is_finite() || !self.is_standard(),
        };
        held.then_some(x)
    }

    /// The nearest double; infinite if the value is beyond their range.
    #[must_use]
    pub fn to_f64(&self) -> f64 {
        // Rust's parser is correctly rounded and knows the three tokens by these names.
        self.text().parse().unwrap_or(f64::NAN)
    }
}

/// Whether a decimal integer and a double are the same number.
pub(super) fn integer_eq(text: &str, x: f64) -> bool {
    /// No double has more integer digits and a sign.
    const LONGEST: usize = 310;
    if !x.is_finite() || x.fract() != 0.0 || text.len() > LONGEST {
        return false;
    }
    let zero = |text: &str| matches!(text, "0" | "-0");
    let exact = format!("{x:.0}");
    exact == text || (zero(&exact) && zero(text))
}

impl FromStr for Number {
    type Err = NumberError;

    /// Takes a JSON number, with nothing before or after it.
    fn from_str(text: &str) -> Result<Self, NumberError> {
        match scan::number(text.as_bytes()) {
            Ok(length) if length == text.len() => Ok(Self::from_checked(text)),
            _ => Err(NumberError),
        }
    }
}

/// The text is not a number by the JSON grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a JSON number")]
pub struct NumberError;

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Number({})", self.text())
    }
}

macro_rules! from_integers {
    ($($integer:ty)*) => {$(
        impl From<$integer> for Number {
            fn from(value: $integer) -> Self {
                // The longest has 39 digits and a sign.
                let mut text = [0; 40];
                let mut rest = text.as_mut_slice();
                let _ = write!(rest, "{value}");
                let left = rest.len();
                let digits = text.get(..text.len() - left).unwrap_or_default();
                Self::from_checked(std::str::from_utf8(digits).unwrap_or_default())
            }
        }
    )*};
}
from_integers!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number(text: &str) -> Number {
        text.parse().unwrap()
    }

    #[test]
    fn keeps_the_text() {
        for text in
            ["0", "-0", "7", "1.0e5", "1.00", "1E+05", "1e400", "1180591620717411303424", "-0.0e-0"]
        {
            assert_eq!(number(text).text(), text);
            assert_eq!(number(text).to_string(), text);
        }
        assert_ne!(number("1.0"), number("1.00"));
    }

    #[test]
    fn takes_json_numbers_only() {
        for text in [
            "", "-", "+1", "01", "-01", "1.", ".5", "1e", "1e+", "1.e1", " 1", "1 ", "0x1", "NaN",
            "Infinity", "inf",
        ] {
            assert_eq!(text.parse::<Number>(), Err(NumberError), "{text}");
        }
    }

    #[test]
    fn gives_integers_exactly_or_not_at_all() {
        assert_eq!(number("-9223372036854775808").as_i64(), Some(i64::MIN));
        assert_eq!(number("9223372036854775808").as_i64(), None);
        assert_eq!(number("9223372036854775808").as_u64(), Some(1 << 63));
        assert_eq!(number("18446744073709551616").as_u64(), None);
        assert_eq!((number("-0").as_i64(), number("-0").as_u64()), (Some(0), Some(0)));
        assert_eq!(number("-1").as_u64(), None);
        for text in ["7.0", "7e0", "70e-1"] {
            assert_eq!((number(text).as_i64(), number(text).as_u64()), (None, None));
            assert!(!number(text).is_integer());
        }
        assert!(number("-12").is_integer());
    }

    #[test]
    fn gives_doubles_exactly_for_integers_and_nearest_for_decimals() {
        assert_eq!(number("9007199254740992").as_f64(), Some(9007199254740992.0));
        assert_eq!(number("9007199254740993").as_f64(), None);
        assert_eq!(number("9007199254740993").to_f64(), 9007199254740992.0);
        assert_eq!(number("9007199254740993.0").as_f64(), Some(9007199254740992.0));
        assert_eq!(number(&format!("1{}", "0".repeat(22))).as_f64(), Some(1e22));
        assert_eq!(number(&format!("1{}", "0".repeat(23))).as_f64(), None);
        assert_eq!(number("0.1").as_f64(), Some(0.1));
        assert_eq!(number("1e400").as_f64(), None);
        assert_eq!(number("-1e400").to_f64(), f64::NEG_INFINITY);
        assert_eq!(number(&"9".repeat(400)).as_f64(), None);
        let zero = number("-0").as_f64().unwrap();
        assert!(zero == 0.0 && zero.is_sign_negative());
    }

    #[test]
    fn holds_the_tokens_of_python() {
        let [nan, inf, neg] = ["NaN", "Infinity", "-Infinity"].map(Number::from_checked);
        assert!(nan.as_f64().unwrap().is_nan());
        assert_eq!(inf.as_f64(), Some(f64::INFINITY));
        assert_eq!(neg.as_f64(), Some(f64::NEG_INFINITY));
        assert!(!neg.is_standard() && !neg.is_integer() && neg.as_i64().is_none());
    }

    #[test]
    fn is_made_from_rust_numbers() {
        assert_eq!(Number::from(u64::MAX).text(), "18446744073709551615");
        assert_eq!(Number::from(i64::MIN).text(), "-9223372036854775808");
        assert_eq!(Number::from(u128::MAX).text(), "340282366920938463463374607431768211455");
        assert_eq!(Number::from_f64(1e-5).unwrap().text(), "0.00001");
        assert_eq!(Number::from_f64_in(1e-5, FloatStyle::Python).unwrap().text(), "1e-05");
        assert_eq!(Number::from_f64(f64::NAN), None);
        let tokens = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.5];
        let tokens = tokens.map(|x| Number::from_double_in(x, FloatStyle::Python));
        assert_eq!(tokens.each_ref().map(Number::text), ["NaN", "Infinity", "-Infinity", "0.5"]);
    }

    proptest! {
        #[test]
        fn doubles_survive(x in proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL | proptest::num::f64::ZERO) {
            let number = Number::from_f64(x).unwrap();
            prop_assert_eq!(number.as_f64().unwrap().to_bits(), x.to_bits());
            prop_assert_eq!(number.text().parse::<Number>().unwrap(), number);
        }

        #[test]
        fn integers_survive(any: i64, right in 0..64_u32, left in 0..64_u32) {
            let x = (any >> right) << left;
            prop_assert_eq!(Number::from(x).as_i64(), Some(x));
            // A double has 53 bits between its first and its last one.
            let size = x.unsigned_abs();
            let exact = size == 0 || 64 - size.leading_zeros() - size.trailing_zeros() <= 53;
            prop_assert_eq!(Number::from(x).as_f64(), exact.then_some(x as f64));
        }
    }
}
