"""What the programs of this folder tell each other: cases, figures and options."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DEFAULT_DATA = ROOT / "target" / "bench-data"

#: Rows of a batch and of a random gather.
BATCH = 256

#: The loader in every format: an epoch with N threads, and what comes before the first batch.
LOAD_ORDERS = tuple(
    f"load-{order}-{threads}" for order in ("sequential", "shuffled", "weighted") for threads in (1, 2)
)
LOAD_VERIFIED = ("load-verified-1", "load-verified-2")
LOAD = (*LOAD_ORDERS, *LOAD_VERIFIED, "load-start", "load-seek")

#: The Python package against the original's best loop: an epoch in batches with N threads, one of a PyTorch `DataLoader`,
#: peak memory of a shuffled epoch, single samples, and what comes before the first batch.
PACKAGE_RATES = (
    *(f"package-{order}-{threads}" for order in ("sequential", "shuffled") for threads in (1, 2)),
    *(f"package-torch-{order}" for order in ("sequential", "shuffled")),
)
PACKAGE = (*PACKAGE_RATES, "package-memory", "package-single", "package-start")


@dataclass(frozen=True)
class Case:
    """One dataset on the disk: which set, how it is stored, and what is measured with it."""

    set: str
    stored: str
    what: tuple[str, ...]


@dataclass(frozen=True)
class Format:
    """A format as the runner sees it; each folder's `data.py` has one as `FORMAT`."""

    name: str
    #: The original and what it stands on, as the package index spells them; the first is the one measured.
    packages: tuple[str, ...]
    cases: tuple[Case, ...]
    #: The base rates that a figure is held against; the first that was measured counts.
    bases: dict[str, tuple[str, ...]]
    #: Writes the data of a case where it is missing: folder, set, stored, scale.
    ensure: Callable[[Path, str, str, float], Path]


@dataclass(frozen=True)
class Job:
    """One run of one figure: the dataset's path, its folder for new ones, and in which mode."""

    path: Path
    data: Path
    set: str
    stored: str
    mode: str
    scale: float


@dataclass(frozen=True)
class Done:
    """What one run did: seconds of wall time, or bytes of private memory where that is the figure."""

    seconds: float = 0.0
    memory: int = 0
    samples: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class Figure:
    """Something to measure, and the modes of which the best counts."""

    run: Callable[[Job], Done]
    modes: tuple[str, ...] = ("",)


def parser(description: str | None) -> argparse.ArgumentParser:
    """A parser with the options that all programs share."""
    found = argparse.ArgumentParser(description=description)
    found.add_argument("--data", type=Path, default=DEFAULT_DATA, help="folder of the datasets")
    found.add_argument("--sets", nargs="+", default=[], help="only these datasets")
    found.add_argument("--stored", nargs="+", default=[], help="only what is stored so: LZ4, tdz")
    found.add_argument("--what", nargs="+", default=[], help="only these figures")
    found.add_argument("--runs", type=int, default=3, help="runs of each mode")
    found.add_argument("--scale", type=float, default=1.0, help="share of the full sizes")
    return found


def chosen(found: Format, options: argparse.Namespace) -> list[Case]:
    """The cases that the options name, each with the figures that they name."""
    cases = []
    for case in found.cases:
        what = tuple(w for w in case.what if not options.what or w in options.what)
        if (
            what
            and (not options.sets or case.set in options.sets)
            and (not options.stored or case.stored in options.stored)
        ):
            cases.append(Case(case.set, case.stored, what))
    return cases
