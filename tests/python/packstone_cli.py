"""The program under test, as a shell sees it. Every name of its interface is in this file."""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import canonical
from canonical import Value

CLEAN, FINDINGS, FAILURE = 0, 1, 2

_TIMEOUT_SECONDS = 120


@dataclass(frozen=True)
class Result:
    """How a run of the program ended."""

    code: int
    stdout: str
    stderr: str

    def lines(self) -> list[dict[str, Any]]:
        """The JSON Lines on stdout."""
        # Text in JSON may hold other characters that `splitlines` takes for line ends.
        return [json.loads(line) for line in self.stdout.split("\n") if line]

    def of_type(self, kind: str) -> list[dict[str, Any]]:
        """The JSON Lines of one type."""
        return [line for line in self.lines() if line["type"] == kind]


@dataclass(frozen=True)
class Sample:
    """One line of `dump`."""

    index: int
    shard: str
    fields: dict[str, Value]
    metadata: dict[str, Any]


def run(*arguments: str | Path, expect: int | None = CLEAN) -> Result:
    """Runs the program; any exit code but `expect` (unless None) and any signal is an error."""
    command = [os.environ["PACKSTONE_BIN"], *map(str, arguments)]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_TIMEOUT_SECONDS,
        check=False,
        encoding="utf-8",
    )
    result = Result(done.returncode, done.stdout, done.stderr)
    text = f"{command}\nended with {result.code}\n{result.stdout[-3000:]}\n{result.stderr[-3000:]}"
    assert result.code in (CLEAN, FINDINGS, FAILURE), text
    assert "panicked" not in result.stderr, text
    assert expect is None or result.code == expect, text
    return result


def dump(path: Path, *options: str) -> dict[str, list[Sample]]:
    """The samples by collection, in the order of the output."""
    collections: dict[str, list[Sample]] = {}
    for line in run("dump", path, *options).of_type("sample"):
        fields = {name: _value(field) for name, field in line["fields"].items()}
        sample = Sample(line["index"], line["shard"], fields, line["metadata"])
        collections.setdefault(line["collection"], []).append(sample)
    return collections


def values(path: Path, *options: str) -> dict[str, list[dict[str, Value]]]:
    """As `dump`, the values alone."""
    return {
        name: [sample.fields for sample in samples]
        for name, samples in dump(path, *options).items()
    }


def verify(path: Path, *options: str, hashes: tuple[str, ...] = (), expect: int = CLEAN) -> Result:
    """Verifies a dataset; `hashes` are the noted checksums of its root document."""
    noted = [word for value in hashes for word in ("--expect", value)]
    return run("verify", path, *options, *noted, "--json", expect=expect)


def finding_codes(result: Result) -> list[str]:
    """The codes of all findings."""
    return [line["code"] for line in result.of_type("finding")]


def convert(
    source: Path,
    target: Path,
    *,
    shard_type: str,
    compression: str = "",
    examples_per_shard: int | None = None,
    hashes: tuple[str, ...] = (),
    collections: tuple[str, ...] = (),
    expect: int = CLEAN,
) -> Result:
    """Converts to a new Sedpack dataset."""
    options = ["--to", "sedpack", "--shard-type", shard_type, "--compression", compression]
    if examples_per_shard is not None:
        options += ["--examples-per-shard", str(examples_per_shard)]
    for name in hashes:
        options += ["--hash", name]
    for name in collections:
        options += ["--collection", name]
    return run("convert", source, target, *options, expect=expect)


def merge(path: Path, parts: list[Path]) -> Result:
    """Merges the finished parts of workers into the dataset."""
    return run("merge", path, *parts)


def repair(path: Path) -> Result:
    """Salvages what a killed writer left."""
    return run("repair", path, "--json")


#: The four digests of a collection: of the values alone and of everything, in order and without.
DIGESTS = ("values", "values_unordered", "full", "full_unordered")


def digest(path: Path) -> dict[str, dict[str, Any]]:
    """The content digests by collection, without what depends on the place."""
    lines = run("digest", path, "--json").of_type("digest")
    return {
        line["collection"]: {
            key: value for key, value in line.items() if key in DIGESTS
        }
        for line in lines
    }


def leaves(path: Path) -> tuple[dict[tuple[str, ...], Any], dict[tuple[str, ...], Any]]:
    """The tensors and the values of a tree by the keys that lead there."""
    lines = run("dump", "--leaves", path, "--json").lines()
    tensors, values = {}, {}
    for line in lines:
        key = tuple(line["key"])
        if line["type"] == "value":
            values[key] = line.get("value", line.get("pickle"))
            continue
        shape = line.get("sizes", line["shape"])
        tensors[key] = (f"torch.{line['dtype']}", shape, line["nbytes"], line["sha256"])
    return tensors, values


def to_tensordict(source: Path, target: Path, *options: str, expect: int = CLEAN) -> Result:
    """Converts to a new tensordict: a folder, or an archive by its name."""
    return run("convert", source, target, "--to", "tensordict", *options, expect=expect)


def pack(source: Path, target: Path, *options: str) -> Result:
    """Packs a tensordict into an archive."""
    return run("pack", source, target, *options)


def unpack(source: Path, target: Path) -> Result:
    """Unpacks an archive into a folder."""
    return run("unpack", source, target)


def refresh(archive: Path) -> Result:
    """Brings the checksums of an archive up to date."""
    return run("refresh", archive)


def to_datasetrt(source: Path, target: Path, *options: str, expect: int = CLEAN) -> Result:
    """Converts to a folder of new DatasetRT caches."""
    words = [word for option in options for word in ("--option", option)]
    return run("convert", source, target, "--to", "datasetrt", *words, expect=expect)


def caches(paths: Sequence[Path], *options: str) -> list[dict[str, Any]]:
    """The samples of DatasetRT caches that are read as one dataset, one line each."""
    return run("dump", *paths, *options).of_type("sample")


def signals(path: Path, *options: str) -> dict[str, list[dict[str, Any]]]:
    """The records and annotations of a SignalDataset by collection, with all that is said about them."""
    collections: dict[str, list[dict[str, Any]]] = {}
    for line in run("dump", path, *options, "--json").of_type("sample"):
        kept = {key: line[key] for key in ("id", "scene_id", "fields")}
        record = kept | {"metadata": line["metadata"] or {}}
        collections.setdefault(line["collection"], []).append(record)
    return collections


def to_sds(source: Path, target: Path, *options: str, expect: int = CLEAN) -> Result:
    """Converts to a new SignalDataset."""
    words = [word for option in options for word in ("--option", option)]
    return run("convert", source, target, "--to", "sds", *words, expect=expect)


def view(source: Path, target: Path, indices: Sequence[int], *, materialize: bool) -> Result:
    """Publishes records of a SignalDataset as a dataset of their own."""
    words = [f"--index={index}" for index in indices] + ["--materialize"] * materialize
    return run("view", source, target, *words)


def annotate(path: Path, annotations: Path, name: str, metadata: str) -> Result:
    """Publishes annotations from JSON Lines."""
    return run("annotate", path, annotations, "--name", name, "--metadata", metadata)


def to_arrayrecord(source: Path, target: Path, *options: str, expect: int = CLEAN) -> Result:
    """Converts to a new ArrayRecord file."""
    words = [word for option in options for word in ("--option", option)]
    return run("convert", source, target, "--to", "arrayrecord", *words, expect=expect)


def records(*paths: Path, options: tuple[str, ...] = ()) -> list[tuple[int, str]]:
    """The records of ArrayRecord files: length and SHA-256 of each."""
    fields = [line["fields"]["record"] for line in run("dump", *paths, *options).of_type("sample")]
    return [(field["nbytes"], field["sha256"]) for field in fields]


def select(paths: Sequence[Path], condition: str, *options: str) -> list[dict[str, Any]]:
    """The samples whose metadata meet a condition, one line each."""
    lines = run("select", *paths, "--where", condition, *options, "--json")
    return lines.of_type("selected")


def migrate(paths: Sequence[Path], *options: str) -> list[tuple[str, int, str]]:
    """Migrates the manifests of DatasetRT caches: path, id and status of each."""
    lines = run("migrate", *paths, "--to", "3", *options, "--json").of_type("manifest")
    return [(line["path"], line["cache_id"], line["status"]) for line in lines]


def inspect(path: Path) -> dict[str, Any]:
    """The description of a dataset."""
    (line,) = run("inspect", path, "--json").of_type("dataset")
    return line


def _value(field: dict[str, Any]) -> Value:
    dtype = canonical.dtype_name(field["dtype"])
    return Value(dtype, tuple(field["shape"]), field["nbytes"], field["sha256"])
