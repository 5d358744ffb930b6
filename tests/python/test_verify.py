"""`packstone verify` and the library's own checksums mean the same thing."""

from pathlib import Path

import pytest
from sedpack.io import Dataset

import packstone_cli as packstone
import sedpack_real as real
from schemas import make_examples, shared_schema

ALL_HASHES = (
    "md5", "sha1", "sha224", "sha256", "sha384", "sha512", "sha3_224", "sha3_256", "sha3_384",
    "sha3_512", "xxh32", "xxh64", "xxh128",
)  # fmt: skip


def write(path: Path, hashes: tuple[str, ...]) -> None:
    schema = shared_schema()
    items = [real.Item(values) for values in make_examples(schema, 5)]
    real.fill(real.create(path, schema, hashes=hashes), items)


@pytest.mark.parametrize("hashes", [("sha256",), ("xxh64", "md5"), ALL_HASHES])
def test_the_library_checksums_are_accepted(tmp_path: Path, hashes: tuple[str, ...]) -> None:
    write(tmp_path, hashes)
    noted = Dataset(tmp_path).current_metadata_checksums()
    packstone.verify(tmp_path, hashes=noted)


def test_other_checksums_are_a_finding(tmp_path: Path) -> None:
    write(tmp_path, ("sha256",))
    (noted,) = Dataset(tmp_path).current_metadata_checksums()
    root = tmp_path / "dataset_info.json"
    root.write_text(root.read_text(encoding="utf-8").replace("CC0", "CC1"), encoding="utf-8")

    with pytest.raises(ValueError, match="miss-match"):
        real.check(tmp_path, (noted,))
    result = packstone.verify(tmp_path, hashes=(noted,), expect=packstone.FINDINGS)
    assert len(packstone.finding_codes(result)) == 1
    packstone.verify(tmp_path)


def test_quick_finds_a_missing_shard_but_no_changed_byte(tmp_path: Path) -> None:
    write(tmp_path, ("sha256",))
    shard = tmp_path / real.shards(tmp_path, "train")[0].file_infos[0].file_path
    data = bytearray(shard.read_bytes())
    data[-9] ^= 1
    shard.write_bytes(data)
    packstone.verify(tmp_path, "--quick")
    packstone.verify(tmp_path, expect=packstone.FINDINGS)
    shard.unlink()
    packstone.verify(tmp_path, "--quick", expect=packstone.FINDINGS)
