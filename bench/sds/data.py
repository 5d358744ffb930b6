"""The datasets of the SignalDataset figures, written with the original; those that are there are kept.

* signals: a trace of 1 KiB with a time axis, a label and metadata, where the cost of each record counts;
* images: pictures of 100 KiB, where the cost of each byte counts;
* view: a published view of all signals, one entry of the manifest a record; its source lies inside of it.
"""

import os
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import signal_dataset as sds
from signal_dataset import Axis, Coordinate, Field, Record

from bench.cases import LOAD, LOAD_ORDERS, LOAD_VERIFIED, PACKAGE, PACKAGE_RATES, Case, Format
from bench.harness import folder_name, whole
from bench.payloads import Payloads

#: Records in a shard.
PER_SHARD = 8_192


@dataclass(frozen=True)
class Signals(Payloads):
    """Payloads as traces of 16-bit samples or as pictures, with what SignalDataset says beside them."""

    shape: tuple[int, ...]
    axes: tuple[str, ...]
    dtype: str

    def records(self, scale: float) -> Iterator[Record]:
        """All records; the same ones at each call, whatever the scale."""
        time = Coordinate(start=0.0, step=0.5, unit="ms")
        axes = tuple(
            Axis(name, length, role=name, coordinate=time if name == "time" else None)
            for name, length in zip(self.axes, self.shape, strict=True)
        )
        one = (Axis("value", 1),)
        for index, payload in enumerate(self.payloads(scale)):
            values = np.frombuffer(payload, self.dtype).reshape(self.shape)
            label = np.array([index * 7919 % 1_000], np.int32)
            fields = {"signal": Field(values, axes), "label": Field(label, one)}
            scene = f"scene-{index // 100:04}"
            yield Record(f"record-{index:08}", fields, scene, {"index": index, "valid": index % 3 != 0})


SETS = {
    "signals": Signals(32_768, 1 << 10, (512,), ("time",), "int16"),
    "images": Signals(2_048, 100 << 10, (200, 128, 4), ("row", "column", "channel"), "uint8"),
}
SETS["view"] = SETS["signals"]


def ensure(folder: Path, name: str, stored: str, scale: float) -> Path:
    """The path of one dataset, written now if it is not there."""
    path = folder / folder_name("sds", name, stored, scale)
    if not path.exists():
        with whole(path) as partial:
            records = SETS[name].records(scale)
            if name == "view":
                write(partial / "source", records)
                publish_view(partial)
            else:
                write(partial, records)
    return path


def write(root: Path, records: Iterator[Record] | list[Record]) -> None:
    """Writes and publishes one dataset, shard after shard."""
    records = iter(records)
    shards = []
    while part := list(islice(records, PER_SHARD)):
        shards.append(sds.write_shard(part, os.fspath(root), work_id=f"{len(shards):04}"))
    sds.publish(os.fspath(root), shards, dataset_id="bench", snapshot_id="bench")


def publish_view(root: Path) -> None:
    """Publishes all records of `root/source` as a view in `root`, whose references are relative."""
    with chdir(root):
        source = sds.open("source")
        source.select(range(len(source))).publish(os.fspath(root), dataset_id="view", snapshot_id="view")


_READING = ("iterate", "record", "metadata", "open", *LOAD, *PACKAGE)

FORMAT = Format(
    name="sds",
    packages=("signal-dataset", "array_record", "safetensors"),
    cases=(
        *(Case(name, "zstd", ("write", *_READING)) for name in ("signals", "images")),
        Case("view", "zstd", _READING),
    ),
    bases={
        "write": ("encode",),
        **{what: ("decode", "memcpy") for what in ("iterate", "record", *LOAD_ORDERS, *LOAD_VERIFIED, *PACKAGE_RATES)},
    },
    ensure=ensure,
)
