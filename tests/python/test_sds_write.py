"""The real signal-dataset opens what packstone writes, and finds in it what was there; equal input gives equal files."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import canonical
import datasetrt_real
import packstone_cli as packstone
import sds_real as real
import sedpack_real
from conftest import SIGNALS
from datasets import snapshot
from schemas import make_examples, shared_schema
from test_datasetrt_write import files
from test_sds_read import CASES, spelled


@pytest.mark.parametrize(
    ("count", "per_shard", "per_page"), [(27, 27, 10_000), (27, 7, 2), (0, 5, 5)]
)
def test_equal_records_give_the_files_of_the_library(
    tmp_path: Path, count: int, per_shard: int, per_page: int
) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    metadata = {"about": {"ü": [1, 1.0, None]}, "scale": 1e-7}
    records = real.make_records(count)
    real.write(theirs, records, per_shard=per_shard, per_page=per_page, metadata=metadata)
    packstone.to_sds(theirs, ours, f"records_per_shard={per_shard}", f"shards_per_page={per_page}")
    found, expected = files(ours), files(theirs)
    assert sorted(found) == sorted(expected)
    assert [name for name in found if found[name] != expected[name]] == []
    assert spelled(real.dump(ours)) == spelled([real.said(record) for record in records])


def test_long_records_give_the_files_of_the_library(tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    records = real.alike_records(3, size=200_000) + real.alike_records(4, size=3_000, seed=1)
    real.write(theirs, records)
    packstone.to_sds(theirs, ours)
    assert files(ours) == files(theirs)


@pytest.mark.parametrize("case", CASES)
def test_copies_of_golden_cases_are_read_by_the_library(tmp_path: Path, case: str) -> None:
    source = SIGNALS / case / "data"
    copy = tmp_path / "copy"
    packstone.to_sds(source, copy, "records_per_shard=3")
    assert spelled(real.dump(copy)) == spelled(real.dump(source))
    assert spelled(real.annotations(copy)) == spelled(real.annotations(source))
    packstone.verify(copy)


def test_annotations_are_published_again(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    dataset = real.write(source, real.make_records(10), per_shard=4)
    real.annotate(dataset, "labels", seed=1)
    real.annotate(real.open_root(source), "workers", seed=2, workers=True)
    packstone.to_sds(source, target)
    assert spelled(real.annotations(target)) == spelled(real.annotations(source))
    # The library goes on from there.
    real.annotate(real.open_root(target), "third", seed=3)
    assert list(packstone.signals(target)) == [
        "records",
        *(f"annotations/{name}" for name in ("labels", "third", "workers")),
    ]
    packstone.verify(target)


def test_a_view_becomes_a_dataset_of_its_own(tmp_path: Path) -> None:
    source = real.write(tmp_path / "view" / "source", real.make_records(8), per_shard=3)
    real.annotate(source, "labels")
    real.view_inside(tmp_path / "view", "source", [7, 0, 0, 1, 2])
    packstone.to_sds(tmp_path / "view", tmp_path / "copy")
    expected = real.dump(tmp_path / "view"), real.annotations(tmp_path / "view")
    shutil.rmtree(tmp_path / "view")
    assert spelled(real.dump(tmp_path / "copy")) == spelled(expected[0])
    assert spelled(real.annotations(tmp_path / "copy")) == spelled(expected[1])


def test_the_library_makes_views_and_annotations_of_what_packstone_writes(tmp_path: Path) -> None:
    real.write(tmp_path / "theirs", real.make_records(9), per_shard=4)
    ours = tmp_path / "view" / "ours"
    packstone.to_sds(tmp_path / "theirs", ours, "records_per_shard=2")
    real.annotate(real.open_root(ours), "labels")
    real.view_inside(tmp_path / "view", "ours", [5, 4, 8])
    whole = real.dump(tmp_path / "theirs")
    assert [record["id"] for record in real.dump(tmp_path / "view")] == [whole[i]["id"] for i in (5, 4, 8)]
    found = packstone.signals(tmp_path / "view")
    assert spelled(found["records"]) == spelled([whole[i] for i in (5, 4, 8)])
    assert len(found["annotations/labels"]) == 3


def test_sedpack_arrives_and_comes_back(tmp_path: Path) -> None:
    source, target, back = tmp_path / "sedpack", tmp_path / "sds", tmp_path / "back"
    schema = shared_schema()
    examples = make_examples(schema, 11)
    items = [
        sedpack_real.Item(values, "train" if index % 3 else "test", {"index": index, "µ": 0.5})
        for index, values in enumerate(examples)
    ]
    sedpack_real.fill(sedpack_real.create(source, schema), items)
    packstone.to_sds(source, target, "records_per_shard=4")
    dataset = real.open_root(target)
    assert sorted(record.id for record in dataset)[:2] == ["test/0", "test/1"]
    order = [item for split in ("train", "test") for item in items if item.split == split]
    if next(iter(dataset)).id.startswith("test"):
        order.sort(key=lambda item: item.split)
    for item, record in zip(order, dataset, strict=True):
        assert record.metadata["index"] == item.metadata["index"]
        row = sedpack_real.row(item.values, schema)
        for name, field in record.items():
            if name not in row or row[name].dtype in ("str", "bytes"):
                continue
            # A scalar is one element along one axis.
            stored = canonical.returned(np.ascontiguousarray(field.data))
            expected = row[name]
            shape = expected.shape or (1,)
            assert (stored.dtype, stored.shape, stored.sha256) == (
                expected.dtype,
                shape,
                expected.sha256,
            ), name
    packstone.verify(target)
    assert packstone.digest(target) == packstone.digest(source)
    packstone.convert(target, back, shard_type="fb")
    assert packstone.digest(back) == packstone.digest(source)
    sedpack_real.check(back)


def test_caches_arrive_and_come_back(tmp_path: Path) -> None:
    items = datasetrt_real.make_items(25)
    source = datasetrt_real.write(tmp_path / "caches", "cache", items)
    target, back = tmp_path / "sds", tmp_path / "back"
    packstone.to_sds(source, target)
    payloads = [data for data, _ in items]
    dataset = real.open_root(target)
    for payload, (_, metadata), record in zip(payloads, items, dataset, strict=True):
        (field,) = (field for field in record.values() if field.data.dtype == np.uint8)
        assert field.data.tobytes() == payload
        assert json.dumps(real.thawed(record.metadata), sort_keys=True) == json.dumps(
            metadata, sort_keys=True
        )
    packstone.to_datasetrt(target, back)
    assert packstone.digest(back) == packstone.digest(source)
    found = datasetrt_real.dump([back / "cache"])
    assert [(sample.sha256, sample.metadata) for sample in found] == [
        (datasetrt_real.sha256(data), metadata) for data, metadata in items
    ]


def test_records_become_trees_and_come_back(tmp_path: Path) -> None:
    source, tree, back = tmp_path / "source", tmp_path / "tree", tmp_path / "back"
    records = real.alike_records(10)
    real.write(source, records, per_shard=4)
    packstone.to_tensordict(source, tree)
    packstone.to_sds(tree, back)
    expected = [real.said(record) for record in records]
    found = real.dump(back)
    for one, other in zip(found, expected, strict=True):
        # Ids are those of the place: a tree has none.
        assert spelled(one["fields"]) == spelled(other["fields"])
        assert one["metadata"] == other["metadata"]
    assert packstone.digest(back) == packstone.digest(source)


def test_what_is_there_is_not_touched(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    real.write(source, real.make_records(3))
    real.write(target, real.make_records(2, seed=1))
    before = snapshot(target)
    packstone.to_sds(source, target, expect=packstone.FAILURE)
    assert snapshot(target) == before


@pytest.mark.parametrize("materialize", [False, True])
def test_views_of_the_program_are_those_of_the_library(tmp_path: Path, materialize: bool) -> None:
    real.annotate(real.write(tmp_path / "source", real.make_records(11), per_shard=4), "labels")
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    indices = [9, 0, 0, -1, 3, 4, 5]
    packstone.view(source=tmp_path / "source", target=ours, indices=indices, materialize=materialize)
    real.open_root(tmp_path / "source").select(indices).publish(str(theirs), dataset_id="dataset", snapshot_id="vw")
    expected = spelled(real.dump(theirs)), spelled(real.annotations(theirs))
    assert (spelled(real.dump(ours)), spelled(real.annotations(ours))) == expected
    # References of both are absolute: who reads them has to allow it.
    follow = ("--follow", str(tmp_path))
    for view in (theirs, ours):
        refused = packstone.CLEAN if materialize and view == ours else packstone.FAILURE
        packstone.run("dump", view, expect=refused)
        found = packstone.signals(view, *follow)
        assert spelled(found["records"]) == expected[0]
        assert spelled({"labels": found["annotations/labels"]}) == expected[1]


def test_annotations_of_the_program_are_read_by_the_library(tmp_path: Path) -> None:
    real.annotate(real.write(tmp_path, real.make_records(7), per_shard=3), "theirs")
    lines = [
        {
            "status": ["success", "skipped", "failed"][index % 3],
            "values": {"label": index, "µ": [0.5, None]},
            "fields": {"mask": {"dtype": "uint8", "data": [[index, 1], [1, 0]]}} if index % 3 == 0 else {},
            "provenance": {"model": "m"},
        }
        for index in range(7)
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    file = tmp_path / "annotations.jsonl"
    file.write_text(text, encoding="utf-8")
    packstone.annotate(tmp_path, file, "ours", '{"by": "hand"}')
    found = real.open_root(tmp_path).annotations
    assert sorted(found) == ["ours", "theirs"]
    assert found["ours"].metadata == {"by": "hand"}
    for index, (line, record) in enumerate(zip(lines, found["ours"], strict=True)):
        assert record.source_index == index
        assert (record.status.value, real.thawed(record.values)) == (line["status"], line["values"])
        assert real.thawed(record.provenance) == line["provenance"]
        masks = [field.data.tolist() for field in record.fields.values()]
        assert masks == ([[[index, 1], [1, 0]]] if line["fields"] else [])
