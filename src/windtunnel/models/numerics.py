"""Numerics: the same float32 ONNX network in the arithmetic of a deployment.

float16   every stored number and every tensor between two layers is rounded to half precision; sums inside a
          layer stay float32, as on accelerators. Values out of the range of half precision become infinite.
          ONNX Runtime has no such layers on CPUs, so the graph contains the rounding explicitly.
int8      as in integer kernels: weights as signed bytes with a scale per output channel, the inputs of every
          weighted layer as unsigned bytes with a scale and zero point of that tensor. Scales come from each
          image itself, so that no calibration images are needed and none can leak; sums stay float32, where
          int32 would represent them exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import UserError, first_line, unknown_name
from windtunnel.core.extras import load_extra

if TYPE_CHECKING:
    from windtunnel.models import Model
    from windtunnel.models.onnx import OnnxModel

# The axis of outputs in a layer's weights.
WEIGHTED_LAYERS = {"Conv": 0, "ConvTranspose": 1, "Gemm": -1, "MatMul": -1}
# Layers whose second input is always weights; the others also multiply activations by each other.
ALWAYS_WEIGHTED = ("Conv", "ConvTranspose")
# Layers whose other inputs are sizes and positions, which no deployment rounds.
KEEP_SIZES = ("Resize", "Upsample")
FLOAT32, FLOAT16 = 1, 10  # ONNX's numbers of these types
OWN_OPERATORS = ("", "ai.onnx")
OLDEST_OPSET = 11  # the first with rounding to bytes in one operator


def why_no_variant(model: Model, name: str) -> str:
    """Why a model has no variant in an arithmetic, in one line; "" if it has one that runs."""
    from windtunnel.models import probe_images

    try:
        variant_of(model, name).predict(probe_images(model.preprocess, 1))
    except UserError as error:
        return str(error).removeprefix(f"numerics={name} ").rstrip(".")
    except Exception as error:  # ONNX and ONNX Runtime raise many kinds of errors
        return f"cannot be made from this network: {first_line(error)}"
    return ""


def variant_of(model: Model, name: str) -> Model:
    """The same network in other arithmetic (`float16`, `int8`), cached."""
    if name not in VARIANTS:
        raise unknown_name("numerics", name, VARIANTS)
    return model.variant(name)


def onnx_variant(model: OnnxModel, name: str) -> Model:
    """An ONNX network in other arithmetic."""
    load_extra("onnx", f"numerics={name}")
    return _variant(model, name)


@lru_cache(maxsize=2)
def _variant(model: Any, name: str) -> Model:
    proto = _graph(model)
    if reason := _why_not(proto):
        raise UserError(f"numerics={name} {reason}.")
    # Scales belong to a single image, not to a batch.
    batch = 1 if name == "int8" else model.batch
    graph = VARIANTS[name](proto).SerializeToString()
    variant: Model = model.with_graph(graph, f"{model.name}-{name}", batch)
    return variant


def _graph(model: Any) -> Any:
    """The network's graph as one model: without functions, and without constants among its layers."""
    import onnx
    from onnx import inliner

    proto = onnx.load(str(model.path))
    if proto.functions:
        proto = inliner.inline_local_functions(proto)
    _fold_constants(proto.graph)
    return proto


def _fold_constants(graph: Any) -> None:
    """Turn constants, and stored numbers under another name, into initialisers, like weights."""
    from onnx import numpy_helper

    named = {item.name: item for item in graph.initializer}
    outputs = {item.name for item in graph.output}
    nodes = []
    for node in graph.node:
        constant = None
        if node.op_type == "Constant" and node.attribute[0].name in ("value", "value_float", "value_floats"):
            attribute = node.attribute[0]
            constant = numpy_helper.to_array(attribute.t) if attribute.name == "value" else _floats(attribute)
        elif node.op_type == "Identity" and node.input[0] in named and node.output[0] not in outputs:
            constant = numpy_helper.to_array(named[node.input[0]])
        if constant is None:
            nodes.append(node)
        else:
            stored = numpy_helper.from_array(constant, node.output[0])
            graph.initializer.append(stored)
            named[stored.name] = stored
    del graph.node[:]
    graph.node.extend(nodes)


def _floats(attribute: Any) -> NDArray[np.float32]:
    return np.array(attribute.f if attribute.name == "value_float" else list(attribute.floats), np.float32)


def _why_not(proto: Any) -> str:
    """Why a graph has no variants; "" if it has."""
    operators = [node.op_type for node in proto.graph.node]
    if any(
        "quantize" in operator.lower() or operator.startswith("QLinear") or operator.endswith("Integer")
        for operator in operators
    ):
        return "needs a float32 network; this one is quantised already"
    if any(
        attribute.HasField("g") or attribute.graphs
        for node in proto.graph.node
        for attribute in node.attribute
    ):
        return "needs a network without loops and branches"
    weights = _weights(proto)
    if any(item.data_type != FLOAT32 for item in weights):
        return "needs a float32 network; this one has other weights"
    versions = [item.version for item in proto.opset_import if item.domain in OWN_OPERATORS]
    if max(versions, default=0) < OLDEST_OPSET:
        return f"needs ONNX operators of version {OLDEST_OPSET} or later; export the network again"
    named = {item.name for item in proto.graph.initializer}
    computed = sum(
        node.op_type in ALWAYS_WEIGHTED and node.input[1] not in named for node in proto.graph.node
    )
    if computed:
        return f"needs stored weights; those of {computed} layers are computed"
    return "" if weights else "finds no layer with stored weights"


def _weights(proto: Any) -> list[Any]:
    """The initialisers that weighted layers multiply by."""
    named = {item.name: item for item in proto.graph.initializer}
    layers = (node for node in proto.graph.node if node.op_type in WEIGHTED_LAYERS and len(node.input) > 1)
    return [named[node.input[1]] for node in layers if node.input[1] in named]


def _to_float16(proto: Any) -> Any:
    """Round every stored number, the input, and the output of every layer."""
    from onnx import helper, numpy_helper

    element_types = _element_types(proto)
    sizes = {name for node in proto.graph.node if node.op_type in KEEP_SIZES for name in node.input[1:]}
    for item in proto.graph.initializer:
        if item.data_type == FLOAT32 and item.name not in sizes:
            with np.errstate(over="ignore"):
                rounded = numpy_helper.to_array(item).astype(np.float16).astype(np.float32)
            item.CopyFrom(numpy_helper.from_array(rounded, item.name))

    def through_half(wide: str, narrow: str) -> list[Any]:
        half = f"{narrow}/half"
        return [
            helper.make_node("Cast", [wide], [half], to=FLOAT16),
            helper.make_node("Cast", [half], [narrow], to=FLOAT32),
        ]

    stored = {item.name for item in proto.graph.initializer}
    taken = {
        item.name: f"{item.name}/rounded"
        for item in proto.graph.input
        if item.name not in stored and item.type.tensor_type.elem_type == FLOAT32
    }
    nodes = [node for wide, narrow in taken.items() for node in through_half(wide, narrow)]
    for node in proto.graph.node:
        node.input[:] = [taken.get(name, name) for name in node.input]
        rounded = [name for name in node.output if name and element_types[name] == FLOAT32]
        node.output[:] = [f"{name}/wide" if name in rounded else name for name in node.output]
        nodes.append(node)
        for name in rounded:
            nodes += through_half(f"{name}/wide", name)
    del proto.graph.node[:]
    del proto.graph.value_info[:]
    proto.graph.node.extend(nodes)
    return proto


def _element_types(proto: Any) -> dict[str, int]:
    """ONNX's number for the type of every layer's output."""
    from onnx import shape_inference

    graph = shape_inference.infer_shapes(proto).graph
    known = {item.name: int(item.type.tensor_type.elem_type) for item in (*graph.value_info, *graph.output)}
    for node in proto.graph.node:
        if any(name and not known.get(name) for name in node.output):
            raise UserError(f"numerics=float16 cannot determine the output type of the layer {node.op_type}.")
    return known


def _to_int8(proto: Any) -> Any:
    """Round the weights of every weighted layer, and convert its inputs to bytes and back."""
    from onnx import helper, numpy_helper

    named = {item.name: item for item in proto.graph.initializer}
    # Layers that share weights may have their outputs on different axes: one copy for each axis.
    rounded: dict[tuple[str, int], Any] = {}
    through_bytes: dict[str, str] = {}
    nodes: list[Any] = []
    for node in proto.graph.node:
        if node.op_type in WEIGHTED_LAYERS and len(node.input) > 1 and node.input[1] in named:
            source, name = node.input[:2]
            weights = numpy_helper.to_array(named[name])
            axis = _output_axis(node) % weights.ndim
            if (name, axis) not in rounded:
                grid = round_to_int8(weights, axis)
                rounded[name, axis] = numpy_helper.from_array(grid, f"{name}/bytes by axis {axis}")
            node.input[1] = rounded[name, axis].name
            if source not in through_bytes:
                parts = [f"{source}/{part}" for part in ("bytes", "scale", "zero")]
                through_bytes[source] = f"{source}/again"
                nodes.append(helper.make_node("DynamicQuantizeLinear", [source], parts))
                nodes.append(helper.make_node("DequantizeLinear", parts, [through_bytes[source]]))
            node.input[0] = through_bytes[source]
        nodes.append(node)
    del proto.graph.node[:]
    proto.graph.node.extend(nodes)
    proto.graph.initializer.extend(rounded.values())
    _drop_unread(proto.graph)
    return proto


def _drop_unread(graph: Any) -> None:
    """Remove stored numbers that are no longer used."""
    read = {name for node in graph.node for name in node.input}
    read |= {item.name for item in (*graph.input, *graph.output)}
    used = [item for item in graph.initializer if item.name in read]
    del graph.initializer[:]
    graph.initializer.extend(used)


def _output_axis(node: Any) -> int:
    turned = node.op_type == "Gemm" and any(
        attribute.name == "transB" and attribute.i for attribute in node.attribute
    )
    return 0 if turned else WEIGHTED_LAYERS[node.op_type]


def round_to_int8(weights: NDArray[np.float32], axis: int) -> NDArray[np.float32]:
    """Weights on a grid of signed bytes per output: scale = max|w| / 127, w = scale*rint(w / scale)."""
    others = tuple(place for place in range(weights.ndim) if place != axis % weights.ndim)
    scale = np.abs(weights).max(axis=others, keepdims=True) / 127
    scale[scale == 0] = 1
    return np.asarray(np.rint(weights / scale) * scale, np.float32)


VARIANTS: dict[str, Callable[[Any], Any]] = {"float16": _to_float16, "int8": _to_int8}
