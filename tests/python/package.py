"""What the tests of the Python package share: its values in the form that golden data is written in."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import packstone

#: Bytes and their SHA-256.
Print = tuple[int, str]


def fingerprint(value: Any) -> Print:
    """Size and SHA-256 of a value's bytes; text is UTF-8."""
    if isinstance(value, np.ndarray):
        data = value.tobytes()
    elif isinstance(value, str):
        data = value.encode("utf-8", "surrogatepass")
    else:
        data = bytes(value)
    return len(data), hashlib.sha256(data).hexdigest()


def expected(path: Path) -> dict[str, Any]:
    """A document of expectations."""
    return json.loads(path.read_text())


def flat(sample: dict[str, Any], way: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The values of nested dicts with the keys that lead there."""
    for name, value in sample.items():
        if isinstance(value, dict):
            yield from flat(value, (*way, name))
        else:
            yield (*way, name), value


def same(one: Any, other: Any) -> bool:
    """True for values that are equal, dicts and lists of arrays included."""
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and fingerprint(one) == fingerprint(other)
    return type(one) is type(other) and one == other


def row(batch: dict[str, Any], index: int) -> dict[str, Any]:
    """One sample of a batch, as an index gives it."""
    return {
        name: row(value, index) if isinstance(value, dict) else _element(value, index)
        for name, value in batch.items()
    }


def _element(values: Any, index: int) -> Any:
    # An index alone would make a scalar of the last dimension.
    return values[index, ...] if isinstance(values, np.ndarray) else values[index]


def numbered(path: Path, count: int, per_shard: int = 5) -> packstone.Collection:
    """Samples in shards, each with its number."""
    from sedpack.io import Dataset
    from sedpack.io.metadata import Attribute, DatasetStructure, Metadata

    structure = DatasetStructure(
        saved_data_description=[
            Attribute(name="number", dtype="int64", shape=()),
            Attribute(name="values", dtype="float32", shape=(3,)),
        ],
        shard_file_type="fb",
        compression="LZ4",
        examples_per_shard=per_shard,
    )
    dataset = Dataset.create(path=path, metadata=Metadata(description="numbers"), dataset_structure=structure)
    with dataset.filler() as filler:
        for number in range(count):
            values = {"number": np.int64(number), "values": np.full(3, number, dtype=np.float32)}
            filler.write_example(values=values, split="train")
    return packstone.open(path)["train"]


def numbers(batches: Any) -> list[list[int]]:
    """The numbers of the samples of each batch."""
    return [batch["number"].tolist() for batch in batches]


def joined(batches: list[list[int]]) -> list[int]:
    return [number for batch in batches for number in batch]
