"""The `packstone` command of the Python package: the program that Cargo builds, to the byte."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import packstone
from conftest import CACHES, GOLDEN, ROOT

SOURCE = GOLDEN / "fb_multi_split" / "data"

#: Runs the entry point of the wheel.
COMMAND = [sys.executable, "-m", "packstone"]


def both(*arguments: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """What the command gives, which is what the program gives."""
    words = [str(argument) for argument in arguments]
    ended = [
        subprocess.run([*command, *words], input=stdin, capture_output=True, timeout=120, check=False)
        for command in ([os.environ["PACKSTONE_BIN"]], COMMAND)
    ]
    program, command = ended
    assert command.returncode == program.returncode
    assert command.stdout == program.stdout
    assert command.stderr == program.stderr
    return command


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["help", "convert"],
        ["formats"],
        ["formats", "--json"],
        ["inspect", SOURCE],
        ["inspect", SOURCE, "--json"],
        ["head", f"{SOURCE}#train"],
        ["dump", SOURCE, "--json"],
        ["digest", SOURCE],
        ["select", CACHES / "v3_basic_none" / "data" / "basic_none_s1", "--where", "score > 0", "--json"],
        ["completions", "bash"],
    ],
    ids=lambda arguments: "-".join(str(word) for word in arguments if not isinstance(word, Path))[:40],
)
def test_output_is_that_of_the_program(arguments: list[str | Path]) -> None:
    assert both(*arguments).returncode == 0


def test_exit_codes_are_those_of_the_program() -> None:
    bad = next(path for path in sorted(GOLDEN.glob("bad/*/data")) if not _clean(path))
    assert both("digest", SOURCE).returncode == 0
    assert both("diff", GOLDEN / "fb_none" / "data", GOLDEN / "fb_scalars" / "data").returncode == 1
    timed = [
        subprocess.run([*command, "verify", str(bad)], capture_output=True, timeout=60, check=False)
        for command in ([os.environ["PACKSTONE_BIN"]], COMMAND)
    ]
    assert {(done.returncode, done.stdout) for done in timed} == {(1, timed[0].stdout)}
    for arguments in (["inspect", "no/such"], ["no such"], ["verify"], ["inspect", os.fsdecode(b"no/such/\xff")], ["--json", "verify"]):
        assert both(*arguments).returncode in (1, 2)


def _clean(path: Path) -> bool:
    try:
        return packstone.verify(path).clean
    except packstone.Error:
        return False


def test_standard_input_and_output_are_those_of_the_process(tmp_path: Path) -> None:
    lines = b"{}\n" * 3
    schema = [packstone.field("x", "float32", (2,))]
    for name in ("one", "two"):
        with packstone.create(tmp_path / name, format="sds", schema=schema, collections=["records"]) as writer:
            writer.write_batch("records", {"x": [[0.0, 1.0]] * 3})
    for name, command in (("one", [os.environ["PACKSTONE_BIN"]]), ("two", COMMAND)):
        done = subprocess.run(
            [*command, "annotate", str(tmp_path / name), "-", "--name", "labels"],
            input=lines, capture_output=True, timeout=60, check=True,
        )
        assert done.stdout == b'published the annotation set "labels", 3 records: 3 success\n'
    # A reader that goes away is no failure.
    child = subprocess.Popen([*COMMAND, "dump", str(SOURCE), "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None and child.stderr is not None
    child.stdout.close()
    assert child.wait(60) in (0, -signal.SIGPIPE)
    assert child.stderr.read() == b""


def test_control_c_ends_a_command(tmp_path: Path) -> None:
    code = "import sys, threading, os, signal, time\n" \
        "from packstone.__main__ import main\n" \
        "threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()\n" \
        "sys.argv[1:] = ['bench', sys.argv[1], '--json']\n" \
        "while True:\n" \
        "    code = main()\n" \
        "    if code: sys.exit(code)\n"
    done = subprocess.run(
        [sys.executable, "-c", code, str(SOURCE)], capture_output=True, timeout=120, check=False
    )
    assert done.returncode == 130, done.stderr.decode()
    assert b"Traceback" not in done.stderr


def test_the_command_needs_no_numpy() -> None:
    code = "import sys, packstone.__main__; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], timeout=60, check=True)


def test_importing_the_package_imports_nothing_heavy() -> None:
    heavy = ["numpy", "torch", "tensorflow", "jax", "pyarrow", "polars", "pandas", "duckdb", "ml_dtypes", "tensordict"]
    code = f"import sys, packstone; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"


def test_the_wheel_has_the_command() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    assert 'packstone = "packstone.__main__:main"' in project
