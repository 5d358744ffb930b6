"""The operations of the Python package: the same reports as the program's, as objects; Ctrl-C; progress."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import packstone
import packstone_cli as program
from conftest import BAD_CASES, CACHES, GOLDEN, ROOT

SOURCE = GOLDEN / "fb_multi_split" / "data"


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
        seen: list[tuple[int, int]] = []
        target = tmp_path / name
        report = packstone.convert(
            SOURCE, target, to=to, progress=lambda done, total: seen.append((done, total))
        )
        assert report.samples == report.written.samples == sum(d.samples for d in source.values())
        assert report.lossless and {proof.collection for proof in report.proofs} == set(source)
        assert seen and seen == sorted(seen)
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

    def stop(done: int, total: int) -> None:
        raise Enough

    with pytest.raises(Enough):
        packstone.convert(SOURCE, tmp_path / "x", to="sedpack", progress=stop)


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
    planned = packstone.migrate([cache], dry_run=True)
    assert planned.dry_run and [m.status for m in planned.manifests] == ["to_update"]
    assert (cache / "manifest.json").read_bytes() == before
    done = packstone.migrate([cache])
    assert [m.status for m in done.manifests] == ["updated"]
    assert done.manifests[0].cache_id == planned.manifests[0].cache_id
    assert [m.status for m in packstone.migrate([cache]).manifests] == ["unchanged"]
    with pytest.raises(packstone.InvalidError):
        packstone.migrate([cache], to=4)
