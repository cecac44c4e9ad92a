"""Python callables as models."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.models import (
    Model,
    Scores,
    Size,
    behaviour,
    check_scores,
    finite_rows,
    output_facts,
    probe_images,
)
from windtunnel.models.kinds import Origin
from windtunnel.models.preprocess import Declaration

BATCH = 32


def live_origin(made: object, preprocess: str | Path | None, data_size: Size | None) -> Origin:
    """The origin of a live object, which stays in this process."""
    name = str(getattr(made, "name", None) or getattr(made, "__name__", None) or type(made).__name__)
    try:
        file = Path(inspect.getfile(made if callable(made) and hasattr(made, "__code__") else type(made)))
    except (TypeError, OSError):
        file = None
    return Origin(name, file, preprocess, data_size, portable=False)


class CallableModel(Model):
    """A classifier that is a Python callable from uint8 NHWC images to scores.

    Attributes:
        probe_size: height and width of the images it was tested on, if it declares no size; else None.
    """

    batch = BATCH
    own_arithmetic = True

    def __init__(
        self,
        predictor: Callable[[NDArray[np.uint8]], Any],
        kind: str,
        declaration: Declaration,
        name: str,
        fingerprint: str,
        data_size: Size | None = None,
        *,
        portable: bool,
    ) -> None:
        self._predictor = predictor
        self.kind = kind
        self.name = name
        self.portable = portable
        self.preprocess = declaration.preprocess
        self.trained_on = declaration.trained_on
        self.about = declaration.about
        self.declared_wrappers = declaration.wrappers
        self._declare(declaration)
        self.probe_size, probe = self._probe(data_size)
        self.fingerprint = f"{fingerprint}-{self._learn(declaration, probe)}"

    def _declare(self, declaration: Declaration) -> None:
        """Facts about the outputs that are known before a trial run: none of a classifier."""

    def _learn(self, declaration: Declaration, probe: Scores) -> str:
        """Take the facts about the outputs from a trial run; returns its digest."""
        facts = output_facts(declaration, probe, self.name)
        self.class_count, self.classes = facts.class_count, facts.classes
        self.outputs, self.outputs_from = facts.outputs, facts.outputs_from
        return behaviour(probe)

    def _all_finite(self, outputs: Scores) -> bool:
        """Whether all outputs of a batch are finite."""
        return bool(finite_rows(outputs).all())

    def _probe(self, data_size: Size | None) -> tuple[Size | None, Scores]:
        """The scores of two images, and their size if it is the data's.

        A model without a declared size is tested at 224 pixels, then at the data's size: a network with a
        fixed input takes no other.
        """
        undeclared = self.preprocess.geometry.output_px is None
        sizes = (None, data_size) if undeclared and data_size else (None,)
        for size in sizes:
            images = probe_images(self.preprocess, 2, size)
            try:
                return size, self.predict(images)
            except Exception as error:  # of the user's code
                failure = error
        if isinstance(failure, UserError):
            raise failure
        height, width = images.shape[1:3]
        failed = f"{self.name} failed on two {width}x{height} images"
        reason = f"{type(failure).__name__}: {failure}"
        if not self.preprocess.assumed:
            raise UserError(
                f"{failed} (preprocessing {self.preprocess.origin}): {reason}. Correct the model, or its "
                "preprocessing if it expects other images."
            ) from failure
        raise UserError(
            f"{failed} (preset imagenet, since no preprocessing is declared): {reason}. Declare its "
            f"preprocessing with {option('preprocess')}: a preset (cifar for 32x32 images) or a TOML file "
            '(rule = "none" under [geometry] for images at their own size).'
        ) from failure

    def predict(self, batch: NDArray[np.uint8]) -> Scores:
        """Scores (n, k) of a batch of uint8 NHWC images."""
        return check_scores(self._predictor(batch), len(batch), self.name)
