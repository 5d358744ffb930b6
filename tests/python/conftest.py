"""What all tests share. A skipped test fails the run: what was not tested is not passed."""

import os
from pathlib import Path

import pytest

pytest_plugins = ["datasets"]

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "sedpack"
GOLDEN_CASES = sorted(path.parent.name for path in GOLDEN.glob("*/expected.json"))
BAD_CASES = sorted(path.parent.name for path in GOLDEN.glob("bad/*/expected_error.json"))
CACHES = ROOT / "tests" / "golden" / "datasetrt"
SIGNALS = ROOT / "tests" / "golden" / "signal-dataset"
RECORDS = ROOT / "tests" / "golden" / "arrayrecord"

#: Reasons for which a test may be skipped, word for word. Each needs a comment saying why.
ALLOWED_SKIPS: frozenset[str] = frozenset()

_skipped: list[str] = []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):
    """Notes every skipped test whose reason is not allowed."""
    report = yield
    if report.skipped:
        _note(item.nodeid, report.longrepr)
    return report


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Notes every module that skipped itself while it was collected."""
    if report.skipped:
        _note(report.nodeid, report.longrepr)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Turns a passed run with skipped tests into a failed one."""
    if _skipped and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says why such a run has failed."""
    if _skipped:
        terminalreporter.section("skipped tests count as failed", red=True)
        for line in _skipped:
            terminalreporter.line(line)


def _note(nodeid: str, longrepr: object) -> None:
    reason = longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)
    if reason.removeprefix("Skipped: ") not in ALLOWED_SKIPS:
        _skipped.append(f"{nodeid}: {reason}")


def pytest_report_header() -> str:
    """Names the program under test."""
    return f"packstone: {os.environ.get('PACKSTONE_BIN', '(PACKSTONE_BIN is not set)')}"
