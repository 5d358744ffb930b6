"""packstone and the original library write into one dataset, one after the other."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sedpack.io import Dataset
from sedpack.io.dataset_filler import DatasetFiller

import packstone_cli as packstone
import sedpack_real as real
from schemas import KINDS, Example, make_examples, shared_schema

SCHEMA = shared_schema()


def rows(examples: list[Example]) -> list[real.Row]:
    return [real.row(example, SCHEMA) for example in examples]


def more(seed: int, count: int = 5) -> list[Example]:
    """Examples without empty bytes, which the library changes in fb."""
    return make_examples(SCHEMA, count + 1, seed)[1:]


@pytest.mark.parametrize(("shard_type", "compression"), KINDS)
def test_the_library_appends_to_what_packstone_wrote(
    labelled_source: Path, tmp_path: Path, shard_type: str, compression: str
) -> None:
    target = tmp_path / "out"
    packstone.convert(
        labelled_source,
        target,
        shard_type=shard_type,
        compression=compression,
        examples_per_shard=2,
        hashes=("sha256", "xxh64"),
    )
    before = real.dump(target)
    train, test = more(3), more(4)
    real.fill(Dataset(target), [real.Item(v) for v in train])
    real.fill(Dataset(target), [real.Item(v, "test", {"late": True}) for v in test])
    real.check(target)

    expected = before | {"train": before["train"] + rows(train), "test": rows(test)}
    assert real.dump(target) == expected
    packstone.verify(target)
    assert packstone.values(target) == expected


def worker(path: Path, name: str, examples: list[Example], part: Path) -> None:
    """A worker of the library: its shards are visible to nobody until the merge."""
    filler = DatasetFiller(
        Dataset(path), relative_path_from_split=Path(name), auto_update_dataset=False
    )
    with filler as context:
        for values in examples:
            context.write_example(values=values, split="train")
    infos = [json.loads(info.model_dump_json()) for info in filler.get_updated_infos()]
    part.write_text(json.dumps(infos), encoding="utf-8")


@pytest.mark.parametrize("shard_type", ["fb", "npz", "tfrec"])
def test_packstone_merges_workers_of_the_library(tmp_path: Path, shard_type: str) -> None:
    path = tmp_path / "dataset"
    real.create(path, SCHEMA, shard_type=shard_type, examples_per_shard=2)
    work = {"job/b": more(5), "job/a": more(6), "c": more(7)}
    parts = []
    for index, (name, examples) in enumerate(work.items()):
        parts.append(tmp_path / f"part-{index}.json")
        worker(path, name, examples, parts[-1])
    assert real.dump(path) == {}
    packstone.merge(path, parts)
    real.check(path)

    expected = {"train": rows([v for examples in work.values() for v in examples])}
    assert real.dump(path) == expected
    packstone.verify(path)

    # Merging again changes nothing, and the library goes on from there.
    packstone.merge(path, parts)
    assert real.dump(path) == expected
    late = more(8)
    real.fill(Dataset(path), [real.Item(values) for values in late])
    real.check(path)
    assert real.dump(path) == {"train": expected["train"] + rows(late)}
    packstone.verify(path)


def test_repair_salvages_what_a_killed_library_writer_left(tmp_path: Path) -> None:
    path = tmp_path / "dataset"
    first, second = more(9, 4), more(10, 6)
    real.fill(real.create(path, SCHEMA, examples_per_shard=2), [real.Item(v) for v in first])
    with subprocess.Popen([sys.executable, __file__, str(path)], start_new_session=True) as writer:
        assert writer.wait(timeout=60) == -signal.SIGKILL
        # The library's pool outlives its parent.
        os.killpg(writer.pid, signal.SIGKILL)
    assert real.dump(path) == {"train": rows(first)}

    packstone.repair(path)
    real.check(path)
    found = real.dump(path)["train"]
    assert found[:4] == rows(first)
    shards = [tuple(found[i : i + 2]) for i in range(4, len(found), 2)]
    expected = rows(second)
    assert sorted(shards, key=repr) == sorted(
        zip(expected[::2], expected[1::2], strict=True), key=repr
    )
    packstone.verify(path)


def _die_while_writing(path: Path) -> None:
    """Writes three full shards and is killed before any list names them."""
    context = Dataset(path).filler().__enter__()
    for values in more(10, 6):
        context.write_example(values=values, split="train")
    progress = context._current_shards_progress["train"]
    context.close_shard(progress.shard, "train")
    for future in context._future_shard_infos["train"]:
        future.result()
    signal.raise_signal(signal.SIGKILL)


if __name__ == "__main__":
    _die_while_writing(Path(sys.argv[1]))
