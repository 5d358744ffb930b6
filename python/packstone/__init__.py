"""Datasets for machine learning, whatever their format: Sedpack, TensorDict, DatasetRT, SignalDataset, ArrayRecord.

    import packstone

    dataset = packstone.open("tiny_aes_sedpack")
    train = dataset["train"]
    train[7]["trace1"]                  # a NumPy array
    train[[7, 5, 7]]["trace1"].shape    # (3, …)
    for sample in train: ...
    for batch in train.batches(256): ...
    for batch in packstone.Loader(train, 256, shuffle=True, seed=7): ...

Values are NumPy arrays that look at memory of packstone: read-only, little-endian, in C order. Text is `str`, bytes of any
length are `bytes`, JSON is parsed, nested keys are nested dicts. `docs/python.md` has the table of types.
"""

from packstone._errors import (
    CancelledError,
    ConflictError,
    CorruptError,
    DeniedError,
    Error,
    ExistsError,
    InvalidError,
    IoError,
    LimitError,
    NotFoundError,
    Place,
    UnsupportedError,
)
from packstone._native import (
    Collection,
    Dataset,
    Loader,
    Writer,
    __version__,
    convert,
    create,
    diff,
    digest,
    migrate,
    open,
    pack,
    unpack,
    verify,
)
from packstone._reports import (
    ConvertReport,
    Difference,
    DiffReport,
    Digest,
    Finding,
    Loss,
    Manifest,
    MigrateReport,
    Proof,
    SaveReport,
    Unreadable,
    VerifyReport,
    Written,
)
from packstone._schema import Field, field

__all__ = [
    "CancelledError",
    "Collection",
    "ConflictError",
    "ConvertReport",
    "CorruptError",
    "Dataset",
    "DeniedError",
    "DiffReport",
    "Difference",
    "Digest",
    "Error",
    "ExistsError",
    "Field",
    "Finding",
    "InvalidError",
    "IoError",
    "LimitError",
    "Loader",
    "Loss",
    "Manifest",
    "MigrateReport",
    "NotFoundError",
    "Place",
    "Proof",
    "SaveReport",
    "Unreadable",
    "UnsupportedError",
    "VerifyReport",
    "Writer",
    "Written",
    "__version__",
    "convert",
    "create",
    "diff",
    "digest",
    "field",
    "migrate",
    "open",
    "pack",
    "unpack",
    "verify",
]
