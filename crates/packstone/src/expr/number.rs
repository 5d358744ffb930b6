//! Numbers: exact comparison, and arithmetic on single values.

use std::cmp::Ordering;

use super::node::{Comparison, Operator};

/// The integer at or below a double and whether the double lies above it; `None` for NaN and beyond 128 bits.
fn floor(x: f64) -> Option<(i128, bool)> {
    const DIGITS: u64 = 52;
    /// What is added to the exponent of the last digit where it is stored.
    const BIAS: i64 = 1075;
    let bits = x.to_bits();
    let stored = i64::try_from(bits >> DIGITS & 0x7ff).ok()?;
    let digits = i128::from(bits & ((1 << DIGITS) - 1));
    let digits = if stored == 0 { digits } else { digits | 1 << DIGITS };
    let digits = if x.is_sign_negative() { -digits } else { digits };
    let exponent = stored.max(1) - BIAS;
    let by = u32::try_from(exponent.unsigned_abs()).ok()?;
    if exponent >= 0 {
        // NaN and infinities have the largest exponent of all.
        let factor = 1i128.checked_shl(by).filter(|factor| *factor > 0)?;
        return digits.checked_mul(factor).map(|whole| (whole, false));
    }
    let whole = digits >> by.min(i128::BITS - 1);
    Some((whole, whole.checked_shl(by).unwrap_or(0) != digits))
}

/// The order of an integer and a double by value; `None` for NaN.
pub(super) fn order(int: i128, double: f64) -> Option<Ordering> {
    match floor(double) {
        Some((whole, above)) => {
            Some(int.cmp(&whole).then(if above { Ordering::Less } else { Ordering::Equal }))
        }
        None if double.is_nan() => None,
        None if double > 0.0 => Some(Ordering::Less),
        None => Some(Ordering::Greater),
    }
}

/// The double of the same value, if there is one.
pub(super) fn exact(int: i128) -> Option<f64> {
    let double = int as f64;
    (order(int, double) == Some(Ordering::Equal)).then_some(double)
}

/// The integer of the same value, if there is one.
pub(super) fn whole(double: f64) -> Option<i128> {
    floor(double).and_then(|(whole, above)| (!above).then_some(whole))
}

/// Whether a comparison holds between an integer and a double.
pub(super) fn holds(comparison: Comparison, int: i128, double: f64) -> bool {
    match order(int, double) {
        Some(order) => comparison.holds(&order, &Ordering::Equal),
        None => comparison == Comparison::NotEqual,
    }
}

/// What becomes of two integers.
pub(super) enum Outcome {
    /// A number.
    Is(i128),
    /// No number: a rest by 0.
    Null,
    /// More than 128 bits.
    Overflow,
}

/// Arithmetic on integers; division is for doubles.
pub(super) fn integers(operator: Operator, a: i128, b: i128) -> Outcome {
    let result = match operator {
        Operator::Add => a.checked_add(b),
        Operator::Subtract => a.checked_sub(b),
        Operator::Multiply => a.checked_mul(b),
        Operator::Divide => None,
        Operator::Remainder => match a.checked_rem(b) {
            None if b == 0 => return Outcome::Null,
            None => Some(0),
            Some(rest) if rest != 0 && (rest < 0) != (b < 0) => Some(rest + b),
            Some(rest) => Some(rest),
        },
    };
    result.map_or(Outcome::Overflow, Outcome::Is)
}

/// Arithmetic on doubles.
pub(super) fn doubles(operator: Operator, a: f64, b: f64) -> f64 {
    match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide => a / b,
        Operator::Remainder => {
            let rest = a % b;
            if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_doubles_are_compared_by_value() {
        use Ordering::{Equal, Greater, Less};
        let near = 1i128 << 53;
        for (int, double, expected) in [
            (0, 0.0, Some(Equal)),
            (0, -0.0, Some(Equal)),
            (0, 5e-324, Some(Less)),
            (0, -5e-324, Some(Greater)),
            (3, 2.5, Some(Greater)),
            (-3, -2.5, Some(Less)),
            (-3, -3.0, Some(Equal)),
            (near + 1, 9_007_199_254_740_992.0, Some(Greater)),
            (-near - 1, -9_007_199_254_740_992.0, Some(Less)),
            (i128::from(i64::MAX), 9_223_372_036_854_775_808.0, Some(Less)),
            (i128::from(u64::MAX), 18_446_744_073_709_551_616.0, Some(Less)),
            (1 << 126, 2f64.powi(126), Some(Equal)),
            (i128::MAX, 2f64.powi(127), Some(Less)),
            (i128::MIN, -(2f64.powi(127)), Some(Equal)),
            (i128::MIN, -(2f64.powi(128)), Some(Greater)),
            (i128::MAX, f64::INFINITY, Some(Less)),
            (i128::MIN, f64::NEG_INFINITY, Some(Greater)),
            (0, f64::NAN, None),
        ] {
            assert_eq!(order(int, double), expected, "{int} {double}");
        }
        assert_eq!(exact(near + 1), None);
        assert_eq!(exact(near), Some(9_007_199_254_740_992.0));
        assert_eq!((whole(-3.0), whole(-2.5), whole(f64::NAN)), (Some(-3), None, None));
    }

    #[test]
    fn rests_have_the_sign_of_the_right_side() {
        for (a, b, expected) in [(7, 3, 1), (-7, 3, 2), (7, -3, -2), (-7, -3, -1), (6, -3, 0)] {
            assert!(
                matches!(integers(Operator::Remainder, a, b), Outcome::Is(rest) if rest == expected)
            );
            let (a, b) = (a as f64, b as f64);
            assert_eq!(doubles(Operator::Remainder, a, b), expected as f64);
        }
        assert!(matches!(integers(Operator::Remainder, 1, 0), Outcome::Null));
        assert!(matches!(integers(Operator::Remainder, i128::MIN, -1), Outcome::Is(0)));
        assert!(matches!(integers(Operator::Multiply, i128::MAX, 2), Outcome::Overflow));
    }
}
