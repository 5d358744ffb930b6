"""What `packstone.Loader` is told, as whole numbers."""

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def ratios(values: Sequence[float]) -> list[int]:
    """Whole numbers in the same proportion: 0.7 and 0.3, as they are printed, are 7 and 3."""
    exact = [Fraction(str(value)) for value in values]
    if any(value < 0 for value in exact):
        raise ValueError(f"expected ratios above 0, found {list(values)}")
    scale = lcm(*(value.denominator for value in exact))
    return [int(value * scale) for value in exact]


def keys(values: ArrayLike) -> Any:
    """A number for each value: 0 for the first that occurs, 1 for the next."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"expected a value a sample, found an array of shape {array.shape}")
    _, first, inverse = np.unique(array, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse].tolist()
