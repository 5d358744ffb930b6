"""What the Python package writes: read back equal by itself, and by the original libraries."""

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
