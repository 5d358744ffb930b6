"""Measures dataset-rt: writing, reading in order and at random, opening, filtering by metadata."""

import time

import polars as pl
from dataset_rt import CachedDataset, CachedSample, DatasetRuntime, ReaderConfig

from bench import harness, pytorch
from bench.cases import BATCH, Done, Figure, Job
from bench.datasetrt import data

SEED = 7
#: Samples that are read one at a time.
SINGLES = 1_024


def write(job: Job) -> Done:
    """Writing one cache; the samples are in memory before."""
    inputs = list(data.SETS[job.set].inputs(job.scale))
    threads, prefetch = _numbers(job)
    with harness.scratch(job.data) as folder:
        start = time.perf_counter()
        data.write(folder, data.Source(inputs), job.stored, threads, prefetch)
        return _values(job, time.perf_counter() - start)


def ordered(job: Job) -> Done:
    """All samples in order."""
    return _stream(job, shuffle=False)


def shuffled(job: Job) -> Done:
    """As many samples as there are, drawn at random."""
    return _stream(job, shuffle=True)


def start(job: Job) -> Done:
    """From nothing to the first sample that is drawn."""
    harness.warm(job.path)
    runtime = DatasetRuntime(num_workers=2)
    # The first call of a process pays for what others find done.
    _open(job, runtime)
    begin = time.perf_counter()
    next(iter(_open(job, runtime, shuffle=True)))
    return Done(time.perf_counter() - begin, samples=1)


def single(job: Job) -> Done:
    """Single samples at random."""
    harness.warm(job.path)
    dataset = _open(job, DatasetRuntime(num_workers=1))
    cache, size = int(dataset.get_metadata()["cache_id"][0]), 0
    start = time.perf_counter()
    for index in harness.indices(0, len(dataset), SINGLES):
        size += len(dataset.get_item(cache, index).data)
    return Done(time.perf_counter() - start, samples=SINGLES, bytes=size)


def torch(job: Job, *, shuffle: bool) -> Done:
    """An epoch of the library's own `DataLoader`."""
    harness.warm(job.path)
    dataset = _open(job, DatasetRuntime(num_workers=2))
    seed = {"seed": SEED} if shuffle else {}
    loader = dataset.to_torch_dataloader(
        shuffle=shuffle, batch_size=BATCH, num_workers=pytorch.workers(job.mode), collate_fn=_payloads,
        multiprocessing_context="fork", verbose=False, **seed,
    )  # fmt: skip
    return pytorch.epoch(loader, pytorch.tensors)


def _payloads(samples: list[CachedSample]) -> list[bytes]:
    return [sample.data for sample in samples]


def open_(job: Job) -> Done:
    """Opening: samples can be asked for afterwards."""
    harness.warm(job.path)
    runtime = DatasetRuntime(num_workers=1)
    # The first call of a process pays for what others find done.
    _open(job, runtime)
    start = time.perf_counter()
    dataset = _open(job, runtime)
    return Done(time.perf_counter() - start, samples=len(dataset))


def open_memory(job: Job) -> Done:
    """The memory that an open dataset takes."""
    harness.warm(job.path)
    runtime = DatasetRuntime(num_workers=1)
    before = harness.resident_memory()
    dataset = _open(job, runtime)
    return Done(memory=harness.resident_memory() - before, samples=len(dataset))


def table(job: Job) -> Done:
    """The metadata of all samples as a table."""
    harness.warm(job.path)
    dataset = _open(job, DatasetRuntime(num_workers=1))
    start = time.perf_counter()
    found = dataset.get_metadata()
    return Done(time.perf_counter() - start, samples=len(found))


def filter_(job: Job) -> Done:
    """Reading on only with the samples that a condition over their metadata holds for."""
    harness.warm(job.path)
    dataset = _open(job, DatasetRuntime(num_workers=1))
    found = dataset.get_metadata()
    start = time.perf_counter()
    chosen = found.filter(
        (pl.col("split") == "train") & (pl.col("score") >= 0.5) & pl.col("valid")
    )
    dataset.update_metadata(chosen)
    seconds = time.perf_counter() - start
    assert len(dataset) == len(chosen) > 0
    return Done(seconds, samples=len(found))


def _stream(job: Job, *, shuffle: bool) -> Done:
    threads, prefetch = _numbers(job)
    harness.warm(job.path)
    runtime = DatasetRuntime(num_workers=threads)
    dataset = _open(job, runtime, shuffle=shuffle, prefetch=prefetch)
    size = 0
    start = time.perf_counter()
    for sample in dataset:
        size += len(sample.data)
    seconds = time.perf_counter() - start
    done = _values(job, seconds)
    assert size == done.bytes
    return done


def _open(
    job: Job, runtime: DatasetRuntime, *, shuffle: bool = False, prefetch: int = 64
) -> CachedDataset:
    config = ReaderConfig(seed=SEED, shuffle=shuffle, prefetch_size=prefetch)
    return runtime.cached_dataset([job.path], reader_config=config)


def _numbers(job: Job) -> tuple[int, int]:
    """Of a mode `threads 2, prefetch 64`."""
    threads, prefetch = (int(part.split()[1]) for part in job.mode.split(", "))
    return threads, prefetch


def _values(job: Job, seconds: float) -> Done:
    payloads = data.SETS[job.set]
    count = payloads.count(job.scale)
    return Done(seconds, samples=count, bytes=count * payloads.size)


def _modes(*threads: int) -> tuple[str, ...]:
    return tuple(f"threads {n}, prefetch {ahead}" for n in threads for ahead in (64, 1024))


FIGURES = {
    "write": Figure(write, _modes(1, 2)),
    **{f"ordered{how}-{n}": Figure(ordered, _modes(n)) for how in ("", "-batches") for n in (1, 2)},
    **{f"shuffled{how}-{n}": Figure(shuffled, _modes(n)) for how in ("", "-batches") for n in (1, 2)},
    **{f"load-sequential-{n}": Figure(ordered, _modes(n)) for n in (1, 2)},
    **{f"load-shuffled-{n}": Figure(shuffled, _modes(n)) for n in (1, 2)},
    "load-start": Figure(start),
    **{f"package-sequential-{n}": Figure(ordered, _modes(n)) for n in (1, 2)},
    **{f"package-shuffled-{n}": Figure(shuffled, _modes(n)) for n in (1, 2)},
    "package-torch-sequential": Figure(lambda job: torch(job, shuffle=False), pytorch.WORKERS),
    "package-torch-shuffled": Figure(lambda job: torch(job, shuffle=True), pytorch.WORKERS),
    "package-memory": Figure(lambda job: harness.peak(lambda: shuffled(job)), ("threads 2, prefetch 64",)),
    "package-single": Figure(single),
    "package-start": Figure(start),
    "open": Figure(open_),
    "open-memory": Figure(open_memory),
    "table": Figure(table),
    "filter": Figure(filter_),
}

if __name__ == "__main__":
    harness.main(data.FORMAT, FIGURES)
