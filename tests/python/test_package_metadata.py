"""Metadata of samples as columns of Arrow: what polars, pandas, DuckDB and pyarrow make of them."""

import gc
import json
import os
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pytest

import packstone
import packstone_cli as program
from conftest import CACHES, GOLDEN, ROOT, SIGNALS

EDGES = CACHES / "v3_type_edges" / "data" / "type_edges_s1"
ANNOTATED = SIGNALS / "annotations" / "data"
TREE = ROOT / "tests" / "golden" / "tensordict" / "basic" / "data"

NUMBER = [packstone.field("n", "int64")]


def only(path: Path) -> packstone.Collection:
    dataset = packstone.open(path)
    return dataset[dataset.collections[0]]


def written(path: Path, metadata: list[dict[str, Any]]) -> packstone.Collection:
    """A SignalDataset with these metadata."""
    with packstone.create(path, format="sds", schema=NUMBER, collections=["records"]) as writer:
        batch = {"n": np.arange(len(metadata))}
        writer.write_batch("records", batch, metadata=metadata)
    return packstone.open(path)["records"]


def test_columns_of_a_cache_are_those_that_it_stores() -> None:
    collection = only(EDGES)
    metadata = collection.metadata
    table = pyarrow.table(metadata)
    table.validate(full=True)
    types = [pyarrow.uint64()] * 2 + [pyarrow.bool_(), pyarrow.float64(), pyarrow.int64(), pyarrow.large_string()]
    assert table.schema.types == types
    assert table.column_names == ["cache_id", "sample_id", "b", "f", "i", "s"]
    assert metadata.columns == tuple(table.column_names)
    assert len(metadata) == table.num_rows == len(collection) == 28
    # The program tells the same.
    lines = program.select([EDGES], "cache_id is not null")
    for line, row in zip(lines, table.to_pylist(), strict=True):
        assert {name: row[name] for name in ("cache_id", "sample_id")} == {
            name: line[name] for name in ("cache_id", "sample_id")
        }
        assert {name: row[name] for name in ("b", "i", "s")} == {
            name: line["metadata"][name] for name in ("b", "i", "s")
        }


def test_libraries_agree() -> None:
    metadata = only(EDGES).metadata
    table = pyarrow.table(metadata)
    assert polars.DataFrame(metadata).equals(polars.DataFrame(table))
    frame = pandas.DataFrame.from_arrow(metadata)
    assert frame["s"].tolist() == table["s"].to_pylist()
    np.testing.assert_array_equal(frame["f"].to_numpy(), table["f"].to_numpy())
    rows = duckdb.sql("select cache_id, sample_id, b, i, s from metadata").fetchall()
    assert rows == list(zip(*(table[name].to_pylist() for name in ("cache_id", "sample_id", "b", "i", "s"))))
    [(count,)] = duckdb.sql("select count(*) from metadata where i < 0").fetchall()
    assert count == len(only(EDGES).select("i < 0"))


def test_conditions_and_columns_have_the_same_names() -> None:
    for path in (EDGES, CACHES / "v3_reserved_columns" / "data" / "reserved_columns_s1", ANNOTATED):
        collection = only(path)
        for name in collection.metadata.columns:
            column = pyarrow.table(collection.metadata)[name]
            # What only the container calls a record is no metadata.
            if column.type != pyarrow.json_(pyarrow.large_utf8()) and name not in ("id", "scene_id"):
                assert len(collection.select(f"`{name}` is null")) == column.null_count, name


def test_objects_become_columns(tmp_path: Path) -> None:
    said = [
        {"day": 1, "snr": 0.5, "name": "é", "ok": True, "big": 2**63, "tags": ["a", {"b": None}], "odd": 1},
        {"day": -7, "snr": 3, "name": None, "big": 4, "odd": "text"},
        {},
        {"ok": False, "snr": -1.5, "odd": 2.5},
    ]
    collection = written(tmp_path / "signals", said)
    table = pyarrow.table(collection.metadata)
    table.validate(full=True)
    assert table["day"].to_pylist() == [1, -7, None, None]
    assert table["day"].type == pyarrow.int64()
    assert table["snr"].to_pylist() == [0.5, 3.0, None, -1.5]
    assert table["ok"].to_pylist() == [True, None, None, False]
    assert table["name"].to_pylist() == ["é", None, None, None]
    assert table["big"].type == pyarrow.uint64()
    assert table["big"].to_pylist() == [2**63, 4, None, None]
    # What has no column of one kind is JSON, and says so.
    for name, wanted in (("tags", [["a", {"b": None}], *[None] * 3]), ("odd", [1, "text", None, 2.5])):
        assert table.schema.field(name).type.extension_name == "arrow.json"
        texts = table[name].cast(pyarrow.large_string()).to_pylist()
        assert [None if text is None else json.loads(text) for text in texts] == wanted
    frame = polars.DataFrame(collection.metadata)
    assert frame["day"].to_list() == [1, -7, None, None]
    assert frame["ok"].null_count() == 2
    assert pandas.DataFrame.from_arrow(collection.metadata)["snr"].isna().tolist() == [False, False, True, False]
    metadata = collection.metadata
    assert duckdb.sql("select sum(day), json_extract_string(any_value(tags), '$[0]') from metadata").fetchall() == [(-6, "a")]


def test_selections_have_their_own_rows(tmp_path: Path) -> None:
    cache = only(EDGES)
    chosen = cache.select("i > 0")
    assert chosen.indices is not None
    whole, part = pyarrow.table(cache.metadata), pyarrow.table(chosen.metadata)
    assert part.equals(whole.take(pyarrow.array(chosen.indices)))
    signals = written(tmp_path / "signals", [{"day": day} for day in range(600)])
    odd = signals.select("day % 2 == 1")
    assert pyarrow.table(odd.metadata)["day"].to_pylist() == list(range(1, 600, 2))
    assert len(odd.metadata) == 300


def test_metadata_of_shards_are_those_of_their_samples(tmp_path: Path) -> None:
    options = {"examples_per_shard": 2}
    with packstone.create(tmp_path / "new", format="sedpack", schema=NUMBER, options=options) as writer:
        for n in range(5):
            writer.write("train", {"n": n}, metadata={"half": n // 3})
    table = pyarrow.table(packstone.open(tmp_path / "new")["train"].metadata)
    assert table.to_pydict() == {"half": [0, 0, 0, 1, 1]}


def test_formats_without_metadata_give_no_columns() -> None:
    for path in (TREE, GOLDEN / "fb_lz4" / "data"):
        collection = only(path)
        assert collection.metadata.columns == ()
        assert len(collection.metadata) == len(collection)
        assert pyarrow.table(collection.metadata).num_columns == 0
        assert polars.DataFrame(collection.metadata).columns == []
        assert pandas.DataFrame.from_arrow(collection.metadata).columns.tolist() == []


def test_the_interface_is_that_of_arrow() -> None:
    metadata = only(EDGES).metadata
    schema = pyarrow.schema(metadata)
    assert schema == pyarrow.table(metadata).schema
    assert "arrow_schema" in repr(metadata.__arrow_c_schema__())
    assert "arrow_array_stream" in repr(metadata.__arrow_c_stream__(None))
    reader = pyarrow.RecordBatchReader.from_stream(metadata)
    assert reader.read_next_batch().num_rows == 28
    with pytest.raises(StopIteration):
        reader.read_next_batch()
    # A stream is used once, the metadata as often as anybody wants.
    class Once:
        def __init__(self) -> None:
            self.capsule = metadata.__arrow_c_stream__()

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return self.capsule

    once = Once()
    assert pyarrow.table(once).num_rows == 28
    with pytest.raises(pyarrow.ArrowInvalid):
        pyarrow.table(once)
    assert pyarrow.table(metadata).num_rows == 28
    wanted = pyarrow.schema([*list(schema)[:-1], pyarrow.field("s", pyarrow.string())])
    assert pyarrow.RecordBatchReader.from_stream(metadata, schema=wanted).read_all().num_rows == 28


def memory() -> int:
    """Bytes that this process has in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_columns_live_as_long_as_anybody_looks_and_no_longer(tmp_path: Path) -> None:
    rows, text = 12_000, "x" * 3000
    metadata = [{"row": row, "text": text, "score": row / 7} for row in range(rows)]
    collection = written(tmp_path / "signals", metadata)
    table = pyarrow.table(collection.metadata)
    del collection, metadata
    gc.collect()
    assert table["row"].to_pylist() == list(range(rows))
    assert table["text"].nbytes >= rows * len(text)
    assert table["score"][rows - 1].as_py() == (rows - 1) / 7
    again = packstone.open(tmp_path / "signals")["records"].metadata
    size = table.nbytes
    assert pyarrow.table(again).equals(table)
    before = memory()
    for _ in range(20):
        # Taken, and not.
        assert polars.DataFrame(again).height == rows
        again.__arrow_c_stream__()
        again.__arrow_c_schema__()
    gc.collect()
    assert memory() - before < 5 * size
    # Nothing is copied: what two tables look at is the same memory.
    one, other = pyarrow.table(again), pyarrow.table(again)
    for name in ("row", "text", "score"):
        addresses = [t[name].chunk(0).buffers()[-1].address for t in (one, other)]
        assert addresses[0] == addresses[1]


def test_damage_is_raised_when_metadata_are_used(tmp_path: Path) -> None:
    collection = written(tmp_path / "signals", [{"day": 1}] * 3)
    for file in (tmp_path / "signals" / "objects" / "data").rglob("*.arrayrecord"):
        file.write_bytes(file.read_bytes()[:40])
    metadata = collection.metadata
    with pytest.raises(packstone.CorruptError):
        pyarrow.table(metadata)
    with pytest.raises(packstone.CorruptError):
        metadata.columns
