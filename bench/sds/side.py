"""Measures signal-dataset: writing and publishing, iterating, single records, metadata, opening."""

import os
import time
from dataclasses import replace

import numpy as np
import signal_dataset as sds
from signal_dataset import Dataset, StorageOptions
from torch.utils.data import DataLoader

from bench import harness, pytorch
from bench.cases import BATCH, Done, Figure, Job
from bench.sds import data

#: Records that are read one at a time.
SINGLES = 1_024


def write(job: Job) -> Done:
    """Writing and publishing one dataset; the records are in memory before."""
    records = list(data.SETS[job.set].records(job.scale))
    with harness.scratch(job.data) as folder:
        start = time.perf_counter()
        data.write(folder, records)
        seconds = time.perf_counter() - start
    return Done(seconds, samples=len(records), bytes=sum(map(_size, records)))


def iterate(job: Job) -> Done:
    """All records in order."""
    dataset = _open(job)
    count = size = 0
    start = time.perf_counter()
    for record in dataset:
        count += 1
        size += _size(record)
    seconds = time.perf_counter() - start
    assert count == len(dataset)
    return Done(seconds, samples=count, bytes=size)


def record(job: Job) -> Done:
    """Single records at random."""
    dataset = _open(job)
    size = 0
    start = time.perf_counter()
    for index in harness.indices(0, len(dataset), SINGLES):
        size += _size(dataset[index])
    return Done(time.perf_counter() - start, samples=SINGLES, bytes=size)


def shuffled(job: Job) -> Done:
    """All records, one by one, at random."""
    dataset = _open(job)
    order = np.random.default_rng(7).permutation(len(dataset)).tolist()
    size = 0
    start = time.perf_counter()
    for index in order:
        size += _size(dataset[index])
    return Done(time.perf_counter() - start, samples=len(order), bytes=size)


def torch(job: Job, *, shuffle: bool) -> Done:
    """An epoch of a `DataLoader` over the dataset, which is a sequence."""
    dataset = _open(replace(job, mode=""))
    loader = DataLoader(
        dataset, batch_size=BATCH, shuffle=shuffle, collate_fn=_stacked, num_workers=pytorch.workers(job.mode)
    )
    return pytorch.epoch(loader, pytorch.tensors)


def _stacked(records: list[sds.Record]) -> dict[str, np.ndarray]:
    return {name: np.stack([record[name].data for record in records]) for name in records[0]}


def start(job: Job) -> Done:
    """From nothing to a record in the middle."""
    # The first call of a process pays for what others find done.
    _open(job)
    begin = time.perf_counter()
    dataset = _open(job, warm=False)
    _size(dataset[len(dataset) // 2])
    return Done(time.perf_counter() - begin, samples=1)


def metadata(job: Job) -> Done:
    """The metadata of all records in order."""
    dataset = _open(job)
    start = time.perf_counter()
    valid = sum(row.metadata["valid"] for row in dataset.iter_record_metadata())
    seconds = time.perf_counter() - start
    assert 0 < valid < len(dataset)
    return Done(seconds, samples=len(dataset))


def open_(job: Job) -> Done:
    """Opening: records can be asked for afterwards."""
    # The first call of a process pays for what others find done.
    _open(job)
    start = time.perf_counter()
    count = len(_open(job, warm=False))
    return Done(time.perf_counter() - start, samples=count)


def _open(job: Job, *, warm: bool = True) -> Dataset:
    if warm:
        harness.warm(job.path)
    name, _, number = job.mode.partition(" ")
    options = StorageOptions(**{name: int(number)}) if name else None
    return sds.open(os.fspath(job.path), options=options)


def _size(record: sds.Record) -> int:
    return sum(field.data.nbytes for field in record.values())


_BATCHES = ("", "records_per_read_batch 256", "records_per_read_batch 8192")

FIGURES = {
    "write": Figure(write),
    "iterate": Figure(iterate, _BATCHES),
    "record": Figure(record),
    "metadata": Figure(metadata, _BATCHES),
    **{f"load-sequential-{n}": Figure(iterate, _BATCHES) for n in (1, 2)},
    **{f"load-shuffled-{n}": Figure(shuffled) for n in (1, 2)},
    "load-start": Figure(start),
    **{f"package-sequential-{n}": Figure(iterate, _BATCHES) for n in (1, 2)},
    **{f"package-shuffled-{n}": Figure(shuffled) for n in (1, 2)},
    "package-torch-sequential": Figure(lambda job: torch(job, shuffle=False), pytorch.WORKERS),
    "package-torch-shuffled": Figure(lambda job: torch(job, shuffle=True), pytorch.WORKERS),
    "package-memory": Figure(lambda job: harness.peak(lambda: shuffled(job))),
    "package-single": Figure(record),
    "package-start": Figure(start),
    "open": Figure(open_),
}

if __name__ == "__main__":
    harness.main(data.FORMAT, FIGURES)
