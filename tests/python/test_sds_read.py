"""packstone reads the datasets that the real signal-dataset writes, and touches nothing."""

import json
from pathlib import Path

import pytest

import packstone_cli as packstone
import sds_real as real
from conftest import SIGNALS
from datasets import snapshot

CASES = sorted(path.parent.name for path in SIGNALS.glob("*/expected.json"))


def spelled(records: object) -> str:
    """Text in which 1, 1.0 and true differ."""
    return json.dumps(records, sort_keys=True)


def check(root: Path) -> None:
    """Everything in the dataset is what the library reads, and nothing is touched."""
    before = snapshot(root)
    found = packstone.signals(root)
    expected = {"records": real.dump(root)} | {
        f"annotations/{name}": records for name, records in real.annotations(root).items()
    }
    assert spelled(found) == spelled({name: rows for name, rows in expected.items() if rows})
    packstone.verify(root)
    assert snapshot(root) == before


@pytest.mark.parametrize("per_shard", [7, 100])
def test_every_kind_of_record_reads_equal(tmp_path: Path, per_shard: int) -> None:
    real.write(tmp_path, real.make_records(27), per_shard=per_shard, per_page=3)
    check(tmp_path)


def test_options_of_reading_change_nothing(tmp_path: Path) -> None:
    records = real.make_records(40, seed=1)
    real.write(tmp_path, records, per_shard=11)
    expected = spelled({"records": [real.said(record) for record in records]})
    for options in [(), ("--threads", "0"), ("--verify", "--threads", "3")]:
        assert spelled(packstone.signals(tmp_path, *options)) == expected, options
    part = packstone.signals(tmp_path, "--start", "9", "--limit", "15")
    assert spelled(part["records"]) == spelled([real.said(record) for record in records[9:24]])


def test_the_last_attempt_counts_and_ids_sort_as_texts(tmp_path: Path) -> None:
    import signal_dataset as sds

    records = real.make_records(6)
    shards = [
        sds.write_shard(records[at : at + 1], str(tmp_path), work_id=work, attempt=attempt)
        for at, (work, attempt) in enumerate([("2", 0), ("10", 0), ("a", 1), ("a", 0), ("10", 2)])
    ]
    dataset = sds.publish(str(tmp_path), shards, dataset_id="d", snapshot_id="s/ü")
    assert [record.id for record in dataset] == [records[at].id for at in (4, 0, 2)]
    check(tmp_path)


def test_no_records_are_no_records(tmp_path: Path) -> None:
    real.write(tmp_path, [])
    check(tmp_path)


@pytest.mark.parametrize("workers", [False, True])
def test_annotations_read_equal(tmp_path: Path, workers: bool) -> None:
    dataset = real.write(tmp_path, real.make_records(10), per_shard=4)
    real.annotate(dataset, "labels", seed=1, workers=workers)
    real.annotate(real.open_root(tmp_path), "more.labels-2", seed=2)
    check(tmp_path)


@pytest.mark.parametrize("per_page", [2, 10_000])
def test_views_read_as_what_they_select(tmp_path: Path, per_page: int) -> None:
    source = real.write(tmp_path / "source", real.make_records(12), per_shard=5)
    real.annotate(source, "labels")
    whole = real.dump(tmp_path / "source")
    indices = [3, 4, 0, 11, 11, 10, -1, 5, 6, 7, 8]
    real.view_inside(tmp_path, "source", indices, per_page=per_page)
    assert [record["id"] for record in real.dump(tmp_path)] == [whole[i]["id"] for i in indices]
    check(tmp_path)


def test_copies_of_selections_read_as_what_they_select(tmp_path: Path) -> None:
    real.annotate(real.write(tmp_path / "source", real.make_records(9), per_shard=4), "labels")
    real.materialize(tmp_path / "source", tmp_path / "copy", [8, 2, 2, 0], per_shard=3)
    check(tmp_path / "copy")


@pytest.mark.parametrize("case", CASES)
def test_golden_case_reads_as_the_library_reads_it(case: str) -> None:
    check(SIGNALS / case / "data")


def test_what_the_library_refuses_is_refused(tmp_path: Path) -> None:
    real.write(tmp_path, real.make_records(4))
    (shard,) = (tmp_path / "objects" / "data").rglob("*.arrayrecord")
    whole = shard.read_bytes()
    # In the data of the second chunk of records.
    second = whole.index(b"(\xb5/\xfd", whole.index(b"(\xb5/\xfd", 200) + 100)
    shard.write_bytes(whole[: second + 30] + bytes([whole[second + 30] ^ 1]) + whole[second + 31 :])
    with pytest.raises(RuntimeError, match="hash mismatch"):
        list(real.open_root(tmp_path))
    packstone.run("dump", tmp_path, expect=packstone.FAILURE)
    report = packstone.verify(tmp_path, expect=packstone.FINDINGS)
    assert "sds/shard_damaged" in packstone.finding_codes(report)
    shard.write_bytes(whole[:-65536])
    with pytest.raises(sds_errors()):
        list(real.open_root(tmp_path))
    packstone.run("dump", tmp_path, expect=packstone.FAILURE)
    shard.unlink()
    with pytest.raises(FileNotFoundError):
        list(real.open_root(tmp_path))
    packstone.run("dump", tmp_path, expect=packstone.FAILURE)


def sds_errors() -> type[Exception]:
    """The library's error for stored things that contradict each other."""
    from signal_dataset import CorruptDatasetError

    return CorruptDatasetError


def test_documents_that_the_library_refuses_are_refused(tmp_path: Path) -> None:
    real.write(tmp_path, real.make_records(2))
    root = tmp_path / "root.json"
    text = root.read_text(encoding="utf-8")
    for old, new in [
        ('"0.1"', '"0.2"'),
        ("safetensors", "pickle"),
        ('"0.3.0"', '"99.0"'),
        ("signal-dataset.dataset", "signal-dataset.snapshot"),
        ('"stored_bytes": ', '"stored_bytes": 1'),
        ('"metadata": {}', '"metadata": {"a": NaN}'),
        ('"metadata": {}', '"metadata": {"a": 1, "a": 1}'),
    ]:
        assert old in text
        root.write_text(text.replace(old, new), encoding="utf-8")
        with pytest.raises(sds_errors()):
            real.open_root(tmp_path)
        packstone.run("dump", tmp_path, expect=packstone.FAILURE)
