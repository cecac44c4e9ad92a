"""A detector through the command line: run with two workers, score, report, compare and gate."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

import windtunnel
from windtunnel.cli import main

TOML = """
task = "detection"
labels = ["cat", "dog"]

[geometry]
rule = "exact"
resizer = "opencv-bilinear"
crop_px = 32

[tensor]
divisor = 255.0
mean = [0.0, 0.0, 0.0]
std = [1.0, 1.0, 1.0]

[detector]
head = "boxes"
nms_iou = 1.0
"""


def write_detector(path: Path, width: float) -> Path:
    """Write a detector of a cat and a dog; bright images have higher scores and wider boxes."""
    constants = {
        "corners": np.array([[[2, 2, width, 14], [16, 16, 30, 30]]], np.float32),
        "growth": np.array([[[0, 0, 6, 0], [0, 0, 0, 0]]], np.float32),
        "share": np.array([[1.0, 0.5]], np.float32),
        "number": np.array([[0.0, 1.0]], np.float32),
        "none": np.array([[0.0, 0.0]], np.float32),
    }
    nodes = [
        helper.make_node("ReduceMean", ["images"], ["mean"], axes=[2, 3], keepdims=0),
        helper.make_node("ReduceMean", ["mean"], ["light"], axes=[1], keepdims=1),
        helper.make_node("ReduceMean", ["images"], ["wide"], axes=[1, 2], keepdims=0),
        helper.make_node("ReduceMean", ["wide"], ["one"], axes=[1], keepdims=1),
        helper.make_node("Unsqueeze", ["one", "last"], ["deep"]),
        helper.make_node("Mul", ["deep", "growth"], ["grown"]),
        helper.make_node("Add", ["grown", "corners"], ["boxes"]),
        helper.make_node("Mul", ["light", "share"], ["scores"]),
        helper.make_node("Mul", ["light", "none"], ["zero"]),
        helper.make_node("Add", ["zero", "number"], ["classes"]),
    ]
    initial = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    initial.append(numpy_helper.from_array(np.array([2], np.int64), "last"))
    outputs = {"boxes": ["n", 2, 4], "scores": ["n", 2], "classes": ["n", 2]}
    graph = helper.make_graph(
        nodes,
        "detector",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, ["n", 3, 32, 32])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()],
        initial,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.save(model, path)
    path.with_name(f"{path.name}.toml").write_text(TOML, encoding="utf-8")
    return path


def write_coco(folder: Path) -> Path:
    """Write eight images of 64 x 64, most with a cat where the detector sees one, one without objects."""
    rng = np.random.default_rng(0)
    (folder / "images").mkdir(parents=True)
    images, objects = [], []
    for number in range(8):
        name = f"{number:03d}.png"
        pixels = rng.integers(40 + 20 * number, 70 + 22 * number, (64, 64, 3)).clip(0, 255)
        Image.fromarray(pixels.astype(np.uint8)).save(folder / "images" / name)
        images.append({"id": number + 1, "file_name": name, "width": 64, "height": 64})
        for category, box in ((1, [4, 4, 30, 24]), (2, [32, 32, 28, 28]))[
            : 0 if number == 3 else 2 - number % 2
        ]:
            objects.append(
                {"id": len(objects) + 1, "image_id": number + 1, "category_id": category, "bbox": box,
                 "area": box[2] * box[3], "iscrowd": 0}
            )  # fmt: skip
    file = folder / "instances.json"
    categories = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
    file.write_text(json.dumps({"images": images, "annotations": objects, "categories": categories}))
    return file


def exit_code(*arguments: str) -> int | str | None:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code


def test_a_detector_is_run_scored_reported_compared_and_gated(tmp_path: Path, capsys) -> None:
    data = write_coco(tmp_path / "data")
    only = ["--only", "brightness:1", "--only", "brightness:3", "--only", "contrast:3"]
    for name, width in (("good", 15.0), ("bad", 26.0)):
        model = write_detector(tmp_path / f"{name}.onnx", width)
        arguments = ["run", str(model), str(data), "--suite", "coco-c", *only, "--workers", "2"]
        assert exit_code(*arguments, "--out", str(tmp_path / name)) == 0
        printed = capsys.readouterr()
        assert "1 image has no annotated object" in printed.err
        assert "error" not in printed.err + printed.out
    page = (tmp_path / "good" / "report.html").read_text(encoding="utf-8")
    assert all(title in page for title in ("AP by severity", "mPC and rPC", "AP of all conditions"))
    document = json.loads((tmp_path / "good" / "scores.json").read_text(encoding="utf-8"))
    assert document["detection"]["objects"] == 11 and document["detection"]["images"] == 8

    run = windtunnel.load_run(tmp_path / "good")
    scores = {(score.metric, score.condition): score for score in run.scores()}
    precision = {condition: score.value for (metric, condition), score in scores.items() if metric == "ap"}
    corrupted = [value for condition, value in precision.items() if condition != "clean"]
    assert len(corrupted) == 3
    assert scores["mpc", ""].value == pytest.approx(np.mean(corrupted))
    assert scores["rpc", ""].value == pytest.approx(np.mean(corrupted) / precision["clean"])
    bright = np.mean([precision["brightness:1"], precision["brightness:3"]])
    assert scores["corruption_mpc", "brightness"].value == pytest.approx(bright)
    assert scores["family_mpc", "weather"].value == pytest.approx(bright)
    at_3 = np.mean([precision["brightness:3"], precision["contrast:3"]])
    assert scores["severity_mpc", "severity 3"].value == pytest.approx(at_3)
    assert all(score.low <= score.value <= score.high for score in scores.values())

    both = [str(tmp_path / "good"), str(tmp_path / "bad")]
    assert exit_code("compare", *both, "--json") == 0
    changes = json.loads(capsys.readouterr().out)["differences"]
    clean = next(row for row in changes if (row["metric"], row["condition"]) == ("ap", "clean"))
    assert clean["value"] < 0 and clean["low"] <= clean["value"] <= clean["high"]
    assert exit_code("report", *both, "--out", str(tmp_path / "both.html")) == 0
    assert "Change of AP in points" in (tmp_path / "both.html").read_text(encoding="utf-8")
    assert exit_code("gate", both[0], "--against", both[0]) == 0
    assert exit_code("gate", both[1], "--against", both[0], "--rule", "clean ap >= -2") == 1

    capsys.readouterr()
    assert exit_code("score", both[0], "--metric", "top1_error") == 0
    assert "it is a score of classification" in capsys.readouterr().out
