"""TFLite files on LiteRT, on one thread of the CPU."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import UserError
from windtunnel.core.file_digests import file_digest
from windtunnel.core.locations import Location, local_file
from windtunnel.models import Scores, check_scores
from windtunnel.models.graph_input import DescribedModel, chosen_output, runtime_reason
from windtunnel.models.kinds import unknown_model
from windtunnel.models.preprocess import Dtype, Tensor, declared

DTYPES: dict[str, Dtype] = {"float32": "float32", "float16": "float16", "uint8": "uint8"}
# How far values may exceed the range of a quantised input, as a fraction of it, if nothing is declared.
BEYOND = 0.1


@dataclass(frozen=True)
class Quantisation:
    """The numbers that a tensor of bytes stands for: `scale * (byte - zero_point)`."""

    dtype: Any
    scale: float
    zero_point: int

    @property
    def range(self) -> tuple[float, float]:
        """The least and the largest number."""
        limits = np.iinfo(self.dtype)
        return self.scale * (limits.min - self.zero_point), self.scale * (limits.max - self.zero_point)

    def quantised(self, values: NDArray[np.float32]) -> NDArray[Any]:
        """Numbers rounded to the nearest byte, those out of range to the first or last one.

        Halves are rounded to even numbers, as the optimised kernels of LiteRT do.
        """
        limits = np.iinfo(self.dtype)
        steps = np.rint(values / np.float32(self.scale)) + np.float32(self.zero_point)
        return np.asarray(np.clip(steps, limits.min, limits.max).astype(self.dtype))

    def real(self, stored: NDArray[Any]) -> NDArray[np.float32]:
        """The numbers that bytes stand for."""
        return (stored.astype(np.float32) - np.float32(self.zero_point)) * np.float32(self.scale)


class TfliteModel(DescribedModel):
    """A classifier in a TFLite file: float32, float16 or quantised, of fixed or dynamic batch size."""

    kind = "tflite"
    kind_title = "TFLite"

    def __init__(self, path: Location, preprocess: str | Path | None = None) -> None:
        declaration = declared(preprocess, path)
        self.name = path.stem
        self._interpreter = _interpreter(path)
        taken = _image_input(self._interpreter, path)
        self._input = int(taken["index"])
        self._quantised_input = _quantisation(taken)
        outputs = {str(item["name"]): item for item in self._interpreter.get_output_details()}
        output = outputs[chosen_output(declaration, list(outputs), path)]
        self._output = int(output["index"])
        self._quantised_output = _quantisation(output)
        dtype = "float32" if self._quantised_input else DTYPES[np.dtype(taken["dtype"]).name]
        signature = taken.get("shape_signature", taken["shape"])
        self._describe(declaration, [int(size) if size > 0 else None for size in signature], dtype, path)
        if self._quantised_input and self.preprocess.assumed:
            _refuse_out_of_range(self._quantised_input, self.preprocess.tensor, path)
        self._allocated: tuple[int, ...] = ()
        self._identify(file_digest(path))

    def _scores(self, tensor: NDArray[Any]) -> Scores:
        if self._quantised_input:
            tensor = self._quantised_input.quantised(tensor)
        if tensor.shape != self._allocated:
            self._interpreter.resize_tensor_input(self._input, tensor.shape)
            self._interpreter.allocate_tensors()
            self._allocated = tensor.shape
        self._interpreter.set_tensor(self._input, tensor)
        self._interpreter.invoke()
        stored = self._interpreter.get_tensor(self._output)
        real = self._quantised_output.real(stored) if self._quantised_output else stored
        return check_scores(real, len(tensor), self._where.name)


def _interpreter(path: Location) -> Any:
    """An interpreter on one thread."""
    if not path.is_file():
        raise unknown_model(str(path))
    from ai_edge_litert.interpreter import Interpreter

    try:
        interpreter = Interpreter(model_path=str(local_file(path)), num_threads=1)
        interpreter.allocate_tensors()
    except Exception as error:  # of the library, which has no exception of its own
        raise UserError(f"{path} is not a model LiteRT can load: {runtime_reason(error)}") from error
    return interpreter


def _image_input(interpreter: Any, path: Location) -> Any:
    """The input for the images; refuses a network with other inputs."""
    inputs = interpreter.get_input_details()
    allowed = len(inputs) == 1 and len(inputs[0]["shape"]) == 4
    if not allowed or not (_quantisation(inputs[0]) or np.dtype(inputs[0]["dtype"]).name in DTYPES):
        given = "; ".join(
            f"{item['name']} {np.dtype(item['dtype']).name} {item['shape'].tolist()}" for item in inputs
        )
        raise UserError(
            f"{path} takes {given}; a classifier takes one batch of images (4 axes; {', '.join(DTYPES)} or "
            "quantised)."
        )
    return inputs[0]


def _quantisation(details: Any) -> Quantisation | None:
    """The quantisation of an input or output; None for real numbers and for plain bytes."""
    scale, zero_point = details["quantization"]
    dtype = np.dtype(details["dtype"])
    if not scale or not np.issubdtype(dtype, np.integer):
        return None
    return Quantisation(dtype, float(scale), int(zero_point))


def _refuse_out_of_range(quantisation: Quantisation, tensor: Tensor, path: Location) -> None:
    """Refuse assumed preprocessing whose values the input cannot represent."""
    ends = np.stack([(bound / tensor.divisor - np.array(tensor.mean)) / tensor.std for bound in (0, 255)])
    low, high = quantisation.range
    beyond = BEYOND * (high - low)
    if ends.min() < low - beyond or ends.max() > high + beyond:
        raise UserError(
            f"{path} takes values from {low:.3g} to {high:.3g}, and no preprocessing is declared; the "
            f"default gives {ends.min():.3g} to {ends.max():.3g}. Declare [tensor] in {path.name}.toml."
        )
