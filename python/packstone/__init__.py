"""Datasets for machine learning, whatever their format: Sedpack, TensorDict, DatasetRT, SignalDataset, ArrayRecord.

    import packstone

    dataset = packstone.open("tiny_aes_sedpack")
    train = dataset["train"]
    train[7]["trace1"]                  # a NumPy array
    train[[7, 5, 7]]["trace1"].shape    # (3, …)
    for sample in train: ...
    for batch in train.batches(256): ...

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
    __version__,
    convert,
    diff,
    digest,
    open,
    verify,
)
from packstone._reports import (
    ConvertReport,
    Difference,
    DiffReport,
    Digest,
    Finding,
    Loss,
    Proof,
    Unreadable,
    VerifyReport,
    Written,
)
from packstone._schema import Field

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
    "Loss",
    "NotFoundError",
    "Place",
    "Proof",
    "Unreadable",
    "UnsupportedError",
    "VerifyReport",
    "Written",
    "__version__",
    "convert",
    "diff",
    "digest",
    "open",
    "verify",
]
