"""The correct predictions of each model of a study; readable without torch."""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.conditions import digest
from windtunnel.core.locations import Location
from windtunnel.core.records import Record, RecordError, read_record
from windtunnel.store.atomic_files import write_whole


class ModelPredictions(Record, frozen=True):
    """Which test images a model predicts correctly.

    Attributes:
        recipe: digest of the study's recipe.
        trained_on, seed: the model: what distinguishes its training, and the seed.
        images: number of test images.
        correct: by condition, one bit per image, packed as by `numpy.packbits`.
        failed: why there is no model; "" if there is one.
    """

    recipe: str
    trained_on: str
    seed: int
    images: int
    correct: dict[str, bytes]
    failed: str = ""

    @classmethod
    def of(
        cls, recipe: str, trained_on: str, seed: int, correct: dict[str, NDArray[np.bool_]]
    ) -> ModelPredictions:
        """The record of correct and wrong predictions."""
        images = len(next(iter(correct.values())))
        packed = {name: np.packbits(values).tobytes() for name, values in correct.items()}
        return cls(recipe, trained_on, seed, images, packed)

    def unpacked(self, condition: str) -> NDArray[np.bool_]:
        """Whether the prediction of every image is correct."""
        bits = np.unpackbits(np.frombuffer(self.correct[condition], np.uint8), count=self.images)
        return bits.astype(bool)

    def write(self, path: Location) -> None:
        """Write the record with a digest of its content."""
        content = self.to_json()
        text = json.dumps({"digest": digest(content), **content}, indent=1) + "\n"
        write_whole(path, text.encode())


def read_predictions(path: Location) -> ModelPredictions | None:
    """The predictions in a file; None if there is no file, or if its content is damaged."""
    try:
        content = json.loads(path.read_bytes())
        if content.pop("digest") != digest(content):
            return None
        return read_record(content, ModelPredictions)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecordError):
        return None
