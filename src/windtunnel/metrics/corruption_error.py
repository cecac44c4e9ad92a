"""Corruption error: a model's errors divided by AlexNet's, as ImageNet-C defines it.

With E the model's top-1 errors, A AlexNet's, s the five severities and c a corruption:

CE_c          = sum_s E_sc / sum_s A_sc
mCE           = mean over the 15 corruptions of CE_c
relative CE_c = sum_s (E_sc - E_clean) / sum_s (A_sc - A_clean)
"""

from __future__ import annotations

import csv
import io
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from windtunnel import published
from windtunnel.labels import IMAGENET_1K
from windtunnel.metrics.error import top_k_wrong
from windtunnel.metrics.score import Ranks, Score
from windtunnel.stats.intervals import mean_interval

if TYPE_CHECKING:
    from windtunnel.store.run import Run

# mCE is defined over these and no others; the four extra corruptions are for validation.
THE_FIFTEEN = (
    "gaussian_noise", "shot_noise", "impulse_noise", "defocus_blur", "glass_blur", "motion_blur", "zoom_blur",
    "snow", "frost", "fog", "brightness", "contrast", "elastic_transform", "pixelate", "jpeg_compression",
)  # fmt: skip
SEVERITIES = [1, 2, 3, 4, 5]

# Of the paper, to one decimal; no more exact figure was ever published.
ALEXNET_CLEAN = 0.435
BASELINE = "AlexNet's published errors (50,000 pictures, JPEG 85, edition 224)"


@lru_cache(maxsize=1)
def alexnet_errors() -> dict[str, tuple[float, ...]]:
    """AlexNet's top-1 error by corruption, severities 1 to 5, exact to 1/50000."""
    rows = csv.DictReader(io.StringIO(published.read_text("alexnet_corruption_errors.csv")))
    return {row["corruption"]: tuple(float(row[f"s{level}"]) for level in SEVERITIES) for row in rows}


def corruption_error(errors: NDArray[np.float64], baseline: NDArray[np.float64]) -> float:
    """sum_s E_s / sum_s A_s of one corruption."""
    return float(errors.sum() / baseline.sum())


def relative_corruption_error(
    errors: NDArray[np.float64], clean: float, baseline: NDArray[np.float64], baseline_clean: float
) -> float:
    """sum_s (E_s - E_clean) / sum_s (A_s - A_clean) of one corruption."""
    return float((errors - clean).sum() / (baseline - baseline_clean).sum())


def why_not_normalised(run: Run) -> str:
    """Why AlexNet's published errors do not fit this run, or "" where they do.

    They were measured on the published files: edition 224, its usual canvas, JPEG 85, ImageNet's 1,000
    classes, all five severities.
    """
    suite, canvas = run.recipe["suite"], run.recipe["canvas"]
    spoilt = [condition for condition in run.conditions if condition["kind"] == "corruption"]
    if canvas["edition"] != 224:
        return f"they hold for edition 224, this run is edition {canvas['edition']}"
    if any(condition["geometry"] for condition in spoilt):
        return "they hold for ImageNet-C's own canvas"
    if run.recipe["data"]["label_space"] != IMAGENET_1K or run.recipe["projection"]["kind"] != "identity":
        return "they hold for ImageNet's 1,000 classes"
    if {condition["codec"] for condition in spoilt} != {"jpeg:85"}:
        return "they hold for pictures stored as JPEG 85"
    if sorted(suite["levels"]) != SEVERITIES:
        return "they are sums over all five severities"
    missing = sorted(set(suite["units"]) - set(alexnet_errors()))
    if missing:
        return f"there are none for {missing[0]}"
    return ""


def ce_scores(run: Run, ranks: Ranks) -> list[Score]:
    """Corruption error of every corruption, where AlexNet's errors fit."""
    if why_not_normalised(run):
        return []
    formula = f"sum of top-1 errors over severities 1 to 5, divided by the same sum of {BASELINE}"
    wrong = top_k_wrong(ranks.values, 1)
    return [
        _score(run, "ce", unit, _ce_per_picture(run, wrong, unit), formula, _parts(run, unit))
        for unit in run.recipe["suite"]["units"]
    ]


def mce_scores(run: Run, ranks: Ranks) -> list[Score]:
    """mCE, where AlexNet's errors fit and the suite is exactly the fifteen."""
    if why_not_normalised(run) or set(run.recipe["suite"]["units"]) != set(THE_FIFTEEN):
        return []
    wrong = top_k_wrong(ranks.values, 1)
    per_picture = np.mean([_ce_per_picture(run, wrong, unit) for unit in THE_FIFTEEN], axis=0)
    formula = f"mean over the 15 corruptions of CE: summed top-1 errors of 5 severities divided by {BASELINE}"
    return [_score(run, "mce", "", per_picture, formula, _parts(run))]


def relative_mce_scores(run: Run, ranks: Ranks) -> list[Score]:
    """Relative mCE, where AlexNet's errors fit and the suite is exactly the fifteen."""
    if why_not_normalised(run) or set(run.recipe["suite"]["units"]) != set(THE_FIFTEEN):
        return []
    wrong = top_k_wrong(ranks.values, 1)
    clean = wrong[:, ranks.conditions.index("clean")].astype(np.float64)
    values = []
    for unit in THE_FIFTEEN:
        baseline = np.array(alexnet_errors()[unit]) - ALEXNET_CLEAN
        gained = wrong[:, _columns(run, unit)].sum(axis=1) - len(SEVERITIES) * clean
        values.append(gained / baseline.sum())
    formula = (
        "mean over the 15 corruptions of the sum over severities of (top-1 error - clean error), divided by "
        f"the same sum of {BASELINE}, AlexNet clean 43.5 %"
    )
    return [_score(run, "relative_mce", "", np.mean(values, axis=0), formula, ("clean", *_parts(run)))]


def _ce_per_picture(run: Run, wrong: NDArray[np.bool_], unit: str) -> NDArray[np.float64]:
    """Each picture's share in CE: CE is linear in its errors, so that its mean over pictures is CE."""
    return np.asarray(wrong[:, _columns(run, unit)].sum(axis=1) / sum(alexnet_errors()[unit]), np.float64)


def _columns(run: Run, unit: str) -> list[int]:
    return [column for column, condition in enumerate(run.conditions) if condition["unit"] == unit]


def _parts(run: Run, unit: str = "") -> tuple[str, ...]:
    return tuple(
        str(condition["name"])
        for condition in run.conditions
        if condition["kind"] == "corruption" and unit in ("", condition["unit"])
    )


def _score(
    run: Run,
    metric: str,
    condition: str,
    per_picture: NDArray[np.float64],
    formula: str,
    parts: tuple[str, ...],
) -> Score:
    value = float(per_picture.mean())
    low, high = mean_interval(per_picture)
    return Score(metric, condition, value, low, high, len(per_picture), formula, parts, run.digest)
