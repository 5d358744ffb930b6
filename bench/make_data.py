"""Writes the datasets of the benchmarks with the original library; keeps those that are there."""

import os
import shutil
from pathlib import Path

from sedpack.io import Attribute, Dataset, DatasetStructure, Metadata

import options
from sets import EXAMPLES_PER_SHARD, SETS, DataSet, folder_name


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
            compression=compression,
            examples_per_shard=EXAMPLES_PER_SHARD,
            shard_file_type="fb",
            hash_checksum_algorithms=("sha256",),
        ),
    )


def ensure(folder: Path, name: str, compression: str, scale: float) -> Path:
    """The path of one dataset, written now if it is not there."""
    data = SETS[name]
    path = folder / folder_name(name, compression)
    if path.exists():
        found = Dataset(path).dataset_info.splits["train"].number_of_examples
        if found != data.count(scale):
            raise SystemExit(
                f"{path} has {found} examples and not {data.count(scale)}: "
                "it is of another scale; remove it or name another folder with --data"
            )
        return path
    # Only a whole dataset gets the name.
    partial = path.with_name(path.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    with create(partial, data, compression).filler(os.cpu_count() or 1) as filler:
        for example in data.examples(scale):
            filler.write_example(values=example, split="train")
    partial.rename(path)
    return path


def main() -> None:
    """Writes what is missing and prints where."""
    chosen = options.parser(__doc__).parse_args()
    for name in chosen.sets:
        for compression in options.compressions(chosen):
            print(ensure(chosen.data, name, compression, chosen.scale), flush=True)


if __name__ == "__main__":
    main()
