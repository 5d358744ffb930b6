"""Batches for JAX: the values of the loader, without a copy, in the types that they have."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import ml_dtypes
import numpy as np
import pytest

import packstone
import packstone.jax as packed
from conftest import ROOT
from package import fingerprint, flat

#: Types that JAX has as they are.
NARROW = [
    *("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32", "complex64"),
    *("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"),
]
WIDE = ["int64", "uint64", "float64", "complex128"]


@pytest.fixture(scope="module")
def values() -> dict[str, np.ndarray]:
    """40 values of each type."""
    numbers = np.arange(40 * 16).reshape(40, 16) % 100
    return {name: numbers.astype(getattr(ml_dtypes, name, name)) for name in NARROW + WIDE}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory, values: dict[str, np.ndarray]) -> packstone.Collection:
    """A tree with these values, some of them nested."""
    import tensordict_real as real
    import torch

    def tensor(name: str) -> torch.Tensor:
        value = values[name]
        return torch.from_numpy(value.view("u1") if name in NARROW[10:] else value).view(getattr(torch, name))

    path = tmp_path_factory.mktemp("jax") / "tree"
    inner = real.TensorDict({name: tensor(name) for name in WIDE}, [40])
    narrow = {name: tensor(name) for name in NARROW}
    real.TensorDict({**narrow, "wide": inner}, [40]).memmap_(path)
    dataset = packstone.open(path)
    return dataset[dataset.collections[0]]


def test_values_and_types_are_those_of_the_loader(
    tree: packstone.Collection, values: dict[str, np.ndarray]
) -> None:
    narrow = packstone.Loader(tree, 8, fields=NARROW, shuffle=True, extras=["indices"], seed=2)
    # Places are 64-bit integers.
    [*found] = packed.batches(narrow, wide="convert")
    assert len(found) == 5
    for batch in found:
        rows = np.asarray(batch.pop("indices"))
        assert set(batch) == set(NARROW)
        for name, value in batch.items():
            assert isinstance(value, jax.Array)
            assert value.dtype == values[name].dtype
            assert fingerprint(np.asarray(value)) == fingerprint(values[name][rows]), name


def test_nothing_is_copied_on_the_processor(tree: packstone.Collection) -> None:
    narrow = packstone.Loader(tree, 8, fields=NARROW)
    for batch in narrow:
        made = packed.arrays(batch)
        for name, value in batch.items():
            assert made[name].unsafe_buffer_pointer() == value.ctypes.data, name
    gathered = tree[[3, 1]]["float32"]
    assert packed.arrays({"x": gathered})["x"].unsafe_buffer_pointer() == gathered.ctypes.data


def test_memory_lives_as_long_as_its_array(tree: packstone.Collection) -> None:
    loader = packstone.Loader(tree, 8, fields=["float32"])
    kept = [batch["float32"] for batch in packed.batches(loader)]
    # Batches that come later take no memory of those that are kept.
    for _ in range(3):
        list(loader)
    assert np.array_equal(np.concatenate(kept), tree[:]["float32"])


def test_batches_are_pytrees(tree: packstone.Collection) -> None:
    loader = packstone.Loader(tree, 8, drop_last=True)
    doubled = jax.jit(lambda batch: jax.tree.map(lambda leaf: leaf | leaf if leaf.dtype == bool else leaf + leaf, batch))
    plain = packstone.Loader(tree, 8, drop_last=True)
    for batch, expected in zip(packed.batches(loader, wide="convert"), plain, strict=True):
        made = doubled(batch)
        assert set(made["wide"]) == set(WIDE)
        for name in ("int32", "float32", "complex64"):
            assert np.array_equal(made[name], expected[name] * 2)


def test_wide_values_are_refused_or_converted(tree: packstone.Collection) -> None:
    loader = packstone.Loader(tree, 8, fields=["wide.int64"])
    with pytest.raises(TypeError, match=r"'wide\.int64'.*jax_enable_x64"):
        next(packed.batches(loader))
    batch = next(packed.batches(packstone.Loader(tree, 8), wide="convert"))
    assert [str(batch["wide"][name].dtype) for name in WIDE] == ["int32", "uint32", "float32", "complex64"]
    assert np.array_equal(batch["wide"]["int64"], tree[:8]["wide"]["int64"])
    for number, dtype in ((1 << 31, "int64"), (-(1 << 31) - 1, "int64"), (1 << 32, "uint64")):
        with pytest.raises(OverflowError, match="'x'"):
            packed.arrays({"x": np.array([number], dtype)}, wide="convert")
    assert packed.arrays({"x": np.array([(1 << 31) - 1])}, wide="convert")["x"].tolist() == [(1 << 31) - 1]
    with jax.enable_x64(True):
        batch = next(packed.batches(packstone.Loader(tree, 8)))
        for name in WIDE:
            assert fingerprint(np.asarray(batch["wide"][name])) == fingerprint(tree[:8]["wide"][name])


def test_what_jax_has_no_type_for_stays() -> None:
    given: dict[str, Any] = {
        "text": ["a", "b"],
        "raw": [b"a", b"b"],
        "day": np.array(["2024-01-01"], "M8[D]"),
        "name": np.array(["ab"]),
        "void": np.zeros(2, "V3"),
        "rows": [np.zeros(2, "f4"), np.zeros(3, "f4")],
    }
    made = packed.arrays(given)
    assert all(made[name] is given[name] for name in ("day", "name", "void"))
    assert made["text"] == ["a", "b"] and made["raw"] == [b"a", b"b"]
    assert [(type(row).__module__ != "numpy", row.shape) for row in made["rows"]] == [(True, (2,)), (True, (3,))]
    for wrong in ({"wide": "cut"}, {"device": jax.devices()[0], "sharding": object()}):
        with pytest.raises(ValueError):
            packed.arrays({}, **wrong)


def test_batches_are_shared_out_among_devices(tree: packstone.Collection) -> None:
    program = f"""
import jax, numpy as np, packstone, packstone.jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
assert len(jax.devices()) == 4
dataset = packstone.open({str(Path(repr(tree.dataset).split()[2].rstrip(":")))!r})
tree = dataset[dataset.collections[0]]
sharding = NamedSharding(Mesh(jax.devices(), "batch"), PartitionSpec("batch"))
for batch in packstone.jax.batches(packstone.Loader(tree, 8, fields=["float32"]), sharding=sharding):
    shards = batch["float32"].addressable_shards
    assert [shard.data.shape for shard in shards] == [(2, 16)] * 4 and batch["float32"].shape == (8, 16)
last = jax.devices()[3]
[batch, *_] = packstone.jax.batches(packstone.Loader(tree, 8, fields=["float32"]), last)
assert batch["float32"].devices() == {{last}}
assert np.array_equal(batch["float32"], tree[:8]["float32"])
"""
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "PYTHONPATH": ":".join(sys.path)}
    subprocess.run([sys.executable, "-c", program], check=True, timeout=240, env=flags, cwd=ROOT)


def test_a_missing_jax_is_named() -> None:
    program = """
import sys
sys.modules["jax"] = None
try:
    import packstone.jax
except ImportError as error:
    assert "pip install jax" in str(error), error
else:
    raise SystemExit("imported")
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_golden_trees_go_over_whole() -> None:
    dataset = packstone.open(ROOT / "tests" / "golden" / "tensordict" / "nested_deep" / "data")
    sample = dataset[dataset.collections[0]][:]
    made = dict(flat(packed.arrays(sample, wide="convert")))
    assert made.keys() == dict(flat(sample)).keys()
