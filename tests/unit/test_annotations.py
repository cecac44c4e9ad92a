"""Annotated data: COCO, Pascal VOC and YOLO files become the same objects; bad files give one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import windtunnel
from windtunnel.core.errors import UserError
from windtunnel.data import Dataset
from windtunnel.data.survey import survey

WIDTH, HEIGHT = 64, 48


def put_image(file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.zeros((HEIGHT, WIDTH, 3), np.uint8)).save(file)


def coco(root: Path, text: str = "", **changes: Any) -> Path:
    """A COCO file with two boxes in one of two images."""
    put_image(root / "images" / "a.jpg")
    put_image(root / "images" / "b.jpg")
    content = {
        "images": [{"id": 7, "file_name": "a.jpg"}, {"id": 8, "file_name": "b.jpg"}],
        "categories": [{"id": 3, "name": "dog"}, {"id": 1, "name": "cat"}],
        "annotations": [
            {"id": 1, "image_id": 7, "category_id": 3, "bbox": [8, 12, 32, 24]},
            {"id": 2, "image_id": 7, "category_id": 1, "bbox": [0, 0, 16, 12], "iscrowd": 1},
        ],
        **changes,
    }
    (root / "set.json").write_text(text or json.dumps(content))
    return root / "set.json"


def voc(root: Path, body: str = "") -> Path:
    put_image(root / "JPEGImages" / "a.jpg")
    put_image(root / "JPEGImages" / "b.jpg")
    (root / "Annotations").mkdir()
    objects = "".join(
        f"<object><name>{name}</name><difficult>{difficult}</difficult><bndbox><xmin>{box[0]}</xmin>"
        f"<ymin>{box[1]}</ymin><xmax>{box[2]}</xmax><ymax>{box[3]}</ymax></bndbox></object>"
        for name, difficult, box in (("dog", 0, (9, 13, 40, 36)), ("cat", 1, (1, 1, 16, 12)))
    )
    (root / "Annotations" / "a.xml").write_text(body or f"<annotation>{objects}</annotation>")
    (root / "Annotations" / "b.xml").write_text("<annotation/>")
    (root / "ImageSets" / "Main").mkdir(parents=True)
    (root / "ImageSets" / "Main" / "val.txt").write_text("b\n")
    return root


def yolo(root: Path, lines: str = "1 0.375 0.5 0.5 0.5\n0 0 0 0.25 0 0.25 0.25 0 0.25\n") -> Path:
    put_image(root / "images" / "val" / "a.jpg")
    put_image(root / "images" / "train" / "b.jpg")
    (root / "labels" / "val").mkdir(parents=True)
    (root / "labels" / "val" / "a.txt").write_text(lines)
    (root / "data.yaml").write_text("path: .\nnames:\n  0: cat\n  1: 'dog'  # a comment\nnc: 2\n")
    return root


def boxes(dataset: Dataset) -> dict[str, list[tuple[str, tuple[float, ...]]]]:
    assert dataset.annotations is not None
    return {
        id_.rsplit("/", 1)[-1]: sorted((dataset.label_space.classes[o.category], o.box) for o in objects)
        for id_, objects in dataset.annotations.items()
        if objects
    }


def test_three_formats_give_the_same_objects(tmp_path: Path) -> None:
    expected = {"a.jpg": [("cat", (0, 0, 16, 12)), ("dog", (8, 12, 32, 24))]}
    sets = [windtunnel.open_dataset(make(tmp_path / make.__name__)) for make in (coco_in, voc, yolo)]
    assert [boxes(dataset) for dataset in sets] == [expected] * 3
    assert [len(dataset.samples()) for dataset in sets] == [2, 2, 2]
    crowds = [{o.crowd for o in objects} for objects in (sets[1].annotations or {}).values() if objects]
    assert crowds == [{True, False}]  # difficult objects
    assert [s.id for s in windtunnel.open_dataset(f"{tmp_path}/voc#val").samples()] == ["b.jpg"]
    assert [s.id for s in windtunnel.open_dataset(f"{tmp_path}/yolo#val").samples()] == ["images/val/a.jpg"]
    for part in ("voc#test", "yolo#test"):
        with pytest.raises(UserError, match="has no split 'test'"):
            windtunnel.open_dataset(f"{tmp_path}/{part}")


def coco_in(root: Path) -> Path:
    root.mkdir()
    return coco(root)


def annotation(**changes: Any) -> dict[str, Any]:
    return {"id": 9, "image_id": 7, "category_id": 3, "bbox": [1, 2, 3, 4]} | changes


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"annotations": [annotation(image_id=99)]}, "1 annotation of 1 have an unknown image_id .*99"),
        ({"annotations": [annotation(category_id=5)]}, "unknown category_id .*5"),
        ({"images": [{"id": 7, "file_name": "../a.jpg"}]}, "leaves the folder of the images"),
        ({"annotations": [annotation(), annotation()]}, r"1 annotation id twice \(the first: 9\)"),
        ({"images": [{"id": 7, "file_name": "a.jpg"}] * 2}, "1 image id twice"),
        ({"images": [{"id": i, "file_name": "a.jpg"} for i in (7, 8)]}, "the id 'a.jpg' twice"),
        ({"categories": [{"id": 3, "name": "x"}] * 2}, "1 category id twice"),
        ({"annotations": [annotation(bbox="1 2 3 4")]}, "not a COCO annotation file: Expected `array`"),
        ({"annotations": [annotation(bbox=["1", 2, 3, 4])]}, "not a COCO annotation file: Expected"),
        ({"annotations": {"1": 2}}, "not a COCO annotation file: Expected `array`, got `object`"),
        ({"images": []}, "lists no images|unknown image_id"),
        ({"images": [{"id": 7, "file_name": "gone.jpg"}], "annotations": []}, "gone.jpg is in none of"),
        ({"text": '{"images": [{"id": 7, "file_na'}, "is not valid JSON .*truncated"),
        ({"text": '{"images": [], "annotations": [{"bbox": [NaN, 1, 2, 3]}]}'}, "is not valid JSON"),
    ],
)
def test_a_bad_coco_file_is_refused_in_one_line(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=message) as refusal:
        windtunnel.open_dataset(coco(tmp_path, **changes))
    assert "\n" not in str(refusal.value) and "set.json" in str(refusal.value)


def test_faulty_boxes_are_counted_and_the_others_stay(tmp_path: Path) -> None:
    faulty = [[1, 2, -3, 4], [1, 2, 0, 4], [None, 2, 3, 4], [1, 2, 3]]
    outside = [[900, 2, 3, 4], [-50, 2, 3, 4], [-1, -1, 4, 4]]  # the last one is only partly outside
    given = [annotation(id=i, bbox=box) for i, box in enumerate([*faulty, *outside])]
    dataset = windtunnel.open_dataset(coco(tmp_path, annotations=given))
    assert boxes(dataset) == {"a.jpg": sorted(("dog", tuple(map(float, box))) for box in outside)}
    assert list(dataset.notes) == [
        "2 annotations left out: the box has no area (the first: id 0).",
        "1 annotation left out: the box is not finite (the first: id 2).",
        "1 annotation left out: the box has 3 numbers instead of 4 (the first: id 3).",
    ]
    (note,) = dataset.check_content(survey(dataset, dataset.samples()))
    assert note == "2 boxes wholly outside the image (the first in a.jpg): no detection can match."


BOX = "<name>cat</name><bndbox><xmin>{}</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax></bndbox>"
BOMB = '<!DOCTYPE a [<!ENTITY e "ee"><!ENTITY f "&e;&e;">]><annotation>&f;</annotation>'


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (BOMB, r"a.xml: a DOCTYPE \(a\) is not allowed"),
        ("<annotation><object>", "a.xml is not valid XML"),
        ("<html/>", "a.xml is not a Pascal VOC file: its element is <html>"),
        (
            f"<annotation><object>{BOX.format('left')}</object></annotation>",
            "object 1 has the coordinate 'left'",
        ),
        ("<annotation><object/></annotation>", "object 1 has no <name>"),
        (f"<annotation><object>{BOX.format('nan')}</object></annotation>", ""),
        (f"<annotation><object>{BOX.format('10')}</object></annotation>", ""),
    ],
)
def test_a_bad_voc_file_gives_one_line_or_a_note(body: str, message: str, tmp_path: Path) -> None:
    if message:
        with pytest.raises(UserError, match=message):
            windtunnel.open_dataset(voc(tmp_path, body))
    else:
        dataset = windtunnel.open_dataset(voc(tmp_path, body))
        assert len(dataset.notes) == 1 and "object 1 of a.xml" in dataset.notes[0]
        assert len(dataset.samples()) == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("2 0.5 0.5 0.5 0.5", "line 1 has the class 2; the dataset has the classes 0 to 1"),
        ("cat 0.5 0.5 0.5 0.5", "line 1 is 'cat 0.5 0.5 0.5 0.5'; write a class index and numbers"),
        ("0 nan 0.5 0.5 0.5", ""),
        ("0 0.5 0.5 -0.5 0.5", ""),
        ("0 30 20 10 10", ""),
        ("0 0.5 0.5 0.5", ""),
    ],
)
def test_a_bad_yolo_line_gives_one_line_or_a_note(line: str, message: str, tmp_path: Path) -> None:
    if message:
        with pytest.raises(UserError, match=message):
            windtunnel.open_dataset(yolo(tmp_path, line))
    else:
        dataset = windtunnel.open_dataset(yolo(tmp_path, line + "\n1 0.5 0.5 0.5 0.5\n"))
        assert boxes(dataset) == {"a.jpg": [("dog", (16, 12, 32, 24))]}
        assert len(dataset.notes) == 1 and "line 1 of labels/val/a.txt" in dataset.notes[0]


@pytest.mark.parametrize("names", ["[cat, 'dog']", "[cat,\n  dog]", "{0: cat, 1: dog}", "\n- cat\n- dog"])
def test_class_names_of_a_yolo_folder(names: str, tmp_path: Path) -> None:
    root = yolo(tmp_path)
    (root / "data.yaml").write_text(f"train: images/train\nnames: {names}\n")
    assert windtunnel.open_dataset(root).label_space.classes == ("cat", "dog")
