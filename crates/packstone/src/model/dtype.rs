//! Element types, with their names in each of the formats.

use std::borrow::Cow;
use std::fmt;

/// The unit of a date or a time span: `ns`, `25s`, or none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TimeUnit(String);

impl TimeUnit {
    const CODES: [&str; 13] =
        ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"];

    fn parse(text: &str) -> Option<Self> {
        let code = text.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = text.strip_suffix(code)?;
        let counted = digits.is_empty() || digits.parse::<i32>().is_ok_and(|n| n > 0);
        (Self::CODES.contains(&code) && counted).then(|| {
            let digits = digits.trim_start_matches('0');
            Self(format!("{}{code}", if digits == "1" { "" } else { digits }))
        })
    }
}

/// The type of one element of a value.
///
/// Values are little-endian on every machine and in every format.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names say it")]
pub enum DType {
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Float16,
    BFloat16,
    Float32,
    Float64,
    /// The x86-64 extended float in 16 bytes: bound to its platform, carried as bytes.
    Float128,
    /// Two 16-bit floats.
    Complex32,
    Complex64,
    Complex128,
    /// Floats of 8 bits and less, and bits without a meaning of their own, by the names PyTorch gives them. All take
    /// one byte, but for `Bits16` (2) and `BComplex32` (4, two bfloat16).
    Float8E4M3Fn,
    Float8E4M3Fnuz,
    Float8E5M2,
    Float8E5M2Fnuz,
    Float8E8M0Fnu,
    Float4E2M1FnX2,
    Bits8,
    Bits1x8,
    Bits2x4,
    Bits4x2,
    Bits16,
    BComplex32,
    /// JSON of any kind, as text in the one spelling of [`crate::model::canonical`].
    Json,
    /// A Python integer: 8 bytes signed, or 16 where 8 cannot hold it, which only NumPy archives can store.
    Int,
    /// UTF-8 text of any length.
    Str,
    /// Bytes of any length.
    Bytes,
    /// NumPy `datetime64`, 64 bits; `None` is the generic unit.
    DateTime(Option<TimeUnit>),
    /// NumPy `timedelta64`, 64 bits.
    TimeDelta(Option<TimeUnit>),
    /// NumPy `<Un>`: UTF-32 in `n` code points, padded with NUL.
    FixedText(u32),
    /// NumPy `|Sn`: `n` bytes, padded with NUL.
    FixedBytes(u32),
    /// NumPy `|Vn`: `n` bytes without meaning.
    Void(u32),
}

impl DType {
    /// Bytes of one element; `None` where they vary.
    pub fn size(&self) -> Option<u64> {
        use DType::*;
        Some(match self {
            Bool | Int8 | UInt8 | Float8E4M3Fn | Float8E4M3Fnuz | Float8E5M2 | Float8E5M2Fnuz
            | Float8E8M0Fnu | Float4E2M1FnX2 | Bits8 | Bits1x8 | Bits2x4 | Bits4x2 => 1,
            Int16 | UInt16 | Float16 | BFloat16 | Bits16 => 2,
            Int32 | UInt32 | Float32 | Complex32 | BComplex32 => 4,
            Int64 | UInt64 | Float64 | Complex64 | Int | DateTime(_) | TimeDelta(_) => 8,
            Float128 | Complex128 => 16,
            FixedText(n) => u64::from(*n) * 4,
            FixedBytes(n) | Void(n) => u64::from(*n),
            Str | Bytes | Json => return None,
        })
    }

    /// Bytes that swap together when the byte order changes.
    pub fn swap_unit(&self) -> u64 {
        match self {
            DType::Complex32 | DType::BComplex32 => 2,
            DType::Complex64 | DType::FixedText(_) => 4,
            DType::Complex128 => 8,
            DType::FixedBytes(_) | DType::Void(_) => 1,
            other => other.size().unwrap_or(1),
        }
    }

    /// NumPy's name: `float32`, and its `str` form for dates and fixed text (`<M8[ns]`, `<U5`).
    pub fn name(&self) -> Cow<'static, str> {
        use DType::*;
        let unit =
            |u: &Option<TimeUnit>| u.as_ref().map(|u| format!("[{}]", u.0)).unwrap_or_default();
        Cow::Borrowed(match self {
            Bool => "bool",
            Int8 => "int8",
            Int16 => "int16",
            Int32 => "int32",
            Int64 => "int64",
            UInt8 => "uint8",
            UInt16 => "uint16",
            UInt32 => "uint32",
            UInt64 => "uint64",
            Float16 => "float16",
            BFloat16 => "bfloat16",
            Float32 => "float32",
            Float64 => "float64",
            Float128 => "float128",
            Complex32 => "complex32",
            Complex64 => "complex64",
            Complex128 => "complex128",
            Float8E4M3Fn => "float8_e4m3fn",
            Float8E4M3Fnuz => "float8_e4m3fnuz",
            Float8E5M2 => "float8_e5m2",
            Float8E5M2Fnuz => "float8_e5m2fnuz",
            Float8E8M0Fnu => "float8_e8m0fnu",
            Float4E2M1FnX2 => "float4_e2m1fn_x2",
            Bits8 => "bits8",
            Bits1x8 => "bits1x8",
            Bits2x4 => "bits2x4",
            Bits4x2 => "bits4x2",
            Bits16 => "bits16",
            BComplex32 => "bcomplex32",
            Json => "json",
            Int => "int",
            Str => "str",
            Bytes => "bytes",
            DateTime(u) => return format!("<M8{}", unit(u)).into(),
            TimeDelta(u) => return format!("<m8{}", unit(u)).into(),
            FixedText(n) => return format!("<U{n}").into(),
            FixedBytes(n) => return format!("|S{n}").into(),
            Void(n) => return format!("|V{n}").into(),
        })
    }

    /// NumPy's type string as it stands in a `.npy` header: `<f4`, `|u1`.
    pub fn numpy_str(&self) -> Cow<'static, str> {
        use DType::*;
        Cow::Borrowed(match self {
            Bool => "|b1",
            Int8 => "|i1",
            UInt8 | Bytes => "|u1",
            Int16 => "<i2",
            Int32 => "<i4",
            Int64 | Int => "<i8",
            UInt16 => "<u2",
            UInt32 => "<u4",
            UInt64 => "<u8",
            Float16 => "<f2",
            BFloat16 => "<V2",
            Float32 => "<f4",
            Float64 => "<f8",
            Float128 => "<f16",
            Complex64 => "<c8",
            Complex128 => "<c16",
            Float8E4M3Fn | Float8E4M3Fnuz | Float8E5M2 | Float8E5M2Fnuz | Float8E8M0Fnu
            | Float4E2M1FnX2 | Bits8 | Bits1x8 | Bits2x4 | Bits4x2 => "|V1",
            Bits16 => "|V2",
            Complex32 | BComplex32 => "|V4",
            _ => return self.name(),
        })
    }

    /// Reads a NumPy dtype text: names, aliases, type strings of any byte order.
    ///
    /// The byte order is dropped: it says how an array lay in memory, never how packstone hands it out. Sizes of `long`
    /// and its like are those of 64-bit Linux. Object, structured and unsized types give `None`.
    pub fn from_numpy(text: &str) -> Option<Self> {
        use DType::*;
        let short = text.strip_prefix(['<', '>', '=', '|']).unwrap_or(text);
        Some(match short {
            "bool" | "bool_" | "?" | "b1" => Bool,
            "int8" | "byte" | "b" | "i1" => Int8,
            "int16" | "short" | "h" | "i2" => Int16,
            "int32" | "intc" | "i" | "i4" => Int32,
            "int64" | "int_" | "intp" | "long" | "longlong" | "l" | "q" | "p" | "n" | "i8" => Int64,
            "uint8" | "ubyte" | "B" | "u1" => UInt8,
            "uint16" | "ushort" | "H" | "u2" => UInt16,
            "uint32" | "uintc" | "I" | "u4" => UInt32,
            "uint64" | "uint" | "uintp" | "ulong" | "ulonglong" | "L" | "Q" | "P" | "N" | "u8" => {
                UInt64
            }
            "float16" | "half" | "e" | "f2" => Float16,
            "float32" | "single" | "f" | "f4" => Float32,
            "float64" | "double" | "float" | "d" | "f8" => Float64,
            "float128" | "longdouble" | "g" | "f16" => Float128,
            "complex64" | "csingle" | "F" | "c8" => Complex64,
            "complex128" | "cdouble" | "complex" | "D" | "c16" => Complex128,
            "datetime64" | "M8" | "M" => DateTime(None),
            "timedelta64" | "m8" | "m" => TimeDelta(None),
            _ => return Self::parametrized(short),
        })
    }

    fn parametrized(text: &str) -> Option<Self> {
        let unit_of = |names: [&str; 2]| {
            let rest = names.iter().find_map(|name| text.strip_prefix(name))?;
            TimeUnit::parse(rest.strip_prefix('[')?.strip_suffix(']')?)
        };
        if let Some(unit) = unit_of(["datetime64", "M8"]) {
            return Some(Self::DateTime(Some(unit)));
        }
        if let Some(unit) = unit_of(["timedelta64", "m8"]) {
            return Some(Self::TimeDelta(Some(unit)));
        }
        let size = |letter| {
            let digits = text.strip_prefix(letter)?;
            let plain = digits.bytes().all(|b| b.is_ascii_digit());
            // NumPy keeps the size of an item in 31 bits.
            digits.parse::<u32>().ok().filter(|n| plain && *n > 0 && *n < (1 << 29))
        };
        size('U')
            .map(Self::FixedText)
            .or_else(|| size('S').map(Self::FixedBytes))
            .or_else(|| size('V').map(Self::Void))
    }

    /// Reads [`DType::name`] back, with what NumPy has no word for; aliases and byte orders are refused.
    pub fn from_name(text: &str) -> Option<Self> {
        use DType::*;
        const OWN: [DType; 18] = [
            BFloat16,
            Complex32,
            Float8E4M3Fn,
            Float8E4M3Fnuz,
            Float8E5M2,
            Float8E5M2Fnuz,
            Float8E8M0Fnu,
            Float4E2M1FnX2,
            Bits8,
            Bits1x8,
            Bits2x4,
            Bits4x2,
            Bits16,
            BComplex32,
            Json,
            Int,
            Str,
            Bytes,
        ];
        let own = || OWN.iter().find(|dtype| dtype.name() == text).cloned();
        Self::from_numpy(text).filter(|dtype| dtype.name() == text).or_else(own)
    }

    /// The type that content of this type has in a content digest: what a container adds is taken away.
    pub fn content_name(&self) -> Cow<'static, str> {
        match self {
            DType::Int => Cow::Borrowed("int64"),
            other => other.name(),
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_and_byte_orders_lead_to_one_type() {
        for (text, name) in [
            ("half", "float16"),
            ("double", "float64"),
            (">f4", "float32"),
            ("<f4", "float32"),
            ("?", "bool"),
            ("b", "int8"),
            ("int_", "int64"),
            ("bool_", "bool"),
            ("float", "float64"),
            ("float128", "float128"),
            ("datetime64[ns]", "<M8[ns]"),
            ("<m8[25s]", "<m8[25s]"),
            ("M8[1D]", "<M8[D]"),
            ("U5", "<U5"),
            ("|S3", "|S3"),
            ("V4", "|V4"),
        ] {
            assert_eq!(DType::from_numpy(text).unwrap().name(), name, "{text}");
        }
    }

    #[test]
    fn what_has_no_fixed_bytes_is_refused() {
        for text in [
            "object",
            "O",
            "str_",
            "unicode",
            "U",
            "U0",
            "S99999999999",
            "M8[xx]",
            "M8[",
            "bfloat16",
            "",
            "f3",
        ] {
            assert_eq!(DType::from_numpy(text), None, "{text}");
        }
    }

    #[test]
    fn type_strings_read_back() {
        use DType::*;
        for dtype in [
            Bool,
            Int8,
            UInt8,
            Int32,
            UInt64,
            Float16,
            Float64,
            Float128,
            Complex64,
            Complex128,
            FixedText(3),
        ] {
            assert_eq!(DType::from_numpy(&dtype.numpy_str()), Some(dtype.clone()));
            assert_eq!(DType::from_name(&dtype.name()), Some(dtype));
        }
        for name in ["bfloat16", "float8_e5m2", "bits16", "json", "str", "bytes", "int", "<M8[ns]"]
        {
            assert_eq!(DType::from_name(name).unwrap().name(), name);
        }
        for alias in ["half", "<f4", "object", ""] {
            assert_eq!(DType::from_name(alias), None, "{alias}");
        }
    }
}
