"""Scores of detections equal COCO's evaluator; heads and suppression equal hand-worked cases."""

from __future__ import annotations

import importlib
import math
from dataclasses import replace

import numpy as np
import pytest

from windtunnel.imaging.geometry import Geometry, boxes_in_source
from windtunnel.metrics.detections.matches import (
    FoundBoxes,
    TrueBoxes,
    match,
    without_categories,
)
from windtunnel.models.heads import REGISTRY, HeadSettings, decoded, suppressed

CATEGORIES = 4


def random_set(seed: int) -> tuple[FoundBoxes, TrueBoxes, int]:
    """Boxes of a few images: crowds, tied scores, images without objects, categories without either."""
    rng = np.random.default_rng(seed)
    images, objects = int(rng.integers(1, 9)), int(rng.choice([1, 5, 20, 25]))
    boxes = rng.integers(0, 60, (objects, 4)).astype(float)
    boxes[:, 2:] = boxes[:, :2] + rng.integers(4, 30, (objects, 2))
    # The last category has no object, and the first image has none if there are several.
    owner = rng.integers(min(1, images - 1), images, objects)
    category = rng.integers(0, CATEGORIES - 1 if seed % 2 else 1, objects)
    true = TrueBoxes(owner, category, boxes, rng.random(objects) < 0.15)
    near = rng.integers(0, objects, 2 * objects)
    found = boxes[near] + rng.integers(-4, 5, (2 * objects, 4))
    found[:, 2:] = np.maximum(found[:, 2:], found[:, :2] + 1)
    named = np.where(rng.random(2 * objects) < 0.8, category[near], rng.integers(0, CATEGORIES, 2 * objects))
    image = np.where(rng.random(2 * objects) < 0.9, owner[near], rng.integers(0, images, 2 * objects))
    score = (rng.integers(0, 12, 2 * objects) / 12).astype(np.float32)
    order = np.lexsort((-score, image))
    return FoundBoxes(image[order], named[order], found[order], score[order]), true, images


def evaluated(found: FoundBoxes, true: TrueBoxes, images: int, *, categories: bool = True) -> list[float]:
    """AP, AP50 and AP75 by faster-coco-eval."""
    coco_eval = importlib.import_module("faster_coco_eval")

    def rows(boxes: FoundBoxes | TrueBoxes) -> list[dict[str, object]]:
        return [
            {
                "id": place + 1,
                "image_id": int(boxes.image[place]) + 1,
                "category_id": int(boxes.category[place]) + 1,
                "bbox": [*map(float, box[:2]), float(box[2] - box[0]), float(box[3] - box[1])],
                "area": float(np.prod(box[2:] - box[:2])),
            }
            for place, box in enumerate(boxes.box)
        ]

    truth = coco_eval.COCO(
        {
            "info": {},
            "images": [{"id": number + 1, "width": 100, "height": 100} for number in range(images)],
            "categories": [{"id": number + 1, "name": str(number)} for number in range(CATEGORIES)],
            "annotations": [
                row | {"iscrowd": int(crowd)} for row, crowd in zip(rows(true), true.crowd, strict=True)
            ],
        }
    )
    results = [row | {"score": float(score)} for row, score in zip(rows(found), found.score, strict=True)]
    evaluator = coco_eval.COCOeval_faster(
        truth, truth.loadRes(results), "bbox", print_function=lambda *_: None
    )
    evaluator.params.useCats = int(categories)
    evaluator.evaluate()
    evaluator.accumulate()
    evaluator.summarize()
    return [float(value) for value in evaluator.stats[:3]]


@pytest.mark.parametrize("localisation", [False, True])
def test_average_precision_equals_cocos_evaluator(localisation: bool) -> None:
    for seed in range(40):
        found, true, images = random_set(seed)
        expected = evaluated(found, true, images, categories=not localisation)
        if localisation:
            matches = match(without_categories(found), without_categories(true), images)
        else:
            matches = match(found, true, images)
        values = matches.precisions(np.ones((1, images)))[0]
        if true.crowd.all():
            assert np.isnan(values).all() and expected[0] == -1, seed
            continue
        assert [values.mean(), values[0], values[5]] == pytest.approx(expected, abs=1e-12), seed


def test_weights_are_repetitions_of_images() -> None:
    for seed in range(20):
        found, true, images = random_set(seed)
        # Without ties: copies of an image would otherwise be sorted between those of others.
        found = replace(found, score=np.random.default_rng(seed).permutation(len(found.score)).astype("f4"))
        times = np.random.default_rng(seed).integers(0, 4, images)
        source = np.repeat(np.arange(images), times)

        def repeated(boxes, source=source):
            rows = [np.flatnonzero(boxes.image == image) for image in source]
            taken = {
                name: values[np.concatenate([*rows, []]).astype(int)] for name, values in vars(boxes).items()
            }
            taken["image"] = np.repeat(np.arange(len(source)), [len(part) for part in rows])
            return type(boxes)(**taken)

        weighted = match(found, true, images).precisions(times[None].astype(float))
        copies = match(repeated(found), repeated(true), len(source)).precisions(np.ones((1, len(source))))
        np.testing.assert_allclose(weighted, copies, atol=1e-12, err_msg=str(seed))


def test_suppression_equals_a_brute_force_loop() -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        count = int(rng.integers(0, 25))
        boxes = rng.integers(0, 20, (count, 4)).astype(np.float32)
        boxes[:, 2:] = boxes[:, :2] + rng.integers(1, 12, (count, 2))
        scores, classes = rng.random(count).astype(np.float32), rng.integers(0, 3, count).astype(np.int32)
        kept: list[int] = []
        for place in sorted(range(count), key=lambda place: -scores[place]):
            if all(
                classes[place] != classes[other] or _iou(boxes[place], boxes[other]) <= 0.41 for other in kept
            ):
                kept.append(place)
        assert suppressed(boxes, scores, classes, 0.41).tolist() == kept


def _iou(one: np.ndarray, two: np.ndarray) -> float:
    width = max(0.0, min(one[2], two[2]) - max(one[0], two[0]))
    height = max(0.0, min(one[3], two[3]) - max(one[1], two[1]))
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, two)]
    return float(width * height / (sum(areas) - width * height))


def test_boxes_of_a_letterboxed_input_return_to_the_image() -> None:
    """A 200 x 100 image in an input of 100: scale 1/2, 25 rows above it; an exact resize stretches."""
    letterbox = Geometry(rule="letterbox", resize_px=100, crop_px=0)
    boxes = np.array([[10, 30, 60, 70], [-5, 0, 120, 100]], np.float32)
    expected = [[20, 10, 120, 90], [0, 0, 200, 100]]
    np.testing.assert_allclose(boxes_in_source(boxes, 200, 100, letterbox), expected, atol=1e-4)
    exact = Geometry(rule="exact", resize_px=100, crop_px=100)
    np.testing.assert_allclose(boxes_in_source(boxes[:1], 200, 100, exact), [[20, 30, 120, 70]], atol=1e-4)


def test_heads_decode_hand_worked_outputs() -> None:
    # FastestDet: 2 x 2 cells on an input of 100; the cell (1, 0), tanh(0) = 0, sigmoid(0) = 1/2.
    maps = np.zeros((1, 7, 2, 2), np.float32)
    maps[0, 0, 0, 1], maps[0, 6, 0, 1] = 0.5, 0.25
    found = decoded(
        REGISTRY.get("fastestdet"), {"out": maps}, (100, 100), HeadSettings("fastestdet", score_threshold=0.1)
    )
    assert found.counts.tolist() == [1] and found.classes.tolist() == [1]
    np.testing.assert_allclose(found.boxes, [[25, -25, 75, 25]], atol=1e-4)
    assert found.scores[0] == pytest.approx(0.5**0.6 * 0.25**0.4)
    # NanoDet: one stride of 16 on 32 pixels, 2 bins per side; equal logits put half a stride to each side.
    values = np.zeros((1, 4, 3 + 8), np.float32)
    values[0, 3, 2] = 0.9
    settings = HeadSettings("nanodet", strides=(16,), bins=2, score_threshold=0.1)
    found = decoded(REGISTRY.get("nanodet"), {"out": values}, (32, 32), settings)
    assert found.classes.tolist() == [2] and found.scores[0] == pytest.approx(0.9)
    np.testing.assert_allclose(found.boxes, [[8, 8, 24, 24]], atol=1e-4)
    # Boxes: centre and size relative to an input of 50 x 100, class 3 counted from 1.
    outputs = {
        "boxes": np.array([[[0.5, 0.5, 0.2, 0.4]]], np.float32),
        "scores": np.array([[0.7]], np.float32),
        "classes": np.array([[3]], np.int64),
    }
    settings = HeadSettings("boxes", box_format="cxcywh", relative=True, class_offset=1)
    found = decoded(REGISTRY.get("boxes"), outputs, (50, 100), settings)
    np.testing.assert_allclose(found.boxes, [[40, 15, 60, 35]], atol=1e-4)
    assert found.classes.tolist() == [2] and math.isclose(found.scores[0], 0.7, rel_tol=1e-6)


def test_the_background_of_graphs_that_count_from_1_is_no_detection() -> None:
    outputs = {
        "boxes": np.array([[[1, 1, 9, 9], [2, 2, 8, 8]]], np.float32),
        "scores": np.array([[0.9, 0.8]], np.float32),
        "classes": np.array([[0, 1]], np.float32),
    }
    found = decoded(REGISTRY.get("boxes"), outputs, (10, 10), HeadSettings("boxes", class_offset=1))
    assert found.classes.tolist() == [0] and found.counts.tolist() == [1]
