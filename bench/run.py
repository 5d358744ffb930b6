"""Measures sedpack and packstone on the same data in one run, and prints one table.

The packstone side is the command in PACKSTONE_BENCH. It gets `--data`, `--sets`,
`--compressions` and `--scale` as this program does, and prints the same JSON lines as
`sedpack_side.py` does, and beside them lines with the base rates of the machine on the same
bytes: `encode` and `decode` (the codec alone), `sha256` and `memcpy`.
"""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import chart
import machine
import make_data
import options
import table

HERE = Path(__file__).resolve().parent

#: All that a measuring process gets of this one's environment: tuning variables stay outside.
_ENVIRONMENT = ("PATH", "HOME", "LANG", "TMPDIR", "SYSTEMROOT")


def main() -> None:
    """Runs both sides, one set and compression after the other."""
    parser = options.parser(__doc__)
    parser.add_argument("--runs", type=int, default=3, help="runs of each mode")
    parser.add_argument("--sedpack-only", action="store_true", help="measure one side alone")
    parser.add_argument("--output", type=Path, help="also write the report to this file, and a chart beside it")
    chosen = parser.parse_args()
    command = shlex.split(os.environ.get("PACKSTONE_BENCH", ""))
    if not command and not chosen.sedpack_only:
        parser.error("PACKSTONE_BENCH must name the packstone side (or use --sedpack-only)")

    facts = machine.facts()
    sedpack: list[dict[str, Any]] = []
    packstone: list[dict[str, Any]] = []
    for name in chosen.sets:
        for compression in options.compressions(chosen):
            make_data.ensure(chosen.data, name, compression, chosen.scale)
            part = ["--data", str(chosen.data), "--scale", str(chosen.scale), "--sets", name]
            part += ["--compressions", compression or "none", "--runs", str(chosen.runs)]
            sedpack += measure([sys.executable, str(HERE / "sedpack_side.py"), *part])
            if not chosen.sedpack_only:
                packstone += measure([*command, *part])

    report = "".join(f"* {name}: {value}\n" for name, value in facts.items())
    report += f"* scale: {chosen.scale}\n\n" + table.markdown(sedpack, packstone)
    print(report, end="")
    if chosen.output:
        chosen.output.write_text(report, encoding="utf-8")
        picture = chart.svg(sedpack, packstone)
        chosen.output.with_suffix(".svg").write_text(picture, encoding="utf-8")


def measure(command: list[str]) -> list[dict[str, Any]]:
    """The lines of one side, also shown on stderr as they come."""
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as side:
        assert side.stdout is not None
        for text in side.stdout:
            print(text, end="", file=sys.stderr, flush=True)
            lines.append(json.loads(text))
    if side.returncode != 0:
        raise SystemExit(f"{command} ended with {side.returncode}")
    return lines


if __name__ == "__main__":
    main()
