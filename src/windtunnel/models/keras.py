"""Keras files on Keras 3, by default with the torch backend."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from windtunnel.core.errors import UserError
from windtunnel.core.extras import load_extra
from windtunnel.core.file_digests import file_digest
from windtunnel.core.locations import Location, local_file
from windtunnel.models import Scores, check_scores
from windtunnel.models.graph_input import DescribedModel, chosen_output, runtime_reason
from windtunnel.models.kinds import unknown_model
from windtunnel.models.preprocess import declared
from windtunnel.models.tflite import DTYPES

BACKEND = "KERAS_BACKEND"


class KerasModel(DescribedModel):
    """A classifier in a `.keras` file, called with `training=False`.

    Its device is that of the backend. Lambda layers are refused: they are code that the file contains.
    """

    kind = "keras"
    kind_title = "Keras"

    def __init__(self, path: Location, preprocess: str | Path | None = None) -> None:
        if not path.is_file():
            raise unknown_model(str(path))
        declaration = declared(preprocess, path)
        self.name = path.stem
        # Keras reads the variable when it is imported; its own default is TensorFlow.
        if os.environ.setdefault(BACKEND, "torch") == "torch":
            load_extra("torch", "A model of kind keras")
        self._keras = load_extra("keras", "A model of kind keras")
        self._network = self._loaded(path)
        taken = _image_input(self._network, path)
        names = getattr(self._network, "output_names", None) or [item.name for item in self._network.outputs]
        self._output = names.index(chosen_output(declaration, names, path))
        self._describe(declaration, list(taken.shape), DTYPES[taken.dtype], path)
        self._identify(file_digest(path))

    def _loaded(self, path: Location) -> Any:
        if not zipfile.is_zipfile(local_file(path)):  # Keras says that it does not exist
            raise UserError(f"{path} is not a model Keras can load: it is damaged, or no file of Keras 3.")
        try:
            return self._keras.saving.load_model(local_file(path), compile=False, safe_mode=True)
        except Exception as error:  # Keras raises many kinds
            raise UserError(f"{path} is not a model Keras can load: {runtime_reason(error)}") from error

    def _scores(self, tensor: NDArray[Any]) -> Scores:
        scores = self._keras.tree.flatten(self._network(tensor, training=False))[self._output]
        return check_scores(self._keras.ops.convert_to_numpy(scores), len(tensor), self._where.name)


def _image_input(network: Any, path: Location) -> Any:
    """The input for the images; refuses a network with other inputs."""
    inputs = list(getattr(network, "inputs", None) or [])
    if len(inputs) != 1 or len(inputs[0].shape) != 4 or inputs[0].dtype not in DTYPES:
        given = (
            "; ".join(f"{item.name} {item.dtype} {tuple(item.shape)}" for item in inputs) or "no known input"
        )
        raise UserError(
            f"{path} takes {given}; a classifier takes one batch of images (4 axes, {', '.join(DTYPES)}). "
            "Give a functional or sequential model with a declared input."
        )
    return inputs[0]
