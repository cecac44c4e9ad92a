"""Scores of perturbation sequences: how often and how far answers change, and against AlexNet's.

With FP a sequence's flip probability and uT5D its mean top-5 distance (`metrics/stability.py`), and A the
same of AlexNet:

FR_p  = FP_p / A_p          mFR  = mean over the 10 sequences of FR_p      mFP  = mean of FP_p
T5D_p = uT5D_p / A_p        mT5D = mean over the 10 sequences of T5D_p     mean uT5D likewise

The picture is the unit: its pairs of frames, and its sequences, do not count as many pictures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.errors import UserError
from windtunnel.imaging.clips import H264
from windtunnel.labels import IMAGENET_1K
from windtunnel.metrics.baseline import same_pictures
from windtunnel.metrics.clips import Clips
from windtunnel.metrics.observed import Observed
from windtunnel.metrics.score import Measure
from windtunnel.metrics.stability import (
    Comparison,
    Weight,
    discounted_distance,
    flips,
    frame_pairs,
    log_weight,
    top5_distance,
    zipf_weight,
)
from windtunnel.published.results import STORED, perturbation_normalisers
from windtunnel.sequences import SEQUENCE_PREFIX
from windtunnel.stats.intervals import mean_interval, unit_count
from windtunnel.wording import counted

if TYPE_CHECKING:
    from windtunnel.store.run import Run

# mFR and mT5D are defined over these and no others; the other four are for validation.
THE_TEN = (
    "gaussian_noise", "shot_noise", "motion_blur", "zoom_blur", "snow", "brightness", "translate", "rotate",
    "tilt", "scale",
)  # fmt: skip
# Of every sequence of the published set, which was stored as lossy video.
PUBLISHED_CLIPS = 50_000
LOSSLESS = {"none", "png", f"{STORED}-png", f"{STORED}-array"}
# AlexNet's figures fit video as published, and are near enough for lossless frames; JPEG makes other flips.
NORMALISED = LOSSLESS | {H264, STORED}
SIGMA = "sigma(i) being the later frame's rank of the earlier frame's i-th class"
ALEXNET = "AlexNet's published one (50,000 clips stored as H.264, edition 224, difficulty 1)"

Numbers = NDArray[np.float64]
# From best classes (pictures, frames, 5) and pairs of frames to pictures x pairs.
Distance = Callable[[NDArray[np.int32], tuple[NDArray[np.int64], NDArray[np.int64]]], NDArray[Any]]


def sequences_of(run: Run) -> list[dict[str, Any]]:
    """The run's sequences, in its order."""
    return [condition for condition in run.conditions if condition["kind"] == "sequence"]


def bare(condition: dict[str, Any]) -> str:
    """A sequence's name without its prefix."""
    return str(condition["unit"]).removeprefix(SEQUENCE_PREFIX)


def pairs_of(run: Run, condition: dict[str, Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which of a sequence's frames are compared; a temporal one's difficulty is the stride."""
    return frame_pairs(int(condition["frames"]), type_of(condition), difficulty_of(run))


def type_of(condition: dict[str, Any]) -> Comparison:
    """How a stored sequence's frames are compared; only noise has a level, so that no unit need be there."""
    return "noise" if condition["level"] else "temporal"


def difficulty_of(run: Run) -> int:
    """The difficulty: strength of noise, stride of temporal sequences."""
    return int(run.recipe["suite"]["levels"][0])


def flips_of(run: Run, condition: dict[str, Any]) -> NDArray[np.bool_]:
    """Whether the answer changes, pictures x compared pairs of frames."""
    return _flips(run.clips.top(name(condition)), pairs_of(run, condition))


def _flips(top: NDArray[np.int32], pairs: tuple[NDArray[np.int64], NDArray[np.int64]]) -> NDArray[np.bool_]:
    return flips(top[:, :, 0], pairs)


def _distances(top: NDArray[np.int32], pairs: tuple[NDArray[np.int64], NDArray[np.int64]]) -> Numbers:
    earlier, later = pairs
    found = np.empty((len(top), len(earlier)))
    for place, (before, after) in enumerate(zip(earlier, later, strict=True)):
        found[:, place] = top5_distance(top[:, before], top[:, after])
    return found


@dataclass(frozen=True)
class Kind:
    """One way to measure change: its names, its words, and AlexNet's figure by sequence."""

    each: str
    mean: str
    ratio: str
    mean_ratio: str
    words: str
    distance: Distance
    normaliser: str


FLIPS = Kind(
    "flip_probability", "mfp", "flip_rate", "mfr",
    "share of compared frames whose best class differs", _flips, "fp",
)  # fmt: skip
TOP_FIVE = Kind(
    "ut5d", "mean_ut5d", "t5d", "mt5d",
    f"mean over compared frames of the top-5 distance, sum over i = 1..5 of |i - min(sigma(i), 6)|, {SIGMA}",
    _distances, "ut5d",
)  # fmt: skip


def each(kind: Kind, run: Run, _seen: Observed) -> list[Measure]:
    """The score of every sequence."""
    clips = run.clips
    return [
        Measure(
            kind.each,
            name(one),
            _formula(run, kind, one),
            (name(one),),
            columns,
            weights,
            groups=_groups(run),
        )
        for one in sequences_of(run)
        for columns, weights in [_columns(run, clips, kind, [one])]
    ]


def mean(kind: Kind, run: Run, _seen: Observed) -> list[Measure]:
    """The mean over the run's sequences, however many there are."""
    found = sequences_of(run)
    if not found:
        return []
    columns, weights = _columns(run, run.clips, kind, found)
    formula = f"{kind.words}; mean over {counted(len(found), 'sequence')}, difficulty {difficulty_of(run)}"
    return [Measure(kind.mean, "", formula, tuple(map(name, found)), columns, weights, groups=_groups(run))]


def ratio(kind: Kind, run: Run, seen: Observed) -> list[Measure]:
    """Every sequence's score divided by a stored run's, or by AlexNet's where that fits."""
    if run.baseline:
        return [
            divided(kind, kind.ratio, name(one), run, run.baseline, [one])
            for one in sequences_of(run)
            if not why_not_divided(kind, run, run.baseline, one)
        ]
    if why_not_normalised(run):
        return []
    return [_scaled(one, kind, run) for one in each(kind, run, seen)]


def mean_ratio(kind: Kind, run: Run, _seen: Observed) -> list[Measure]:
    """The mean of those ratios, where the run has exactly the ten sequences."""
    found = sequences_of(run)
    if {bare(one) for one in found} != set(THE_TEN):
        return []
    if run.baseline:
        if any(why_not_divided(kind, run, run.baseline, one) for one in found):
            return []
        return [divided(kind, kind.mean_ratio, "", run, run.baseline, found)]
    if why_not_normalised(run):
        return []
    columns, weights = _columns(run, run.clips, kind, found, [1 / _alexnet(kind, one) for one in found])
    formula = f"mean over the 10 sequences of: {kind.words}, divided by {ALEXNET}"
    return [
        Measure(kind.mean_ratio, "", formula, tuple(map(name, found)), columns, weights, groups=_groups(run))
    ]


def discounted(metric: str, weight: Weight, words: str, run: Run, _seen: Observed) -> list[Measure]:
    """A distance over the whole ranking, of every sequence; it needs every class's score of every frame."""
    found = []
    for one in sequences_of(run):
        if name(one) not in run.recipe["keep"]:
            raise UserError(f"{metric} needs every class's score of every frame; run with --keep logits.")
        earlier, later = pairs_of(run, one)
        means = [
            discounted_distance(scores[earlier], scores[later], weight).mean()
            for scores in run.clips.scores(name(one))
        ]
        formula = f"{words}, mean over compared frames ({compared(run, one)})"
        found.append(
            Measure(metric, name(one), formula, (name(one),), np.array(means)[:, None], groups=_groups(run))
        )
    return found


def name(condition: dict[str, Any]) -> str:
    """What scores call a sequence."""
    return str(condition["name"])


def _columns(
    run: Run,
    clips: Clips,
    kind: Kind,
    found: Sequence[dict[str, Any]],
    factors: Sequence[float] | None = None,
) -> tuple[NDArray[Any], Numbers]:
    """Pictures x pairs of all sequences, and weights that make their mean, each sequence counting alike."""
    parts = [kind.distance(clips.top(name(one)), pairs_of(run, one)) for one in found]
    weights = [
        np.full(part.shape[1], factor / part.shape[1] / len(parts))
        for part, factor in zip(parts, factors or [1.0] * len(parts), strict=True)
    ]
    return np.hstack(parts), np.concatenate(weights)


def _groups(run: Run) -> NDArray[np.int64] | None:
    return run.groups_of(run.clips.kept)


def _formula(run: Run, kind: Kind, condition: dict[str, Any]) -> str:
    return f"{kind.words} ({compared(run, condition)})"


def compared(run: Run, condition: dict[str, Any]) -> str:
    """Which frames of a sequence are compared, in words."""
    if type_of(condition) == "noise":
        return "each frame against the first, which is clean"
    stride = difficulty_of(run)
    return "each frame against the one before" if stride == 1 else f"frames {stride} apart"


def _alexnet(kind: Kind, condition: dict[str, Any]) -> float:
    return perturbation_normalisers()[bare(condition)][kind.normaliser]


def _scaled(one: Measure, kind: Kind, run: Run) -> Measure:
    """A sequence's measure divided by AlexNet's figure."""
    condition = next(found for found in sequences_of(run) if name(found) == one.condition)
    weights = one.linear_weights / _alexnet(kind, condition)
    formula = f"{one.formula}, divided by {ALEXNET}"
    return Measure(kind.ratio, one.condition, formula, one.parts, one.columns, weights, groups=one.groups)


def why_not_divided(kind: Kind, run: Run, baseline: Run, condition: dict[str, Any]) -> str:
    """Why a sequence cannot be divided by the baseline's on the same pictures, or "" where it can."""
    theirs = next((one for one in baseline.conditions if one["id"] == condition["id"]), None)
    if theirs is None:
        return f"the baseline lacks {name(condition)}"
    ours, rows = same_pictures(run, run.clips.ids, baseline, baseline.clips.ids)
    values = kind.distance(baseline.clips.top(name(theirs))[rows], pairs_of(run, condition)).mean(axis=1)
    whole = _groups(run)
    groups = None if whole is None else whole[ours]
    if unit_count(len(values), groups) > 1 and mean_interval(values, groups=groups)[0] > 0:
        return ""
    return f"the baseline's {kind.each} under {name(condition)} is not clearly above 0 ({values.mean():.4f})"


def sequence_notes(run: Run) -> list[str]:
    """What a reader of flip rates and top-5 distances must know."""
    found = sequences_of(run)
    if not found or "flip_rate" not in (*run.metrics, *(["flip_rate"] if run.baseline else [])):
        return []
    if run.baseline:
        reasons = [
            why_not_divided(kind, run, run.baseline, one) for kind in (FLIPS, TOP_FIVE) for one in found
        ]
        return [
            f"FR and T5D divide by {run.baseline.info['model']['name']} ({run.baseline.path}) on the same "
            "pictures, not by AlexNet's published figures: not comparable with the paper's.",
            *(f"No FR or T5D: {reason}." for reason in dict.fromkeys(reasons) if reason),
        ]
    reason = why_not_normalised(run)
    if reason:
        return [f"No FR, no mFR, no T5D, no mT5D: AlexNet's figures do not fit, {reason}. Read mFP and uT5D."]
    codecs = {str(one["codec"]) for one in found}
    if codecs == {STORED} and run.recipe["data"]["count"] == PUBLISHED_CLIPS:
        return []
    lossless = codecs <= LOSSLESS
    how = ", and frames that were never compressed" if lossless else ""
    return [
        "FR and T5D divide by AlexNet's figures on 50,000 published H.264 clips; these are other "
        f"pictures{how}, so that they are only near what the same model would get there."
    ]


def divided(
    kind: Kind, metric: str, condition: str, run: Run, baseline: Run, found: Sequence[dict[str, Any]]
) -> Measure:
    """Ratios to a stored run on the same pictures, both drawn together in the bootstrap."""
    ours, theirs = same_pictures(run, run.clips.ids, baseline, baseline.clips.ids)
    names = {one["id"]: name(one) for one in baseline.conditions}
    halves = [
        [
            kind.distance(clips.top(named), pairs_of(run, one))[rows].mean(axis=1)
            for one in found
            for named in [name(one) if clips is run.clips else names[one["id"]]]
        ]
        for clips, rows in ((run.clips, ours), (baseline.clips, theirs))
    ]
    half = len(found)

    def combine(means: Numbers) -> Numbers:
        below = means[..., half:]
        return np.asarray((means[..., :half] / np.where(below > 0, below, np.nan)).mean(axis=-1), np.float64)

    over = f"mean over {counted(half, 'sequence')} of: " if not condition else ""
    formula = (
        f"{over}{kind.words}, divided by that of {baseline.info['model']['name']} on the same {len(ours):,} "
        "pictures; both drawn together in the interval"
    )
    columns = np.stack([*halves[0], *halves[1]], axis=1)
    whole = _groups(run)
    groups = None if whole is None else whole[ours]
    return Measure(
        metric, condition, formula, tuple(map(name, found)), columns, combine=combine, groups=groups
    )


def why_not_normalised(run: Run) -> str:
    """Why AlexNet's published figures do not fit this run, or "" where they do."""
    found = sequences_of(run)
    if run.recipe["canvas"]["edition"] != 224:
        return f"they hold for edition 224, this run is edition {run.recipe['canvas']['edition']}"
    if difficulty_of(run) != 1:
        return f"they hold for difficulty 1, this run is difficulty {difficulty_of(run)}"
    if any(one["geometry"] for one in found):
        return "they hold for ImageNet-P's own canvas"
    if others := sorted({str(one["codec"]) for one in found} - NORMALISED):
        return f"they hold for H.264 video and are near for lossless frames, these are {', '.join(others)}"
    if run.recipe["data"]["label_space"] != IMAGENET_1K or run.recipe["projection"]["kind"] != "identity":
        return "they hold for ImageNet's 1,000 classes"
    return ""


flip_probability, mfp, flip_rate, mfr = (
    partial(measure, FLIPS) for measure in (each, mean, ratio, mean_ratio)
)
ut5d, mean_ut5d, t5d, mt5d = (partial(measure, TOP_FIVE) for measure in (each, mean, ratio, mean_ratio))
zipf_distance = partial(
    discounted,
    "zipf_distance",
    zipf_weight,
    f"sum over ranks i of w_i * |w_i - w_sigma(i)|, w_i = 1/i, {SIGMA}",
)
log_distance = partial(
    discounted,
    "log_distance",
    log_weight,
    f"sum over ranks i of w_i * |w_i - w_sigma(i)|, w_i = 1/log2(i + 1), {SIGMA}",
)
