"""Predictions within the memory of a device: batches that do not fit are halved."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from windtunnel.models import Model, Scores

LOGGER = logging.getLogger(__name__)
# Parts of messages of torch's CPU and MPS allocators, of CUDA's libraries and of ONNX Runtime.
ALLOCATION_FAILURES = (
    "out of memory",
    "out_of_memory",
    "can't allocate memory",
    "failed to allocate memory",
    "alloc_failed",
    "bad_alloc",
    "bad allocation",
)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception of a model or a library says that memory ran out."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    message = str(error).lower()
    return any(failure in message for failure in ALLOCATION_FAILURES)


def predict_within_memory(model: Model, images: NDArray[np.uint8]) -> Scores:
    """A model's scores of a batch, in smaller batches if memory runs out.

    The smaller size is kept in `model.fitting_batch` for later batches, and logged once.

    Raises:
        Exception: the model fails for another reason, or a single image does not fit.
    """
    parts: list[Scores] = []
    start = 0
    while start < len(images):
        part = images[start : start + (model.fitting_batch or len(images))]
        scores = _scores_if_fitting(model, part)
        if scores is None:
            _halve(model, len(part))
        else:
            parts.append(scores)
            start += len(part)
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _scores_if_fitting(model: Model, images: NDArray[np.uint8]) -> Scores | None:
    """The scores, or None if memory runs out with more than one image.

    The exception ends here: its traceback would keep the memory of the failed attempt.
    """
    try:
        return model.predict(images)
    except Exception as error:  # the model's own code
        if len(images) == 1 or not is_out_of_memory(error):
            raise
        return None


def _halve(model: Model, tried: int) -> None:
    if model.fitting_batch is None:
        LOGGER.warning(
            "%s ran out of memory with %d images in a batch; smaller batches are used from now on.",
            model.name,
            tried,
        )
    model.fitting_batch = tried // 2
    torch = sys.modules.get("torch")
    if torch is None:
        return
    # Blocks of the failed attempt, which torch would keep for batches of that size.
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    if torch.backends.mps.is_available():
        torch.mps.empty_cache()
