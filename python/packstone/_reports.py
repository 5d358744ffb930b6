"""What operations did or found. The functions here make reports from the JSON output of the library."""

from dataclasses import dataclass
from typing import Any, Literal

from packstone._errors import Place


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check found, under the same codes as errors."""

    severity: Literal["info", "warning", "error"]
    """Errors are damage; after a warning packstone reads on, and another reader may not."""
    code: str
    """The stable code; `docs/findings.md` explains each."""
    place: Place
    """Where it is."""
    message: str
    """What is wrong: "expected X, found Y"."""

    def __str__(self) -> str:
        place = str(self.place)
        return f"{self.severity} {place}{': ' if place else ''}{self.message} [{self.code}]"


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What a check found."""

    format: str
    """The format's short name."""
    clean: bool
    """True without any warning or error."""
    findings: tuple[Finding, ...]
    """All findings once each, by file, record and code."""
    documents: int
    """Control documents that were read."""
    tasks: int
    """Parts that were checked, usually one a shard."""
    samples: int
    """Samples that they cover, as listed."""
    bytes: int
    """Bytes that they read, as listed."""
    seconds: float
    """Wall time."""


@dataclass(frozen=True, slots=True)
class Digest:
    """The content digests of a collection, in lower-case hex; `docs/digest.md` defines them."""

    samples: int
    """Number of samples."""
    values: str
    """Of the fields, samples in order."""
    values_unordered: str
    """Of the fields, samples in any order."""
    full: str
    """Of fields and metadata, samples in order."""
    full_unordered: str
    """Of fields and metadata, samples in any order."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference between two datasets."""

    collection: str
    """The collection."""
    index: int | None
    """The sample; `None` where the collections differ as such."""
    field: str | None
    """The field; `None` where it is about all of the sample or its metadata."""
    what: str
    """What differs: "expected X, found Y"."""


@dataclass(frozen=True, slots=True)
class DiffReport:
    """What a comparison found."""

    equal: bool
    """True without any difference."""
    differences: tuple[Difference, ...]
    """The first differences."""
    more: int
    """Differences beyond those."""
    samples: int
    """Samples that were compared."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a writer published."""

    samples: int
    """Samples."""
    shards: int
    """Shards."""
    bytes: int
    """Bytes of shard files."""


@dataclass(frozen=True, slots=True)
class Loss:
    """One thing that the target does not hold as the source has it."""

    field: str
    """The field, or empty for the dataset."""
    what: str
    """What becomes of it."""
    carried: bool
    """True where the target carries it along elsewhere, so that the way back restores it."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Something that a copy keeps as it is, and that the format's original library cannot read."""

    collection: str
    """The collection."""
    field: str
    """The field or the metadata column."""
    sample: int | None
    """The first sample that has it; `None` where all have."""
    what: str
    """Why."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The digests of a collection before and after."""

    collection: str
    """The collection."""
    equal: Literal["values", "full"] | None
    """The level at which both are equal; `None` where fields change, as the losses tell."""
    source: Digest
    """Of the source."""
    result: Digest
    """Of the result."""


@dataclass(frozen=True, slots=True)
class ConvertReport:
    """What a conversion did."""

    samples: int
    """Samples that were read."""
    written: Written
    """What was published."""
    losses: tuple[Loss, ...]
    """What the target does not hold as the source has it."""
    unreadable: tuple[Unreadable, ...]
    """What is kept and is of no use to the original library."""
    proofs: tuple[Proof, ...]
    """One a collection, where a proof was asked for."""
    seconds: float
    """Wall time, proof included."""

    @property
    def lossless(self) -> bool:
        """True where nothing is lost for good."""
        return all(loss.carried for loss in self.losses)


@dataclass(frozen=True, slots=True)
class SaveReport:
    """What packing or unpacking wrote."""

    files: int
    """Files."""
    bytes: int
    """Their bytes."""
    notes: tuple[Finding, ...]
    """What readers may see otherwise than it is meant."""
    seconds: float
    """Wall time."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest of a migration."""

    path: str
    """Where it lies."""
    cache_id: int
    """The id of its cache."""
    status: Literal["updated", "unchanged", "to_update"]
    """What became of it, or what would."""


@dataclass(frozen=True, slots=True)
class MigrateReport:
    """What a migration did, or would do."""

    to: int
    """The version of the new manifests."""
    dry_run: bool
    """True where nothing was changed."""
    manifests: tuple[Manifest, ...]
    """In the order of the list."""
    warnings: tuple[str, ...]
    """What to know before others read the caches."""

    @property
    def updated(self) -> int:
        """How many manifests were replaced, or would be."""
        return sum(manifest.status in ("updated", "to_update") for manifest in self.manifests)

    @property
    def unchanged(self) -> int:
        """How many manifests were of that version already."""
        return len(self.manifests) - self.updated


@dataclass(frozen=True, slots=True)
class MergeReport:
    """What joining parts added to a dataset."""

    samples: int
    """New samples."""
    shards: int
    """Shards that they are in."""


@dataclass(frozen=True, slots=True)
class Salvaged:
    """A shard that a killed writer left complete."""

    file: str
    """Its file."""
    samples: int
    """Samples in it."""


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What a repair did, or would do."""

    dry_run: bool
    """True where nothing was changed."""
    completed: tuple[str, ...]
    """Files of a publication that was cut off, now complete."""
    salvaged: tuple[Salvaged, ...]
    """Shards that are listed now."""
    removed: tuple[str, ...]
    """Temporary files that were removed."""
    left: tuple[Finding, ...]
    """What could not be used, and why."""

    @property
    def samples(self) -> int:
        """Samples that were salvaged."""
        return sum(shard.samples for shard in self.salvaged)


@dataclass(frozen=True, slots=True)
class RefreshReport:
    """What became of the checksums of an archive."""

    stored: int
    """Leaves that lie as they are; all were looked at."""
    changed: int
    """Checksums that were out of date."""
    compressed: int
    """Leaves that cannot have been changed in place."""


@dataclass(frozen=True, slots=True)
class AnnotateReport:
    """What became of annotations."""

    set: str
    """The name of the set."""
    publication_id: str
    """Which publication of it this is."""
    done: Literal["published", "wrote", "joined"]
    """Whether the set was published, one shard of it was written, or shards were joined."""
    worker: str | None
    """The shard that was written."""
    shards: int | None
    """How many shards were joined."""
    records: int
    """Annotations, one a record."""
    statuses: dict[str, int]
    """How many of them have the status `success`, `skipped` and `failed`."""


@dataclass(frozen=True, slots=True)
class ViewReport:
    """What a view is."""

    records: int
    """Its records."""
    of: int
    """Those of its source."""
    path: str
    """Where it lies."""
    source: str
    """Where its source lies, without links."""
    references: Literal["none", "relative", "absolute"]
    """How it names its source; absolute references are followed only with `open(path, follow=[source])`."""
    dataset_id: str
    """The name of the new dataset."""
    snapshot_id: str
    """The name of its snapshot."""


@dataclass(frozen=True, slots=True)
class FormatInfo:
    """A format that packstone reads and writes."""

    id: str
    """Its short name, as in `convert(to=…)`."""
    title: str
    """One line about it."""
    mark: str
    """What its datasets are recognized by."""
    options: dict[str, str]
    """The options of `create` and `convert`, each with its meaning."""


def finding(line: dict[str, Any]) -> Finding:
    """One finding."""
    names = ("file", "offset", "record", "field", "json_path")
    place = Place(*(line.get(name) for name in names))
    return Finding(line["severity"], line["code"], place, line["message"])


def verify(report: dict[str, Any]) -> VerifyReport:
    """The report of a check."""
    return VerifyReport(
        report["format"],
        report["clean"],
        tuple(map(finding, report["findings"])),
        report["documents"],
        report["tasks"],
        report["samples"],
        report["bytes"],
        report["seconds"],
    )


def digest(line: dict[str, Any]) -> Digest:
    """The digests of a collection."""
    return Digest(
        line["samples"],
        line["values"],
        line["values_unordered"],
        line["full"],
        line["full_unordered"],
    )


def diff(report: dict[str, Any]) -> DiffReport:
    """The report of a comparison."""
    lines = report["differences_shown"]
    shown = tuple(
        Difference(line["collection"], line.get("index"), line.get("field"), line["what"])
        for line in lines
    )
    more = report["differences"] - len(shown)
    return DiffReport(report["equal"], shown, more, report["samples"])


def written(report: dict[str, Any]) -> Written:
    """What a writer published."""
    return Written(report["samples"], report["shards"], report["bytes"])


def convert(report: dict[str, Any]) -> ConvertReport:
    """The report of a conversion."""
    proofs = (
        Proof(line["collection"], line["equal"], digest(line["source"]), digest(line["result"]))
        for line in report["proofs"]
    )
    return ConvertReport(
        report["samples"],
        written(report["written"]),
        tuple(Loss(line["field"], line["what"], line["carried"]) for line in report["losses"]),
        tuple(
            Unreadable(line["collection"], line["field"], line["sample"], line["what"])
            for line in report["unreadable"]
        ),
        tuple(proofs),
        report["seconds"],
    )


def saved(report: dict[str, Any]) -> SaveReport:
    """The report of packing or unpacking."""
    notes = tuple(map(finding, report["notes"]))
    return SaveReport(report["files"], report["bytes"], notes, report["seconds"])


def migrate(report: dict[str, Any]) -> MigrateReport:
    """The report of a migration."""
    lines = report["manifests"]
    manifests = (Manifest(line["path"], line["cache_id"], line["status"]) for line in lines)
    warnings = tuple(report["warnings"])
    return MigrateReport(report["to"], report["dry_run"], tuple(manifests), warnings)


def merge(report: dict[str, Any]) -> MergeReport:
    """The report of joining parts."""
    return MergeReport(report["samples"], report["shards"])


def repair(report: dict[str, Any]) -> RepairReport:
    """The report of a repair."""
    return RepairReport(
        report["dry_run"],
        tuple(report["completed"]),
        tuple(Salvaged(line["file"], line["samples"]) for line in report["salvaged"]),
        tuple(report["removed"]),
        tuple(map(finding, report["left"])),
    )


def refresh(report: dict[str, Any]) -> RefreshReport:
    """The report of new checksums."""
    return RefreshReport(report["stored"], report["changed"], report["compressed"])


def annotate(report: dict[str, Any]) -> AnnotateReport:
    """The report of annotations."""
    return AnnotateReport(**report)


def view(report: dict[str, Any]) -> ViewReport:
    """The report of a view."""
    return ViewReport(**report)
