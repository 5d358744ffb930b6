"""packstone reads the caches that the real dataset-rt writes, and touches nothing."""

import itertools
import json
import shutil
from pathlib import Path

import polars as pl
import pytest

import datasetrt_real as real
import packstone_cli as packstone
from conftest import CACHES
from datasets import snapshot

ALGOS = pytest.mark.parametrize("algo", ["none", "lz4"])
CASES = sorted(path.parent.name for path in CACHES.glob("*/expected.json"))
BAD_CASES = sorted(path.parent.name for path in CACHES.glob("bad/*/expected_error.json"))
#: The library cannot read its own caches here: NaN and infinities, columns named as its table's.
UNREADABLE = {"v3_nonfinite", "v3_reserved_columns"}
#: Floats whose copies the library misreads, so that it refuses the cache if it compares them.
LOSSY = {"v3_lossy_floats"}


def read(*paths: Path, options: tuple[str, ...] = ()) -> list[real.Sample]:
    """What packstone reads."""
    lines = packstone.caches(paths, *options)
    assert [line["index"] for line in lines] == list(range(len(lines)))
    return [
        real.Sample(
            line["cache_id"],
            line["sample_id"],
            line["fields"]["data"]["nbytes"],
            line["fields"]["data"]["sha256"],
            line["metadata"],
        )
        for line in lines
    ]


def case_paths(case: str) -> list[Path]:
    """The caches of a golden case, in the order that it gives them."""
    expected = json.loads((CACHES / case / "expected.json").read_text(encoding="utf-8"))
    return [CACHES / case / cache["path"] for cache in expected["caches"]]


@ALGOS
@pytest.mark.parametrize("max_shard_bytes", [1, 4096, 64 << 20])
def test_every_kind_reads_equal(tmp_path: Path, algo: str, max_shard_bytes: int) -> None:
    items = real.make_items(60)
    path = real.write(tmp_path, "cache", items, algo=algo, max_shard_bytes=max_shard_bytes)
    before = snapshot(tmp_path)
    found = read(path)
    assert found == real.dump([path])
    # Also where floats are equal that are not the same: minus zero, and integers beside floats.
    assert [repr(sample.metadata) for sample in found] == [
        repr(dict(sorted(metadata.items()))) for _, metadata in items
    ]
    assert [sample.sha256 for sample in found] == [real.sha256(data) for data, _ in items]
    assert read(path, options=("--verify", "--threads", "0")) == found
    packstone.verify(path)
    assert snapshot(tmp_path) == before


@ALGOS
def test_floats_of_any_bits_are_exact(tmp_path: Path, algo: str) -> None:
    items = real.make_items(300, seed=1, floats=real.any_float)
    path = real.write(tmp_path, "cache", items, algo=algo)
    found = read(path)
    assert [sample.metadata["score"] for sample in found] == [m["score"] for _, m in items]
    # The library misreads some of them, which is told and no damage.
    with pytest.raises(ValueError, match="embedded metadata does not match"):
        real.dump([path])
    report = packstone.verify(path)
    assert set(packstone.finding_codes(report)) == {"datasetrt/lossy_float"}


@pytest.mark.parametrize("case", [case for case in CASES if case not in UNREADABLE])
def test_golden_case_reads_as_the_library_reads_it(case: str) -> None:
    paths = case_paths(case)
    assert read(*paths) == real.dump(paths, validate=case not in LOSSY)


def test_any_order_of_old_and_new_caches_gives_the_same_ids() -> None:
    paths = case_paths("mixed_v2_v3")
    for count in range(1, len(paths) + 1):
        for some in itertools.permutations(paths, count):
            assert read(*some) == real.dump(some)


@pytest.mark.parametrize("case", BAD_CASES)
def test_bad_case_ends_with_a_word(case: str, tmp_path: Path) -> None:
    path = tmp_path / "data"
    shutil.copytree(CACHES / "bad" / case / "data", path, symlinks=True)
    before = snapshot(path)
    caches = sorted(path.iterdir()) if not (path / "manifest.json").exists() else [path]
    for command in ("inspect", "head", "dump", "verify", "digest", "select"):
        result = packstone.run(command, *caches, expect=None)
        assert result.code == packstone.CLEAN or result.stdout + result.stderr, command
    assert snapshot(path) == before


@pytest.mark.parametrize(
    ("condition", "expression"),
    [
        ("label == 3", pl.col("label") == 3),
        ("flag and not (rank > 0)", pl.col("flag") & ~(pl.col("rank") > 0)),
        (
            "score >= 0.5 or label in [1, 6]",
            (pl.col("score") >= 0.5) | pl.col("label").is_in([1, 6]),
        ),
        ("`ünïcode name` == '鳥'", pl.col("ünïcode name") == "鳥"),
        ("startswith(`ünïcode name`, 'a')", pl.col("ünïcode name").str.starts_with("a")),
        ("`` % 5 == 2", pl.col("column_2") % 5 == 2),  # polars has no empty names
        ("sample_id < 4", pl.col("sample_id") < 4),
        ("rank == 9223372036854775807", pl.col("rank") == 2**63 - 1),
        ("weight == 1", pl.col("weight") == 1),
        ("label > 100", pl.col("label") > 100),
    ],
)
def test_conditions_select_what_the_library_table_selects(
    tmp_path: Path, condition: str, expression: pl.Expr
) -> None:
    paths = [real.write(tmp_path, name, real.make_items(50, seed=i)) for i, name in enumerate("ab")]
    table = real.open_caches(paths).get_metadata()
    expected = real.identities(table.filter(expression))
    found = packstone.select(paths, condition)
    assert [(line["cache_id"], line["sample_id"]) for line in found] == expected
    samples = {(sample.cache_id, sample.sample_id): sample for sample in real.dump(paths)}
    for line in found:
        assert line["metadata"] == samples[line["cache_id"], line["sample_id"]].metadata


def test_a_saved_selection_opens_wherever_a_dataset_does(tmp_path: Path) -> None:
    paths = [real.write(tmp_path, name, real.make_items(40, seed=i)) for i, name in enumerate("ab")]
    view = tmp_path / "view.json"
    packstone.select(paths, "label == 2 and flag", "--save", str(view))
    whole = real.dump(paths)
    expected = [s for s in whole if s.metadata["label"] == 2 and s.metadata["flag"]]
    assert expected and read(view) == expected
    # As caches of its own, the library reads it.
    target = tmp_path / "new"
    packstone.to_datasetrt(view, target)
    found = real.dump([target / "all"])
    assert [(s.sha256, s.metadata) for s in found] == [(s.sha256, s.metadata) for s in expected]
