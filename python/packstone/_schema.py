"""What each sample holds."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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
    dtype: np.dtype[Any] | None
    """The type of its arrays; `None` for text, JSON, and bytes of any length, which are no arrays."""
    shape: tuple[int | None, ...]
    """The shape of one value, without the sample dimension; `None` for dimensions that vary."""
    metadata: dict[str, Any] = dataclasses.field(default_factory=dict)
    """What the dataset says about the field."""


def field(
    key: str | tuple[str, ...],
    dtype: DTypeLike | str,
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
    array: np.dtype[Any] | None = None
    if name not in ("str", "bytes", "json"):
        array = np.dtype(name)
        # Dates and fixed text have their unit and length in the spelling; the rest has one name in any byte order.
        native = array.newbyteorder("=")
        name = native.str if native.kind in "USMm" or native.name.startswith("void") else native.name
    elif name == "bytes" and shape:
        array = np.dtype("uint8")
    return Field(".".join(parts), parts, str(name), array, tuple(shape), metadata or {})
