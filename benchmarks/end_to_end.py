"""What a run costs beside bare inference on as many images: python benchmarks/end_to_end.py

Both are timed alternately in one process and one thread; the table shows ratios and their spread.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

import windtunnel
from windtunnel.suites.golden_digests import golden_image


def write_network(path: Path, width: int) -> Path:
    """A plain convolutional network with random weights; width 48 costs about 10 ms per 224x224 image."""
    rng = np.random.default_rng(0)
    nodes, weights, current, channels = [], [], "images", 3
    for layer in range(6):
        out = width * min(2**layer, 8)
        shape = (out, channels, 3, 3)
        weights.append(numpy_helper.from_array((rng.normal(size=shape) / 30).astype(np.float32), f"w{layer}"))
        options = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
        nodes.append(helper.make_node("Conv", [current, f"w{layer}"], [f"c{layer}"], **options))
        nodes.append(helper.make_node("Relu", [f"c{layer}"], [f"r{layer}"]))
        current, channels = f"r{layer}", out
    nodes.append(helper.make_node("GlobalAveragePool", [current], ["pooled"]))
    nodes.append(helper.make_node("Flatten", ["pooled"], ["flat"]))
    weights.append(numpy_helper.from_array(rng.normal(size=(channels, 1000)).astype(np.float32), "head"))
    nodes.append(helper.make_node("MatMul", ["flat", "head"], ["logits"]))
    images = helper.make_tensor_value_info("images", TensorProto.FLOAT, ["batch", 3, 224, 224])
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 1000])
    graph = helper.make_graph(nodes, "plain", [images], [logits], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(onnx.ModelProto.SerializeToString(model))
    return path


def write_images(root: Path, count: int) -> Path:
    """Noisy 500x375 JPEGs in one class folder."""
    folder = root / "n01440764"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for number in range(count):
        grain = rng.integers(-20, 21, (375, 500, 3))
        pixels = np.clip(golden_image(500)[:375] + grain, 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.JPEG", quality=90)
    return root


def main() -> None:
    """Time run and inference alternately and print the ratio."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--suite", default="smoke")
    options.add_argument("--images", type=int, default=16)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--width", type=int, default=48)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = windtunnel.load_model(write_network(Path(folder) / "plain.onnx", given.width))
        data = write_images(Path(folder) / "data", given.images)
        plan = windtunnel.plan(model, data, given.suite)
        batch = np.zeros((model.batch, 224, 224, 3), np.uint8)
        calls = -(-plan.predictions // model.batch)
        ratios, per_image = [], []
        for round_ in range(given.rounds + 1):
            start = time.perf_counter()
            for _ in range(calls):
                model.predict(batch)
            bare = time.perf_counter() - start
            start = time.perf_counter()
            windtunnel.run(model, data, given.suite, out=Path(folder) / f"run{round_}")
            whole = time.perf_counter() - start
            if round_:  # the first round compiles
                ratios.append(whole / bare * calls * model.batch / plan.predictions)
                per_image.append(1000 * bare / calls / model.batch)
        print(f"suite {given.suite}, {plan.predictions} predictions, {given.rounds} rounds, one thread")
        print(f"bare inference  {statistics.median(per_image):.2f} ms per image")
        print(f"run / bare      {statistics.median(ratios):.3f} [{min(ratios):.3f}-{max(ratios):.3f}]")


if __name__ == "__main__":
    main()
