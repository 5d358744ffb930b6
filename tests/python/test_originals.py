"""The yardstick itself: the pinned library reads what it wrote, by each of its APIs.

No line of packstone runs here. Where these tests fail, the other files prove nothing.
"""

import json
from pathlib import Path

import pytest

import canonical
import sedpack_real as real
from canonical import Value
from conftest import GOLDEN, GOLDEN_CASES
from schemas import KINDS, full_schema, make_examples


def value_of(entry: dict) -> Value:
    """A value of `expected.json`."""
    dtype = canonical.dtype_name(entry["dtype"])
    return Value(dtype, tuple(entry["shape"]), entry["nbytes"], entry["sha256"])


@pytest.mark.parametrize("case", GOLDEN_CASES)
def test_golden_cases_read_as_recorded(case: str) -> None:
    path = GOLDEN / case / "data"
    expected = json.loads((GOLDEN / case / "expected.json").read_text(encoding="utf-8"))
    real.check(path, tuple(expected["root_checksums"]))
    assert set(real.splits(path)) == set(expected["splits"])
    for split, recorded in expected["splits"].items():
        found = [
            {name: canonical.returned(value) for name, value in example.items()}
            for example in real.examples(path, split)
        ]
        assert found == [
            {name: value_of(entry) for name, entry in row.items()} for row in recorded["examples"]
        ]


@pytest.mark.parametrize(("shard_type", "compression"), KINDS)
def test_each_api_returns_what_was_written(
    tmp_path: Path, shard_type: str, compression: str
) -> None:
    schema = full_schema(shard_type)
    written = make_examples(schema, 7)
    path = tmp_path / "dataset"
    dataset = real.create(path, schema, shard_type=shard_type, compression=compression)
    real.fill(dataset, [real.Item(values) for values in written])
    real.check(path)

    rows = [real.row(example, schema) for example in written]
    if shard_type == "fb":
        # The library stores b"" as one zero byte.
        rows[0]["bytes"] = canonical.declared(b"\0", "bytes", ())
    assert real.dump(path) == {"train": rows}
    for api in real.apis(shard_type, compression):
        assert real.dump(path, api) == {"train": rows}, api
