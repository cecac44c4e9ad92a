"""TFLite files without TensorFlow, written with LiteRT's schema: tiny classifiers by the mean colour."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from tests.onnx_models import colour_weights

OPERATORS = schema.BuiltinOperator
TYPES = {
    "float32": schema.TensorType.FLOAT32,
    "int32": schema.TensorType.INT32,
    "int8": schema.TensorType.INT8,
    "uint8": schema.TensorType.UINT8,
}


class TfliteGraph:
    """A graph that is filled with tensors and operators, then written."""

    def __init__(self) -> None:
        self._tensors: list[Any] = []
        self._operators: list[Any] = []
        self._buffers = [schema.BufferT()]
        self._codes: list[int] = []

    def tensor(self, shape: list[int], dtype: str = "float32", *, free_batch: bool = False) -> int:
        """Add a tensor; returns its number."""
        made = schema.TensorT()
        made.name, made.shape, made.type = f"tensor-{len(self._tensors)}".encode(), shape, TYPES[dtype]
        if free_batch:
            made.shapeSignature = [-1, *shape[1:]]
        self._tensors.append(made)
        return len(self._tensors) - 1

    def constant(self, values: np.ndarray) -> int:
        """Add stored values; returns the number of their tensor."""
        number = self.tensor(list(values.shape), values.dtype.name)
        self._tensors[number].buffer = len(self._buffers)
        self._buffers.append(schema.BufferT())
        self._buffers[-1].data = np.frombuffer(np.ascontiguousarray(values).tobytes(), np.uint8)
        return number

    def quantise(self, number: int, scale: float, zero: int) -> None:
        """Declare scale and zero point of a tensor."""
        quantisation = schema.QuantizationParametersT()
        quantisation.scale = np.array([scale], np.float32)
        quantisation.zeroPoint = np.array([zero], np.int64)
        self._tensors[number].quantization = quantisation

    def operator(self, code: int, inputs: list[int], output: int, options: str = "", **facts: Any) -> int:
        """Add an operator with the options of a type of the schema; returns the number of its output."""
        if code not in self._codes:
            self._codes.append(code)
        made = schema.OperatorT()
        made.opcodeIndex, made.inputs, made.outputs = self._codes.index(code), inputs, [output]
        if options:
            made.builtinOptionsType = getattr(schema.BuiltinOptions, options)
            made.builtinOptions = getattr(schema, f"{options}T")()
            for name, value in facts.items():
                setattr(made.builtinOptions, name, value)
        self._operators.append(made)
        return output

    def write(self, path: Path, taken: int, returned: int) -> Path:
        """Write the graph with its input and output."""
        graph = schema.SubGraphT()
        graph.tensors, graph.operators, graph.name = self._tensors, self._operators, b"main"
        graph.inputs, graph.outputs = [taken], [returned]
        model = schema.ModelT()
        model.version, model.subgraphs, model.buffers = 3, [graph], self._buffers
        model.operatorCodes = []
        for code in self._codes:
            made = schema.OperatorCodeT()
            made.builtinCode = made.deprecatedBuiltinCode = code
            made.version = 1
            model.operatorCodes.append(made)
        builder = flatbuffers.Builder(1024)
        builder.Finish(model.Pack(builder), b"TFL3")
        path.write_bytes(bytes(builder.Output()))
        return path


def write_colour_tflite(
    path: Path,
    *,
    classes: int = 10,
    side: int = 32,
    batch: int = 1,
    quantised: str = "",
    input_zero: int = 0,
    output_zero: int = 3,
) -> Path:
    """Write a network of a fixed batch size, or -1; `quantised` is the type of its input and output.

    A quantised input has the scale 1/128, a quantised output 0.05.
    """
    graph, size, free = TfliteGraph(), abs(batch), batch < 0
    taken = images = graph.tensor([size, side, side, 3], quantised or "float32", free_batch=free)
    if quantised:
        graph.quantise(taken, 1 / 128, input_zero)
        images = graph.operator(OPERATORS.DEQUANTIZE, [taken], graph.tensor([size, side, side, 3]))
    axes = graph.constant(np.array([1, 2], np.int32))
    mean = graph.tensor([size, 3], free_batch=free)
    graph.operator(OPERATORS.MEAN, [images, axes], mean, "ReducerOptions", keepDims=False)
    weights = graph.constant(colour_weights(classes, 3).T)
    scores = graph.tensor([size, classes], free_batch=free)
    graph.operator(OPERATORS.FULLY_CONNECTED, [mean, weights, -1], scores, "FullyConnectedOptions")
    if quantised:
        returned = graph.tensor([size, classes], quantised)
        graph.quantise(returned, 0.05, output_zero)
        scores = graph.operator(OPERATORS.QUANTIZE, [scores], returned)
    return graph.write(path, taken, scores)
