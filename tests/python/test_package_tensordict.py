"""Tensordicts through packstone: what the real library loads and saves, both ways."""

import json
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tensordict import LazyStackedTensorDict, NonTensorData, NonTensorStack, TensorDict, is_tensorclass, lazy_stack

import packstone
import packstone.tensordict
import tensordict_real as real
from conftest import ROOT
from datasets import snapshot

TREES = ROOT / "tests" / "golden" / "tensordict"
CASES = {
    file.parent.name: file.parent / json.loads(file.read_text())["data"]
    for file in sorted(TREES.glob("*/expected.json"))
}
#: Cases that the original loads by executing pickles.
PICKLES = {"non_tensor_pickle", "non_tensor_stack_pickle", "tdz_pickle", "tensorclass_pickle"} | {
    name for name in CASES if name.startswith("v0_tensorclass")
}
#: Cases that the original loads, and in which it sees less.
LESS = {
    # A nested tensor without any element has no file, and the original drops its key.
    "nested_tensors_all_empty",
}
ENDINGS = pytest.mark.parametrize("ending", ["", ".tdz"], ids=["folder", "archive"])


@pytest.fixture(autouse=True)
def strict() -> Iterator[None]:
    """A warning of packstone, as of memory that may not be written to, fails a test."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*writ")
        yield


def loaded(name: str) -> Any:
    """What the original loads; none where it cannot."""
    try:
        return real.load(CASES[name], robust_key=name != "robust_key_false")
    except (RuntimeError, KeyError):
        return None


def has_views(name: str) -> bool:
    return name.startswith(("sub_", "view_"))


@pytest.mark.parametrize("name", CASES)
def test_golden_trees_load_as_the_original_loads_them(name: str) -> None:
    before = snapshot(CASES[name].parent)
    original = loaded(name)
    if name in PICKLES:
        with pytest.raises(packstone.UnsupportedError, match="pickle") as raised:
            packstone.tensordict.load(CASES[name])
        assert raised.value.code == "tensordict/needs_pickle"
        found = packstone.tensordict.load(CASES[name], pickles="skip")
    else:
        found = packstone.tensordict.load(CASES[name], robust_key=name != "robust_key_false")
    assert snapshot(CASES[name].parent) == before
    # What it is made of is the original's own.
    assert type(found).__module__.startswith(("tensordict", "torch")) and found.is_locked
    if original is None or name in PICKLES | LESS:
        return
    if has_views(name):
        mine, theirs = found.to_tensordict(), original.to_tensordict()
        assert mine.batch_size == theirs.batch_size
        assert real.leaves(mine) == real.leaves(theirs)
    else:
        assert real.describe(found) == real.describe(original)


def test_as_many_cases_are_compared_as_there_are() -> None:
    compared = [name for name in CASES if loaded(name) is not None and name not in PICKLES | LESS]
    assert len(CASES) >= 80 and len(compared) >= 50, (len(CASES), len(compared))


@pytest.mark.parametrize("name", [name for name in CASES if name not in PICKLES])
@ENDINGS
def test_golden_trees_are_saved_for_the_original(name: str, ending: str, tmp_path: Path) -> None:
    original = loaded(name)
    tree = packstone.tensordict.load(CASES[name], robust_key=name != "robust_key_false")
    path = tmp_path / f"tree{ending}"
    try:
        report = packstone.tensordict.save(tree, path)
    except packstone.Error as error:
        # What the original saves and then loses, or cannot load.
        assert error.code in ("tensordict/reserved_key", "tensordict/unsupported_dtype", "tensordict/batch_mismatch")
        assert not list(tmp_path.iterdir())
        return
    assert report.files > 0
    assert packstone.verify(path).clean
    again = real.load(path)
    if name == "nested_tensors_all_empty":
        return
    assert real.leaves(again) == real.leaves(tree)
    # The original, too, saves a tree of no device as one of the processor.
    if original is not None and not has_views(name) and name != "device_none":
        assert real.describe(again) == real.describe(original)


def files(path: Path) -> dict[str, bytes]:
    """Every file of a tree; of an archive in its order, each where it lies."""
    if path.is_file():
        with zipfile.ZipFile(path) as archive:
            return {f"{info.filename} {info.header_offset}": archive.read(info) for info in archive.infolist()}
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


#: Trees that JSON and tensors hold; views are saved as what they show.
SAVED = [name for name in real.TREES if name not in ("pickles", "sub", "views")]


@ENDINGS
@pytest.mark.parametrize("name", SAVED)
def test_what_is_saved_has_the_bytes_of_the_original(name: str, ending: str, tmp_path: Path) -> None:
    tree = real.TREES[name]()
    mine, theirs = tmp_path / f"mine{ending}", tmp_path / f"theirs{ending}"
    packstone.tensordict.save(tree, mine)
    real.save(tree, theirs)
    assert files(mine) == files(theirs)
    assert real.describe(packstone.tensordict.load(mine)) == real.describe(packstone.tensordict.load(theirs))


@ENDINGS
@pytest.mark.parametrize("name", ["sub", "views"])
def test_views_are_saved_as_what_they_show(name: str, ending: str, tmp_path: Path) -> None:
    tree = real.TREES[name]()
    packstone.tensordict.save(tree, tmp_path / f"tree{ending}")
    found = real.load(tmp_path / f"tree{ending}")
    for key in tree.keys():
        assert real.leaves(found[key].to_tensordict()) == real.leaves(tree[key].to_tensordict()), key


@pytest.mark.parametrize("compression", ["stored", "deflate", "bzip2", "lzma"])
def test_archives_of_every_compression(compression: str, tmp_path: Path) -> None:
    tree = real.TREES["plain"]()
    packstone.tensordict.save(tree, tmp_path / "tree.tdz", compression=compression)
    for load in (real.load, packstone.tensordict.load):
        assert real.leaves(load(tmp_path / "tree.tdz")) == real.leaves(tree)


@ENDINGS
def test_tensors_look_at_private_maps(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"tree{ending}"
    size = 1 << 22
    packstone.tensordict.save(TensorDict({"x": torch.zeros(4, size)}, [4]), path)
    before = snapshot(tmp_path), files(path)
    tree = packstone.tensordict.load(path)
    x = tree["x"]
    maps = Path("/proc/self/maps").read_text().splitlines()
    inside = [
        line for line in maps
        if int(line.split("-")[0], 16) <= x.data_ptr() < int(line.split()[0].split("-")[1], 16)
    ]
    assert len(inside) == 1 and str(path) in inside[0] and " rw-p " in inside[0]
    # What is written stays here.
    x[0, :10] = 7
    x.add_(1)
    assert x[0, 0] == 8 and x[3, 5] == 1
    assert (snapshot(tmp_path), files(path)) == before
    assert packstone.tensordict.load(path)["x"].count_nonzero() == 0
    # The map outlives the file.
    kept = packstone.tensordict.load(path)["x"][2]
    del tree, x
    assert kept.shape == (size,) and kept.sum() == 0


def test_classes_of_the_objects(tmp_path: Path) -> None:
    tree = TensorDict(
        {
            "text": "hello",
            "stack": lazy_stack([TensorDict({"a": torch.ones(n)}, []) for n in (1, 2)]),
            "values": NonTensorStack("a", "b"),
            "inner": TensorDict({"y": torch.arange(2)}, [2], names=["t"]),
        },
        [2],
    )
    packstone.tensordict.save(tree, tmp_path / "tree")
    found = packstone.tensordict.load(tmp_path / "tree")
    assert type(found) is TensorDict and found.is_locked and found.batch_size == (2,)
    assert found["text"] == "hello" and type(found.get("text")) is NonTensorData
    assert type(found["stack"]) is LazyStackedTensorDict and found["stack"][1]["a"].shape == (2,)
    assert type(found.get("values")) is NonTensorStack and found["values"] == ["a", "b"]
    assert found["inner"].names == ["t"] and found["inner", "y"].tolist() == [0, 1]
    # A collection of any kind; a tensorclass comes back as its fields.
    route = real.TREES["tensorclasses"]()["route"]
    packstone.tensordict.save(route, tmp_path / "route.tdz")
    assert is_tensorclass(real.load(tmp_path / "route.tdz"))
    fields = packstone.tensordict.load(tmp_path / "route.tdz")
    assert type(fields) is TensorDict and fields["start", "label"] == "é" and fields["notes"] == {"k": [1, None]}
    assert torch.equal(fields["stop", "position"], route.stop.position)


def test_saves_are_whole_or_not_there(tmp_path: Path) -> None:
    tree = TensorDict({"x": torch.arange(3)}, [3])
    for ending in ("", ".tdz"):
        path = tmp_path / f"tree{ending}"
        packstone.tensordict.save(tree, path)
        with pytest.raises(packstone.ExistsError):
            packstone.tensordict.save(tree, path)
        packstone.tensordict.save(tree + 1, path, replace=True)
        assert packstone.tensordict.load(path)["x"].tolist() == [1, 2, 3]
    before = snapshot(tmp_path)
    values: list[Any] = [(1, 2), {1: 2}, b"x", {1}, object(), 1j, {"a": [(1,)]}]
    for value in values:
        with pytest.raises(TypeError, match="'n.v.*JSON"):
            packstone.tensordict.save(TensorDict({"n": {"v": NonTensorData(value)}}), tmp_path / "other")
    with pytest.raises(TypeError, match="expected a tensordict"):
        packstone.tensordict.save([1], tmp_path / "other")
    with pytest.raises(packstone.Error):
        packstone.tensordict.save(tree, tmp_path / "other.tdz", compression="zstd")

    class Stop(Exception):
        pass

    def stop(done: int, total: int, unit: str) -> None:
        raise Stop

    with pytest.raises(Stop):
        packstone.tensordict.save(tree, tmp_path / "other", progress=stop)
    assert {path: seen for path, seen in snapshot(tmp_path).items() if "other" not in path} == before
    for path in (tmp_path / "none", ROOT / "tests" / "golden" / "sedpack"):
        with pytest.raises(packstone.Error):
            packstone.tensordict.load(path)
    with pytest.raises(ValueError):
        packstone.tensordict.load(tmp_path / "tree", pickles="run")  # type: ignore[arg-type]


def test_damaged_trees_raise() -> None:
    raised = 0
    for path in sorted((TREES / "bad").glob("*/data*")):
        try:
            packstone.tensordict.load(path)
        except packstone.Error as error:
            assert error.code.startswith(("tensordict/", "io/", "zip/", "json/"))
            raised += 1
    assert raised > 20


def test_a_missing_tensordict_is_named() -> None:
    program = """
import sys
sys.modules["tensordict"] = None
try:
    import packstone.tensordict
except ImportError as error:
    assert "pip install tensordict" in str(error), error
else:
    raise SystemExit("imported")
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
