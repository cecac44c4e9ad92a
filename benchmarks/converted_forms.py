"""Scores of one network in several forms: python benchmarks/converted_forms.py NETWORK.onnx IMAGES

The ONNX file is written as TFLite, Keras and OpenVINO IR, and served; every form predicts the same images
through windtunnel. Printed are the largest difference from ONNX Runtime, as a fraction of the largest score,
and the share of equal predicted classes. The TFLite and Keras files are written by this script, layer by
layer, for networks of Conv, Clip to [0, 6], Add, ReduceMean over positions, Reshape and Gemm.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.inference_server import Settings, free_port, serving
from tests.tflite_models import OPERATORS, TfliteGraph

from windtunnel.data import open_dataset
from windtunnel.imaging.geometry import Geometry, crop_step, decode_step, resize_step
from windtunnel.models import Model, load_model

RELU6, VALID = 3, 1


class TfliteLayers:
    """Layers of a TFLite graph of batch size 1; a value is its number, height, width and channels."""

    def __init__(self, side: int) -> None:
        self.graph = TfliteGraph()
        self.input = (self.graph.tensor([1, side, side, 3]), side, side, 3)

    def conv(
        self, value: Any, weights: np.ndarray, bias: np.ndarray, pads: Any, stride: int, depthwise: bool
    ) -> Any:
        number, height, width, channels = value
        if any(pads):
            top, left, bottom, right = pads
            height, width = height + top + bottom, width + left + right
            widths = self.graph.constant(np.array([[0, 0], [top, bottom], [left, right], [0, 0]], np.int32))
            padded = self.graph.tensor([1, height, width, channels])
            number = self.graph.operator(OPERATORS.PAD, [number, widths], padded)
        side = weights.shape[2]
        height, width = (height - side) // stride + 1, (width - side) // stride + 1
        # From output, input, height, width; the outputs of a depthwise layer are the last axis.
        stored = weights.transpose((1, 2, 3, 0) if depthwise else (0, 2, 3, 1))
        inputs = [number, self.graph.constant(stored), self.graph.constant(bias)]
        output = self.graph.tensor([1, height, width, len(weights)])
        facts = {"padding": VALID, "strideH": stride, "strideW": stride}
        if depthwise:
            facts["depthMultiplier"] = 1
            code, options = OPERATORS.DEPTHWISE_CONV_2D, "DepthwiseConv2DOptions"
        else:
            code, options = OPERATORS.CONV_2D, "Conv2DOptions"
        return self.graph.operator(code, inputs, output, options, **facts), height, width, len(weights)

    def relu6(self, value: Any) -> Any:
        number, *shape = value
        return self.graph.operator(OPERATORS.RELU6, [number], self.graph.tensor([1, *shape])), *shape

    def add(self, first: Any, second: Any) -> Any:
        number, *shape = first
        output = self.graph.tensor([1, *shape])
        return self.graph.operator(OPERATORS.ADD, [number, second[0]], output, "AddOptions"), *shape

    def mean(self, value: Any) -> Any:
        axes = self.graph.constant(np.array([1, 2], np.int32))
        output = self.graph.tensor([1, value[3]])
        return (
            self.graph.operator(OPERATORS.MEAN, [value[0], axes], output, "ReducerOptions", keepDims=False),
        )

    def dense(self, value: Any, weights: np.ndarray, bias: np.ndarray) -> Any:
        output = self.graph.tensor([1, len(weights)])
        inputs = [value[0], self.graph.constant(weights), self.graph.constant(bias)]
        return (self.graph.operator(OPERATORS.FULLY_CONNECTED, inputs, output, "FullyConnectedOptions"),)

    def save(self, returned: Any, path: Path) -> None:
        self.graph.write(path, self.input[0], returned[0])


class KerasLayers:
    """Layers of a functional Keras model."""

    def __init__(self, side: int) -> None:
        import keras

        self.keras = keras
        self.input = keras.Input((side, side, 3))
        self._weights: list[tuple[Any, list[np.ndarray]]] = []

    def conv(
        self, value: Any, weights: np.ndarray, bias: np.ndarray, pads: Any, stride: int, depthwise: bool
    ) -> Any:
        layers, side = self.keras.layers, weights.shape[2]
        if any(pads):
            value = layers.ZeroPadding2D(((pads[0], pads[2]), (pads[1], pads[3])))(value)
        if depthwise:
            layer = layers.DepthwiseConv2D(side, stride)
            self._weights.append((layer, [weights.transpose(2, 3, 0, 1), bias]))
        else:
            layer = layers.Conv2D(len(weights), side, stride)
            self._weights.append((layer, [weights.transpose(2, 3, 1, 0), bias]))
        return layer(value)

    def relu6(self, value: Any) -> Any:
        return self.keras.layers.ReLU(6.0)(value)

    def add(self, first: Any, second: Any) -> Any:
        return self.keras.layers.Add()([first, second])

    def mean(self, value: Any) -> Any:
        return self.keras.layers.GlobalAveragePooling2D()(value)

    def dense(self, value: Any, weights: np.ndarray, bias: np.ndarray) -> Any:
        layer = self.keras.layers.Dense(len(weights))
        self._weights.append((layer, [weights.T, bias]))
        return layer(value)

    def save(self, returned: Any, path: Path) -> None:
        model = self.keras.Model(self.input, returned)
        for layer, weights in self._weights:
            layer.set_weights(weights)
        model.save(path)


def converted(network: Path, layers: Any, path: Path) -> None:
    """Write an ONNX file by the layers of another format."""
    graph = onnx.load(network).graph
    stored = {item.name: numpy_helper.to_array(item) for item in graph.initializer}
    values = {graph.input[0].name: layers.input}
    for node in graph.node:
        facts = {item.name: helper.get_attribute_value(item) for item in node.attribute}
        first = values[node.input[0]]
        constants = [stored.get(name) for name in node.input[1:]]
        match node.op_type:
            case "Conv":
                made = layers.conv(first, *constants, facts["pads"], facts["strides"][0], facts["group"] > 1)
            case "Clip":
                assert [float(bound) for bound in constants] == [0.0, 6.0]
                made = layers.relu6(first)
            case "Add":
                made = layers.add(first, values[node.input[1]])
            case "ReduceMean":
                made = layers.mean(first)
            case "Reshape":
                made = first
            case "Gemm":
                made = layers.dense(first, *constants)
            case other:
                raise SystemExit(f"{network} has a layer {other}, which this script does not convert.")
        values[node.output[0]] = made
    layers.save(values[graph.output[0].name], path)


def to_openvino(network: Path, path: Path) -> None:
    """Write an OpenVINO IR in float32."""
    import openvino

    openvino.save_model(openvino.Core().read_model(network), path, compress_to_fp16=False)


def images_of(folder: Path, geometry: Geometry, count: int) -> np.ndarray:
    """The first images of a dataset, as the model sees them."""
    dataset = open_dataset(folder)
    decoded = [decode_step(dataset.read(sample), geometry) for sample in dataset.samples()[:count]]
    return np.stack([crop_step(resize_step(image, geometry), geometry) for image in decoded])


def compare(name: str, model: Model, images: np.ndarray, expected: np.ndarray) -> None:
    """Print how far the scores of a form differ."""
    scores = np.concatenate(
        [model.predict(images[at : at + model.batch]) for at in range(0, len(images), model.batch)]
    )
    largest = np.abs(scores - expected).max() / np.abs(expected).max()
    same = (scores.argmax(axis=1) == expected.argmax(axis=1)).mean()
    print(
        f"{name:9} largest difference {largest:.1e} of the largest score, same class {100 * same:.1f} %",
        flush=True,
    )


def main() -> None:
    """Convert, predict and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("network", type=Path)
    parser.add_argument("images", type=Path)
    parser.add_argument("--preprocess", default="imagenet")
    parser.add_argument("--count", type=int, default=50)
    given = parser.parse_args()
    os.environ.setdefault("KERAS_BACKEND", "torch")
    local = load_model(given.network, given.preprocess)
    side = local.preprocess.geometry.output_px
    images = images_of(given.images, local.preprocess.geometry, given.count)
    expected = np.concatenate([local.predict(images[at : at + 16]) for at in range(0, len(images), 16)])
    with tempfile.TemporaryDirectory() as folder:
        forms: dict[str, Callable[[Path], None]] = {
            "n.tflite": lambda path: converted(given.network, TfliteLayers(side), path),
            "n.keras": lambda path: converted(given.network, KerasLayers(side), path),
            "n.xml": lambda path: to_openvino(given.network, path),
        }
        for name, write in forms.items():
            path = Path(folder) / name
            write(path)
            compare(path.suffix[1:], load_model(path, given.preprocess), images, expected)
        shutil.copy(given.network, Path(folder) / "served.onnx")
        for name, binary in (("served", True), ("as JSON", False)):
            settings = Settings(str(Path(folder) / "served.onnx"), free_port(), binary=binary)
            with serving(Path(folder), settings) as server:
                compare(name, load_model(server.url, given.preprocess), images, expected)


if __name__ == "__main__":
    main()
