"""packstone reads the trees that the real tensordict saves, and touches nothing."""

from pathlib import Path

import pytest

import packstone_cli as packstone
import tensordict_real as real
from datasets import snapshot

ENDINGS = pytest.mark.parametrize("ending", ["", ".tdz"], ids=["folder", "archive"])


@ENDINGS
@pytest.mark.parametrize("name", real.TREES)
def test_every_construct_reads_equal(name: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"tree{ending}"
    real.save(real.TREES[name](), path)
    before = snapshot(tmp_path)
    tensors, _ = packstone.leaves(path)
    assert tensors == real.leaves(real.load(path))
    # Pickles are told, and never executed.
    expect = packstone.FINDINGS if name == "pickles" else packstone.CLEAN
    found = packstone.verify(path, expect=expect)
    if name == "pickles":
        assert set(packstone.finding_codes(found)) == {"tensordict/needs_pickle"}
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("compression", ["stored", "deflate", "bzip2", "lzma"])
def test_compressed_archives_read_equal(compression: str, tmp_path: Path) -> None:
    path = tmp_path / "tree.tdz"
    for name in ("plain", "dtypes", "nested", "values"):
        real.save(real.TREES[name](), path, compression=compression)
        assert packstone.leaves(path)[0] == real.leaves(real.load(path))
        packstone.verify(path)


@ENDINGS
def test_values_read_equal(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"tree{ending}"
    real.save(real.TREES["values"](), path)
    _, values = packstone.leaves(path)
    for key, value in real.VALUES.items():
        # NaN is no JSON, and equals nothing.
        if key not in ("surrogate", "odd floats"):
            assert values[(key,)] == value, key
    assert values[("meta",)] == {"lr": 0.1}
    assert values[("data",)] == 5


def test_keys_as_file_names_read_equal(tmp_path: Path) -> None:
    tree = real.TREES["plain"]()
    tree["with space", "ü?"] = tree["a"] + 1
    path = tmp_path / "tree"
    real.save(tree, path, robust_key=False)
    assert packstone.leaves(path)[0] == real.leaves(real.load(path, robust_key=False))
    packstone.verify(path)
