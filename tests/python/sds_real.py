"""The original library: datasets, annotations and views written and read with the real, pinned signal-dataset."""

import hashlib
import os
import random
from collections.abc import Iterable, Sequence
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np
import signal_dataset as sds
from signal_dataset import AnnotationRecord, AnnotationStatus, Axis, Coordinate, Field, Record
from signal_dataset import annotation as sds_annotation

#: A record as both sides print it: id, scene, fields with their values' digest and all that is said about them.
Said = dict[str, Any]

#: All element types of the layout.
DTYPES = ("bool", "i1", "u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8", "<c8")

_METADATA: list[dict[str, Any]] = [
    {},
    {"a": 1, "b": 1.0, "ünï": "鳥\u2028", "deep": {"x": [None, True, {"y": -0.0}]}, "": ""},
    {"big": 2**70, "small": 5e-324, "exponent": 1e22, "negative": -(2**63)},
]


def coordinates(length: int) -> list[Coordinate | None]:
    """Every form of a coordinate."""
    return [
        None,
        Coordinate(),
        Coordinate(unit="V", metadata={"gps": True}),
        Coordinate(values=list(range(length)), unit="Hz"),
        Coordinate(values=[["left", None, [1, 2.5]][n % 3] for n in range(length)]),
        Coordinate(start=0, step=3),
        Coordinate(start=-1.5, step=0.25, unit="ms", metadata=_METADATA[1]),
        Coordinate(reference="values"),
        Coordinate(reference="clock", unit=""),
    ]


def values(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Values of any bits."""
    size = np.dtype(dtype).itemsize * int(np.prod(shape))
    high = 2 if dtype == "bool" else 256
    return np.frombuffer(rng.integers(0, high, size, np.uint8).tobytes(), dtype).reshape(shape)


def make_records(count: int, *, seed: int = 0) -> list[Record]:
    """Records of every type and rank, with every form of axis and coordinate, each record with fields of its own."""
    rng = np.random.default_rng(seed)
    records = []
    for index in range(count):
        length = index % 4
        clock = Axis("t", 3, role="time", id="clock", coordinate=Coordinate(start=0.0, step=0.5))
        fields = {
            "values": Field(values(rng, DTYPES[index % 13], (length,)), (Axis("n", length),)),
            "clocked": Field(values(rng, "<f4", (3,)), (clock,), {"gain": 1.0}),
        }
        for number, coordinate in enumerate(coordinates(length)):
            axes = (Axis(f"x {number}", length, coordinate=coordinate, metadata=_METADATA[number % 3]),)
            fields[f"c/{number}"] = Field(values(rng, "<i2", (length,)), axes)
        dtype = DTYPES[(index * 5 + 1) % 13]
        axes = tuple(Axis(name, size, role="") for name, size in (("row", 2), ("列", length), ("c", 3)))
        fields[f"grid-{dtype[-2:]}"] = Field(values(rng, dtype, (2, length, 3)), axes, _METADATA[1])
        scene = [None, "", "scene/ä"][index % 3]
        records.append(Record(f"id {index} µ", fields, scene, _METADATA[index % 3]))
    return records


def alike_records(count: int, *, size: int = 16, seed: int = 0) -> list[Record]:
    """Records that all have the same fields of the same shapes, which other formats need."""
    rng = np.random.default_rng(seed)
    time = Axis("t", size, role="time", coordinate=Coordinate(start=0.5, step=2, unit="ms"))
    grid = (Axis("row", 2, id="rows"), Axis("column", 3))
    return [
        Record(
            f"r-{index:04}",
            {
                "trace": Field(values(rng, "<i2", (size,)), (time,)),
                "grid": Field(values(rng, "<u8", (2, 3)), grid, {"unit": "V"}),
                "label": Field(np.array([index % 5], np.int32), (Axis("value", 1),)),
            },
            f"scene-{index // 4}" if index % 2 else None,
            {"index": index, "valid": index % 3 != 0},
        )
        for index in range(count)
    ]


def write(
    root: Path,
    records: Sequence[Record],
    *,
    per_shard: int = 10_000,
    per_page: int = 10_000,
    snapshot_id: str = "snapshot",
    dataset_id: str = "dataset",
    metadata: dict[str, Any] | None = None,
) -> sds.Dataset:
    """Writes and publishes a dataset, with work ids in the order of the records."""
    starts = range(0, len(records), per_shard)
    shards = [
        sds.write_shard(records[start : start + per_shard], os.fspath(root), work_id=f"{start:012}")
        for start in starts
    ]
    return sds.publish(
        os.fspath(root),
        shards,
        dataset_id=dataset_id,
        snapshot_id=snapshot_id,
        metadata=metadata,
        publication_options=sds.PublicationOptions(shards_per_manifest=per_page),
    )


def open_root(root: Path) -> sds.Dataset:
    """Opens a dataset."""
    return sds.open(os.fspath(root))


def dump(root: Path) -> list[Said]:
    """All records by iteration, after a look that each way to read gives the same."""
    dataset = open_root(root)
    found = [said(record) for record in dataset]
    assert [said(dataset[index]) for index in range(len(dataset))] == found
    backwards = list(range(len(dataset)))[::-1]
    assert [said(record) for record in dataset.__getitems__(backwards)] == found[::-1]
    for row, record in zip(dataset.iter_record_metadata(), found, strict=True):
        assert (row.id, row.scene_id, thawed(row.metadata)) == tuple(
            record[key] for key in ("id", "scene_id", "metadata")
        )
        for name, field in row.items():
            stored = record["fields"][name]
            assert (np.dtype(field.dtype).name, list(field.shape)) == (stored["dtype"], stored["shape"])
            assert axes_of(field.axes) == stored.get("axes", axes_of(field.axes))
    return found


def annotations(root: Path) -> dict[str, list[Said]]:
    """All annotation sets, as the carriers that store them."""
    sets = open_root(root).annotations
    return {name: [_carrier(record) for record in sets[name]] for name in sorted(sets)}


def _carrier(record: AnnotationRecord) -> Said:
    metadata = {
        "detail_status": record.detail_status,
        "empty_fields": not record.fields,
        "provenance": thawed(record.provenance),
        "source_index": record.source_index,
        "status": record.status.value,
        "values": thawed(record.values),
    }
    return {
        "id": record.source_record_id,
        "scene_id": None,
        "fields": {name: _field(field) for name, field in sorted(record.fields.items())},
        "metadata": {"annotation": metadata},
    }


def said(record: Record) -> Said:
    """A record in the one form for both sides."""
    return {
        "id": record.id,
        "scene_id": record.scene_id,
        "fields": {name: _field(field) for name, field in sorted(record.items())},
        "metadata": thawed(record.metadata),
    }


def _field(field: Field) -> Said:
    data = np.ascontiguousarray(field.data)
    found: Said = {
        "dtype": data.dtype.name,
        "shape": list(data.shape),
        "nbytes": data.nbytes,
        "sha256": hashlib.sha256(data.tobytes()).hexdigest(),
    }
    if any(axis != Axis(f"dim_{number}", axis.length) for number, axis in enumerate(field.axes)):
        found["axes"] = axes_of(field.axes)
    if field.metadata:
        found["metadata"] = thawed(field.metadata)
    return found


def axes_of(axes: Iterable[Axis]) -> list[Said]:
    """Axes as they are stored."""
    keys = ("coordinate", "id", "length", "metadata", "name", "role")
    found = []
    for axis in axes:
        said_of = {key: getattr(axis, key) for key in keys}
        said_of["metadata"] = thawed(axis.metadata)
        if axis.coordinate is not None:
            names = ("values", "start", "step", "reference", "unit", "metadata")
            said_of["coordinate"] = {name: thawed(getattr(axis.coordinate, name)) for name in names}
        found.append(said_of)
    return found


def thawed(value: Any) -> Any:
    """What the library froze, as JSON has it."""
    if isinstance(value, tuple | list):
        return [thawed(item) for item in value]
    if hasattr(value, "items"):
        return {key: thawed(item) for key, item in value.items()}
    return value


def annotate(dataset: sds.Dataset, name: str, *, seed: int = 0, workers: bool = False) -> None:
    """Publishes a set with every status, with and without fields, values and provenance."""
    rng = random.Random(seed)
    arrays = np.random.default_rng(seed)
    records = []
    for index, record in enumerate(dataset):
        field = Field(values(arrays, "<f4", (index % 3,)), (Axis("n", index % 3),))
        records.append(
            AnnotationRecord(
                record.id,
                index,
                rng.choice(list(AnnotationStatus)),
                rng.choice(_METADATA),
                {"mask": field} if index % 2 else {},
                rng.choice(_METADATA),
                rng.choice([None, "checked"]),
            )
        )
    options = sds.AnnotationOptions(records_per_shard=3)
    if not workers:
        sds.publish_annotations(dataset, name, records, metadata=_METADATA[1], options=options)
        return
    shards = [
        sds_annotation.write_shard(
            dataset, name, "by-hand", start, records[start : start + 4], logical_shard_id=f"part-{start}"
        )
        for start in range(0, len(records), 4)
    ]
    sds_annotation.publish_shards(dataset, name, "by-hand", shards)


def view_inside(root: Path, source: str, indices: Sequence[int], *, per_page: int = 10_000) -> None:
    """Publishes a view in `root` of the dataset in its folder `source`, by relative references."""
    with chdir(root):
        view = sds.open(source).select(indices)
        options = sds.PublicationOptions(shards_per_manifest=per_page)
        view.publish(
            os.fspath(root), dataset_id="view", snapshot_id="vw", publication_options=options
        )


def materialize(source: Path, target: Path, indices: Sequence[int], per_shard: int) -> None:
    """Copies records into a dataset of their own."""
    view = open_root(source).select(indices)
    view.materialize(
        os.fspath(target), dataset_id="copy", snapshot_id="copy", records_per_shard=per_shard
    )
