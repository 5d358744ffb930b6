"""packstone reads what the original library writes, and touches nothing."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from sedpack.io import Dataset

import packstone_cli as packstone
import sedpack_real as real
from conftest import BAD_CASES, GOLDEN, GOLDEN_CASES
from datasets import snapshot
from schemas import KINDS, full_schema, make_examples, shared_schema


@pytest.mark.parametrize(("shard_type", "compression"), KINDS)
def test_every_dtype_reads_equal(tmp_path: Path, shard_type: str, compression: str) -> None:
    schema = full_schema(shard_type)
    dataset = real.create(tmp_path, schema, shard_type=shard_type, compression=compression)
    splits = ["train", "test", "train", "holdout", "train"]
    examples = make_examples(schema, 20)
    real.fill(dataset, [real.Item(v, splits[i % 5]) for i, v in enumerate(examples)])

    before = snapshot(tmp_path)
    assert packstone.values(tmp_path) == real.dump(tmp_path)
    packstone.verify(tmp_path)
    assert snapshot(tmp_path) == before


# In npz_uncast the library returns values that its own schema cannot hold; which of them packstone
# may return is written in expected.json, and the Rust tests of the golden data read that.
@pytest.mark.parametrize("case", [case for case in GOLDEN_CASES if case != "npz_uncast"])
def test_golden_case_reads_as_the_library_reads_it(case: str) -> None:
    path = GOLDEN / case / "data"
    found = packstone.dump(path)
    splits = real.splits(path)
    assert sorted(found) == sorted(splits)
    for split in splits:
        samples = found[split]
        shards = [
            (shard.file_infos[0].file_path.as_posix(), shard.custom_metadata)
            for shard in real.shards(path, split)
            for _ in range(shard.number_of_examples)
        ]
        assert [sample.index for sample in samples] == list(range(len(shards)))
        assert [(sample.shard, sample.metadata) for sample in samples] == shards
    assert packstone.values(path) == real.dump(path)


#: Bad for the library, or bad in a way that no reader can see without the noted checksums.
VERIFY_CLEAN = {
    "dataset_info_changed",
    "extra_file",
    "fb_same_size_other_dtype",
}
#: Only worth a warning.
VERIFY_EITHER = {"self_path_mismatch"}


@pytest.mark.parametrize("case", BAD_CASES)
def test_bad_case_ends_with_a_word(case: str, tmp_path: Path) -> None:
    path = tmp_path / "data"
    shutil.copytree(GOLDEN / "bad" / case / "data", path)
    before = snapshot(path)
    for command in ("inspect", "head", "dump", "verify", "digest", "diff"):
        others = [path] if command == "diff" else []
        result = packstone.run(command, path, *others, expect=None)
        assert result.code == packstone.CLEAN or result.stdout + result.stderr, command
        if command == "verify" and case not in VERIFY_EITHER:
            assert (result.code == packstone.CLEAN) == (case in VERIFY_CLEAN)
    assert snapshot(path) == before


def test_a_slice_is_a_slice_of_the_whole(labelled_source: Path) -> None:
    whole = packstone.dump(labelled_source)["train"]
    assert len(whole) == 12
    for start, limit in [(0, 1), (3, 4), (5, 100), (11, 1), (12, 1)]:
        options = ("--collection", "train", "--start", str(start), "--limit", str(limit))
        part = packstone.dump(labelled_source, *options)
        assert part.get("train", []) == whole[start : start + limit]
        assert "holdout" not in part


def floats(values: Any) -> Any:
    """The values with what JSON has no word for, which stands as text, turned back."""
    if isinstance(values, list):
        return [floats(value) for value in values]
    return float(values) if isinstance(values, str) else values


def test_values_are_spelled_as_python_spells_them(tmp_path: Path) -> None:
    schema = shared_schema()
    examples = make_examples(schema, 12)
    real.fill(real.create(tmp_path, schema), [real.Item(values) for values in examples])
    lines = packstone.run("dump", tmp_path, "--values").stdout.splitlines()
    assert len(lines) == len(examples)
    for line, example in zip(lines, examples, strict=True):
        found = json.loads(line)["values"]
        assert repr(floats(found["x"])) == repr(example["x"].tolist())
        assert repr(floats(found["half"])) == repr(example["half"].tolist())
        assert found["label"] == int(example["label"])
        assert found["n"] == int(example["n"])
        assert found["text"] == example["text"]


def test_inspect_tells_what_the_library_knows(labelled_source: Path) -> None:
    found = packstone.inspect(labelled_source)
    info = Dataset(labelled_source).dataset_info
    assert found["format"] == "sedpack"
    assert {c["name"]: (c["samples"], c["shards"]) for c in found["collections"]} == {
        split: (pointer.number_of_examples, pointer.number_of_shards)
        for split, pointer in info.splits.items()
    }
    assert [field["name"] for field in found["schema"]] == [
        column.name for column in shared_schema()
    ]
    assert found["metadata"] == json.loads(info.metadata.model_dump_json())
