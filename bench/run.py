"""Measures the originals and packstone on the same data in one run, and prints one table a format.

    python -m bench.run [FORMAT…] [--sets NAME…] [--stored HOW…] [--what FIGURE…] [--runs N] [--scale X]

The packstone side is the command in PACKSTONE_BENCH. It gets the format, `--path` of the dataset, `--set` and `--stored`
for the lines, `--runs` and `--what`, and prints the same JSON lines as the original's side does (see `harness.py`), and beside them lines with
`"base": true`: what the machine does on the same bytes without any dataset format.
"""

import json
import os
import shlex
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from importlib import import_module
from typing import Any

from bench import cases, chart, machine, table
from bench.cases import Format

FORMATS = ("sedpack", "tensordict", "datasetrt", "arrayrecord", "sds")

#: All that a measuring process gets of this one's environment: tuning variables stay outside.
_ENVIRONMENT = ("PATH", "HOME", "LANG", "TMPDIR", "SYSTEMROOT")

Line = dict[str, Any]


def main() -> None:
    """Runs both sides, one dataset after the other."""
    parser = cases.parser(__doc__)
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help=f"of {', '.join(FORMATS)}")
    parser.add_argument("--original-only", action="store_true", help="measure one side alone")
    parser.add_argument(
        "--output", type=cases.Path, help="also write the report to this file, and charts beside it"
    )
    options = parser.parse_args()
    command = shlex.split(os.environ.get("PACKSTONE_BENCH", ""))
    if not command and not options.original_only:
        parser.error("PACKSTONE_BENCH must name the packstone side (or use --original-only)")
    formats = [_format(parser, name) for name in options.formats or FORMATS]
    if not any(cases.chosen(found, options) for found in formats):
        parser.error("no dataset and figure is of these names")

    packages = [package for found in formats for package in found.packages]
    report = "".join(f"* {name}: {value}\n" for name, value in machine.facts(packages).items())
    report += f"* scale: {options.scale}\n"
    for found in formats:
        original, packstone = _measure(found, options, command)
        if not original and not packstone:
            continue
        name = machine.release(found.packages[0])
        report += f"\n## {found.name}\n\n" + table.markdown(found, original, packstone)
        if options.output and packstone:
            picture = options.output.with_name(f"{options.output.stem}-{found.name}.svg")
            picture.write_text(chart.svg(name, original, packstone), encoding="utf-8")
    print(report, end="")
    if options.output:
        options.output.write_text(report, encoding="utf-8")


def _format(parser: ArgumentParser, name: str) -> Format:
    if name not in FORMATS:
        parser.error(f"expected a format of {', '.join(FORMATS)}, found {name}")
    return import_module(f"bench.{name}.data").FORMAT


def _measure(found: Format, options: Namespace, command: list[str]) -> tuple[list[Line], list[Line]]:
    """The lines of both sides, dataset by dataset, so that both see the same state of the machine."""
    original: list[Line] = []
    packstone: list[Line] = []
    for case in cases.chosen(found, options):
        path = found.ensure(options.data.resolve(), case.set, case.stored, options.scale)
        part = ["--stored", case.stored, "--runs", str(options.runs), "--what", *case.what]
        side = [sys.executable, "-m", f"bench.{found.name}.side", "--data", str(options.data.resolve())]
        original += _lines([*side, "--scale", str(options.scale), "--sets", case.set, *part])
        if not options.original_only:
            named = [found.name, "--path", str(path), "--set", case.set, *part]
            packstone += _lines([*command, *named])
            if any(what.startswith("package-") for what in case.what):
                packstone += _lines([sys.executable, "-m", "bench.package", *named])
    return original, packstone


def _lines(command: list[str]) -> list[Line]:
    """The lines of one side, also shown on stderr as they come."""
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    lines = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment, cwd=cases.ROOT
    ) as side:
        assert side.stdout is not None
        for text in side.stdout:
            print(text, end="", file=sys.stderr, flush=True)
            lines.append(json.loads(text))
    if side.returncode != 0:
        raise SystemExit(f"{command} ended with {side.returncode}")
    return lines


if __name__ == "__main__":
    main()
