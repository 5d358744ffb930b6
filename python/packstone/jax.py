"""Batches for JAX: dicts of arrays, which are pytrees, on a device or shared out among several.

    import packstone.jax

    loader = packstone.Loader(train, 256, shuffle=True, drop_last=True)
    for batch in packstone.jax.batches(loader): step(params, batch)
    for batch in packstone.jax.batches(loader, sharding=sharding): ...

On the processor JAX looks at the memory that a batch was made in; nothing is copied. Text, bytes and what JAX has no type for
(dates, fixed text, void, extended floats) stay what they are in a batch.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

try:
    import jax
except ImportError as _error:
    raise ImportError("packstone.jax needs JAX; install it with: pip install jax") from _error

__all__ = ["arrays", "batches"]

#: What JAX has instead of 64-bit values where they are not enabled.
_NARROW = {
    np.dtype("int64"): np.dtype("int32"),
    np.dtype("uint64"): np.dtype("uint32"),
    np.dtype("float64"): np.dtype("float32"),
    np.dtype("complex128"): np.dtype("complex64"),
}


def batches(
    loader: Iterable[dict[str, Any]],
    device: "jax.Device | None" = None,
    sharding: "jax.sharding.Sharding | None" = None,
    *,
    wide: Literal["raise", "convert"] = "raise",
) -> Iterator[dict[str, Any]]:
    """The batches of a loader, or of `Collection.batches`, as `arrays` makes them."""
    _checked(device, sharding, wide)
    return (arrays(batch, device, sharding, wide=wide) for batch in loader)


def arrays(
    values: dict[str, Any],
    device: "jax.Device | None" = None,
    sharding: "jax.sharding.Sharding | None" = None,
    *,
    wide: Literal["raise", "convert"] = "raise",
) -> dict[str, Any]:
    """The same dicts and lists, with arrays of JAX for those of NumPy.

    They go to `device`, or to where JAX puts arrays by default. With a `sharding` each batch is one array over all its
    devices; where several processes make it up, each gives the rows of its own loader. The number of rows must be one that
    the sharding can share out: have the loader drop, fill up or repeat the rest.

    JAX makes 32-bit values of 64-bit ones unless `jax_enable_x64` is set, whatever they are. Here that raises
    `TypeError`; with `wide="convert"` values are converted, and whole numbers that do not fit raise `OverflowError`.
    """
    _checked(device, sharding, wide)
    made: dict[str, Any] = _make(values, "", device, sharding, wide == "convert")
    return made


def _checked(device: Any, sharding: Any, wide: str) -> None:
    if device is not None and sharding is not None:
        raise ValueError("expected a device or a sharding, found both")
    if wide not in ("raise", "convert"):
        raise ValueError(f"expected wide to be raise or convert, found {wide!r}")


def _make(value: Any, name: str, device: Any, sharding: Any, convert: bool) -> Any:
    if isinstance(value, dict):
        return {
            key: _make(inner, f"{name}.{key}" if name else key, device, sharding, convert)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        # Rows of any shape are each an array of their own, which nothing can share out.
        return [_make(row, name, device, None, convert) if isinstance(row, np.ndarray) else row for row in value]
    if not isinstance(value, np.ndarray) or not _known(value.dtype):
        return value
    config: Any = jax.config
    if value.dtype in _NARROW and not config.jax_enable_x64:
        value = _narrowed(value, name, convert)
    if sharding is not None and jax.process_count() > 1:
        # It has no types of its own.
        whole: Any = jax.make_array_from_process_local_data
        return whole(sharding, value)
    return jax.device_put(value, device if sharding is None else sharding)


def _known(dtype: np.dtype[Any]) -> bool:
    # The types of `ml_dtypes` have the kind of void and a name of their own.
    if dtype.kind == "V":
        return dtype.fields is None and not dtype.name.startswith("void")
    return dtype.kind in "biufc" and dtype.itemsize <= (16 if dtype.kind == "c" else 8)


def _narrowed(value: NDArray[Any], name: str, convert: bool) -> NDArray[Any]:
    if not convert:
        raise TypeError(
            f"field {name!r}: expected values that JAX holds, found {value.dtype}, of which it would make"
            f' {_NARROW[value.dtype]}; set jax_enable_x64, or say wide="convert"'
        )
    narrow: Any = _NARROW[value.dtype]
    if narrow.kind in "iu" and value.size:
        least, most = np.iinfo(narrow).min, np.iinfo(narrow).max
        if value.min() < least or value.max() > most:
            raise OverflowError(f"field {name!r}: expected whole numbers that {narrow} holds, found others")
    return value.astype(narrow)
