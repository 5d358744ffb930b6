"""An epoch of a PyTorch `DataLoader`, over an original or over packstone."""

import time
from collections.abc import Callable, Iterable
from typing import Any

from bench.cases import Done

#: Modes of a `DataLoader`: how many processes it has. Starting them is a part of the epoch.
WORKERS = ("workers 0", "workers 2")


def workers(mode: str) -> int:
    """The number of processes of a mode."""
    return int(mode.split()[1])


def epoch(loader: Iterable[Any], size: Callable[[Any], tuple[int, int]]) -> Done:
    """The time of all batches; `size` says samples and bytes of one."""
    samples = nbytes = 0
    start = time.perf_counter()
    for batch in loader:
        more = size(batch)
        samples, nbytes = samples + more[0], nbytes + more[1]
    return Done(time.perf_counter() - start, samples=samples, bytes=nbytes)


def tensors(batch: Any) -> tuple[int, int]:
    """Samples and bytes of a batch: of tensors in dicts, or a list of tensors, arrays or bytes."""
    if isinstance(batch, list):
        return len(batch), sum(len(row) if isinstance(row, bytes) else row.nbytes for row in batch)
    values = list(batch.values())
    found = [tensors(value) if isinstance(value, dict | list) else (len(value), value.nbytes) for value in values]
    return max(samples for samples, _ in found), sum(nbytes for _, nbytes in found)
