"""The three datasets of arrays: what they hold, and values made from a fixed seed.

* small: many little examples, where the cost of each example counts;
* signal: long half-precision traces like a recorded side channel, smooth, quantised and noisy;
* image: small colour pictures, smooth with some noise.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

Example = dict[str, Any]
Chunk = dict[str, np.ndarray]

SEED = 20_260_101
CHUNK = 256


@dataclass(frozen=True)
class DataSet:
    """One set: its size at scale 1, its columns, and how to make a run of examples."""

    name: str
    full_count: int
    columns: tuple[tuple[str, str, tuple[int, ...]], ...]
    make: Callable[[np.random.Generator, int], Chunk]

    def count(self, scale: float) -> int:
        """The number of examples at a scale; never less than one chunk."""
        return max(CHUNK, round(self.full_count * scale))

    def example_bytes(self) -> int:
        """The size of one example's values."""
        return sum(
            np.dtype(dtype).itemsize * int(np.prod(shape)) for _, dtype, shape in self.columns
        )

    def chunks(self, scale: float) -> Iterator[Chunk]:
        """All examples in chunks of columns; the same ones at each call, whatever the scale."""
        count = self.count(scale)
        for index in range(0, count, CHUNK):
            rng = np.random.default_rng([SEED, index])
            chunk = self.make(rng, CHUNK)
            yield {name: column[: count - index] for name, column in chunk.items()}

    def examples(self, scale: float) -> Iterator[Example]:
        """All examples, one by one."""
        for chunk in self.chunks(scale):
            rows = len(next(iter(chunk.values())))
            for row in range(rows):
                yield {name: column[row] for name, column in chunk.items()}


def _small(rng: np.random.Generator, count: int) -> Chunk:
    return {
        "x": rng.standard_normal((count, 32), dtype=np.float32),
        "y": rng.integers(0, 10, count, dtype=np.int32),
    }


def _signal(rng: np.random.Generator, count: int) -> Chunk:
    time = np.arange(16_384, dtype=np.float32)
    periods = rng.uniform(40, 4_000, (count, 4, 1)).astype(np.float32)
    phases = rng.uniform(0, 6.28, (count, 4, 1)).astype(np.float32)
    trace = np.zeros((count, time.size), dtype=np.float32)
    for wave in range(4):
        trace += np.sin(time * (6.28 / periods[:, wave]) + phases[:, wave])
    trace += rng.standard_normal(trace.shape, dtype=np.float32) * np.float32(0.05)
    # An eight-bit converter over -4..4.
    levels = np.clip(np.rint(trace * 32), -128, 127)
    return {
        "trace": (levels / 32).astype(np.float16),
        "key": rng.integers(0, 256, (count, 16), dtype=np.uint8),
    }


def _image(rng: np.random.Generator, count: int) -> Chunk:
    # Five by five colours of one picture's range, with smooth ways between them.
    darkest = rng.uniform(0, 255 - 96, (count, 1, 1, 3))
    coarse = (darkest + rng.uniform(0, 96, (count, 5, 5, 3))).astype(np.float32)
    position = np.linspace(0, 4, 64, dtype=np.float32)
    low = np.minimum(position.astype(np.intp), 3)
    part = (position - low)[None, :, None, None]
    rows = coarse[:, low] * (1 - part) + coarse[:, low + 1] * part
    part = (position - low)[None, None, :, None]
    picture = rows[:, :, low] * (1 - part) + rows[:, :, low + 1] * part
    picture += rng.standard_normal(picture.shape, dtype=np.float32)
    # A six-bit sensor.
    picture = np.rint(picture / 4) * 4
    return {
        "picture": np.clip(picture, 0, 255).astype(np.uint8),
        "label": rng.integers(0, 1_000, count, dtype=np.int64),
    }


SETS = {
    found.name: found
    for found in (
        DataSet("small", 100_000, (("x", "float32", (32,)), ("y", "int32", ())), _small),
        DataSet(
            "signal", 4_096, (("trace", "float16", (16_384,)), ("key", "uint8", (16,))), _signal
        ),
        DataSet(
            "image", 16_384, (("picture", "uint8", (64, 64, 3)), ("label", "int64", ())), _image
        ),
    )
}
