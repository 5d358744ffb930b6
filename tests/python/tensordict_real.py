"""The original library: trees saved and loaded with the real, pinned tensordict.

`describe` turns whatever the library loads into plain Python values that compare with `==`.
"""

import collections
import datetime
import hashlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tensordict import (
    LazyStackedTensorDict,
    MetaData,
    NonTensorData,
    NonTensorStack,
    TensorClass,
    TensorDict,
    is_tensorclass,
    lazy_stack,
    pack_memmap,
    refresh_archive_checksums,
    set_lazy_legacy,
    unpack_memmap,
)

__all__ = ["LOADABLE", "TREES", "describe", "load", "pack_memmap", "save"]
__all__ += ["refresh_archive_checksums", "unpack_memmap", "leaves", "bytes_of"]

LOADABLE = [
    *(torch.bool, torch.uint8, torch.int8, torch.uint16, torch.int16, torch.uint32, torch.int32),
    *(torch.uint64, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64),
    *(torch.complex32, torch.complex64, torch.complex128),
]


class Pose(TensorClass):
    """A tensorclass with all that one can have."""

    position: torch.Tensor
    label: str
    extra: Any = None


class Route(TensorClass):
    """Tensorclasses inside of one another."""

    start: Pose
    stop: Pose
    notes: dict


def _numbers(dtype: torch.dtype, *shape: int, first: int = 0) -> torch.Tensor:
    count = int(np.prod(shape)) if shape else 1
    values = torch.arange(first, first + count, dtype=torch.float64)
    if dtype.is_complex:
        # There is no direct way from real numbers to half complex ones.
        return torch.complex(values, -values / 3).to(torch.complex64).to(dtype).reshape(shape)
    if dtype is torch.bool:
        return (values % 2 == 1).reshape(shape)
    return values.to(dtype).reshape(shape)


def _plain() -> TensorDict:
    inner = TensorDict({"b": _numbers(torch.int16, 3), "c": TensorDict({}, [3])}, [3])
    return TensorDict({"a": _numbers(torch.float32, 3, 4), "inner": inner}, [3])


def _dtypes() -> TensorDict:
    tensors = {}
    for dtype in LOADABLE:
        name = str(dtype)
        tensors[name] = _numbers(dtype, 2, 3)
        tensors[f"{name} scalar"] = _numbers(dtype, first=1)
        tensors[f"{name} empty"] = _numbers(dtype, 2, 0, 3)
    return TensorDict(tensors, [])


def _specials() -> TensorDict:
    floats = [float("nan"), float("inf"), -float("inf"), -0.0, 5e-324, 1.7976931348623157e308]
    integers = [0, 1, 2**63, 2**64 - 1]
    return TensorDict(
        {
            "floats": torch.tensor(floats, dtype=torch.float64),
            "integers": torch.tensor(integers, dtype=torch.uint64),
            "transposed": _numbers(torch.int32, 3, 4).t(),
            "expanded": _numbers(torch.int8, 1, 2).expand(3, 2),
            "conjugate": _numbers(torch.complex64, 3).conj(),
        },
        [],
    )


def _keys() -> TensorDict:
    special = '/<>:"|?*\\ %' + "".join(map(chr, range(32))) + chr(127)
    keys = ["", ".", "..", "...", ".hidden", "a.b", "a.memmap", "é", "e\u0301", "日本", "🎉", "CON"]
    keys += [f"x{c}y" for c in special] + list(special) + ["%2F", "%%", "type", "data", "0"]
    tree = TensorDict({key: torch.tensor([i]) for i, key in enumerate(dict.fromkeys(keys))}, [1])
    for key in ("a/b", " ", "..", "c:d", "\n"):
        tree[f"deep {key}", key] = torch.tensor([7])
    return tree


def _names() -> TensorDict:
    inner = TensorDict({"b": _numbers(torch.int8, 2, 3, 1)}, [2, 3, 1], names=["t", None, "z"])
    return TensorDict({"a": _numbers(torch.int8, 2, 3), "n": inner}, [2, 3], names=["t", None])


def _nested() -> TensorDict:
    def make(dtype: torch.dtype, *shapes: tuple[int, ...]) -> torch.Tensor:
        return torch.nested.nested_tensor([_numbers(dtype, *shape) for shape in shapes])

    return TensorDict(
        {
            "flat": make(torch.int64, (3,), (1,)),
            "square": make(torch.float32, (2, 3), (1, 4)),
            "half": make(torch.bfloat16, (1, 2, 2), (2, 1, 3)),
            "partly empty": make(torch.uint8, (0, 3), (2, 2)),
            "od/d.key": make(torch.uint8, (2, 1), (1, 1)),
        },
        [2],
    )


VALUES: dict[str, Any] = {
    "text": "héllo \"\\/\u2028\x7f\x00🎉",
    "empty": "",
    "surrogate": "\ud800",
    "integer": -7,
    "large": 2**70,
    "truth": True,
    "nothing": None,
    "floats": [1.5, 1e-7, 1e16, 5e-324, -0.0, 0.1, 1e22, 123456789.123],
    "odd floats": [float("nan"), float("inf"), -float("inf")],
    "lists": [1, [2.5, "x", None], [], [[]]],
    "mapping": {"b": 1, "a": {"c": [True, {}]}, "": None},
}


def _values() -> TensorDict:
    tree = TensorDict({"x": _numbers(torch.int8, 3, 2)}, [3, 2])
    for key, value in VALUES.items():
        tree.set_non_tensor(key, value)
    tree["meta"] = MetaData({"lr": 0.1}, batch_size=[3, 2])
    tree["data"] = NonTensorData(5, batch_size=[3, 2])
    return tree


def _classes() -> TensorDict:
    ordered = collections.OrderedDict(c=torch.zeros(2))
    return TensorDict.from_pytree(
        {"list": [torch.zeros(1), (torch.ones(1),)], "ordered": ordered, "tuple": (torch.ones(2),)}
    )


def _pickles() -> TensorDict:
    tree = TensorDict({}, [2])
    for key, value in {
        "bytes": b"\x00\xff",
        "keys": {1: 2, 3: [4]},
        "set": {1, 2},
        "array": np.arange(6).reshape(2, 3),
        "date": datetime.date(2020, 1, 2),
    }.items():
        tree.set_non_tensor(key, value)
    tree["mixed"] = NonTensorStack(b"1", {2})
    return tree


def _stacks() -> TensorDict:
    words = NonTensorStack
    return TensorDict(
        {
            "flat": words("a", "b"),
            "deep": words(words("a", "b", "c"), words("d", None, 1.5)),
            "ragged": words([1, 2], [3]),
            "lists": words([1, 2], [3, 4]),
            "mappings": words({"k": [1]}, {"k": []}),
            "names": words("pickle.pkl", "pickle.pkl"),
            "other dim": torch.stack([words("p", "q"), words("r", "s")], 1),
        },
        [2],
    )


def _lazy() -> TensorDict:
    members = [
        TensorDict({"v": _numbers(torch.float32, 3, i + 1), "n": str(i)}, [3]) for i in range(12)
    ]
    other = [
        TensorDict({"a": torch.ones(2), "only here": torch.zeros(1)}, []),
        TensorDict({"a": torch.zeros(2)}, []),
    ]
    named = lazy_stack([TensorDict({"x": torch.ones(2)}, [2], names=["i"]) for _ in range(3)], 1)
    named.names = ["i", "j"]
    return TensorDict({"many": lazy_stack(members), "mixed": lazy_stack(other), "named": named}, [])


def _sub() -> TensorDict:
    inner = TensorDict({"b": _numbers(torch.int8, 4, 3)}, [4, 3])
    base = TensorDict({"a": _numbers(torch.int32, 4, 3, 2), "n": inner}, [4, 3])
    tree = TensorDict({}, [])
    for name, index in {
        "integer": 1,
        "negative": -1,
        "none": None,
        "slice": slice(1, 3),
        "step": slice(None, None, 2),
        "several": (slice(0, 2), 1),
        "positions": torch.tensor([2, 0, 2]),
        "mask": torch.tensor([True, False, True, True]),
        "range": range(0, 4, 2),
        "ellipsis": (..., 1),
    }.items():
        tree[name] = base._get_sub_tensordict(index)
    return tree


def _views() -> TensorDict:
    def base() -> TensorDict:
        return TensorDict({"a": _numbers(torch.int32, 4, 1, 3, 2)}, [4, 1, 3])

    tree = TensorDict({}, [])
    with set_lazy_legacy(True):
        tree["permute"] = base().permute(2, 0, 1)
        tree["transpose"] = base().transpose(0, 2)
        tree["view"] = base().view(2, 6)
        tree["unsqueeze"] = base().unsqueeze(1)
        tree["squeeze"] = base().squeeze(1)
        tree["chain"] = base().squeeze(1).permute(1, 0)
        members = [TensorDict({"a": torch.ones(2)}, [2]) for _ in range(3)]
        tree["stack"] = lazy_stack(members).permute(1, 0)
    return tree


def _tensorclasses() -> TensorDict:
    def pose(first: int) -> Pose:
        return Pose(_numbers(torch.float32, 2, 3, first=first), label="é", batch_size=[2])

    route = Route(start=pose(0), stop=pose(9), notes={"k": [1, None]}, batch_size=[2])
    stacked = lazy_stack([pose(0), pose(5)])
    return TensorDict({"pose": pose(1), "route": route, "stacked": stacked}, [2])


def _empty() -> TensorDict:
    return TensorDict({"a": torch.zeros(0, 3), "w": TensorDict({"b": torch.zeros(0)}, [0])}, [0])


#: Every construct of the library, by name.
TREES: dict[str, Callable[[], Any]] = {
    "plain": _plain,
    "dtypes": _dtypes,
    "specials": _specials,
    "keys": _keys,
    "names": _names,
    "nested": _nested,
    "values": _values,
    "classes": _classes,
    "pickles": _pickles,
    "stacks": _stacks,
    "lazy": _lazy,
    "sub": _sub,
    "views": _views,
    "tensorclasses": _tensorclasses,
    "empty": _empty,
}


def save(tree: Any, path: Path, **options: Any) -> None:
    """Saves with the library, without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree.save(path, **options)


def load(path: Path, mode: str | None = "r", **options: Any) -> Any:
    """Loads with the library; pickles too, which are our own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return TensorDict.load_memmap(path, mode=mode, allow_pickle=True, **options)


def bytes_of(tensor: torch.Tensor) -> bytes:
    """The elements of a tensor, little-endian, in C order."""
    plain = torch.Tensor.as_subclass(tensor.detach(), torch.Tensor)
    if plain.is_complex():
        plain = plain.resolve_conj()
    plain = plain.resolve_neg().contiguous()
    return plain.reshape(-1).view(torch.uint8).numpy().tobytes() if plain.numel() else b""


def _sum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _parts(tensor: torch.Tensor) -> list[torch.Tensor]:
    return [torch.Tensor.as_subclass(part, torch.Tensor) for part in tensor.unbind(0)]


def _tensor(tensor: torch.Tensor) -> tuple[Any, ...]:
    dtype = str(tensor.dtype)
    if tensor.is_nested:
        parts = _parts(tensor)
        return ("nested", dtype, [tuple(p.shape) for p in parts], [_sum(bytes_of(p)) for p in parts])
    return ("tensor", dtype, tuple(tensor.shape), _sum(bytes_of(tensor)))


def _value(value: Any) -> Any:
    """A value with its types, so that 1, 1.0 and True differ, and so do 0.0 and -0.0."""
    if isinstance(value, dict):
        return (type(value).__name__, [(_value(k), _value(v)) for k, v in value.items()])
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, [_value(v) for v in value])
    if isinstance(value, (set, frozenset)):
        return (type(value).__name__, sorted(map(repr, value)))
    if isinstance(value, np.ndarray):
        return ("array", value.dtype.str, value.shape, value.tobytes())
    return (type(value).__name__, repr(value))


def _names(tree: Any) -> list[str | None] | None:
    try:
        names = list(tree.names)
    except (AttributeError, NotImplementedError, RuntimeError):
        return None
    return names if any(names) else None


def _head(tree: Any) -> tuple[Any, ...]:
    device = None if tree.device is None else str(tree.device)
    return (type(tree).__name__, tuple(tree.batch_size), device, _names(tree))


def describe(tree: Any) -> Any:
    """What a loaded tree is: structure, metadata and values, as plain Python values."""
    if isinstance(tree, NonTensorStack):
        return ("stack", tuple(tree.batch_size), _value(tree.tolist()))
    if isinstance(tree, NonTensorData | MetaData):
        return ("value", type(tree).__name__, tuple(tree.batch_size), _value(tree.data))
    if is_tensorclass(tree):
        fields = sorted((key, _value(value)) for key, value in tree._non_tensordict.items())
        return ("tensorclass", type(tree).__qualname__, fields, describe(tree._tensordict))
    if isinstance(tree, LazyStackedTensorDict):
        name = getattr(tree, "_td_dim_name", None)
        members = [describe(member) for member in tree.tensordicts]
        return ("lazy stack", _head(tree), tree.stack_dim, name, members)
    seen = sorted(
        (key, _tensor(value) if isinstance(value, torch.Tensor) else describe(value))
        for key, value in tree.items()
    )
    source = getattr(tree, "_source", None)
    if source is None:
        return ("tensordict", _head(tree), list(tree.keys()), seen)
    operation = getattr(tree, "custom_op", None), repr(getattr(tree, "custom_op_kwargs", None))
    index = repr(getattr(tree, "idx", None))
    return ("view", _head(tree), operation, index, describe(source), seen)


def leaves(tree: Any, key: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """The tensors of a loaded tree as they are stored, by the keys that lead there."""
    if isinstance(tree, NonTensorStack | NonTensorData | MetaData):
        return {}
    if is_tensorclass(tree):
        return leaves(tree._tensordict, key)
    if isinstance(tree, LazyStackedTensorDict):
        members = enumerate(tree.tensordicts)
        return {k: v for n, member in members for k, v in leaves(member, (*key, str(n))).items()}
    source = getattr(tree, "_source", None)
    if source is not None:
        return leaves(source, (*key, "_source"))
    found: dict[tuple[str, ...], Any] = {}
    for name, value in tree.items():
        if not isinstance(value, torch.Tensor):
            found |= leaves(value, (*key, name))
        elif value.is_nested:
            parts = _parts(value)
            data = b"".join(map(bytes_of, parts))
            sizes = [list(part.shape) for part in parts]
            found[(*key, name)] = (str(value.dtype), sizes, len(data), _sum(data))
        else:
            data = bytes_of(value)
            found[(*key, name)] = (str(value.dtype), list(value.shape), len(data), _sum(data))
    return found
