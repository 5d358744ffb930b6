//! Types of elements by their names in torch.

use std::borrow::Cow;

use packstone_io::Kind;

use super::codes;
use crate::error::{Error, Place, Result};
use crate::model::DType;

/// What a type is to the original library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// Saved and loaded.
    Full,
    /// Saved without a word, but no release can load a tree that has it.
    WriteOnly,
    /// Not a type of torch.
    Foreign,
}

/// How the original library treats leaves of this type.
pub fn support(dtype: &DType) -> Support {
    use DType::*;
    match dtype {
        Bool | Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64 | Float16
        | BFloat16 | Float32 | Float64 | Complex32 | Complex64 | Complex128 => Support::Full,
        Float8E4M3Fn | Float8E4M3Fnuz | Float8E5M2 | Float8E5M2Fnuz | Float8E8M0Fnu
        | Float4E2M1FnX2 | Bits8 | Bits1x8 | Bits2x4 | Bits4x2 | Bits16 | BComplex32 => {
            Support::WriteOnly
        }
        _ => Support::Foreign,
    }
}

/// `str(dtype)` of torch.
pub fn torch_name(dtype: &DType) -> Cow<'static, str> {
    format!("torch.{dtype}").into()
}

/// Types whose scales are stored nowhere.
const QUANTIZED: [&str; 5] =
    ["torch.qint8", "torch.quint8", "torch.qint32", "torch.quint4x2", "torch.quint2x4"];

/// Reads `str(dtype)` of torch; its aliases, which nobody writes, are refused.
///
/// # Errors
/// `unknown_dtype`, `unsupported_dtype`.
pub fn from_torch(text: &str, place: &Place) -> Result<DType> {
    if QUANTIZED.contains(&text) {
        let message = format!(
            "expected a dtype whose values are stored in full, found {text:?} without its scale"
        );
        return Err(Error::new(
            Kind::Unsupported,
            codes::UNSUPPORTED_DTYPE,
            place.clone(),
            message,
        ));
    }
    let found = text.strip_prefix("torch.").and_then(DType::from_name);
    found.filter(|dtype| support(dtype) != Support::Foreign).ok_or_else(|| {
        let message = format!("expected a dtype such as \"torch.float32\", found {text:?}");
        Error::new(Kind::Invalid, codes::UNKNOWN_DTYPE, place.clone(), message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_has_one_name() {
        let names = "bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 bfloat16 float32 float64 complex32 \
                     complex64 complex128 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu \
                     float4_e2m1fn_x2 bits8 bits1x8 bits2x4 bits4x2 bits16 bcomplex32";
        for (at, name) in names.split(' ').enumerate() {
            let text = format!("torch.{name}");
            let dtype = from_torch(&text, &Place::default()).unwrap();
            assert_eq!(torch_name(&dtype), text);
            let support = if at < 16 { Support::Full } else { Support::WriteOnly };
            assert_eq!(super::support(&dtype), support, "{name}");
        }
    }

    #[test]
    fn aliases_and_foreign_types_are_refused_by_name() {
        for text in [
            "torch.float",
            "torch.half",
            "torch.long",
            "torch.cfloat",
            "float32",
            "torch.str",
            "torch.<U5",
            "",
            "torch.",
        ] {
            let error = from_torch(text, &Place::default()).unwrap_err();
            assert_eq!(error.code(), codes::UNKNOWN_DTYPE);
            assert!(error.message().contains(&format!("{text:?}")));
        }
        let error = from_torch("torch.qint8", &Place::default()).unwrap_err();
        assert_eq!(error.code(), codes::UNSUPPORTED_DTYPE);
    }
}
