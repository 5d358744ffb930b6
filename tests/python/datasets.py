"""Datasets that the original library writes once for many tests, which only read them."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

import sedpack_real as real
from schemas import full_schema, make_examples, shared_schema

Snapshot = dict[str, tuple[int, int]]

#: From which shard type the full schema of another is converted: never from itself.
_SOURCE_TYPE = {"fb": "npz", "npz": "fb", "tfrec": "fb"}


@pytest.fixture(scope="session")
def full_sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By shard type: a dataset of another type with every dtype that this one can carry."""
    folder = tmp_path_factory.mktemp("full")
    sources = {}
    for target, source in _SOURCE_TYPE.items():
        schema = full_schema(target)
        examples = make_examples(schema, 14, seed=1)
        items = [real.Item(v, "train" if i % 3 else "test") for i, v in enumerate(examples)]
        sources[target] = folder / f"for-{target}"
        real.fill(real.create(sources[target], schema, shard_type=source), items)
    return sources


@pytest.fixture(scope="session")
def labelled_source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset that every shard type can carry, with shard metadata that changes."""
    path = tmp_path_factory.mktemp("labelled") / "dataset"
    schema = shared_schema()
    labels: list[dict[str, Any] | None] = [
        None,
        {"key": [1, 2], "µ": 0.5},
        {"key": [1, 2], "µ": 0.5},
        {"key": []},
        {"deep": {"a": None}},
    ]
    items = [
        real.Item(values, "holdout" if i < 3 else "train", labels[i // 3])
        for i, values in enumerate(make_examples(schema, 15, seed=2))
    ]
    real.fill(real.create(path, schema, examples_per_shard=4), items)
    return path


def snapshot(path: Path) -> Snapshot:
    """Size and time of every file below a folder."""
    return {
        str(file.relative_to(path)): (file.stat().st_size, file.stat().st_mtime_ns)
        for file in sorted(path.rglob("*"))
    }


def shard_hashes(path: Path) -> dict[str, list[str]]:
    """The SHA-256 of every shard file by split, in the order of the lists."""
    return {
        split: [
            hashlib.sha256((path / shard.file_infos[0].file_path).read_bytes()).hexdigest()
            for shard in real.shards(path, split)
        ]
        for split in real.splits(path)
    }
