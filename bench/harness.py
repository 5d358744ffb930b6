"""The original's side of a format: figures in modes, each run in a process of its own.

The processes are forked from one that has only imported the libraries, since importing takes longer than most runs.

Prints one JSON line for each figure, the median of several runs in the library's best mode, with warm file caches:

    {"what": "batches", "set": "small", "stored": "LZ4", "seconds": 0.4, "samples": 100000,
     "bytes": 13200000, "mode": "parallelism 2", "runs": [0.41, 0.4, 0.4]}

`bytes` are value bytes; for checks and archives they are the bytes of all files. A figure of memory has `memory`, in
bytes, in place of `seconds`.
"""

import json
import os
import resource
import shutil
import statistics
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from bench import cases
from bench.cases import Done, Figure, Format, Job


def main(found: Format, figures: dict[str, Figure]) -> None:
    """Measures what the command line names."""
    options = cases.parser(f"Measures {found.packages[0]}.").parse_args()
    for case in cases.chosen(found, options):
        path = in_child(lambda case=case: str(found.ensure(options.data, case.set, case.stored, options.scale)))
        # What the original cannot do is measured on packstone's side alone.
        for what in (what for what in case.what if what in figures):
            job = Job(Path(path), options.data, case.set, case.stored, "", options.scale)
            print(json.dumps(measure(what, figures[what], job, options.runs)), flush=True)


def in_child(work: Callable[[], Any]) -> Any:
    """What `work` returns in a process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            with open(writing, "w", encoding="utf-8") as pipe:
                json.dump(work(), pipe)
            status = 0
        except BaseException:  # noqa: BLE001 the child must end here, whatever happens
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writing)
    with open(reading, encoding="utf-8") as pipe:
        text = pipe.read()
    if os.waitpid(child, 0)[1] != 0:
        raise SystemExit("a run failed")
    return json.loads(text)


def measure(what: str, figure: Figure, job: Job, count: int) -> dict[str, Any]:
    """The line of one figure: the best mode by its median."""
    runs = {}
    for mode in figure.modes:
        run = replace(job, mode=mode)
        runs[mode] = [in_child(lambda run=run: asdict(figure.run(run))) for _ in range(count)]
    unit = "memory" if next(iter(runs.values()))[0]["memory"] else "seconds"

    def middle(mode: str) -> float:
        return statistics.median(run[unit] for run in runs[mode])

    mode = min(runs, key=middle)
    best = runs[mode]
    return {
        "what": what,
        "set": job.set,
        "stored": job.stored,
        unit: middle(mode),
        "samples": best[0]["samples"],
        "bytes": best[0]["bytes"],
        "mode": mode,
        "runs": [run[unit] for run in best],
    }


def folder_name(form: str, name: str, stored: str, scale: float) -> str:
    """The name of one dataset among those of the benchmarks."""
    size = "" if scale == 1.0 else f"-x{scale:g}"
    return f"{form}-{name}-{stored.lower()}{size}"


def warm(path: Path) -> None:
    """Brings every file of a dataset into the page cache."""
    for file in files(path):
        with file.open("rb", buffering=0) as opened:
            while opened.read(1 << 20):
                pass


def files(path: Path) -> Iterator[Path]:
    """The files of a dataset, which may be one."""
    if path.is_file():
        yield path
        return
    for folder, _, names in os.walk(path):
        yield from (Path(folder, name) for name in names)


def stored_bytes(path: Path) -> int:
    """The size of all files of a dataset."""
    return sum(file.stat().st_size for file in files(path))


@contextmanager
def scratch(data: Path) -> Iterator[Path]:
    """A folder beside the datasets that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="write-", dir=data))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Where to write a dataset that is to appear at `path`: only a whole one gets the name."""
    partial = path.with_name(f"partial-{path.name}")
    for old in (partial, path):
        shutil.rmtree(old, ignore_errors=True)
        old.unlink(missing_ok=True)
    partial.parent.mkdir(parents=True, exist_ok=True)
    yield partial
    partial.rename(path)


def peak(work: Callable[[], Done]) -> Done:
    """The memory that this process has at most while it works, beyond what it had before, with what it touched of maps."""
    before = resident_memory()
    done = work()
    return replace(done, memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before)


def resident_memory() -> int:
    """The memory of this process, in bytes, with what it has touched of mapped files: VmRSS."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def indices(step: int, count: int, rows: int) -> list[int]:
    """The rows of a random gather, the same on both sides: a walk in steps of 2**64 over the golden ratio."""
    first = step * rows
    return [n * 0x9E3779B97F4A7C15 % 2**64 % count for n in range(first, first + rows)]
