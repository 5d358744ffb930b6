//! NumPy's types for those of packstone.
//!
//! | packstone | NumPy |
//! | --- | --- |
//! | what NumPy has | the same, little-endian |
//! | `bfloat16`, 8-bit floats | those of `ml_dtypes` where it is installed, else `uint16` and `uint8` |
//! | `complex32`, `bcomplex32`, bits, packed 4-bit floats | unsigned integers of the same size |
//! | `bytes` with a shape | `uint8` |
//! | text, JSON, `bytes` without a shape | none: `str`, parsed JSON, `bytes` |

use packstone::model::{DType, Field};
use pyo3::prelude::*;

/// The type of a field's elements; `None` for text, JSON and bytes, which are no arrays.
pub(crate) fn numpy<'py>(py: Python<'py>, field: &Field) -> PyResult<Option<Bound<'py, PyAny>>> {
    if field.is_variable() {
        return Ok(None);
    }
    let make = py.import("numpy")?.getattr("dtype")?;
    if let Some(name) = ml_dtypes(&field.dtype)
        && let Ok(module) = py.import("ml_dtypes")
        && let Ok(found) = module.getattr(name)
    {
        return make.call1((found,)).map(Some);
    }
    let dtype = make.call1((spelled(&field.dtype).as_ref(),));
    match dtype {
        // Extended floats exist on the machines that have them; elsewhere their bytes are handed out.
        Err(_) if field.dtype == DType::Float128 => make.call1(("|V16",)).map(Some),
        other => other.map(Some),
    }
}

/// The name in `ml_dtypes` of a type that NumPy lacks.
fn ml_dtypes(dtype: &DType) -> Option<&'static str> {
    Some(match dtype {
        DType::BFloat16 => "bfloat16",
        DType::Float8E4M3Fn => "float8_e4m3fn",
        DType::Float8E4M3Fnuz => "float8_e4m3fnuz",
        DType::Float8E5M2 => "float8_e5m2",
        DType::Float8E5M2Fnuz => "float8_e5m2fnuz",
        DType::Float8E8M0Fnu => "float8_e8m0fnu",
        _ => return None,
    })
}

fn spelled(dtype: &DType) -> std::borrow::Cow<'static, str> {
    let own = dtype.numpy_str();
    let raw = match own.as_ref() {
        // Void of 1, 2 and 4 bytes stands for what NumPy has no word for, unless it is void.
        _ if matches!(dtype, DType::Void(_)) => return own,
        "|V1" => "|u1",
        "<V2" | "|V2" => "<u2",
        "|V4" => "<u4",
        _ => return own,
    };
    raw.into()
}
