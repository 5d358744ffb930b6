from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from typing import Any, Self, SupportsIndex, TypeAlias, final, overload

import numpy as np
from numpy.typing import NDArray

from packstone._reports import ConvertReport, DiffReport, Digest, VerifyReport
from packstone._schema import Field

_Path: TypeAlias = str | PathLike[str]
_Paths: TypeAlias = _Path | Sequence[_Path]
_Indices: TypeAlias = slice | Sequence[int] | Sequence[bool] | NDArray[np.integer[Any] | np.bool_]
_Progress: TypeAlias = Callable[[int, int], object]

__version__: str

@final
class Buffer:
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class Samples:
    def __iter__(self) -> Self: ...
    def __next__(self) -> dict[str, Any]: ...

@final
class Batches:
    def __iter__(self) -> Self: ...
    def __next__(self) -> dict[str, Any]: ...

@final
class Collection:
    @property
    def name(self) -> str: ...
    @property
    def schema(self) -> tuple[Field, ...]: ...
    @property
    def dataset(self) -> Dataset: ...
    @property
    def indices(self) -> NDArray[np.int64] | None: ...
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: SupportsIndex, /) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, key: _Indices, /) -> dict[str, Any]: ...
    def __iter__(self) -> Samples: ...
    def batches(self, size: int, *, threads: int | None = None) -> Batches: ...
    def select(self, condition: str) -> Collection: ...
    def digest(
        self,
        level: str = "full",
        *,
        progress: _Progress | None = None,
        threads: int | None = None,
    ) -> str: ...

@final
class Dataset:
    @property
    def collections(self) -> tuple[str, ...]: ...
    @property
    def format(self) -> str: ...
    @property
    def info(self) -> dict[str, Any]: ...
    @property
    def schema(self) -> tuple[Field, ...]: ...
    def __getitem__(self, name: str, /) -> Collection: ...
    def __len__(self) -> int: ...
    def __contains__(self, name: str, /) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def digest(
        self, *, progress: _Progress | None = None, threads: int | None = None
    ) -> dict[str, Digest]: ...
    def verify(
        self,
        *,
        quick: bool = False,
        expect: Sequence[str] = ...,
        progress: _Progress | None = None,
        threads: int | None = None,
    ) -> VerifyReport: ...

def open(path: _Paths) -> Dataset: ...
def verify(
    path: _Paths,
    *,
    quick: bool = False,
    expect: Sequence[str] = ...,
    progress: _Progress | None = None,
    threads: int | None = None,
) -> VerifyReport: ...
def digest(
    path: _Paths, *, progress: _Progress | None = None, threads: int | None = None
) -> dict[str, Digest]: ...
def diff(
    expected: _Paths,
    found: _Paths,
    *,
    collections: Sequence[str] = ...,
    values_only: bool = False,
    ignore_order: bool = False,
    limit: int = 20,
    progress: _Progress | None = None,
    threads: int | None = None,
) -> DiffReport: ...
def convert(
    source: _Paths,
    target: _Path,
    *,
    to: str,
    options: dict[str, Any] | None = None,
    collections: Sequence[str] = ...,
    strict: bool = False,
    proof: bool = True,
    progress: _Progress | None = None,
    threads: int | None = None,
) -> ConvertReport: ...
def _restore(dataset: Dataset, name: str, rows: Sequence[int] | None) -> Collection: ...
