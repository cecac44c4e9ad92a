"""Average precision by COCO's evaluator (faster-coco-eval), as an independent source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from faster_coco_eval import COCO, COCOeval_faster

Row = dict[str, Any]


def category_precisions(
    images: Sequence[tuple[Sequence[Row], Sequence[Row]]], categories: int, iou: float, *, localisation: bool
) -> dict[int, float]:
    """Average precision of every category with objects, given objects and detections of images."""
    truth: dict[str, Any] = {
        "images": [{"id": 1 + number, "width": 64, "height": 64} for number in range(len(images))],
        "categories": [{"id": 1 + number, "name": str(number)} for number in range(categories)],
        "annotations": [],
    }
    found = []
    for number, (objects, detections) in enumerate(images):
        for thing in objects:
            left, top, width, height = thing["bbox"]
            truth["annotations"].append(
                {
                    "id": 1 + len(truth["annotations"]),
                    "image_id": 1 + number,
                    "category_id": 1 + thing["category"],
                    "bbox": [left, top, width, height],
                    "area": width * height,
                    "iscrowd": 0,
                }
            )
        for box in detections:
            found.append(
                {
                    "image_id": 1 + number,
                    "category_id": 1 + box["category"],
                    "bbox": box["bbox"],
                    "score": box["score"],
                }
            )
    if not truth["annotations"]:
        return {}
    if not found:
        return dict.fromkeys(
            {0 if localisation else row["category_id"] - 1 for row in truth["annotations"]}, 0.0
        )
    data = COCO(truth)
    evaluator = COCOeval_faster(data, data.loadRes(found), "bbox", print_function=lambda *_: None)
    evaluator.params.iouThrs = np.array([iou])
    evaluator.params.useCats = 0 if localisation else 1
    evaluator.evaluate()
    evaluator.accumulate()
    precision = evaluator.eval["precision"][0, :, :, 0, -1]  # recall x categories, all areas, 100 detections
    return {
        category: float(precision[:, category].mean())
        for category in range(precision.shape[1])
        if (precision[:, category] > -1).all()
    }
