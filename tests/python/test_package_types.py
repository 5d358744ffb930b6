"""The types that the Python package declares are those that it has, and hold in a program under mypy --strict."""

import subprocess
import sys
from pathlib import Path
from types import BuiltinFunctionType, GetSetDescriptorType

import packstone

#: A program that uses everything, written once for readers of types: it is not run.
PROGRAM = """
from pathlib import Path
from typing import Any

import jax
import numpy as np
from torch.utils.data import DataLoader

import packstone
import packstone.jax
import packstone.tensordict
import packstone.torch

dataset: packstone.Dataset = packstone.open(Path("data"))
several = packstone.open(["a", Path("b")])
name: str = dataset.collections[0]
collection: packstone.Collection = dataset[name]
sample: dict[str, Any] = collection[0]
batch: dict[str, Any] = collection[1:3]
batch = collection[[3, 1, 2]]
batch = collection[np.array([True, False])]
count: int = len(collection.select("label == 3"))
for sample in collection:
    print(sample["x"])
for batch in collection.batches(256, threads=2):
    print(batch["x"])
for field in collection.schema:
    shape: tuple[int | None, ...] = field.shape
report: packstone.VerifyReport = dataset.verify(progress=lambda done, total, unit: None)
for finding in report.findings:
    place: packstone.Place = finding.place
digests: dict[str, packstone.Digest] = packstone.digest("data")
equal: bool = packstone.diff("a", "b").equal
converted: packstone.ConvertReport = packstone.convert("a", "b", to="sds", options={"x": 1})
packed: packstone.SaveReport = packstone.pack("a", "b.tdz")
migrated: packstone.MigrateReport = packstone.migrate(["a"], dry_run=True)
view: packstone.Dataset = packstone.open("view", follow=["data"])
metadata: packstone.Metadata = collection.select("x > 1").metadata
columns: tuple[str, ...] = metadata.columns
collection.select("x > 1").save("some.json")
annotated: packstone.AnnotateReport = packstone.annotate("data", [{"values": {"a": 1}}], name="set")
viewed: packstone.ViewReport = packstone.view("data", "view", [1, 2], materialize=True)
repaired: packstone.RepairReport = packstone.repair("data", dry_run=True)
merged: packstone.MergeReport = packstone.merge("data", expect=2)
refreshed: packstone.RefreshReport = packstone.refresh("data.tdz")
options: dict[str, str] = packstone.formats()[0].options
with packstone.Loader(collection, 256, weights=np.ones(3), transforms=[dict]) as loader:
    state: dict[str, Any] = loader.state_dict()
    loader.load_state_dict(state)
    steps: int = len(loader)
    loader.skip(1)
    loader.rewind()
    findings: tuple[packstone.Finding, ...] = loader.take_notes()
loader = packstone.Loader([collection, collection], 256, order="blocks", shards=8, ratios=[0.7, 0.3], stop="all")
loader = packstone.Loader(collection, 256, key="label", remainder="pad", on_error="skip", extras=["mask"])
mapped = DataLoader(packstone.torch.MapDataset(collection), batch_size=256, shuffle=True)
iterable = packstone.torch.IterableDataset(loader, transform=lambda batch: batch["x"])
iterable.load_state_dict(iterable.state_dict())
tensors: dict[str, Any] = packstone.torch.Tensors(collection.schema)(batch)
device: jax.Device = jax.devices()[0]
for batch in packstone.jax.batches(loader, device, wide="convert"):
    print(batch["x"])
tree = packstone.tensordict.load(Path("tree.tdz"), pickles="skip")
saved: packstone.SaveReport = packstone.tensordict.save(tree, "tree", compression="stored")
schema = [packstone.field("x", "float32", (3,)), packstone.field(("a", "b"), np.int8), packstone.field("t", str)]
with packstone.create("new", format="sedpack", schema=schema) as writer:
    writer.write("train", sample, metadata={"day": 3})
    writer.write_batch("train", batch)
with packstone.create("new", format="sedpack") as inferred:
    inferred.write_batch("train", batch, metadata=[{"day": 3}])
parts: packstone.Parts = packstone.create_parts("new", format="sds", schema=schema)
with parts.open("worker-1") as part:
    part.write("train", sample)
done: packstone.Written = parts.commit(["worker-1"])
try:
    packstone.open("none")
except packstone.NotFoundError as error:
    print(error.code, error.place.file, error.message, error.kind)
"""

#: What mypy must refuse.
WRONG = """
import packstone

packstone.open(3)
packstone.open("data").verify(quick="no")
packstone.Loader("data", 256)
packstone.Loader(packstone.open("data")["train"], 256, order="random")
packstone.Loader(packstone.open("data")["train"], 256, on_error="ignore")
number: int = packstone.open("data")["train"].digest()
"""


def mypy(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mypy", "--strict", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_programs_check(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "wrong.py").write_text(WRONG)
    cache = ("--cache-dir", tmp_path / "cache")
    for what in ((tmp_path / "program.py",), ("-p", "packstone")):
        done = mypy(*cache, *what)
        assert done.returncode == 0, done.stdout + done.stderr
    wrong = mypy(*cache, tmp_path / "wrong.py")
    assert wrong.stdout.count("error:") == 6, wrong.stdout + wrong.stderr


def test_stubs_are_those_of_the_extension() -> None:
    command = [sys.executable, "-m", "mypy.stubtest", "packstone", "--concise"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_everything_public_is_described() -> None:
    for name in packstone.__all__:
        value = getattr(packstone, name)
        if name != "__version__":
            assert value.__doc__ and not value.__doc__.startswith(f"{name}("), name
        if not isinstance(value, type) or issubclass(value, BaseException):
            continue
        for member, of in vars(value).items():
            if not member.startswith("_") and (callable(of) or isinstance(of, property | GetSetDescriptorType)):
                assert of.__doc__, f"{name}.{member}"


def test_functions_say_what_they_give_and_raise() -> None:
    for name in packstone.__all__:
        value = getattr(packstone, name)
        if isinstance(value, BuiltinFunctionType) and name != "formats":
            assert "Return" in value.__doc__ or "`Parts`" in value.__doc__ or name == "create_parts", name
            assert "Raises" in value.__doc__ or name == "diff", name
