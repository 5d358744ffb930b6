"""The caches of the DatasetRT figures, written with the original; those that are there are kept.

* records: many payloads of 1 KiB, where the cost of each sample counts;
* blobs: payloads of 100 KiB, where the cost of each byte counts;
* million: a million payloads of 16 bytes, where the cost of the index and of the table counts.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dataset_rt import CacheInput, CacheWriteSuccess, DatasetRuntime, ShardCompression, WriterConfig

from bench.cases import LOAD, LOAD_ORDERS, LOAD_VERIFIED, PACKAGE, PACKAGE_RATES, Case, Format
from bench.harness import folder_name, whole
from bench.payloads import Payloads

NAME = "cache"
_SPLITS = ("train", "train", "train", "test", "holdout")


@dataclass(frozen=True)
class Inputs(Payloads):
    """Payloads with metadata beside them."""

    def inputs(self, scale: float) -> Iterator[CacheInput]:
        """All samples; the same ones at each call, whatever the scale."""
        for index, payload in enumerate(self.payloads(scale)):
            yield CacheInput(payload, metadata(index))


def metadata(index: int) -> dict[str, bool | int | float | str]:
    """What stands beside a payload: one column of each kind."""
    return {
        "id": index,
        "label": index * 7919 % 1_000,
        "score": index * 104_729 % 4_096 / 4_096,
        "split": _SPLITS[index * 31 % len(_SPLITS)],
        "valid": index % 3 != 0,
    }


class Source:
    """What the original writes from."""

    name = NAME

    def __init__(self, inputs: Iterator[CacheInput] | list[CacheInput]) -> None:
        """Yields these inputs."""
        self._inputs = inputs

    def __iter__(self) -> Iterator[CacheInput]:
        """The samples, one by one."""
        return iter(self._inputs)


SETS = {
    "records": Inputs(100_000, 1 << 10),
    "blobs": Inputs(10_000, 100 << 10),
    "million": Inputs(1_000_000, 16),
}


def ensure(folder: Path, name: str, stored: str, scale: float) -> Path:
    """The path of one cache, written now if it is not there."""
    path = folder / folder_name("datasetrt", name, stored, scale)
    if not path.exists():
        with whole(path) as partial:
            write(partial, Source(SETS[name].inputs(scale)), stored, threads=2, prefetch=64)
    return path / NAME


def write(base: Path, source: Source, stored: str, threads: int, prefetch: int) -> None:
    """Writes one cache below `base`."""
    config = WriterConfig(
        prefetch_size=prefetch, shard_compression=ShardCompression(algo=stored), show_progress=False
    )
    [result] = DatasetRuntime(num_workers=threads).write_cache(source, base, writer_config=config)
    if not isinstance(result, CacheWriteSuccess):
        raise RuntimeError(result.message)


_READ = tuple(
    f"{order}{how}-{threads}"
    for order in ("ordered", "shuffled") for how in ("", "-batches") for threads in (1, 2)
)  # fmt: skip
_STREAMS = ("write", *_READ)

FORMAT = Format(
    name="datasetrt",
    packages=("dataset-rt", "polars"),
    cases=(
        *(Case(name, stored, (*_STREAMS, *LOAD, *PACKAGE)) for name in ("records", "blobs") for stored in ("none", "lz4")),
        Case("million", "none", ("open", "open-memory", "table", "filter")),
    ),
    bases={
        "write": ("encode", "sha256"),
        **{what: ("decode", "memcpy") for what in (*_STREAMS, *LOAD_ORDERS, *PACKAGE_RATES) if what != "write"},
        **{what: ("sha256",) for what in LOAD_VERIFIED},
    },
    ensure=ensure,
)
