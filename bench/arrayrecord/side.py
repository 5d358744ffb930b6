"""Measures array_record: writing, reading in order, one record at a time and in random batches, opening."""

import time
from collections.abc import Callable

import numpy as np
from array_record.python.array_record_data_source import ArrayRecordDataSource
from array_record.python.array_record_module import ArrayRecordReader
from torch.utils.data import DataLoader

from bench import harness, pytorch
from bench.arrayrecord import data
from bench.cases import BATCH, Done, Figure, Job

#: Records that are read one at a time.
SINGLES = 1_024
#: Bytes of records that are read in batches, about.
BATCHED_BYTES = 64 << 20


def write(job: Job) -> Done:
    """Writing one file; the records are in memory before."""
    records = list(data.SETS[job.set].payloads(job.scale))
    with harness.scratch(job.data) as folder:
        start = time.perf_counter()
        data.write(folder / "new", records, job.stored)
        seconds = time.perf_counter() - start
    return Done(seconds, samples=len(records), bytes=sum(map(len, records)))


def sequential(job: Job) -> Done:
    """All records in order."""
    harness.warm(job.path)
    how, _, options = job.mode.rpartition(", ")
    reader = ArrayRecordReader(str(job.path), options)
    count, size = reader.num_records(), 0
    start = time.perf_counter()
    if how == "read()":
        for _ in range(count):
            size += len(reader.read())
    elif how == "read(begin, end)":
        for begin in range(0, count, 4096):
            size += sum(map(len, reader.read(begin, min(count, begin + 4096))))
    else:
        size = sum(map(len, reader.read_all()))
    return Done(time.perf_counter() - start, samples=count, bytes=size)


def random(job: Job) -> Done:
    """Single records at random, as the original's data source reads them."""
    return _singles(job, lambda reader, index: reader.read([index])[0])


def random_seek(job: Job) -> Done:
    """Single records at random, by moving the place of a reader."""

    def read(reader: ArrayRecordReader, index: int) -> bytes:
        reader.seek(index)
        return reader.read()

    return _singles(job, read)


def _singles(job: Job, read: Callable[[ArrayRecordReader, int], bytes]) -> Done:
    harness.warm(job.path)
    reader = ArrayRecordReader(str(job.path), job.mode)
    indices = harness.indices(0, reader.num_records(), SINGLES)
    size = 0
    start = time.perf_counter()
    for index in indices:
        size += len(read(reader, index))
    return Done(time.perf_counter() - start, samples=len(indices), bytes=size)


def shuffled(job: Job) -> Done:
    """All records, shuffled, in batches."""
    count, read = _reading(job)
    order = np.random.default_rng(7).permutation(count).tolist()
    size = 0
    start = time.perf_counter()
    for first in range(0, count, BATCH):
        size += sum(map(len, read(order[first : first + BATCH])))
    return Done(time.perf_counter() - start, samples=count, bytes=size)


def torch(job: Job, *, shuffle: bool) -> Done:
    """An epoch of a `DataLoader` over the data source, which reads batches; processes that are forked from it die."""
    harness.warm(job.path)
    loader = DataLoader(
        ArrayRecordDataSource(str(job.path)), batch_size=BATCH, shuffle=shuffle, collate_fn=list
    )
    return pytorch.epoch(loader, pytorch.tensors)


def start(job: Job) -> Done:
    """From nothing to a batch of random records."""
    harness.warm(job.path)
    # The first call of a process pays for what others find done.
    ArrayRecordReader(str(job.path), job.mode).close()
    begin = time.perf_counter()
    reader = ArrayRecordReader(str(job.path), job.mode)
    found = reader.read(harness.indices(0, reader.num_records(), BATCH))
    return Done(time.perf_counter() - begin, samples=len(found))


def _reading(job: Job) -> tuple[int, Callable[[list[int]], list[bytes]]]:
    """The number of records, and how a mode reads some of them."""
    harness.warm(job.path)
    how, _, options = job.mode.rpartition(", ")
    if how:
        reader = ArrayRecordReader(str(job.path), options)
        return reader.num_records(), reader.read
    source = ArrayRecordDataSource(str(job.path))
    source[0]
    return len(source), source.__getitems__


def batched(job: Job) -> Done:
    """Random records in batches."""
    count, read = _reading(job)
    each = job.path.stat().st_size // count
    steps = max(1, BATCHED_BYTES // each // BATCH)
    batches = [harness.indices(step, count, BATCH) for step in range(steps)]
    size = 0
    start = time.perf_counter()
    for batch in batches:
        size += sum(map(len, read(batch)))
    return Done(time.perf_counter() - start, samples=steps * BATCH, bytes=size)


def open_(job: Job) -> Done:
    """Opening: records can be asked for afterwards."""
    harness.warm(job.path)
    # The first call of a process pays for what others find done.
    ArrayRecordReader(str(job.path), job.mode).close()
    start = time.perf_counter()
    reader = ArrayRecordReader(str(job.path), job.mode)
    count = reader.num_records()
    return Done(time.perf_counter() - start, samples=count)


_ALONE = "readahead_buffer_size:0,max_parallelism:0"
_SEQUENTIAL = (
    "read(), readahead_buffer_size:16M",
    "read(), readahead_buffer_size:16M,max_parallelism:2",
    f"read(), {_ALONE}",
    "read(begin, end), readahead_buffer_size:0",
    "read_all(), readahead_buffer_size:0",
    "read_all(), readahead_buffer_size:16M",
)
_OFFLOADED = f"{_ALONE},index_storage_option:offloaded,footer_prefetch_bytes:0"

_BATCHED = ("read, readahead_buffer_size:0", f"read, {_ALONE}", "data source")

FIGURES = {
    "write": Figure(write),
    "sequential": Figure(sequential, _SEQUENTIAL),
    "random": Figure(random, ("readahead_buffer_size:0", _ALONE)),
    "random-seek": Figure(random_seek, ("readahead_buffer_size:0", _ALONE)),
    "batched": Figure(batched, _BATCHED),
    **{f"load-sequential-{n}": Figure(sequential, _SEQUENTIAL) for n in (1, 2)},
    **{f"load-shuffled-{n}": Figure(shuffled, _BATCHED) for n in (1, 2)},
    "load-start": Figure(start, ("", _ALONE)),
    **{f"package-sequential-{n}": Figure(sequential, _SEQUENTIAL) for n in (1, 2)},
    **{f"package-shuffled-{n}": Figure(shuffled, _BATCHED) for n in (1, 2)},
    "package-torch-sequential": Figure(lambda job: torch(job, shuffle=False)),
    "package-torch-shuffled": Figure(lambda job: torch(job, shuffle=True)),
    "package-memory": Figure(lambda job: harness.peak(lambda: shuffled(job)), _BATCHED[:1]),
    "package-single": Figure(random, (_ALONE,)),
    "package-start": Figure(start, ("", _ALONE)),
    "open": Figure(open_, ("", _ALONE, _OFFLOADED)),
}

if __name__ == "__main__":
    harness.main(data.FORMAT, FIGURES)
