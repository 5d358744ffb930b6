"""The original library: caches written, read and migrated with the real, pinned dataset-rt."""

import hashlib
import random
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dataset_rt as drt
import polars as pl
from dataset_rt.metadata import arrow_metadata

#: One sample: its payload and what is said about it.
Item = tuple[bytes, dict[str, Any]]


@dataclass(frozen=True)
class Sample:
    """What was read of one sample."""

    cache_id: int
    sample_id: int
    nbytes: int
    sha256: str
    metadata: dict[str, Any]


def sha256(data: bytes) -> str:
    """The digest of a payload."""
    return hashlib.sha256(data).hexdigest()


class _Source:
    def __init__(self, name: str, items: Sequence[Item]) -> None:
        self.name = name
        self._items = items

    def __iter__(self) -> Iterator[drt.CacheInput]:
        return (drt.CacheInput(data, metadata) for data, metadata in self._items)


def write(
    base: Path,
    name: str,
    items: Sequence[Item],
    *,
    algo: str = "none",
    ratio: float = 1.0,
    max_shard_bytes: int = 64 << 20,
) -> Path:
    """Writes the cache BASE/NAME."""
    config = drt.WriterConfig(
        show_progress=False,
        max_shard_bytes=max_shard_bytes,
        shard_compression=drt.ShardCompression(algo=algo, ratio=ratio),
    )
    runtime = drt.DatasetRuntime(num_workers=1)
    (result,) = runtime.write_cache([_Source(name, items)], base, writer_config=config)
    assert isinstance(result, drt.CacheWriteSuccess), result
    return Path(result.path)


def open_caches(
    paths: Sequence[Path], *, validate: bool = True, **config: Any
) -> drt.CachedDataset:
    """Opens caches as one dataset, in the order of the table unless told otherwise."""
    config = {"seed": 0, "shuffle": False, "validate_cache": validate, **config}
    runtime = drt.DatasetRuntime(num_workers=2)
    names = [str(path) for path in paths]
    return runtime.cached_dataset(names, reader_config=drt.ReaderConfig(**config))


def dump(paths: Sequence[Path], *, validate: bool = True) -> list[Sample]:
    """All samples in order, metadata as the table has them, which is exact."""
    dataset = open_caches(paths, validate=validate)
    table = arrow_metadata(dataset._inner)
    columns = [column.to_pylist() for column in table.columns[2:-1]]
    rows = zip(*columns, strict=True) if columns else iter(())
    names = table.column_names[2:-1]
    return [
        Sample(
            sample.cache_id,
            sample.sample_id,
            len(sample.data),
            sha256(sample.data),
            dict(zip(names, row, strict=True)),
        )
        for sample, row in zip(dataset, rows, strict=True)
    ]


def identities(table: pl.DataFrame) -> list[tuple[int, int]]:
    """Which samples the rows of a table are."""
    return list(zip(table["cache_id"].to_list(), table["sample_id"].to_list(), strict=True))


def migrate(paths: Sequence[Path]) -> list[tuple[str, int, str]]:
    """Migrates manifests to version 3: path, id and status of each."""
    result = open_caches(paths, validate=False).update_manifests(version=3)
    assert isinstance(result, drt.Ok), result
    return [(str(entry.path), entry.cache_id, entry.status) for entry in result.value.entries]


_WORDS = ["", "cat", "Füchse", "鳥", '"quoted" \\ \n\t\x01', "😀", "\u2028", "a/b"]


_FLOATS = [0.0, -0.0, 1.0, 100.0, 1e16, -12.25, 1e-7, 5e-324]


def easy_float(rng: random.Random) -> float:
    """A double that the library reads back as it was, whatever its copy in the shard."""
    return rng.choice([*_FLOATS, rng.randrange(-1000, 1000) / 8])


def any_float(rng: random.Random) -> float:
    """A double of any bits, but finite."""
    while True:
        (value,) = struct.unpack("<d", rng.randbytes(8))
        if value - value == 0:
            return value


def make_items(count: int, *, seed: int = 0, floats: Any = easy_float) -> list[Item]:
    """Samples with every kind of metadata, odd names of columns, and payloads of any length."""
    rng = random.Random(seed)
    edges = [0, 1, -1, 2**63 - 1, -(2**63), 10]
    return [
        (
            rng.randbytes(rng.choice([0, 1, 7, 300, 5000])) + b"ab" * rng.randrange(50),
            {
                "flag": rng.random() < 0.5,
                "ünïcode name": rng.choice(_WORDS),
                "rank": rng.choice([*edges, rng.randrange(-(10**12), 10**12)]),
                "score": floats(rng),
                "": index,
                "label": index % 7,
            },
        )
        for index in range(count)
    ]
