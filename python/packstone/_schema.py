"""What each sample holds."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike


@dataclass(frozen=True, slots=True)
class Field:
    """One field of every sample."""

    name: str
    """Its printed name: `a.b` for a nested key."""
    key: tuple[str, ...]
    """Its key, outermost name first; one name long in formats without nesting."""
    type: str
    """The type of its elements as packstone calls it: `float32`, `bfloat16`, `str`, `bytes`, `json`, …"""
    dtype: "np.dtype[Any] | None"
    """The type of its arrays; `None` for text, JSON, and bytes of any length, which are no arrays."""
    shape: tuple[int | None, ...]
    """The shape of one value, without the sample dimension; `None` for dimensions that vary."""
    metadata: dict[str, Any] = dataclasses.field(default_factory=dict)
    """What the dataset says about the field."""


def field(
    key: str | tuple[str, ...],
    dtype: "DTypeLike | str",
    shape: Sequence[int | None] = (),
    metadata: dict[str, Any] | None = None,
) -> Field:
    """A field for `packstone.create`.

    The dtype is any that NumPy knows, those of `ml_dtypes` included, or `str`, `bytes` or "json". A shape of `None`s is one
    that differs from sample to sample; `bytes` with a shape are that many bytes each.
    """
    parts = (key,) if isinstance(key, str) else tuple(key)
    name: Any = dtype
    if dtype is str or dtype is bytes:
        name = dtype.__name__
    import numpy as np

    array: np.dtype[Any] | None = None
    if name not in ("str", "bytes", "json"):
        array = np.dtype(name)
        # Dates and fixed text have their unit and length in the spelling; the rest has one name in any byte order.
        native = array.newbyteorder("=")
        name = native.str if native.kind in "USMm" or native.name.startswith("void") else native.name
    elif name == "bytes" and shape:
        array = np.dtype("uint8")
    return Field(".".join(parts), parts, str(name), array, tuple(shape), metadata or {})


def infer(values: Mapping[str, Any], many: bool) -> list[Field]:
    """The fields of a sample, or of a batch where there are `many`, for `packstone.create` without a schema."""
    return list(_infer((), values, many))


def _infer(way: tuple[str, ...], values: Mapping[str, Any], many: bool) -> Iterator[Field]:
    for name, value in values.items():
        key = (*way, name)
        if isinstance(value, Mapping):
            yield from _infer(key, value, many)
        else:
            yield _inferred(key, value, many)


def _inferred(key: tuple[str, ...], value: Any, many: bool) -> Field:
    import numpy as np

    rows = list(value) if many and isinstance(value, list | tuple) else [value]
    for kind in (str, bytes):
        # NumPy's own scalars of text are of a fixed length elsewhere, and of any here.
        if rows and all(isinstance(row, kind) for row in rows):
            return field(key, kind)
    whole = many and not isinstance(value, list | tuple)
    arrays = [np.asarray(row) for row in rows]
    if arrays and all(array.dtype.kind not in "O" for array in arrays):
        dtype = np.result_type(*arrays) if len(arrays) > 1 else arrays[0].dtype
        shapes = {array.shape[1:] if whole else array.shape for array in arrays}
        if len(shapes) == 1 and not (whole and arrays[0].ndim == 0):
            return field(key, dtype, shapes.pop())
        ranks = {len(shape) for shape in shapes}
        if len(ranks) == 1 and ranks != {0}:
            return field(key, dtype, (None,) * ranks.pop())
    found = type(rows[0]).__name__ if rows else "nothing"
    raise TypeError(f"field {'.'.join(key)!r}: expected values that say their type, found {found}: name the schema")
