//! Conversion between element types: NumPy's safe rule for writing, exact values for reading.

use half::f16;

use crate::model::DType;

/// What an element is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Whole(i128),
    Real(f64),
    Complex(f64, f64),
}

/// The kind of a numeric type and its bits, for the safe rule.
fn class(dtype: &DType) -> Option<(u8, u32)> {
    use DType::*;
    Some(match dtype {
        Bool => (0, 1),
        UInt8 => (1, 8),
        UInt16 => (1, 16),
        UInt32 => (1, 32),
        UInt64 => (1, 64),
        Int8 => (2, 8),
        Int16 => (2, 16),
        Int32 => (2, 32),
        Int64 | Int => (2, 64),
        Float16 => (3, 16),
        Float32 => (3, 32),
        Float64 => (3, 64),
        Complex64 => (4, 32),
        Complex128 => (4, 64),
        _ => return None,
    })
}

/// True where NumPy's "safe" casting turns every value of `from` into one of `to`.
pub fn is_safe(from: &DType, to: &DType) -> bool {
    if from == to {
        return true;
    }
    match (from, to) {
        (DType::FixedText(a), DType::FixedText(b))
        | (DType::FixedBytes(a), DType::FixedBytes(b))
        | (DType::Void(a), DType::Void(b)) => return a <= b,
        _ => {}
    }
    let (Some((from_kind, from_bits)), Some((to_kind, to_bits))) = (class(from), class(to)) else {
        return false;
    };
    match (from_kind, to_kind) {
        (0, _) => true,
        (_, 0) => false,
        (a, b) if a == b => from_bits <= to_bits,
        (1, 2) => from_bits < to_bits,
        // A float holds the integers of half its bits; beyond 32 bits NumPy calls float64 safe all the same.
        (1 | 2, 3 | 4) => from_bits < to_bits || to_bits == 64,
        (3, 4) => from_bits <= to_bits,
        _ => false,
    }
}

/// Converts the elements of `bytes` and appends them to `out`; false where a value changed on the way.
///
/// `None` where the types have no conversion. Bytes are little-endian. Values outside of the target wrap as NumPy's
/// `astype` does for integers, and are then reported as changed.
pub fn convert(from: &DType, to: &DType, bytes: &[u8], out: &mut Vec<u8>) -> Option<bool> {
    if from == to {
        out.extend_from_slice(bytes);
        return Some(true);
    }
    let size = usize::try_from(from.size()?).ok().filter(|n| *n > 0)?;
    if let (DType::FixedText(_), DType::FixedText(_))
    | (DType::FixedBytes(_), DType::FixedBytes(_)) = (from, to)
    {
        return pad(size, usize::try_from(to.size()?).ok()?, bytes, out);
    }
    class(from).and(class(to))?;
    let mut exact = true;
    for element in bytes.chunks_exact(size) {
        exact &= write(to, read(from, element)?, out)?;
    }
    Some(exact)
}

/// Longer or shorter fixed text: NUL padding comes or goes.
fn pad(from: usize, to: usize, bytes: &[u8], out: &mut Vec<u8>) -> Option<bool> {
    let mut exact = true;
    for element in bytes.chunks_exact(from) {
        let kept = element.get(..from.min(to))?;
        exact &= element.get(kept.len()..)?.iter().all(|b| *b == 0);
        out.extend_from_slice(kept);
        out.resize(out.len() + to - kept.len(), 0);
    }
    Some(exact)
}

fn read(dtype: &DType, bytes: &[u8]) -> Option<Number> {
    use DType::*;
    use Number::*;
    fn le<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
        bytes.first_chunk::<N>().copied()
    }
    Some(match dtype {
        Bool => Whole((*bytes.first()? != 0).into()),
        UInt8 => Whole((*bytes.first()?).into()),
        Int8 => Whole(i8::from_le_bytes(le(bytes)?).into()),
        UInt16 => Whole(u16::from_le_bytes(le(bytes)?).into()),
        Int16 => Whole(i16::from_le_bytes(le(bytes)?).into()),
        UInt32 => Whole(u32::from_le_bytes(le(bytes)?).into()),
        Int32 => Whole(i32::from_le_bytes(le(bytes)?).into()),
        UInt64 => Whole(u64::from_le_bytes(le(bytes)?).into()),
        Int64 | Int => Whole(i64::from_le_bytes(le(bytes)?).into()),
        Float16 => Real(f16::from_le_bytes(le(bytes)?).to_f64()),
        Float32 => Real(f32::from_le_bytes(le(bytes)?).into()),
        Float64 => Real(f64::from_le_bytes(le(bytes)?)),
        Complex64 => {
            let (re, im) = bytes.split_at_checked(4)?;
            Complex(f32::from_le_bytes(le(re)?).into(), f32::from_le_bytes(le(im)?).into())
        }
        Complex128 => {
            let (re, im) = bytes.split_at_checked(8)?;
            Complex(f64::from_le_bytes(le(re)?), f64::from_le_bytes(le(im)?))
        }
        _ => return None,
    })
}

fn write(dtype: &DType, number: Number, out: &mut Vec<u8>) -> Option<bool> {
    use DType::*;
    let real = match number {
        #[expect(clippy::cast_precision_loss, reason = "compared afterwards")]
        Number::Whole(n) => n as f64,
        Number::Real(x) => x,
        Number::Complex(re, _) => re,
    };
    let imaginary = if let Number::Complex(_, im) = number { im } else { 0.0 };
    // The same number, NaN being the same as NaN.
    let same = |x: f64| x == real || (x.is_nan() && real.is_nan());
    let whole_kept = |x: f64| match number {
        #[expect(clippy::cast_possible_truncation, reason = "saturates; compared with the source")]
        Number::Whole(n) => x as i128 == n,
        _ => same(x),
    };
    Some(match dtype {
        Bool => {
            let truth = real != 0.0 || imaginary != 0.0;
            out.push(truth.into());
            real == f64::from(u8::from(truth)) && imaginary == 0.0
        }
        Float16 => {
            let x = f16::from_f64(real);
            out.extend(x.to_le_bytes());
            whole_kept(x.to_f64()) && imaginary == 0.0
        }
        Float32 => {
            #[expect(clippy::cast_possible_truncation, reason = "rounds; compared afterwards")]
            let x = real as f32;
            out.extend(x.to_le_bytes());
            whole_kept(x.into()) && imaginary == 0.0
        }
        Float64 => {
            out.extend(real.to_le_bytes());
            whole_kept(real) && imaginary == 0.0
        }
        Complex64 => {
            #[expect(clippy::cast_possible_truncation, reason = "rounds; compared afterwards")]
            let (re, im) = (real as f32, imaginary as f32);
            out.extend(re.to_le_bytes());
            out.extend(im.to_le_bytes());
            whole_kept(re.into()) && (f64::from(im) == imaginary || imaginary.is_nan())
        }
        Complex128 => {
            out.extend(real.to_le_bytes());
            out.extend(imaginary.to_le_bytes());
            whole_kept(real)
        }
        _ => {
            let (_, bits) = class(dtype)?;
            let n = match number {
                Number::Whole(n) => n,
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "saturates; compared afterwards"
                )]
                _ => real as i128,
            };
            let size = usize::try_from(bits / 8).ok()?;
            let bytes = n.to_le_bytes();
            out.extend_from_slice(bytes.get(..size)?);
            // Read back what was kept of it.
            let kept = read(dtype, bytes.get(..size)?)? == Number::Whole(n);
            let fraction_kept = matches!(number, Number::Whole(_)) || real.fract() == 0.0;
            kept && fraction_kept && imaginary == 0.0
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_safe_rule_is_numpys() {
        use DType::*;
        // np.can_cast(a, b) of NumPy 2.4
        let types = [
            Bool, UInt8, UInt16, UInt32, UInt64, Int8, Int16, Int32, Int64, Float16, Float32,
            Float64, Complex64, Complex128,
        ];
        let table = [
            "11111111111111",
            "01111011111111",
            "00111001101111",
            "00011000100101",
            "00001000000101",
            "00000111111111",
            "00000011101111",
            "00000001100101",
            "00000000100101",
            "00000000011111",
            "00000000001111",
            "00000000000101",
            "00000000000011",
            "00000000000001",
        ];
        for (from, row) in types.iter().zip(table) {
            for (to, mark) in types.iter().zip(row.chars()) {
                assert_eq!(is_safe(from, to), mark == '1', "{from} to {to}");
            }
        }
        assert!(is_safe(&FixedText(3), &FixedText(5)) && !is_safe(&FixedText(5), &FixedText(3)));
        assert!(is_safe(&Int, &Int64) && !is_safe(&Str, &Bytes));
    }

    #[test]
    fn conversions_say_whether_the_value_is_kept() {
        use DType::*;
        let run = |from: DType, to: DType, bytes: &[u8]| {
            let mut out = Vec::new();
            let exact = convert(&from, &to, bytes, &mut out)?;
            Some((out, exact))
        };
        assert_eq!(
            run(Float64, Float32, &0.5f64.to_le_bytes()),
            Some((0.5f32.to_le_bytes().to_vec(), true))
        );
        assert_eq!(
            run(Float64, Float32, &0.1f64.to_le_bytes()),
            Some((0.1f32.to_le_bytes().to_vec(), false))
        );
        assert_eq!(run(Int64, UInt8, &7i64.to_le_bytes()), Some((vec![7], true)));
        assert_eq!(run(Int64, UInt8, &300i64.to_le_bytes()), Some((vec![44], false)));
        assert_eq!(
            run(Float64, Int32, &1.5f64.to_le_bytes()),
            Some((1i32.to_le_bytes().to_vec(), false))
        );
        assert!(!run(UInt64, Float64, &(1u64 << 53 | 1).to_le_bytes()).unwrap().1);
        assert!(run(Float64, Float32, &f64::NAN.to_le_bytes()).unwrap().1);
        assert_eq!(run(FixedBytes(3), FixedBytes(2), b"ab\0abc"), Some((b"abab".to_vec(), false)));
        assert_eq!(run(Str, Bytes, b""), None);
    }
}
