"""The original's side of a format: figures in modes, each run in a process of its own.

Prints one JSON line for each figure, the median of several runs in the library's best mode, with warm file caches:

    {"what": "batches", "set": "small", "stored": "LZ4", "seconds": 0.4, "samples": 100000,
     "bytes": 13200000, "mode": "parallelism 2", "runs": [0.41, 0.4, 0.4]}

`bytes` are value bytes; for checks and archives they are the bytes of all files. A figure of memory has `memory`, in
bytes, in place of `seconds`.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench import cases
from bench.cases import Done, Figure, Format, Job


def main(module: str, found: Format, figures: dict[str, Figure]) -> None:
    """Either the whole side, or (as its own child) one run; `module` is what `python -m` calls it."""
    parser = cases.parser(f"Measures {found.packages[0]}.")
    parser.add_argument("--one", nargs=4, metavar=("WHAT", "SET", "STORED", "MODE"))
    options = parser.parse_args()
    if options.one:
        what, name, stored, mode = options.one
        path = found.ensure(options.data, name, stored, options.scale)
        done = figures[what].run(Job(path, options.data, name, stored, mode, options.scale))
        print(json.dumps(asdict(done)))
        return
    for case in cases.chosen(found, options):
        found.ensure(options.data, case.set, case.stored, options.scale)
        # What the original cannot do is measured on packstone's side alone.
        for what in (what for what in case.what if what in figures):
            line = _measure(module, options, figures[what], (what, case.set, case.stored))
            print(json.dumps(line), flush=True)


def _measure(
    module: str, options: Namespace, figure: Figure, name: tuple[str, str, str]
) -> dict[str, Any]:
    """The line of one figure: the best mode by its median."""
    runs = {mode: [_run(module, options, name, mode) for _ in range(options.runs)] for mode in figure.modes}
    unit = "memory" if next(iter(runs.values()))[0]["memory"] else "seconds"

    def middle(mode: str) -> float:
        return statistics.median(run[unit] for run in runs[mode])

    mode = min(runs, key=middle)
    best = runs[mode]
    what, dataset, stored = name
    return {
        "what": what,
        "set": dataset,
        "stored": stored,
        unit: middle(mode),
        "samples": best[0]["samples"],
        "bytes": best[0]["bytes"],
        "mode": mode,
        "runs": [run[unit] for run in best],
    }


def _run(module: str, options: Namespace, name: tuple[str, str, str], mode: str) -> dict[str, Any]:
    command = [sys.executable, "-m", module, "--data", str(options.data)]
    command += ["--scale", str(options.scale), "--one", *name, mode]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=cases.ROOT)
    return json.loads(done.stdout.splitlines()[-1])


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


def private_memory() -> int:
    """The memory that is this process's alone, in bytes: RssAnon."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))


def indices(step: int, count: int, rows: int) -> list[int]:
    """The rows of a random gather, the same on both sides: a walk in steps of 2**64 over the golden ratio."""
    first = step * rows
    return [n * 0x9E3779B97F4A7C15 % 2**64 % count for n in range(first, first + rows)]
