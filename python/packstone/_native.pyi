import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike
from typing import (
    Any,
    Literal,
    Protocol,
    Self,
    SupportsIndex,
    TypeAlias,
    final,
    overload,
    type_check_only,
)

import numpy as np
from numpy.typing import ArrayLike, NDArray

from packstone._reports import (
    AnnotateReport,
    ConvertReport,
    DiffReport,
    Digest,
    Finding,
    FormatInfo,
    MergeReport,
    MigrateReport,
    RefreshReport,
    RepairReport,
    SaveReport,
    VerifyReport,
    ViewReport,
    Written,
)
from packstone._schema import Field

_Path: TypeAlias = str | PathLike[str]
_Paths: TypeAlias = _Path | Sequence[_Path] | Dataset
_Indices: TypeAlias = slice | Sequence[int] | Sequence[bool] | NDArray[np.integer[Any] | np.bool_]
_Order: TypeAlias = Literal[
    "sequential", "shuffled", "blocks", "weighted", "distinct", "balanced", "indices", "native"
]
_Progress: TypeAlias = Callable[[int, int, str], object] | _Bar

@type_check_only
class _Bar(Protocol):
    total: Any
    def update(self, n: int, /) -> object: ...


__all__ = [
    "Batches",
    "Buffer",
    "Collection",
    "Dataset",
    "Loader",
    "Metadata",
    "Parts",
    "Samples",
    "Writer",
    "__version__",
    "_load_tree",
    "_parts",
    "_reopen",
    "_restore",
    "_resume",
    "_run",
    "_save_tree",
    "annotate",
    "convert",
    "create",
    "create_parts",
    "diff",
    "digest",
    "formats",
    "merge",
    "migrate",
    "open",
    "pack",
    "refresh",
    "repair",
    "unpack",
    "verify",
    "view",
]

__version__: str

@final
class Buffer:
    def __len__(self) -> int: ...
    def _writable(self) -> Buffer | None: ...
    if sys.version_info >= (3, 12):
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
    @property
    def metadata(self) -> Metadata: ...
    def select(self, condition: str) -> Collection: ...
    def save(self, path: _Path) -> None: ...
    def digest(
        self,
        level: str = "full",
        *,
        progress: _Progress | None = None,
        threads: int | None = None,
    ) -> str: ...

@final
class Metadata:
    @property
    def columns(self) -> tuple[str, ...]: ...
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

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
        against: _Path | None = None,
        progress: _Progress | None = None,
        threads: int | None = None,
    ) -> VerifyReport: ...

@final
class Loader:
    def __new__(
        cls,
        collections: Collection | Sequence[Collection],
        batch_size: int,
        *,
        order: _Order | None = None,
        shuffle: bool = False,
        seed: int = 0,
        weights: str | ArrayLike | None = None,
        draws: int | None = None,
        key: str | ArrayLike | None = None,
        stop: Literal["first", "all"] | None = None,
        shards: int = 16,
        indices: _Indices | None = None,
        ratios: Sequence[float] | None = None,
        rank: int = 0,
        world_size: int = 1,
        replicas: int = 1,
        remainder: Literal["short", "pad", "drop", "repeat"] | None = None,
        drop_last: bool = False,
        on_error: Literal["raise", "skip"] = "raise",
        ragged: Literal["list", "stack", "pad"] = "list",
        fields: Sequence[str] | None = None,
        threads: int | None = None,
        window: int | None = None,
        verify: bool = True,
        extras: Sequence[Literal["mask", "positions", "indices"]] = ...,
        transforms: Sequence[Callable[[Any], Any]] = ...,
    ) -> Self: ...
    @property
    def steps_left(self) -> int: ...
    @property
    def epoch(self) -> int: ...
    @property
    def samples(self) -> int: ...
    @property
    def order(self) -> str: ...
    @property
    def skipped(self) -> int: ...
    @property
    def schema(self) -> tuple[Field, ...]: ...
    @property
    def transforms(self) -> list[Callable[[Any], Any]]: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Any: ...
    def take_notes(self) -> tuple[Finding, ...]: ...
    def skip(self, batches: int) -> None: ...
    def rewind(self, batches: int | None = None) -> None: ...
    def set_epoch(self, epoch: int) -> None: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any]) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_exception: object) -> None: ...
    @property
    def _done(self) -> int: ...
    def _worker(self, number: int, workers: int, done: int) -> Loader: ...

@final
class Writer:
    @property
    def schema(self) -> tuple[Field, ...]: ...
    def write(
        self, collection: str, sample: dict[str, Any], *, metadata: dict[str, Any] | None = None
    ) -> None: ...
    def write_batch(
        self,
        collection: str,
        batch: dict[str, Any],
        *,
        metadata: dict[str, Any] | Sequence[dict[str, Any]] | None = None,
    ) -> None: ...
    def finish(self) -> Written: ...
    def abort(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...

@final
class Parts:
    @property
    def finished(self) -> tuple[str, ...]: ...
    def open(self, name: str) -> Writer: ...
    def commit(self, names: Sequence[str] = ...) -> Written: ...

def open(path: _Paths, *, follow: Sequence[_Path] = ...) -> Dataset: ...
def verify(
    path: _Paths,
    *,
    quick: bool = False,
    expect: Sequence[str] = ...,
    against: _Path | None = None,
    follow: Sequence[_Path] = ...,
    progress: _Progress | None = None,
    threads: int | None = None,
) -> VerifyReport: ...
def digest(
    path: _Paths,
    *,
    save: _Path | None = None,
    progress: _Progress | None = None,
    threads: int | None = None,
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
def create(
    path: _Path,
    *,
    format: str,
    schema: Sequence[Field] | None = None,
    collections: Sequence[str] = ...,
    options: dict[str, Any] | None = None,
) -> Writer: ...
def create_parts(
    path: _Path,
    *,
    format: str,
    schema: Sequence[Field],
    collections: Sequence[str] | None = None,
    options: dict[str, Any] | None = None,
) -> Parts: ...
def _parts(
    path: _Path,
    format: str,
    schema: Sequence[Field],
    collections: Sequence[str] | None,
    options: dict[str, Any] | None,
) -> Parts: ...
def pack(
    source: _Path,
    target: _Path,
    *,
    compression: str = "stored",
    date: str = "1980-01-01",
    include_stray: bool = False,
    raw_keys: bool = False,
    progress: _Progress | None = None,
    threads: int | None = None,
) -> SaveReport: ...
def unpack(
    source: _Path,
    target: _Path,
    *,
    progress: _Progress | None = None,
    threads: int | None = None,
) -> SaveReport: ...
def migrate(
    paths: Sequence[_Path],
    *,
    to: int = 3,
    dry_run: bool = False,
    progress: _Progress | None = None,
) -> MigrateReport: ...
def merge(
    path: _Path,
    parts: Sequence[str] = ...,
    *,
    expect: int | None = None,
    progress: _Progress | None = None,
) -> MergeReport: ...
def repair(
    path: _Path, *, dry_run: bool = False, progress: _Progress | None = None
) -> RepairReport: ...
def refresh(path: _Path, *, progress: _Progress | None = None) -> RefreshReport: ...
def formats() -> tuple[FormatInfo, ...]: ...
def annotate(
    dataset: _Path,
    annotations: Collection | Dataset | _Path | Iterable[dict[str, Any]] | None = None,
    *,
    name: str,
    by_id: bool = False,
    missing: Literal["skipped", "failed"] | None = None,
    metadata: dict[str, Any] | None = None,
    publication_id: str | None = None,
    records_per_shard: int = 10_000,
    worker: str | None = None,
    first: int | None = None,
    publish: bool = False,
    retries: int = 8,
    follow: Sequence[_Path] = ...,
    progress: _Progress | None = None,
    threads: int | None = None,
) -> AnnotateReport: ...
def view(
    source: _Path,
    target: _Path,
    records: str | slice | Sequence[int] | NDArray[np.integer[Any]] | None = None,
    *,
    materialize: bool = False,
    dataset_id: str | None = None,
    snapshot_id: str = "snapshot",
    metadata: dict[str, Any] | None = None,
    records_per_shard: int = 10_000,
    follow: Sequence[_Path] = ...,
    progress: _Progress | None = None,
) -> ViewReport: ...
def _run(arguments: Sequence[str]) -> int: ...
def _reopen(paths: _Paths, follow: Sequence[_Path]) -> Dataset: ...
def _restore(dataset: Dataset, name: str, rows: bytes | None) -> Collection: ...
def _resume(arguments: tuple[Any, ...], keywords: dict[str, Any], state: dict[str, Any]) -> Loader: ...
def _load_tree(path: _Path, robust_key: bool) -> tuple[Any, ...]: ...
def _save_tree(
    tree: tuple[Any, ...],
    target: _Path,
    archive: bool,
    compression: str,
    replace: bool,
    progress: _Progress | None,
    threads: int | None,
) -> SaveReport: ...
