"""OpenVINO IR files on OpenVINO's CPU plug-in, on one thread."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from windtunnel.core.errors import UserError, first_line
from windtunnel.core.file_digests import file_digest
from windtunnel.core.locations import Location, local_files
from windtunnel.models import Scores, check_scores
from windtunnel.models.graph_input import DescribedModel, chosen_output
from windtunnel.models.kinds import unknown_model
from windtunnel.models.preprocess import Dtype, declared

DTYPES: dict[str, Dtype] = {"f32": "float32", "f16": "float16", "u8": "uint8"}
# One thread and one stream, and no arithmetic in bfloat16 on processors that have it.
CONFIGURATION = {
    "INFERENCE_NUM_THREADS": "1",
    "NUM_STREAMS": "1",
    "INFERENCE_PRECISION_HINT": "f32",
}


class OpenvinoModel(DescribedModel):
    """A classifier in an OpenVINO IR: a graph in `FILE.xml` and weights in `FILE.bin`."""

    kind = "openvino"
    kind_title = "OpenVINO"

    def __init__(self, path: Location, preprocess: str | Path | None = None) -> None:
        declaration = declared(preprocess, path)
        self.name = path.stem
        weights = path.with_name(f"{path.stem}.bin")
        self._network = _compiled(path, weights.name)
        taken = _image_input(self._network, path)
        outputs = [output.any_name if output.names else str(output.index) for output in self._network.outputs]
        self._output = outputs.index(chosen_output(declaration, outputs, path))
        shape = [None if size.is_dynamic else size.get_length() for size in taken.partial_shape]
        self._describe(declaration, shape, DTYPES[taken.element_type.get_type_name()], path)
        self._identify(file_digest(path, weights))

    def _scores(self, tensor: NDArray[Any]) -> Scores:
        scores = self._network(tensor)[self._output]
        return check_scores(scores, len(tensor), self._where.name)


def _compiled(path: Location, weights: str) -> Any:
    """The network, compiled for one thread of the CPU."""
    if not path.is_file():
        raise unknown_model(str(path))
    from openvino import Core

    try:
        return Core().compile_model(str(local_files(path, lambda _file: [weights])), "CPU", CONFIGURATION)
    except Exception as error:  # of the library, which has no exception of its own
        # The lines before the last one are places in OpenVINO's code.
        reason = str(error).strip().splitlines()[-1:] or [type(error).__name__]
        if not path.with_name(weights).is_file():
            reason = [f"its weights, {weights}, are not next to it"]
        raise UserError(
            f"{path} is not a model OpenVINO can load: {first_line(Exception(*reason))}."
        ) from error


def _image_input(network: Any, path: Location) -> Any:
    """The input for the images; refuses a network with other inputs."""
    inputs = network.inputs
    if (
        len(inputs) != 1
        or len(inputs[0].partial_shape) != 4
        or inputs[0].element_type.get_type_name() not in DTYPES
    ):
        given = "; ".join(f"{item.element_type.get_type_name()} {item.partial_shape}" for item in inputs)
        raise UserError(
            f"{path} takes {given}; a classifier takes one batch of images (4 axes, {', '.join(DTYPES)})."
        )
    return inputs[0]
