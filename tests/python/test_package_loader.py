"""The loader of the Python package: every sample once, the same on any number of ranks, resumed anywhere."""

import contextlib
import io
import json
import os
import pickle
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import signal_dataset as sds

import packstone
import sds_real
import sedpack_real as real
from conftest import CACHES, GOLDEN, ROOT
from package import joined, numbered, numbers, row, same

PATH = GOLDEN / "fb_multi_split" / "data"


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> packstone.Collection:
    """37 samples in shards of 5, each with its number."""
    return numbered(tmp_path_factory.mktemp("many") / "dataset", 37)


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> packstone.Collection:
    """11 samples in shards of 4."""
    return numbered(tmp_path_factory.mktemp("few") / "dataset", 11, 4)


@pytest.fixture(scope="module")
def labelled() -> packstone.Collection:
    """A cache whose samples have metadata."""
    caches = packstone.open(CACHES / "v3_basic_none" / "data" / "basic_none_s1")
    return caches[caches.collections[0]]


@pytest.fixture(scope="module")
def second() -> dict[str, Callable[..., list[int]]]:
    """The second implementation of the orders."""
    with contextlib.redirect_stdout(io.StringIO()):
        return runpy.run_path(str(ROOT / "tests" / "golden" / "loader" / "generate.py"))


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


def test_weights_and_selections_and_fields(
    many: packstone.Collection, labelled: packstone.Collection
) -> None:
    weights = np.zeros(37)
    weights[[4, 9]] = [1, 3]
    drawn = joined(numbers(packstone.Loader(many, 8, weights=weights, seed=5)))
    assert len(drawn) == 37 and set(drawn) == {4, 9} and drawn.count(9) > drawn.count(4)
    with pytest.raises(packstone.InvalidError):
        packstone.Loader(many, 8, weights=[1.0])
    only = packstone.Loader(many, 8, fields=["number"])
    assert [field.name for field in only.schema] == ["number"]
    assert all(list(batch) == ["number"] for batch in only)
    selected = labelled.select("label == 'cat0'")
    assert 0 < len(selected) < len(labelled)
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


def test_orders_are_those_of_the_second_implementation(
    many: packstone.Collection, second: dict[str, Callable[..., list[int]]]
) -> None:
    weights = [float(n % 7) for n in range(37)]
    labels = [n % 5 // 2 for n in range(37)]
    listed = [5, 0, 36, 5, 7]
    cases: list[tuple[dict[str, Any], Callable[[int], list[int]]]] = [
        ({"order": "sequential"}, lambda e: list(range(37))),
        ({"order": "shuffled"}, lambda e: second["shuffled"](37, 9, e, range(37))),
        ({"shuffle": True}, lambda e: second["shuffled"](37, 9, e, range(37))),
        ({"order": "blocks", "shards": 3}, lambda e: second["blocks"]([5] * 7 + [2], 3, 9, e)),
        ({"order": "weighted", "weights": weights}, lambda e: second["weighted"](weights, 9, e, 37)),
        ({"weights": weights, "draws": 90}, lambda e: second["weighted"](weights, 9, e, 90)),
        ({"order": "distinct", "weights": weights}, lambda e: second["distinct"](weights, 9, e)),
        ({"order": "distinct", "weights": weights, "draws": 4}, lambda e: second["distinct"](weights, 9, e)[:4]),
        ({"order": "balanced", "key": labels}, lambda e: second["balanced"](labels, "all", 9, e)),
        ({"key": labels, "stop": "first"}, lambda e: second["balanced"](labels, "first", 9, e)),
        ({"indices": listed}, lambda e: listed),
        ({"order": "indices", "indices": np.array(listed) - 37}, lambda e: listed),
        ({"indices": listed, "shuffle": True}, lambda e: second["indices"](listed, 9, e)),
    ]
    for keywords, expected in cases:
        loader = packstone.Loader(many, 4, seed=9, **keywords)
        for epoch in (0, 3):
            loader.set_epoch(epoch)
            assert joined(numbers(loader)) == expected(epoch), keywords
        assert loader.samples == len(expected(0)) and len(loader) == -(-loader.samples // 4)
        assert loader.order == loader.state_dict()["order"]["name"]
        # One that was pickled is the same one, wherever it stands.
        loader.set_epoch(2)
        assert next(loader)["number"].tolist() == expected(2)[:4]
        copied = pickle.loads(pickle.dumps(loader))
        assert copied.state_dict() == loader.state_dict()
        assert joined(numbers(iter_rest(copied))) == joined(numbers(iter_rest(loader))) == expected(2)[4:]


def test_keys_are_numbered_by_where_they_first_occur(many: packstone.Collection) -> None:
    words = np.array(["b", "a", "b", "c"] * 9 + ["a"])
    by_words = packstone.Loader(many, 8, key=words)
    by_numbers = packstone.Loader(many, 8, key=[{"b": 0, "a": 1, "c": 2}[word] for word in words])
    assert by_words.state_dict() == by_numbers.state_dict()
    drawn = words[joined(numbers(by_words))].tolist()
    assert {word: drawn.count(word) for word in "abc"} == {"a": 18, "b": 18, "c": 18}


def test_mixtures_and_several_collections(
    many: packstone.Collection,
    few: packstone.Collection,
    second: dict[str, Callable[..., list[int]]],
) -> None:
    both = packstone.Loader([many, few], 6)
    assert joined(numbers(both)) == [*range(37), *range(11)]
    everything = packstone.Loader([many, few], 6, shuffle=True, seed=4, extras=["indices"])
    found = list(everything)
    order = [index for batch in found for index in batch["indices"].tolist()]
    assert order == second["shuffled"](48, 4, 0, range(48))
    assert joined(numbers(found)) == [index if index < 37 else index - 37 for index in order]
    for ratios, whole in (([0.7, 0.3], [7, 3]), ([14, 6], [7, 3]), ([0.5, 1], [1, 2])):
        for stop in ("first", "all"):
            mixed = packstone.Loader(
                [many, few], 6, shuffle=True, seed=4, ratios=ratios, stop=stop, extras=["indices"]
            )
            sources = [second["shuffled"](n, 4 + at, 0, range(n)) for at, n in enumerate((37, 11))]
            drawn = [index for batch in mixed for index in batch["indices"].tolist()]
            assert drawn == second["mixture"](sources, whole, stop, 4, 0)
            assert mixed.order == "mixture"
            assert joined(numbers(pickle.loads(pickle.dumps(mixed)))) != []
    weighted = packstone.Loader([many, few], 6, weights=[0] * 37 + [1] * 11, ratios=None, seed=1)
    assert max(joined(numbers(weighted))) < 11
    with pytest.raises(packstone.InvalidError):
        packstone.Loader([many, few], 6, ratios=[1])
    with pytest.raises(packstone.InvalidError):
        packstone.Loader([many, few], 6, ratios=[1, 0])
    with pytest.raises(ValueError, match="above 0"):
        packstone.Loader([many, few], 6, ratios=[1, -1])
    with pytest.raises(packstone.UnsupportedError):
        packstone.Loader([many, packstone.open(PATH)["train"]], 6)


def test_selections_in_every_order(labelled: packstone.Collection) -> None:
    selected = labelled.select("label != 'cat0'")
    own = selected.indices
    assert own is not None

    def drawn(**keywords: Any) -> list[int]:
        loader = packstone.Loader(selected, 2, extras=["indices"], seed=3, **keywords)
        return [index for batch in loader for index in batch["indices"].tolist()]

    rows = own.tolist()
    assert drawn() == rows
    for keywords in ({"shuffle": True}, {"order": "blocks", "shards": 1}, {"key": list(range(len(rows)))}):
        assert sorted(drawn(**keywords)) == rows
    weights = [0.0] * len(rows)
    weights[1] = 1.0
    assert set(drawn(weights=weights)) == {rows[1]} == set(drawn(order="distinct", weights=weights))
    assert drawn(indices=[-1, 0]) == [rows[-1], rows[0]]
    # By name, of the samples that are selected.
    assert set(drawn(order="balanced", key="label")) <= set(rows)
    with pytest.raises(packstone.UnsupportedError):
        drawn(order="native")
    other = labelled.select("label != 'cat1'")
    loaders = [packstone.Loader(some, 2, order="blocks") for some in (selected, other)]
    with pytest.raises(packstone.ConflictError):
        loaders[0].load_state_dict(loaders[1].state_dict())


def test_the_native_order_and_names_in_metadata(labelled: packstone.Collection) -> None:
    native = packstone.Loader(labelled, 4, order="native", seed=2, extras=["indices"])
    assert native.order == "datasetrt" and sum(len(batch["indices"]) for batch in native) == native.samples
    balanced = packstone.Loader(labelled, 4, key="label", stop="first")
    assert balanced.order == "balanced" and balanced.samples > 0


def test_the_last_step_is_short_filled_up_dropped_or_repeated(many: packstone.Collection) -> None:
    def last(rank: int, **keywords: Any) -> tuple[int, dict[str, Any]]:
        loader = packstone.Loader(
            many, 8, rank=rank, world_size=2, extras=["mask", "positions", "indices"], **keywords
        )
        batches = list(loader)
        assert len(batches) == len(loader)
        return len(batches), batches[-1]

    # 37 samples in steps of 16: the third step has 5, all on rank 0.
    count, batch = last(0)
    assert count == 3 and batch["number"].tolist() == list(range(32, 37)) and batch["mask"].all()
    assert batch["positions"].tolist() == batch["indices"].tolist() == list(range(32, 37))
    count, batch = last(1)
    assert count == 3 and batch["values"].shape == (0, 3) and batch["mask"].shape == (0,)
    count, batch = last(0, remainder="pad")
    assert batch["number"].tolist() == [*range(32, 37), 0, 0, 0]
    assert batch["mask"].tolist() == [True] * 5 + [False] * 3 and batch["mask"].dtype == bool
    assert batch["positions"].tolist() == [*range(32, 37), -1, -1, -1]
    assert not last(1, remainder="pad")[1]["mask"].any()
    assert last(1, remainder="drop")[0] == last(1, drop_last=True)[0] == 2
    count, batch = last(1, remainder="repeat")
    assert batch["number"].tolist() == [3, 4, 5, 6, 7, 8, 9, 10] and not batch["mask"].any()
    # The mask comes with rows that need it, and only with those.
    assert "mask" in next(packstone.Loader(many, 8, remainder="pad"))
    assert "mask" not in next(packstone.Loader(many, 8))
    short = packstone.Loader(many, 8).state_dict()
    packstone.Loader(many, 8, remainder="pad").load_state_dict(short)
    with pytest.raises(packstone.ConflictError):
        packstone.Loader(many, 8, remainder="drop").load_state_dict(short)


def test_replicas_read_the_same(many: packstone.Collection) -> None:
    first, second_, third = (
        joined(numbers(packstone.Loader(many, 4, rank=rank, world_size=4, replicas=2))) for rank in (0, 1, 2)
    )
    assert first == second_ and not set(first) & set(third)


def test_skip_and_rewind(many: packstone.Collection) -> None:
    loader = packstone.Loader(many, 8, shuffle=True, seed=1)
    whole = numbers(loader)
    loader.set_epoch(0)
    loader.skip(2)
    assert next(loader)["number"].tolist() == whole[2] and loader.steps_left == 2
    loader.rewind(2)
    assert next(loader)["number"].tolist() == whole[1]
    loader.skip(100)
    assert loader.steps_left == 0 and loader.epoch == 0
    loader.rewind()
    assert numbers(loader) == whole and loader.epoch == 0
    loader.rewind(100)
    assert next(loader)["number"].tolist() == whole[0]


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
@pytest.mark.parametrize("keywords", [{}, {"drop_last": True}, {"remainder": "repeat"}, {"remainder": "pad"}])
def test_workers_take_the_steps_in_turn(
    many: packstone.Collection, workers: int, keywords: dict[str, Any]
) -> None:
    for rank in range(2):
        loader = packstone.Loader(many, 3, shuffle=True, seed=1, rank=rank, world_size=2, **keywords)
        whole = numbers(loader)
        loader.set_epoch(0)
        for begun in (0, 2):
            loader.rewind()
            loader.skip(begun)
            state = loader.state_dict()
            rest = whole[begun:]
            parts = [numbers(loader._worker(number, workers, 0)) for number in range(workers)]
            assert parts == [rest[number::workers] for number in range(workers)]
            # Each goes on where it was left.
            again = [numbers(loader._worker(number, workers, 1)) for number in range(workers)]
            assert again == [part[1:] for part in parts]
            assert loader.state_dict() == state
    part = loader._worker(0, 2, 0)
    next(part)
    assert part._done == 1 and part.state_dict() == state
    for refused in (lambda: pickle.dumps(part), part.rewind, lambda: part.load_state_dict(state)):
        with pytest.raises(TypeError, match="worker"):
            refused()


def test_faults_are_skipped_and_counted(tmp_path: Path) -> None:
    collection = numbered(tmp_path / "dataset", 20)
    shards = [shard.file_infos[0].file_path for shard in real.shards(tmp_path / "dataset", "train")]
    (tmp_path / "dataset" / shards[1]).write_bytes(b"\0" * 64)
    loader = packstone.Loader(collection, 4, on_error="skip", extras=["indices"])
    batches = list(loader)
    assert [len(batch["number"]) for batch in batches] == [4, 1, 2, 4, 4]
    assert joined(numbers(batches)) == [*range(5), *range(10, 20)]
    assert all(batch["indices"].tolist() == batch["number"].tolist() for batch in batches)
    assert loader.skipped == 5
    notes = loader.take_notes()
    assert {note.code for note in notes} == {"loader/sample_skipped"} and loader.take_notes() == ()
    strict = packstone.Loader(collection, 4)
    assert next(strict)["number"].tolist() == [0, 1, 2, 3]
    for _ in range(2):
        with pytest.raises(packstone.CorruptError):
            next(strict)
    strict.skip(1)
    with pytest.raises(packstone.CorruptError):
        next(strict)
    strict.skip(1)
    assert next(strict)["number"].tolist() == [12, 13, 14, 15]


def test_values_of_any_shape_stack_or_are_filled_up(tmp_path: Path) -> None:
    """The original writes records whose fields have shapes of their own."""
    lengths = [3, 3, 3, 3, 1, 0, 5]
    records = [
        sds.Record(
            f"r{n}",
            {"iq": sds.Field(np.full((2, length), n + 1, np.int16), axes=(sds.Axis("c", 2), sds.Axis("t", length)))},
        )
        for n, length in enumerate(lengths)
    ]
    sds_real.write(tmp_path / "signals", records)
    dataset = packstone.open(tmp_path / "signals")
    collection = dataset[dataset.collections[0]]
    lists = [batch["iq"] for batch in packstone.Loader(collection, 4)]
    assert [[array.shape for array in arrays] for arrays in lists] == [
        [(2, 3)] * 4, [(2, 1), (2, 0), (2, 5)],
    ]  # fmt: skip
    loader = packstone.Loader(collection, 4, ragged="stack")
    first = next(loader)["iq"]
    assert first.shape == (4, 2, 3) and first.dtype == np.int16 and first[:, 0, 0].tolist() == [1, 2, 3, 4]
    for _ in range(2):
        # It stands before the batch that it cannot make.
        with pytest.raises(packstone.InvalidError, match=r"\[2, 1\] and \[2, 0\]") as caught:
            next(loader)
        assert caught.value.place.field == "iq" and loader.state_dict()["position"] == 4
    # Rows that only fill a batch up have the shape of the others.
    filled = next(packstone.Loader(collection, 3, indices=[0], remainder="pad", ragged="stack"))
    assert filled["iq"].shape == (3, 2, 3) and filled["mask"].tolist() == [True, False, False]
    assert (filled["iq"][0] == 1).all() and not filled["iq"][1:].any()
    # Rows that do not lie in the batch's order are copied together.
    chosen = [3, 0, 2]
    mixed = next(packstone.Loader(collection, 3, indices=chosen, ragged="stack"))["iq"]
    assert mixed[:, 1, 2].tolist() == [4, 1, 3]
    again = pickle.loads(pickle.dumps(packstone.Loader(collection, 7, ragged="pad")))
    batch = next(again)
    assert batch["iq"].shape == batch["iq_mask"].shape == (7, 2, 5) and batch["iq_mask"].dtype == np.bool_
    for n, length in enumerate(lengths):
        assert (batch["iq"][n, :, :length] == n + 1).all() and not batch["iq"][n, :, length:].any()
        assert batch["iq_mask"][n, :, :length].all() and not batch["iq_mask"][n, :, length:].any()


def test_keywords_that_do_not_go_together_are_refused(many: packstone.Collection) -> None:
    wrong: list[dict[str, Any]] = [
        {"order": "random"},
        {"order": "weighted"},
        {"order": "shuffled", "weights": [1.0] * 37},
        {"order": "balanced"},
        {"shuffle": True, "weights": [1.0] * 37},
        {"shuffle": True, "order": "blocks"},
        {"order": "sequential", "indices": [0]},
        {"remainder": "cut"},
        {"remainder": "pad", "drop_last": True},
        {"on_error": "ignore"},
        {"ragged": "cut"},
        {"draws": 5},
        {"draws": 5, "shuffle": True},
        {"draws": 5, "indices": [0]},
        {"stop": "never", "key": [0] * 37},
        {"extras": ["number"]},
        {"key": [[0] * 37]},
        {"ratios": [1.0], "indices": [0]},
    ]
    for keywords in wrong:
        with pytest.raises(ValueError):
            packstone.Loader(many, 8, **keywords)
    for keywords in ({"indices": [37]}, {"indices": [-38]}):
        with pytest.raises(IndexError):
            packstone.Loader(many, 8, **keywords)
    with pytest.raises(TypeError):
        packstone.Loader("train", 8)  # type: ignore[arg-type]


def test_datasets_pickle_wherever_the_process_went(
    many: packstone.Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = numbered(tmp_path / "here" / "dataset", 3).dataset
    monkeypatch.chdir(tmp_path / "here")
    collection = packstone.open("dataset")["train"]
    monkeypatch.chdir("/")
    for thing in (collection, packstone.Loader(collection, 2)):
        copied = pickle.loads(pickle.dumps(thing))
        assert joined(numbers(copied.batches(2) if thing is collection else copied)) == [0, 1, 2]
    assert path.collections == ("train",)
