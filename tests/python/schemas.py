"""Schemas with every dtype that a shard type can carry, and examples to fill them."""

from typing import Any, NamedTuple

import numpy as np

Example = dict[str, Any]

#: Every pair of shard type and compression that exists.
KINDS: list[tuple[str, str]] = [
    *(("fb", name) for name in ("", "GZIP", "ZLIB", "BZ2", "LZMA", "LZ4", "ZSTD")),
    *(("npz", name) for name in ("", "ZIP")),
    *(("tfrec", name) for name in ("", "GZIP", "ZLIB")),
]

SHARD_TYPES = ("fb", "npz", "tfrec")

_NUMERIC = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "float128", "complex64", "complex128",
]  # fmt: skip
_TIMES_AND_TEXTS = ["datetime64[D]", "datetime64[ns]", "timedelta64[ms]", "U5", "S7", "V6"]
_ALIASES = [
    "half", "double", "f4", "<f4", ">f4", ">i2", "?", "b", "int_", "bool_", "float",
]  # fmt: skip
_TFREC_NUMERIC = ["int8", "uint8", "int32", "int64", "float16", "float32"]

_SPECIAL = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1.0, 6e-8, 65504.0]
_LETTERS = list('ab zäßλ中🦀\u200d\n"\\')


class Column(NamedTuple):
    """One attribute of a schema."""

    name: str
    dtype: str
    shape: tuple[int, ...]


def full_schema(shard_type: str) -> list[Column]:
    """Every dtype that `shard_type` can carry, as a scalar and as an array."""
    if shard_type == "tfrec":
        numeric, texts = _TFREC_NUMERIC, ["str", "bytes"]
    else:
        numeric, texts = _NUMERIC + _TIMES_AND_TEXTS + _ALIASES, ["str", "bytes"]
    columns = []
    for dtype in numeric:
        columns.append(Column(f"{dtype} scalar", dtype, ()))
        columns.append(Column(f"{dtype} array", dtype, (2, 3)))
    columns += [Column(dtype, dtype, ()) for dtype in texts]
    columns.append(Column("int", "int", ()))
    if shard_type != "tfrec":
        columns.append(Column("fixed bytes", "bytes", (5,)))
    return columns


def shared_schema() -> list[Column]:
    """A schema that all shard types can carry."""
    return [
        Column("x", "float32", (3,)),
        Column("half", "float16", (2, 2)),
        Column("label", "uint8", ()),
        Column("n", "int", ()),
        Column("text", "str", ()),
        Column("blob", "bytes", ()),
    ]


def make_examples(schema: list[Column], count: int, seed: int = 0) -> list[Example]:
    """`count` examples: first some with the special values of each dtype, then random ones."""
    rng = np.random.default_rng(seed)
    return [
        {column.name: _value(rng, column, index) for column in schema} for index in range(count)
    ]


def _value(rng: np.random.Generator, column: Column, index: int) -> Any:
    match column.dtype:
        case "str":
            return _text(rng, 4 * index)
        case "bytes" if column.shape == ():
            return rng.bytes(3 * index)
        case "bytes":
            return bytearray(rng.bytes(int(np.prod(column.shape))))
        case "int":
            extremes = [0, -1, 2**63 - 1, -(2**63)]
            value = extremes[index] if index < 4 else rng.integers(-1000, 1000)
            return np.int64(value)
    return _array(rng, np.dtype(column.dtype), column.shape, index)


def _array(rng: np.random.Generator, dtype: np.dtype, shape: tuple[int, ...], index: int) -> Any:
    count = int(np.prod(shape))
    match dtype.kind:
        case "b":
            flat = rng.integers(0, 2, count).astype(dtype)
        case "f" | "c":
            special = np.resize(np.roll(np.array(_SPECIAL), -index), count)
            values = special if index < len(_SPECIAL) else rng.standard_normal(count)
            flat = values.astype(dtype)
        case "U":
            flat = np.array([_text(rng, dtype.itemsize // 4) for _ in range(count)], dtype)
        case "S":
            flat = np.array([rng.bytes(int(rng.integers(0, 8))) for _ in range(count)], dtype)
        case _:
            flat = np.frombuffer(rng.bytes(count * dtype.itemsize), dtype)
    return flat.reshape(shape)


def _text(rng: np.random.Generator, longest: int) -> str:
    return "".join(rng.choice(_LETTERS, int(rng.integers(0, longest + 1))))
