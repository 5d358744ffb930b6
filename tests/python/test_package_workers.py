"""Processes that are forked, spawned, killed and interrupted: nothing hangs, and nothing is left behind.

Each scenario is a program of its own with a hard limit of time, so that a hang fails and does not hang.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import packstone
from package import numbered

TIMES = 50


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """400 samples in shards of 5."""
    path = tmp_path_factory.mktemp("workers") / "dataset"
    numbered(path, 400)
    return path


def run(program: str, *arguments: object, timeout: float = 120) -> str:
    """What a program prints; it has to end by itself, in time."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=timeout, env=environment, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


#: Reads in a process that was forked while others read, and compares.
FORKS = """
import os, signal, sys, threading, time
import packstone

collection = packstone.open(sys.argv[1])["train"]
times = int(sys.argv[2])
expected = [batch["number"].tolist() for batch in packstone.Loader(collection, 16, shuffle=True, seed=1)]
# Everything is in use: threads that read ahead, an iterator, and a Python thread that never stops.
loader = packstone.Loader(collection, 16, shuffle=True, seed=1)
next(loader)
samples = iter(collection)
next(samples)
running = True
busy = packstone.Loader(collection, 4, shuffle=True, seed=2)

def take():
    while running:
        for _ in busy:
            if not running:
                break

def read():
    at = 0
    while running:
        collection[[at % 400, (at * 7) % 400]]
        collection[at % 400]
        at += 1

threads = [threading.Thread(target=read), threading.Thread(target=take)]
for thread in threads:
    thread.start()
slowest = 0.0
for time_ in range(times):
    begun = time.monotonic()
    child = os.fork()
    if child == 0:
        # A hang ends by this signal, and is seen by the parent.
        signal.alarm(20)
        code = 1
        try:
            assert collection[[3, 1]]["number"].tolist() == [3, 1]
            first = next(iter(collection.batches(8)))
            assert first["number"].tolist() == list(range(8))
            assert [batch["number"].tolist() for batch in loader] == expected[1:]
            fresh = packstone.Loader(collection, 16, shuffle=True, seed=1)
            assert next(fresh)["number"].tolist() == expected[0]
            try:
                next(samples)
            except RuntimeError as error:
                assert "forked" in str(error)
            else:
                raise AssertionError("an inherited iterator went on")
            try:
                next(busy, None)
            except RuntimeError as error:
                assert "forked" in str(error)
            # What was inherited can be let go.
            del samples, loader, fresh, busy
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert status == 0, (time_, status)
    slowest = max(slowest, time.monotonic() - begun)
running = False
for thread in threads:
    thread.join()
assert [batch["number"].tolist() for batch in loader] == expected[1:]
assert next(samples)["number"] == 1
print(times, f"{slowest:.2f}")
"""


def test_fifty_forks_amid_reads(path: Path) -> None:
    times, slowest = run(FORKS, path, TIMES, timeout=240).split()
    assert int(times) == TIMES and float(slowest) < 20


#: Sends a collection, a selection's relatives and a loader to a process that is made anew.
PROCESSES = """
import multiprocessing, sys
import packstone

def work(collection, loader, pipe):
    pipe.send((collection[7]["number"].item(), [batch["number"].tolist() for batch in loader]))

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[2])
    if sys.argv[2] == "forkserver":
        context.set_forkserver_preload(["packstone"])
    collection = packstone.open(sys.argv[1])["train"]
    loader = packstone.Loader(collection, 64, shuffle=True, seed=1)
    expected = [batch["number"].tolist() for batch in packstone.Loader(collection, 64, shuffle=True, seed=1)]
    next(loader)
    times = int(sys.argv[3])
    for _ in range(times):
        mine, theirs = context.Pipe()
        process = context.Process(target=work, args=(collection, loader, theirs))
        process.start()
        assert mine.poll(20), "no answer within 20 seconds"
        assert mine.recv() == (7, expected[1:])
        process.join(20)
        assert process.exitcode == 0, process.exitcode
    print(times)
"""


@pytest.mark.parametrize("start", ["spawn", "forkserver"])
def test_fifty_processes_of_other_kinds(path: Path, start: str, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROCESSES)
    # A program of its own, which the processes find by its file.
    command = [sys.executable, file, path, start, TIMES]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=280, env=environment, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout) == TIMES


#: Takes batches from forked workers of a `DataLoader` after the parent has read, again and again.
LOADERS = """
import sys, threading, time, warnings
warnings.simplefilter("ignore")
import packstone
from packstone.torch import IterableDataset, MapDataset
from torch.utils.data import DataLoader

collection = packstone.open(sys.argv[1])["train"]
times = int(sys.argv[2])
list(collection.batches(64))
running = True

def read():
    at = 0
    while running:
        collection[[at % 400]]
        at += 1

thread = threading.Thread(target=read)
thread.start()
slowest = 0.0
for at in range(times):
    begun = time.monotonic()
    if at % 2:
        loader = DataLoader(MapDataset(collection), batch_size=100, num_workers=2, timeout=20)
    else:
        loader = DataLoader(IterableDataset(collection, 100), batch_size=None, num_workers=2, timeout=20)
    batches = iter(loader)
    assert next(batches)["number"].tolist() == list(range(100))
    slowest = max(slowest, time.monotonic() - begun)
    # Every second time the rest is left.
    if at % 4 < 2:
        assert sum(len(batch["number"]) for batch in batches) == 300
    del batches, loader
running = False
thread.join()
print(times, f"{slowest:.2f}")
"""


def test_fifty_loaders_with_forked_workers(path: Path) -> None:
    times, slowest = run(LOADERS, path, TIMES, timeout=280).split()
    # The first batch is there within seconds.
    assert int(times) == TIMES and float(slowest) < 20


def shared_memory() -> set[str]:
    """Names of shared memory; those of other programs come and go."""
    folder = Path("/dev/shm")
    return {name.name for name in folder.iterdir()} if folder.is_dir() else set()


#: Kills a worker amid its work.
KILLED = """
import os, signal, sys, warnings
warnings.simplefilter("ignore")
import packstone
from packstone.torch import IterableDataset
from torch.utils.data import DataLoader

collection = packstone.open(sys.argv[1])["train"]
dataset = IterableDataset(collection, 2, shuffle=True)
loader = DataLoader(dataset, batch_size=None, num_workers=2, multiprocessing_context=sys.argv[2])
batches = iter(loader)
# Both workers are at work, and import nothing any more.
for _ in range(4):
    next(batches)
victim = batches._workers[0].pid
os.kill(victim, signal.SIGKILL)
try:
    for _ in batches:
        pass
except (RuntimeError, OSError, EOFError) as error:
    # PyTorch's own, with the worker; or, where the tensors of a batch were on their way, one of its pipe.
    print("raised", type(error).__name__, error)
else:
    raise SystemExit("no error")
"""


@pytest.mark.parametrize("start", ["fork", "spawn", "forkserver"])
def test_a_killed_worker_is_an_error_and_leaves_nothing(path: Path, start: str, tmp_path: Path) -> None:
    before = files(path)
    names = shared_memory()
    file = tmp_path / "program.py"
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    environment = {
        **os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TMPDIR": str(temporary)
    }
    # Spawned processes import the program again: it must not run there.
    file.write_text("if __name__ == '__main__':\n" + "".join(f"    {line}\n" for line in KILLED.splitlines()))
    done = subprocess.run(
        [sys.executable, str(file), str(path), start],
        capture_output=True, text=True, timeout=180, env=environment, check=False,
    )
    # PyTorch raises from a handler of a signal: also while another error of the same worker is told.
    assert "raised" in done.stdout or "is killed by signal" in done.stderr, done.stdout + done.stderr
    assert files(path) == before
    # Python itself leaves the folder with the socket that a killed worker shared its tensors by; nothing leaves a file.
    left = [file for file in temporary.rglob("*") if not file.is_dir() and not file.is_socket()]
    assert not left, left
    shared = shared_memory() - names
    assert not {name for name in shared if name.startswith(("torch", "sem.", "psm", "packstone"))}, shared


def files(path: Path) -> set[tuple[str, int]]:
    return {(str(file), file.stat().st_mtime_ns) for file in path.rglob("*")}


#: Reads for ever.
ENDLESS = """
import sys
import packstone

collection = packstone.open(sys.argv[1])["train"]
loader = packstone.Loader(collection, 4, shuffle=True, window=1 << 20)
said = False
while True:
    for batch in {source}:
        if not said:
            print("reading", flush=True)
            said = True
"""


@pytest.mark.parametrize("source", ["loader", "collection", "collection.batches(4)"])
def test_an_interrupt_ends_within_a_second(path: Path, source: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.Popen(
        [sys.executable, "-c", ENDLESS.replace("{source}", source), str(path)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    )
    try:
        assert process.stdout is not None and process.stdout.readline() == "reading\n"
        time.sleep(0.3)
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=10)
        assert time.monotonic() - begun < 1, said
        assert "KeyboardInterrupt" in said and process.returncode in (1, -signal.SIGINT, 130)
    finally:
        process.kill()


def test_an_interrupt_ends_workers_as_well(path: Path) -> None:
    program = """
import sys, warnings
warnings.simplefilter("ignore")
import packstone
from packstone.torch import IterableDataset
from torch.utils.data import DataLoader

collection = packstone.open(sys.argv[1])["train"]
loader = DataLoader(IterableDataset(collection, 4), batch_size=None, num_workers=2, persistent_workers=True)
while True:
    for batch in loader:
        print("reading", *[worker.pid for worker in loader._iterator._workers], flush=True)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(path)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True,
    )
    try:
        assert process.stdout is not None
        _, *workers = process.stdout.readline().split()
        # As a terminal does, to all of them.
        os.killpg(process.pid, signal.SIGINT)
        begun = time.monotonic()
        _, said = process.communicate(timeout=30)
        took = time.monotonic() - begun
        assert "KeyboardInterrupt" in said, said
        assert took < 8, took
        for worker in workers:
            assert not Path(f"/proc/{worker}").exists(), worker
    finally:
        process.kill()


def test_nothing_of_a_loader_outlives_its_process(path: Path) -> None:
    names = shared_memory()
    loader = packstone.Loader(packstone.open(path)["train"], 8)
    next(loader)
    loader.close()
    assert not {name for name in shared_memory() - names if name.startswith("packstone")}
