"""The operations of the Python package: the same reports as the program's, as objects; Ctrl-C; progress."""

import dataclasses
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import packstone
import packstone_cli as program
from conftest import BAD_CASES, CACHES, GOLDEN, ROOT

SOURCE = GOLDEN / "fb_multi_split" / "data"


def without(summary: dict[str, Any]) -> dict[str, Any]:
    """A summary of the program without what every one of them has."""
    return {k: v for k, v in summary.items() if k not in ("type", "command", "schema_version", "seconds")}


@pytest.mark.parametrize("case", BAD_CASES)
def test_findings_are_those_of_the_program(case: str) -> None:
    path = GOLDEN / "bad" / case / "data"
    ended = program.verify(path, expect=None)
    if ended.code == program.FAILURE:
        with pytest.raises(packstone.Error):
            packstone.verify(path)
        return
    told = ended.lines()
    report = packstone.verify(path)
    findings = [line for line in told if line["type"] == "finding"]
    assert [finding.code for finding in report.findings] == [line["code"] for line in findings]
    assert [finding.message for finding in report.findings] == [line["message"] for line in findings]
    assert [finding.place.file for finding in report.findings] == [
        line.get("file") for line in findings
    ]
    assert report.clean == told[-1]["clean"]
    assert report.format == "sedpack"


def test_a_clean_dataset_is_clean() -> None:
    report = packstone.open(SOURCE).verify()
    assert report.clean and not report.findings
    assert report.samples > 0 and report.bytes > 0
    assert packstone.verify(SOURCE, expect=["00" * 32]).clean is False
    with pytest.raises(packstone.InvalidError):
        packstone.verify(f"{SOURCE}#train")


def test_conversions_prove_themselves(tmp_path: Path) -> None:
    source = packstone.digest(SOURCE)
    for to, name in (("tensordict", "tree.tdz"), ("sds", "signals"), ("sedpack", "again")):
        seen: list[tuple[int, int, str]] = []
        target = tmp_path / name
        report = packstone.convert(
            SOURCE, target, to=to, progress=lambda done, total, unit: seen.append((done, total, unit))
        )
        assert report.samples == report.written.samples == sum(d.samples for d in source.values())
        assert report.lossless and {proof.collection for proof in report.proofs} == set(source)
        assert seen[0] == (0, 0, "B") and seen == sorted(seen) and seen[-1][0] > 0
        assert packstone.open(target).format == to
        again = packstone.digest(target)
        assert {name: d.values for name, d in again.items()} == {
            name: d.values for name, d in source.items()
        }
        compared = packstone.diff(SOURCE, target)
        assert compared.equal and not compared.differences and compared.samples == report.samples
    name = next(iter(source))
    part = packstone.convert(f"{SOURCE}#{name}", tmp_path / "part", to="sedpack", proof=False)
    assert part.samples == source[name].samples and not part.proofs
    with pytest.raises(packstone.ExistsError) as raised:
        packstone.convert(SOURCE, tmp_path / "part", to="sedpack")
    assert raised.value.code == "site/exists"
    with pytest.raises(packstone.InvalidError):
        packstone.convert(SOURCE, tmp_path / "other", to="no such")
    assert not (tmp_path / "other").exists()


def test_options_reach_the_format(tmp_path: Path) -> None:
    options = {"compression": "ZSTD", "shard_type": "npz"}
    with pytest.raises(packstone.Error):
        packstone.convert(SOURCE, tmp_path / "a", to="sedpack", options={"no such": 1})
    options = {"compression": "ZSTD", "shard_type": "fb", "examples_per_shard": 1}
    report = packstone.convert(SOURCE, tmp_path / "b", to="sedpack", options=options)
    assert report.written.shards == report.samples
    with pytest.raises(TypeError):
        packstone.convert(SOURCE, tmp_path / "c", to="sedpack", options=[1])  # type: ignore[arg-type]


def test_differences_are_told() -> None:
    report = packstone.diff(GOLDEN / "fb_none" / "data", GOLDEN / "fb_scalars" / "data", limit=1)
    assert not report.equal and len(report.differences) == 1
    assert report.differences[0].what


def test_digests_are_those_of_the_program() -> None:
    told = program.digest(SOURCE)
    dataset = packstone.open(SOURCE)
    for name, digest in dataset.digest().items():
        wanted = told[name]
        assert {level: getattr(digest, level) for level in program.DIGESTS} == wanted
        for level in program.DIGESTS:
            assert dataset[name].digest(level) == wanted[level]
    with pytest.raises(ValueError):
        dataset[dataset.collections[0]].digest("all")


def test_an_exception_of_the_callback_stops_and_is_raised(tmp_path: Path) -> None:
    class Enough(Exception):
        pass

    def stop(done: int, total: int, unit: str) -> None:
        raise Enough

    with pytest.raises(Enough):
        packstone.convert(SOURCE, tmp_path / "x", to="sedpack", progress=stop)
    assert not (tmp_path / "x").exists()
    with pytest.raises(TypeError):
        packstone.digest(SOURCE, progress=3)  # type: ignore[arg-type]


#: Digests without end, until a signal comes.
BUSY = """
import sys, packstone
print("ready", flush=True)
try:
    while True:
        packstone.digest(sys.argv[1])
except KeyboardInterrupt:
    sys.exit(42)
"""


def test_control_c_ends_an_operation() -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", BUSY, str(SOURCE)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    time.sleep(0.2)
    os.kill(child.pid, signal.SIGINT)
    assert child.wait(20) == 42


def test_threads_read_at_once() -> None:
    dataset = packstone.open(SOURCE)
    collection = dataset[dataset.collections[0]]
    wanted = [sample.keys() for sample in collection]
    shared = iter(collection)
    taken: list[object] = []
    failed: list[BaseException] = []

    def read() -> None:
        try:
            taken.extend(shared)
            for index in range(len(collection)):
                assert collection[index].keys() == wanted[index]
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failed and len(taken) == len(collection)


TREE = ROOT / "tests" / "golden" / "tensordict" / "basic" / "data"


def test_archives_are_packed_and_unpacked(tmp_path: Path) -> None:
    packed = packstone.pack(TREE, tmp_path / "tree.tdz", compression="deflate")
    assert packed.files > 0 and packed.bytes > 0 and not packed.notes
    unpacked = packstone.unpack(tmp_path / "tree.tdz", tmp_path / "tree")
    assert unpacked.files == packed.files
    for file in TREE.rglob("*"):
        if file.is_file():
            assert (tmp_path / "tree" / file.relative_to(TREE)).read_bytes() == file.read_bytes()
    with pytest.raises(packstone.ExistsError):
        packstone.pack(TREE, tmp_path / "tree.tdz")
    with pytest.raises(packstone.InvalidError):
        packstone.pack(TREE, tmp_path / "other.tdz", compression="no such")


def test_manifests_are_migrated(tmp_path: Path) -> None:
    (source,) = (CACHES / "v2_basic_none" / "data").iterdir()
    cache = tmp_path / "cache"
    shutil.copytree(source, cache)
    before = (cache / "manifest.json").read_bytes()
    told = program.run("migrate", cache, "--to", "3", "--dry-run", "--json").lines()
    planned = packstone.migrate([cache], dry_run=True)
    assert [(m.path, m.cache_id, m.status) for m in planned.manifests] == [
        (line["path"], line["cache_id"], line["status"]) for line in told[:-1]
    ]
    summary = {name: getattr(planned, name) for name in ("to", "dry_run", "updated", "unchanged")}
    assert summary | {"warnings": list(planned.warnings)} == without(told[-1])
    assert planned.dry_run and [m.status for m in planned.manifests] == ["to_update"]
    assert (cache / "manifest.json").read_bytes() == before
    done = packstone.migrate([cache])
    assert [m.status for m in done.manifests] == ["updated"]
    assert done.manifests[0].cache_id == planned.manifests[0].cache_id
    assert [m.status for m in packstone.migrate([cache]).manifests] == ["unchanged"]
    with pytest.raises(packstone.InvalidError):
        packstone.migrate([cache], to=4)


def test_bars_are_told_as_functions_are() -> None:
    from tqdm import tqdm

    with tqdm(disable=False, file=open(os.devnull, "w")) as bar:
        packstone.digest(SOURCE, progress=bar)
        assert (bar.unit, bar.unit_scale) == ("B", True)
        assert bar.n > 0 and bar.total is not None and bar.total >= bar.n


#: Samples of a size that keeps a conversion busy for a while.
BUSY_ROWS = 2000


def test_a_callback_stops_work_that_is_under_way(tmp_path: Path) -> None:
    schema = [packstone.field("x", "float32", (4096,))]
    options: dict[str, Any] = {"examples_per_shard": 50}
    with packstone.create(tmp_path / "large", format="sedpack", schema=schema, options=options) as writer:
        for _ in range(BUSY_ROWS // 500):
            noise = np.random.default_rng(0).random((500, 4096), np.float32)
            writer.write_batch("train", {"x": noise})
    calls: list[int] = []

    def stop(done: int, total: int, unit: str) -> None:
        calls.append(done)
        if done > 0:
            raise KeyError("enough")

    with pytest.raises(KeyError):
        # Slow enough to be under way when somebody looks.
        slow = options | {"compression": "LZMA"}
        packstone.convert(tmp_path / "large", tmp_path / "copy", to="sedpack", options=slow, progress=stop)
    assert calls[0] == 0 and calls[-1] > 0
    assert not (tmp_path / "copy").exists()
    # Nothing of it runs on.
    assert packstone.convert(tmp_path / "large", tmp_path / "copy", to="tensordict").samples == BUSY_ROWS


def test_digests_are_kept_and_compared(tmp_path: Path) -> None:
    record = tmp_path / "digests.json"
    digests = packstone.digest(SOURCE, save=record)
    program.run("verify", SOURCE, "--against", record)
    assert packstone.verify(SOURCE, against=record).clean
    assert packstone.open(SOURCE).verify(against=record).clean
    with pytest.raises(packstone.ExistsError):
        packstone.digest(SOURCE, save=record)
    assert packstone.digest(packstone.open(SOURCE)) == digests
    packstone.convert(f"{SOURCE}#train", tmp_path / "part", to="sedpack")
    assert not packstone.verify(tmp_path / "part", against=record).clean


def test_selections_have_digests(tmp_path: Path) -> None:
    cache = CACHES / "v3_basic_none" / "data" / "basic_none_s1"
    collection = packstone.open(cache)["basic_none_s1"]
    whole = collection.select("cache_id is not null")
    for level in program.DIGESTS:
        if level != "samples":
            assert whole.digest(level) == collection.digest(level)
    some = collection.select("rank is not null and score > 0")
    assert 0 < len(some) < len(collection)
    assert some.digest() != whole.digest()
    some.save(tmp_path / "some.json")
    saved = packstone.open(tmp_path / "some.json")
    (name,) = saved.collections
    assert saved[name].digest() == some.digest()
    with pytest.raises(packstone.ExistsError):
        some.save(tmp_path / "some.json")
    told = program.run("select", cache, "--where", "rank is not null and score > 0", "--save", tmp_path / "cli.json", "--json")
    assert told.lines()[-1]["selected"] == len(some)
    twice = collection.select("rank is not null").select("score > 0")
    twice.save(tmp_path / "twice.json")
    assert packstone.open(tmp_path / "twice.json")[name].digest() == some.digest()
    with pytest.raises(packstone.UnsupportedError):
        packstone.open(SOURCE)["train"].save(tmp_path / "no.json")


def test_formats_are_those_of_the_program() -> None:
    told = program.run("formats", "--json").lines()
    assert [(f.id, f.title, f.options) for f in packstone.formats()] == [
        (line["format"], line["title"], line["write_options"]) for line in told
    ]


def signals(path: Path, records: int = 5) -> Path:
    """A new SignalDataset."""
    schema = [packstone.field("x", "float32", (2,))]
    with packstone.create(path, format="sds", schema=schema, collections=["records"]) as writer:
        batch = {"x": np.arange(2 * records, dtype=np.float32).reshape(records, 2)}
        writer.write_batch("records", batch, metadata=[{"day": n} for n in range(records)])
    return path


def test_annotations_are_published(tmp_path: Path) -> None:
    source = signals(tmp_path / "signals")
    said = [{"values": {"label": n}, "fields": {"mask": np.array([[n, 1]], np.uint8)}} for n in range(4)]
    report = packstone.annotate(source, [*said, {"status": "failed"}], name="labels", metadata={"by": "me"})
    assert (report.set, report.done, report.records, report.worker, report.shards) == (
        "labels", "published", 5, None, None,
    )
    assert report.statuses == {"success": 4, "skipped": 0, "failed": 1}
    dataset = packstone.open(source)
    annotations = dataset["annotations/labels"]
    np.testing.assert_array_equal(annotations[3]["mask"], [[3, 1]])
    # The program reports the same of the same.
    lines = tmp_path / "lines"
    lines.write_text("{}\n" * 5)
    told = program.run("annotate", source, lines, "--name", "cli", "--json").lines()[-1]
    mine = packstone.annotate(source, lines, name="mine")
    assert without(told) == dataclasses.asdict(mine) | {"set": "cli", "publication_id": told["publication_id"]}
    # By id, from a collection, and with something wrong.
    ids = packstone.annotate(source, [{"id": "3", "values": {"a": 1}}], name="ids", by_id=True, missing="skipped")
    assert ids.statuses == {"success": 1, "skipped": 4, "failed": 0}
    copied = packstone.annotate(source, dataset["records"], name="copy")
    assert copied.records == 5
    with pytest.raises(packstone.InvalidError):
        packstone.annotate(source, [{}] * 4, name="few")
    with pytest.raises(packstone.InvalidError):
        packstone.annotate(source, [{"status": "no such"}] * 5, name="odd")
    with pytest.raises(packstone.UnsupportedError):
        packstone.annotate(SOURCE, [{}], name="x")
    for wrong in ({}, {"annotations": [3]}, {"annotations": [{}], "publish": True}, {"annotations": [{}], "first": 1}):
        with pytest.raises(TypeError):
            packstone.annotate(source, name="x", **wrong)
    names = {name for name in packstone.open(source).collections if name != "records"}
    assert names == {f"annotations/{name}" for name in ("labels", "cli", "mine", "ids", "copy")}


def test_workers_annotate_together(tmp_path: Path) -> None:
    source = signals(tmp_path / "signals")
    for worker, first, count in (("a", 0, 2), ("b", 2, 3), ("b", 2, 3)):
        wrote = packstone.annotate(source, [{}] * count, name="labels", worker=worker, first=first)
        assert (wrote.done, wrote.worker, wrote.records) == ("wrote", worker, count)
    assert "annotations/labels" not in packstone.open(source).collections
    joined = packstone.annotate(source, name="labels", publish=True)
    assert (joined.done, joined.shards, joined.records) == ("joined", 2, 5)
    assert len(packstone.open(source)["annotations/labels"]) == 5


def test_annotations_stop_where_the_callback_says_so(tmp_path: Path) -> None:
    source = signals(tmp_path / "signals")
    before = sorted(path.relative_to(source) for path in source.rglob("*"))

    def stop(done: int, total: int, unit: str) -> None:
        assert unit == "records"
        raise KeyError

    with pytest.raises(KeyError):
        packstone.annotate(source, [{}] * 5, name="labels", progress=stop)
    with pytest.raises(KeyError):
        packstone.view(source, tmp_path / "view", materialize=True, progress=stop)
    assert sorted(path.relative_to(source) for path in source.rglob("*")) == before
    assert not (tmp_path / "view").exists()


def test_views_are_published(tmp_path: Path) -> None:
    source = signals(tmp_path / "signals")
    report = packstone.view(source, tmp_path / "view", [4, 0, -1], snapshot_id="v1")
    assert (report.records, report.of, report.references, report.snapshot_id) == (3, 5, "absolute", "v1")
    with pytest.raises(packstone.Error):
        packstone.open(tmp_path / "view")["records"][0]
    view = packstone.open(tmp_path / "view", follow=[source])
    (name,) = view.collections
    assert [sample["x"][0] for sample in view[name]] == [8, 0, 8]
    assert packstone.verify(tmp_path / "view", follow=[source]).clean
    assert view.verify().clean
    again = pickle.loads(pickle.dumps(view))
    assert again[name].digest() == view[name].digest()
    copy = packstone.view(f"{source}#records", tmp_path / "copy", "day >= 3", materialize=True)
    assert (copy.records, copy.references) == (2, "none")
    assert len(packstone.open(tmp_path / "copy")["records"]) == 2
    assert packstone.view(source, tmp_path / "slice", slice(1, 3)).records == 2
    told = program.run("view", source, tmp_path / "told", "--range", "1:3", "--json").lines()[-1]
    mine = packstone.view(source, tmp_path / "mine", slice(1, 3))
    assert without(told) | {"path": mine.path} == dataclasses.asdict(mine)
    with pytest.raises(packstone.NotFoundError):
        packstone.view(source, tmp_path / "no", [5])
    with pytest.raises(packstone.UnsupportedError):
        packstone.view(SOURCE, tmp_path / "no")
    assert not (tmp_path / "no").exists()


def test_checksums_of_archives_are_refreshed(tmp_path: Path) -> None:
    archive = tmp_path / "tree.tdz"
    packstone.pack(TREE, archive)
    report = packstone.refresh(archive)
    told = program.run("refresh", archive, "--json").lines()[-1]
    assert dataclasses.asdict(report) == without(told)
    assert report.stored > 0 and report.changed == 0
    with pytest.raises(packstone.UnsupportedError):
        packstone.refresh(SOURCE)


def test_what_a_killed_writer_left_is_repaired(tmp_path: Path) -> None:
    path = tmp_path / "new"
    code = f"""
import os, packstone
schema = [packstone.field("n", "int64")]
writer = packstone.create({str(path)!r}, format="sedpack", schema=schema, options={{"examples_per_shard": 2}})
for n in range(101):
    writer.write("train", {{"n": n}})
import time; time.sleep(1)
os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", code], timeout=60, check=False)
    copy = tmp_path / "copy"
    shutil.copytree(path, copy)
    planned = packstone.repair(path, dry_run=True)
    assert planned.dry_run and planned.samples > 0
    assert not packstone.open(path).collections
    done = packstone.repair(path)
    told = program.run("repair", copy, "--json").lines()
    assert [(s.file, s.samples) for s in done.salvaged] == [
        (line["file"], line["samples"]) for line in told if line["type"] == "salvaged"
    ]
    assert (told[-1]["samples"], told[-1]["removed"]) == (done.samples, len(done.removed))
    assert len(packstone.open(path)["train"]) == done.samples == planned.samples
    assert not packstone.repair(path).salvaged
    with pytest.raises(packstone.UnsupportedError):
        packstone.repair(signals(tmp_path / "signals"))


def test_parts_of_the_program_are_merged(tmp_path: Path) -> None:
    packstone.create(tmp_path / "new", format="sedpack", schema=packstone.open(SOURCE).schema).finish()
    for name in ("a", "b"):
        program.run("convert", f"{SOURCE}#train", tmp_path / "new", "--to", "sedpack", "--part", name)
    with pytest.raises(packstone.InvalidError):
        packstone.merge(tmp_path / "new", expect=3)
    report = packstone.merge(tmp_path / "new", expect=2)
    assert report.samples == 2 * len(packstone.open(SOURCE)["train"])
    assert report.shards > 0
    assert packstone.merge(tmp_path / "new", ["a"]).samples == 0
    with pytest.raises(packstone.UnsupportedError):
        packstone.merge(TREE)
