"""Datasets for PyTorch: samples and batches of tensors, in the main process or in the workers of a `DataLoader`.

    from torch.utils.data import DataLoader
    from packstone.torch import IterableDataset, MapDataset

    DataLoader(MapDataset(train), batch_size=256, shuffle=True, num_workers=4)
    DataLoader(IterableDataset(train, 256, shuffle=True), batch_size=None, num_workers=4)

Tensors share the memory that a batch was made in; nothing is copied, and they may be written to. Text and bytes stay `str`
and `bytes`, values whose shape varies are lists of tensors, and what PyTorch has no type for (dates, fixed text, void,
extended floats) stays a NumPy array.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self, overload

import numpy as np
from numpy.typing import NDArray

from packstone._errors import UnsupportedError
from packstone._native import Buffer, Collection, Loader
from packstone._schema import Field

try:
    import torch
    from torch.utils import data
    from torch.utils.data._utils.collate import collate as _collate
    from torch.utils.data._utils.collate import default_collate_fn_map
except ImportError as _error:
    raise ImportError("packstone.torch needs PyTorch; install it with: pip install torch") from _error

__all__ = ["IterableDataset", "MapDataset", "Tensors", "collate"]

#: What NumPy lacks, and `ml_dtypes` partly has: these go over as whole numbers and get their type afterwards.
_TYPES: dict[str, torch.dtype] = {
    name: getattr(torch, name)
    for name in (
        "bfloat16",
        "float8_e4m3fn",
        "float8_e4m3fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
        "float8_e8m0fnu",
        "float4_e2m1fn_x2",
        "complex32",
        "bcomplex32",
        "bits8",
        "bits1x8",
        "bits2x4",
        "bits4x2",
        "bits16",
    )
    if hasattr(torch, name)
}
_WHOLE = {1: np.uint8, 2: np.int16, 4: np.int32}
_KNOWN = {np.dtype(name) for name in ("?", "i1", "<i2", "<i4", "<i8", "u1", "<f2", "<f4", "<f8", "<c8", "<c16")} | {
    np.dtype(name) for name in ("uint16", "uint32", "uint64") if hasattr(torch, name)
}

_Values = dict[str, Any]


class Tensors:
    """Makes tensors of the arrays in samples and batches of a schema.

    An array of a batch becomes a tensor over the same memory, and from then on is the tensor's: it may be written to, and
    the array should be let go. Arrays that look at files, as those of iteration do, are copied.
    """

    def __init__(self, schema: Sequence[Field]) -> None:
        """For samples and batches with the fields of `schema`."""
        self._types: dict[tuple[str, ...], tuple[np.dtype[Any], torch.dtype]] = {}
        for field in schema:
            found = _TYPES.get(field.type)
            if found is not None and field.dtype is not None:
                # A field stands under its printed name where its key leads through another one's.
                for way in (field.key, (field.name,)):
                    self._types[way] = (field.dtype, found)

    def __call__(self, values: Any) -> Any:
        """The same dicts and lists, with tensors for arrays."""
        return self._make(values, ())

    def _make(self, value: Any, way: tuple[str, ...]) -> Any:
        if isinstance(value, dict):
            return {name: self._make(inner, (*way, name)) for name, inner in value.items()}
        if isinstance(value, list):
            # Text, bytes and JSON stay as they are.
            return [self._tensor(row, way) if isinstance(row, np.ndarray) else row for row in value]
        return self._tensor(value, way) if isinstance(value, np.ndarray) else value

    def _tensor(self, array: NDArray[Any], way: tuple[str, ...]) -> Any:
        dtype, special = self._types.get(way, (None, None))
        if special is not None and array.dtype == dtype:
            whole = _own(array).view(_WHOLE[array.dtype.itemsize])
            return torch.from_numpy(whole).view(special)
        return torch.from_numpy(_own(array)) if array.dtype in _KNOWN else array


def _own(array: NDArray[Any]) -> NDArray[Any]:
    """An array that may be written to: over the same memory where that is a batch's, else a copy."""
    if array.flags.writeable:
        return array
    base = array.base
    if isinstance(base, Buffer) and (memory := base._writable()) is not None:
        return np.ndarray(array.shape, array.dtype, memory)
    return array.copy()


class _Row(dict[str, Any]):
    """A sample of a batch that was gathered as a whole."""


class _Gathered(Sequence[_Row]):
    """A batch that was gathered as a whole, for a collate function that takes a list of samples."""

    def __init__(self, values: _Values, size: int) -> None:
        self.values = values
        self._size = size

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> _Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[_Row]: ...
    def __getitem__(self, index: int | slice) -> _Row | list[_Row]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(self._size))]
        at = range(self._size)[index]
        return _Row(_row(self.values, at))


def _row(values: _Values, index: int) -> _Values:
    return {
        name: _row(value, index) if isinstance(value, dict) else value[index] for name, value in values.items()
    }


def _whole(batch: Any, *, collate_fn_map: Any = None) -> Any:
    if isinstance(batch, _Gathered):
        return batch.values
    return _collate([dict(row) for row in batch], collate_fn_map=collate_fn_map)


# PyTorch's own way to say how samples of a type are collated; so a `DataLoader` needs no `collate_fn`.
default_collate_fn_map[_Row] = _whole


def collate(batch: Any) -> Any:
    """What a `DataLoader` does with samples of a `MapDataset` by default: a batch that was gathered stays as it is."""
    return data.default_collate(batch)


class MapDataset(data.Dataset[dict[str, Any]]):
    """A collection as a map-style dataset: the sampler of a `DataLoader` says which samples come.

    A `DataLoader` with a batch size gathers each batch at once, in the process that it has for it.
    """

    def __init__(
        self, collection: Collection, transform: Callable[[dict[str, Any]], Any] | None = None
    ) -> None:
        """Samples of `collection`; `transform` makes what is delivered of one sample, and is called for each."""
        self._collection = collection
        self._transform = transform
        self._tensors = Tensors(collection.schema)

    def __getstate__(self) -> dict[str, Any]:
        return {"_collection": self._collection, "_transform": self._transform}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._tensors = Tensors(self._collection.schema)

    def __len__(self) -> int:
        return len(self._collection)

    def __getitem__(self, index: int) -> Any:
        sample = self._tensors(self._collection[index])
        return sample if self._transform is None else self._transform(sample)

    def __getitems__(self, indices: list[int]) -> Sequence[Any]:
        """The samples of a batch, gathered at once."""
        if self._transform is not None:
            return [self._transform(dict(row)) for row in self._gather(indices)]
        return self._gather(indices)

    def _gather(self, indices: list[int]) -> Sequence[_Values]:
        try:
            values = self._tensors(self._collection[indices])
        except UnsupportedError:
            # Samples that differ in their fields make no batch.
            return [self._tensors(self._collection[index]) for index in indices]
        return _Gathered(values, len(indices))


class IterableDataset(data.IterableDataset[Any]):
    """Batches of a `packstone.Loader` as an iterable dataset, for a `DataLoader` with `batch_size=None`.

    Each pass is an epoch. Worker w of n makes the steps w, w + n, … of its rank, and a `DataLoader` takes from its workers
    in turn: batches come in the order that the loader itself has, whatever the number of workers. All ranks and workers
    together read the order, each position once.

    The first pass goes on where the loader stands. In the main process, and in persistent workers, each further pass is
    the next epoch. Workers that end with the epoch know of none before it: call `set_epoch` ahead of every pass, as with a
    `DistributedSampler`.

    `state_dict` and `load_state_dict` are what `torchdata.stateful_dataloader.StatefulDataLoader` asks for.
    """

    def __init__(
        self,
        source: Loader | Collection | Sequence[Collection],
        batch_size: int | None = None,
        *,
        transform: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        **options: Any,
    ) -> None:
        """Batches of a loader, which is left as it is, or of a loader of collections with these `options`.

        `transform` makes what is delivered of a batch of tensors. `pin_memory` moves tensors to pinned memory where CUDA is
        available and does nothing elsewhere; it is for loops without a `DataLoader`, which pins what its workers made.
        """
        if isinstance(source, Loader):
            if batch_size is not None or options:
                raise TypeError("expected a loader alone, found a batch size or options as well")
            self._loader = source._worker(0, 1, 0)
        elif batch_size is None:
            raise TypeError("expected a batch size with a collection, found none")
        else:
            self._loader = Loader(source, batch_size, **options)
        self._transform = transform
        self._pin_memory = pin_memory
        self._tensors = Tensors(self._loader.schema)
        self._resumed: dict[str, Any] | None = None
        self._pass: _Pass | None = None

    @classmethod
    def from_distributed(
        cls, source: Collection | Sequence[Collection], batch_size: int, **options: Any
    ) -> Self:
        """The same with the rank and the world size of `torch.distributed`, whose process group must be initialized."""
        if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
            raise RuntimeError(
                "expected an initialized process group, found none; call torch.distributed.init_process_group first"
            )
        rank, world_size = torch.distributed.get_rank(), torch.distributed.get_world_size()
        return cls(source, batch_size, rank=rank, world_size=world_size, **options)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pass": None, "_tensors": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._tensors = Tensors(self._loader.schema)

    def __len__(self) -> int:
        """Batches of an epoch, of all workers together."""
        return len(self._loader)

    def set_epoch(self, epoch: int) -> None:
        """Makes the next pass that of an epoch. Persistent workers that have begun do not hear of it."""
        self._loader.set_epoch(epoch)
        self._resumed = None

    def __iter__(self) -> Iterator[Any]:
        info = data.get_worker_info()
        worker, workers = (0, 1) if info is None else (info.id, info.num_workers)
        if self._pin_memory and info is not None:
            raise RuntimeError("expected pin_memory of the DataLoader, found that of a dataset in a worker")
        loader, done = self._loader, 0
        if self._resumed is not None:
            done = self._resumed["done"]
            if done and (worker, workers) != (self._resumed["worker"], self._resumed["workers"]):
                raise ValueError(
                    f"expected a state of worker {worker} of {workers}, found one of worker"
                    f" {self._resumed['worker']} of {self._resumed['workers']}"
                )
        elif loader.steps_left == 0:
            loader.set_epoch(loader.epoch + 1)
        self._pass = _Pass(loader._worker(worker, workers, done), worker, workers, self._finish)
        # The next pass is the next epoch, however far this one comes.
        loader.set_epoch(loader.epoch + 1)
        self._resumed = None
        return self._pass

    def _finish(self, batch: Any) -> Any:
        made = self._tensors(batch)
        if self._pin_memory and torch.cuda.is_available():
            made = _pinned(made)
        return made if self._transform is None else self._transform(made)

    def state_dict(self) -> dict[str, Any]:
        """Where the last pass of this process stands, or the next one begins: a dict that JSON holds."""
        if self._pass is not None:
            return self._pass.state()
        if self._resumed is not None:
            return dict(self._resumed)
        return {"loader": self._loader.state_dict(), "done": 0, "worker": 0, "workers": 1}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Makes the next pass the rest of the one that the state was taken in, perhaps nothing."""
        self._loader.load_state_dict(state["loader"])
        self._resumed = dict(state)
        self._pass = None


class _Pass(Iterator[Any]):
    """What one process delivers of an epoch."""

    def __init__(
        self, loader: Loader, worker: int, workers: int, finish: Callable[[Any], Any]
    ) -> None:
        self._loader = loader
        self._worker = worker
        self._workers = workers
        self._finish = finish

    def __next__(self) -> Any:
        return self._finish(next(self._loader))

    def state(self) -> dict[str, Any]:
        return {
            "loader": self._loader.state_dict(),
            "done": self._loader._done,
            "worker": self._worker,
            "workers": self._workers,
        }


def _pinned(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _pinned(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_pinned(inner) for inner in value]
    return value.pin_memory() if isinstance(value, torch.Tensor) else value
