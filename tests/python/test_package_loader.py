"""The loader of the Python package: every sample once, the same on any number of ranks, resumed anywhere."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import packstone
import sedpack_real as real
from conftest import CACHES, GOLDEN
from package import row, same

PATH = GOLDEN / "fb_multi_split" / "data"


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> packstone.Collection:
    """37 samples in shards of 5, each with its number."""
    from sedpack.io import Dataset
    from sedpack.io.metadata import Attribute, DatasetStructure, Metadata

    path = tmp_path_factory.mktemp("many") / "dataset"
    structure = DatasetStructure(
        saved_data_description=[
            Attribute(name="number", dtype="int64", shape=()),
            Attribute(name="values", dtype="float32", shape=(3,)),
        ],
        shard_file_type="fb",
        compression="LZ4",
        examples_per_shard=5,
    )
    dataset = Dataset.create(path=path, metadata=Metadata(description="numbers"), dataset_structure=structure)
    with dataset.filler() as filler:
        for number in range(37):
            values = {"number": np.int64(number), "values": np.full(3, number, dtype=np.float32)}
            filler.write_example(values=values, split="train")
    return packstone.open(path)["train"]


def numbers(batches: Any) -> list[list[int]]:
    """The numbers of the samples of each batch."""
    return [batch["number"].tolist() for batch in batches]


def joined(batches: list[list[int]]) -> list[int]:
    return [number for batch in batches for number in batch]


def test_batches_come_in_order(many: packstone.Collection) -> None:
    loader = packstone.Loader(many, 8)
    assert len(loader) == loader.steps_left == 5
    batches = list(loader)
    assert [len(batch["number"]) for batch in batches] == [8, 8, 8, 8, 5]
    assert joined(numbers(batches)) == list(range(37))
    samples = list(many)
    assert same(row(batches[1], 2), samples[10])
    assert loader.steps_left == 0 and loader.epoch == 0
    # The next loop is the next epoch.
    assert joined(numbers(loader)) == list(range(37)) and loader.epoch == 1
    assert numbers(packstone.Loader(many, 8, drop_last=True)) == numbers(batches[:4])


def test_shuffled_epochs_have_every_sample_once(many: packstone.Collection) -> None:
    loader = packstone.Loader(many, 8, shuffle=True, seed=7)
    first, second = joined(numbers(loader)), joined(numbers(loader))
    assert sorted(first) == sorted(second) == list(range(37))
    assert first != second and first != list(range(37))
    loader.set_epoch(0)
    assert joined(numbers(loader)) == first
    for threads in (0, 1, 3):
        again = packstone.Loader(many, 8, shuffle=True, seed=7, threads=threads)
        assert joined(numbers(again)) == first


def test_ranks_share_each_step(many: packstone.Collection) -> None:
    alone = joined(numbers(packstone.Loader(many, 6, shuffle=True, seed=3)))
    loaders = [
        packstone.Loader(many, 2, shuffle=True, seed=3, rank=rank, world_size=3) for rank in range(3)
    ]
    steps = [numbers(loader) for loader in loaders]
    assert len({len(batches) for batches in steps}) == 1
    assert [n for step in zip(*steps) for batch in step for n in batch] == alone
    with pytest.raises(packstone.InvalidError):
        packstone.Loader(many, 2, rank=3, world_size=3)
    with pytest.raises(packstone.InvalidError):
        packstone.Loader(many, 0)


@pytest.mark.parametrize("after", range(6))
def test_a_state_goes_on_anywhere(many: packstone.Collection, after: int) -> None:
    whole = numbers(packstone.Loader(many, 8, shuffle=True, seed=1))
    with packstone.Loader(many, 8, shuffle=True, seed=1) as loader:
        head = [next(loader)["number"].tolist() for _ in range(min(after, 5))]
        state = json.loads(json.dumps(loader.state_dict()))
        assert len(json.dumps(state)) < 1000
    # A loader that was closed goes on as well.
    assert head + numbers(iter_rest(loader)) == whole
    other = packstone.Loader(many, 8, shuffle=True, seed=1)
    other.load_state_dict(state)
    assert other.steps_left == 5 - min(after, 5)
    assert head + numbers(iter_rest(other)) == whole
    # And with another number of ranks.
    ranks = [packstone.Loader(many, 4, shuffle=True, seed=1, rank=r, world_size=2) for r in (0, 1)]
    for loader in ranks:
        loader.load_state_dict(state)
    steps = [numbers(iter_rest(loader)) for loader in ranks]
    rest = [n for step in zip(*steps) for batch in step for n in batch]
    assert joined(head) + rest == joined(whole)


def iter_rest(loader: packstone.Loader) -> list[Any]:
    """What is left of the epoch, perhaps nothing."""
    return [next(loader) for _ in range(loader.steps_left)]


def test_states_of_others_are_refused(many: packstone.Collection) -> None:
    loader = packstone.Loader(many, 8, shuffle=True, seed=1)
    other = packstone.Loader(many, 8, shuffle=True, seed=2)
    with pytest.raises(packstone.ConflictError) as raised:
        loader.load_state_dict(other.state_dict())
    assert raised.value.code == "loader/state_order"
    for wrong in ({}, {"format": "packstone.loader"}, []):
        with pytest.raises(packstone.InvalidError):
            loader.load_state_dict(wrong)  # type: ignore[arg-type]


def test_weights_and_selections_and_fields(many: packstone.Collection) -> None:
    weights = np.zeros(37)
    weights[[4, 9]] = [1, 3]
    drawn = joined(numbers(packstone.Loader(many, 8, weights=weights, seed=5)))
    assert len(drawn) == 37 and set(drawn) == {4, 9} and drawn.count(9) > drawn.count(4)
    with pytest.raises(packstone.InvalidError):
        packstone.Loader(many, 8, weights=[1.0])
    only = packstone.Loader(many, 8, fields=["number"])
    assert [field.name for field in only.schema] == ["number"]
    assert all(list(batch) == ["number"] for batch in only)
    caches = packstone.open(CACHES / "v3_basic_none" / "data" / "basic_none_s1")
    collection = caches[caches.collections[0]]
    selected = collection.select("label == 'cat0'")
    assert 0 < len(selected) < len(collection)
    loader = packstone.Loader(selected, 2)
    assert [data for batch in loader for data in batch["data"]] == [s["data"] for s in selected]
    mixed = packstone.Loader(selected, 2, shuffle=True)
    assert sorted(d for b in mixed for d in b["data"]) == sorted(s["data"] for s in selected)


def test_transforms_make_what_is_delivered(many: packstone.Collection) -> None:
    def total(batch: dict[str, Any]) -> int:
        return int(batch["number"].sum())

    loader = packstone.Loader(many, 8, transforms=[total, lambda n: -n])
    assert sum(loader) == -sum(range(37))


def test_a_forked_process_goes_on(many: packstone.Collection) -> None:
    loader = packstone.Loader(many, 8, shuffle=True, seed=1)
    whole = numbers(packstone.Loader(many, 8, shuffle=True, seed=1))
    assert next(loader)["number"].tolist() == whole[0]
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        found = numbers(iter_rest(loader))
        os.write(writing, json.dumps(found).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        assert json.loads(pipe.read()) == whole[1:]
    assert os.waitpid(child, 0)[1] == 0
    assert numbers(iter_rest(loader)) == whole[1:]


def test_damage_is_raised(tmp_path: Path) -> None:
    target = tmp_path / "copy"
    packstone.convert(PATH, target, to="sedpack")
    name = packstone.open(target).collections[0]
    shards = [shard.file_infos[0].file_path for shard in real.shards(target, name)]
    (target / shards[-1]).write_bytes(b"\0" * 64)
    loader = packstone.Loader(packstone.open(target)[name], 1)
    with pytest.raises(packstone.CorruptError) as raised:
        list(loader)
    assert raised.value.place.file is not None
