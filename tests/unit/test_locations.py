"""Locations: what is read below a URL is the same as below a path, is checked, and is downloaded once."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import fsspec
import msgspec
import numpy as np
import onnx
import pyarrow as pa
import pytest
from PIL import Image

from tests.onnx_models import write_colour_model
from tests.unit.test_records import INFO, RUN_RECIPE, stored_run
from windtunnel.core.errors import ImageError, RunFailed, UserError
from windtunnel.core.locations import RemotePath, cache, entries, live_location, local_file, location_of
from windtunnel.core.locations.listing import Version
from windtunnel.core.records import read_recipe
from windtunnel.core.task import REGISTRY as TASKS
from windtunnel.data import content_hash, open_dataset
from windtunnel.imaging import files
from windtunnel.models import load_model
from windtunnel.store.folder import RunFolder, read_run_json
from windtunnel.store.rows import schema


@pytest.fixture(autouse=True)
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[fsspec.AbstractFileSystem]:
    """An empty store in memory, and an empty cache."""
    monkeypatch.setenv("WINDTUNNEL_CACHE", str(tmp_path / "cache"))
    store = fsspec.filesystem("memory")
    yield store
    store.store.clear()
    store.pseudo_dirs[:] = [""]


def upload(folder: Path, url: str) -> str:
    fsspec.filesystem("memory").put(f"{folder}/", url, recursive=True)
    return url


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """Six images in two classes, one of them in a subfolder."""
    for number in range(6):
        file = tmp_path / "images" / "cat dog"[4 * (number % 2) :][:3] / f"{number}.png"
        file = file.parent / "more" / file.name if number == 5 else file
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((32, 32, 3), 40 * number, np.uint8)).save(file)
    return tmp_path / "images"


def as_folders(images: Path, target: Path) -> str:
    shutil.copytree(images, target / "set")
    return "set"


def as_zip(images: Path, target: Path) -> str:
    shutil.make_archive(str(target / "set"), "zip", images)
    return "set.zip"


def as_tar(images: Path, target: Path) -> str:
    shutil.make_archive(str(target / "set"), "tar", images)
    return "set.tar"


def as_table(images: Path, target: Path) -> str:
    shutil.copytree(images, target / "files")
    rows = [f"./{file.relative_to(target).as_posix()},{file.stem}" for file in target.rglob("*.png")]
    (target / "tables").mkdir()
    text = "\n".join(["path,label", *(f".{row}" for row in rows)])
    (target / "tables" / "set.csv").write_text(text)
    return "tables/set.csv"


def as_arrays(images: Path, target: Path) -> str:
    pixels = np.stack([np.asarray(Image.open(file)) for file in sorted(images.rglob("*.png"))])
    np.savez(target / "set.npz", x_test=pixels, y_test=np.arange(len(pixels)))
    return "set.npz#test"


def as_corruption_arrays(images: Path, target: Path) -> str:
    (target / "set").mkdir()
    pixels = np.random.default_rng(0).integers(0, 256, (20, 32, 32, 3), np.uint8)
    np.save(target / "set" / "fog.npy", pixels)
    np.save(target / "set" / "labels.npy", np.tile(np.arange(4), 5))
    return "set"


def as_corruption_folders(images: Path, target: Path) -> str:
    for severity in range(1, 6):
        shutil.copytree(images, target / "set" / "fog" / str(severity))
    return "set"


LAYOUTS = (as_folders, as_zip, as_tar, as_table, as_arrays, as_corruption_arrays, as_corruption_folders)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_dataset_at_a_url_is_the_one_at_a_path(layout, images: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "local").mkdir()
    name = layout(images, tmp_path / "local")
    upload(tmp_path / "local", "memory://remote")

    here, there = open_dataset(str(tmp_path / "local" / name)), open_dataset(f"memory://remote/{name}")

    assert there.name == here.name and there.location == f"memory://remote/{name}"
    assert list(there.samples()) == list(here.samples()) and len(here.samples()) >= 4
    assert there.label_space == here.label_space and there.identity == here.identity
    sent = pickle.loads(pickle.dumps(there))
    for sample in here.samples():
        expected = content_hash(here.read(sample))
        assert content_hash(there.read(sample)) == content_hash(sent.read(sample)) == expected


def test_a_model_with_its_declaration_and_weights_is_fetched(tmp_path: Path) -> None:
    file = write_colour_model(tmp_path / "colours.onnx")
    (tmp_path / "model" / "parts").mkdir(parents=True)
    target = tmp_path / "model" / "colours.onnx"
    onnx.save(
        onnx.load(file), target, save_as_external_data=True, location="parts/weights.bin", size_threshold=0
    )
    (tmp_path / "model" / "colours.onnx.toml").write_text('preset = "cifar"\ntrained_on = ["x"]\n')
    upload(tmp_path / "model", "memory://models")

    here, there = load_model(target), load_model("memory://models/colours.onnx")

    assert there.fingerprint == here.fingerprint and there.name == "colours"
    assert there.trained_on == ("x",) and there.preprocess == here.preprocess
    batch = np.random.default_rng(0).integers(0, 256, (3, 32, 32, 3), np.uint8)
    assert np.array_equal(there.predict(batch), here.predict(batch))
    assert (there.variant("float16").predict(batch) == here.variant("float16").predict(batch)).all()


def test_a_location_behaves_as_a_path(memory: fsspec.AbstractFileSystem) -> None:
    memory.pipe({"/a/b/x.tar.gz": b"12", "/a/y": b"1"})
    root = location_of("memory://a")
    file = root / "b" / "x.tar.gz"
    assert isinstance(root, RemotePath) and str(file) == "memory://a/b/x.tar.gz"
    assert (file.name, file.stem, file.suffix) == ("x.tar.gz", "x.tar", ".gz")
    assert file.parent == root / "b" and file.with_name("y").name == "y" and root / "" == root
    assert file.parent / "../y" == root / "y" and root / "./y" == root / "y"
    assert [(entry.name, entry.is_dir()) for entry in entries(root)] == [("b", True), ("y", False)]
    assert (root / "b").is_dir() and not (root / "b").is_file() and (root / "y").is_file()
    assert not (root / "z").exists() and not (root / "b" / "z").exists() and file.stat().st_size == 2
    assert [path.name for path in (root / "b").glob("*.gz")] == ["x.tar.gz"]
    with pytest.raises(FileNotFoundError):
        (root / "z").read_bytes()


def test_a_listing_stays_as_it_was_and_a_live_folder_does_not(memory: fsspec.AbstractFileSystem) -> None:
    memory.pipe("/a/x", b"1")
    listed, live = location_of("memory://a"), live_location("memory://a")
    assert not (listed / "y").exists() and listed.is_dir()
    (live / "y").create(b"new")  # type: ignore[union-attr]
    assert (live / "y").read_bytes() == b"new" and not (listed / "y").exists()
    assert (location_of("memory://a") / "y").exists()
    with pytest.raises(FileExistsError):
        (live / "y").create(b"other")  # type: ignore[union-attr]
    assert (live / "y").read_bytes() == b"new"


def test_a_cached_file_is_checked_and_a_changed_one_is_read_again(memory: fsspec.AbstractFileSystem) -> None:
    memory.pipe("/a/x", b"first")
    file = local_file(location_of("memory://a/x"))
    file.write_bytes(b"wrong")
    assert location_of("memory://a/x").read_bytes() == b"first"
    file.with_name(f"{file.name}.sum").unlink()
    cache._is_intact.cache_clear()
    assert location_of("memory://a/x").read_bytes() == b"first"
    memory.pipe("/a/x", b"other")
    assert location_of("memory://a/x").read_bytes() == b"other"


def test_a_file_that_changes_while_it_is_read_stops_the_run(memory: fsspec.AbstractFileSystem) -> None:
    memory.pipe("/a/x", b"first")
    listed = location_of("memory://a")
    assert listed.is_dir()
    memory.pipe("/a/x", b"other")
    with pytest.raises(RunFailed, match="memory://a/x changed while it was read"):
        (listed / "x").read_bytes()


def test_many_threads_fill_the_cache_at_once() -> None:
    # Files of memory:// have one position for all readers, so the content comes from elsewhere.
    def read(number: int) -> bytes:
        content, version = bytes([number % 8]) * 100_000, Version(100_000, "1")
        url = f"s3://bucket/{number % 8}"
        return cache.fetched(url, version, lambda file: write(file, content), lambda: version).read_bytes()

    def write(file: Path, content: bytes) -> None:
        file.write_bytes(content)

    with ThreadPoolExecutor(8) as pool:
        assert [content[0] for content in pool.map(read, range(64))] == [*range(8)] * 8
    left = [file for file in cache.cache_folder().rglob("*") if file.is_file()]
    assert len(left) == 16, "a file and its checksum each, and nothing unfinished"


def test_the_size_of_an_image_is_judged_before_it_is_downloaded(
    memory: fsspec.AbstractFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.pipe("/a/large.png", bytes(1001))
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 1000)
    with pytest.raises(ImageError, match="1,001 bytes; at most 1,000 are read"):
        files.read_file(location_of("memory://a/large.png"))
    assert not cache.cache_folder().exists()


def test_a_cache_that_cannot_be_written_is_named(
    memory: fsspec.AbstractFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.pipe("/a/x", b"1")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WINDTUNNEL_CACHE", str(tmp_path / "file"))
    with pytest.raises(RunFailed, match=r"file cannot be written .*WINDTUNNEL_CACHE"):
        location_of("memory://a/x").read_bytes()


@pytest.mark.parametrize("library", ["fsspec", "s3fs"])
def test_a_missing_library_is_named_with_its_command(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(UserError, match=rf"A URL of .* needs {library}.*: pip install '{library}>="):
        open_dataset("s3://bucket/data" if library == "s3fs" else "memory://data")


def test_a_url_in_a_path_is_refused() -> None:
    with pytest.raises(UserError, match=r"write s3://bucket/data, in Python as a str"):
        open_dataset(Path("s3://bucket/data"))


def test_local_work_does_not_import_fsspec(images: Path) -> None:
    code = (
        "import sys, windtunnel\n"
        "from windtunnel.store.folder import RunFolder\n"
        f"dataset = windtunnel.open_dataset({str(images)!r})\n"
        "assert [dataset.read(sample) for sample in dataset.samples()]\n"
        "assert windtunnel.load_model('demo')\n"
        f"RunFolder(windtunnel.core.locations.location_of({str(images / 'run')!r})).check_free()\n"
        "print([name for name in ('fsspec', 's3fs', 'asyncio') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ))
    assert done.stdout.strip() == "[]", done.stderr


def shard(rows: int, value: float = 0.0, status: str = "ok") -> pa.Table:
    """A shard with the columns of classification."""
    columns = schema(TASKS.get("classification"))
    empty = {field.name: pa.nulls(rows, field.type) for field in columns}
    name = next(field.name for field in columns if pa.types.is_float32(field.type))
    values = {name: pa.array([value] * rows, pa.float32()), "status": pa.array([status] * rows)}
    return pa.table({**empty, **values}, schema=columns)


@pytest.mark.parametrize("place", ["path", "memory://runs"])
def test_a_shard_is_replaced_only_if_it_is_damaged_or_has_failures(place: str, tmp_path: Path) -> None:
    folder = RunFolder(location_of(str(tmp_path / "run") if place == "path" else f"{place}/run"))
    (folder.path / "shards").mkdir(parents=True)
    task = TASKS.get("classification")
    folder.write_shard("a", shard(3))
    folder.write_shard("a", shard(3))
    assert folder.has_shard("a", 3, task) and not folder.has_shard("b", 3, task)
    with pytest.raises(RunFailed, match="was written by another process with other predictions"):
        folder.write_shard("a", shard(3, 0.5))
    folder.write_shard("b", shard(3, status="unreadable"))
    folder.write_shard("b", shard(3))
    assert not folder.failures("b") and folder.written == {"a", "b"}


def test_a_remote_run_folder_keeps_its_recipe(tmp_path: Path) -> None:
    samples = pa.table({"id": pa.array([], pa.string()), "content": pa.array([], pa.string())})
    recipe = read_recipe(RUN_RECIPE)
    folder = RunFolder(location_of("memory://runs/run"))
    folder.check_free()
    folder.open_for(recipe, INFO, samples)
    scoring = msgspec.structs.replace(INFO.scoring, metrics=("top5_error",))
    folder.open_for(recipe, msgspec.structs.replace(INFO, scoring=scoring), samples)
    stored = read_run_json(location_of("memory://runs/run"))
    assert stored.recipe == recipe and stored.info.scoring == scoring
    before = folder.recipe_path.read_bytes()
    with pytest.raises(UserError, match="contains a run with another seed"):
        folder.open_for(msgspec.structs.replace(recipe, seed=recipe.seed + 1), INFO, samples)
    assert folder.recipe_path.read_bytes() == before
    with pytest.raises(UserError, match="memory://runs contains other files"):
        RunFolder(location_of("memory://runs")).check_free()
    local = read_run_json(stored_run(tmp_path / "run", recipe=RUN_RECIPE))
    assert local.recipe == stored.recipe
