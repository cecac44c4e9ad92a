"""Videos of frames with annotated objects, and a detector that finds drawn boxes in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

CATEGORIES = ("cat", "dog", "bird")
SIDE = 64
DETECTOR = '''
import json
from pathlib import Path

FOUND = json.loads(Path(__file__).with_name("found.json").read_text())


def dicts():
    """As torchvision's detectors return them."""
    def detect(batch):
        return [
            {
                name: [box[name] for box in FOUND[int(image[0, 0, 0])]]
                for name in ("boxes", "scores", "labels")
            }
            for image in batch
        ]
    return detect


def arrays():
    """One array for every image."""
    def detect(batch):
        return [
            [[*box["boxes"], box["scores"], box["labels"]] for box in FOUND[int(image[0, 0, 0])]]
            for image in batch
        ]
    return detect


def module():
    """A torch module, which is given the red of every pixel between 0 and 1."""
    import torch

    class Detector(torch.nn.Module):
        def forward(self, images):
            places = (images[:, 0, 0, 0] * 255).round().int().tolist()
            return [
                {
                    name: torch.tensor([box[name] for box in FOUND[place]])
                    for name in ("boxes", "scores", "labels")
                }
                for place in places
            ]

    return Detector()
'''
DECLARATION = f"""
task = "detection"
labels = {json.dumps(CATEGORIES)}
[geometry]
rule = "none"
[tensor]
mean = [0.0, 0.0, 0.0]
std = [1.0, 1.0, 1.0]
"""
Frame = tuple[list[dict[str, Any]], list[dict[str, Any]]]


def write_detector(folder: Path, found: list[list[dict[str, Any]]]) -> Path:
    """A file with factories of a detector: image i, whose red is i, has the boxes `found[i]`."""
    file = folder / "detector.py"
    file.write_text(DETECTOR)
    (folder / "detector.py.toml").write_text(DECLARATION)
    rows = [
        [
            {
                "boxes": [left, top, left + width, top + height],
                "scores": box["score"],
                "labels": box["category"],
            }
            for box in boxes
            for left, top, width, height in [box["bbox"]]
        ]
        for boxes in found
    ]
    (folder / "found.json").write_text(json.dumps(rows))
    return file


def write_videos(folder: Path, frames: list[Frame], videos: int) -> Path:
    """A COCO file with the frames, divided evenly between videos; frame numbers begin at 5."""
    (folder / "images").mkdir(parents=True)
    length = len(frames) // videos
    content: dict[str, Any] = {
        "images": [],
        "annotations": [],
        "categories": [{"id": 1 + number, "name": name} for number, name in enumerate(CATEGORIES)],
    }
    for place, (objects, _) in enumerate(frames):
        name = f"{place:03}.png"
        Image.new("RGB", (SIDE, SIDE), (place, 90, 60)).save(folder / "images" / name)
        content["images"].append(
            {
                "id": place,
                "file_name": name,
                "width": SIDE,
                "height": SIDE,
                "video_id": f"v{place // length}",
                "frame_index": 5 + place % length,
            }
        )
        for thing in objects:
            content["annotations"].append(
                {
                    "id": 1 + len(content["annotations"]),
                    "image_id": place,
                    "category_id": 1 + thing["category"],
                    "bbox": thing["bbox"],
                }
            )
    file = folder / "boxes.json"
    file.write_text(json.dumps(content))
    return file


def draw_frames(count: int, seed: int) -> list[Frame]:
    """Random frames: up to three objects, each found by a box near it or not, and boxes of nothing."""
    rng = np.random.default_rng(seed)
    frames = []
    for _ in range(count):
        objects = [
            {"category": int(rng.integers(3)), "bbox": [float(x) for x in rng.integers(8, 30, 4)]}
            for _ in range(rng.integers(0, 4))
        ]
        found = [
            {
                "category": thing["category"] if rng.random() < 0.8 else int(rng.integers(3)),
                "bbox": [float(x + rng.integers(-3, 4)) for x in thing["bbox"]],
                "score": float(np.float32(rng.random())),
            }
            for thing in objects
            if rng.random() < 0.8
        ]
        found += [
            {
                "category": int(rng.integers(3)),
                "bbox": [float(x) for x in rng.integers(8, 30, 4)],
                "score": float(np.float32(rng.random())),
            }
            for _ in range(rng.integers(0, 3))
        ]
        frames.append((objects, found))
    return frames
