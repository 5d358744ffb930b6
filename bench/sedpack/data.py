"""The datasets of the Sedpack figures, written with the original; those that are there are kept."""

import os
from pathlib import Path

from sedpack.io import Attribute, Dataset, DatasetStructure, Metadata

import numpy as np

from bench.cases import LOAD, LOAD_ORDERS, LOAD_VERIFIED, PACKAGE, PACKAGE_RATES, Case, Format
from bench.harness import folder_name, whole
from bench.sets import SETS, DataSet

EXAMPLES_PER_SHARD = 256
#: As many shards as examples: what it costs to begin.
SHARDS = DataSet(
    "shards",
    100_000,
    (("x", "uint8", (16,)),),
    lambda rng, count: {"x": rng.integers(0, 256, (count, 16), dtype=np.uint8)},
)
COMPRESSIONS = ("none", "LZ4", "ZSTD", "GZIP")
WHAT = ("write", "examples", "batches", "verify", "random", *LOAD, *PACKAGE)


def create(path: Path, data: DataSet, compression: str) -> Dataset:
    """An empty dataset for one set."""
    return Dataset.create(
        path,
        Metadata(description=f"benchmark set {data.name}"),
        DatasetStructure(
            saved_data_description=[
                Attribute(name=name, dtype=dtype, shape=shape)
                for name, dtype, shape in data.columns
            ],
            compression="" if compression == "none" else compression,
            examples_per_shard=1 if data is SHARDS else EXAMPLES_PER_SHARD,
            shard_file_type="fb",
            hash_checksum_algorithms=("sha256",),
        ),
    )


def ensure(folder: Path, name: str, compression: str, scale: float) -> Path:
    """The path of one dataset, written now if it is not there."""
    data = SHARDS if name == SHARDS.name else SETS[name]
    path = folder / folder_name("sedpack", name, compression, scale)
    if path.exists():
        return path
    with whole(path) as partial:
        with create(partial, data, compression).filler(os.cpu_count() or 1) as filler:
            for example in data.examples(scale):
                filler.write_example(values=example, split="train")
    return path


FORMAT = Format(
    name="sedpack",
    packages=("sedpack", "numpy"),
    cases=(
        *(Case(name, compression, WHAT) for name in SETS for compression in COMPRESSIONS),
        Case(SHARDS.name, "none", ("load-start", "package-start")),
    ),
    bases={
        "write": ("encode", "memcpy"),
        "batches": ("decode", "mapcopy"),
        "verify": ("sha256",),
        **{what: ("decode", "memcpy") for what in (*LOAD_ORDERS, *PACKAGE_RATES)},
        **{what: ("sha256",) for what in LOAD_VERIFIED},
    },
    ensure=ensure,
)
