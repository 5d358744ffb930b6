"""One form for values, whoever read them: dtype, shape, size and SHA-256 of the bytes.

The bytes are little-endian in C order for arrays, UTF-8 for text, eight bytes for a Python int
(sixteen where it needs more: npz can return such).
"""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Value:
    """What has to be equal for two values to be equal."""

    dtype: str
    shape: Shape
    nbytes: int
    sha256: str


def dtype_name(dtype: str) -> str:
    """One name for all spellings of a dtype: `half` and `<f2` are `float16`, `int` is `int64`."""
    if dtype in ("str", "bytes"):
        return dtype
    if dtype == "int":
        return "int64"
    native = np.dtype(dtype).newbyteorder("=")
    return native.str if native.kind in "USVMm" else native.name


def returned(value: Any) -> Value:
    """A value exactly as a library returned it."""
    if isinstance(value, str):
        return _value("str", (), value.encode("utf-8", "surrogatepass"))
    if isinstance(value, (bytes, bytearray)):
        return _value("bytes", (len(value),), bytes(value))
    if isinstance(value, int) and not isinstance(value, np.generic):
        size = 8 if -(2**63) <= value < 2**63 else 16
        return _value("int64", (), value.to_bytes(size, "little", signed=True))
    array = np.asarray(value)
    return _value(dtype_name(array.dtype.str), array.shape, _array_bytes(array))


def declared(value: Any, dtype: str, shape: Shape) -> Value:
    """A value in the dtype and shape that the schema declares.

    Differs from `returned` where the library does not honour its own schema: TFRecord integers
    come back as int64 and text as bytes, and variable bytes have no shape of their own.
    """
    if dtype == "str":
        text = value.decode("utf-8") if isinstance(value, bytes) else value
        if not isinstance(text, str):
            raise TypeError(f"expected text, found {type(value)}")
        return returned(text)
    if dtype == "bytes":
        data = bytes(value)
        if shape and len(data) != int(np.prod(shape)):
            raise ValueError(f"expected {shape} bytes, found {len(data)}")
        return _value("bytes", shape, data)
    array = np.asarray(value)
    cast = array.astype(np.dtype("int64" if dtype == "int" else dtype))
    if cast.dtype.kind in "biufc" and not np.array_equal(cast, array, equal_nan=True):
        raise ValueError(f"values of {array.dtype} do not fit {dtype}")
    return _value(dtype_name(dtype), shape, _array_bytes(cast.reshape(shape)))


def _array_bytes(array: np.ndarray) -> bytes:
    if array.dtype.kind == "O":
        raise TypeError("objects have no canonical bytes")
    return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes(order="C")


def _value(dtype: str, shape: Shape, data: bytes) -> Value:
    return Value(dtype, tuple(shape), len(data), hashlib.sha256(data).hexdigest())
