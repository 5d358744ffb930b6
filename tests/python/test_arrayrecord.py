"""packstone and the real array_record read each other's files; equal input gives equal files."""

import json
from pathlib import Path

import pytest
from array_record.python.array_record_module import ArrayRecordReader

import arrayrecord_real as real
import packstone_cli as packstone
import sds_real
import sedpack_real
from conftest import RECORDS
from datasets import snapshot
from schemas import make_examples, shared_schema

CASES = sorted(path.name.removesuffix(".expected.json") for path in RECORDS.glob("*.expected.json"))
CODECS = pytest.mark.parametrize(
    "codec", ["uncompressed", "zstd", "zstd:19", "zstd:-5,window_log:12", "brotli:9", "snappy"]
)
GROUPS = pytest.mark.parametrize("group", [1, 7, 1000])


def check(path: Path, records: list[real.Digest]) -> None:
    """Both read these records, and nothing is touched."""
    before = snapshot(path.parent)
    assert real.dump(path) == records
    assert packstone.records(path) == records
    assert packstone.records(path, options=("--verify", "--threads", "0")) == records
    packstone.verify(path)
    assert snapshot(path.parent) == before


@CODECS
@GROUPS
def test_files_of_the_library_read_equal(tmp_path: Path, codec: str, group: int) -> None:
    records = real.make_records(100)
    path = real.write(tmp_path / "x.arrayrecord", records, f"{codec},group_size:{group}")
    check(path, real.digests(records))


@pytest.mark.parametrize(
    "options",
    [
        "transpose",
        "transpose,group_size:10,transpose_bucket_size:100",
        "pad_to_block_boundary:true",
        "brotli:5,window_log:30",
    ],
)
def test_rare_options_of_the_library_read_equal(tmp_path: Path, options: str) -> None:
    records = real.make_records(40, seed=1)
    path = real.write(tmp_path / "x.arrayrecord", records, options)
    check(path, real.digests(records))


@pytest.mark.parametrize("case", CASES)
def test_golden_file_reads_as_the_library_reads_it(case: str) -> None:
    path = RECORDS / f"{case}.arrayrecord"
    assert packstone.records(path) == real.dump(path)


@pytest.mark.parametrize("count", [0, 1, 100])
@GROUPS
def test_uncompressed_files_have_the_bytes_of_the_library(
    tmp_path: Path, count: int, group: int
) -> None:
    records = real.make_records(count, seed=2, longest=200_000)
    options = f"uncompressed,group_size:{group}"
    theirs = real.write(tmp_path / "theirs.arrayrecord", records, options)
    ours = tmp_path / "ours.arrayrecord"
    packstone.to_arrayrecord(theirs, ours)
    assert ours.read_bytes() == theirs.read_bytes()
    check(ours, real.digests(records))


@GROUPS
@pytest.mark.parametrize("codec", ["zstd", "zstd:1", "zstd:9,window_log:15"])
def test_zstd_files_have_the_bytes_of_the_library(tmp_path: Path, group: int, codec: str) -> None:
    records = real.make_records(120, seed=3, longest=20_000)
    options = f"{codec},group_size:{group}"
    theirs = real.write(tmp_path / "theirs.arrayrecord", records, options)
    ours = tmp_path / "ours.arrayrecord"
    packstone.to_arrayrecord(theirs, ours)
    assert ours.read_bytes() == theirs.read_bytes()


@CODECS
@GROUPS
def test_the_library_reads_what_packstone_writes(tmp_path: Path, codec: str, group: int) -> None:
    records = real.make_records(100, seed=4)
    source = real.write(tmp_path / "source.arrayrecord", records, "group_size:3")
    target = tmp_path / "target" / "x.arrayrecord"
    target.parent.mkdir()
    options = f"{codec},group_size:{group}"
    packstone.to_arrayrecord(source, target, f"writer_options={json.dumps(options)}")
    check(target, real.digests(records))
    # The statement about options is that of the library.
    same = real.write(tmp_path / "same.arrayrecord", records[:1], options)
    assert real.writer_options(target) == real.writer_options(same)


def test_several_files_are_read_as_one(tmp_path: Path) -> None:
    parts = [real.make_records(10 + part, seed=part) for part in range(3)]
    paths = [
        real.write(tmp_path / f"x.array_record-{part:05}-of-00003", records, f"group_size:{part + 1}")
        for part, records in enumerate(parts)
    ]
    assert packstone.records(*paths) == [digest for part in parts for digest in real.digests(part)]


def test_samples_become_records_and_come_back(tmp_path: Path) -> None:
    source, target, back = tmp_path / "sedpack", tmp_path / "x.arrayrecord", tmp_path / "back"
    schema = shared_schema()
    items = [sedpack_real.Item(values, "train") for values in make_examples(schema, 9)]
    sedpack_real.fill(sedpack_real.create(source, schema), items)
    packstone.to_arrayrecord(source, target)
    assert len(real.dump(target)) == 9
    assert packstone.digest(target) == packstone.digest(source)
    packstone.convert(target, back, shard_type="npz")
    assert packstone.digest(back) == packstone.digest(source)


def test_shards_of_a_signal_dataset_are_files_for_both(tmp_path: Path) -> None:
    sds_real.write(tmp_path, sds_real.make_records(5))
    for path in (tmp_path / "objects").rglob("*.arrayrecord"):
        assert packstone.records(path) == real.dump(path)
        assert len(real.dump(path)) == 5


@pytest.mark.parametrize("group", [1, 7])
def test_a_damaged_chunk_fails_for_both_and_harms_no_other(tmp_path: Path, group: int) -> None:
    records = real.make_records(50, seed=5, longest=500)
    path = real.write(tmp_path / "x.arrayrecord", records, f"uncompressed,group_size:{group}")
    whole = path.read_bytes()
    at = whole.index(max(records[20:27], key=len))
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
    reader = ArrayRecordReader(str(path))
    with pytest.raises(RuntimeError, match="data hash mismatch"):
        reader.read_all()
    packstone.run("dump", path, expect=packstone.FAILURE)
    packstone.verify(path, expect=packstone.FINDINGS)
    assert real.digests(reader.read([0, 49])) == real.digests([records[0], records[49]])
    last = packstone.records(path, options=("--start", "49"))
    assert last == real.digests(records[49:])


@pytest.mark.parametrize("kept", [0, 100, 65_536, 131_071])
def test_cut_files_open_for_neither(tmp_path: Path, kept: int) -> None:
    path = real.write(tmp_path / "x.arrayrecord", real.make_records(10))
    path.write_bytes(path.read_bytes()[:kept])
    reader = ArrayRecordReader(str(path))
    assert (reader.ok(), reader.num_records()) == (False, 0)
    packstone.run("dump", path, expect=packstone.FAILURE)
