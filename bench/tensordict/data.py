"""The datasets of the TensorDict figures, saved with the original; those that are there are kept."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from tensordict import TensorDict

from bench.cases import LOAD, LOAD_ORDERS, PACKAGE, PACKAGE_RATES, Case, Format
from bench.harness import folder_name, whole
from bench.sets import SETS

#: Numbers of leaves, each of 16 floats, in collections of a hundred.
LEAVES = (10, 1_000, 10_000)
COLLECTION = 100


def ensure(folder: Path, name: str, stored: str, scale: float) -> Path:
    """The path of one save, a folder or an archive, written now if it is not there."""
    suffix = ".tdz" if stored == "tdz" else ""
    path = folder / (folder_name("tensordict", name, stored, scale) + suffix)
    if not path.exists():
        with whole(path) as partial:
            values(name, scale).save(partial)
    return path


def values(name: str, scale: float) -> TensorDict:
    """All values of one set, in memory."""
    if name.startswith("leaves-"):
        return TensorDict(dict(_collections(int(name.removeprefix("leaves-")))), batch_size=[16])
    data = SETS[name]
    count = data.count(scale)
    whole_set = {
        column: np.empty((count, *shape), dtype=dtype) for column, dtype, shape in data.columns
    }
    row = 0
    for chunk in data.chunks(scale):
        rows = len(next(iter(chunk.values())))
        for column, part in chunk.items():
            whole_set[column][row : row + rows] = part
        row += rows
    tensors = {column: torch.from_numpy(array) for column, array in whole_set.items()}
    return TensorDict(tensors, batch_size=[count])


def _collections(leaves: int) -> Iterator[tuple[str, dict[str, torch.Tensor]]]:
    for first in range(0, leaves, COLLECTION):
        names = range(first, min(first + COLLECTION, leaves))
        yield f"layer{first // COLLECTION:03}", {
            f"weight{name:05}": torch.arange(name, name + 16, dtype=torch.float32) for name in names
        }


_LEAVES = tuple(f"leaves-{count}" for count in LEAVES)
_ROWS = ("gather", "batches", "views", *LOAD, *PACKAGE)

FORMAT = Format(
    name="tensordict",
    packages=("tensordict", "torch"),
    cases=(
        *(Case(name, "folder", ("open", "read", "pack")) for name in _LEAVES),
        *(Case(name, "tdz", ("open", "read", "unpack")) for name in _LEAVES),
        *(Case(name, "folder", ("write", *_ROWS, "pack")) for name in SETS),
        *(Case(name, "tdz", ("write", *_ROWS, "unpack")) for name in SETS),
    ),
    bases={
        "gather": ("rowcopy",),
        "batches": ("memcpy",),
        **{what: ("memcpy",) for what in (*LOAD_ORDERS, *PACKAGE_RATES)},
        "pack": ("crc32",),
        "unpack": ("crc32",),
    },
    ensure=ensure,
)
