"""The original library: datasets written, checked and read with the real, pinned sedpack.

As a program, `sedpack_real.py DIR API` prints the values that one iteration API returns. The
APIs in Rust and with threads are always run that way: on bad data they abort or hang.
"""

import asyncio
import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import sedpack.io.dataset_filler as _filler
import tenacity
from sedpack.io import Attribute, Dataset, DatasetStructure, Metadata
from sedpack.io.shard_file_metadata import ShardInfo

import canonical
from canonical import Value
from schemas import Column, Example

#: One example: a value for each attribute, in schema order.
Row = dict[str, Value]

SPLITS = ("train", "test", "holdout")

_RUST_COMPRESSIONS = ("", "LZ4", "GZIP", "ZLIB", "ZSTD")

# The library sleeps for minutes between ten attempts to close a shard. One attempt will do.
_filler._close_shard.retry.stop = tenacity.stop_after_attempt(1)


@dataclasses.dataclass(frozen=True)
class Item:
    """One example to write, with its split and the metadata of its shard."""

    values: Example
    split: str = "train"
    metadata: dict[str, Any] | None = None


def create(
    path: Path,
    schema: list[Column],
    *,
    shard_type: str = "fb",
    compression: str = "",
    examples_per_shard: int = 3,
    hashes: tuple[str, ...] = ("sha256",),
    metadata: dict[str, Any] | None = None,
) -> Dataset:
    """Creates an empty dataset."""
    attributes = [
        Attribute(name=name, dtype=dtype, shape=shape, custom_metadata={"position": index})
        for index, (name, dtype, shape) in enumerate(schema)
    ]
    return Dataset.create(
        path=path,
        metadata=Metadata(
            description="written by the original — ünïcode",
            dataset_license="CC0",
            dataset_version="1.2.3",
            custom_metadata=metadata or {"source": "tests", "scale": 0.1, "wide": 2**70},
        ),
        dataset_structure=DatasetStructure(
            saved_data_description=attributes,
            compression=compression,
            examples_per_shard=examples_per_shard,
            shard_file_type=shard_type,
            hash_checksum_algorithms=hashes,
        ),
    )


def fill(dataset: Dataset, items: Iterable[Item]) -> None:
    """Appends examples with one filler."""
    with dataset.filler() as filler:
        for item in items:
            filler.write_example(
                values=item.values, split=item.split, custom_metadata=item.metadata
            )


def check(path: Path, expect: tuple[str, ...] = ()) -> None:
    """The library's own integrity check; raises if it finds anything."""
    Dataset(path).check(show_progressbar=False, hash_checksums_values=expect)


def columns(path: Path) -> list[Column]:
    """The schema as the library reads it."""
    attributes = Dataset(path).dataset_structure.saved_data_description
    return [Column(a.name, a.dtype, tuple(a.shape)) for a in attributes]


def shards(path: Path, split: str) -> list[ShardInfo]:
    """The shards of a split in the order of iteration."""
    return list(Dataset(path).shard_info_iterator(split))


def splits(path: Path) -> list[str]:
    """The populated splits, in the order train, test, holdout."""
    present = Dataset(path).dataset_info.splits
    return [split for split in SPLITS if split in present]


def apis(shard_type: str, compression: str) -> list[str]:
    """The iteration APIs that can read such a dataset, beside the plain `numpy`."""
    names = ["concurrent"]
    if shard_type == "fb":
        names.append("async")
        if compression in _RUST_COMPRESSIONS:
            names += ["rust", "batched"]
    return names


def examples(path: Path, split: str, api: str = "numpy") -> Iterator[Example]:
    """The examples of a split in the library's order, as one API returns them."""
    dataset = Dataset(path)
    arguments: dict[str, Any] = {"split": split, "shuffle": 0, "repeat": False}
    match api:
        case "numpy":
            yield from dataset.as_numpy_iterator(**arguments)
        case "concurrent":
            yield from dataset.as_numpy_iterator_concurrent(file_parallelism=2, **arguments)
        case "rust":
            yield from dataset.as_numpy_iterator_rust(file_parallelism=2, **arguments)
        case "batched":
            schema = columns(path)
            for batch in dataset.as_numpy_iterator_rust_batched(
                file_parallelism=2, batch_size=4, **arguments
            ):
                yield from _rows_of_batch(batch, schema)
        case "async":
            yield from asyncio.run(_collect(dataset.as_numpy_iterator_async(**arguments)))
        case _:
            raise ValueError(f"unknown API {api}")


def dump(path: Path, api: str = "numpy") -> dict[str, list[Row]]:
    """All values by split, in the dtypes that the schema declares."""
    if api != "numpy":
        return _dump_apart(path, api)
    return _dump_here(path, api)


def row(example: Example, schema: list[Column]) -> Row:
    """The canonical form of one example."""
    return {name: canonical.declared(example[name], dtype, shape) for name, dtype, shape in schema}


def _dump_here(path: Path, api: str) -> dict[str, list[Row]]:
    schema = columns(path)
    return {
        split: [row(example, schema) for example in examples(path, split, api)]
        for split in splits(path)
    }


def _dump_apart(path: Path, api: str) -> dict[str, list[Row]]:
    command = [sys.executable, __file__, str(path), api]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{api} ended with {done.returncode}: {done.stderr[-2000:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    return {
        split: [
            {name: Value(d, tuple(s), n, h) for name, (d, s, n, h) in row.items()} for row in rows
        ]
        for split, rows in found.items()
    }


def _rows_of_batch(batch: dict[str, Any], schema: list[Column]) -> Iterator[Example]:
    """Splits a batch into rows. Fixed bytes come as one flat list of single bytes."""
    fixed = {c.name: c.shape[0] for c in schema if c.dtype == "bytes" and c.shape}
    count = min(len(batch[column.name]) for column in schema if column.name not in fixed)
    for index in range(count):
        values = {}
        for name, column in batch.items():
            size = fixed.get(name)
            values[name] = (
                column[index] if size is None else b"".join(column[index * size :][:size])
            )
        yield values


async def _collect(iterator: Any) -> list[Example]:
    return [example async for example in iterator]


def _main() -> None:
    path, api = sys.argv[1:]
    found = _dump_here(Path(path), api)
    print(
        json.dumps(
            {
                split: [
                    {name: dataclasses.astuple(value) for name, value in row.items()}
                    for row in rows
                ]
                for split, rows in found.items()
            }
        )
    )


if __name__ == "__main__":
    _main()
