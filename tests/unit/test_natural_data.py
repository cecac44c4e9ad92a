"""Readers of natural sets: every layout as published, with the traps that it holds."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from tests.natural_sets import WNIDS, clean_folder, put, video_set, write_csv
from windtunnel.core.errors import UserError
from windtunnel.data.folder import FolderDataset
from windtunnel.data.natural_layouts import open_natural
from windtunnel.data.natural_sets import NaturalDataset
from windtunnel.published import read_text
from windtunnel.published.natural_sets import masked_classes, natural_set, several_ids
from windtunnel.suites.default_suite import open_for_suite

IN_A, IN_O, IN_R = (list(masked_classes(f"in_imagenet_{name}")) for name in "aor")


def labels_of(dataset: NaturalDataset, part: str) -> dict[str, tuple[int, ...]]:
    return {one.id: one.labels for one in dataset.samples() if one.meta["part"] == part}


def test_imagenet_a_keeps_imagenets_indices(tmp_path: Path) -> None:
    for label in IN_A[:10]:
        put(tmp_path / "imagenet-a" / WNIDS[label] / "0.001_x.jpg", label)
    clean = clean_folder(tmp_path / "val", [*IN_A[:12], 0])
    found = open_natural(tmp_path / "imagenet-a", "imagenet-a", clean)
    assert sorted(labels_of(found, "imagenet-a").values()) == [(label,) for label in IN_A[:10]]
    assert max(IN_A[:10]) > 9, "numbered by folder they would be 0 to 9"
    assert {one for (one,) in labels_of(found, "clean").values()} == set(IN_A[:10])
    assert len(labels_of(found, "clean")) == 40
    assert all(id_.startswith("clean/") for id_ in labels_of(found, "clean"))
    assert any("10 of ImageNet-A's 200" in note for note in found.notes)


def test_a_folder_that_is_none_of_the_sets_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "imagenet-a" / WNIDS[IN_A[0]] / "a.png", 1)
    put(tmp_path / "imagenet-a" / WNIDS[0] / "b.png", 1)
    with pytest.raises(UserError, match=r"1 of its 2 folders.*n01440764.*natural takes"):
        open_natural(tmp_path / "imagenet-a", "imagenet-a")


def test_imagenet_o_has_no_labels(tmp_path: Path) -> None:
    for label in IN_O[:3]:
        put(tmp_path / "imagenet-o" / WNIDS[label] / "x.jpg", label)
    outside = next(label for label in range(1000) if label not in IN_O)
    clean = clean_folder(tmp_path / "val", [*IN_O[:5], outside])
    found = open_natural(tmp_path / "imagenet-o", "imagenet-o", clean)
    assert set(labels_of(found, "imagenet-o").values()) == {()}
    # In distribution are all classes of the list, whatever folders the images lie in.
    assert {one for (one,) in labels_of(found, "clean").values()} == set(IN_O[:5])
    assert found.parts == (("imagenet-o", "out"), ("clean", "clean"))


@pytest.mark.parametrize("name", ["imagenet-o", "ood"])
def test_out_of_distribution_needs_clean_images(tmp_path: Path, name: str) -> None:
    put(tmp_path / "x" / "y" / "a.png", 1)
    with pytest.raises(UserError, match="clean=DATA"):
        open_natural(tmp_path / "x", name)


@pytest.mark.parametrize(
    ("folder", "part"),
    [
        ("imagenetv2-matched-frequency-format-val", "imagenet-v2-matched-frequency"),
        ("imagenetv2-threshold0.7-format-val", "imagenet-v2-threshold-0.7"),
        ("imagenetv2-topimages-format-val", "imagenet-v2-top-images"),
        ("ImageNetV2", "imagenet-v2"),
    ],
)
def test_numbers_are_numbers_and_the_version_is_named(tmp_path: Path, folder: str, part: str) -> None:
    for label in (1, 2, 9, 10, 100, 999):
        put(tmp_path / folder / str(label) / "x.jpeg", label)
    dataset, suite = open_for_suite(tmp_path / folder, None, None)
    assert suite.name == "imagenet-v2"
    assert isinstance(dataset, NaturalDataset)
    found = labels_of(dataset, part)
    assert {id_.split("/")[0]: label for id_, (label,) in found.items()} == {
        str(label): label for label in (1, 2, 9, 10, 100, 999)
    }
    assert dataset.label_space.classes == WNIDS
    assert any("version unknown" in one for one in dataset.notes) == (part == "imagenet-v2")


def test_numbers_beyond_imagenets_are_refused(tmp_path: Path) -> None:
    put(tmp_path / "imagenetv2" / "1000" / "x.png", 1)
    with pytest.raises(UserError, match=r"0 to 999.*'1000'"):
        open_natural(tmp_path / "imagenetv2", "imagenet-v2")


def test_objectnet_has_several_ids_and_a_border(tmp_path: Path) -> None:
    ids = several_ids("objectnet_113.csv")
    assert len(ids) == 113 and ids["alarm_clock"] == (409, 530)
    root = tmp_path / "objectnet-1.0"
    put(root / "images" / "alarm_clock" / "a.png", 409, border=2)
    put(root / "images" / "banana" / "b.png", 954, border=2)
    put(root / "images" / "abacus_of_no_class" / "c.png", 1, border=2)
    clean = clean_folder(tmp_path / "val", [409, 954, 530, 7], right=1, wrong=0)
    found = open_natural(root, "objectnet", clean)
    assert labels_of(found, "objectnet") == {"alarm_clock/a.png": (409, 530), "banana/b.png": (954,)}
    # A clean alarm clock may be either clock too, so that both parts are as easy to get right.
    assert sorted(labels_of(found, "clean").values()) == [(409, 530), (409, 530), (954,)]
    pixels = found.read(next(one for one in found.samples() if one.id == "banana/b.png"))
    assert not isinstance(pixels, bytes) and pixels.shape == (16, 16, 3)
    assert pixels[0, 0].tolist() == [954 % 256, 954 // 256, 0]
    assert any("1 image in 1 other folder is left out" in one for one in found.notes)
    assert any("no such class (abacus_of_no_class)" in one for one in found.notes)
    assert any("2 of ObjectNet's 113 class folders" in one for one in found.notes)


def test_every_folder_of_objectnets_table_is_found_however_it_is_spelt(tmp_path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(read_text("objectnet_113.csv"))))
    wanted = {row["folder"]: tuple(map(int, row["imagenet_1k_indices"].split())) for row in rows}
    for folder in wanted:
        put(tmp_path / "objectnet" / folder / "a.png", 0, border=2)
    found = open_natural(tmp_path / "objectnet", "objectnet")
    assert labels_of(found, "objectnet") == {f"{folder}/a.png": ids for folder, ids in wanted.items()}
    assert not any("folders" in one for one in found.notes), "all are there, and no others"
    for spelt in ("T-shirt", "t_shirt", "T shirt"):
        put(tmp_path / spelt / "objectnet" / spelt / "a.png", 0, border=2)
        one = open_natural(tmp_path / spelt / "objectnet", "objectnet")
        assert set(labels_of(one, "objectnet").values()) == {wanted["t-shirt"]} == {(610,)}


VID = {
    "ILSVRC2015_val_0": {0: ([4], 7), -1: ([4], 7), 1: ([4, 8], 151), 10: ([4], 0)},
    "ILSVRC2015_val_1": {0: ([8], 151)},
}


def test_vid_robust_reads_sets_and_each_frames_own_labels(tmp_path: Path) -> None:
    dataset, suite = open_for_suite(video_set(tmp_path / "some-name", VID), None, None)
    assert suite.name == "vid-robust" and isinstance(dataset, NaturalDataset)
    anchor = "val/ILSVRC2015_val_0/000100.JPEG"
    rows = {(one.sample_id, one.offset, one.role) for one in dataset.frames if one.group == anchor}
    assert rows == {
        (anchor, 0, "anchor"),
        ("val/ILSVRC2015_val_0/000099.JPEG", -1, "neighbour"),
        ("val/ILSVRC2015_val_0/000101.JPEG", 1, "neighbour"),
        ("val/ILSVRC2015_val_0/000110.JPEG", 10, "neighbour"),
    }
    # An anchor without neighbours is a set of one.
    assert [one.offset for one in dataset.frames if "val_1" in one.group] == [0]
    assert labels_of(dataset, "vid-robust")["val/ILSVRC2015_val_0/000101.JPEG"] == (4, 8)
    assert {one.meta["video"] for one in dataset.samples()} == {
        "val/ILSVRC2015_val_0",
        "val/ILSVRC2015_val_1",
    }


ANCHOR, NEAR = "val/ILSVRC2015_val_0/000100.JPEG", "val/ILSVRC2015_val_0/000101.JPEG"


def rewrite(root: Path, name: str, key: str, value: object) -> Path:
    """Another value in one of a video set's JSON files."""
    file = root / "metadata" / name
    file.write_text(json.dumps(json.loads(file.read_text()) | {key: value}))
    return root


@pytest.mark.parametrize("value", ["26", 26, "turtle", ["26"], [26]])
def test_one_label_may_stand_without_a_list(tmp_path: Path, value: object) -> None:
    root = video_set(tmp_path / "vid-robust", {"ILSVRC2015_val_0": {0: ([4], 7), 1: ([4], 7)}})
    found = open_natural(rewrite(root, "labels.json", NEAR, value), "vid-robust")
    assert labels_of(found, "vid-robust")[NEAR] == (26,)


@pytest.mark.parametrize(
    ("name", "key", "value", "said"),
    [
        (
            "labels.json",
            NEAR,
            {"a": 1},
            r'labels.json has \{"a": 1\} for the frame .*000101.JPEG; give a list',
        ),
        ("labels.json", NEAR, [True], r"\[true\] for the frame .*000101.JPEG"),
        ("labels.json", NEAR, None, "null for the frame"),
        ("labels.json", NEAR, [], "no label for the frame .*000101.JPEG of pmsets.json; add one"),
        ("labels.json", ANCHOR, [], "no label for the anchor .*000100.JPEG"),
        ("labels.json", NEAR, [30], "label 30 for the frame .*000101.JPEG; .* classes 0 to 29"),
        ("labels.json", NEAR, [-1], "label -1 for the frame .*000101.JPEG"),
        ("pmsets.json", ANCHOR, NEAR, r'has "val/.*000101.JPEG" for the anchor .*000100.JPEG; give the list'),
        ("pmsets.json", ANCHOR, 7, "has 7 for the anchor .*000100.JPEG"),
    ],
)
def test_labels_and_sets_of_another_shape_are_refused(
    tmp_path: Path, name: str, key: str, value: object, said: str
) -> None:
    root = video_set(tmp_path / "vid-robust", {"ILSVRC2015_val_0": {0: ([4], 7), 1: ([4], 7)}})
    with pytest.raises(UserError, match=said):
        open_natural(rewrite(root, name, key, value), "vid-robust")


def test_labels_beyond_a_class_index_are_refused_with_their_frame(tmp_path: Path) -> None:
    root = video_set(tmp_path / "mine", {"clip": {0: ([0], 0), 1: ([2], 0)}}, "x")
    (root / "class_index.json").write_text(json.dumps({"0": "cow", "1": "dog"}))
    with pytest.raises(UserError, match=r"label 2 for the frame x/clip/000101.JPEG; classes are 0 to 1"):
        open_natural(root, "pm-k")


def test_frames_without_labels_or_numbers_are_refused(tmp_path: Path) -> None:
    root = video_set(tmp_path / "vid-robust", VID)
    file = root / "metadata" / "labels.json"
    labels = json.loads(file.read_text())
    del labels["val/ILSVRC2015_val_0/000110.JPEG"]
    file.write_text(json.dumps(labels))
    with pytest.raises(UserError, match=r"no label for the frame .*000110"):
        open_natural(root, "vid-robust")
    file.write_text(json.dumps({key: [30] for key in labels} | {"val/ILSVRC2015_val_0/000110.JPEG": [30]}))
    with pytest.raises(UserError, match="label 30 "):
        open_natural(root, "vid-robust")


def ytbb(root: Path) -> Path:
    """Annotations as published: words before classes, keys of pairs with a comma, the swapped raw list."""
    classes = list(natural_set("ytbb-robust").classes)
    words = ["good", "unsure", "bad", *classes]
    pair_words = [
        "similar",
        "dissimilar",
        "correct",
        "incorrect",
        "problematic",
        "blur-increase",
        "bad-anchor",
    ]
    anchors = {
        "aaa_1000/frame-30.jpg": ["good", "person"],
        "bbb_2000/frame-60.jpg": ["good"],
        "ccc_3000/frame-90.jpg": ["bad"],
        "ddd_4000/frame-99.jpg": ["good"],
        "eee_5000/frame-10.jpg": ["good"],
    }
    pairs = [
        ("aaa_1000/frame-30.jpg,aaa_1000/frame-29.jpg", ["similar", "correct"]),
        ("aaa_1000/frame-30.jpg,aaa_1000/frame-31.jpg", ["similar", "blur-increase"]),
        ("aaa_1000/frame-30.jpg,aaa_1000/frame-32.jpg", ["dissimilar"]),
        ("aaa_1000/frame-30.jpg,aaa_1000/frame-33.jpg", ["dissimilar"]),
        ("aaa_1000/frame-30.jpg,aaa_1000/frame-33.jpg", ["similar"]),
        ("aaa_1000/frame-30.jpg,aaa_1000/frame-34.jpg", ["similar"]),
        ("aaa_1000/frame-30.jpg,aaa_1000/frame-34.jpg", ["similar", "problematic"]),
        ("ddd_4000/frame-99.jpg,ddd_4000/frame-98.jpg", ["similar"]),
        ("ddd_4000/frame-99.jpg,ddd_4000/frame-97.jpg", ["bad-anchor"]),
    ]
    folder = root / "metadata"
    folder.mkdir(parents=True)
    for name, table, rows in (
        ("anchor_labels.json", words, anchors.items()),
        ("pmk_labels.json", pair_words, pairs),
    ):
        notes = [
            {"key": key, "notes": "", "labels": [table.index(one) for one in said]} for key, said in rows
        ]
        (folder / name).write_text(json.dumps({"annotations": notes, "labels": table}))
    raw = [["aaa", 1000, 22], ["bbb", 2000, 23], ["ccc", 3000, 1], ["ddd", 4000, 1], ["eee", 5000, 6]]
    write_csv(folder / "ytbb_test_anchors_full.csv", ["ytid", "time_ms", "label"], raw)
    for key in ("aaa_1000/frame-30.jpg", "aaa_1000/frame-29.jpg", "aaa_1000/frame-33.jpg",
                "bbb_2000/frame-60.jpg", "eee_5000/frame-10.jpg"):  # fmt: skip
        put(root / key, 7)
    return root


def test_ytbb_robust_follows_the_annotations(tmp_path: Path) -> None:
    dataset, suite = open_for_suite(ytbb(tmp_path / "robust"), None, None)
    assert suite.name == "ytbb-robust" and isinstance(dataset, NaturalDataset)
    car, none, person, cow = 23, 22, 0, 6
    # The raw list's 22 is a car, its 23 none; annotators added a person; neighbours have the anchor's labels.
    assert labels_of(dataset, "ytbb-robust") == {
        "aaa_1000/frame-29.jpg": (person, car),
        "aaa_1000/frame-30.jpg": (person, car),
        "aaa_1000/frame-33.jpg": (person, car),
        "bbb_2000/frame-60.jpg": (none,),
        "eee_5000/frame-10.jpg": (cow,),
    }
    # A bad anchor and a set with a bad-anchor mark are gone; the last word on a pair counts.
    offsets = {one.group: [] for one in dataset.frames}
    for one in dataset.frames:
        offsets[one.group].append(one.offset)
    assert offsets == {
        "aaa_1000/frame-30.jpg": [0, -1, 3],
        "bbb_2000/frame-60.jpg": [0],
        "eee_5000/frame-10.jpg": [0],
    }


AUTHORS = "/home/somebody/code/ytbb-pmk/data/frames"


def annotate(root: Path, name: str, rows: list[tuple[str, list[str]]]) -> None:
    """More rows at the end of an annotation file; words it does not have yet are added to its list."""
    file = root / "metadata" / name
    content = json.loads(file.read_text())
    for key, said in rows:
        content["labels"] += [one for one in said if one not in content["labels"]]
        labels = [content["labels"].index(one) for one in said]
        content["annotations"].append({"key": key, "notes": "", "labels": labels})
    file.write_text(json.dumps(content))


def test_ytbb_keys_that_are_paths_of_the_authors_machine_are_read(tmp_path: Path) -> None:
    root = ytbb(tmp_path / "robust")
    file = root / "metadata" / "anchor_labels.json"
    wanted = open_natural(root, "ytbb-robust")
    content = json.loads(file.read_text())
    for row in content["annotations"]:
        row["key"] = f"{AUTHORS}/{row['key']}"
    file.write_text(json.dumps(content))
    pairs = root / "metadata" / "pmk_labels.json"
    paths = json.loads(pairs.read_text())
    for row in paths["annotations"]:
        row["key"] = ",".join(f"{AUTHORS}/{one}" for one in row["key"].split(","))
    for content in (json.loads(pairs.read_text()), paths):
        pairs.write_text(json.dumps(content))
        found = open_natural(root, "ytbb-robust")
        assert labels_of(found, "ytbb-robust") == labels_of(wanted, "ytbb-robust")
        assert found.frames == wanted.frames


def test_ytbb_anchors_of_the_published_shape_are_all_read(tmp_path: Path) -> None:
    """2,467 rows: 2,169 good, 1,731 of these under absolute paths; 1,780 YouTube ids, some with `_`."""
    folder = tmp_path / "metadata"
    folder.mkdir()
    words = ["good", "unsure", "bad", *natural_set("ytbb-robust").classes]
    annotations, raw = [], []
    for row in range(2467):
        is_good, number = row < 2169, row % 1780
        id_ = f"{'a_' if number % 2 else '-'}{number:04}_{number % 7}" if is_good else f"bad_{row}"
        key = f"{id_}_{100 * row}/frame-{3 * row + 20}.jpg"
        is_path = row < 1731 or not is_good
        annotations.append(
            {"key": f"{AUTHORS}/{key}" if is_path else key, "notes": "", "labels": [0 if is_good else 2]}
        )
        raw.append([id_, 100 * row, row % 24])
    (folder / "anchor_labels.json").write_text(json.dumps({"annotations": annotations, "labels": words}))
    (folder / "pmk_labels.json").write_text(json.dumps({"annotations": [], "labels": ["similar"]}))
    write_csv(folder / "ytbb_robustness_test_anchors_full.csv", ["ytid", "time_ms", "label"], raw)
    found = open_natural(tmp_path, "ytbb-robust")
    assert len({one.group for one in found.frames}) == 2169
    videos = {one.meta["video"] for one in found.samples()}
    assert len(videos) == 1780 and videos == {row[0] for row in raw[:2169]}
    every = open_natural(tmp_path, "ytbb-robust-unreviewed")
    assert len({one.group for one in every.frames}) == 2467


def test_ytbb_anchors_of_one_youtube_id_are_of_one_video(tmp_path: Path) -> None:
    root = ytbb(tmp_path / "robust")
    annotate(
        root, "anchor_labels.json", [("aaa_9000/frame-270.jpg", ["good"]), ("b_b__7/frame-1.jpg", ["good"])]
    )
    with (root / "metadata" / "ytbb_test_anchors_full.csv").open("a") as stream:
        stream.write("aaa,9000,1\nb_b_,7,1\n")
    videos = {one.id: one.meta["video"] for one in open_natural(root, "ytbb-robust").samples()}
    assert videos["aaa_1000/frame-29.jpg"] == videos["aaa_9000/frame-270.jpg"] == "aaa"
    assert videos["b_b__7/frame-1.jpg"] == "b_b_"


def test_a_similar_ytbb_pair_is_rejected_only_by_the_published_words(tmp_path: Path) -> None:
    problems = (
        "dissimilar", "problematic", "incorrect", "dont know", "deformation", "background-change",
        "occlusion-increased", "blur-increase",
    )  # fmt: skip
    root = ytbb(tmp_path / "robust")
    said = [["similar", "lovely"], ["lovely"], *(["similar", "correct", one] for one in problems)]
    pairs = [f"eee_5000/frame-10.jpg,eee_5000/frame-{11 + place}.jpg" for place in range(len(said))]
    annotate(root, "pmk_labels.json", list(zip(pairs, said, strict=True)))
    found = open_natural(root, "ytbb-robust")
    assert [one.sample_id for one in found.frames if one.group.startswith("eee")] == [
        "eee_5000/frame-10.jpg",
        "eee_5000/frame-11.jpg",
    ]


def test_ytbb_without_review_takes_every_candidate(tmp_path: Path) -> None:
    root = ytbb(tmp_path / "robust")
    # Frames near an anchor count without an annotation; others and those too far away do not.
    for key in (
        "ccc_3000/frame-80.jpg",
        "ccc_3000/frame-100.jpg",
        "ccc_3000/frame-79.jpg",
        "ccc_3000/frame-90.jpg",
    ):
        put(root / "ytbb_videos" / key, 7)
    for old in ("aaa_1000", "bbb_2000", "eee_5000"):
        (root / old).rename(root / "ytbb_videos" / old)
    dataset, suite = open_for_suite(root, "ytbb-robust-unreviewed", None)
    assert suite.name == "ytbb-robust-unreviewed" and isinstance(dataset, NaturalDataset)
    offsets: dict[str, list[int]] = {}
    for one in dataset.frames:
        offsets.setdefault(one.group, []).append(one.offset)
    assert offsets == {
        "aaa_1000/frame-30.jpg": [0, -1, 1, 2, 3, 4],
        "bbb_2000/frame-60.jpg": [0],
        "ccc_3000/frame-90.jpg": [0, -10, 10],
        "ddd_4000/frame-99.jpg": [0, -2, -1],
        "eee_5000/frame-10.jpg": [0],
    }
    assert dataset.read(next(one for one in dataset.samples() if one.id == "ccc_3000/frame-80.jpg"))
    assert dataset.parts == (("ytbb-robust-unreviewed", "shifted"),)
    said = (
        "Without review: all 5 annotated anchors and their 9 candidate frames are scored. Reviewers accepted "
        "3 of 5 anchors and 2 frames; suite ytbb-robust scores those."
    )
    assert said in dataset.notes
    reviewed, _ = open_for_suite(root, None, None)
    said = (
        "With review: reviewers accepted 3 of 5 anchors and 2 of 7 annotated frames. These are scored; suite "
        "ytbb-robust-unreviewed scores all candidates."
    )
    assert isinstance(reviewed, NaturalDataset) and said in reviewed.notes
    assert reviewed.natural.name == "ytbb-robust"


def test_ytbb_without_review_needs_the_annotations(tmp_path: Path) -> None:
    root = video_set(tmp_path / "ytbb-robust", {"a_1": {0: ([6], 345)}}, "x")
    with pytest.raises(UserError, match=r"no \*test_anchors_full.csv"):
        open_natural(root, "ytbb-robust-unreviewed")
    root = ytbb(tmp_path / "robust")
    annotate(root, "pmk_labels.json", [("aaa_1000/frame-30.jpg", ["similar"])])
    with pytest.raises(UserError, match=r"has the key 'aaa_1000/frame-30.jpg'; give the anchor, a comma"):
        open_natural(root, "ytbb-robust")


def test_ytbb_robust_is_found_wherever_its_files_are_read(tmp_path: Path) -> None:
    root = ytbb(tmp_path / "robust")
    (root / "metadata").rename(root / "misc")
    assert open_for_suite(root, None, None)[1].name == "ytbb-robust"


def test_ytbb_anchors_are_never_labelled_by_additions_alone(tmp_path: Path) -> None:
    root = ytbb(tmp_path / "robust")
    raw = root / "metadata" / "ytbb_test_anchors_full.csv"
    lines = raw.read_text().splitlines(keepends=True)
    raw.write_text("".join(line for line in lines if not line.startswith("aaa")))
    found = open_natural(root, "ytbb-robust")
    # aaa's annotators added a person to the car, which only the raw list names.
    assert set(labels_of(found, "ytbb-robust")) == {"bbb_2000/frame-60.jpg", "eee_5000/frame-10.jpg"}
    assert any("1 good anchors ('aaa_1000/frame-30.jpg' ...) are left out" in one for one in found.notes)
    raw.unlink()
    with pytest.raises(UserError, match=r"no \*test_anchors_full.csv in metadata, the folder itself, misc"):
        open_natural(root, "ytbb-robust")


@pytest.mark.parametrize("second", [[1, 0], [1]])
def test_a_frame_of_two_ytbb_anchors_has_one_list_of_labels(tmp_path: Path, second: list[int]) -> None:
    first, shared, other = (f"v/00000{number}.JPEG" for number in (1, 2, 3))
    for key in (first, shared, other):
        put(tmp_path / key, 7)
    (tmp_path / "pmsets.json").write_text(json.dumps({first: [shared], other: [shared]}))
    (tmp_path / "labels.json").write_text(json.dumps({first: [0, 1], other: second}))
    if len(second) == 2:
        assert labels_of(open_natural(tmp_path, "ytbb-robust"), "ytbb-robust")[shared] == (0, 1)
        return
    with pytest.raises(UserError, match=r"000002.JPEG belongs to two anchors .*the second is .*000003.JPEG"):
        open_natural(tmp_path, "ytbb-robust")


def test_a_frame_of_two_annotated_anchors_has_one_list_of_labels(tmp_path: Path) -> None:
    root = ytbb(tmp_path / "robust")
    file = root / "metadata" / "pmk_labels.json"
    content = json.loads(file.read_text())
    shared = "bbb_2000/frame-60.jpg,aaa_1000/frame-29.jpg"
    content["annotations"].append({"key": shared, "notes": "", "labels": [0]})
    file.write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"aaa_1000/frame-29.jpg belongs to two anchors"):
        open_natural(root, "ytbb-robust")


def test_own_frames_come_as_json_with_a_class_index_or_as_a_table(tmp_path: Path) -> None:
    root = video_set(tmp_path / "cows", {"v1": {0: ([0], 0), 2: ([1], 1)}}, "frames")
    (root / "metadata" / "class_index.json").write_text(json.dumps({"0": ["n1", "calf"], "1": ["n2", "cow"]}))
    dataset, suite = open_for_suite(root, None, None)
    assert suite.name == "pm-k" and dataset.label_space.classes == ("calf", "cow")
    table = write_csv(
        tmp_path / "frames.csv",
        ["file", "set", "offset", "label", "video"],
        [["a.png", "s1", 0, "cow", "v"], ["b.png", "s1", "+1", "cow", "v"], ["b.png", "s2", 0, "cow", "v"],
         ["a.png", "s2", -1, "cow", "v"]],
    )  # fmt: skip
    found, suite = open_for_suite(table, None, None)
    assert suite.name == "pm-k" and isinstance(found, NaturalDataset)
    assert [one.id for one in found.samples()] == ["a.png", "b.png"]
    rows = [(one.group, one.sample_id, one.offset) for one in found.frames]
    assert rows == [("s1", "a.png", 0), ("s1", "b.png", 1), ("s2", "a.png", -1), ("s2", "b.png", 0)]


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ([["a.png", "s", 1, "x"]], "set 's' has 0 frames with offset 0"),
        ([["a.png", "s", 0, "x"], ["b.png", "s", 0, "x"]], "set 's' has 2 frames with offset 0"),
        ([["a.png", "", 0, "x"]], "set '' and offset '0'"),
        ([["a.png", "s", "near", "x"]], "offset 'near'"),
        ([["a.png", "s", 0, "x"], ["a.png", "t", 0, "y"]], "a.png has different labels in two rows"),
        (
            [["a.png", "s", 0, "x"], ["b.png", "s", 1, "x"], ["a.png", "t", 0, "x"], ["c.png", "t", 1, "x"]],
            "sets 's' and 't' have the same anchor, a.png",
        ),
    ],
)
def test_tables_of_frames_that_make_no_sets_are_refused(tmp_path: Path, rows: list, what: str) -> None:
    table = write_csv(tmp_path / "frames.csv", ["file", "set", "offset", "label"], rows)
    with pytest.raises(UserError, match=what):
        open_natural(table, "pm-k")


def test_a_missing_column_of_frames_is_named(tmp_path: Path) -> None:
    for columns, what in (
        (
            ["file", "set", "ofset", "label"],
            "has no column offset; in addition to file and label it has ofset, set",
        ),
        (
            ["file", "sett", "offset", "label"],
            "has no column set or anchor or group; in addition to file and label it has offset, sett",
        ),
    ):
        table = write_csv(tmp_path / "frames.csv", columns, [["a.png", "s", 0, "x"]])
        with pytest.raises(UserError, match=what):
            open_natural(table, "pm-k")


def test_sets_are_found_by_their_classes_but_imagenets_own_images_are_clean(tmp_path: Path) -> None:
    for label in IN_R:
        put(tmp_path / "renditions" / WNIDS[label] / "art_0.jpg", label)
    assert open_for_suite(tmp_path / "renditions", None, None)[1].name == "imagenet-r"
    clean = clean_folder(tmp_path / "val-of-o", IN_O, right=1, wrong=0)
    dataset, suite = open_for_suite(clean, None, None)
    assert suite.name == "imagenet-c-quick" and isinstance(dataset, FolderDataset)


@pytest.mark.parametrize(
    ("folder", "file"),
    [
        ("imagenet-a", "ILSVRC2012_val_00000001.JPEG"),
        ("imagenet-a", "{wnid}_12.JPEG"),
        ("imagenet-a-clean", "x.png"),
        ("imagenet_o_in", "x.png"),
        ("ImageNet-R-val", "x.png"),
        ("imagenet-sketch", "ILSVRC2012_val_00000001.JPEG"),
    ],
)
def test_clean_images_are_not_taken_for_a_set_by_its_name(tmp_path: Path, folder: str, file: str) -> None:
    put(tmp_path / folder / WNIDS[IN_A[0]] / file.format(wnid=WNIDS[IN_A[0]]), 1)
    assert isinstance(open_for_suite(tmp_path / folder, None, None)[0], FolderDataset)


@pytest.mark.parametrize("file", ["ILSVRC2012_val_00000001.JPEG", "n01440764_7.JPEG", "a1b2.jpeg"])
def test_numbered_folders_of_imagenets_own_images_are_not_v2(tmp_path: Path, file: str) -> None:
    image = put(tmp_path / "one.png", 1)
    for label in range(1000):
        (tmp_path / "val" / str(label)).mkdir(parents=True)
        (tmp_path / "val" / str(label) / file).hardlink_to(image)
    name = open_for_suite(tmp_path / "val", None, None)[1].name
    assert name == ("imagenet-v2" if file == "a1b2.jpeg" else "imagenet-c-quick")


def test_imagenet_os_images_of_other_ids_are_its_own(tmp_path: Path) -> None:
    put(tmp_path / "imagenet-o" / WNIDS[IN_O[0]] / "n07758950_12.JPEG", 1)
    clean = clean_folder(tmp_path / "val", IN_O[:2])
    assert open_for_suite(tmp_path / "imagenet-o", None, clean)[1].name == "imagenet-o"


def test_a_suite_that_is_not_natural_takes_the_folder_as_it_is(tmp_path: Path) -> None:
    put(tmp_path / "imagenet-a" / WNIDS[IN_A[0]] / "a.png", 1)
    assert isinstance(open_for_suite(tmp_path / "imagenet-a", "imagenet-c", None)[0], FolderDataset)
    found = open_for_suite(tmp_path / "imagenet-a", None, None)[0]
    assert isinstance(found, NaturalDataset)
    assert "is read as ImageNet-A" in found.notes[0]
    assert any("No clean images" in one for one in found.notes)


def test_own_classes_are_joined_by_name(tmp_path: Path) -> None:
    put(tmp_path / "night" / "zebra" / "a.png", 1)
    for name in ("ant", "bee", "zebra"):
        put(tmp_path / "day" / name / "b.png", 1)
    found = open_natural(tmp_path / "night", "natural", tmp_path / "day")
    assert found.label_space.classes == ("ant", "bee", "zebra")
    assert labels_of(found, "shifted") == {"zebra/a.png": (2,)}
    assert labels_of(found, "clean") == {"clean/zebra/b.png": (2,)}
    put(tmp_path / "other" / "wasp" / "a.png", 1)
    with pytest.raises(UserError, match="no image of a class"):
        open_natural(tmp_path / "night", "natural", tmp_path / "other")


def test_the_clean_part_of_a_subset_has_the_classes_of_the_other(tmp_path: Path) -> None:
    for label in range(100):
        for place in range(3):
            put(tmp_path / "imagenet-sketch" / WNIDS[label] / f"{place}.png", label)
    found = open_natural(
        tmp_path / "imagenet-sketch",
        "imagenet-sketch",
        clean_folder(tmp_path / "val", list(range(100)), 3, 0),
    )
    few = found.subset(found.samples(), 20, seed=0)
    shifted, clean = (
        {one.labels for one in few if (one.meta["part"] == "clean") is wanted} for wanted in (False, True)
    )
    assert len(shifted) == 10 and shifted == clean
    assert found.subset_notes(few) == []
    alone = [one for one in few if one.meta["part"] != "clean" or one.labels == min(clean)]
    (note,) = found.subset_notes(alone)
    assert note.startswith("9 classes have no clean image in the subset")


def test_subsets_draw_from_every_part_and_keep_sets_whole(tmp_path: Path) -> None:
    for label in IN_A[:5]:
        for place in range(20):
            put(tmp_path / "imagenet-a" / WNIDS[label] / f"{place}.png", label)
    clean = clean_folder(tmp_path / "val", IN_A[:5], right=10, wrong=0)
    found = open_natural(tmp_path / "imagenet-a", "imagenet-a", clean)
    some = found.subset(found.samples(), 30, seed=1)
    parts = [one.meta["part"] for one in some]
    assert (parts.count("imagenet-a"), parts.count("clean")) == (20, 10)
    assert set(np.unique([one.labels[0] for one in some], return_counts=True)[1]) == {6}
    sets = {f"ILSVRC2015_val_{v}": {k: ([4], 7) for k in range(-2, 3)} for v in range(6)}
    video = open_natural(video_set(tmp_path / "vid-robust", sets), "vid-robust")
    few = video.subset(video.samples(), 10, seed=0)
    assert len(few) == 10 and len({one.meta["video"] for one in few}) == 2


def test_folders_of_the_clean_classes_are_not_out_of_distribution(tmp_path: Path) -> None:
    for name in ("ant", "bee", "zebra"):
        put(tmp_path / "day" / name / "b.png", 1)
    put(tmp_path / "out" / "zebra" / "a.png", 1)
    put(tmp_path / "out" / "noise" / "a.png", 1)
    found = open_natural(tmp_path / "out", "ood", tmp_path / "day")
    assert any("1 of 2 folders" in one and "'zebra'" in one for one in found.notes)
    (tmp_path / "out" / "zebra" / "a.png").unlink()
    assert not any("folders" in one for one in open_natural(tmp_path / "out", "ood", tmp_path / "day").notes)


@pytest.mark.parametrize(
    ("folders", "name"),
    [
        (["alarm_clock", "banana", "bath_towel"], "objectnet"),
        (["0", "7", "999"], "imagenet-v2"),
        ([WNIDS[IN_A[0]]], "imagenet-a"),
        (["cow", "horse"], ""),
    ],
)
def test_a_set_under_another_name_is_told_its_suite(tmp_path: Path, folders: list[str], name: str) -> None:
    for folder in folders:
        put(tmp_path / "images" / folder / "a.png", 1)
    clean = clean_folder(tmp_path / "val", [0])
    with pytest.raises(UserError, match="images is neither") as told:
        open_for_suite(tmp_path / "images", None, clean)
    assert (f"may be those of {name}" in str(told.value)) == bool(name)


def test_clean_images_need_class_folders(tmp_path: Path) -> None:
    put(tmp_path / "strange" / "a.png", 1)
    put(tmp_path / "day" / "b.png", 2)
    with pytest.raises(UserError, match=r"day have no labels.*into one folder per class"):
        open_natural(tmp_path / "strange", "ood", tmp_path / "day")
