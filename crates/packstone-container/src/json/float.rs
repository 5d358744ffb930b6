//! How the original libraries spell doubles.
//!
//! All of them print the shortest digits that read back as the same double. They differ in when they change to an
//! exponent and how they print it, with `e` the decimal exponent of the first digit:
//!
//! ```text
//!            plain notation for   exponent    1e-5       1e-7    1e16
//! Pydantic   -5 <= e < 16         unpadded    0.00001    1e-7    1e+16     also serde_json
//! Python     -4 <= e < 16         2 digits    1e-05      1e-07   1e+16     repr() and json.dumps()
//! ```
//!
//! A plain integral value keeps `.0`, and negative zero its sign. Rust's own `{}` and `{:?}` follow neither.

/// A spelling of finite doubles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloatStyle {
    /// As pydantic's `model_dump_json` and as serde_json: `0.00001`, `1e-7`, `1e+16`.
    Pydantic,
    /// As Python's `repr`: `1e-05`, `1e-07`, `1e+16`.
    Python,
}

/// Spells a double, or `None` if it is NaN or infinite.
#[must_use]
pub fn float_text(x: f64, style: FloatStyle) -> Option<String> {
    if !x.is_finite() {
        return None;
    }
    let (least_plain, width) = match style {
        FloatStyle::Pydantic => (-5, 1),
        FloatStyle::Python => (-4, 2),
    };
    let shortest = shortest(x.abs());
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let (first, rest) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let places = usize::try_from(exponent.unsigned_abs()).unwrap_or(usize::MAX);

    let mut text = String::with_capacity(28);
    if x.is_sign_negative() {
        text.push('-');
    }
    if exponent < least_plain || exponent >= 16 {
        text.push_str(mantissa);
        text.push_str(if exponent < 0 { "e-" } else { "e+" });
        text.push_str(&format!("{places:0width$}"));
    } else if exponent < 0 {
        text.push_str("0.");
        text.extend(std::iter::repeat_n('0', places.saturating_sub(1)));
        text.push_str(first);
        text.push_str(rest);
    } else {
        text.push_str(first);
        match rest.split_at_checked(places) {
            Some((whole, fraction)) if !fraction.is_empty() => {
                text.push_str(whole);
                text.push('.');
                text.push_str(fraction);
            }
            _ => {
                text.push_str(rest);
                text.extend(std::iter::repeat_n('0', places.saturating_sub(rest.len())));
                text.push_str(".0");
            }
        }
    }
    Some(text)
}

/// The fewest digits that read back as `x >= 0`, of those the nearest to it, as `d[.ddd]e[-]dd`.
fn shortest(x: f64) -> String {
    let upper = format!("{x:e}");
    let fraction = upper.find('e').unwrap_or(0).saturating_sub(2);
    if fraction < 15 {
        return upper;
    }
    // A double such as 1801514316094494.25 is half way between two spellings that both read back. The originals take
    // the even digit, as a format with a precision does, but `{:e}` the upper one. Up to 15 digits no two spellings
    // read back as one double. The check is for powers of two: below them doubles are denser, and what is nearest in
    // decimals may belong to the next one.
    let even = format!("{x:.fraction$e}");
    if even.parse() == Ok(x) { even } else { upper }
}

/// Spells any double as Python's `repr` does, with `nan`, `inf` and `-inf`.
///
/// For narrower floats pass the double they convert to; that is what NumPy's `item()` and Python print.
#[must_use]
pub fn python_float(x: f64) -> String {
    let word = match x {
        _ if x.is_nan() => "nan",
        _ if x.is_sign_negative() => "-inf",
        _ => "inf",
    };
    float_text(x, FloatStyle::Python).unwrap_or_else(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Value, pydantic 2.13 spelling, CPython 3.11 spelling.
    #[expect(clippy::excessive_precision, reason = "exact values, half way between two spellings")]
    const SPELLINGS: &[(f64, &str, &str)] = &[
        (0.0, "0.0", "0.0"),
        (-0.0, "-0.0", "-0.0"),
        (1.0, "1.0", "1.0"),
        (-1.5, "-1.5", "-1.5"),
        (100.0, "100.0", "100.0"),
        (123.456, "123.456", "123.456"),
        (0.1 + 0.2, "0.30000000000000004", "0.30000000000000004"),
        (0.0001, "0.0001", "0.0001"),
        (0.00012, "0.00012", "0.00012"),
        (0.00001, "0.00001", "1e-05"),
        (-0.000012345, "-0.000012345", "-1.2345e-05"),
        (9.99e-6, "9.99e-6", "9.99e-06"),
        (1e-7, "1e-7", "1e-07"),
        (1.25e-10, "1.25e-10", "1.25e-10"),
        (1e15, "1000000000000000.0", "1000000000000000.0"),
        (9007199254740993.0, "9007199254740992.0", "9007199254740992.0"),
        (9999999999999998.0, "9999999999999998.0", "9999999999999998.0"),
        (1234567890123456.8, "1234567890123456.8", "1234567890123456.8"),
        (1801514316094494.25, "1801514316094494.2", "1801514316094494.2"),
        (-1125899906842624.75, "-1125899906842624.8", "-1125899906842624.8"),
        (2251799813685247.25, "2251799813685247.2", "2251799813685247.2"),
        (33714033845255.8125, "33714033845255.812", "33714033845255.812"),
        (9007199254740992.0, "9007199254740992.0", "9007199254740992.0"),
        (1801514316094494.5, "1801514316094494.5", "1801514316094494.5"),
        (1e16, "1e+16", "1e+16"),
        (1.5e21, "1.5e+21", "1.5e+21"),
        (1e100, "1e+100", "1e+100"),
        (f64::MAX, "1.7976931348623157e+308", "1.7976931348623157e+308"),
        (f64::MIN_POSITIVE, "2.2250738585072014e-308", "2.2250738585072014e-308"),
        // 2^-1017, which the nearest sixteen digits, …044e-307, miss.
        (7.120236347223045e-307, "7.120236347223045e-307", "7.120236347223045e-307"),
        (5e-324, "5e-324", "5e-324"),
    ];

    #[test]
    fn spells_as_the_originals() {
        for &(x, pydantic, python) in SPELLINGS {
            assert_eq!(float_text(x, FloatStyle::Pydantic).unwrap(), pydantic);
            assert_eq!(float_text(x, FloatStyle::Python).unwrap(), python);
            assert_eq!(python_float(x), python);
        }
    }

    #[test]
    fn names_what_is_not_finite_only_for_python() {
        for (x, word) in [(f64::NAN, "nan"), (f64::INFINITY, "inf"), (f64::NEG_INFINITY, "-inf")] {
            assert_eq!(float_text(x, FloatStyle::Python), None);
            assert_eq!(float_text(x, FloatStyle::Pydantic), None);
            assert_eq!(python_float(x), word);
        }
        assert_eq!(python_float(-f64::NAN), "nan");
        assert_eq!(python_float(f64::from(0.1_f32)), "0.10000000149011612");
    }

    proptest! {
        #[test]
        fn reads_back_as_the_same_double(bits: u64) {
            let x = f64::from_bits(bits);
            prop_assume!(x.is_finite());
            for style in [FloatStyle::Pydantic, FloatStyle::Python] {
                let text = float_text(x, style).unwrap();
                prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), bits);
                prop_assert!(text.contains(['.', 'e']));
            }
        }
    }
}
