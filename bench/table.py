"""The figures of both sides as one Markdown table."""

from collections.abc import Iterable, Iterator
from typing import Any

Line = dict[str, Any]
Key = tuple[str, str, str]

#: The base rate that a figure is held against: what the machine can do without a dataset format.
_BASES = {"write": "encode", "batches": "decode", "verify": "sha256"}

_HEAD = [
    "what", "set", "compression", "sedpack", "packstone", "ratio", "base rate", "of the base",
]  # fmt: skip


def markdown(sedpack: list[Line], packstone: list[Line]) -> str:
    """One row for each figure that either side has measured, then the base rates."""
    theirs, ours = _by_key(sedpack), _by_key(packstone)
    bases = set(_BASES.values()) | {"memcpy", "mapcopy"}
    keys = [key for key in dict.fromkeys([*theirs, *ours]) if key[0] not in bases]
    rows = [_row(key, theirs.get(key), ours.get(key), ours) for key in keys]
    text = "\n".join(_lines(_HEAD, rows))
    base_rows = [
        [what, name, compression or "none", _rate(line), line.get("mode", "")]
        for (what, name, compression), line in ours.items()
        if what in bases
    ]
    if base_rows:
        head = ["base", "set", "compression", "rate", "mode"]
        text += "\n\n" + "\n".join(_lines(head, base_rows))
    return text + "\n"


def _row(key: Key, theirs: Line | None, ours: Line | None, bases: dict[Key, Line]) -> list[str]:
    what, name, compression = key
    base = _base(key, bases)
    ratio = theirs["seconds"] / ours["seconds"] if theirs and ours else None
    share = _bytes_per_second(ours) / _bytes_per_second(base) if ours and base else None
    return [
        what,
        name,
        compression or "none",
        _figure(theirs),
        _figure(ours),
        f"{ratio:.2f} ×" if ratio else "",
        _rate(base) if base else "",
        f"{share:.2f}" if share else "",
    ]


def _base(key: Key, bases: dict[Key, Line]) -> Line | None:
    what, name, compression = key
    base = _BASES.get(what)
    if base == "decode" and not compression:
        base = "mapcopy"
    if base == "encode" and not compression:
        base = "memcpy"
    wanted = [(base, name, compression), (base, name, ""), (base, "", "")]
    return next((bases[found] for found in wanted if found in bases), None)


def _by_key(lines: Iterable[Line]) -> dict[Key, Line]:
    return {(line["what"], line["set"], line["compression"]): line for line in lines}


def _bytes_per_second(line: Line) -> float:
    return line["bytes"] / line["seconds"]


def _rate(line: Line) -> str:
    return f"{_bytes_per_second(line) / 1e6:,.0f} MB/s"


def _figure(line: Line | None) -> str:
    if line is None:
        return ""
    mode = f" ({line['mode']})" if line.get("mode") else ""
    return f"{line['seconds']:.3f} s, {_rate(line)}{mode}"


def _lines(head: list[str], rows: list[list[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    for row in rows:
        yield "| " + " | ".join(row) + " |"
