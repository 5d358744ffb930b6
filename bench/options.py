"""The options that the programs of this folder share."""

import argparse
from pathlib import Path

from sets import COMPRESSIONS, SETS

DEFAULT_DATA = Path(__file__).resolve().parents[1] / "target" / "bench-data"


def parser(description: str | None) -> argparse.ArgumentParser:
    """A parser with the shared options."""
    found = argparse.ArgumentParser(description=description)
    found.add_argument("--data", type=Path, default=DEFAULT_DATA, help="folder of the datasets")
    found.add_argument("--sets", nargs="+", choices=sorted(SETS), default=list(SETS))
    found.add_argument(
        "--compressions",
        nargs="+",
        choices=[name or "none" for name in COMPRESSIONS],
        default=[name or "none" for name in COMPRESSIONS],
    )
    found.add_argument("--scale", type=float, default=1.0, help="share of the full sizes")
    return found


def compressions(options: argparse.Namespace) -> list[str]:
    """The compressions as Sedpack names them: `none` is the empty name."""
    return ["" if name == "none" else name for name in options.compressions]
