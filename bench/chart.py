"""The ratios of one format as a picture: bars on a logarithmic scale, in SVG, with nothing but text."""

import math
from collections.abc import Iterable
from html import escape
from typing import Any

from bench.table import ratio

Line = dict[str, Any]

_LEFT, _WIDTH, _ROW, _TOP = 190, 520, 18, 46
#: One for each figure, in the order in which figures first come.
_COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756", "#72b7b2", "#9d755d", "#bab0ac")
_TICKS = (0.5, 1, 2, 3, 5, 10, 20, 50, 100, 200)


def svg(original: str, theirs: Iterable[Line], ours: Iterable[Line]) -> str:
    """How many times faster (or smaller) packstone is, one bar a figure that both have."""
    of_theirs = {_key(line): line for line in theirs}
    kinds = list(dict.fromkeys(what for what, _, _ in of_theirs))
    bars = [
        (key, ratio(of_theirs[key], line)) for line in ours if (key := _key(line)) in of_theirs
    ]
    bars.sort(key=lambda bar: kinds.index(bar[0][0]))
    height = _TOP + _ROW * len(bars) + 12
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + 70}" height="{height}" '
        'font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{_LEFT}" y="16" font-size="13">packstone, times as fast as {escape(original)}</text>',
    ]
    for tick in _TICKS:
        at = _LEFT + _position(tick)
        colour = "#888" if tick == 1 else "#ddd"
        parts.append(f'<line x1="{at:.0f}" x2="{at:.0f}" y1="38" y2="{height - 8}" stroke="{colour}"/>')
        parts.append(f'<text x="{at:.0f}" y="34" text-anchor="middle" fill="#555">{tick:g}</text>')
    for number, (key, times) in enumerate(bars):
        top = _TOP + _ROW * number
        start, end = sorted((_position(1), _position(times)))
        colour = _COLOURS[kinds.index(key[0]) % len(_COLOURS)]
        parts.append(f'<text x="{_LEFT - 8}" y="{top + 11}" text-anchor="end">{escape(" ".join(key))}</text>')
        parts.append(
            f'<rect x="{_LEFT + start:.1f}" y="{top + 2}" width="{max(end - start, 1):.1f}" '
            f'height="{_ROW - 6}" fill="{colour}"/>'
        )
        parts.append(f'<text x="{_LEFT + end + 5:.1f}" y="{top + 11}">{times:.1f}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _key(line: Line) -> tuple[str, str, str]:
    return line["what"], line["set"], line["stored"]


def _position(times: float) -> float:
    low, high = math.log(_TICKS[0]), math.log(_TICKS[-1])
    place = (math.log(times) - low) / (high - low)
    return _WIDTH * min(max(place, 0.0), 1.0)
