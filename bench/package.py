"""packstone's side of the figures of the Python package: the same ones that the originals' sides have.

    python -m bench.package FORMAT --path DATASET --set NAME --stored HOW --runs N --what FIGURE…
"""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from torch.utils.data import DataLoader

import packstone
from bench import harness, pytorch
from bench.cases import BATCH, Done, Figure, Job
from packstone.torch import IterableDataset

#: Samples that are read one at a time.
SINGLES = 1_024
SEED = 7


def load(job: Job, order: str) -> Done:
    """An epoch of a loader whose shards were looked at before: hashes have a figure of their own."""
    harness.warm(job.path)
    loader = packstone.Loader(_data(job), BATCH, order=order, seed=SEED, threads=int(job.mode.split()[1]), verify=False)
    return pytorch.epoch(loader, pytorch.tensors)


def single(job: Job) -> Done:
    """Single samples at random."""
    harness.warm(job.path)
    data = _data(job)
    chosen = harness.indices(0, len(data), SINGLES)
    nbytes = 0
    start = time.perf_counter()
    for index in chosen:
        nbytes += _size(data[index])
    return Done(time.perf_counter() - start, samples=SINGLES, bytes=nbytes)


def torch(job: Job, order: str) -> Done:
    """An epoch of a `DataLoader` over the loader."""
    harness.warm(job.path)
    dataset = IterableDataset(_data(job), BATCH, order=order, seed=SEED, verify=False)
    loader = DataLoader(dataset, batch_size=None, num_workers=pytorch.workers(job.mode))
    return pytorch.epoch(loader, pytorch.tensors)


def start(job: Job) -> Done:
    """From nothing to a batch of a shuffled epoch."""
    _data(job)
    begin = time.perf_counter()
    batch = next(packstone.Loader(_data(job), BATCH, shuffle=True, seed=SEED))
    return Done(time.perf_counter() - begin, samples=pytorch.tensors(batch)[0])


def _data(job: Job) -> packstone.Collection:
    dataset = packstone.open(job.path)
    return dataset[dataset.collections[0]]


def _size(sample: dict[str, Any]) -> int:
    return sum(_nbytes(value) for value in sample.values())


def _nbytes(value: Any) -> int:
    if isinstance(value, dict):
        return _size(value)
    return value.nbytes if isinstance(value, np.ndarray) else len(value)


def _figures() -> Iterator[tuple[str, Figure]]:
    for order in ("sequential", "shuffled"):
        for threads in (1, 2):
            run = lambda job, order=order: load(job, order)  # noqa: E731
            yield f"package-{order}-{threads}", Figure(run, (f"threads {threads}",))
        run = lambda job, order=order: torch(job, order)  # noqa: E731
        yield f"package-torch-{order}", Figure(run, pytorch.WORKERS)
    yield "package-memory", Figure(lambda job: harness.peak(lambda: load(job, "shuffled")), ("threads 2",))
    yield "package-single", Figure(single)
    yield "package-start", Figure(start)


def main() -> None:
    """Measures what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("format")
    parser.add_argument("--path", type=Path)
    parser.add_argument("--set", dest="name")
    parser.add_argument("--stored")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--what", nargs="+", default=[])
    options = parser.parse_args()
    job = Job(options.path, options.path.parent, options.name, options.stored, "", 1.0)
    for what, figure in _figures():
        if what in options.what:
            print(json.dumps(harness.measure(what, figure, job, options.runs)), flush=True)


if __name__ == "__main__":
    main()
