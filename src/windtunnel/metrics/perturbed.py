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
    FARTHEST_TOP5,
    Comparison,
    Weight,
    discounted_distance,
    farthest_discounted,
    flips,
    frame_pairs,
    log_weight,
    top5_distance,
    zipf_weight,
)
from windtunnel.published.results import STORED, perturbation_normalisers
from windtunnel.sequences import SEQUENCE_PREFIX
from windtunnel.stats.intervals import Groups, mean_interval, unit_count
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
    return _changes(FLIPS, run.clips, name(condition), run, condition)


def _flips(top: NDArray[np.int32], pairs: tuple[NDArray[np.int64], NDArray[np.int64]]) -> NDArray[np.bool_]:
    return flips(top[:, :, 0], pairs)


def _distances(
    top: NDArray[np.int32], pairs: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> NDArray[np.int8]:
    earlier, later = pairs
    found = np.empty((len(top), len(earlier)), np.int8)
    for place, (before, after) in enumerate(zip(earlier, later, strict=True)):
        found[:, place] = top5_distance(top[:, before], top[:, after])
    return found


@dataclass(frozen=True)
class Kind:
    """One way to measure change: names, words, greatest value, and AlexNet's figure by sequence."""

    each: str
    mean: str
    ratio: str
    mean_ratio: str
    title: str
    words: str
    distance: Distance
    most: float
    normaliser: str


FLIPS = Kind(
    "flip_probability", "mfp", "flip_rate", "mfr", "FR",
    "share of compared frames whose best class differs", _flips, 1, "fp",
)  # fmt: skip
TOP_FIVE = Kind(
    "ut5d", "mean_ut5d", "t5d", "mt5d", "T5D",
    f"mean over compared frames of the top-5 distance, sum over i = 1..5 of |i - min(sigma(i), 6)|, {SIGMA}",
    _distances, FARTHEST_TOP5, "ut5d",
)  # fmt: skip


def each(kind: Kind, run: Run, _seen: Observed) -> list[Measure]:
    """The score of every sequence."""
    return [
        _measure(kind, kind.each, name(one), _formula(run, kind, one), run, [one])
        for one in sequences_of(run)
    ]


def mean(kind: Kind, run: Run, _seen: Observed) -> list[Measure]:
    """The mean over the run's sequences, however many there are."""
    found = sequences_of(run)
    if not found:
        return []
    formula = f"{kind.words}; mean over {counted(len(found), 'sequence')}, difficulty {difficulty_of(run)}"
    return [_measure(kind, kind.mean, "", formula, run, found)]


def ratio(kind: Kind, run: Run, _seen: Observed) -> list[Measure]:
    """Every sequence's score divided by a stored run's, or by AlexNet's where that fits."""
    if run.baseline:
        both = beside(run, run.baseline)
        return [
            divided(kind, kind.ratio, name(one), both, [one])
            for one in sequences_of(run)
            if not why_not_divided(kind, both, one)
        ]
    if why_not_normalised(run):
        return []
    return [
        _measure(kind, kind.ratio, name(one), f"{_formula(run, kind, one)}, divided by {ALEXNET}", run, [one],
                 [1 / _alexnet(kind, one)])
        for one in sequences_of(run)
    ]  # fmt: skip


def mean_ratio(kind: Kind, run: Run, _seen: Observed) -> list[Measure]:
    """The mean of those ratios, where the run has exactly the ten sequences."""
    found = sequences_of(run)
    if {bare(one) for one in found} != set(THE_TEN):
        return []
    if run.baseline:
        both = beside(run, run.baseline)
        if any(why_not_divided(kind, both, one) for one in found):
            return []
        return [divided(kind, kind.mean_ratio, "", both, found)]
    if why_not_normalised(run):
        return []
    formula = f"mean over the 10 sequences of: {kind.words}, divided by {ALEXNET}"
    factors = [1 / _alexnet(kind, one) for one in found]
    return [_measure(kind, kind.mean_ratio, "", formula, run, found, factors)]


def discounted(metric: str, weight: Weight, words: str, run: Run, _seen: Observed) -> list[Measure]:
    """A distance over the whole ranking, of every sequence; it needs every class's score of every frame."""
    found = []
    for one in sequences_of(run):
        if name(one) not in run.recipe["keep"]:
            raise UserError(f"{metric} needs every class's score of every frame; run with --keep logits.")
        earlier, later = pairs_of(run, one)
        means, farthest = [], 0.0
        for scores in run.clips.scores(name(one)):
            means.append(discounted_distance(scores[earlier], scores[later], weight).mean())
            farthest = farthest_discounted(scores.shape[-1], weight)
        formula = f"{words}, mean over compared frames ({compared(run, one)})"
        found.append(
            Measure(
                metric,
                name(one),
                formula,
                (name(one),),
                np.array(means)[:, None],
                limits=(0, farthest),
                groups=_groups(run),
            )
        )
    return found


def name(condition: dict[str, Any]) -> str:
    """What scores call a sequence."""
    return str(condition["name"])


def _measure(
    kind: Kind,
    metric: str,
    condition: str,
    formula: str,
    run: Run,
    found: Sequence[dict[str, Any]],
    factors: Sequence[float] | None = None,
) -> Measure:
    """The mean over sequences, each counting alike, or each times its factor."""
    parts = [_changes(kind, run.clips, name(one), run, one) for one in found]
    weights = np.concatenate(
        [
            np.full(part.shape[1], factor / part.shape[1] / len(parts))
            for part, factor in zip(parts, factors or [1.0] * len(parts), strict=True)
        ]
    )
    return Measure(
        metric,
        condition,
        formula,
        tuple(map(name, found)),
        np.hstack(parts),
        weights,
        limits=(0, kind.most * float(weights.sum())),
        groups=_groups(run),
    )


def _changes(kind: Kind, clips: Clips, named: str, run: Run, condition: dict[str, Any]) -> NDArray[Any]:
    """Pictures x pairs of a sequence in some clips, its frames compared as the run compares them."""
    key = kind.each, named, type_of(condition), difficulty_of(run)
    return clips.once(key, lambda: kind.distance(clips.top(named), pairs_of(run, condition)))


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


@dataclass(frozen=True)
class Beside:
    """A run and the one it is divided by: rows of the same pictures in both, and their groups."""

    run: Run
    baseline: Run
    ours: NDArray[np.int64]
    theirs: NDArray[np.int64]
    groups: Groups

    def shares(self, kind: Kind, condition: dict[str, Any]) -> tuple[Numbers, Numbers]:
        """Every picture's mean over compared frames, ours and theirs; their frames are compared as ours."""
        named = next(name(one) for one in self.baseline.conditions if one["id"] == condition["id"])
        ours = _changes(kind, self.run.clips, name(condition), self.run, condition)
        theirs = _changes(kind, self.baseline.clips, named, self.run, condition)
        return ours[self.ours].mean(axis=1), theirs[self.theirs].mean(axis=1)


def beside(run: Run, baseline: Run) -> Beside:
    """The pictures that both runs have in full."""
    ours, theirs = same_pictures(run, run.clips.ids, baseline, baseline.clips.ids)
    whole = _groups(run)
    return Beside(run, baseline, ours, theirs, None if whole is None else whole[ours])


def why_not_divided(kind: Kind, found: Beside, condition: dict[str, Any]) -> str:
    """Why a sequence cannot be divided by the baseline's on the same pictures, or "" where it can."""
    if condition["id"] not in {one["id"] for one in found.baseline.conditions}:
        return f"the baseline lacks {name(condition)}"
    _, values = found.shares(kind, condition)
    if unit_count(len(values), found.groups) > 1 and mean_interval(values, groups=found.groups)[0] > 0:
        return ""
    return f"the baseline's {kind.each} under {name(condition)} is not clearly above 0 ({values.mean():.4f})"


def sequence_notes(run: Run) -> list[str]:
    """What a reader of flip rates and top-5 distances must know."""
    found = sequences_of(run)
    if not found or "flip_rate" not in (*run.metrics, *(["flip_rate"] if run.baseline else [])):
        return []
    if run.baseline:
        return [*_baseline_notes(beside(run, run.baseline), found), *_too_few(found)]
    reason = why_not_normalised(run)
    if reason:
        return [f"No FR, no mFR, no T5D, no mT5D: AlexNet's figures do not fit, {reason}. Read mFP and uT5D."]
    codecs = {str(one["codec"]) for one in found}
    if codecs == {STORED} and run.recipe["data"]["count"] == PUBLISHED_CLIPS:
        return _too_few(found)
    what = "FR and T5D of each sequence divide" if _too_few(found) else "FR, mFR, T5D and mT5D divide"
    how = ", and frames that were never compressed" if codecs <= LOSSLESS else ""
    return [
        *_too_few(found),
        f"{what} by AlexNet's figures on 50,000 published H.264 clips; these are other "
        f"pictures{how}, so that they are only near what the same model would get there.",
    ]


def _baseline_notes(both: Beside, found: Sequence[dict[str, Any]]) -> list[str]:
    """What is divided by a stored run, and what cannot be."""
    reasons = {kind.title: [why_not_divided(kind, both, one) for one in found] for kind in (FLIPS, TOP_FIVE)}
    whole = " and ".join(title for title, whys in reasons.items() if not all(whys))
    divides = (
        f"{whole} divide by {both.baseline.info['model']['name']} ({both.baseline.path}) on the same "
        "pictures, not by AlexNet's published figures: not comparable with the paper's."
    )
    lines = (f"No {title}: {why}." for title, whys in reasons.items() for why in dict.fromkeys(whys) if why)
    return [*([divides] if whole else []), *lines]


def _too_few(found: Sequence[dict[str, Any]]) -> list[str]:
    """Why there is no mean of ratios, where that is for the sequences there are."""
    ten = sum(bare(one) in THE_TEN for one in found)
    if ten == len(found) == len(THE_TEN):
        return []
    others = f" and {len(found) - ten} other" if len(found) > ten else ""
    return [f"No mFR, no mT5D: they are defined over ImageNet-P's 10 sequences, and here are {ten}{others}."]


def divided(
    kind: Kind, metric: str, condition: str, found: Beside, sequences: Sequence[dict[str, Any]]
) -> Measure:
    """Ratios to a stored run on the same pictures, both drawn together in the bootstrap."""
    both = [found.shares(kind, one) for one in sequences]
    half = len(sequences)

    def combine(means: Numbers) -> Numbers:
        below = means[..., half:]
        return np.asarray((means[..., :half] / np.where(below > 0, below, np.nan)).mean(axis=-1), np.float64)

    over = f"mean over {counted(half, 'sequence')}, difficulty {difficulty_of(found.run)}, of: {kind.words}"
    formula = (
        f"{_formula(found.run, kind, sequences[0]) if condition else over}, divided by that of "
        f"{found.baseline.info['model']['name']} on the same {len(found.ours):,} pictures; both drawn "
        "together in the interval"
    )
    columns = np.stack([*(ours for ours, _ in both), *(theirs for _, theirs in both)], axis=1)
    parts = tuple(map(name, sequences))
    return Measure(metric, condition, formula, parts, columns, combine=combine, groups=found.groups)


def why_not_normalised(run: Run) -> str:
    """Why AlexNet's published figures do not fit this run, or "" where they do."""
    found = sequences_of(run)
    if run.recipe["canvas"]["edition"] != 224:
        return f"they hold for edition 224, this run is edition {run.recipe['canvas']['edition']}"
    if difficulty_of(run) != 1:
        return f"they hold for difficulty 1, this run is difficulty {difficulty_of(run)}"
    if not all(bare(one) in perturbation_normalisers() for one in found):
        return "they hold for ImageNet-P's 14 sequences"
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
