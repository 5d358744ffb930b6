"""Measures sedpack: writing, iterating by example and by batch, checking."""

import time
from collections.abc import Iterable
from typing import Any

from sedpack.io import Dataset
from torch.utils import data as torch_data

from bench import harness, pytorch
from bench.cases import BATCH, Done, Figure, Job
from bench.sedpack import data
from bench.sets import SETS

_ALL: dict[str, Any] = {"split": "train", "repeat": False, "shuffle": 0}
#: Shards shuffled, and examples in a buffer of the library's usual size.
_SHUFFLED = {**_ALL, "shuffle": 1_000}


def write(job: Job) -> Done:
    """Creating, filling and closing a dataset; the examples are in memory before."""
    examples = list(SETS[job.set].examples(job.scale))
    with harness.scratch(job.data) as folder:
        start = time.perf_counter()
        dataset = data.create(folder / "dataset", SETS[job.set], job.stored)
        with dataset.filler(_threads(job)) as filler:
            for example in examples:
                filler.write_example(values=example, split="train")
        return _values(job, time.perf_counter() - start)


def examples(job: Job) -> Done:
    """One example after the other."""
    dataset = _open(job)
    start = time.perf_counter()
    items = dataset.as_numpy_iterator_rust(file_parallelism=_threads(job), **_ALL)
    found = _length(items)
    return _values(job, time.perf_counter() - start, found, SETS[job.set].count(job.scale))


def batches(job: Job) -> Done:
    """Batches, as the library stacks them."""
    return _batches(job, _ALL)


def shuffled(job: Job) -> Done:
    """The same with shards shuffled, and examples in a buffer of the library's usual size."""
    return _batches(job, _SHUFFLED)


def start(job: Job) -> Done:
    """From nothing to the first batch of all; the library cannot begin elsewhere."""
    harness.warm(job.path)
    begin = time.perf_counter()
    items = Dataset(job.path).as_numpy_iterator_rust_batched(
        batch_size=BATCH, file_parallelism=_threads(job), **_ALL
    )
    next(iter(items))
    return Done(time.perf_counter() - begin, samples=BATCH)


class _Batches(torch_data.IterableDataset[Any]):
    """Batches for a `DataLoader`; its processes have every n-th shard each."""

    def __init__(self, job: Job, how: dict[str, Any]) -> None:
        self._job, self._how = job, how

    def __iter__(self) -> Any:
        info = torch_data.get_worker_info()
        shard_filter = None
        if info is not None:
            numbers = iter(range(1 << 60))
            shard_filter = lambda _shard: next(numbers) % info.num_workers == info.id  # noqa: E731
        return iter(
            Dataset(self._job.path).as_numpy_iterator_rust_batched(
                batch_size=BATCH, file_parallelism=2, shard_filter=shard_filter, **self._how
            )
        )


def torch(job: Job, how: dict[str, Any]) -> Done:
    """An epoch of a `DataLoader` over the batches of the library."""
    harness.warm(job.path)
    loader = torch_data.DataLoader(_Batches(job, how), batch_size=None, num_workers=pytorch.workers(job.mode))
    return pytorch.epoch(loader, pytorch.tensors)


def _batches(job: Job, how: dict[str, Any]) -> Done:
    dataset = _open(job)
    start = time.perf_counter()
    items = dataset.as_numpy_iterator_rust_batched(
        batch_size=BATCH, file_parallelism=_threads(job), **how
    )
    found = _length(items)
    expected = -(-SETS[job.set].count(job.scale) // BATCH)
    return _values(job, time.perf_counter() - start, found, expected)


def verify(job: Job) -> Done:
    """The whole check."""
    dataset = _open(job)
    start = time.perf_counter()
    dataset.check(show_progressbar=False)
    seconds = time.perf_counter() - start
    size = harness.stored_bytes(job.path)
    return Done(seconds, samples=SETS[job.set].count(job.scale), bytes=size)


def _open(job: Job) -> Dataset:
    harness.warm(job.path)
    return Dataset(job.path)


def _threads(job: Job) -> int:
    return int(job.mode.split()[1])


def _values(job: Job, seconds: float, found: int = 0, expected: int = 0) -> Done:
    if found != expected:
        raise RuntimeError(f"expected {expected} items, found {found}")
    samples = SETS[job.set].count(job.scale)
    return Done(seconds, samples=samples, bytes=samples * SETS[job.set].example_bytes())


def _length(items: Iterable[Any]) -> int:
    return sum(1 for _ in items)


def _modes(*threads: int) -> tuple[str, ...]:
    return tuple(f"parallelism {count}" for count in threads)


FIGURES = {
    "write": Figure(write, _modes(1, 2)),
    "examples": Figure(examples, _modes(1, 2)),
    "batches": Figure(batches, _modes(1, 2, 4)),
    "verify": Figure(verify),
    "load-sequential-1": Figure(batches, _modes(1)),
    "load-sequential-2": Figure(batches, _modes(2, 4)),
    "load-shuffled-1": Figure(shuffled, _modes(1)),
    "load-shuffled-2": Figure(shuffled, _modes(2, 4)),
    "load-start": Figure(start, _modes(2)),
    "package-sequential-1": Figure(batches, _modes(1)),
    "package-sequential-2": Figure(batches, _modes(2, 4)),
    "package-shuffled-1": Figure(shuffled, _modes(1)),
    "package-shuffled-2": Figure(shuffled, _modes(2, 4)),
    "package-torch-sequential": Figure(lambda job: torch(job, _ALL), pytorch.WORKERS),
    "package-torch-shuffled": Figure(lambda job: torch(job, _SHUFFLED), pytorch.WORKERS),
    "package-memory": Figure(lambda job: harness.peak(lambda: shuffled(job)), _modes(2)),
    "package-start": Figure(start, _modes(2)),
}

if __name__ == "__main__":
    harness.main(data.FORMAT, FIGURES)
