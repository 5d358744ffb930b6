"""The figures of both sides of a format as one Markdown table."""

from collections.abc import Iterable, Iterator
from typing import Any

from bench.cases import Format

Line = dict[str, Any]
Key = tuple[str, str, str]


def markdown(found: Format, original: list[Line], packstone: list[Line]) -> str:
    """One row for each figure that either side has measured, then the base rates."""
    theirs = _by_key(original)
    ours = _by_key(line for line in packstone if not line.get("base"))
    bases = _by_key(line for line in packstone if line.get("base"))
    head = ["what", "set", "stored", found.packages[0], "packstone", "ratio", "base rate", "of the base"]
    rows = [
        _row(found, key, theirs.get(key), ours.get(key), bases)
        for key in dict.fromkeys([*theirs, *ours])
    ]
    text = "\n".join(_lines(head, rows))
    if bases:
        head = ["base", "set", "stored", "rate", "mode"]
        base_rows = [[*key, _rate(line), line.get("mode", "")] for key, line in bases.items()]
        text += "\n\n" + "\n".join(_lines(head, base_rows))
    return text + "\n"


def ratio(theirs: Line, ours: Line) -> float:
    """How many times less packstone needs."""
    return _amount(theirs) / _amount(ours)


def _row(
    found: Format, key: Key, theirs: Line | None, ours: Line | None, bases: dict[Key, Line]
) -> list[str]:
    what, name, stored = key
    wanted = ((base, name, stored) for base in found.bases.get(what, ()))
    base = next((bases[key] for key in wanted if key in bases), None)
    share = _bytes_per_second(ours) / _bytes_per_second(base) if ours and base else None
    return [
        what,
        name,
        stored,
        _figure(theirs),
        _figure(ours),
        f"{ratio(theirs, ours):.2f} ×" if theirs and ours else "",
        _rate(base) if base else "",
        f"{share:.2f}" if share else "",
    ]


def _by_key(lines: Iterable[Line]) -> dict[Key, Line]:
    return {(line["what"], line["set"], line["stored"]): line for line in lines}


def _amount(line: Line) -> float:
    # Less than a page cannot be told from nothing.
    return max(line["memory"], 4096) if "memory" in line else line["seconds"]


def _bytes_per_second(line: Line) -> float:
    return line["bytes"] / line["seconds"]


def _rate(line: Line) -> str:
    return f"{_bytes_per_second(line) / 1e6:,.0f} MB/s"


def _figure(line: Line | None) -> str:
    if line is None:
        return ""
    mode = f" ({line['mode']})" if line.get("mode") else ""
    if "memory" in line:
        return f"{line['memory'] / 1e3:,.0f} kB{mode}"
    rate = f", {_rate(line)}" if line["bytes"] else ""
    return f"{_seconds(line['seconds'])}{rate}{mode}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f} s" if seconds >= 0.1 else f"{seconds * 1e3:.3g} ms"


def _lines(head: list[str], rows: list[list[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    for row in rows:
        yield "| " + " | ".join(row) + " |"
