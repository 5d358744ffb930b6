//! How the original reads the floats of a record, and spellings that it reads right.
//!
//! It keeps as many digits as fit a u64, rounds them to a double and multiplies or divides once by a power of ten. Doubles
//! that need 16 or 17 digits can come back one unit in the last place off, about one in ten of random ones. Other digits
//! inside of the same rounding interval may do better: every exact reader takes them for the same double.

use std::sync::LazyLock;

use packstone_container::json::{FloatStyle, float_text};

/// The double that the original reads from a JSON number with a fraction or an exponent; `None` where it refuses it.
pub fn peer_reads(text: &str) -> Option<f64> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (digits, exponent) = match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => match exponent.parse::<i32>() {
            Ok(exponent) => (digits, exponent),
            Err(_) if exponent.starts_with('-') || digits.bytes().all(|b| b"0.".contains(&b)) => {
                ("0", 0)
            }
            Err(_) => return None,
        },
        None => (text, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let (mut significand, mut scale, mut full) = (0u64, 0i32, false);
    let digit = |byte: u8| u64::from(byte.wrapping_sub(b'0'));
    let more = |sum: u64, byte: u8| sum.checked_mul(10)?.checked_add(digit(byte));
    for byte in whole.bytes() {
        match more(significand, byte).filter(|_| !full) {
            Some(sum) => significand = sum,
            None => {
                full = true;
                scale = scale.checked_add(1)?;
            }
        }
    }
    for byte in fraction.bytes() {
        match more(significand, byte).filter(|_| !full) {
            Some(sum) => {
                significand = sum;
                scale = scale.checked_sub(1)?;
            }
            None => full = true,
        }
    }
    let value = scaled(significand, scale.saturating_add(exponent))?;
    Some(if negative { -value } else { value })
}

#[expect(clippy::cast_precision_loss, reason = "the original rounds here, too")]
fn scaled(significand: u64, mut exponent: i32) -> Option<f64> {
    const MOST: i32 = 308;
    let mut value = significand as f64;
    loop {
        if let Some(power) = power(exponent.unsigned_abs()) {
            if exponent < 0 {
                return Some(value / power);
            }
            value *= power;
            return value.is_finite().then_some(value);
        }
        if value == 0.0 {
            return Some(value);
        }
        if exponent > 0 {
            return None;
        }
        value /= 1e308;
        exponent += MOST;
    }
}

/// Ten to this power, correctly rounded, as far as doubles go.
fn power(exponent: u32) -> Option<f64> {
    static POWERS: LazyLock<Vec<f64>> = LazyLock::new(|| {
        (0..=308).filter_map(|exponent| format!("1e{exponent}").parse().ok()).collect()
    });
    POWERS.get(usize::try_from(exponent).ok()?).copied()
}

/// The spelling of the original's writer: the shortest digits that an exact reader takes for `x`; `null` where it is not
/// finite.
pub fn shortest(x: f64) -> String {
    float_text(x, FloatStyle::Pydantic).unwrap_or_else(|| "null".to_owned())
}

/// A spelling that exact readers and the original both take for `x`: the shortest one, or else one of 17 to 20 digits.
/// For about one in a hundred of the doubles that the original reads wrongly there is none; then it is the shortest.
pub fn peer_exact(x: f64) -> String {
    let shortest = shortest(x);
    let same = |text: &str| {
        peer_reads(text).map(f64::to_bits) == Some(x.to_bits())
            && text.parse::<f64>().map(f64::to_bits) == Ok(x.to_bits())
    };
    if !x.is_finite() || same(&shortest) {
        return shortest;
    }
    longer(x).find(|text| same(text)).unwrap_or(shortest)
}

/// Whether the original reads another double than `x`, which is finite, from the spelling that writers give it.
pub fn is_misread(x: f64, exact: bool) -> bool {
    let other = |text: &str| peer_reads(text) != Some(x);
    // Most are read right with the shortest digits, and then these are written.
    other(&shortest(x)) && (!exact || other(&peer_exact(x)))
}

/// Spellings with more digits: those nearest to `x` first, then their neighbours.
fn longer(x: f64) -> impl Iterator<Item = String> {
    /// Neighbours on each side that are tried.
    const REACH: i128 = 600;
    let sign = if x.is_sign_negative() { "-" } else { "" };
    (17..=20usize).flat_map(move |digits| {
        let nearest = format!("{:.*e}", digits - 1, x.abs());
        let (mantissa, exponent) = nearest.split_once('e').unwrap_or((&nearest, "0"));
        let center: i128 = mantissa.replace('.', "").parse().unwrap_or(0);
        let exponent = exponent.to_owned();
        let offsets = (0..=REACH).flat_map(|step| [step, -step]);
        offsets.map(move |offset| {
            let digits = (center + offset).to_string();
            let (first, rest) = digits.split_at_checked(1).unwrap_or((&digits, ""));
            let plus = if exponent.starts_with('-') { "" } else { "+" };
            format!("{sign}{first}.{rest}e{plus}{exponent}")
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn spellings_are_those_of_the_original() {
        for (x, text) in [
            (100.0, "100.0"),
            (0.00001, "0.00001"),
            (1e15, "1000000000000000.0"),
            (9007199254740992.0, "9007199254740992.0"),
            (1e16, "1e+16"),
            (1.5e21, "1.5e+21"),
            (1e-6, "1e-6"),
            (1.25e-7, "1.25e-7"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (-0.0, "-0.0"),
            (f64::NAN, "null"),
        ] {
            assert_eq!(shortest(x), text);
        }
    }

    #[test]
    fn easy_numbers_are_read_right_by_the_original() {
        for x in [0.0, -0.0, 1.5, 1e22, 1e300, 123456.75, 5e-324, -1e-5, 9007199254740992.0] {
            assert_eq!(peer_reads(&shortest(x)).unwrap().to_bits(), x.to_bits(), "{x:e}");
            assert_eq!(peer_exact(x), shortest(x));
        }
        assert_eq!(peer_reads("1e400"), None);
        assert_eq!(peer_reads("0e999"), Some(0.0));
        // Twenty digits fit; the other four become a power.
        assert_eq!(peer_reads("123456789012345678901234.5"), Some(12345678901234567890.0 * 1e4));
    }

    /// Doubles of 16 and 17 digits: the share that the original misreads, and how many of these another spelling saves.
    #[test]
    fn most_numbers_that_it_reads_wrongly_have_another_spelling() {
        let (mut wrong, mut saved) = (0, 0);
        let mut state = 1u64;
        for _ in 0..4000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let x = (f64::from(u32::try_from(state >> 32).unwrap()) - 2147483648.5) / 3001.7;
            if peer_reads(&shortest(x)) == Some(x) {
                continue;
            }
            wrong += 1;
            let text = peer_exact(x);
            assert_eq!(text.parse::<f64>().unwrap().to_bits(), x.to_bits(), "{text}");
            saved += usize::from(peer_reads(&text) == Some(x));
        }
        assert!(wrong > 200 && saved * 100 >= wrong * 97, "{saved} of {wrong}");
    }

    proptest! {
        #[test]
        fn every_spelling_is_exact(bits: u64) {
            let x = f64::from_bits(bits);
            prop_assume!(x.is_finite());
            let text = peer_exact(x);
            prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), bits);
            prop_assert!(text.contains(['.', 'e']));
        }
    }
}
