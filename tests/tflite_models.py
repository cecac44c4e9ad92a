"""Tiny TFLite classifiers, written with the schema of LiteRT: scores are linear in the mean colour."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from tests.onnx_models import colour_weights

TYPES = {
    "float32": schema.TensorType.FLOAT32,
    "int8": schema.TensorType.INT8,
    "uint8": schema.TensorType.UINT8,
}


def write_colour_tflite(
    path: Path,
    *,
    classes: int = 10,
    side: int = 32,
    batch: int = 1,
    quantised: str = "",
    input_scale: float = 1 / 128,
    input_zero: int = 0,
    output_scale: float = 0.05,
    output_zero: int = 3,
) -> Path:
    """Write a network of a fixed batch size, or -1; `quantised` is the type of its input and output."""
    tensors: list[Any] = []
    buffers = [schema.BufferT()]
    sized = abs(batch)

    def tensor(name: str, shape: list[int], type_: str = "float32", data: Any = None) -> int:
        made = schema.TensorT()
        made.name, made.shape, made.type = name.encode(), shape, TYPES.get(type_, schema.TensorType.INT32)
        if batch < 0 and data is None:
            made.shapeSignature = [-1, *shape[1:]]
        made.buffer = 0
        if data is not None:
            made.buffer = len(buffers)
            buffers.append(schema.BufferT())
            buffers[-1].data = np.frombuffer(data.tobytes(), np.uint8)
        tensors.append(made)
        return len(tensors) - 1

    def quantise(index: int, scale: float, zero: int) -> None:
        tensors[index].quantization = schema.QuantizationParametersT()
        tensors[index].quantization.scale = np.array([scale], np.float32)
        tensors[index].quantization.zeroPoint = np.array([zero], np.int64)

    kinds = schema.BuiltinOperator
    operators: list[Any] = []
    codes: list[int] = []

    def operator(code: int, inputs: list[int], output: int, options: Any = None, type_: int = 0) -> None:
        if code not in codes:
            codes.append(code)
        made = schema.OperatorT()
        made.opcodeIndex, made.inputs, made.outputs = codes.index(code), inputs, [output]
        made.builtinOptions, made.builtinOptionsType = options, type_
        operators.append(made)

    taken = images = tensor("images", [sized, side, side, 3], quantised or "float32")
    if quantised:
        quantise(taken, input_scale, input_zero)
        images = tensor("values", [sized, side, side, 3])
        operator(kinds.DEQUANTIZE, [taken], images)
    axes = tensor("axes", [2], "int32", np.array([1, 2], np.int32))
    mean = tensor("mean", [sized, 3])
    operator(kinds.MEAN, [images, axes], mean, schema.ReducerOptionsT(), schema.BuiltinOptions.ReducerOptions)
    weights = np.ascontiguousarray(colour_weights(classes, 3).T)
    layer = tensor("weights", [classes, 3], "float32", weights)
    scores = returned = tensor("scores", [sized, classes])
    dense = schema.FullyConnectedOptionsT()
    operator(
        kinds.FULLY_CONNECTED, [mean, layer, -1], scores, dense, schema.BuiltinOptions.FullyConnectedOptions
    )
    if quantised:
        returned = tensor("bytes", [sized, classes], quantised)
        quantise(returned, output_scale, output_zero)
        operator(kinds.QUANTIZE, [scores], returned)

    graph = schema.SubGraphT()
    graph.tensors, graph.operators, graph.inputs, graph.outputs = tensors, operators, [taken], [returned]
    graph.name = b"colours"
    model = schema.ModelT()
    model.version, model.subgraphs, model.buffers = 3, [graph], buffers
    model.operatorCodes = []
    for code in codes:
        made = schema.OperatorCodeT()
        made.builtinCode = made.deprecatedBuiltinCode = code
        made.version = 1
        model.operatorCodes.append(made)
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    path.write_bytes(bytes(builder.Output()))
    return path
