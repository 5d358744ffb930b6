"""The real tensordict loads what packstone writes, and finds in it what was there."""

import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from tensordict import TensorDict, is_memmap_archive

import packstone_cli as packstone
import sedpack_real
import tensordict_real as real
from datasets import snapshot
from schemas import full_schema, make_examples

COMPRESSIONS = {
    "stored": zipfile.ZIP_STORED,
    "deflate": zipfile.ZIP_DEFLATED,
    "bzip2": zipfile.ZIP_BZIP2,
    "lzma": zipfile.ZIP_LZMA,
}


def files(path: Path) -> dict[str, bytes]:
    """All files below a folder."""
    inside = (file for file in path.rglob("*") if file.is_file())
    return {str(file.relative_to(path)): file.read_bytes() for file in inside}


def check_loads(path: Path, expected: object) -> None:
    """The library loads a tree in every mode, equal to what is expected, and changes no file."""
    before = snapshot(path) if path.is_dir() else path.read_bytes()
    assert real.describe(real.load(path)) == expected
    assert real.describe(real.load(path, mode=None)) == expected
    assert (snapshot(path) if path.is_dir() else path.read_bytes()) == before


@pytest.mark.parametrize("name", real.TREES)
def test_a_copy_loads_as_the_original(name: str, tmp_path: Path) -> None:
    source, archived = tmp_path / "source", tmp_path / "source.tdz"
    real.save(real.TREES[name](), source)
    real.save(real.TREES[name](), archived)
    for number, path in enumerate((source, archived)):
        expected = real.describe(real.load(path))
        for ending in ("", ".tdz"):
            copy = tmp_path / f"copy{number}{ending}"
            packstone.to_tensordict(path, copy)
            check_loads(copy, expected)
    assert files(tmp_path / "copy0") == files(source)


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("name", real.TREES)
def test_archives_are_those_of_the_library(name: str, compression: str, tmp_path: Path) -> None:
    source, ours, theirs = (tmp_path / part for part in ("source", "ours.tdz", "theirs.tdz"))
    real.save(real.TREES[name](), source)
    expected = real.describe(real.load(source))
    packstone.pack(source, ours, "--compression", compression)
    real.pack_memmap(source, theirs, compression=compression)
    assert is_memmap_archive(ours)
    check_loads(ours, expected)
    with zipfile.ZipFile(ours) as mine, zipfile.ZipFile(theirs) as other:
        assert mine.testzip() is None
        if compression == "deflate":
            # Another encoder of the same level: the streams differ by a few bytes, only they do.
            assert list(map(told, mine.infolist())) == list(map(told, other.infolist()))
        else:
            assert undated(ours.read_bytes(), mine) == undated(theirs.read_bytes(), other)
        leaves = [info for info in mine.infolist() if info.filename.endswith(".memmap")]
        assert all(info.compress_type == COMPRESSIONS[compression] for info in leaves)
    # Each unpacks what the other packs.
    packstone.unpack(theirs, tmp_path / "ours")
    real.unpack_memmap(ours, tmp_path / "theirs")
    assert files(tmp_path / "ours") == files(tmp_path / "theirs") == files(source)


def told(info: zipfile.ZipInfo) -> tuple[object, ...]:
    """What an archive says of an entry, apart from its date and how far it compresses."""
    numbers = (info.flag_bits, info.create_version, info.extract_version, info.external_attr)
    return (info.filename, info.compress_type, info.CRC, info.file_size, info.extra, *numbers)


def undated(data: bytes, archive: zipfile.ZipFile) -> bytes:
    """An archive with its dates wiped."""
    out = bytearray(data)
    at = archive.start_dir
    for info in archive.infolist():
        out[info.header_offset + 10 : info.header_offset + 14] = bytes(4)
        out[at + 12 : at + 16] = bytes(4)
        sizes = (int.from_bytes(out[at + n : at + n + 2], "little") for n in (28, 30, 32))
        at += 46 + sum(sizes)
    return bytes(out)


def test_checksums_are_refreshed_as_the_library_does(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours.tdz", tmp_path / "theirs.tdz"
    real.save(real.TREES["plain"](), ours)
    real.load(ours, mode="r+")["a"].fill_(3)
    with zipfile.ZipFile(ours) as archive:
        assert archive.testzip() == "a.memmap"
    packstone.verify(ours, expect=packstone.FINDINGS)
    shutil.copy(ours, theirs)
    packstone.refresh(ours)
    real.refresh_archive_checksums(theirs)
    assert ours.read_bytes() == theirs.read_bytes()
    packstone.verify(ours)
    assert real.load(ours)["a"].eq(3).all()


def as_numpy(tree: TensorDict, name: str, row: int) -> object:
    """The value of a field of one sample, as packstone stored it."""
    value = tree.get(name)
    if isinstance(value, torch.Tensor):
        part = value.unbind(0)[row] if value.is_nested else value[row]
        return torch.Tensor.as_subclass(part, torch.Tensor)
    return value.tolist()[row]


@pytest.mark.parametrize("ending", ["", ".tdz"], ids=["folder", "archive"])
@pytest.mark.parametrize("shard_type", ["fb", "npz"])
def test_sedpack_goes_into_tensordict_and_comes_back(
    shard_type: str, ending: str, tmp_path: Path
) -> None:
    source, there, back = tmp_path / "source", tmp_path / f"there{ending}", tmp_path / "back"
    schema = full_schema(shard_type)
    # The first example has empty bytes, which the library stores in fb as one zero byte.
    examples = make_examples(schema, 10, seed=3)[1:]
    items = [
        sedpack_real.Item(v, "train" if i % 3 else "test", {"n": i // 3})
        for i, v in enumerate(examples)
    ]
    sedpack_real.fill(sedpack_real.create(source, schema, shard_type=shard_type), items)
    packstone.to_tensordict(source, there)
    assert packstone.digest(there) == packstone.digest(source)
    packstone.verify(there)

    tree = real.load(there)
    assert sorted(tree.keys()) == ["test", "train"]
    for split in ("train", "test"):
        rows = [item.values for item in items if item.split == split]
        loaded = tree[split]
        assert tuple(loaded.batch_size) == (len(rows),)
        for row, example in enumerate(rows):
            for name, dtype, _ in schema:
                found = as_numpy(loaded, name, row)
                if dtype == "str":
                    assert found == example[name]
                elif dtype == "bytes":
                    assert bytes(found.numpy()) == bytes(np.asarray(bytearray(example[name])))
                else:
                    want = np.asarray(example[name])
                    assert real.bytes_of(found) == little(want, dtype), name
    packstone.convert(there, back, shard_type=shard_type)
    assert packstone.digest(back) == packstone.digest(source)
    assert sedpack_real.dump(back) == sedpack_real.dump(source)


def little(value: np.ndarray, dtype: str) -> bytes:
    """A value in the dtype of its field, little-endian, in C order."""
    kind = np.dtype("int64" if dtype == "int" else dtype)
    return np.ascontiguousarray(value.astype(kind.newbyteorder("<"))).tobytes()


def test_samples_without_values_load(tmp_path: Path) -> None:
    """Text, JSON and arrays of varying shape of collections with no and with one sample."""
    source, there = tmp_path / "source", tmp_path / "there"
    schema = [("text", "str", ()), ("data", "bytes", ()), ("x", "float32", (2,))]
    values = {"text": "only", "data": b"", "x": np.zeros(2, np.float32)}
    made = sedpack_real.create(source, schema, shard_type="npz")
    sedpack_real.fill(made, [sedpack_real.Item(values, "train")])
    packstone.to_tensordict(source, there)
    tree = real.load(there)["train"]
    assert tree["text"] == ["only"] or tree.get("text").tolist() == ["only"]
    # All parts are empty, and still the key is there.
    assert [tuple(part.shape) for part in tree["data"].unbind(0)] == [(0,)]
    assert tuple(tree["x"].shape) == (1, 2)


def test_what_the_library_would_lose_is_refused_or_renamed(tmp_path: Path) -> None:
    source, there = tmp_path / "source", tmp_path / "there"
    schema = [(name, "int32", (2,)) for name in ("shape", "device", "_type", "_class", "fine")]
    values = {name: np.full(2, i, np.int32) for i, (name, _, _) in enumerate(schema)}
    sedpack_real.fill(sedpack_real.create(source, schema), [sedpack_real.Item(values, "train")])
    packstone.to_tensordict(source, there)
    tree = real.load(there)["train"]
    assert len(list(tree.keys())) == len(schema)
    found = sorted(int(tree[key][0, 0]) for key in tree.keys())
    assert found == list(range(len(schema)))
    assert packstone.digest(there) == packstone.digest(source)
