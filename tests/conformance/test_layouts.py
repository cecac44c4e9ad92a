"""Every registered dataset layout keeps the laws; a layout from outside the package is one file."""

from __future__ import annotations

import csv
import gzip
import io
import json
import pickle
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import windtunnel
from tests.strangers import windtunnel as command
from tests.strangers import write_example
from windtunnel.core.errors import UserError
from windtunnel.data import Dataset, LiveDataset, content_hash, path_and_part
from windtunnel.data.layouts import REGISTRY, by_priority, open_precomputed
from windtunnel.suites.inclusion import include

PIXELS = np.random.default_rng(0).integers(0, 256, (4, 32, 32, 3), dtype=np.uint8)


def png(row: int = 0) -> bytes:
    file = io.BytesIO()
    Image.fromarray(PIXELS[row]).save(file, "PNG")
    return file.getvalue()


def put(root: Path, *names: str) -> Path:
    for row, name in enumerate(names):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(png(row % len(PIXELS)))
    return root


def class_folders(root: Path) -> Path:
    return put(root / "set", "cat/a.png", "dog/b.png")


def archive(root: Path) -> Path:
    with zipfile.ZipFile(root / "set.zip", "w") as file:
        file.writestr("cat/a.png", png())
    return root / "set.zip"


def table(root: Path) -> Path:
    put(root, "a.png")
    with (root / "set.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["path", "label"], ["a.png", "cat"]])
    return root / "set.csv"


def arrays(root: Path) -> Path:
    np.savez(root / "set.npz", images=PIXELS, labels=np.arange(4))
    return root / "set.npz"


def corruption_folders(root: Path) -> Path:
    return put(root / "set", *(f"fog/{level}/cat/a.png" for level in range(1, 6)))


def corruption_arrays(root: Path) -> Path:
    np.save(root / "fog.npy", np.repeat(PIXELS, 5, axis=0))
    np.save(root / "labels.npy", np.tile(np.arange(4), 5))
    return root


def perturbation_folders(root: Path) -> Path:
    return put(root / "set", *(f"tilt/cat/a/{frame:03d}.png" for frame in range(4)))


def perturbation_arrays(root: Path) -> Path:
    np.save(root / "tilt.npy", np.repeat(PIXELS[:, None], 6, axis=1))
    np.save(root / "labels.npy", np.arange(4))
    return root


def coco(root: Path) -> Path:
    put(root, "images/a.png", "images/b.png")
    content = {
        "images": [{"id": 7, "file_name": "a.png"}, {"id": 8, "file_name": "b.png"}],
        "categories": [{"id": 3, "name": "cat"}],
        "annotations": [{"id": 1, "image_id": 7, "category_id": 3, "bbox": [1, 2, 10, 20]}],
    }
    (root / "set.json").write_text(json.dumps(content))
    return root / "set.json"


def voc(root: Path) -> Path:
    put(root / "set", "JPEGImages/a.png")
    (root / "set" / "Annotations").mkdir()
    box = "<bndbox><xmin>2</xmin><ymin>3</ymin><xmax>11</xmax><ymax>22</ymax></bndbox>"
    content = f"<annotation><object><name>cat</name>{box}</object></annotation>"
    (root / "set" / "Annotations" / "a.xml").write_text(content)
    return root / "set"


def yolo(root: Path) -> Path:
    put(root / "set", "images/val/a.png", "images/val/b.png")
    (root / "set" / "labels" / "val").mkdir(parents=True)
    (root / "set" / "labels" / "val" / "a.txt").write_text("0 0.5 0.5 0.25 0.5\n")
    (root / "set" / "data.yaml").write_text("names: [cat]\n")
    return root / "set"


def shard(root: Path) -> Path:
    with tarfile.open(root / "set.tar", "w") as tar:
        for name, content in (("a.png", png()), ("a.cls", b"cat")):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return root / "set.tar"


def parquet(root: Path) -> Path:
    rows = [{"bytes": png(row), "path": f"{row}.png"} for row in range(4)]
    pq.write_table(pa.table({"image": rows, "label": ["cat", "dog", "cat", "dog"]}), root / "set.parquet")
    return root / "set.parquet"


def cifar_batches(root: Path) -> Path:
    batch = {b"data": PIXELS.transpose(0, 3, 1, 2).reshape(4, -1).copy(), b"labels": [0, 1, 2, 3]}
    (root / "test_batch").write_bytes(pickle.dumps(batch, 4))
    (root / "batches.meta").write_bytes(b"")
    return root


def idx(root: Path) -> Path:
    images = bytes((0, 0, 8, 3)) + np.array(PIXELS.shape[:3], ">u4").tobytes() + PIXELS[..., 0].tobytes()
    (root / "t10k-images-idx3-ubyte").write_bytes(images)
    labels = bytes((0, 0, 8, 1)) + np.array([4], ">u4").tobytes() + bytes(range(4))
    (root / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(labels))
    return root


def split_folders(root: Path) -> str:
    return f"{put(root / 'set', 'train/cat/a.png', 'val/dog/b.png', 'val/cat/c.png')}#val"


def corruption_shards(root: Path) -> Path:
    windtunnel.make_set(
        "imagenet-c", class_folders(root), root / "made", only="contrast", layout="webdataset", workers=1
    )
    return root / "made"


EXAMPLES: dict[str, Callable[[Path], Path | str]] = {
    "class-folders": class_folders,
    "archive": archive,
    "table": table,
    "arrays": arrays,
    "corruption-folders": corruption_folders,
    "corruption-arrays": corruption_arrays,
    "perturbation-folders": perturbation_folders,
    "perturbation-arrays": perturbation_arrays,
    "coco": coco,
    "voc": voc,
    "yolo": yolo,
    "webdataset": shard,
    "huggingface": parquet,
    "cifar-batches": cifar_batches,
    "idx": idx,
    "split-folders": split_folders,
    "corruption-shards": corruption_shards,
    "demo": lambda _: Path("demo"),
}


@pytest.mark.parametrize("name", REGISTRY.shipped())
def test_a_layout_declares_its_facts(name: str) -> None:
    layout = REGISTRY.get(name)
    assert layout.name == name
    assert layout.help and layout.form and "\n" not in layout.help + layout.form
    assert all(suffix == suffix.lower() and suffix.startswith(".") for suffix in layout.suffixes)


@pytest.mark.parametrize("name", REGISTRY.shipped())
def test_a_layout_opens_what_it_recognises_and_is_the_first_to(name: str, tmp_path: Path) -> None:
    given = EXAMPLES[name](tmp_path)
    path, part = path_and_part(given)
    layout = REGISTRY.get(name)
    if not layout.word:
        assert next(one.name for one in by_priority() if one.recognises(path)) == name
        assert (open_precomputed(path) is not None) == layout.corrupted
    dataset = windtunnel.open_dataset(given)
    direct = layout.open(path, part)
    assert type(dataset) is type(direct)
    assert dataset.samples() == direct.samples()


@pytest.mark.parametrize("name", REGISTRY.shipped())
def test_a_dataset_has_what_every_dataset_has(name: str, tmp_path: Path) -> None:
    dataset = windtunnel.open_dataset(EXAMPLES[name](tmp_path))
    assert isinstance(dataset, Dataset)
    samples = list(dataset.samples())
    ids = [sample.id for sample in samples]
    assert ids == sorted(set(ids)) and ids
    assert all(label < len(dataset.label_space) for sample in samples for label in sample.labels)
    content = dataset.read(samples[0])
    assert isinstance(content, bytes | np.ndarray)
    assert dataset.subset(samples, 0, 0) == samples
    assert dataset.subset_notes(samples) == [] and dataset.parts == () and dataset.frames == ()
    assert dataset.given_clean is None and dataset.natural is None and dataset.counting_rules is None
    assert (dataset.precomputed is None) == (dataset.identity is None) == (not REGISTRY.get(name).corrupted)
    assert dataset.portable
    again: Dataset = pickle.loads(pickle.dumps(dataset))
    assert list(again.samples()) == samples
    assert content_hash(again.read(samples[0])) == content_hash(content)


def test_an_object_of_the_users_is_a_dataset(tmp_path: Path) -> None:
    folder = windtunnel.open_dataset(class_folders(tmp_path))

    class Mine:
        name, location, portable, label_space = "mine", "memory", False, folder.label_space
        samples, read = folder.samples, folder.read

    dataset = windtunnel.open_dataset(Mine())
    assert isinstance(dataset, LiveDataset)
    assert dataset.samples() == folder.samples() and not dataset.portable and dataset.precomputed is None
    with pytest.raises(UserError, match="The data is a int; give a path"):
        windtunnel.open_dataset(3)  # type: ignore[arg-type]


@pytest.fixture
def own_layouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Layouts that a test includes are gone after it."""
    monkeypatch.setattr(REGISTRY, "_added", dict(REGISTRY._added))
    monkeypatch.setattr(REGISTRY, "_loaded", dict(REGISTRY._loaded))


def labelled(root: Path) -> Path:
    """Digits of the demo in the layout of the example."""
    digits = windtunnel.open_dataset("demo")
    labels = {}
    root.mkdir()
    for sample in list(digits.samples())[:24]:
        Image.fromarray(digits.read(sample)).save(root / f"{sample.id}.png")  # type: ignore[arg-type]
        labels[f"{sample.id}.png"] = sample.labels[0]
    (root / "labels.json").write_text(json.dumps(labels))
    return root


def test_a_layout_from_outside_is_listed_inspected_made_and_run(tmp_path: Path) -> None:
    write_example("layouts", tmp_path)
    labelled(tmp_path / "data")
    own = ("--include", "labels_json.py")
    listed = command(tmp_path, "list", "layouts", "--json", *own)
    assert "labels-json" in {row["name"] for row in json.loads(listed.stdout)}, listed.stderr
    found = json.loads(command(tmp_path, "data", "inspect", "data", "--json", *own).stdout)
    assert (found["images"], found["unlabelled"], found["classes_used"]) == (24, 0, 10)
    made = command(
        tmp_path, "make", "imagenet-c", "data", "made", "--only", "contrast", "--workers", "2", *own
    )
    assert made.returncode == 0, made.stderr
    assert windtunnel.open_dataset(tmp_path / "made").precomputed is not None
    done = command(
        tmp_path, "run", "demo", "data", "--suite", "smoke", "--out", "run", "--workers", "2", *own
    )
    assert done.returncode == 0, done.stderr
    run = windtunnel.load_run(tmp_path / "run")
    assert run.recipe.data.count == 24
    assert (tmp_path / "run" / "report.html").is_file()
    again = command(tmp_path, "report", "run", *own)
    assert again.returncode == 0, again.stderr
    assert "No images are shown" not in (tmp_path / "run" / "report.md").read_text(encoding="utf-8")


def test_without_the_file_the_folder_has_a_shipped_layout(tmp_path: Path, own_layouts: None) -> None:
    folder = labelled(tmp_path / "data")
    assert not any(sample.labels for sample in windtunnel.open_dataset(folder).samples())
    assert include(write_example("layouts", tmp_path)) == ["labels-json"]
    assert all(sample.labels for sample in windtunnel.open_dataset(folder).samples())
    with pytest.raises(UserError, match="has no part 'train'"):
        windtunnel.open_dataset(f"{folder}#train")


WRONG = """
from windtunnel.data.layouts import DatasetLayout
class Wrong(DatasetLayout):
    name = "wrong"
    {facts}
    def recognises(self, path):
        {recognises}
    {open}
wrong = Wrong()
"""
FACTS = 'help = "help"; form = "form"'
OPEN = "def open(self, path, part): "


@pytest.mark.parametrize(
    ("facts", "recognises", "opens", "said"),
    [
        ('form = "form"', "return True", f"{OPEN}return None", "'wrong' declares no help"),
        (FACTS, "return True", "", r"'wrong' declares no open\(path, part\)"),
        (FACTS, "return path['x']", f"{OPEN}return None", "layout wrong failed on .*TypeError"),
        (FACTS, "return True", f"{OPEN}return dict()['x']", "layout wrong failed on .*KeyError"),
        (FACTS, "return True", f"{OPEN}return dict()", "as a dict; return a"),
    ],
)  # fmt: skip
def test_a_wrong_layout_gets_one_line(
    facts: str, recognises: str, opens: str, said: str, tmp_path: Path, own_layouts: None
) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(WRONG.format(facts=facts, recognises=recognises, open=opens))
    with pytest.raises(UserError, match=said) as error:
        include(file)
        windtunnel.open_dataset(class_folders(tmp_path))
    assert "\n" not in str(error.value)


def test_a_layout_cannot_take_the_name_of_a_shipped_one(tmp_path: Path, own_layouts: None) -> None:
    file = write_example("layouts", tmp_path)
    file.write_text(file.read_text().replace('name = "labels-json"', 'name = "table"'))
    with pytest.raises(UserError, match="declares the layout 'table', which windtunnel already has"):
        include(file)
