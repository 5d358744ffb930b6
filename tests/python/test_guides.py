"""Every block of code in the guides runs, page by page, on datasets that the original libraries wrote."""

import re
import subprocess
import sys
from pathlib import Path

import dataset_rt  # noqa: F401  (its settings are made once, before any page)
import numpy as np
import pytest
import sedpack.io
import signal_dataset as sds
import torch
from tensordict import TensorDict

import arrayrecord_real
import datasetrt_real
import sds_real
from conftest import ROOT

GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[int, str]]:
    """The blocks of Python of a page, with the lines that they begin at."""
    text = page.read_text()
    found = [(text.count("\n", 0, match.start()) + 1, match) for match in BLOCK.finditer(text)]
    assert all(match[1] in ("python", "text") for _, match in found), "a block that is neither code nor text"
    return [(line, match[2]) for line, match in found if match[1] == "python"]


@pytest.fixture(scope="session")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One dataset of each format."""
    folder, rng = tmp_path_factory.mktemp("guides"), np.random.default_rng(0)
    structure = sedpack.io.DatasetStructure(
        saved_data_description=[
            sedpack.io.Attribute(name="trace", dtype="float32", shape=(64,)),
            sedpack.io.Attribute(name="key", dtype="uint8", shape=(16,)),
        ],
        compression="LZ4",
        examples_per_shard=100,
        shard_file_type="fb",
    )
    aes = sedpack.io.Dataset.create(folder / "aes", sedpack.io.Metadata(description="guides"), structure)
    with aes.filler() as filler:
        for number in range(700):
            values = {"trace": rng.random(64, dtype=np.float32), "key": rng.integers(0, 256, 16, dtype=np.uint8)}
            split = "train" if number < 600 else "test"
            filler.write_example(values=values, split=split, custom_metadata={"day": number // 100})
    pixels = torch.arange(1000 * 192, dtype=torch.float32).reshape(1000, 3, 8, 8)
    td = TensorDict({"obs": {"pixels": pixels}, "reward": torch.arange(1000.0)}, batch_size=[1000])
    td.memmap(folder / "replay")
    items = [
        (rng.random(64, dtype=np.float32).tobytes(), {"label": n % 3, "snr": float(n) / 500, "valid": True})
        for n in range(500)
    ]
    datasetrt_real.write(folder, "cache", items)
    axes = (sds.Axis("time", 32),)
    fields = [{"iq": sds.Field(np.full(32, n * 1j, dtype=np.complex64), axes=axes)} for n in range(100)]
    records = [sds.Record(f"r{n:04}", field, metadata={"snr": n / 100}) for n, field in enumerate(fields)]
    sds_real.write(folder / "signals", records, per_shard=25)
    arrayrecord_real.write(folder / "records.arrayrecord", arrayrecord_real.make_records(500), "group_size:1")
    return folder


@pytest.mark.parametrize("page", [page for page in GUIDES if page.name != "README.md"], ids=lambda page: page.stem)
def test_a_guide_runs(page: Path, originals: Path, tmp_path: Path) -> None:
    code = blocks(page)
    assert code, "a guide without code"
    # Lines keep their numbers, so that a traceback names those of the page.
    lines: list[str] = []
    for line, text in code:
        lines += [""] * (line - len(lines)) + text.splitlines()
    subprocess.run(["cp", "-a", f"{originals}/.", str(tmp_path)], check=True)
    (tmp_path / f"{page.stem}_guide.py").write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        [sys.executable, f"{page.stem}_guide.py"],
        cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_index_names_every_guide() -> None:
    text = (ROOT / "docs" / "guides" / "README.md").read_text()
    missing = [page.name for page in GUIDES if page.name != "README.md" and f"]({page.name})" not in text]
    assert not missing
