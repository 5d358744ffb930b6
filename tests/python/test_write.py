"""The original library opens, checks and reads what packstone writes."""

from pathlib import Path

import pytest
from sedpack.io import Dataset

import packstone_cli as packstone
import sedpack_real as real
from datasets import shard_hashes, snapshot
from schemas import KINDS, SHARD_TYPES, full_schema, make_examples
from test_verify import ALL_HASHES


@pytest.mark.parametrize(("shard_type", "compression"), KINDS)
def test_every_dtype_is_read_back_by_every_api(
    full_sources: dict[str, Path], tmp_path: Path, shard_type: str, compression: str
) -> None:
    source, target = full_sources[shard_type], tmp_path / "out"
    before = snapshot(source)
    packstone.convert(
        source, target, shard_type=shard_type, compression=compression, examples_per_shard=4
    )
    assert snapshot(source) == before

    expected = real.dump(source)
    real.check(target)
    assert real.dump(target) == expected
    for api in real.apis(shard_type, compression):
        assert real.dump(target, api) == expected, api
    packstone.verify(target)
    assert packstone.values(target) == expected


@pytest.mark.parametrize(("shard_type", "compression"), KINDS)
def test_structure_and_metadata_arrive(
    full_sources: dict[str, Path], tmp_path: Path, shard_type: str, compression: str
) -> None:
    source, target = full_sources[shard_type], tmp_path / "out"
    packstone.convert(
        source, target, shard_type=shard_type, compression=compression, examples_per_shard=4
    )
    old, new = Dataset(source), Dataset(target)
    assert new.metadata == old.metadata
    assert new.dataset_structure.shard_file_type == shard_type
    assert new.dataset_structure.compression == compression
    assert new.dataset_structure.examples_per_shard == 4
    assert (
        new.dataset_structure.saved_data_description == old.dataset_structure.saved_data_description
    )
    for split, sizes in {"train": [4, 4, 1], "test": [4, 1]}.items():
        assert [shard.number_of_examples for shard in real.shards(target, split)] == sizes
        pointer = new.dataset_info.splits[split]
        assert (pointer.number_of_examples, pointer.number_of_shards) == (sum(sizes), len(sizes))


@pytest.mark.parametrize(("shard_type", "source_type"), [("fb", "npz"), ("npz", "fb")])
def test_uncompressed_shards_are_the_bytes_of_the_library(
    tmp_path: Path, shard_type: str, source_type: str
) -> None:
    source, ours, theirs = (tmp_path / name for name in ("source", "ours", "theirs"))
    schema = full_schema(shard_type)
    # The first example has empty bytes, which the library stores in fb as one zero byte.
    examples = make_examples(schema, 10)[1:]
    items = [real.Item(v, "train" if i % 3 else "test") for i, v in enumerate(examples)]
    real.fill(real.create(source, schema, shard_type=source_type), items)
    real.fill(real.create(theirs, schema, shard_type=shard_type, examples_per_shard=4), items)
    packstone.convert(source, ours, shard_type=shard_type, examples_per_shard=4)
    assert shard_hashes(ours) == shard_hashes(theirs)


@pytest.mark.parametrize("shard_type", SHARD_TYPES)
def test_shard_metadata_stays_with_its_examples(
    labelled_source: Path, tmp_path: Path, shard_type: str
) -> None:
    target = tmp_path / "out"
    packstone.convert(labelled_source, target, shard_type=shard_type, examples_per_shard=100)
    real.check(target)

    def labels(path: Path, split: str) -> list[dict]:
        shards = real.shards(path, split)
        return [s.custom_metadata for s in shards for _ in range(s.number_of_examples)]

    for split in ("train", "holdout"):
        assert labels(target, split) == labels(labelled_source, split)
    # A new shard for each change of metadata, and for nothing else.
    assert [s.number_of_examples for s in real.shards(target, "train")] == [6, 3, 3]
    assert real.dump(target) == real.dump(labelled_source)


@pytest.mark.parametrize("hashes", [("xxh128",), ("md5", "sha3_256"), ALL_HASHES])
def test_all_hashes_are_accepted(
    labelled_source: Path, tmp_path: Path, hashes: tuple[str, ...]
) -> None:
    target = tmp_path / "out"
    packstone.convert(labelled_source, target, shard_type="fb", compression="LZ4", hashes=hashes)
    dataset = Dataset(target)
    assert tuple(dataset.dataset_structure.hash_checksum_algorithms) == hashes
    real.check(target, dataset.current_metadata_checksums())
    for shard in real.shards(target, "train"):
        assert len(shard.file_infos[0].hash_checksums) == len(hashes)


def test_one_collection_alone(labelled_source: Path, tmp_path: Path) -> None:
    target = tmp_path / "out"
    packstone.convert(labelled_source, target, shard_type="npz", collections=("holdout",))
    real.check(target)
    assert real.dump(target) == {"holdout": real.dump(labelled_source)["holdout"]}


def test_an_existing_target_is_refused(labelled_source: Path, tmp_path: Path) -> None:
    target = tmp_path / "out"
    packstone.convert(labelled_source, target, shard_type="fb")
    before = snapshot(target)
    packstone.convert(labelled_source, target, shard_type="fb", expect=packstone.FAILURE)
    assert snapshot(target) == before


def test_a_schema_that_tfrec_cannot_hold_is_refused(
    full_sources: dict[str, Path], tmp_path: Path
) -> None:
    target = tmp_path / "out"
    packstone.convert(full_sources["fb"], target, shard_type="tfrec", expect=packstone.FAILURE)
    assert not target.exists()


def test_equal_content_has_equal_digests(labelled_source: Path, tmp_path: Path) -> None:
    expected = packstone.digest(labelled_source)
    assert set(expected) == {"train", "holdout"}
    assert all(set(found) == set(packstone.DIGESTS) for found in expected.values())
    for index, (shard_type, compression) in enumerate(KINDS):
        target = tmp_path / f"{index}"
        packstone.convert(
            labelled_source,
            target,
            shard_type=shard_type,
            compression=compression,
            examples_per_shard=index + 1,
        )
        assert packstone.digest(target) == expected
        packstone.run("diff", labelled_source, target)


def test_other_content_has_other_digests(labelled_source: Path, tmp_path: Path) -> None:
    items = [
        real.Item(values, split)
        for split in real.splits(labelled_source)
        for values in reversed(list(real.examples(labelled_source, split)))
    ]
    schema = real.columns(labelled_source)
    turned, changed = tmp_path / "turned", tmp_path / "changed"
    real.fill(real.create(turned, schema), items)
    items[0].values["text"] += "!"
    real.fill(real.create(changed, schema), items)

    old, new = packstone.digest(labelled_source), packstone.digest(turned)
    for split in old:
        assert new[split]["values_unordered"] == old[split]["values_unordered"]
        assert new[split]["values"] != old[split]["values"]
    split = items[0].split
    assert packstone.digest(changed)[split]["values_unordered"] != old[split]["values_unordered"]
    packstone.run("diff", labelled_source, turned, expect=packstone.FINDINGS)
