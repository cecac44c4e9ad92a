"""Tiny classifiers as ONNX files: the score of class k is a fixed linear function of the mean colour."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "uint8": TensorProto.UINT8}


def colour_weights(classes: int, channels: int) -> np.ndarray:
    """Weights that differ in every class and channel."""
    return np.random.default_rng(classes).normal(size=(channels, classes)).astype(np.float32)


def write_colour_model(
    path: Path,
    *,
    classes: int = 10,
    side: int | str = 32,
    channels: int = 3,
    batch: int | str = "batch",
    layout: str = "nchw",
    dtype: str = "float32",
    softmax: bool = False,
    trailing_axes: bool = False,
    scale: float = 1.0,
) -> Path:
    """Write a model of the given shape; `scale` multiplies the probabilities (rounded sums)."""
    shape = [batch, channels, side, side] if layout == "nchw" else [batch, side, side, channels]
    axes = [2, 3] if layout == "nchw" else [1, 2]
    kind = TYPES[dtype]
    compute = TensorProto.FLOAT if dtype == "uint8" else kind
    numbers = np.float16 if compute == TensorProto.FLOAT16 else np.float32
    nodes = [helper.make_node("Cast", ["images"], ["values"], to=compute)]
    nodes.append(helper.make_node("ReduceMean", ["values"], ["mean"], axes=axes, keepdims=0))
    nodes.append(helper.make_node("MatMul", ["mean", "weights"], ["scores"]))
    last = "scores"
    weights = [numpy_helper.from_array(colour_weights(classes, channels).astype(numbers), "weights")]
    if softmax:
        nodes.append(helper.make_node("Softmax", [last], ["share"], axis=1))
        nodes.append(helper.make_node("Mul", ["share", "scale"], ["scaled"]))
        weights.append(numpy_helper.from_array(np.array(scale, numbers), "scale"))
        last = "scaled"
    if trailing_axes:
        nodes.append(helper.make_node("Unsqueeze", [last, "ones"], ["wide"]))
        weights.append(numpy_helper.from_array(np.array([2, 3]), "ones"))
        last = "wide"
    out_shape = [batch, classes, 1, 1] if trailing_axes else [batch, classes]
    graph = helper.make_graph(
        nodes,
        "colours",
        [helper.make_tensor_value_info("images", kind, shape)],
        [helper.make_tensor_value_info(last, compute, out_shape)],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())
    return path
