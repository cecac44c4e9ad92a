"""Small faithful copies of natural sets, and a model whose answers are written in the images' colours.

An image's colour holds two classes: the model's first answer and its second. So a test knows what the model
says of every image without asking it.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
from PIL import Image

from windtunnel.published.imagenet import imagenet_1k

WNIDS = imagenet_1k().classes
SIDE = 16

MODEL = """
import numpy as np

def _answers(count):
    def model(batch):
        red, green, blue = (batch[:, 0, 0, channel].astype(int) for channel in range(3))
        rows = np.arange(len(batch))
        scores = np.zeros((len(batch), count), np.float32) + np.linspace(0, 0.5, count, dtype=np.float32)
        scores[rows, np.minimum(blue + 256 * (green // 4 % 4), count - 1)] = 5
        scores[rows, np.minimum(red + 256 * (green % 4), count - 1)] = 10
        return scores - 7  # so that a class without output at 0 would win
    return model

def answers():
    return _answers(1000)

def resnet50():
    return _answers(1000)

def two_hundred():
    return _answers(200)

def thirty():
    return _answers(30)

def ten():
    return _answers(10)

def others():
    model = _answers(1000)
    return lambda batch: model(np.where(batch[:, :, :, :1] % 2 == 0, batch, 0).astype(np.uint8))
"""
PREPROCESS = f"""
[geometry]
rule = "exact"
crop_px = {SIDE}
[tensor]
mean = [0.0, 0.0, 0.0]
std = [1.0, 1.0, 1.0]
"""


def write_model(folder: Path, **declared: object) -> Path:
    """Write the model's file and its declaration; use it as `FILE:answers`."""
    file = folder / "colours.py"
    file.write_text(MODEL)
    lines = [f"{key} = {json.dumps(value)}" for key, value in declared.items()]
    (folder / "colours.py.toml").write_text("\n".join(lines) + PREPROCESS)
    return file


def put(path: Path, first: int, second: int = 0, border: int = 0, shade: int = 0) -> Path:
    """An image of which the model says `first`, then `second`; perhaps within a red border."""
    path.parent.mkdir(parents=True, exist_ok=True)
    side = SIDE + 2 * border
    pixels = np.zeros((side, side, 3), np.uint8)
    pixels[..., 0] = 255
    inner = slice(border, side - border)
    pixels[inner, inner] = (first % 256, first // 256 + 4 * (second // 256), second % 256)
    pixels[side // 2, side // 2] = shade  # images of one colour still differ
    Image.fromarray(pixels).save(path, "PNG")
    return path


def clean_folder(root: Path, classes: list[int], right: int = 3, wrong: int = 1) -> Path:
    """Clean images like ImageNet's validation set."""
    for label in classes:
        for place in range(right + wrong):
            name = f"ILSVRC2012_val_{label:05d}{place:03d}.JPEG"
            put(root / WNIDS[label] / name, label if place < right else (label + 1) % 1000, shade=place)
    return root


def video_set(root: Path, sets: dict[str, dict[int, tuple[list[int], int]]], folder: str = "val") -> Path:
    """Frames as ImageNet-Vid-Robust has them: by video, by offset from the anchor, labels and answer."""
    pmsets: dict[str, list[str]] = {}
    labels: dict[str, list[int]] = {}
    for number, (video, frames) in enumerate(sets.items()):
        keys = {offset: f"{folder}/{video}/{100 + offset:06d}.JPEG" for offset in frames}
        pmsets[keys[0]] = [key for offset, key in keys.items() if offset]
        for offset, (own, answer) in frames.items():
            labels[keys[offset]] = own
            put(root / keys[offset], answer, shade=number + offset + 100)
    (root / "metadata").mkdir(parents=True, exist_ok=True)
    (root / "metadata" / "pmsets.json").write_text(json.dumps(pmsets))
    (root / "metadata" / "labels.json").write_text(json.dumps(labels))
    return root


def write_csv(path: Path, header: list[str], rows: list[list[object]]) -> Path:
    """A CSV file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])
    return path
