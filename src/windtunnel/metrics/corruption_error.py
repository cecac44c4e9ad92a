"""Corruption error: a model's errors normalised by AlexNet's, as ImageNet-C defines it.

With E the model's top-1 errors, A AlexNet's, s the five severities and c a corruption:

CE_c          = sum_s E_sc / sum_s A_sc
mCE           = mean over the 15 corruptions of CE_c
relative CE_c = sum_s (E_sc - E_clean) / sum_s (A_sc - A_clean)
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from windtunnel import published
from windtunnel.core.metrics import Missing
from windtunnel.core.option_names import option
from windtunnel.corruptions import ONE_STRENGTH, SEVERITIES
from windtunnel.data.precomputed import AS_STORED
from windtunnel.metrics.clean_comparison import why_no_clean
from windtunnel.metrics.misfit import Misfit, joined_misfit, not_normalised, other_classes
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.stats.measure import Measure

if TYPE_CHECKING:
    from windtunnel.metrics.scored_run import ScoredRun

# mCE is defined over these and no others; the four extra corruptions are for validation.
THE_FIFTEEN = (
    "gaussian_noise", "shot_noise", "impulse_noise", "defocus_blur", "glass_blur", "motion_blur", "zoom_blur",
    "snow", "frost", "fog", "brightness", "contrast", "elastic_transform", "pixelate", "jpeg_compression",
)  # fmt: skip

# The paper's figure, to one decimal. The table of imagenet-testbed has 43.478 % for torchvision's AlexNet on
# the same 50,000 images; with it relative CE would be up to 0.2 % of its value smaller (brightness).
ALEXNET_CLEAN = 0.435
BASELINE = "AlexNet's published errors (50,000 images, JPEG 85, edition 224)"


SEVERITIES_LACKING = Misfit(
    "they are sums over all five severities", "run all severities, as suite imagenet-c does"
)


@lru_cache(maxsize=1)
def alexnet_errors() -> dict[str, tuple[float, ...]]:
    """AlexNet's top-1 error by corruption, severities 1 to 5, exact to 1/50000."""
    rows = csv.DictReader(io.StringIO(published.read_text("alexnet_corruption_errors.csv")))
    return {row["corruption"]: tuple(float(row[f"s{level}"]) for level in SEVERITIES) for row in rows}


def misfit(run: ScoredRun) -> Misfit | None:
    """Why AlexNet's published errors do not apply to this run, and what to do; None if they apply."""
    return joined_misfit(misfits(run))


def misfits(run: ScoredRun) -> list[Misfit]:
    """Every reason why AlexNet's published errors do not apply to this run.

    They were measured on the published files: edition 224, its usual canvas, JPEG 85, ImageNet's 1,000
    classes, all five severities.
    """
    suite, canvas = run.recipe.suite, run.recipe.canvas
    corrupted, reasons = run.corruptions, []
    if canvas.edition != 224:
        reasons.append(
            Misfit(
                f"they hold for edition 224, this run is edition {canvas.edition}",
                f"run with {option('edition', 224)} on images of that size",
            )
        )
    if any(condition.geometry for condition in corrupted):
        reasons.append(Misfit("they hold for ImageNet-C's own canvas", "run suite imagenet-c"))
    if others := other_classes(run):
        reasons.append(others)
    if not {condition.codec for condition in corrupted} <= {"jpeg:85", AS_STORED}:
        reasons.append(
            Misfit("they hold for images stored as JPEG 85", f"run with {option('codec', 'jpeg:85')}")
        )
    units = {*suite.units, *(condition.unit for condition in corrupted)}
    if missing := sorted(units - set(alexnet_errors())):
        none = f"they have no errors for {', '.join(missing)}"
        reasons.append(Misfit(none, "run suite imagenet-c"))
    if not whole_units(run) and units != set(missing):
        reasons.append(SEVERITIES_LACKING)
    return reasons


def whole_units(run: ScoredRun) -> list[str]:
    """The corruptions that the run has at all five severities, or that have one strength."""
    levels: dict[str, set[int]] = {}
    for condition in run.conditions:
        if condition.is_corruption:
            levels.setdefault(condition.unit, set()).add(condition.level)
    whole = ({*SEVERITIES}, {*ONE_STRENGTH})
    return [unit for unit, unit_levels in levels.items() if unit_levels in whole]


def why_not_normalised(run: ScoredRun) -> Missing | None:
    """Why a run has no corruption error."""
    return not_normalised(misfits(run))


def why_no_mean(run: ScoredRun) -> Missing | None:
    """Why a run has no mean over ImageNet-C's corruptions."""
    return not_normalised(*_misfits_of_mean(run))


def why_no_relative(run: ScoredRun) -> Missing | None:
    """Why a run has no relative corruption error."""
    return not_normalised(misfits(run), _without_clean(run))


def why_no_relative_mean(run: ScoredRun) -> Missing | None:
    """Why a run has no mean of relative corruption errors."""
    reasons, others = _misfits_of_mean(run)
    return not_normalised(reasons, [*others, *_without_clean(run)])


def _misfits_of_mean(run: ScoredRun) -> tuple[list[Misfit], list[Misfit]]:
    """Why AlexNet's errors do not apply, and which corruptions the mean lacks."""
    units = set(whole_units(run))
    if units == set(THE_FIFTEEN):
        return misfits(run), []
    have = len(units & set(THE_FIFTEEN))
    reason = f"it is defined over 15 corruptions at 5 severities, and the run has {have} of them"
    others = [other for other in misfits(run) if other != SEVERITIES_LACKING]
    return others, [Misfit(reason, "run suite imagenet-c")]


def _without_clean(run: ScoredRun) -> list[Misfit]:
    missing = why_no_clean(run)
    return [Misfit(missing.reason, missing.cure)] if missing else []


def relative_weights(units: Sequence[str]) -> dict[str, float]:
    """The weight of each corruption's errors in the mean of relative CE over corruptions."""
    return {
        unit: 1 / (sum(alexnet_errors()[unit]) - len(SEVERITIES) * ALEXNET_CLEAN) / len(units)
        for unit in units
    }


def less_clean(seen: Observed, corrupted: Measure) -> Measure:
    """The same weighted sum of (error - clean error)."""
    clean = seen.wrong[:, [seen.column("clean")]]
    return replace(
        corrupted,
        parts=("clean", *corrupted.parts),
        columns=np.hstack([clean, corrupted.columns]),
        weights=np.concatenate([[-corrupted.linear_weights.sum()], corrupted.linear_weights]),
    )


def weighted_errors(
    run: ScoredRun, seen: Observed, metric: str, condition: str, weights: dict[str, float], formula: str
) -> Measure:
    """A weighted sum of the top-1 errors of units at all their severities."""
    columns = [column for unit in weights for column in _columns(run, unit)]
    each = [weight for unit, weight in weights.items() for _ in _columns(run, unit)]
    parts = tuple(seen.conditions[column] for column in columns)
    wrong = seen.wrong[:, columns]
    return Measure(metric, condition, formula, parts, wrong, np.array(each))


def _columns(run: ScoredRun, unit: str) -> list[int]:
    return [column for column, condition in enumerate(run.conditions) if condition.unit == unit]
