"""A detector as a classifier."""

from __future__ import annotations

import numpy as np

from windtunnel.core.detections import Detections
from windtunnel.models import Scores
from windtunnel.models.wrappers import Settings, Wrapper


class Classify(Wrapper):
    """The most confident box decides the class of the image."""

    name = "classify"
    help = "Classify images by a detector: the class of its most confident box; no box is a wrong prediction."
    source = "Shankar et al. 2021, detectors as classifiers"
    reads_detections = True

    def scores_of(self, detections: Detections, classes: int, settings: Settings) -> Scores:
        """The best box score of every class, 0 for a class without a box; NaN for an image without boxes."""
        del settings
        scores = np.zeros((len(detections), classes), np.float32)
        image = np.repeat(np.arange(len(detections)), detections.counts)
        np.maximum.at(scores, (image, detections.classes), detections.scores)
        scores[detections.counts == 0] = np.nan
        return scores


classify = Classify()
