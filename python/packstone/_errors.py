"""Exceptions: one class for each thing that a caller can do about a failure."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a dataset something is; what is not known is `None`."""

    file: str | None = None
    """File, relative to the dataset."""
    offset: int | None = None
    """Byte offset in the file, in the decoded bytes where the file is compressed."""
    record: int | None = None
    """Record (example, sample) number in the file."""
    field: str | None = None
    """Field of the record."""
    json_path: str | None = None
    """Path in a JSON document, such as `$.splits.train`."""

    def __str__(self) -> str:
        parts = [
            self.file,
            self.json_path,
            None if self.record is None else f"record {self.record}",
            None if self.field is None else f'field "{self.field}"',
            None if self.offset is None else f"byte {self.offset}",
        ]
        return ", ".join(part for part in parts if part is not None)


class Error(Exception):
    """Any failure of packstone. Its code is explained in `docs/findings.md`."""

    kind: ClassVar[str] = "io"
    """The name of the class in JSON output."""

    def __init__(self, message: str, code: str = "", place: Place = Place()) -> None:
        super().__init__(message, code, place)
        self.message = message
        """What is wrong: "expected X, found Y"."""
        self.code = code
        """The stable code, such as `sedpack/hash_mismatch`."""
        self.place = place
        """Where it is."""

    def __str__(self) -> str:
        place = str(self.place)
        return f"{place}{': ' if place else ''}{self.message} [{self.code}]"


class NotFoundError(Error, LookupError):
    """A file, dataset, collection or record is not there."""

    kind = "not_found"


class ExistsError(Error):
    """The target exists already."""

    kind = "exists"


class DeniedError(Error):
    """The operating system refuses, or a path would leave its root."""

    kind = "denied"


class ConflictError(Error):
    """Somebody else changed the same thing in between."""

    kind = "conflict"


class UnsupportedError(Error):
    """Valid, but this version of packstone cannot do it."""

    kind = "unsupported"


class InvalidError(Error, ValueError):
    """The request or document breaks a rule of its format."""

    kind = "invalid"


class CorruptError(Error):
    """Stored bytes are damaged."""

    kind = "corrupt"


class LimitError(Error):
    """A limit on size, depth or count was reached."""

    kind = "limit"


class IoError(Error):
    """The operating system reported a fault."""

    kind = "io"


class CancelledError(Error):
    """The caller asked to stop."""

    kind = "cancelled"


_CLASSES: dict[str, type[Error]] = {
    cls.kind: cls
    for cls in (
        NotFoundError,
        ExistsError,
        DeniedError,
        ConflictError,
        UnsupportedError,
        InvalidError,
        CorruptError,
        LimitError,
        IoError,
        CancelledError,
    )
}


def make(
    kind: str,
    code: str,
    place: tuple[str | None, int | None, int | None, str | None, str | None],
    message: str,
) -> Error:
    """The exception for an error of the library."""
    return _CLASSES.get(kind, Error)(message, code, Place(*place))
