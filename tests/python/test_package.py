"""The Python package gives the values that the original libraries wrote, in every format."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import packstone
import sedpack_real
from conftest import CACHES, GOLDEN, GOLDEN_CASES, RECORDS, ROOT, SIGNALS
from package import expected, fingerprint, flat, row, same

TREES = ROOT / "tests" / "golden" / "tensordict"
CACHE_CASES = sorted(
    path.parent.name
    for path in CACHES.glob("v*/expected.json")
    if expected(path)["dataset"] is not None
)
RECORD_CASES = sorted(path.stem for path in RECORDS.glob("*.arrayrecord"))


def check_views(collection: packstone.Collection, samples: list[dict[str, Any]]) -> None:
    """An index, iteration, a slice, a list, an array, a mask and batches all give the same samples."""
    count = len(collection)
    assert len(samples) == count
    assert all(map(same, (collection[i] for i in range(count)), samples))
    assert all(map(same, (collection[i - count] for i in range(count)), samples))
    backwards = list(range(count))[::-1]
    mask = np.arange(count) % 2 == 0
    for key, chosen in (
        (slice(None), list(range(count))),
        (slice(None, None, -1), backwards),
        (backwards, backwards),
        (np.array(backwards, dtype=np.int16), backwards),
        (mask, np.flatnonzero(mask).tolist()),
    ):
        batch = collection[key]
        assert all(same(row(batch, at), samples[index]) for at, index in enumerate(chosen))
    batches = list(collection.batches(2))
    assert all(same(row(batches[i // 2], i % 2), samples[i]) for i in range(count))


# In npz_uncast the original returns values that its own schema cannot hold.
@pytest.mark.parametrize("case", [case for case in GOLDEN_CASES if case != "npz_uncast"])
def test_sedpack_reads_as_the_original_reads_it(case: str) -> None:
    path = GOLDEN / case / "data"
    dataset = packstone.open(path)
    assert dataset.format == "sedpack"
    schema = sedpack_real.columns(path)
    splits = sedpack_real.dump(path)
    assert sorted(dataset.collections) == sorted(splits)
    for name, wanted in splits.items():
        samples = list(dataset[name])
        assert [sedpack_real.row(sample, schema) for sample in samples] == wanted
        for sample in samples:
            arrays = {f.name: f for f in dataset[name].schema if f.dtype is not None}
            assert all(sample[key].dtype == field.dtype for key, field in arrays.items())
            assert all(sample[key].shape == field.shape for key, field in arrays.items())
        check_views(dataset[name], samples)


@pytest.mark.parametrize("case", CACHE_CASES)
def test_datasetrt_reads_as_written(case: str) -> None:
    said = expected(CACHES / case / "expected.json")["dataset"]
    dataset = packstone.open([CACHES / case / path for path in said["paths"]])
    (name,) = dataset.collections
    samples = list(dataset[name])
    for sample, wanted in zip(samples, said["samples"], strict=True):
        payload = wanted["payload"]
        assert fingerprint(sample["data"]) == (payload["len"], payload["sha256"])
    check_views(dataset[name], samples)


@pytest.mark.parametrize("case", RECORD_CASES)
def test_arrayrecord_reads_as_written(case: str) -> None:
    dataset = packstone.open(RECORDS / f"{case}.arrayrecord")
    (name,) = dataset.collections
    wanted = expected(RECORDS / f"{case}.expected.json")["real"]["records"]
    found = [fingerprint(sample["record"]) for sample in dataset[name]]
    # Long lists have their hashes cut.
    assert len(found) == len(wanted)
    assert all(n == size and sha.startswith(cut) for (n, sha), (size, cut) in zip(found, wanted))
    if len(found) < 100:
        check_views(dataset[name], list(dataset[name]))


@pytest.mark.parametrize("case", ["dtypes", "multi-shard", "empty", "annotations", "descriptors"])
def test_signal_datasets_read_as_written(case: str) -> None:
    dataset = packstone.open(SIGNALS / case / "data")
    wanted = expected(SIGNALS / case / "expected.json")["records"]
    records = dataset[dataset.collections[0]]
    assert len(records) == len(wanted)
    for sample, said in zip(records, wanted, strict=True):
        fields = {key: (field["nbytes"], field["sha256"]) for key, field in said["fields"].items()}
        assert {key: fingerprint(sample[key]) for key in fields} == fields
        for key, field in said["fields"].items():
            assert sample[key].shape == tuple(field["shape"])
            assert sample[key].dtype == np.dtype(field["dtype"])
    assert all(same(records[i], sample) for i, sample in enumerate(records))


def tensors(tree: dict[str, Any], way: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """The tensors below a node of a tree, by key."""
    found = {}
    for name, node in tree["entries"]:
        if node["node"] == "tensor":
            found[(*way, name)] = node
        else:
            found |= tensors(node, (*way, name))
    return found


@pytest.mark.parametrize("case", ["basic", "dtypes", "nested_deep", "float_specials", "keys_dots_and_unicode"])
def test_trees_read_as_written(case: str) -> None:
    said = expected(TREES / case / "expected.json")
    dataset = packstone.open(TREES / case / said["data"])
    samples = dataset[dataset.collections[0]]
    whole = dict(flat(samples[:]))
    wanted = tensors(said["tree"])
    assert set(wanted) <= set(whole)
    for key, tensor in wanted.items():
        assert fingerprint(whole[key]) == (tensor["nbytes"], tensor["sha256"]), key
        # A tree without a batch size is one sample.
        batch = [] if said["tree"]["batch_size"] else [1]
        assert list(whole[key].shape) == batch + tensor["shape"], key
    check_views(samples, list(samples))


def test_types_that_numpy_lacks_are_those_of_ml_dtypes() -> None:
    import ml_dtypes

    found: dict[str, np.dtype[Any] | None] = {}
    for case in ("dtypes", "dtypes_write_only"):
        dataset = packstone.open(TREES / case / "data")
        collection = dataset[dataset.collections[0]]
        values = dict(flat(collection[0]))
        for field in collection.schema:
            found[field.type] = field.dtype
            assert values[field.key].dtype == field.dtype
            assert values[field.key].shape == field.shape
    assert found["bfloat16"] == np.dtype(ml_dtypes.bfloat16)
    for name in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu"):
        assert found[f"float8_{name}"] == np.dtype(getattr(ml_dtypes, f"float8_{name}"))
    raw = {"complex32": "u4", "bcomplex32": "u4", "bits16": "u2", "float4_e2m1fn_x2": "u1"}
    assert {name: found[name] for name in raw} == {k: np.dtype(f"<{v}") for k, v in raw.items()}


#: Opens a tree of bfloat16 where ml_dtypes cannot be imported.
WITHOUT = """
import sys
sys.modules["ml_dtypes"] = None
import numpy, packstone
dataset = packstone.open(sys.argv[1])
collection = dataset[dataset.collections[0]]
field = next(field for field in collection.schema if field.type == "bfloat16")
assert field.dtype == numpy.dtype("uint16"), field
assert collection[0][field.key[0]].dtype == field.dtype
"""


def test_without_ml_dtypes_they_are_raw_integers() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT, str(TREES / "dtypes" / "data")], check=True)


def test_arrays_are_read_only_views_that_outlive_everything() -> None:
    collection = packstone.open(GOLDEN / "fb_all_dtypes" / "data")["train"]
    array = collection[:]["a_int64"]
    assert not array.flags.writeable and not array.flags.owndata and array.flags.aligned
    copy = array.tobytes()
    del collection
    assert array.tobytes() == copy
    with pytest.raises(ValueError):
        array[...] = 0
    with pytest.raises((ValueError, BufferError)):
        array.flags.writeable = True
    # Without a copy where NumPy's rules ask for none.
    assert np.asarray(array, copy=False) is array
    torch = pytest.importorskip("torch")
    assert torch.from_dlpack(array.copy()).shape == array.shape


def test_every_array_is_aligned() -> None:
    for case in GOLDEN_CASES:
        dataset = packstone.open(GOLDEN / case / "data")
        for name in dataset:
            for sample in dataset[name]:
                arrays = [value for value in sample.values() if isinstance(value, np.ndarray)]
                assert all(array.flags.aligned for array in arrays)


def test_addresses_name_a_collection() -> None:
    path = GOLDEN / "fb_multi_split" / "data"
    whole = packstone.open(path)
    assert len(whole) == len(whole.collections) > 1
    name = whole.collections[0]
    one = packstone.open(f"{path}#{name}")
    assert one.collections == (name,) and name in one and list(one) == [name]
    with pytest.raises(packstone.NotFoundError) as raised:
        one[whole.collections[1]]
    assert name in raised.value.message
    with pytest.raises(packstone.NotFoundError):
        packstone.open(f"{path}#no such")


def test_schema_and_info_are_told() -> None:
    dataset = packstone.open(GOLDEN / "fb_all_dtypes" / "data")
    said = expected(GOLDEN / "fb_all_dtypes" / "expected.json")
    described = said["dataset_structure"]["saved_data_description"]
    fields = [(field.name, field.shape) for field in dataset.schema]
    assert fields == [(field["name"], tuple(field["shape"])) for field in described]
    assert all(field.key == (field.name,) for field in dataset.schema)
    assert dataset["train"].schema == dataset.schema
    assert dataset.info["metadata"] == said["metadata"]


def test_wrong_keys_are_refused() -> None:
    collection = packstone.open(GOLDEN / "fb_all_dtypes" / "data")["train"]
    count = len(collection)
    for index in (count, -count - 1, 2**62, [0, count]):
        with pytest.raises(IndexError):
            collection[index]
    with pytest.raises(IndexError):
        collection[np.ones(count + 1, dtype=bool)]
    for key in ("train", 1.5, None, [[0]], [0.5]):
        with pytest.raises(TypeError):
            collection[key]  # type: ignore[index]
    with pytest.raises(packstone.InvalidError):
        collection.batches(0)


def test_selections_are_collections() -> None:
    paths = [CACHES / "v3_basic_none" / "data" / "basic_none_s1"]
    said = expected(CACHES / "v3_basic_none" / "expected.json")["dataset"]["samples"]
    dataset = packstone.open(paths)
    collection = dataset[dataset.collections[0]]
    labels = [sample["metadata"]["label"] for sample in said]
    wanted = [i for i, label in enumerate(labels) if label == labels[0]]
    found = collection.select(f"label == '{labels[0]}'")
    assert 0 < len(found) < len(collection)
    assert found.indices is not None and found.indices.tolist() == wanted
    assert collection.indices is None
    check_views(found, [collection[i] for i in wanted])
    assert found.select("label == 'no such'").indices.tolist() == []
    assert found.select("not (label is null)").indices.tolist() == wanted
    with pytest.raises(packstone.InvalidError) as raised:
        collection.select("label ==")
    assert raised.value.code.startswith("expr/")
    assert found.digest() == packstone.open(paths)[collection.name].select(f"label == '{labels[0]}'").digest()
    assert found.digest() != collection.digest()


def test_datasets_and_collections_pickle() -> None:
    dataset = packstone.open(GOLDEN / "fb_multi_split" / "data")
    again = pickle.loads(pickle.dumps(dataset))
    assert again.collections == dataset.collections
    name = dataset.collections[0]
    one = pickle.loads(pickle.dumps(dataset[name]))
    assert one.name == name and same(one[0], dataset[name][0])
    narrowed = pickle.loads(pickle.dumps(packstone.open(f"{GOLDEN / 'fb_multi_split' / 'data'}#{name}")))
    assert narrowed.collections == (name,)
    caches = packstone.open(CACHES / "v3_basic_none" / "data" / "basic_none_s1")
    selected = caches[caches.collections[0]].select("not (label is null)")
    assert pickle.loads(pickle.dumps(selected)).indices.tolist() == selected.indices.tolist()


def test_errors_have_kind_code_and_place(tmp_path: Path) -> None:
    with pytest.raises(packstone.NotFoundError) as raised:
        packstone.open(tmp_path)
    error = raised.value
    assert error.code == "format/unrecognized" and error.kind == "not_found"
    assert error.place.file == str(tmp_path)
    assert str(error) == f"{error.place}: {error.message} [{error.code}]"
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.place) == (type(error), str(error), error.place)
    assert isinstance(error, packstone.Error) and isinstance(error, LookupError)
