"""The files of the ArrayRecord figures, written with the original; those that are there are kept.

* words: 200 random words a record, what the original's own page measures;
* records: many records of 1 KiB, where the cost of each record counts;
* blobs: records of 100 KiB, where the cost of each byte counts.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from array_record.python.array_record_module import ArrayRecordWriter

from bench.cases import LOAD, LOAD_ORDERS, LOAD_VERIFIED, PACKAGE, PACKAGE_RATES, Case, Format
from bench.harness import folder_name, whole
from bench.payloads import SEED, Payloads

#: The options of the writers, by how a case is stored; the original's groups have one record.
OPTIONS = {"none": "group_size:1,uncompressed", "zstd": "group_size:1"}


@dataclass(frozen=True)
class Words:
    """Records of random words: lower-case letters, two to twelve of them."""

    full_count: int
    words: int

    def count(self, scale: float) -> int:
        """The number of records at a scale."""
        return max(100, round(self.full_count * scale))

    def payloads(self, scale: float) -> Iterator[bytes]:
        """All records; the same ones at each call, whatever the scale."""
        rng = np.random.default_rng(SEED)
        letters = rng.integers(ord("a"), ord("z") + 1, (4096, 12), dtype=np.uint8)
        lengths = rng.integers(2, 13, 4096)
        known = np.array([bytes(word[:length]) for word, length in zip(letters, lengths, strict=True)], object)
        for index in range(self.count(scale)):
            chosen = np.random.default_rng([SEED, index]).integers(0, len(known), self.words)
            yield b" ".join(known[chosen])


SETS = {
    "words": Words(65_536, 200),
    "records": Payloads(65_536, 1 << 10),
    "blobs": Payloads(4_096, 100 << 10),
}


def ensure(folder: Path, name: str, stored: str, scale: float) -> Path:
    """The path of one file, written now if it is not there."""
    path = folder / folder_name("arrayrecord", name, stored, scale)
    if not path.exists():
        with whole(path) as partial:
            write(partial, SETS[name].payloads(scale), stored)
    return path


def write(path: Path, records: Iterable[bytes], stored: str) -> None:
    """Writes one file."""
    writer = ArrayRecordWriter(str(path), OPTIONS[stored])
    for record in records:
        writer.write(record)
    writer.close()


_READING = ("sequential", "random", "random-seek", "batched", "open")

FORMAT = Format(
    name="arrayrecord",
    packages=("array_record",),
    cases=tuple(
        Case(name, stored, ("write", *_READING, *LOAD, *PACKAGE)) for name in SETS for stored in OPTIONS
    ),
    bases={
        "write": ("encode", "memcpy"),
        **{what: ("decode", "memcpy") for what in _READING if what != "open"},
        **{what: ("decode", "memcpy") for what in (*LOAD_ORDERS, *LOAD_VERIFIED, *PACKAGE_RATES)},
    },
    ensure=ensure,
)
