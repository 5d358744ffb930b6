//! Types of elements by their names in torch.

use std::borrow::Cow;

use crate::model::DType;

/// The dtypes that the library writes and loads.
const LOADABLE: [(&str, DType); 15] = [
    ("torch.bool", DType::Bool),
    ("torch.uint8", DType::UInt8),
    ("torch.int8", DType::Int8),
    ("torch.uint16", DType::UInt16),
    ("torch.int16", DType::Int16),
    ("torch.uint32", DType::UInt32),
    ("torch.int32", DType::Int32),
    ("torch.uint64", DType::UInt64),
    ("torch.int64", DType::Int64),
    ("torch.float16", DType::Float16),
    ("torch.bfloat16", DType::BFloat16),
    ("torch.float32", DType::Float32),
    ("torch.float64", DType::Float64),
    ("torch.complex64", DType::Complex64),
    ("torch.complex128", DType::Complex128),
];

/// `str(dtype)` of torch; for a type that torch has not, its name here behind `torch.`.
pub fn torch_name(dtype: &DType) -> Cow<'static, str> {
    let known = LOADABLE.iter().find(|(_, known)| known == dtype);
    known.map_or_else(|| format!("torch.{dtype}").into(), |(name, _)| Cow::Borrowed(*name))
}
