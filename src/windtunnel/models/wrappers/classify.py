"""A detector as a classifier."""

from __future__ import annotations

import numpy as np

from windtunnel.core.detections import Detections
from windtunnel.core.errors import UserError
from windtunnel.models import Model, Scores
from windtunnel.models.wrappers import FittedImages, Settings, Wrapper

# The score of a class without a box; logarithms need a positive number.
LEAST_SCORE = 1e-6


class Classify(Wrapper):
    """The most confident box decides the class of the image."""

    name = "classify"
    help = "Classify images by a detector: the class of its most confident box; no box is a wrong prediction."
    source = "Shankar et al. 2021, detectors as classifiers"
    reads_detections = True

    def resolved(self, settings: Settings, model: Model) -> tuple[Settings, FittedImages]:
        """The settings as they are; refuses a detector of one class, whose prediction is always the same."""
        if model.class_count < 2:
            raise UserError(
                f"{self.name} chooses between classes, and {model.name} has only one; give a detector of "
                "several classes."
            )
        return super().resolved(settings, model)

    def scores_of(self, detections: Detections, classes: int, settings: Settings) -> Scores:
        """The logarithm of the best box score of every class; NaN for an image without boxes.

        Softmax then gives the scores of boxes as shares of their sum. A class without a box has LEAST_SCORE.
        """
        del settings
        scores = np.full((len(detections), classes), LEAST_SCORE, np.float32)
        image = np.repeat(np.arange(len(detections)), detections.counts)
        np.maximum.at(scores, (image, detections.classes), detections.scores)
        scores[detections.counts == 0] = np.nan
        return np.log(scores)


classify = Classify()
