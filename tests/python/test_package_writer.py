"""What the Python package writes: read back equal by itself, and by the original libraries."""

import multiprocessing
import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import packstone
import sedpack_real
from package import row, same

SCHEMA = [
    packstone.field("number", "int64"),
    packstone.field("values", np.float32, (3,)),
    packstone.field("text", str),
]


def samples(count: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    return [
        {
            "number": np.array(n),
            "values": rng.random(3, dtype=np.float32),
            "text": "é" * n,
        }
        for n in range(count)
    ]


def check(path: Path, wanted: list[dict[str, Any]]) -> None:
    """All samples of a dataset of one collection."""
    dataset = packstone.open(path)
    assert packstone.verify(path).clean
    (name,) = dataset.collections
    assert all(map(same, dataset[name], wanted)) and len(dataset[name]) == len(wanted)


@pytest.mark.parametrize("kind", ["fb", "npz"])
def test_the_original_reads_what_is_written(kind: str, tmp_path: Path) -> None:
    path, wanted = tmp_path / "new", samples(11)
    options = {"shard_type": kind, "examples_per_shard": 4}
    with packstone.create(path, format="sedpack", schema=SCHEMA, options=options) as writer:
        assert [field.name for field in writer.schema] == ["number", "values", "text"]
        for sample in wanted[:3]:
            writer.write("train", sample)
        rest = wanted[3:]
        batch = {
            "number": np.arange(3, 11),
            "values": np.stack([sample["values"] for sample in rest]),
            "text": [sample["text"] for sample in rest],
        }
        writer.write_batch("train", batch)
    check(path, wanted)
    schema = sedpack_real.columns(path)
    assert sedpack_real.dump(path)["train"] == [sedpack_real.row(s, schema) for s in wanted]


@pytest.mark.parametrize("to", ["sds", "tensordict"])
def test_formats_with_words_for_it_are_written(to: str, tmp_path: Path) -> None:
    schema = [packstone.field("n", "int16", (2,)), packstone.field("c", "complex64", (2, 2))]
    batch = {
        "n": np.arange(10, dtype=np.int16).reshape(5, 2),
        "c": np.arange(20).reshape(5, 2, 2).astype(np.complex64),
    }
    (name,) = names = ["records"] if to == "sds" else ["data"]
    writer = packstone.create(tmp_path / "new", format=to, schema=schema, collections=names)
    writer.write_batch(name, batch)
    assert writer.finish().samples == 5
    check(tmp_path / "new", [row(batch, index) for index in range(5)])


def test_types_that_numpy_lacks_are_written(tmp_path: Path) -> None:
    import ml_dtypes

    schema = [packstone.field("half", ml_dtypes.bfloat16, (2,))]
    halves = np.arange(6).reshape(3, 2).astype(ml_dtypes.bfloat16)
    with packstone.create(tmp_path / "t", format="tensordict", schema=schema, collections=["t"]) as w:
        w.write_batch("t", {"half": halves})
    check(tmp_path / "t", [{"half": half} for half in halves])
    with pytest.raises(packstone.UnsupportedError):
        packstone.create(tmp_path / "s", format="sds", schema=schema, collections=["records"])
    assert not (tmp_path / "s").exists()


def test_nested_keys_are_nested_dicts(tmp_path: Path) -> None:
    schema = [packstone.field(("a", "b"), "uint8"), packstone.field(("a", "c"), "float64", (2,))]
    batch = {"a": {"b": np.arange(3, dtype=np.uint8), "c": np.ones((3, 2))}}
    with packstone.create(tmp_path / "t", format="tensordict", schema=schema, collections=["t"]) as w:
        w.write_batch("t", batch)
        for wrong in ({"a": {"b": batch["a"]["b"]}}, {"a": {**batch["a"], "d": 1}}, {"a": 1}, {}):
            with pytest.raises(KeyError):
                w.write_batch("t", wrong)
    dataset = packstone.open(tmp_path / "t")
    assert same(dataset[dataset.collections[0]][:], batch)


def test_nothing_is_left_after_an_exception(tmp_path: Path) -> None:
    path = tmp_path / "new"
    with pytest.raises(ZeroDivisionError):
        with packstone.create(path, format="sedpack", schema=SCHEMA) as writer:
            writer.write("train", samples(1)[0])
            raise ZeroDivisionError
    assert not path.exists() or not packstone.open(path).collections
    with pytest.raises(packstone.InvalidError):
        writer.finish()
    with pytest.raises(packstone.InvalidError):
        writer.write("train", samples(1)[0])


def test_values_are_never_changed(tmp_path: Path) -> None:
    with packstone.create(tmp_path / "new", format="sedpack", schema=SCHEMA) as writer:
        good = samples(2)[1]
        writer.write("train", good | {"number": 1, "values": [1, 2.5, 3]})
        writer.write("train", good | {"number": np.uint8(200), "values": np.ones(3, np.float16)})
        for wrong in (
            {"number": 0.5},
            {"number": 2**63},
            {"values": np.ones(3)},
            {"values": np.ones(4, np.float32)},
            {"text": b"bytes"},
            {"text": None},
        ):
            with pytest.raises((TypeError, ValueError)):
                writer.write("train", good | wrong)
        with pytest.raises(packstone.InvalidError):
            writer.write_batch(
                "train", {"number": [1, 2], "values": np.ones((3, 3), np.float32), "text": ["", ""]}
            )
    check(
        tmp_path / "new",
        [
            good | {"number": np.array(1), "values": np.array([1, 2.5, 3], np.float32)},
            good | {"number": np.array(200), "values": np.ones(3, np.float32)},
        ],
    )


def test_what_a_format_cannot_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(packstone.Error):
        packstone.create(tmp_path / "a", format="no such", schema=SCHEMA)
    with pytest.raises(ValueError):
        packstone.create(tmp_path / "b", format="sedpack", schema=[packstone.field("x", "i1", (None, 2))])
    assert not (tmp_path / "a").exists() and not (tmp_path / "b").exists()
    (tmp_path / "c").mkdir()
    with pytest.raises(packstone.ExistsError):
        packstone.create(tmp_path / "c", format="sedpack", schema=SCHEMA)


def test_fields_follow_from_the_first_sample(tmp_path: Path) -> None:
    sample = {
        "number": 3,
        "score": 0.5,
        "ok": True,
        "wave": np.arange(6, dtype=np.int16).reshape(2, 3),
        "one": np.float32(1),
        "list": [1.0, 2.0],
    }
    with packstone.create(tmp_path / "new", format="sedpack") as writer:
        assert writer.schema == ()
        writer.write("train", sample | {"text": "é", "raw": b"ab"})
        assert [(f.name, f.type, f.shape) for f in writer.schema] == [
            ("number", "int64", ()),
            ("score", "float64", ()),
            ("ok", "bool", ()),
            ("wave", "int16", (2, 3)),
            ("one", "float32", ()),
            ("list", "float64", (2,)),
            ("text", "str", ()),
            ("raw", "bytes", ()),
        ]
        with pytest.raises(TypeError):
            writer.write("train", sample | {"text": 3, "raw": b""})
        writer.write("train", sample | {"text": "", "raw": b"longer"})
    train = packstone.open(tmp_path / "new")["train"]
    assert len(train) == 2 and train[1]["raw"] == b"longer" and train[0]["text"] == "é"


def test_fields_follow_from_the_first_batch(tmp_path: Path) -> None:
    batch = {
        "a": {"b": np.arange(3, dtype=np.uint8), "c": np.ones((3, 2))},
        "d": [1, 2, 3],
    }
    with packstone.create(tmp_path / "t", format="tensordict", collections=["t"]) as writer:
        writer.write_batch("t", batch)
    dataset = packstone.open(tmp_path / "t")
    assert same(dataset[dataset.collections[0]][:], batch | {"d": np.array([1, 2, 3])})
    for wrong in ({"x": [None]}, {"x": [object()]}, {"x": []}, {"x": np.float32(1)}, {"x": [[1], [1, 2], 3]}):
        writer = packstone.create(tmp_path / "w", format="tensordict", collections=["t"])
        with pytest.raises((TypeError, ValueError)):
            writer.write_batch("t", wrong)
        writer.abort()
        assert not (tmp_path / "w").exists()
    shapes = packstone.create(tmp_path / "v", format="sds", collections=["records"])
    shapes.write_batch("records", {"x": [np.zeros(2, np.float32), np.zeros(5, np.float32)]})
    assert [field.shape for field in shapes.schema] == [(None,)]
    assert shapes.finish().samples == 2


def test_writers_without_a_schema_need_a_sample(tmp_path: Path) -> None:
    with pytest.raises(packstone.InvalidError) as raised:
        with packstone.create(tmp_path / "new", format="sedpack"):
            pass
    assert raised.value.code == "ops/no_schema"
    assert not (tmp_path / "new").exists()
    (tmp_path / "there").mkdir()
    with pytest.raises(packstone.ExistsError):
        packstone.create(tmp_path / "there", format="sedpack")
    with pytest.raises(ZeroDivisionError):
        with packstone.create(tmp_path / "new", format="sedpack") as writer:
            raise ZeroDivisionError
    with pytest.raises(packstone.InvalidError):
        writer.write("train", {"x": 1})


def test_metadata_of_a_batch_are_one_a_sample(tmp_path: Path) -> None:
    schema = [packstone.field("n", "int64")]
    with packstone.create(tmp_path / "new", format="sds", schema=schema, collections=["records"]) as writer:
        writer.write_batch("records", {"n": [0, 1]}, metadata=[{"day": 1}, {}])
        writer.write_batch("records", {"n": [2, 3]}, metadata={"day": 2})
        with pytest.raises(ValueError):
            writer.write_batch("records", {"n": [4, 5]}, metadata=[{"day": 3}])
        with pytest.raises(TypeError):
            writer.write_batch("records", {"n": [4]}, metadata=[3])
    records = packstone.open(tmp_path / "new")["records"]
    assert len(records) == 4
    assert records.select("day == 2").indices.tolist() == [2, 3]
    assert records.select("day is null").indices.tolist() == [1]


PART = [packstone.field("n", "int64"), packstone.field("wave", "float32", (3,))]


def write_part(parts: packstone.Parts, name: str, first: int, count: int, die: bool) -> None:
    """What a worker does: samples from `first` on; it dies on the way where told to."""
    collection = "train" if "train" in str(parts) else "records"
    with parts.open(name) as writer:
        for n in range(first, first + count):
            writer.write(collection, {"n": n, "wave": np.full(3, n, np.float32)}, metadata={"part": name})
            if die and n == first + count // 2:
                time.sleep(0.5)
                os.kill(os.getpid(), signal.SIGKILL)


def run_worker(parts: packstone.Parts, name: str, first: int, count: int, *, die: bool = False) -> int:
    process = multiprocessing.get_context("spawn").Process(target=write_part, args=(parts, name, first, count, die))
    process.start()
    process.join(120)
    assert process.exitcode is not None
    return process.exitcode


CASES = [("sedpack", "train", {"examples_per_shard": 4}), ("sds", "records", {"records_per_shard": 4})]


@pytest.mark.parametrize(("to", "collection", "options"), CASES, ids=[case[0] for case in CASES])
def test_processes_write_parts_of_one_dataset(
    to: str, collection: str, options: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / f"{collection}-parts"
    parts = packstone.create_parts(path, format=to, schema=PART, collections=[collection], options=options)
    context = multiprocessing.get_context("spawn")
    workers = [
        context.Process(target=write_part, args=(parts, f"w{k}", 10 * k, 10, False)) for k in range(3)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
        assert worker.exitcode == 0
    assert parts.finished == ("w0", "w1", "w2")
    assert visible(path) == 0
    # One of them dies, and does its work again.
    assert run_worker(parts, "w3", 30, 10, die=True) == -signal.SIGKILL
    assert parts.finished == ("w0", "w1", "w2") and visible(path) == 0
    with pytest.raises(packstone.InvalidError):
        parts.commit(["w0", "w1", "w2", "w3"])
    assert visible(path) == 0
    assert run_worker(parts, "w3", 30, 10) == 0
    with pytest.raises(packstone.ExistsError):
        parts.open("w3")
    # An exception takes back what was written.
    with pytest.raises(ZeroDivisionError):
        with parts.open("w4") as writer:
            for n in range(9):
                writer.write(collection, {"n": n, "wave": np.zeros(3, np.float32)})
            raise ZeroDivisionError
    report = parts.commit(["w0", "w1", "w2", "w3"])
    assert report.samples == 40 and report.shards >= 4
    assert parts.finished == ()
    samples = packstone.open(path)[collection]
    assert sorted(int(sample["n"]) for sample in samples) == list(range(40))
    assert len(samples.select("part == 'w3'")) == 10
    verified = packstone.verify(path)
    assert not [f for f in verified.findings if f.severity == "error"], verified.findings
    # Again, as after a crash: nothing changes.
    before = packstone.digest(path)
    parts.commit()
    assert packstone.digest(path) == before and visible(path) == 40
    # What a dead worker left is in nobody's way.
    if to == "sedpack":
        assert verified.clean, verified.findings
        assert not packstone.repair(path).salvaged


def visible(path: Path) -> int:
    """How many samples a reader sees."""
    try:
        dataset = packstone.open(path)
    except packstone.Error:
        return 0
    return sum(len(dataset[name]) for name in dataset.collections)


def test_parts_keep_their_order_in_signal_datasets(tmp_path: Path) -> None:
    parts = packstone.create_parts(tmp_path / "new", format="sds", schema=PART, collections=["a", "b"])
    for name, first in (("late", 100), ("early", 0)):
        with parts.open(name) as writer:
            for n in range(first, first + 3):
                for collection in ("b", "a"):
                    writer.write(collection, {"n": n, "wave": np.zeros(3, np.float32)})
    assert parts.commit(["late", "early"]).samples == 12
    dataset = packstone.open(tmp_path / "new")
    assert dataset.collections == ("a", "b")
    for name in dataset.collections:
        assert [int(sample["n"]) for sample in dataset[name]] == [100, 101, 102, 0, 1, 2]
    assert packstone.verify(tmp_path / "new").clean


@pytest.mark.parametrize("to", ["datasetrt", "tensordict", "arrayrecord"])
def test_formats_of_one_writer_say_why(to: str, tmp_path: Path) -> None:
    record = [packstone.field("record", bytes)] if to == "arrayrecord" else [packstone.field("n", "int64")]
    names = ["records"] if to == "arrayrecord" else ["train"]
    path = tmp_path / ("x.arrayrecord" if to == "arrayrecord" else "x")
    with pytest.raises(packstone.UnsupportedError) as raised:
        packstone.create_parts(path, format=to, schema=record, collections=names)
    assert raised.value.message
    assert not path.exists()


def test_parts_of_other_fields_are_refused(tmp_path: Path) -> None:
    packstone.create_parts(tmp_path / "new", format="sedpack", schema=PART)
    other = [packstone.field("n", "int32")]
    with pytest.raises(packstone.InvalidError):
        packstone.create_parts(tmp_path / "new", format="sedpack", schema=other)
    again = packstone.create_parts(tmp_path / "new", format="sedpack", schema=PART)
    assert again.commit().samples == 0
    for name in ("a/b", "", "x.try3"):
        with pytest.raises(packstone.Error):
            again.open(name)
    signals = packstone.create_parts(tmp_path / "s", format="sds", schema=PART, collections=["records"])
    with signals.open("p") as writer:
        writer.write("records", {"n": 1, "wave": np.zeros(3, np.float32)})
    mixed = packstone.create_parts(tmp_path / "s", format="sds", schema=other, collections=["records"])
    with pytest.raises(packstone.InvalidError):
        mixed.commit()
    with pytest.raises(packstone.InvalidError):
        signals.commit(["p", "p"])
    with pytest.raises(packstone.InvalidError):
        signals.open("no/name")
    assert visible(tmp_path / "s") == 0
    assert signals.commit().samples == 1


def _killed(path: Path, schema: list[packstone.Field] | None, options: dict[str, Any]) -> None:
    writer = packstone.create(path, format="datasetrt", schema=schema, options=options)
    for sample in samples(7):
        writer.write("train", sample)
    while not list(path.glob("tmp/train/shards/*")):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("schema", [SCHEMA, None])
def test_a_writer_goes_on_where_a_killed_one_was(
    schema: list[packstone.Field] | None, tmp_path: Path
) -> None:
    path, wanted = tmp_path / "new", samples(9)
    options = {"max_shard_bytes": 300, "sample_metadata": "json"}
    killed = multiprocessing.get_context("fork").Process(target=_killed, args=(path, schema, options))
    killed.start()
    killed.join(60)
    assert killed.exitcode == -signal.SIGKILL
    with pytest.raises(packstone.ExistsError):
        packstone.create(path, format="datasetrt", schema=schema, options=options)
    again = options | {"resume": True}
    with packstone.create(path, format="datasetrt", schema=schema, options=again) as writer:
        for sample in wanted:
            writer.write("train", sample)
    check(path, wanted)
