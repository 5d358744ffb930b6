"""TFRecord shards of packstone, parsed by TensorFlow without the original library between."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import canonical
import packstone_cli as packstone
import sedpack_real as real
from schemas import Column

import tensorflow as tf  # isort: skip  (after sedpack_real, which quietens it)

COMPRESSIONS = ["", "GZIP", "ZLIB"]


def parse(record: Any, schema: list[Column]) -> dict[str, Any]:
    """One serialized example, by a fixed description of its features."""
    kinds = {"float32": tf.float32, "float16": tf.string, "str": tf.string, "bytes": tf.string}
    features = {
        name: tf.io.FixedLenFeature(() if dtype == "float16" else shape, kinds.get(dtype, tf.int64))
        for name, dtype, shape in schema
    }
    values = tf.io.parse_single_example(record, features)
    for name, dtype, _ in schema:
        if dtype == "float16":
            values[name] = tf.io.parse_tensor(values[name], tf.float16)
    return {name: value.numpy() for name, value in values.items()}


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_tensorflow_parses_every_record(
    full_sources: dict[str, Path], tmp_path: Path, compression: str
) -> None:
    source, target = full_sources["tfrec"], tmp_path / "out"
    packstone.convert(source, target, shard_type="tfrec", compression=compression)
    schema = real.columns(source)
    for split, expected in real.dump(source).items():
        files = [str(target / s.file_infos[0].file_path) for s in real.shards(target, split)]
        records = tf.data.TFRecordDataset(files, compression_type=compression)
        parsed = [parse(record, schema) for record in records]
        assert [real.row(example, schema) for example in parsed] == expected
        halves = [example["float16 array"] for example in parsed]
        assert all(half.dtype == np.float16 and half.shape == (2, 3) for half in halves)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_as_tfdataset_yields_equal_batches(
    full_sources: dict[str, Path], tmp_path: Path, compression: str
) -> None:
    source, target = full_sources["tfrec"], tmp_path / "out"
    packstone.convert(source, target, shard_type="tfrec", compression=compression)
    schema = real.columns(source)
    batches = real.Dataset(target).as_tfdataset(
        "train", batch_size=2, shuffle=0, repeat=False, file_parallelism=1, parallelism=1
    )
    rows = []
    for batch in batches:
        arrays = {name: value.numpy() for name, value in batch.items()}
        for index in range(len(arrays["int"])):
            example = {name: array[index] for name, array in arrays.items()}
            rows.append(real.row(example, schema))
    assert rows == real.dump(source)["train"]
    assert rows[0]["str"] == canonical.declared(
        next(real.examples(source, "train"))["str"], "str", ()
    )
