"""The recipe of a study's folder."""

from __future__ import annotations

import hashlib

import msgspec
import numpy as np
from numpy.typing import NDArray

from windtunnel.core.conditions import digest
from windtunnel.core.records import Record
from windtunnel.core.training_records import MixRecord, PreprocessRecord, SettingsRecord, TrainingData
from windtunnel.store.recipe_folder import FolderKind
from windtunnel.studies.overlap_files import STUDY_FILE

PARTS = {
    "network": "network",
    "preprocess": "preprocessing",
    "settings": "training settings",
    "mix": "training resizer",
    "train": "training images",
    "test": "test images",
    "conditions": "candidates",
    "device": "device",
}
STUDY = FolderKind("study", STUDY_FILE, 1, PARTS, option="out")


class NetworkRecord(Record, frozen=True):
    """A network: its name, and the digest of its file if it is third-party."""

    name: str
    assets: dict[str, str] = msgspec.field(default_factory=dict)


class StudyRecipe(Record, frozen=True):
    """Everything that determines the predictions of a study's models, except the seed of each.

    Attributes:
        conditions: the id of every condition, by name; `clean` first.
    """

    network: NetworkRecord
    preprocess: PreprocessRecord
    settings: SettingsRecord
    mix: MixRecord
    train: TrainingData
    test: TrainingData
    conditions: dict[str, str]
    device: str

    @property
    def digest(self) -> str:
        """128 bits over the canonical JSON of the recipe."""
        return digest(self.to_json())


def array_digest(values: NDArray[np.uint8]) -> str:
    """64 bits of BLAKE2b over an array's bytes."""
    return hashlib.blake2b(np.ascontiguousarray(values).data, digest_size=8).hexdigest()
