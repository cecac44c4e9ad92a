"""Flips and top-5 distances of sequences divided by AlexNet's published ones, or by a stored run's.

With FP a sequence's flip probability and uT5D its mean top-5 distance (`metrics/sequence_scores.py`), and
A the same of AlexNet:

FR_p  = FP_p / A_p          mFR  = mean over the 10 sequences of FR_p
T5D_p = uT5D_p / A_p        mT5D = mean over the 10 sequences of T5D_p
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from windtunnel.core.conditions import Condition
from windtunnel.core.metrics import Missing
from windtunnel.core.wording import counted
from windtunnel.imaging.clips import H264
from windtunnel.imaging.codecs import is_lossless
from windtunnel.metrics.baseline import Beside, Rows, mean_of_ratios, same_images
from windtunnel.metrics.misfit import Misfit, joined_misfit, not_normalised, other_classes
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.published_results import STORED, perturbation_normalisers, perturbations_of
from windtunnel.metrics.sequence_scores import (
    FLIPS,
    TOP_FIVE,
    Kind,
    bare,
    changes,
    difficulty_of,
    formula_of,
    groups_of,
    name,
    sequences_of,
    weighted,
)
from windtunnel.sequences import published_frames
from windtunnel.stats.measure import Measure

if TYPE_CHECKING:
    from windtunnel.metrics.scored_run import ScoredRun

# mFR and mT5D are defined over these and no others; the other four are for validation.
THE_TEN = perturbations_of("test")
# Of every sequence of the published set, which was stored as lossy video.
PUBLISHED_CLIPS = 50_000
STORED_LOSSLESS = {f"{STORED}-png", f"{STORED}-array"}
ALEXNET_EDITION = 224
# AlexNet's figures fit video as published, and are near enough for lossless frames; JPEG makes other flips.
ALEXNET_VIDEO = {H264, STORED}
ALEXNET = "AlexNet's published one (50,000 clips stored as H.264, edition 224, difficulty 1)"


def never_compressed(codecs: Iterable[str]) -> bool:
    """Whether frames stored with these codecs have the pixels they were made with."""
    return all(codec in STORED_LOSSLESS or is_lossless(codec) for codec in codecs)


def ratio(kind: Kind, run: ScoredRun, _seen: Observed) -> list[Measure]:
    """Every sequence's score divided by a stored run's, or by AlexNet's where that fits."""
    if run.baseline:
        both = joined(kind, run, run.baseline)
        return [
            divided(kind, kind.ratio, name(one), both, run, [one])
            for one in sequences_of(run)
            if not why_not_divided(kind, both, one)
        ]
    if misfit(run):
        return []
    return [
        weighted(kind, kind.ratio, name(one), f"{formula_of(run, kind, one)}, divided by {ALEXNET}", run,
                 [one], [1 / _alexnet(kind, one)])
        for one in sequences_of(run)
        if not _why_other_frames(one)
    ]  # fmt: skip


def mean_ratio(kind: Kind, run: ScoredRun, _seen: Observed) -> list[Measure]:
    """The mean of those ratios, where the run has exactly the ten sequences."""
    found = sequences_of(run)
    if {bare(one) for one in found} != set(THE_TEN):
        return []
    if run.baseline:
        both = joined(kind, run, run.baseline)
        if any(why_not_divided(kind, both, one) for one in found):
            return []
        return [divided(kind, kind.mean_ratio, "", both, run, found)]
    if misfit(run) or any(map(_why_other_frames, found)):
        return []
    formula = f"mean over the 10 sequences of: {kind.words}, divided by {ALEXNET}"
    factors = [1 / _alexnet(kind, one) for one in found]
    return [weighted(kind, kind.mean_ratio, "", formula, run, found, factors)]


def _alexnet(kind: Kind, condition: Condition) -> float:
    return perturbation_normalisers()[bare(condition)][kind.normaliser]


def joined(kind: Kind, run: ScoredRun, baseline: ScoredRun) -> Beside:
    """The images that both runs have in full, and the sequences that both have."""
    return clips_beside(kind, run, baseline, *same_images(run, run.clips.ids, baseline, baseline.clips.ids))


def clips_beside(kind: Kind, run: ScoredRun, baseline: ScoredRun, ours: Rows, theirs: Rows) -> Beside:
    """Every image's mean over compared frames, in these rows of either; their frames compared as ours."""
    where = {one.id: name(one) for one in sequences_of(baseline)}
    shared = [one for one in sequences_of(run) if one.id in where]
    mine = [changes(kind, run.clips, name(one), run, one)[ours].mean(axis=1) for one in shared]
    others = [changes(kind, baseline.clips, where[one.id], run, one)[theirs].mean(axis=1) for one in shared]
    groups = groups_of(run)
    return Beside(
        baseline.info.model.name,
        tuple(map(name, shared)),
        tuple(one.unit for one in shared),
        np.array(mine, np.float64).reshape(len(shared), len(ours)).T,
        np.array(others, np.float64).reshape(len(shared), len(ours)).T,
        None if groups is None else groups[ours],
    )


def why_not_divided(kind: Kind, found: Beside, condition: Condition) -> str:
    """Why a sequence cannot be divided by the baseline's on the same images, or "" where it can."""
    unit = condition.unit
    if not found.columns(unit):
        return f"the baseline lacks {name(condition)}"
    if found.divides(unit):
        return ""
    value = found.sums(unit, relative=False)[1].mean()
    return f"the baseline's {kind.each} under {name(condition)} is not clearly above 0 ({value:.4f})"


def divided(
    kind: Kind,
    metric: str,
    condition: str,
    found: Beside,
    run: ScoredRun,
    sequences: Sequence[Condition],
) -> Measure:
    """Ratios to a stored run on the same images."""
    number = counted(len(sequences), "sequence")
    over = f"mean over {number}, difficulty {difficulty_of(run)}, of: {kind.words}"
    formula = (
        f"{formula_of(run, kind, sequences[0]) if condition else over}, divided by that of "
        f"{found.baseline} on the same {found.count:,} images"
    )
    return mean_of_ratios(found, metric, condition, formula, [one.unit for one in sequences])


def misfit(run: ScoredRun) -> Misfit | None:
    """Why AlexNet's published figures do not fit this run and what to do, or None where they fit."""
    return joined_misfit(misfits(run))


def misfits(run: ScoredRun) -> list[Misfit]:
    """Every reason why AlexNet's published figures do not fit this run."""
    sequences, found, edition = sequences_of(run), [], run.recipe.canvas.edition
    if edition != ALEXNET_EDITION:
        found.append(
            Misfit(
                f"they hold for edition {ALEXNET_EDITION}, this run is edition {edition}",
                f"run with --edition {ALEXNET_EDITION} on images of that size",
            )
        )
    if difficulty_of(run) != 1:
        found.append(
            Misfit(
                f"they hold for difficulty 1, this run is difficulty {difficulty_of(run)}",
                "run with --difficulty 1",
            )
        )
    if not all(bare(one) in perturbation_normalisers() for one in sequences):
        found.append(Misfit("they hold for ImageNet-P's 14 sequences", "run suite imagenet-p"))
    if any(one.geometry for one in sequences):
        found.append(Misfit("they hold for ImageNet-P's own canvas", "run suite imagenet-p"))
    codecs = {one.codec for one in sequences} - ALEXNET_VIDEO
    if others := sorted(codec for codec in codecs if not never_compressed([codec])):
        found.append(
            Misfit(
                f"they hold for H.264 video and are near for lossless frames, these are {', '.join(others)}",
                f"run with --codec {H264}",
            )
        )
    classes = other_classes(run)
    return [*found, classes] if classes else found


def why_not_normalised(run: ScoredRun) -> Missing | None:
    """Why a run has no flip rate and no normalised top-5 distance."""
    return not_normalised(misfits(run))


def why_no_mean(run: ScoredRun) -> Missing | None:
    """Why a run has no mean over ImageNet-P's sequences."""
    found = misfits(run)
    whole = {bare(one) for one in sequences_of(run)} == set(THE_TEN)
    ten = Misfit("it is defined over ImageNet-P's 10 sequences", "run suite imagenet-p")
    return not_normalised(found, [] if found and whole else [ten])


def _why_other_frames(condition: Condition) -> str:
    """Why AlexNet's figure does not fit this one sequence, or "": it is of so many frames."""
    frames, usual = condition.frames, published_frames(condition.unit, ALEXNET_EDITION)
    return "" if frames == usual else f"{name(condition)} ({counted(frames, 'frame')} of {usual})"


def sequence_notes(run: ScoredRun) -> list[str]:
    """What a reader of flip rates and top-5 distances must know."""
    found = sequences_of(run)
    if not found or (not run.baseline and "flip_rate" not in run.metrics):
        return []
    if run.baseline:
        return [*_baseline_notes(run, run.baseline, found), *_too_few(found)]
    if wrong := misfit(run):
        return [
            f"No FR, no mFR, no T5D, no mT5D: AlexNet's figures do not fit, {wrong.reason}. {wrong.advice} "
            "Otherwise read mFP and uT5D."
        ]
    other = [why for one in found if (why := _why_other_frames(one))]
    lines = _too_few(found)
    if other:
        lines = [
            f"AlexNet's figures are of whole clips: no FR and no T5D of {', '.join(other)}; no mFR, no mT5D."
        ]
    codecs = {one.codec for one in found}
    published = codecs == {STORED} and run.recipe.data.count == PUBLISHED_CLIPS
    if published or len(other) == len(found):
        return lines
    what = "FR and T5D of each sequence divide" if lines else "FR, mFR, T5D and mT5D divide"
    how = ", and frames that were never compressed" if never_compressed(codecs) else ""
    return [
        *lines,
        f"{what} by AlexNet's figures on 50,000 published H.264 clips; these are other "
        f"images{how}, so that they are only near what the same model would get there.",
    ]


def _baseline_notes(run: ScoredRun, baseline: ScoredRun, found: Sequence[Condition]) -> list[str]:
    """What is divided by a stored run, and what cannot be."""
    reasons = {}
    for kind in (FLIPS, TOP_FIVE):
        both = joined(kind, run, baseline)
        reasons[kind.title] = [why_not_divided(kind, both, one) for one in found]
    whole = " and ".join(title for title, whys in reasons.items() if not all(whys))
    divides = (
        f"{whole} divide by {baseline.info.model.name} ({baseline.path}) on the same "
        "images, not by AlexNet's published figures: not comparable with the paper's."
    )
    lines = (f"No {title}: {why}." for title, whys in reasons.items() for why in dict.fromkeys(whys) if why)
    return [*([divides] if whole else []), *lines]


def _too_few(found: Sequence[Condition]) -> list[str]:
    """Why there is no mean of ratios, where that is for the sequences there are."""
    ten = sum(bare(one) in THE_TEN for one in found)
    if ten == len(found) == len(THE_TEN):
        return []
    others = f" and {len(found) - ten} other" if len(found) > ten else ""
    here = f"here {'is' if len(found) == 1 else 'are'} {ten}{others}"
    return [f"No mFR, no mT5D: they are defined over ImageNet-P's 10 sequences, and {here}."]
