"""The ratios of one run as a picture: bars on a logarithmic scale, in SVG, with nothing but text."""

import math
from collections.abc import Iterable
from html import escape
from typing import Any

Line = dict[str, Any]

_LEFT, _WIDTH, _ROW, _TOP = 190, 520, 18, 46
_COLOURS = {"write": "#4c78a8", "examples": "#f58518", "batches": "#54a24b", "verify": "#b279a2"}
_TICKS = (0.5, 1, 2, 3, 5, 10, 20, 50, 100)


def svg(sedpack: Iterable[Line], packstone: Iterable[Line]) -> str:
    """How many times faster packstone is than sedpack, one bar a figure that both have."""
    theirs = {_key(line): line["seconds"] for line in sedpack}
    bars = [
        (key, theirs[key] / line["seconds"]) for line in packstone if (key := _key(line)) in theirs
    ]
    bars.sort(key=lambda bar: (list(_COLOURS).index(bar[0][0]), bar[0][1], bar[0][2]))
    height = _TOP + _ROW * len(bars) + 12
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + 70}" height="{height}" '
        'font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{_LEFT}" y="16" font-size="13">packstone, times as fast as sedpack 0.2.0</text>',
    ]
    for tick in _TICKS:
        at = _LEFT + _position(tick)
        colour = "#888" if tick == 1 else "#ddd"
        parts.append(f'<line x1="{at:.0f}" x2="{at:.0f}" y1="38" y2="{height - 8}" stroke="{colour}"/>')
        parts.append(f'<text x="{at:.0f}" y="34" text-anchor="middle" fill="#555">{tick:g}</text>')
    for number, ((what, name, compression), ratio) in enumerate(bars):
        top = _TOP + _ROW * number
        start, end = sorted((_position(1), _position(ratio)))
        label = escape(f"{what} {name} {compression or 'none'}")
        parts.append(f'<text x="{_LEFT - 8}" y="{top + 11}" text-anchor="end">{label}</text>')
        parts.append(
            f'<rect x="{_LEFT + start:.1f}" y="{top + 2}" width="{max(end - start, 1):.1f}" '
            f'height="{_ROW - 6}" fill="{_COLOURS[what]}"/>'
        )
        parts.append(f'<text x="{_LEFT + end + 5:.1f}" y="{top + 11}">{ratio:.1f}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _key(line: Line) -> tuple[str, str, str]:
    return line["what"], line["set"], line["compression"]


def _position(ratio: float) -> float:
    low, high = math.log(_TICKS[0]), math.log(_TICKS[-1])
    place = (math.log(ratio) - low) / (high - low)
    return _WIDTH * min(max(place, 0.0), 1.0)
