"""Images in WebDataset shards, Parquet files and other forms: same predictions, one line for damage."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import windtunnel
from tests.conftest import Command
from windtunnel.data.survey import survey
from windtunnel.published.imagenet import imagenet_1k
from windtunnel.suites.default_suite import open_for_suite

UserError = windtunnel.UserError
Members = dict[str, bytes]
IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def png(value: int = 0) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (32, 32), (value, 90, 30)).save(out, "PNG")
    return out.getvalue()


def write_tar(file: Path, members: Members | list[tuple[str, bytes]]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(file, "w") as tar:
        for name, content in members.items() if isinstance(members, dict) else members:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return file


def write_parquet(file: Path, images: list[object], labels: list[object], **more: object) -> Path:
    """A Parquet file as Hugging Face Datasets writes it; `names` are the classes of its metadata."""
    names = more.pop("names", None)
    table = pa.table({"image": pa.array(images, IMAGE), "label": labels, **more})
    features = {"image": {"_type": "Image"}}
    if names is not None:
        features["label"] = {"names": names, "_type": "ClassLabel"}  # type: ignore[dict-item]
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table.replace_schema_metadata(metadata), file, row_group_size=7)
    return file


def in_shards(folder: Path, out: Path) -> str:
    files = sorted(folder.rglob("*.png"))
    for number in range(3):
        members: Members = {}
        for file in files[number::3]:
            key = file.relative_to(folder).with_suffix("").as_posix()
            members |= {f"{key}.png": file.read_bytes(), f"{key}.cls": file.parent.name.encode()}
        write_tar(out / f"digits-{number:02d}.tar", members)
    return str(out / "digits-{00..02}.tar")


def in_parquet(folder: Path, out: Path) -> str:
    files = sorted(folder.rglob("*.png"), key=lambda file: file.name)
    for number in range(2):
        images = [
            {"bytes": file.read_bytes(), "path": file.relative_to(folder).as_posix()}
            for file in files[number::2]
        ]
        write_parquet(
            out / "data" / f"test-{number:05d}-of-00002.parquet",
            images,
            [int(file.parent.name) for file in files[number::2]],
            names=[str(digit) for digit in range(10)],
        )
    write_parquet(out / "data" / "train-00000-of-00001.parquet", images[:1], [3])
    return f"{out}#test"


def saved_to_disk(folder: Path, out: Path) -> str:
    files = sorted(folder.rglob("*.png"))
    out.mkdir()
    table = pa.table(
        {
            "image": pa.array(
                [{"bytes": file.read_bytes(), "path": file.relative_to(folder).as_posix()} for file in files],
                IMAGE,
            ),
            "label": [int(file.parent.name) for file in files],
        }
    )
    with (
        pa.OSFile(str(out / "data-00000-of-00001.arrow"), "wb") as sink,
        pa.ipc.new_stream(sink, table.schema) as writer,
    ):
        writer.write_table(table, max_chunksize=9)
    (out / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}))
    return str(out)


def stored(run: Path) -> dict[str, bytes]:
    return {str(file.relative_to(run)): file.read_bytes() for file in sorted(run.rglob("*.parquet"))}


def test_every_form_of_the_same_images_gives_the_same_files(tmp_path: Path, digit_folder: Path) -> None:
    forms = {
        "folder": str(digit_folder),
        "shards": in_shards(digit_folder, tmp_path / "shards"),
        "parquet": in_parquet(digit_folder, tmp_path / "hub"),
        "arrow": saved_to_disk(digit_folder, tmp_path / "saved"),
    }
    files = {}
    for form, data in forms.items():
        # Suites that swap decoders need the encoded bytes.
        windtunnel.run("demo", data, "smoke", only=["contrast:3"], out=tmp_path / f"run-{form}", workers=1)
        files[form] = stored(tmp_path / f"run-{form}")
    assert len(files["folder"]) > 1
    assert files["shards"] == files["folder"]
    assert files["parquet"] == files["folder"]
    assert files["arrow"] == files["folder"]


def as_imagenet(names: list[str]) -> list[tuple[int, ...]]:
    return [(imagenet_1k().classes.index(name),) for name in names]


def test_labels_keep_their_meaning(tmp_path: Path) -> None:
    images = [{"bytes": png(value), "path": None} for value in range(3)]
    ids = ["n01443537", "n01440764"]
    dataset = windtunnel.open_dataset(write_parquet(tmp_path / "a.parquet", images, [0, 1, -1], names=ids))
    assert [sample.labels for sample in dataset.samples()] == [*as_imagenet(ids), ()]
    assert [sample.id for sample in dataset.samples()] == [f"a/{row:08d}" for row in range(3)]
    assert dataset.notes == ("1 image has no label in the column label.",)
    dataset = windtunnel.open_dataset(
        write_parquet(
            tmp_path / "b.parquet", images, [0, 1, 1], names=["zebra", "ant"], place=["x", "y", "z"]
        )
    )
    assert dataset.label_space.classes == ("zebra", "ant")
    assert [dict(sample.meta) for sample in dataset.samples()] == [{"place": place} for place in "xyz"]
    several = pa.table(
        {"first": pa.array(images, IMAGE), "second": pa.array(images[::-1], IMAGE), "fine": ["a", "b", "c"]}
    )
    pq.write_table(several, tmp_path / "c.parquet")
    with pytest.raises(UserError, match=r"several columns of images \(first, second\).*#image,label"):
        windtunnel.open_dataset(tmp_path / "c.parquet")
    chosen = windtunnel.open_dataset(f"{tmp_path / 'c.parquet'}#second,fine")
    assert chosen.read(chosen.samples()[0]) == png(2)
    assert chosen.label_space.classes == ("a", "b", "c")


def test_members_of_a_shard_are_chosen(tmp_path: Path) -> None:
    members = {
        "0/one.jpg": png(1), "0/one.png": png(2), "0/one.json": b'{"label": "cat", "breed": "manx"}',
        "two.seg.png": png(3), "two.webp": png(4), "two.json": b'{"label": ["cat", "dog"]}',
    }  # fmt: skip
    file = write_tar(tmp_path / "set.tar", members)
    dataset = windtunnel.open_dataset(file)
    assert [(sample.id, sample.labels) for sample in dataset.samples()] == [
        ("0/one.jpg", (0,)),
        ("two.webp", (0, 1)),
    ]
    other = windtunnel.open_dataset(f"{file}#png,json:breed")
    assert [(sample.id, other.label_space.classes) for sample in other.samples()] == [
        ("0/one.png", ("manx",))
    ]
    # Keys that repeat in other shards stay apart.
    write_tar(tmp_path / "more" / "a-0.tar", {"x.png": png(), "x.cls": b"1"})
    write_tar(tmp_path / "more" / "a-1.tar", {"x.png": png(9), "x.cls": b"2"})
    assert [sample.id for sample in windtunnel.open_dataset(tmp_path / "more").samples()] == [
        "a-0/x.png",
        "a-1/x.png",
    ]
    write_tar(tmp_path / "more" / "train-0.tar", {"x.png": png(), "x.cls": b"1"})
    with pytest.raises(UserError, match=r"several series of shards .*a-\{0\.\.1\}\.tar"):
        windtunnel.open_dataset(tmp_path / "more")


TWO: Members = {"a.png": png(1), "a.cls": b"1", "b.png": png(2), "b.cls": b"0"}


def cut(file: Path, size: int) -> Path:
    file.write_bytes(file.read_bytes()[:size])
    return file


def damaged_header(file: Path) -> Path:
    content = bytearray(file.read_bytes())
    with tarfile.open(file) as tar:
        start = tar.getmember("b.png").offset
    content[start : start + 8] = b"\xff" * 8
    file.write_bytes(content)
    return file


def text(file: Path, content: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)
    return file


def dangerous_batch(root: Path) -> Path:
    (root / "batches.meta").write_bytes(b"")
    (root / "test_batch").write_bytes(b"cos\nsystem\n(S'echo harm'\ntR.")
    return root


def incomplete(root: Path) -> Path:
    write_parquet(root / "train-00000-of-00002.parquet", [{"bytes": png(), "path": None}], [0])
    return root


GOOD = {"bytes": png(), "path": "good.png"}
REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing shard": (
        lambda root: write_tar(root / "set-0.tar", TWO) and f"{root}/set-{{0..1}}.tar",
        "names 2 files, of which 1 do not exist",
    ),
    "cut in a member": (
        lambda root: cut(write_tar(root / "set-0.tar", TWO), 4 * 512 + 100) and f"{root}/set-{{0..0}}.tar",
        "cannot be read as a tar file: unexpected end of data|is damaged at byte",
    ),
    "damaged header": (lambda root: damaged_header(write_tar(root / "set.tar", TWO)), "is damaged at byte"),
    "duplicate key": (
        lambda root: write_tar(root / "set.tar", [*TWO.items(), ("a.png", png(3))]),
        "contains the member 'a.png' twice",
    ),
    "label of another type": (
        lambda root: write_tar(root / "set.tar", {**TWO, "c.png": png(), "c.json": b'{"label": 0.5}'}),
        r"label of c.json is 0.5 \(float\)",
    ),
    "JSON that is none": (
        lambda root: write_tar(root / "set.tar", {**TWO, "c.png": png(), "c.json": b"{"}),
        "c.json is not JSON",
    ),
    "too many files": (lambda root: f"{root}/x-{{0..999999999}}.tar", "give at most 100,000"),
    "no column of images": (
        lambda root: pq.write_table(pa.table({"label": [1]}), root / "x.parquet") or root / "x.parquet",
        "has no column of encoded images among label",
    ),
    "labels of another type": (
        lambda root: write_parquet(root / "x.parquet", [GOOD], [0.5]),
        r"label of 'good.png' is 0.5 \(float\); give a class name",
    ),
    "label beyond the classes": (
        lambda root: write_parquet(root / "x.parquet", [GOOD], [7], names=["cat", "dog"]),
        "the label of 'good.png' is 7; the dataset declares 2 classes",
    ),
    "empty split": (lambda root: write_parquet(root / "x.parquet", [], []), "has no rows"),
    "truncated Parquet": (
        lambda root: cut(write_parquet(root / "x.parquet", [GOOD], [0]), 200),
        "cannot be read as Parquet",
    ),
    "missing file of a split": (incomplete, "has 1 of 2 files of the split train; number 1 is missing"),
    "unknown split": (
        lambda root: text(root / "dataset_dict.json", '{"splits": ["../x"]}').parent,
        "lists no splits",
    ),
    "state that leaves the folder": (
        lambda root: text(root / "state.json", '{"_data_files": [{"filename": "../x.arrow"}]}').parent,
        "lists no data files in its folder",
    ),
    "no choice of a split": (
        lambda root: in_splits(root), r"contains several splits; give .*#train, .*#val"
    ),
    "a pickle that runs a program": (dangerous_batch, "it contains os.system|it contains posix.system"),
}  # fmt: skip


def in_splits(root: Path) -> Path:
    for split in ("train", "val"):
        (root / split / "cat").mkdir(parents=True)
        (root / split / "cat" / "a.png").write_bytes(png())
    return root


@pytest.mark.parametrize("kind", REFUSED)
def test_damage_is_refused_in_one_line(kind: str, tmp_path: Path) -> None:
    build, message = REFUSED[kind]
    with pytest.raises(UserError, match=message) as error:
        windtunnel.open_dataset(build(tmp_path))  # type: ignore[arg-type]
    assert "\n" not in str(error.value)


def test_an_image_that_cannot_be_read_is_a_row_and_nothing_else_is_lost(tmp_path: Path) -> None:
    (tmp_path / "set" / "sub").mkdir(parents=True)
    (tmp_path / "secret.png").write_bytes(png(7))
    (tmp_path / "set" / "sub" / "near.png").write_bytes(png(8))
    rows = [
        GOOD,
        {"bytes": None, "path": "sub/near.png"},
        {"bytes": None, "path": "../secret.png"},
        {"bytes": None, "path": str(tmp_path / "secret.png")},
        {"bytes": None, "path": None},
        None,
        {"bytes": b"no image", "path": "text.png"},
    ]
    dataset = windtunnel.open_dataset(write_parquet(tmp_path / "set" / "x.parquet", rows, [0] * len(rows)))
    surveyed = {image.sample.id: image for image in survey(dataset, dataset.samples())}
    good = {id_ for id_, image in surveyed.items() if image.status == "ok"}
    assert good == {"good.png", "sub/near.png"} and len(surveyed) == len(rows)
    assert not any("secret" in id_ for id_ in surveyed)
    file = write_tar(tmp_path / "set.tar", {**TWO, "c.png": png(3), "d.json": b'{"label": 1}'})
    with tarfile.open(file, "a") as tar:
        link = tarfile.TarInfo("../e.png")
        link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path / "secret.png")
        tar.addfile(link)
    shards = windtunnel.open_dataset(file)
    status = {image.sample.id: image.status for image in survey(shards, shards.samples())}
    assert status == {"a.png": "ok", "b.png": "ok", "c.png": "ok", "../e.png": "unreadable"}
    assert [sample.labels for sample in shards.samples() if sample.id == "c.png"] == [()]
    assert any("2 images have no label" in note for note in shards.notes)
    assert any("1 key has no image" in note for note in shards.notes)


def test_a_set_of_shards_is_made_again_byte_by_byte_and_repaired(
    tmp_path: Path, digit_folder: Path, windtunnel_command: Command
) -> None:
    def make(out: str, **more: object) -> None:
        options = {"layout": "webdataset", "shard_size": 2, **more}
        windtunnel.make_set("imagenet-c", digit_folder, tmp_path / out, only="contrast", workers=1, **options)  # type: ignore[arg-type]

    def tree(out: str) -> dict[str, bytes]:
        root = tmp_path / out
        return {str(file.relative_to(root)): file.read_bytes() for file in sorted(root.rglob("*.*"))
                if file.is_file()}  # fmt: skip

    make("one")
    shards = ("--layout", "webdataset", "--shard-size", 2, "--only", "contrast", "--workers", 1)
    done = windtunnel_command("make", "imagenet-c", digit_folder, tmp_path / "two", *shards)
    assert done.returncode == 0, done.stderr
    first = tree("one")
    assert first == tree("two")
    files = sorted((tmp_path / "one" / "contrast" / "3").iterdir())
    assert len(files) == 20 and files[0].name == "000000.tar"
    with tarfile.open(files[0]) as tar:
        names = tar.getnames()
        assert [Path(name).suffix for name in names] == [".png", ".cls"] * 2
        label = tar.extractfile(names[1])
        assert label is not None and label.read().decode() == Path(names[0]).parts[0].lstrip("0").zfill(1)
        assert all(entry.mtime == 0 and entry.uid == 0 for entry in tar)
    cut(files[0], 1000)
    files[1].unlink()
    make("one")
    assert tree("one") == first
    assert windtunnel.verify_set(tmp_path / "one").sound
    make("folders", layout="folders", codec="none")
    for out in ("one", "folders"):
        windtunnel.run("demo", tmp_path / out, out=tmp_path / f"run-{out}", workers=1)
    predictions = [
        windtunnel.load_run(tmp_path / f"run-{out}")
        .predictions(["condition", "top", "top_score"])
        .to_pylist()
        for out in ("one", "folders")
    ]
    assert predictions[0] == predictions[1] and len(predictions[0]) == 40 * 6


def test_published_folders_are_recognised(tmp_path: Path) -> None:
    batch = {b"data": np.arange(2 * 3072, dtype=np.uint8).reshape(2, -1), b"fine_labels": [5, 99],
             b"coarse_labels": [0, 1]}  # fmt: skip
    cifar = tmp_path / "cifar-100-python"
    cifar.mkdir()
    for name, content in (("train", batch), ("test", batch), ("meta", {})):
        (cifar / name).write_bytes(pickle.dumps(content, 4))
    dataset = windtunnel.open_dataset(f"{cifar}#test")
    assert [sample.labels for sample in dataset.samples()] == [(5,), (99,)]
    # Channels are stored one after another: red is the first third.
    image = np.asarray(dataset.read(dataset.samples()[1]))
    assert image[0, 1].tolist() == [(3072 + 1) % 256, (3072 + 1025) % 256, (3072 + 2049) % 256]
    for place in ("background/chair/a.png", "texture/Pen/b.png", "texture/unknown/c.png"):
        file = tmp_path / "ImageNet-D" / place
        file.parent.mkdir(parents=True)
        file.write_bytes(png())
    natural, suite = open_for_suite(tmp_path / "ImageNet-D", None, None)
    assert suite.name == "imagenet-d"
    assert {sample.id: sample.labels for sample in natural.samples()} == {
        "background/chair/a.png": (423, 559, 765),
        "texture/Pen/b.png": (418, 563, 749),
    }
    for level in range(1, 6):
        file = tmp_path / "laion-c" / "mosaic" / f"intensity_level_{level}" / "car_truck" / "a.png"
        file.parent.mkdir(parents=True)
        file.write_bytes(png())
    precomputed = windtunnel.open_dataset(tmp_path / "laion-c").precomputed
    assert precomputed is not None
    assert [condition.level for condition in precomputed.stored] == [1, 2, 3, 4, 5]


def test_an_idx_file_that_is_short_long_or_too_large_gets_one_line(tmp_path: Path) -> None:
    labels = bytes((0, 0, 8, 1)) + np.array([4], ">u4").tobytes() + bytes(range(4))
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(labels)
    head = bytes((0, 0, 8, 3))
    sizes = {"fits": (4, 8, 8), "large": (2**32 - 1,) * 3}
    fits, large = (head + np.array(shape, ">u4").tobytes() for shape in sizes.values())
    for content, said in (
        (head + b"\0", "no complete idx file"),
        (fits + bytes(255), "no complete idx file"),
        (fits + bytes(2**24), "no complete idx file"),
        (large, "declares [0-9,]* bytes; at most"),
    ):
        (tmp_path / "t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(content))
        with pytest.raises(windtunnel.UserError, match=said):
            windtunnel.open_dataset(tmp_path)
