"""Data sets: what is found, in which order, under which ids."""

from __future__ import annotations

import io
import json
import tarfile
import unicodedata
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import windtunnel
from windtunnel.data import Dataset, demo, stratified_subset
from windtunnel.data.arrays import ArrayDataset
from windtunnel.data.inspection import inspect
from windtunnel.data.survey import survey
from windtunnel.published.imagenet import imagenet_1k
from windtunnel.suites.golden_digests import golden_image

UserError = windtunnel.UserError


def png(side: int = 40) -> bytes:
    out = io.BytesIO()
    Image.fromarray(golden_image(side)).save(out, "PNG")
    return out.getvalue()


def put(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png())
    return root


def labels(dataset: Dataset) -> dict[str, tuple[int, ...]]:
    return {sample.id: sample.labels for sample in dataset.samples()}


def test_class_folders_count_in_sorted_order(tmp_path: Path) -> None:
    dataset = windtunnel.open_dataset(put(tmp_path, "dog/a.png", "cat/deep/b.JPG", "cat/a.png"))
    assert dataset.label_space.classes == ("cat", "dog")
    assert labels(dataset) == {"cat/a.png": (0,), "cat/deep/b.JPG": (0,), "dog/a.png": (1,)}
    assert dataset.read(dataset.samples()[0]) == png()


def test_wordnet_ids_keep_their_imagenet_indices(tmp_path: Path) -> None:
    dataset = windtunnel.open_dataset(put(tmp_path, "n01443537/a.JPEG", "n15075141/b.JPEG"))
    assert labels(dataset) == {"n01443537/a.JPEG": (1,), "n15075141/b.JPEG": (999,)}
    assert len(dataset.label_space) == 1000


def test_imagenet_table_is_sorted_by_wordnet_id() -> None:
    classes = imagenet_1k().classes
    assert len(classes) == 1000
    assert list(classes) == sorted(classes)
    assert (classes[0], classes[207], classes[999]) == ("n01440764", "n02099601", "n15075141")


def test_wordnet_ids_outside_imagenet_are_plain_names(tmp_path: Path) -> None:
    dataset = windtunnel.open_dataset(put(tmp_path, "n01443537/a.png", "n00000001/b.png"))
    assert labels(dataset) == {"n00000001/b.png": (0,), "n01443537/a.png": (1,)}


def test_numbered_folders_are_class_indices_not_text(tmp_path: Path) -> None:
    dataset = windtunnel.open_dataset(put(tmp_path, "10/a.png", "2/b.png", "0/c.png", "007/d.png"))
    assert labels(dataset) == {"0/c.png": (0,), "007/d.png": (7,), "10/a.png": (10,), "2/b.png": (2,)}


def test_files_outside_class_folders_have_no_label_and_others_are_ignored(tmp_path: Path) -> None:
    put(tmp_path, "a.png", "cat/b.png", "cat/.hidden.png", ".cache/c.png")
    (tmp_path / "cat" / "notes.txt").write_text("no image")
    assert labels(windtunnel.open_dataset(tmp_path)) == {"a.png": (), "cat/b.png": (0,)}


def test_ids_are_one_unicode_form(tmp_path: Path) -> None:
    decomposed = unicodedata.normalize("NFD", "käse")
    dataset = windtunnel.open_dataset(put(tmp_path, f"{decomposed}/a.png"))
    assert dataset.samples()[0].id == unicodedata.normalize("NFC", "käse/a.png")
    assert dataset.read(dataset.samples()[0]) == png()


def test_links_to_folders_are_followed_but_never_in_circles(tmp_path: Path) -> None:
    put(tmp_path / "real", "cat/a.png")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "cat").symlink_to(tmp_path / "real" / "cat")
    (tmp_path / "real" / "cat" / "again").symlink_to(tmp_path / "data")
    assert list(labels(windtunnel.open_dataset(tmp_path / "data"))) == ["cat/a.png"]


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
def test_tables_with_paths_and_labels(tmp_path: Path, kind: str) -> None:
    put(tmp_path, "x/one.png", "x/two.png")
    rows = [
        {"path": "x/two.png", "label": "tree frog", "light": "dim"},
        {"path": "x/one.png", "label": "ant", "light": ""},
    ]
    if kind == "jsonl":
        text = "\n".join(json.dumps(row) for row in rows)
    else:
        separator = "," if kind == "csv" else "\t"
        text = "\n".join(separator.join(line) for line in [rows[0].keys(), *(row.values() for row in rows)])
    file = tmp_path / f"list.{kind}"
    file.write_text(text)
    dataset = windtunnel.open_dataset(file)
    assert labels(dataset) == {"x/one.png": (0,), "x/two.png": (1,)}
    assert dataset.samples()[1].meta["light"] == "dim"
    assert dataset.read(dataset.samples()[0]) == png()


def test_tables_take_several_labels_and_repeated_images(tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    file.write_text("file,labels\na.png,3 5\na.png,0;2\nb.png,\n")
    found = labels(windtunnel.open_dataset(file))
    assert found == {"a.png#1": (3, 5), "a.png#2": (0, 2), "b.png": ()}


def test_a_tables_own_ids_are_kept_and_duplicates_refused(tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    file.write_text("id,path,label\nfirst,a.png,0\nsecond,a.png,1\n")
    assert labels(windtunnel.open_dataset(file)) == {"first": (0,), "second": (1,)}
    file.write_text("id,path,label\nfirst,a.png,0\nfirst,b.png,1\n")
    with pytest.raises(UserError, match="'first' twice"):
        windtunnel.open_dataset(file)


def test_a_table_without_known_columns_says_which_it_needs(tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    file.write_text("photo,answer\na.png,1\n")
    with pytest.raises(UserError, match="must be path or file"):
        windtunnel.open_dataset(file)


def write_zip(path: Path, names: list[str]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, png())
    return path


def write_tar(path: Path, names: list[str]) -> Path:
    with tarfile.open(path, "w") as archive:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = len(png())
            archive.addfile(info, io.BytesIO(png()))
    return path


@pytest.mark.parametrize("write", [write_zip, write_tar])
def test_archives_are_class_folders_with_the_same_ids(tmp_path: Path, write: object) -> None:
    names = ["dog/b.png", "cat/a.png", "readme.txt"]
    path = write(tmp_path / f"set.{'zip' if write is write_zip else 'tar'}", names)  # type: ignore[operator]
    dataset = windtunnel.open_dataset(path)
    assert labels(dataset) == {"cat/a.png": (0,), "dog/b.png": (1,)}
    assert dataset.read(dataset.samples()[1]) == png()


def test_one_folder_around_all_classes_is_no_class(tmp_path: Path) -> None:
    dataset = windtunnel.open_dataset(write_zip(tmp_path / "set.zip", ["val/dog/b.png", "val/cat/a.png"]))
    assert labels(dataset) == {"val/cat/a.png": (0,), "val/dog/b.png": (1,)}


def test_a_folder_of_archives_is_one_set(tmp_path: Path) -> None:
    write_tar(tmp_path / "n01440764.tar", ["a.JPEG"])
    write_tar(tmp_path / "n01443537.tar", ["a.JPEG"])
    dataset = windtunnel.open_dataset(tmp_path)
    assert labels(dataset) == {"n01440764/a.JPEG": (0,), "n01443537/a.JPEG": (1,)}
    assert dataset.read(dataset.samples()[1]) == png()


def test_a_compressed_tar_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "set.tar.gz").write_bytes(b"x")
    with pytest.raises(UserError, match="unpack it first"):
        windtunnel.open_dataset(tmp_path / "set.tar.gz")


def test_npz_arrays_find_their_labels(tmp_path: Path) -> None:
    images = np.stack([golden_image(32)] * 3)
    np.savez(tmp_path / "one.npz", images=images, labels=[2, 0, 1])
    dataset = windtunnel.open_dataset(tmp_path / "one.npz")
    assert labels(dataset) == {"00000000": (2,), "00000001": (0,), "00000002": (1,)}
    assert np.array_equal(dataset.read(dataset.samples()[0]), images[0])


def test_npz_with_several_sets_asks_which(tmp_path: Path) -> None:
    images = np.stack([golden_image(32)] * 2)
    path = tmp_path / "two.npz"
    np.savez(path, train_images=images, train_labels=[0, 1], test_images=images[:1], test_labels=[[1]])
    with pytest.raises(UserError, match=r"several sets; give two.npz#test, two.npz#train"):
        windtunnel.open_dataset(path)
    assert labels(windtunnel.open_dataset(f"{path}#test")) == {"00000000": (1,)}


def test_only_npz_files_have_parts(tmp_path: Path) -> None:
    put(tmp_path, "night/cow/a.png", "night#2/cow/a.png")
    np.save(tmp_path / "one.npy", np.stack([golden_image(32)]))
    for name in ("night#fog:3", "night#2#fog:3", "one.npy#test"):
        with pytest.raises(UserError, match=r"has no part '(fog:3|test)'"):
            windtunnel.open_dataset(tmp_path / name)
    # A folder may have such a name.
    assert len(windtunnel.open_dataset(tmp_path / "night#2").samples()) == 1


def test_npy_takes_the_labels_beside_it(tmp_path: Path) -> None:
    np.save(tmp_path / "fog.npy", np.stack([golden_image(32)] * 2))
    np.save(tmp_path / "labels.npy", np.array([1, 0], np.uint8))
    assert labels(windtunnel.open_dataset(tmp_path / "fog.npy")) == {"00000000": (1,), "00000001": (0,)}


def test_grey_arrays_become_rgb_and_ids_may_be_given() -> None:
    grey = np.stack([golden_image(32)[:, :, 0]] * 2)
    dataset = ArrayDataset(grey, np.array([0, 1]), ids=["b/x.png", "a/y.png"])
    assert [sample.id for sample in dataset.samples()] == ["a/y.png", "b/x.png"]
    assert dataset.samples()[0].labels == (1,)
    assert dataset.read(dataset.samples()[0]).shape == (32, 32, 3)


@pytest.mark.parametrize(
    ("images", "given", "match"),
    [
        (np.zeros((2, 32, 32, 3), np.float32), [0, 1], "uint8"),
        (np.zeros((2, 32, 32, 4), np.uint8), [0, 1], "uint8"),
        (np.zeros((2, 32, 32, 3), np.uint8), [0], "class indices"),
        (np.zeros((2, 32, 32, 3), np.uint8), [0.5, 1.0], "class indices"),
        (np.zeros((2, 32, 32, 3), np.uint8), [-1, 0], "class indices"),
        (np.zeros((0, 32, 32, 3), np.uint8), [], "no images"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(images: np.ndarray, given: list[float], match: str) -> None:
    with pytest.raises(UserError, match=match):
        ArrayDataset(images, np.array(given))


def test_a_subset_keeps_the_share_of_every_class_and_repeats_itself() -> None:
    classes = np.repeat([0, 1, 2], [100, 50, 10])
    samples = ArrayDataset(np.zeros((160, 32, 32, 3), np.uint8), classes).samples()
    chosen = stratified_subset(samples, 32, seed=0)
    assert Counter(sample.labels[0] for sample in chosen) == {0: 20, 1: 10, 2: 2}
    assert chosen == stratified_subset(samples[::-1], 32, seed=0)
    assert chosen != stratified_subset(samples, 32, seed=1)
    fewer = {sample.id for sample in stratified_subset(samples, 16, seed=0)}
    assert fewer <= {sample.id for sample in chosen}
    assert len(stratified_subset(samples, 0, seed=0)) == 160


def test_inspection_counts_what_is_there(tmp_path: Path) -> None:
    put(tmp_path, "cat/a.png", "dog/b.png", "dog/c.png")
    (tmp_path / "dog" / "broken.jpg").write_bytes(b"text")
    exif = Image.Exif()
    exif[274] = 6
    Image.fromarray(golden_image(64)).save(tmp_path / "cat" / "turned.jpg", exif=exif)
    found = inspect(windtunnel.open_dataset(tmp_path))
    assert (found.images, found.classes, found.smallest_class, found.largest_class) == (5, 2, 2, 3)
    assert found.formats == {"PNG": 3, "JPEG": 1}
    assert found.rotated == ["cat/turned.jpg"]
    assert list(found.unreadable) == ["dog/broken.jpg"]
    assert found.sizes == "2 sizes from 40x40 to 64x64"
    assert found.first_classes == ["0=cat", "1=dog"]


@pytest.mark.parametrize("kind", ["jpg", "tif"])
def test_a_turned_image_has_the_size_it_is_stored_in(tmp_path: Path, kind: str) -> None:
    exif = Image.Exif()
    exif[274] = 6
    (tmp_path / "cat").mkdir()
    Image.fromarray(golden_image(64)[:48]).save(tmp_path / "cat" / f"turned.{kind}", exif=exif)
    dataset = windtunnel.open_dataset(tmp_path)
    (found,) = survey(dataset, dataset.samples(), decoded=True)
    assert (found.status, found.width, found.height, found.orientation) == ("ok", 64, 48, 6)


def test_spreadsheet_indices_are_indices_and_negative_ones_refused(tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    file.write_text("path,label\na.png,0.0\nb.png,2.0\nc.png,10.0\n")
    assert labels(windtunnel.open_dataset(file)) == {"a.png": (0,), "b.png": (2,), "c.png": (10,)}
    file.write_text("path,label\na.png,0\nb.png,-1\n")
    with pytest.raises(UserError, match="negative"):
        windtunnel.open_dataset(file)


def test_rows_may_lack_a_label_and_hold_odd_line_ends(tmp_path: Path) -> None:
    file = tmp_path / "list.jsonl"
    file.write_text('{"path": "a.png"}\n{"path": "b\u2028.png", "label": 1}\n', encoding="utf-8")
    assert labels(windtunnel.open_dataset(file)) == {"a.png": (), "b\u2028.png": (1,)}
    file = tmp_path / "list.csv"
    file.write_text('path,label,note\na.png,0,"two\nlines"\n')
    assert labels(windtunnel.open_dataset(file)) == {"a.png": (0,)}


def test_dates_are_names_not_twenty_million_indices(tmp_path: Path) -> None:
    dataset = windtunnel.open_dataset(put(tmp_path, "20240131/a.png", "20240201/b.png"))
    assert dataset.label_space.classes == ("20240131", "20240201")


def test_two_links_to_one_folder_are_two_classes(tmp_path: Path) -> None:
    put(tmp_path / "real", "x/a.png")
    data = tmp_path / "data"
    data.mkdir()
    for name in ("cat", "dog"):
        (data / name).symlink_to(tmp_path / "real" / "x")
    assert labels(windtunnel.open_dataset(data)) == {"cat/a.png": (0,), "dog/a.png": (1,)}


def test_damaged_and_repeated_members(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "set.zip", ["cat/a.png", "cat/b.png"])
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("cat/a.png", png())
    with pytest.raises(UserError, match=r"'cat/a.png' twice"):
        windtunnel.open_dataset(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("cat/a.png", png())
    content = bytearray(path.read_bytes())
    content[60:90] = bytes(30)
    path.write_bytes(bytes(content))
    (found,) = inspect(windtunnel.open_dataset(path)).unreadable.values()
    assert "cannot read from the archive" in found


def test_inspection_decodes_so_that_truncated_images_are_found(tmp_path: Path) -> None:
    put(tmp_path, "cat/a.png")
    whole = io.BytesIO()
    Image.fromarray(golden_image(64)).save(whole, "JPEG")
    (tmp_path / "cat" / "half.jpg").write_bytes(whole.getvalue()[: len(whole.getvalue()) // 2])
    assert list(inspect(windtunnel.open_dataset(tmp_path)).unreadable) == ["cat/half.jpg"]


def test_the_demos_digits_are_scikit_learns() -> None:
    from sklearn.datasets import load_digits

    images, classes = demo.digits()
    scans = load_digits()
    assert np.array_equal(classes, scans.target)
    ink = (images[:, 12:20, 12:20, 0].astype(float) - demo.PAPER) / (demo.INK - demo.PAPER) * demo.INK_MAX
    assert np.array_equal(np.rint(ink), scans.images)
    assert (images[:, :12] == demo.PAPER).all() and (images[:, 20:] == demo.PAPER).all()
