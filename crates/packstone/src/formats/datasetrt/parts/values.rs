//! Values of fields as cells of metadata columns, and back.

use half::{bf16, f16};
use packstone_container::arrow_table::Cell;

use crate::model::DType;

fn le<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.try_into().ok()
}

/// A scalar as the cell of a metadata column; `None` where no column can hold it: an integer beyond 63 bits, a text that
/// is none, another dtype.
pub fn cell<'v>(dtype: &DType, bytes: &'v [u8]) -> Option<Cell<'v>> {
    use DType::*;
    Some(match dtype {
        Bool => Cell::Bool(*bytes.first()? != 0),
        Int8 => Cell::Int64(i8::from_le_bytes(le(bytes)?).into()),
        Int16 => Cell::Int64(i16::from_le_bytes(le(bytes)?).into()),
        Int32 => Cell::Int64(i32::from_le_bytes(le(bytes)?).into()),
        Int64 => Cell::Int64(i64::from_le_bytes(le(bytes)?)),
        UInt8 => Cell::Int64(u8::from_le_bytes(le(bytes)?).into()),
        UInt16 => Cell::Int64(u16::from_le_bytes(le(bytes)?).into()),
        UInt32 => Cell::Int64(u32::from_le_bytes(le(bytes)?).into()),
        UInt64 => Cell::Int64(i64::try_from(u64::from_le_bytes(le(bytes)?)).ok()?),
        Float16 => Cell::Float64(f16::from_le_bytes(le(bytes)?).to_f64()),
        BFloat16 => Cell::Float64(bf16::from_le_bytes(le(bytes)?).to_f64()),
        Float32 => Cell::Float64(f32::from_le_bytes(le(bytes)?).into()),
        Float64 => Cell::Float64(f64::from_le_bytes(le(bytes)?)),
        Str => Cell::Utf8(std::str::from_utf8(bytes).ok()?),
        _ => return None,
    })
}

/// Appends a cell as a value of a dtype; false where it is none, and then nothing is appended.
pub fn put(dtype: &DType, cell: Cell<'_>, out: &mut Vec<u8>) -> bool {
    use DType::*;
    fn narrow<T, const N: usize>(x: i64, bytes: fn(T) -> [u8; N], out: &mut Vec<u8>) -> bool
    where
        T: TryFrom<i64>,
    {
        let narrowed = T::try_from(x);
        narrowed.map(|x| out.extend_from_slice(&bytes(x))).is_ok()
    }
    match (dtype, cell) {
        (Bool, Cell::Bool(x)) => out.push(x.into()),
        (Int8, Cell::Int64(x)) => return narrow(x, i8::to_le_bytes, out),
        (Int16, Cell::Int64(x)) => return narrow(x, i16::to_le_bytes, out),
        (Int32, Cell::Int64(x)) => return narrow(x, i32::to_le_bytes, out),
        (Int64, Cell::Int64(x)) => out.extend_from_slice(&x.to_le_bytes()),
        (UInt8, Cell::Int64(x)) => return narrow(x, u8::to_le_bytes, out),
        (UInt16, Cell::Int64(x)) => return narrow(x, u16::to_le_bytes, out),
        (UInt32, Cell::Int64(x)) => return narrow(x, u32::to_le_bytes, out),
        (UInt64, Cell::Int64(x)) => return narrow(x, u64::to_le_bytes, out),
        (Float16, Cell::Float64(x)) => out.extend_from_slice(&f16::from_f64(x).to_le_bytes()),
        (BFloat16, Cell::Float64(x)) => out.extend_from_slice(&bf16::from_f64(x).to_le_bytes()),
        (Float32, Cell::Float64(x)) => out.extend_from_slice(&single(x).to_le_bytes()),
        (Float64, Cell::Float64(x)) => out.extend_from_slice(&x.to_le_bytes()),
        (Str, Cell::Utf8(text)) => out.extend_from_slice(text.as_bytes()),
        _ => return false,
    }
    true
}

#[expect(clippy::cast_possible_truncation, reason = "what was widened is narrowed again")]
fn single(x: f64) -> f32 {
    x as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_of_every_dtype_come_back() {
        use DType::*;
        let check = |dtype: DType, bytes: &[u8]| {
            let mut out = Vec::new();
            assert!(put(&dtype, cell(&dtype, bytes).unwrap(), &mut out), "{dtype}");
            assert_eq!(out, bytes, "{dtype}");
        };
        check(Bool, &[1]);
        for (dtype, size) in
            [(Int8, 1), (Int16, 2), (Int32, 4), (Int64, 8), (UInt8, 1), (UInt16, 2), (UInt32, 4)]
        {
            check(dtype, &[0xf3, 0x81, 7, 0x90, 5, 6, 7, 0x88][..size]);
        }
        check(UInt64, &(u64::MAX >> 1).to_le_bytes());
        check(Float16, &f16::from_f64(-0.1).to_le_bytes());
        check(BFloat16, &bf16::from_f64(1e30).to_le_bytes());
        check(Float32, &f32::MIN_POSITIVE.to_le_bytes());
        check(Float64, &(-0.0f64).to_le_bytes());
        check(Str, "é".as_bytes());
        for (dtype, bytes) in
            [(UInt64, &u64::MAX.to_le_bytes()[..]), (Str, b"\xff"), (Bytes, b"x"), (Int32, b"x")]
        {
            assert!(cell(&dtype, bytes).is_none(), "{dtype}");
        }
        assert!(!put(&Int8, Cell::Int64(128), &mut Vec::new()));
        assert!(!put(&UInt8, Cell::Int64(-1), &mut Vec::new()));
        assert!(!put(&Int8, Cell::Bool(true), &mut Vec::new()));
    }
}
