"""Feature networks: any output of an ONNX file as one row of numbers per image."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.extras import install, load_extra
from windtunnel.core.locations import Location
from windtunnel.models import Scores, probe_images
from windtunnel.models.graph_input import DYNAMIC_BATCH, fit_to_graph, in_batches, runtime_reason
from windtunnel.models.onnx import (
    DTYPES,
    open_session,
    single_image_input,
)
from windtunnel.models.preprocess import declared

# The operators of layers with weights.
WEIGHTED = ("Gemm", "MatMul", "Conv")


class FeatureNetwork:
    """One output of an ONNX file.

    Attributes:
        name: name of the file without its suffix.
        output: the output that is read.
        family: as declared in the network's TOML; "" for unknown.
        preprocess: its preprocessing.
        count: features per image.
        grid: height and width over which features were averaged, or None for features without positions.
        batch: the number of images in one call.
    """

    def __init__(
        self, path: Location, output: str | None = None, preprocess: str | Path | None = None
    ) -> None:
        if not str(path).lower().endswith(".onnx"):
            raise UserError(f"{path} is not a feature network; give an .onnx file.")
        declaration = declared(preprocess, path)
        self._path = path
        self.name = path.stem
        self.family = declaration.about.family
        session = open_session(path)
        wanted = output or declaration.output or session.get_outputs()[0].name
        self._session = _giving(session, path, wanted)
        self.output = wanted
        graph_input = single_image_input(session, path)
        self._input_name = graph_input.name
        shape = [size if isinstance(size, int) and size > 0 else None for size in graph_input.shape]
        self._fixed_batch = shape[0]
        self.batch = shape[0] if shape[0] and shape[0] > 1 else DYNAMIC_BATCH
        self.preprocess = fit_to_graph(declaration, shape, DTYPES[graph_input.type], path)
        self.grid: tuple[int, int] | None = None
        self.count = self._probe().shape[1]

    def features(self, batch: NDArray[np.uint8]) -> Scores:
        """Features (n, count) of a batch of uint8 NHWC images."""
        return in_batches(self._rows, self.preprocess.tensor.apply(batch), self._fixed_batch)

    def _rows(self, tensor: NDArray[Any]) -> Scores:
        features = np.asarray(self._session.run([self.output], {self._input_name: tensor})[0])
        shape = features.shape
        if features.ndim not in (2, 4) or shape[0] != len(tensor) or features.dtype.kind != "f":
            raise UserError(
                f"{self._path.name}:{self.output} is {features.dtype} {shape} for {len(tensor)} image(s); "
                "features are floating-point numbers, (images, features) or with two more axes of positions."
            )
        if features.ndim == 4:
            axes = (2, 3) if self.preprocess.tensor.layout == "nchw" else (1, 2)
            place = (shape[axes[0]], shape[axes[1]])
            self.grid = place if place != (1, 1) else None
            features = features.mean(axis=axes, dtype=np.float64)
        return np.ascontiguousarray(features, np.float32)

    def _probe(self) -> Scores:
        try:
            return self.features(probe_images(self.preprocess, 2))
        except UserError:
            raise
        except Exception as error:  # ONNX Runtime's exceptions have no common base class
            raise UserError(
                f"{self._path} cannot be run: {runtime_reason(error)} Declare its preprocessing in "
                f"{self._path.name}.toml."
            ) from error


def _giving(session: Any, path: Location, output: str) -> Any:
    """A session with an output: one of the graph, or an inner tensor if onnx is installed."""
    outputs = [item.name for item in session.get_outputs()]
    if output in outputs:
        return session
    if importlib.util.find_spec("onnx") is None:
        hint = f"inner tensors can be given after: {install('onnx')}"
        raise unknown_name(f"output of {path.name}", output, outputs, hint)
    onnx = load_extra("onnx", f"Output {output}")
    proto = onnx.load(str(path))
    inner = [name for node in proto.graph.node for name in node.output if name and name not in outputs]
    if output not in inner:
        last = ", ".join(inner[-3:])
        raise unknown_name(
            f"output of {path.name}", output, outputs, f"or an inner tensor; the last are {last}"
        )
    proto.graph.output.append(onnx.ValueInfoProto(name=output))
    return open_session(path, proto.SerializeToString())


def penultimate_tensor(path: Location, graph_input: str, graph_output: str) -> str:
    """The tensor that the last layer with weights before an output receives; "" if none is found.

    Without the package onnx none is found.
    """
    if importlib.util.find_spec("onnx") is None:
        return ""
    import onnx

    graph = onnx.load(str(path), load_external_data=False).graph
    # Tensors that depend on the image; all others are weights.
    images = {graph_input}
    producers: dict[str, Any] = {}
    for node in graph.node:
        if not images.isdisjoint(node.input):
            images.update(node.output)
            producers |= dict.fromkeys(node.output, node)
    tensor = graph_output
    while tensor in producers:
        node = producers[tensor]
        tensor = next(name for name in node.input if name in images)
        if node.op_type in WEIGHTED:
            return tensor if tensor in producers else ""
    return ""
