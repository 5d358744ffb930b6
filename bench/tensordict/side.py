"""Measures tensordict: opening saves, taking rows out of them, packing and unpacking archives."""

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import torch
from tensordict import TensorDict, pack_memmap, unpack_memmap
from torch.utils.data import DataLoader

from bench import harness, pytorch
from bench.cases import BATCH, Done, Figure, Job
from bench.harness import indices
from bench.tensordict import data

#: Random gathers in one run.
GATHERS = 64
#: Rows that are taken one at a time.
SINGLES = 1_024


def write(job: Job) -> Done:
    """Saving what is in memory."""
    td = data.values(job.set, job.scale)
    with harness.scratch(job.data) as folder:
        target = folder / ("new.tdz" if job.stored == "tdz" else "new")
        start = time.perf_counter()
        td.save(target, num_threads=_number(job))
        seconds = time.perf_counter() - start
    return Done(seconds, samples=len(td), bytes=td.bytes())


def open_(job: Job) -> Done:
    """Opening: every leaf is there to be used afterwards."""
    _load(job)
    start = time.perf_counter()
    td = _load(job)
    return Done(time.perf_counter() - start, samples=len(td.keys(True, True)))


def read(job: Job) -> Done:
    """Opening, and copying every leaf out."""
    _load(job).clone()
    start = time.perf_counter()
    td = _load(job).clone()
    seconds = time.perf_counter() - start
    return Done(seconds, samples=len(td.keys(True, True)), bytes=td.bytes())


def gather(job: Job) -> Done:
    """Rows from all over the save, as tensors of their own."""
    td = _rows(job)
    chosen = [torch.tensor(indices(step, len(td), BATCH)) for step in range(GATHERS)]
    return _taken(td, (td[rows] for rows in chosen), owned=True)


def batches(job: Job) -> Done:
    """All rows in order, as tensors of their own."""
    td = _rows(job)
    slices = (td[first : first + BATCH] for first in range(0, len(td), BATCH))
    return _taken(td, (part.clone() for part in slices), owned=True)


def shuffled(job: Job) -> Done:
    """All rows, shuffled, as tensors of their own."""
    return _drawn(job, lambda count: torch.randperm(count))


def weighted(job: Job) -> Done:
    """As many rows, drawn by weights of 1 to 9."""
    weights = torch.arange(9, dtype=torch.float64) + 1
    return _drawn(job, lambda count: torch.multinomial(weights.repeat(count // 9 + 1)[:count], count, replacement=True))


def _drawn(job: Job, draw: Callable[[int], torch.Tensor]) -> Done:
    td = _rows(job)
    chosen = draw(len(td)).split(BATCH)
    return _taken(td, (td[rows] for rows in chosen), owned=True)


def start(job: Job) -> Done:
    """From nothing to a batch of shuffled rows."""
    _load(job)
    begin = time.perf_counter()
    td = _load(job)
    batch = td[torch.randperm(len(td))[:BATCH]]
    return Done(time.perf_counter() - begin, samples=len(batch))


def single(job: Job) -> Done:
    """Single rows at random."""
    td = _rows(replace(job, mode="threads 1"))
    return _taken(td, (td[row].clone()[None] for row in indices(0, len(td), SINGLES)), owned=True)


def torch_epoch(job: Job, *, shuffle: bool) -> Done:
    """An epoch of a `DataLoader`, which takes whole batches of a TensorDict."""
    td = _rows(replace(job, mode="threads 1"))
    loader = DataLoader(
        td, batch_size=BATCH, shuffle=shuffle, collate_fn=_same, num_workers=pytorch.workers(job.mode)
    )
    return pytorch.epoch(loader, lambda batch: (len(batch), batch.bytes()))


def _same(batch: TensorDict) -> TensorDict:
    return batch


def views(job: Job) -> Done:
    """All rows in order, as windows on the save."""
    td = _rows(job)
    return _taken(td, (td[first : first + BATCH] for first in range(0, len(td), BATCH)), owned=False)


def pack(job: Job) -> Done:
    """Making an archive of a folder, uncompressed."""
    return _repack(job, lambda target: pack_memmap(job.path, target / "new.tdz"))


def unpack(job: Job) -> Done:
    """Making a folder of an archive."""
    return _repack(job, lambda target: unpack_memmap(job.path, target / "new"))


# The first call of a process pays for imports that a function does by itself; it is not measured.


def _load(job: Job) -> TensorDict:
    return TensorDict.load_memmap(job.path, mode="r" if job.mode == "mode r" else None)


def _rows(job: Job) -> TensorDict:
    torch.set_num_threads(_number(job))
    harness.warm(job.path)
    return TensorDict.load_memmap(job.path, mode="r")


def _taken(td: TensorDict, parts: Iterable[TensorDict], *, owned: bool) -> Done:
    """The time of a walk over `parts`; no part is kept longer than the next one takes."""
    rows = 0
    last = td[:1].clone()
    start = time.perf_counter()
    for last in parts:
        rows += len(last)
    seconds = time.perf_counter() - start
    for name, leaf in last.items(True, True):
        alone = leaf.untyped_storage().data_ptr() != td[name].untyped_storage().data_ptr()
        assert leaf.is_contiguous() and alone == owned, name
    each = td.bytes() // len(td)
    return Done(seconds, samples=rows, bytes=rows * each)


def _repack(job: Job, work: Callable[[Any], Any]) -> Done:
    harness.warm(job.path)
    with harness.scratch(job.data) as folder:
        start = time.perf_counter()
        work(folder)
        seconds = time.perf_counter() - start
    return Done(seconds, samples=1, bytes=harness.stored_bytes(job.path))


def _number(job: Job) -> int:
    return int(job.mode.split()[1])


_THREADS = ("threads 1", "threads 2")
_OPEN = ("mode None", "mode r")

FIGURES = {
    "write": Figure(write, ("threads 0", "threads 2")),
    "open": Figure(open_, _OPEN),
    "read": Figure(read, _OPEN),
    "gather": Figure(gather, _THREADS),
    "batches": Figure(batches, _THREADS),
    "views": Figure(views, ("threads 1",)),
    **{f"load-sequential-{n}": Figure(batches, (f"threads {n}",)) for n in (1, 2)},
    **{f"load-shuffled-{n}": Figure(shuffled, (f"threads {n}",)) for n in (1, 2)},
    **{f"load-weighted-{n}": Figure(weighted, (f"threads {n}",)) for n in (1, 2)},
    "load-start": Figure(start, ("mode r",)),
    **{f"package-sequential-{n}": Figure(batches, (f"threads {n}",)) for n in (1, 2)},
    **{f"package-shuffled-{n}": Figure(shuffled, (f"threads {n}",)) for n in (1, 2)},
    "package-torch-sequential": Figure(lambda job: torch_epoch(job, shuffle=False), pytorch.WORKERS),
    "package-torch-shuffled": Figure(lambda job: torch_epoch(job, shuffle=True), pytorch.WORKERS),
    "package-memory": Figure(lambda job: harness.peak(lambda: shuffled(job)), ("threads 2",)),
    "package-single": Figure(single),
    "package-start": Figure(start, ("mode r",)),
    "pack": Figure(pack),
    "unpack": Figure(unpack),
}

if __name__ == "__main__":
    harness.main(data.FORMAT, FIGURES)
