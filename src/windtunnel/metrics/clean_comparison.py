"""Comparison with clean: accuracy lost under a condition, and share of predictions it changes.

residual robustness = accuracy on clean - accuracy under the condition
flip share          = share of images whose predicted class differs from that on clean

Accuracy hides flips: a model may lose one image and gain another. Residual robustness compares with the
suite's canvas. Flips compare with clean images stored by the same codec as the condition, so that flips
caused by the codec are not attributed to the corruption.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.conditions import Condition
from windtunnel.core.metrics import Missing
from windtunnel.core.option_names import option

if TYPE_CHECKING:
    from windtunnel.metrics.scored_run import ScoredRun


def flipped(chosen: NDArray[np.int32], reference: NDArray[np.int32]) -> NDArray[np.bool_]:
    """True where the predicted class differs from the reference's, or either one is not finite (-1)."""
    return np.asarray((chosen != reference) | (chosen < 0), np.bool_)


def clean_with_codec_of(run: ScoredRun, condition: Condition) -> str:
    """The name of the clean condition with the same codec, or "" if the run has none."""
    for other in run.conditions:
        if other.is_clean and other.codec == condition.codec:
            return other.name
    return ""


def why_no_clean(run: ScoredRun) -> Missing | None:
    """Why a run has no comparison with the clean images."""
    if "clean" in run.observed.conditions:
        return None
    return Missing("it needs the clean images", f"give them with {option('clean')}")


def why_no_clean_codec(run: ScoredRun) -> Missing | None:
    """Why a run has no flips relative to clean images stored with the same codec."""
    if all(clean_with_codec_of(run, condition) for condition in run.corruptions):
        return None
    return Missing(
        "the run has no clean images stored with the codec of the corrupted ones", "run suite imagenet-c"
    )
