"""Numerics: the same float32 ONNX network in the arithmetic it may be deployed in.

float16   weights and arithmetic in half precision, float32 in and out.
int8      what integer kernels keep: weights as signed bytes with a scale per output channel, the inputs of
          every weighted layer as unsigned bytes with a scale and zero point of that tensor. Scales come from
          each picture itself, so that no calibration pictures are needed and none can leak; sums stay
          float32, where int32 would hold them exactly.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.errors import UserError, missing_extra, unknown_name

if TYPE_CHECKING:
    from windtunnel.models import Model

# Which axis of a layer's weights counts its outputs.
WEIGHTED_LAYERS = {"Conv": 0, "ConvTranspose": 1, "Gemm": -1, "MatMul": -1}
FLOAT32 = 1  # ONNX's number for it
OLDEST_OPSET = 11  # the first that rounds to bytes by itself


def why_no_variants(model: Model) -> str:
    """Why a model has no variants in other arithmetic, in one line; "" where it has."""
    if model.kind != "onnx":
        return f"needs an ONNX file; this model is a {model.kind}"
    if importlib.util.find_spec("onnx") is None:
        return str(missing_extra("it", "numerics")).rstrip(".")
    graph = _graph(model)
    if any(item.data_type != FLOAT32 for item in _weights(graph)):
        return "needs a float32 network; this one has other weights"
    if max(item.version for item in graph.opset_import if not item.domain) < OLDEST_OPSET:
        return f"needs ONNX operators of version {OLDEST_OPSET} or later; export the network anew"
    return ""


def variant_of(model: Model, name: str) -> Model:
    """The same network in other arithmetic (`float16`, `int8`), made once."""
    if name not in VARIANTS:
        raise unknown_name("numerics", name, VARIANTS)
    if reason := why_no_variants(model):
        raise UserError(f"numerics={name} {reason}.")
    live: Any = model
    return _variant(live, name)


@lru_cache(maxsize=2)
def _variant(model: Any, name: str) -> Model:
    # Scales belong to a picture, not to its neighbours in a batch.
    batch = 1 if name == "int8" else model.batch
    graph = VARIANTS[name](_graph(model)).SerializeToString()
    found: Model = model.with_graph(graph, f"{model.name}-{name}", batch)
    return found


def _graph(model: Any) -> Any:
    import onnx

    return onnx.load(str(model.path))


def _weights(proto: Any) -> list[Any]:
    """The initialisers that weighted layers multiply by."""
    named = {item.name: item for item in proto.graph.initializer}
    layers = (node for node in proto.graph.node if node.op_type in WEIGHTED_LAYERS and len(node.input) > 1)
    return [named[node.input[1]] for node in layers if node.input[1] in named]


def _to_float16(proto: Any) -> Any:
    from onnxruntime.transformers.float16 import convert_float_to_float16

    return convert_float_to_float16(proto, keep_io_types=True)


def _to_int8(proto: Any) -> Any:
    """Round the weights of every weighted layer, and put its inputs through bytes on their way."""
    from onnx import helper, numpy_helper

    named = {item.name: item for item in proto.graph.initializer}
    through_bytes: dict[str, str] = {}
    nodes: list[Any] = []
    for node in proto.graph.node:
        if node.op_type in WEIGHTED_LAYERS and len(node.input) > 1 and node.input[1] in named:
            weights = named[node.input[1]]
            rounded = round_to_int8(numpy_helper.to_array(weights), _output_axis(node))
            weights.CopyFrom(numpy_helper.from_array(rounded, weights.name))
            source = node.input[0]
            if source not in through_bytes:
                parts = [f"{source}/{part}" for part in ("bytes", "scale", "zero")]
                through_bytes[source] = f"{source}/again"
                nodes.append(helper.make_node("DynamicQuantizeLinear", [source], parts))
                nodes.append(helper.make_node("DequantizeLinear", parts, [through_bytes[source]]))
            node.input[0] = through_bytes[source]
        nodes.append(node)
    del proto.graph.node[:]
    proto.graph.node.extend(nodes)
    return proto


def _output_axis(node: Any) -> int:
    turned = node.op_type == "Gemm" and any(one.name == "transB" and one.i for one in node.attribute)
    return 0 if turned else WEIGHTED_LAYERS[node.op_type]


def round_to_int8(weights: NDArray[np.float32], axis: int) -> NDArray[np.float32]:
    """Weights on a grid of signed bytes per output: scale = max|w| / 127, w = scale*rint(w / scale)."""
    others = tuple(place for place in range(weights.ndim) if place != axis % weights.ndim)
    scale = np.abs(weights).max(axis=others, keepdims=True) / 127
    scale[scale == 0] = 1
    return np.asarray(np.rint(weights / scale) * scale, np.float32)


VARIANTS: dict[str, Callable[[Any], Any]] = {"float16": _to_float16, "int8": _to_int8}
