"""Boxes of exported frames in COCO's format, which detection tools read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from windtunnel.curate.frame_tables import SetFrame

# Decimal places of sizes, which are differences of what the table gives.
DIGITS = 6


def boxes_content(frames: Mapping[str, SetFrame]) -> dict[str, Any]:
    """The boxes of frames, which are given by their file in the set; empty if there is none.

    As in COCO, a box is [left, top, width, height] in pixels of the upright frame. Images also have the
    name of the video (`video_id`) and the place of the frame in it (`frame_index`). A frame without boxes is
    not listed: the table of labels says nothing about the objects in it.
    """
    given = {file: json.loads(frame.boxes or "[]") for file, frame in frames.items()}
    boxed = {file: boxes for file, boxes in given.items() if boxes}
    if not boxed:
        return {}
    names = sorted({name for boxes in boxed.values() for name, *_ in boxes})
    categories = {name: number for number, name in enumerate(names, 1)}
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for image, (file, boxes) in enumerate(sorted(boxed.items()), 1):
        frame = frames[file]
        images.append(
            {
                "id": image,
                "file_name": file,
                "width": frame.width,
                "height": frame.height,
                "video_id": frame.video_name,
                "frame_index": frame.index,
            }
        )
        for name, left, top, right, bottom in boxes:
            width, height = round(right - left, DIGITS), round(bottom - top, DIGITS)
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "image_id": image,
                    "category_id": categories[name],
                    "bbox": [left, top, width, height],
                    "area": round(width * height, DIGITS),
                    "iscrowd": 0,
                }
            )
    return {
        "images": images,
        "annotations": annotations,
        "categories": [{"id": number, "name": name} for name, number in categories.items()],
    }
