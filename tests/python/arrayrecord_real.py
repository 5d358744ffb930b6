"""The original library: files written and read with the real, pinned array_record."""

import hashlib
import random
from collections.abc import Sequence
from pathlib import Path

from array_record.python.array_record_data_source import ArrayRecordDataSource
from array_record.python.array_record_module import ArrayRecordReader, ArrayRecordWriter

#: A record by its length and SHA-256.
Digest = tuple[int, str]


def make_records(count: int, *, seed: int = 0, longest: int = 3000) -> list[bytes]:
    """Records of any length, empty ones among them, that compress well, a little, and not at all."""
    rng = random.Random(seed)
    words = [rng.randbytes(rng.randrange(1, 9)) for _ in range(40)]

    def record(index: int) -> bytes:
        size = rng.choice([0, 1, 7, 100, rng.randrange(longest)])
        kind = index % 3
        if kind == 0:
            return rng.randbytes(size)
        if kind == 1:
            return b"".join(rng.choices(words, k=size // 4))
        return bytes([index % 251]) * size

    return [record(index) for index in range(count)]


def digests(records: Sequence[bytes]) -> list[Digest]:
    """What has to be equal for records to be equal."""
    return [(len(record), hashlib.sha256(record).hexdigest()) for record in records]


def write(path: Path, records: Sequence[bytes], options: str = "") -> Path:
    """Writes a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = ArrayRecordWriter(str(path), options)
    for record in records:
        writer.write(record)
    writer.close()
    return path


def dump(path: Path) -> list[Digest]:
    """All records, after a look that each way to read gives the same."""
    reader = ArrayRecordReader(str(path), "readahead_buffer_size:0")
    count = reader.num_records()
    found = [reader.read() for _ in range(count)]
    if count:
        assert reader.read_all() == found
        assert reader.read(list(range(count))[::-1]) == found[::-1]
        assert reader.read(0, count) == found
    if "group_size:1," in writer_options(path):
        with ArrayRecordDataSource(str(path)) as source:
            assert [source[index] for index in range(len(source))] == found
    reader.close()
    return digests(found)


def writer_options(path: Path) -> str:
    """The options that the file states."""
    return ArrayRecordReader(str(path)).writer_options_string() or ""
