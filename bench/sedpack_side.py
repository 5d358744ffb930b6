"""Measures sedpack: writing, iterating by example and by batch, checking.

Prints one JSON line for each figure: the median of several runs in the library's best mode, each
run in a process of its own, with warm file caches:

    {"what": "batches", "set": "small", "compression": "LZ4", "seconds": 0.4, "samples": 100000,
     "bytes": 13200000, "mode": "parallelism 2", "runs": [0.41, 0.4, 0.4]}

`bytes` are value bytes; for `verify` they are the bytes of all files.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import make_data
import options
from sedpack.io import Dataset
from sets import SETS, folder_name, stored_bytes

BATCH = 256

#: What is measured, and the modes of which the fastest counts.
MODES: dict[str, list[int]] = {
    "write": [1, 2],
    "examples": [1, 2],
    "batches": [1, 2, 4],
    "verify": [1],
}


def main() -> None:
    """Either the whole side, or (as its own child) one run."""
    parser = options.parser(__doc__)
    parser.add_argument("--what", nargs="+", choices=sorted(MODES), default=list(MODES))
    parser.add_argument("--runs", type=int, default=3, help="runs of each mode")
    parser.add_argument("--one", nargs=4, metavar=("WHAT", "SET", "COMPRESSION", "MODE"))
    chosen = parser.parse_args()
    if chosen.one:
        what, name, compression, mode = chosen.one
        print(run_once(chosen.data, what, name, compression, int(mode), chosen.scale))
        return
    for name in chosen.sets:
        for compression in options.compressions(chosen):
            make_data.ensure(chosen.data, name, compression, chosen.scale)
            for what in chosen.what:
                line = measure(chosen, what, name, compression)
                print(json.dumps(line), flush=True)


def measure(chosen: Any, what: str, name: str, compression: str) -> dict[str, Any]:
    """The line of one figure: the best mode by its median."""
    runs_of = {mode: runs(chosen, what, name, compression, mode) for mode in MODES[what]}
    mode, best = min(runs_of.items(), key=lambda item: statistics.median(item[1]))
    samples = SETS[name].count(chosen.scale)
    path = chosen.data / folder_name(name, compression)
    size = stored_bytes(path) if what == "verify" else samples * SETS[name].example_bytes()
    return {
        "what": what,
        "set": name,
        "compression": compression,
        "seconds": statistics.median(best),
        "samples": samples,
        "bytes": size,
        "mode": "" if what == "verify" else f"parallelism {mode}",
        "runs": best,
    }


def runs(chosen: Any, what: str, name: str, compression: str, mode: int) -> list[float]:
    """The seconds of each run, each in its own process."""
    command = [sys.executable, __file__, "--data", str(chosen.data), "--scale", str(chosen.scale)]
    command += ["--one", what, name, compression, str(mode)]
    found = []
    for _ in range(chosen.runs):
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found.append(float(done.stdout))
    return found


def run_once(data: Path, what: str, name: str, compression: str, mode: int, scale: float) -> float:
    """One measurement in this process, in seconds."""
    path = data / folder_name(name, compression)
    arguments: dict[str, Any] = {"split": "train", "repeat": False, "shuffle": 0}
    if what == "write":
        return _write(data, name, compression, mode, scale)
    _warm(path)
    dataset = Dataset(path)
    start = time.perf_counter()
    match what:
        case "examples":
            found = _length(dataset.as_numpy_iterator_rust(file_parallelism=mode, **arguments))
            expected = SETS[name].count(scale)
        case "batches":
            found = _length(
                dataset.as_numpy_iterator_rust_batched(
                    batch_size=BATCH, file_parallelism=mode, **arguments
                )
            )
            expected = -(-SETS[name].count(scale) // BATCH)
        case "verify":
            dataset.check(show_progressbar=False)
            found = expected = 1
        case _:
            raise ValueError(what)
    seconds = time.perf_counter() - start
    if found != expected:
        raise RuntimeError(f"expected {expected} items, found {found}")
    return seconds


def _write(data: Path, name: str, compression: str, concurrency: int, scale: float) -> float:
    """Creating, filling and closing a dataset; the examples are in memory before."""
    examples = list(SETS[name].examples(scale))
    folder = Path(tempfile.mkdtemp(prefix="write-", dir=data))
    try:
        start = time.perf_counter()
        dataset = make_data.create(folder / "dataset", SETS[name], compression)
        with dataset.filler(concurrency) as filler:
            for example in examples:
                filler.write_example(values=example, split="train")
        return time.perf_counter() - start
    finally:
        shutil.rmtree(folder)


def _length(items: Iterable[Any]) -> int:
    return sum(1 for _ in items)


def _warm(path: Path) -> None:
    """Brings every file into the page cache."""
    for folder, _, files in os.walk(path):
        for file in files:
            Path(folder, file).read_bytes()


if __name__ == "__main__":
    main()
