"""Payloads of one size: half noise, half words of a small vocabulary, so that compression finds something."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

SEED = 20_260_102
_CHUNK = 100


@dataclass(frozen=True)
class Payloads:
    """One set: its number of payloads at scale 1 and the size of each."""

    full_count: int
    size: int

    def count(self, scale: float) -> int:
        """The number of payloads at a scale."""
        return max(_CHUNK, round(self.full_count * scale))

    def payloads(self, scale: float) -> Iterator[bytes]:
        """All payloads; the same ones at each call, whatever the scale."""
        words = np.random.default_rng(SEED).integers(0, 2**63, 256, dtype=np.uint64)
        count = self.count(scale)
        half = self.size // 2
        for first in range(0, count, _CHUNK):
            rng = np.random.default_rng([SEED, first])
            noise = rng.integers(0, 256, (_CHUNK, half), dtype=np.uint8)
            text = words[rng.integers(0, 256, (_CHUNK, half // 8))].view(np.uint8)
            whole_chunk = np.concatenate([noise, text], axis=1)
            for row in range(min(_CHUNK, count - first)):
                yield whole_chunk[row].tobytes()
