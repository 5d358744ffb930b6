"""Datasets for PyTorch: the tensors that there are, in the order of the loader, with workers of every kind."""

import json
import multiprocessing
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader
from torchdata.stateful_dataloader import StatefulDataLoader

import packstone
import tensordict_real
from conftest import CACHES, ROOT, SIGNALS
from package import flat, numbered
from packstone.torch import IterableDataset, MapDataset, Tensors, collate

TREES = ROOT / "tests" / "golden" / "tensordict"

# A process of this kind imports PyTorch once for all that it makes.
multiprocessing.set_forkserver_preload(["packstone.torch"])


@pytest.fixture(autouse=True)
def strict() -> Iterator[None]:
    """A warning, as of an array that may not be written to, fails a test."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Those of torchdata about torch, and of torch about machines with few processors.
        warnings.filterwarnings("ignore", "'set_vital' is deprecated")
        warnings.filterwarnings("ignore", "This DataLoader will create")
        # JAX, once another test has imported it, warns of every fork.
        warnings.filterwarnings("ignore", r"os\.fork\(\) was called")
        yield


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> packstone.Collection:
    """37 samples in shards of 5, each with its number."""
    return numbered(tmp_path_factory.mktemp("many") / "dataset", 37)


def numbers(batches: Any) -> list[list[int]]:
    """The numbers of the samples of each batch."""
    return [batch["number"].tolist() for batch in batches]


def whole(collection: packstone.Collection, size: int, **options: Any) -> list[list[int]]:
    """Those of an epoch."""
    return [batch["number"].tolist() for batch in packstone.Loader(collection, size, **options)]


def same_bytes(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Equal in type, shape and every bit."""
    def raw(tensor: torch.Tensor) -> bytes:
        return tensor.contiguous().flatten().view(torch.uint8).numpy().tobytes()

    return one.dtype == other.dtype and one.shape == other.shape and raw(one) == raw(other)


@pytest.mark.parametrize("case", ["basic", "dtypes", "tdz_all_dtypes", "nested_deep", "names"])
def test_tensors_are_those_of_the_original(case: str) -> None:
    path = TREES / case / json.loads((TREES / case / "expected.json").read_text())["data"]
    original = tensordict_real.load(path)
    dataset = packstone.open(path)
    collection = dataset[dataset.collections[0]]
    samples = MapDataset(collection)
    batch = samples.__getitems__(list(range(len(collection))))
    compared = 0
    for at, row in enumerate(batch):
        for one in (row, samples[at]):
            for key, value in flat(one):
                expected = original.get(key)
                if isinstance(value, torch.Tensor):
                    expected = expected[at] if original.batch_dims else expected
                    assert same_bytes(value, expected.reshape(value.shape)), key
                    compared += 1
    assert compared > 0


def test_types_that_numpy_lacks_are_those_of_torch(tmp_path: Path) -> None:
    tree = tensordict_real.TensorDict(batch_size=[3])
    for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "complex32", "float8_e8m0fnu"):
        tree[name] = torch.arange(6, dtype=torch.uint8).repeat(getattr(torch, name).itemsize).view(
            getattr(torch, name)
        ).reshape(3, 2)
    tree.memmap_(tmp_path / "tree")
    dataset = packstone.open(tmp_path / "tree")
    samples = MapDataset(dataset[dataset.collections[0]])
    [batch] = DataLoader(samples, batch_size=3)
    for name in tree.keys():
        assert same_bytes(batch[name], tree[name]), name
        assert same_bytes(samples[1][name], tree[name][1]), name


def test_memory_is_shared_and_may_be_written_to(many: packstone.Collection) -> None:
    for values in (many[[3, 1]], many[3], next(packstone.Loader(many, 4))):
        address = values["values"].ctypes.data
        assert not values["values"].flags.writeable
        tensor = Tensors(many.schema)(values)["values"]
        assert tensor.data_ptr() == address
        tensor.mul_(2)
    # What looks at a file, or a decoded shard of others, is copied.
    sample = next(iter(many))
    tensor = Tensors(many.schema)(sample)["values"]
    assert tensor.data_ptr() != sample["values"].ctypes.data
    tensor.fill_(9)
    assert many[0]["values"].tolist() == [0, 0, 0] == next(iter(many))["values"].tolist()
    assert numbers([MapDataset(many)[7]]) == [7]


def test_what_torch_has_no_type_for_stays(tmp_path: Path) -> None:
    schema = [
        packstone.field("text", str),
        packstone.field("raw", bytes),
        packstone.field("name", "U4"),
        packstone.field("unsigned", "uint16"),
    ]
    with packstone.create(tmp_path / "new", format="sedpack", schema=schema[:2] + schema[3:]) as writer:
        for number in range(3):
            writer.write("train", {"text": str(number), "raw": bytes([number]), "unsigned": number})
    [batch] = DataLoader(MapDataset(packstone.open(tmp_path / "new")["train"]), batch_size=3)
    assert batch["text"] == ["0", "1", "2"] and batch["raw"] == [b"\0", b"\1", b"\2"]
    assert batch["unsigned"].dtype == torch.uint16
    plain = Tensors(schema)({"name": np.array(["a"]), "day": np.array(["2024-01-01"], "M8[D]")})
    assert all(isinstance(value, np.ndarray) for value in plain.values())
    # Values whose shape varies are lists of tensors.
    many = Tensors([])({"x": [np.zeros(2), np.zeros(3)], "y": ["a", "b"]})
    assert [row.shape for row in many["x"]] == [(2,), (3,)] and many["y"] == ["a", "b"]


class Counted(MapDataset):
    """Counts how often it is asked."""

    gathers = singles = 0

    def _gather(self, indices: list[int]) -> Any:
        self.gathers += 1
        return super()._gather(indices)

    def __getitem__(self, index: int) -> Any:
        self.singles += 1
        return super().__getitem__(index)


def test_a_batch_is_one_gather(many: packstone.Collection) -> None:
    dataset = Counted(many)
    assert len(dataset) == 37
    batches = list(DataLoader(dataset, batch_size=16))
    assert numbers(batches) == [list(range(16)), list(range(16, 32)), list(range(32, 37))]
    assert batches[0]["values"].shape == (16, 3) and batches[0]["values"].dtype == torch.float32
    assert (dataset.gathers, dataset.singles) == (3, 0)
    assert numbers(DataLoader(dataset, batch_size=16, collate_fn=collate)) == numbers(batches)
    # A collate function of one's own sees a list of samples.
    own = DataLoader(dataset, batch_size=16, collate_fn=lambda rows: [len(rows), rows[-1]["number"].item()])
    assert list(own) == [[16, 15], [16, 31], [5, 36]]
    # Without a batch size, and within other samples, samples are what they are.
    assert numbers(DataLoader(dataset, batch_size=None)) == list(range(37))
    assert collate([dataset.__getitems__([4])[0], dataset.__getitems__([5])[0]])["number"].tolist() == [4, 5]
    rows = dataset.__getitems__([7, 8, 9])
    assert [row["number"].item() for row in rows[1:]] == [8, 9] and rows[-1]["number"] == 9
    with pytest.raises(IndexError):
        rows[3]


def halved(sample: dict[str, Any]) -> dict[str, Any]:
    return {"half": sample["number"] / 2}


def test_samples_are_transformed_one_by_one(many: packstone.Collection) -> None:
    dataset = MapDataset(many, halved)
    assert dataset[3]["half"] == 1.5
    assert next(iter(DataLoader(dataset, batch_size=4)))["half"].tolist() == [0, 0.5, 1, 1.5]


def test_samples_with_fields_of_their_own_are_single() -> None:
    collection = packstone.open(SIGNALS / "descriptors" / "data")["records"]
    with pytest.raises(packstone.UnsupportedError):
        collection[:]
    batches = list(DataLoader(MapDataset(collection), batch_size=2, collate_fn=list))
    assert [set(sample) for batch in batches for sample in batch] == [set(sample) for sample in collection]


@pytest.mark.parametrize("start, workers", [("fork", 1), ("fork", 2), ("spawn", 1), ("forkserver", 2)])
def test_workers_of_every_kind(many: packstone.Collection, start: str, workers: int) -> None:
    options: dict[str, Any] = {"num_workers": workers, "multiprocessing_context": start}
    # The parent has read, with threads, before it makes processes.
    list(many.batches(5))
    mapped = DataLoader(MapDataset(many), batch_size=10, **options)
    assert numbers(mapped) == [list(range(n, min(n + 10, 37))) for n in range(0, 37, 10)]
    iterable = DataLoader(IterableDataset(many, 5, shuffle=True, seed=3), batch_size=None, **options)
    assert numbers(iterable) == whole(many, 5, shuffle=True, seed=3)
    caches = packstone.open(CACHES / "v3_basic_none" / "data" / "basic_none_s1")
    selected = caches[caches.collections[0]].select("label != 'cat0'")
    found = [data for batch in DataLoader(MapDataset(selected), batch_size=2, **options) for data in batch["data"]]
    assert found == [sample["data"] for sample in selected]


@pytest.mark.parametrize("workers", [0, 1, 2, 3])
def test_ranks_and_workers_read_the_order(many: packstone.Collection, workers: int) -> None:
    alone = [n for batch in whole(many, 6, order="blocks", shards=2, seed=5) for n in batch]
    datasets = [
        IterableDataset(many, 3, order="blocks", shards=2, seed=5, rank=rank, world_size=2) for rank in (0, 1)
    ]
    for epoch in (0, 4):
        steps = []
        for dataset in datasets:
            dataset.set_epoch(epoch)
            loader = DataLoader(dataset, batch_size=None, num_workers=workers)
            assert len(loader) == len(dataset) == 7
            steps.append(numbers(loader))
        read = [n for step in zip(*steps, strict=True) for batch in step for n in batch]
        assert sorted(read) == list(range(37))
        assert (read == alone) == (epoch == 0)


def test_passes_are_epochs(many: packstone.Collection) -> None:
    loader = packstone.Loader(many, 8, shuffle=True, seed=2)
    epochs = [numbers(loader) for _ in range(4)]
    loader.set_epoch(1)
    next(loader)
    dataset = IterableDataset(loader)
    # The rest of the epoch, then whole ones; the loader itself stays where it is.
    assert numbers(dataset) == epochs[1][1:]
    assert numbers(dataset) == epochs[2] and numbers(dataset) == epochs[3]
    assert loader.steps_left == 4 and loader.epoch == 1
    # One that is left early is over.
    dataset.set_epoch(0)
    assert next(iter(dataset))["number"].tolist() == epochs[0][0]
    assert numbers(dataset) == epochs[1]
    dataset.set_epoch(0)
    kept = DataLoader(dataset, batch_size=None, num_workers=2, persistent_workers=True)
    assert [numbers(kept) for _ in range(3)] == epochs[:3]
    ends = DataLoader(dataset, batch_size=None, num_workers=2)
    for epoch in (0, 3, 1):
        dataset.set_epoch(epoch)
        assert numbers(ends) == epochs[epoch]
    for wrong in ((loader, 8), (many,)):
        with pytest.raises(TypeError):
            IterableDataset(*wrong)


@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize("after", [0, 1, 4, 7, 8])
@pytest.mark.parametrize("start", ["fork"])
def test_a_stateful_loader_goes_on(
    many: packstone.Collection, workers: int, after: int, start: str
) -> None:
    def make() -> tuple[IterableDataset, Any]:
        dataset = IterableDataset(many, 5, shuffle=True, seed=6)
        context = start if workers else None
        loader = StatefulDataLoader(
            dataset, batch_size=None, num_workers=workers, multiprocessing_context=context
        )
        return dataset, loader

    order = packstone.Loader(many, 5, shuffle=True, seed=6)
    epochs = [numbers(order) for _ in range(3)]
    dataset, loader = make()
    dataset.set_epoch(1)
    run = iter(loader)
    head = [next(run)["number"].tolist() for _ in range(min(after, 8))]
    if after == 8:
        assert next(run, None) is None
    state = json.loads(json.dumps(loader.state_dict()))
    uninterrupted = head + numbers(run)
    assert uninterrupted == epochs[1]
    dataset, loader = make()
    dataset.set_epoch(1)
    loader.load_state_dict(state)
    if after == 8 and workers:
        # The epoch was over, and workers that end with one are told which the next is.
        dataset.set_epoch(2)
    assert numbers(loader) == (epochs[1][after:] if after < 8 else epochs[2])
    # Later ones are whole.
    dataset.set_epoch(2)
    assert numbers(loader) == epochs[2]


@pytest.mark.parametrize("start", ["spawn", "forkserver"])
def test_a_stateful_loader_goes_on_in_processes_of_other_kinds(
    many: packstone.Collection, start: str
) -> None:
    test_a_stateful_loader_goes_on(many, 2, 3, start)


def test_states_of_other_workers_are_refused(many: packstone.Collection) -> None:
    dataset = IterableDataset(many, 5)
    state = {"loader": dataset.state_dict()["loader"], "done": 1, "worker": 0, "workers": 2}
    dataset.load_state_dict(state)
    assert dataset.state_dict() == state
    with pytest.raises(ValueError, match="worker 0 of 1"):
        iter(dataset)
    # One that was taken without workers serves any number of them.
    dataset.load_state_dict({**state, "done": 0})
    assert numbers(DataLoader(dataset, batch_size=None, num_workers=3)) == whole(many, 5)


def test_map_datasets_go_on_as_well(many: packstone.Collection) -> None:
    loader = StatefulDataLoader(MapDataset(many), batch_size=8, num_workers=2)
    run = iter(loader)
    next(run), next(run)
    state = loader.state_dict()
    rest = numbers(run)
    other = StatefulDataLoader(MapDataset(many), batch_size=8, num_workers=2)
    other.load_state_dict(state)
    assert numbers(other) == rest == numbers(DataLoader(MapDataset(many), batch_size=8))[2:]


def test_ranks_of_a_process_group(many: packstone.Collection, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="init_process_group"):
        IterableDataset.from_distributed(many, 4)
    program = f"""
import sys, torch, packstone
from packstone.torch import IterableDataset
rank = int(sys.argv[1])
torch.distributed.init_process_group("gloo", init_method="file://{tmp_path}/store", rank=rank, world_size=2)
collection = packstone.open({str(many.dataset)!r}.split()[2][:-1])["train"]
dataset = IterableDataset.from_distributed(collection, 4, shuffle=True)
print([batch["number"].tolist() for batch in dataset])
"""
    ranks = [
        subprocess.Popen([sys.executable, "-c", program, str(rank)], stdout=subprocess.PIPE) for rank in (0, 1)
    ]
    found = [json.loads(process.communicate(timeout=120)[0]) for process in ranks]
    expected = [whole(many, 4, shuffle=True, rank=rank, world_size=2) for rank in (0, 1)]
    assert found == expected


def test_memory_is_pinned_where_there_is_cuda(many: packstone.Collection) -> None:
    dataset = IterableDataset(many, 8, pin_memory=True)
    batch = next(iter(dataset))
    assert batch["values"].is_pinned() == torch.cuda.is_available()
    with pytest.raises(RuntimeError, match="pin_memory of the DataLoader"):
        next(iter(DataLoader(dataset, batch_size=None, num_workers=1)))


def doubled(batch: dict[str, Any]) -> Any:
    return batch["number"] * 2


def test_batches_are_transformed(many: packstone.Collection) -> None:
    dataset = IterableDataset(many, 8, transform=doubled)
    [first, *_] = DataLoader(dataset, batch_size=None, num_workers=1, multiprocessing_context="spawn")
    assert first.tolist() == [0, 2, 4, 6, 8, 10, 12, 14]


def test_nothing_is_imported_that_is_not_asked_for() -> None:
    program = """
import sys, packstone
assert not {"torch", "jax", "tensordict", "torchdata", "pandas"} & set(sys.modules)
sys.modules["torch"] = None
try:
    import packstone.torch
except ImportError as error:
    assert "pip install torch" in str(error), error
else:
    raise SystemExit("imported")
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
