"""Wrappers: one file each, which changes what a model sees or returns at test time.

A wrapper is written before a model, `clahe(clip=3)|tencrop|model.onnx`. Images pass from left to right,
scores from right to left.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.calls import CalledPlugin, Parameter, Settings
from windtunnel.core.registry import Registry
from windtunnel.models.fitted_images import FittedImages

if TYPE_CHECKING:
    from windtunnel.core.detections import Detections
    from windtunnel.models import Model, Outputs, Scores

__all__ = ["REGISTRY", "FittedImages", "Images", "Parameter", "Settings", "Wrapper"]

Images = NDArray[np.uint8]


class Wrapper(CalledPlugin):
    """A change at test time. A subclass declares facts and overrides `views` or `adjusted`.

    Attributes:
        changes_images: whether the model predicts changed images instead of the given ones; such a wrapper
            is labelled `test time only`, because papers fine-tune models on the changed images.
        reads_detections: whether it makes a classifier of a detector, by `scores_of`.
        pointless_around: wrappers that this one adds nothing to, if it is directly around them.
        revision: raised when its results change; part of the recipe and the fingerprint.
        golden: digest of its views of the golden images, which detects any change; "" for none.
    """

    changes_images: bool = False
    reads_detections: bool = False
    pointless_around: tuple[str, ...] = ()
    revision: int = 1
    golden: str = ""

    def __init__(self) -> None:
        own = type(self)
        missing = (
            ["views(images, settings) or adjusted(scores, outputs, settings)"]
            if own.views is Wrapper.views and own.adjusted is Wrapper.adjusted and not own.reads_detections
            else []
        )
        self.refuse_incomplete(("name", "help", "source"), missing)

    def views(self, images: Images, settings: Settings) -> Iterator[Images]:
        """Yield the batches that the model predicts; the probabilities of several are averaged.

        Args:
            images: uint8 NHWC images of the model's input size, which cannot be modified.
            settings: all parameters.
        """
        del settings
        yield images

    def adjusted(self, scores: Scores, outputs: Outputs, settings: Settings) -> Scores:
        """The scores after a change, float32 (n, k); `outputs` says whether they are logits or probabilities.

        Probabilities must stay probabilities.
        """
        del outputs, settings
        return scores

    def scores_of(self, detections: Detections, classes: int, settings: Settings) -> Scores:
        """Scores of all classes (n, classes), given the detections of a batch; NaN for no prediction."""
        raise NotImplementedError

    def resolved(self, settings: Settings, model: Model) -> tuple[Settings, FittedImages]:
        """The settings for a model, with the content of files, and the images that they were fitted on.

        Raises:
            UserError: the settings do not fit together, or do not fit the model.
        """
        del model
        return settings, FittedImages()


REGISTRY: Registry[Wrapper] = Registry("wrapper", __name__, Wrapper)
