"""What each sample holds."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Field:
    """One field of every sample."""

    name: str
    """Its printed name: `a.b` for a nested key."""
    key: tuple[str, ...]
    """Its key, outermost name first; one name long in formats without nesting."""
    type: str
    """The type of its elements as packstone calls it: `float32`, `bfloat16`, `str`, `bytes`, `json`, …"""
    dtype: np.dtype[Any] | None
    """The type of its arrays; `None` for text, JSON, and bytes of any length, which are no arrays."""
    shape: tuple[int | None, ...]
    """The shape of one value, without the sample dimension; `None` for dimensions that vary."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """What the dataset says about the field."""
