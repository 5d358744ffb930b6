"""The frozen orders are what docs/loader.md says, as its second implementation computes them."""

import subprocess
import sys

from conftest import ROOT


def test_vectors_are_those_of_the_second_implementation() -> None:
    folder = ROOT / "tests" / "golden" / "loader"
    generated = subprocess.run(
        [sys.executable, folder / "generate.py"], check=True, capture_output=True, text=True
    )
    assert generated.stdout == (folder / "vectors.json").read_text()
