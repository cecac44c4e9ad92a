"""Models that are known by their predictions only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import UserError
from windtunnel.core.records import DEFAULT_TASK
from windtunnel.models import Model, Scores
from windtunnel.models.preprocess import About, Preprocess


@dataclass
class GivenModel(Model):
    """A model with known predictions that cannot be run."""

    name: str
    fingerprint: str
    classes: tuple[str, ...]
    class_count: int
    outputs: Any
    outputs_from: str
    top_k: int | None = None

    kind: str = "predictions"
    preprocess: Preprocess = field(default_factory=lambda: Preprocess(origin="predictions made elsewhere"))
    trained_on: tuple[str, ...] = ()
    about: About = field(default_factory=About)
    portable: bool = False
    batch: int = 1
    own_arithmetic: bool = True
    task: str = DEFAULT_TASK

    def predict(self, batch: NDArray[np.uint8]) -> Scores:
        """Refuse: there is no model to predict with."""
        raise UserError(
            f"{self.name} has stored predictions only and cannot predict {len(batch)} images; give a model."
        )
