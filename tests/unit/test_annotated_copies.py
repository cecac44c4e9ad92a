"""Copies of annotated images: boxes and masks follow the pixels, and everything else stays."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw

import windtunnel
from windtunnel import api
from windtunnel.core.errors import UserError
from windtunnel.corruptions import REGISTRY
from windtunnel.imaging.masks import run_length_code, segmentation_mask
from windtunnel.suites.suite import Suite

WIDTH, HEIGHT = 200, 140
# A polygon without symmetry, near the centre so that most of it stays in the image.
SHAPE = [(80, 48), (128, 56), (118, 92), (96, 74), (84, 90)]
MOVING = [name for name in REGISTRY.shipped() if REGISTRY.get(name).motion == "moves"]


def drawn(shape: list[tuple[int, int]]) -> Image.Image:
    """The polygon in white on black, as pixels."""
    image = Image.new("RGB", (WIDTH, HEIGHT))
    ImageDraw.Draw(image).polygon(shape, fill=(255, 255, 255))
    return image


def runs_of(mask: np.ndarray) -> dict[str, Any]:
    """An uncompressed run-length code, column by column."""
    flat, counts, value, run = mask.T.reshape(-1), [], False, 0
    for pixel in flat:
        if bool(pixel) != value:
            counts, value, run = [*counts, run], bool(pixel), 0
        run += 1
    return {"size": [HEIGHT, WIDTH], "counts": [*counts, run]}


@pytest.fixture
def annotated(tmp_path: Path) -> Path:
    """One image of a polygon, annotated as polygon, as run-length code, and as a box alone."""
    (tmp_path / "images" / "street").mkdir(parents=True)
    drawn(SHAPE).save(tmp_path / "images" / "street" / "a.png")
    rows, columns = np.nonzero(np.asarray(drawn(SHAPE))[:, :, 0])
    left, top = int(columns.min()), int(rows.min())
    box = [left, top, int(columns.max()) + 1 - left, int(rows.max()) + 1 - top]
    mask = np.asarray(drawn(SHAPE))[:, :, 0] > 0
    masks = [[[float(value) + 0.5 for point in SHAPE for value in point]], runs_of(mask), None]
    things = [
        {
            "id": 40 + n,
            "image_id": 12,
            "category_id": 5,
            "bbox": box,
            "iscrowd": n == 1,
            "segmentation": outline,
        }
        for n, outline in enumerate(masks)
    ]
    content = {
        "images": [{"id": 12, "file_name": "street/a.png"}],
        "categories": [{"id": 5, "name": "kite"}, {"id": 9, "name": "car"}],
        "annotations": [{**thing, "iscrowd": int(thing["iscrowd"])} for thing in things],
    }
    (tmp_path / "set.json").write_text(json.dumps(content))
    return tmp_path / "set.json"


def box_of(mask: np.ndarray) -> np.ndarray:
    rows, columns = np.nonzero(mask)
    return np.array([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1])


def iou(mask: np.ndarray, other: np.ndarray) -> float:
    return float((mask & other).sum() / (mask | other).sum())


def test_boxes_and_masks_follow_the_pixels_of_every_unit_that_moves_them(
    annotated: Path, tmp_path: Path
) -> None:
    suite = Suite("own", 1, units=tuple(MOVING), levels=(1, 3, 5), codec="png", edition=224)
    out = api.make_set(suite, annotated, tmp_path / "made", seed=4)
    files = sorted(Path(out).rglob("annotations.json"))
    files = [file for file in files if ".windtunnel" not in file.parts]
    assert len(files) == sum(1 if REGISTRY.get(name).has_one_strength else 3 for name in MOVING)
    seen = 0
    for file in files:
        dataset = windtunnel.open_dataset(file)
        pixels = np.asarray(Image.open(file.parent / "street" / "a.png"))[:, :, 0] >= 128
        things = {thing["id"]: thing for thing in json.loads(file.read_text())["annotations"]}
        if not pixels.any():
            assert not {40, 41} & things.keys()  # the polygon has left the image
            continue
        seen += 1
        for id_ in (40, 41):
            mask = segmentation_mask(things[id_]["segmentation"], WIDTH, HEIGHT)
            assert iou(mask, pixels) > 0.9, file
            left, top, width, height = things[id_]["bbox"]
            assert np.abs(np.array([left, top, left + width, top + height]) - box_of(pixels)).max() <= 2, file
            assert things[id_]["area"] == mask.sum()
        # A box alone is moved as a filled box, so it contains the polygon.
        left, top, width, height = things[42]["bbox"]
        corners = np.array([left, top, left + width, top + height])
        assert (np.abs((corners - box_of(pixels)).clip(*[[0, 0, -99, -99], [99, 99, 0, 0]])) <= 2).all(), file
        assert things[42]["segmentation"] == [] and dataset.label_space.classes == ("kite", "car")
    assert seen >= len(files) - 1
    assert api.verify_set(out).sound


def test_photometric_units_leave_annotations_ids_names_and_sizes(annotated: Path, tmp_path: Path) -> None:
    out = Path(str(api.make_set("coco-c", annotated, tmp_path / "made", only=["fog:3"])))
    source, made = json.loads(annotated.read_text()), json.loads((out / "fog/3/annotations.json").read_text())
    assert made["categories"] == source["categories"]
    assert made["images"] == [{"id": 12, "file_name": "street/a.png", "width": WIDTH, "height": HEIGHT}]
    kept = ("id", "image_id", "category_id", "bbox", "iscrowd", "segmentation")
    for thing, before in zip(made["annotations"], source["annotations"], strict=True):
        assert [thing[key] for key in kept] == [
            before[key] or ([] if key == "segmentation" else 0) for key in kept
        ]
    expected = windtunnel.corrupt(
        np.asarray(drawn(SHAPE)), "fog", 3, seed=0, sample_id="street/a.png", edition=224
    )
    assert np.array_equal(np.asarray(Image.open(out / "fog/3/street/a.png")), expected)
    (out / "fog/3/annotations.json").write_text("{}")
    assert list(api.verify_set(out).damaged) == ["fog/3/annotations.json"]
    api.make_set("coco-c", annotated, out, only=["fog:3"])
    assert api.verify_set(out).sound
    with pytest.raises(UserError, match=r"a dataset for every condition; give .*fog/3/annotations.json"):
        windtunnel.open_dataset(out)


def test_a_tree_without_classes_is_copied(tmp_path: Path) -> None:
    for name in ("a.png", "deep/er/b.jpg"):
        (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        drawn(SHAPE).save(tmp_path / "tree" / name)
    api.make_set("imagenet-c", tmp_path / "tree", tmp_path / "made", only=["snow:1"], layout="copies")
    made = {
        str(file.relative_to(tmp_path / "made/snow/1")) for file in (tmp_path / "made/snow/1").rglob("*.*")
    }
    assert made == {"a.JPEG", "deep/er/b.jpg"}
    assert Image.open(tmp_path / "made/snow/1/deep/er/b.jpg").size == (WIDTH, HEIGHT)


def test_a_unit_that_tears_objects_apart_is_refused(annotated: Path, tmp_path: Path) -> None:
    suite = Suite("own", 1, units=("s2n/random_grid_shuffle",), levels=())
    with pytest.raises(UserError, match="s2n/random_grid_shuffle tears objects into pieces"):
        api.make_set(suite, annotated, tmp_path / "made")


def test_results_of_other_programs_are_scored(annotated: Path, tmp_path: Path) -> None:
    (tmp_path / "results" / "fog").mkdir(parents=True)
    box = json.loads(annotated.read_text())["annotations"][0]["bbox"]
    right = {"image_id": 12, "category_id": 5, "bbox": box, "score": 0.9}
    (tmp_path / "results" / "clean.json").write_text(json.dumps([right]))
    # Of the two objects that are no crowd, one is found before an object that does not exist.
    wrong = {"image_id": 12, "category_id": 9, "bbox": [0, 0, 20, 20], "score": 0.5}
    (tmp_path / "results" / "fog" / "3.json").write_text(json.dumps([wrong]))
    run = api.score_predictions(tmp_path / "results", annotated, out=tmp_path / "run")
    scores = {(score.metric, score.condition): score.value for score in run.scores()}
    assert scores["ap", "clean"] == pytest.approx(51 / 101)  # recall 1/2 at precision 1
    assert scores["ap", "fog:3"] == 0
    again = api.score_predictions(tmp_path / "results" / "clean.json", annotated, out=tmp_path / "alone")
    assert [condition.name for condition in again.conditions] == ["clean"]


def test_recall_points_are_those_of_the_coco_evaluator(tmp_path: Path) -> None:
    """57 of 100 objects are a recall of 0.57, which is less than numpy.linspace(0, 1, 101)[57]."""
    drawn(SHAPE).save(tmp_path / "a.png")
    boxes = [[19 * (n % 10), 13 * (n // 10), 18, 12] for n in range(100)]
    shared = {"image_id": 1, "category_id": 1}
    content = {
        "images": [{"id": 1, "file_name": "a.png"}],
        "categories": [{"id": 1, "name": "kite"}],
        "annotations": [{**shared, "id": n, "bbox": box} for n, box in enumerate(boxes)],
    }
    (tmp_path / "set.json").write_text(json.dumps(content))
    results = [{**shared, "bbox": box, "score": 1 - n / 100} for n, box in enumerate(boxes[:57])]
    (tmp_path / "results.json").write_text(json.dumps(results))
    run = api.score_predictions(tmp_path / "results.json", tmp_path / "set.json", out=tmp_path / "run")
    (value,) = [score.value for score in run.scores() if score.metric == "ap"]
    assert value == pytest.approx(57 / 101, abs=1e-12)


@pytest.mark.parametrize(
    ("results", "message"),
    [
        (
            [{"image_id": 5, "category_id": 5, "bbox": [1, 2, 3, 4], "score": 1}],
            "1 result of 1 with an unknown image_id",
        ),
        ([{"image_id": 12, "category_id": 7, "bbox": [1, 2, 3, 4], "score": 1}], "unknown category_id .*7"),
        ([{"image_id": 12, "category_id": 5, "bbox": [1, 2, 3], "score": 1}], "not a COCO result file"),
        ([{"image_id": 12, "category_id": 5, "bbox": [1, 2, 3, 4]}], "not a COCO result file.*score"),
    ],
)
def test_bad_results_are_refused_in_one_line(
    results: list[dict[str, Any]], message: str, annotated: Path, tmp_path: Path
) -> None:
    (tmp_path / "results.json").write_text(json.dumps(results))
    with pytest.raises(UserError, match=message):
        api.score_predictions(tmp_path / "results.json", annotated, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_run_length_codes_are_those_of_the_coco_tools() -> None:
    tools = importlib.import_module("faster_coco_eval.core.mask")
    for seed in range(20):
        mask = np.random.default_rng(seed).random((37, 23)) < 0.05 * seed
        code = run_length_code(mask)
        theirs = tools.encode(np.asfortranarray(mask.astype(np.uint8)))
        assert code["counts"].encode() == theirs["counts"] and code["size"] == list(theirs["size"])
        assert np.array_equal(segmentation_mask(code, 23, 37), mask)
