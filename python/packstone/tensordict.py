"""Saved tensordicts as `tensordict.TensorDict`s, and the way back.

    import packstone.tensordict

    td = packstone.tensordict.load("tree.tdz")
    packstone.tensordict.save(td, "copy")

Tensors look at maps of the files. The maps are private: what is written to a tensor stays in the process, and no file
changes. No pickle is executed, neither here nor there.
"""

import collections
import mmap
import os
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from packstone._errors import UnsupportedError, make
from packstone._native import _load_tree, _save_tree
from packstone._reports import SaveReport

try:
    import tensordict
    import torch
except ImportError as _error:
    raise ImportError(
        "packstone.tensordict needs tensordict; install it with: pip install tensordict"
    ) from _error

__all__ = ["load", "save"]

#: Classes that are values, as trees of other containers have them.
_CONTAINERS: dict[str, type] = {
    "dict": dict,
    "list": list,
    "tuple": tuple,
    "OrderedDict": collections.OrderedDict,
}
#: What an entry is that is left out.
_NONE = object()


def load(
    path: str | os.PathLike[str],
    *,
    pickles: Literal["raise", "skip"] = "raise",
    robust_key: bool = True,
) -> Any:
    """The tree in a folder or archive, locked as `TensorDict.load_memmap` has it.

    | saved | here |
    | --- | --- |
    | tensordicts, lazy stacks | the same |
    | values and stacks of values | `NonTensorData`, `NonTensorStack` |
    | nested tensors | nested tensors of the strided layout |
    | sub-tensordicts, lazy views | a `TensorDict` of what they show; what an index of positions or a mask picks is copied |
    | tensorclasses | a `TensorDict` of their fields, those that are no tensors as `NonTensorData`; no class is imported |
    | tensors of compressed entries | ordinary memory |

    A value that only a pickle has raises `UnsupportedError`; with `pickles="skip"` its key is left out. Devices other than
    the processor are forgotten. `robust_key=False` reads file names as keys, as releases before 0.15 wrote them.
    """
    if pickles not in ("raise", "skip"):
        raise ValueError(f"expected pickles to be raise or skip, found {pickles!r}")
    made = _Builder(os.fspath(path), pickles == "raise").build(_load_tree(path, robust_key), ())
    if made is _NONE:
        raise _pickled((), None)
    return made.lock_() if tensordict.is_tensor_collection(made) else made


def save(
    td: Any,
    path: str | os.PathLike[str],
    *,
    compression: str = "stored",
    replace: bool = False,
    progress: Callable[[int, int, str], object] | None = None,
    threads: int | None = None,
) -> SaveReport:
    """Saves a tensordict: as an archive where the path ends in `.tdz`, else as a folder.

    Nothing is visible before all of it is written; a save that is there already is an error, or is replaced as a whole. A
    value that JSON does not hold raises `TypeError`, for no pickle is written. Views are saved as what they show.
    """
    archive = os.fspath(path).endswith(".tdz")
    return _save_tree(_described(td, ()), path, archive, compression, replace, progress, threads)


class _Builder:
    """Makes objects of the nodes of one tree."""

    def __init__(self, path: str, strict: bool) -> None:
        self._path = path
        self._strict = strict
        self._archive: NDArray[Any] | None = None

    def build(self, node: Any, keys: tuple[str, ...]) -> Any:
        kind, *parts = node
        return getattr(self, f"_{kind}")(*parts, keys=keys)

    def _leaf(self, dtype: str, shape: list[int], place: Any, keys: tuple[str, ...]) -> Any:
        return self._tensor(dtype, shape, place)

    def _nested(
        self, dtype: str, extent: tuple[int, int], sizes: Any, place: Any, keys: tuple[str, ...]
    ) -> Any:
        shapes = self._tensor("int64", list(extent), sizes).clone()
        counts = shapes.prod(-1)
        flat = self._tensor(dtype, [int(counts.sum())], place)
        strides = torch.ones_like(shapes)
        for dim in range(extent[1] - 2, -1, -1):
            strides[:, dim] = strides[:, dim + 1] * shapes[:, dim + 1]
        offsets = counts.cumsum(0) - counts
        view: Any = torch._nested_view_from_buffer
        return view(flat, shapes, strides, offsets)

    def _tensordict(
        self,
        batch_size: list[int],
        names: list[str | None] | None,
        device: str | None,
        entries: list[tuple[str, Any]],
        keys: tuple[str, ...],
    ) -> Any:
        # Other devices may not be there; a label alone moves nothing.
        place = torch.device(device) if device is not None and device.startswith("cpu") else None
        made = tensordict.TensorDict({}, batch_size=batch_size, device=place)
        if names is not None:
            made.names = names
        for key, inner in entries:
            value = self.build(inner, (*keys, key))
            if value is not _NONE:
                # Tensors are on the processor and of this batch size: there is nothing to check or to move.
                made._set_str(key, value, validated=True, inplace=False, non_blocking=False)
        return made

    def _value(self, name: str, batch_size: list[int], value: Any, keys: tuple[str, ...]) -> Any:
        made = tensordict.MetaData if name.startswith("MetaData") else tensordict.NonTensorData
        return made(value, batch_size=batch_size)

    def _container(self, name: str, batch_size: list[int], container: str, keys: tuple[str, ...]) -> Any:
        return self._value(name, batch_size, _CONTAINERS[container], keys)

    def _stack(
        self, batch_size: list[int], dim: int, device: str | None, values: list[Any], keys: tuple[str, ...]
    ) -> Any:
        def stacked(values: Any, rank: int) -> Any:
            if rank == 0:
                return tensordict.NonTensorData(values, batch_size=[])
            return tensordict.NonTensorStack(*(stacked(value, rank - 1) for value in values), stack_dim=0)

        return stacked(values, len(batch_size))

    def _lazy(
        self, batch_size: list[int], dim: int, name: str | None, members: list[Any], keys: tuple[str, ...]
    ) -> Any:
        made = [self.build(member, (*keys, str(at))) for at, member in enumerate(members)]
        if any(member is _NONE for member in made):
            return _NONE
        if all(isinstance(m, tensordict.NonTensorData | tensordict.NonTensorStack) for m in made):
            return tensordict.NonTensorStack(*made, stack_dim=dim)
        return tensordict.LazyStackedTensorDict(*made, stack_dim=dim, stack_dim_name=name)

    def _sub(self, index: Any, source: Any, keys: tuple[str, ...]) -> Any:
        made = self.build(source, keys)
        return made if made is _NONE else made[_index(index)]

    def _view(self, operation: str, arguments: list[int], source: Any, keys: tuple[str, ...]) -> Any:
        made = self.build(source, keys)
        if made is _NONE:
            return made
        if operation == "view":
            # Stacks of tensordicts have no views of another size.
            lazy = isinstance(made, tensordict.LazyStackedTensorDict)
            return made.reshape(arguments) if lazy else made.view(arguments)
        whole = (arguments,) if operation == "permute" else arguments
        with tensordict.set_lazy_legacy(False):
            return getattr(made, operation)(*whole)

    def _class(
        self, name: str, fields: list[tuple[str, Any]], source: Any, keys: tuple[str, ...]
    ) -> Any:
        made = self.build(source, keys)
        for field, value in fields:
            if value is None and made is not _NONE:
                # The fields of a class that are not set.
                continue
            made[field] = tensordict.NonTensorData(value, batch_size=made.batch_size)
        return made

    def _pickled(self, file: str | None, keys: tuple[str, ...]) -> Any:
        if self._strict:
            raise _pickled(keys, file)
        return _NONE

    def _tensor(self, name: str, shape: list[int], place: Any) -> torch.Tensor:
        dtype: torch.dtype = getattr(torch, name)
        if isinstance(place, tuple):
            raw = self._mapped(*place)
        else:
            raw = np.array(np.frombuffer(place, np.uint8))
        if raw.size == 0:
            return torch.empty(shape, dtype=dtype)
        if raw.ctypes.data % min(dtype.itemsize, 16):
            # Archives of other programs align nothing.
            raw = raw.copy()
        return torch.from_numpy(raw).view(dtype).view(shape)

    def _mapped(self, file: str | None, offset: int, length: int) -> NDArray[Any]:
        if file is not None:
            return _map(os.path.join(self._path, file), length)
        if self._archive is None:
            self._archive = _map(self._path, None)
        return self._archive[offset : offset + length]


def _map(path: str, length: int | None) -> NDArray[Any]:
    """A private map of the first bytes of a file, or of all of them."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size if length is None else length
        if size == 0:
            return np.empty(0, np.uint8)
        return np.frombuffer(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY), np.uint8)


def _index(found: Any) -> Any:
    kind, *parts = found
    match kind:
        case "at":
            return parts[0]
        case "new":
            return None
        case "ellipsis":
            return ...
        case "slice":
            return slice(*parts)
        case "range":
            return torch.tensor(range(*parts), dtype=torch.int64)
        case "tuple":
            return tuple(_index(part) for part in parts[0])
    shape, values = parts
    return torch.tensor(values, dtype=torch.bool if kind == "mask" else torch.int64).reshape(shape)


def _pickled(keys: tuple[str, ...], file: str | None) -> Exception:
    message = "expected a value that JSON holds, found one in a pickle, which is not executed"
    place = (file, None, None, ".".join(keys) or None, None)
    raised: Exception = make("unsupported", "tensordict/needs_pickle", place, message)
    assert isinstance(raised, UnsupportedError)
    return raised


def _described(value: Any, keys: tuple[str, ...]) -> tuple[Any, ...]:
    """The node that a value is."""
    if isinstance(value, torch.Tensor):
        return _of_tensor(value)
    if isinstance(value, tensordict.NonTensorStack):
        # Of several dimensions, in the order of indices.
        device = None if value.device is None else "cpu"
        return ("stack", list(value.batch_size), value.stack_dim, device, _json(value.tolist(), keys))
    if isinstance(value, tensordict.NonTensorData | tensordict.MetaData):
        name, batch_size = type(value).__name__, list(value.batch_size)
        for container, cls in _CONTAINERS.items():
            if value.data is cls:
                return ("container", name, batch_size, container)
        return ("value", name, batch_size, _json(value.data, keys))
    if isinstance(value, tensordict.LazyStackedTensorDict):
        members = [_described(m, (*keys, str(at))) for at, m in enumerate(value.tensordicts)]
        return ("lazy", list(value.batch_size), value.stack_dim, value._td_dim_name, members)
    if tensordict.is_tensorclass(value):
        fields = {name: _json(inner, (*keys, name)) for name, inner in value._non_tensordict.items()}
        cls = type(value)
        return ("class", f"{cls.__module__}:{cls.__qualname__}", fields, _described(value._tensordict, keys))
    if not isinstance(value, tensordict.TensorDict):
        if not tensordict.is_tensor_collection(value):
            raise TypeError(f"field {'.'.join(keys)!r}: expected a tensordict, found {type(value)}")
        return _described(value.to_tensordict(retain_none=True), keys)
    names: list[str | None] | None = list(value.names)
    if not any(names or []):
        names = None
    entries = [(key, _described(inner, (*keys, key))) for key, inner in value._tensordict.items()]
    # What is saved lies on no other device, whatever it lay on.
    return ("tensordict", list(value.batch_size), names, "cpu", entries)


def _of_tensor(value: torch.Tensor) -> tuple[Any, ...]:
    tensor = torch.Tensor.as_subclass(value.detach(), torch.Tensor)
    dtype = str(tensor.dtype).removeprefix("torch.")
    if tensor.is_nested:
        parts = [part.contiguous() for part in tensor.unbind(0)]
        sizes = np.array([part.shape for part in parts], np.int64)
        whole = np.concatenate([_bytes(part) for part in parts])
        return ("nested", dtype, sizes.shape, sizes.reshape(-1).view(np.uint8), whole)
    return ("leaf", dtype, list(tensor.shape), _bytes(tensor))


def _bytes(tensor: torch.Tensor) -> NDArray[Any]:
    """The elements in C order; without a copy where they lie so."""
    plain = (tensor.resolve_conj() if tensor.is_complex() else tensor).resolve_neg().cpu().contiguous()
    if plain.numel() == 0:
        return np.empty(0, np.uint8)
    array: NDArray[Any] = plain.reshape(-1).view(torch.uint8).numpy()
    return array


def _json(value: Any, keys: tuple[str, ...]) -> Any:
    """The value, if JSON gives it back as it is."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is list:
        return [_json(inner, keys) for inner in value]
    if type(value) is dict and all(type(name) is str for name in value):
        return {name: _json(inner, keys) for name, inner in value.items()}
    raise TypeError(f"field {'.'.join(keys)!r}: expected a value that JSON holds, found {type(value)}")
