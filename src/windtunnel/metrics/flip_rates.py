"""Flip rates and top-5 distances of sequences, normalised by AlexNet's published values or a baseline run.

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
from windtunnel.core.option_names import option
from windtunnel.core.wording import counted
from windtunnel.imaging.clips import H264
from windtunnel.imaging.codecs import is_lossless
from windtunnel.metrics.baseline import PairedValues, Rows, mean_of_ratios, same_images
from windtunnel.metrics.misfit import Misfit, joined_misfit, not_normalised, other_classes
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.published_figures import STORED, perturbation_normalisers, perturbations_of
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
# The number of clips in the published set, which is stored as lossy video.
PUBLISHED_CLIPS = 50_000
STORED_LOSSLESS = {f"{STORED}-png", f"{STORED}-array"}
ALEXNET_EDITION = 224
# AlexNet's figures apply to video as published and approximately to lossless frames. JPEG flips differ.
ALEXNET_VIDEO = {H264, STORED}
ALEXNET = "AlexNet's published one (50,000 clips stored as H.264, edition 224, difficulty 1)"


def never_compressed(codecs: Iterable[str]) -> bool:
    """Whether all of these codecs are lossless."""
    return all(codec in STORED_LOSSLESS or is_lossless(codec) for codec in codecs)


def ratio(kind: Kind, run: ScoredRun, _seen: Observed) -> list[Measure]:
    """The score of every sequence, normalised by the baseline run, or by AlexNet's figures if these apply."""
    if run.baseline:
        both = pair_changes(kind, run, run.baseline)
        return [
            divided(kind, kind.ratio, name(sequence), both, run, [sequence])
            for sequence in sequences_of(run)
            if not why_no_ratio(kind, both, sequence)
        ]
    if misfit(run):
        return []
    return [
        weighted(
            kind,
            kind.ratio,
            name(sequence),
            f"{formula_of(run, kind, sequence)}, divided by {ALEXNET}",
            run,
            [sequence],
            [1 / _alexnet(kind, sequence)],
        )
        for sequence in sequences_of(run)
        if not _why_other_frames(sequence)
    ]


def mean_ratio(kind: Kind, run: ScoredRun, _seen: Observed) -> list[Measure]:
    """The mean of those ratios, for runs with exactly the ten sequences."""
    sequences = sequences_of(run)
    if {bare(sequence) for sequence in sequences} != set(THE_TEN):
        return []
    if run.baseline:
        both = pair_changes(kind, run, run.baseline)
        if any(why_no_ratio(kind, both, sequence) for sequence in sequences):
            return []
        return [divided(kind, kind.mean_ratio, "", both, run, sequences)]
    if misfit(run) or any(map(_why_other_frames, sequences)):
        return []
    formula = f"mean over the 10 sequences of: {kind.words}, divided by {ALEXNET}"
    factors = [1 / _alexnet(kind, sequence) for sequence in sequences]
    return [weighted(kind, kind.mean_ratio, "", formula, run, sequences, factors)]


def _alexnet(kind: Kind, condition: Condition) -> float:
    return perturbation_normalisers()[bare(condition)][kind.normaliser]


def pair_changes(kind: Kind, run: ScoredRun, baseline: ScoredRun) -> PairedValues:
    """Changes between frames in run and baseline, for all images and sequences that both have."""
    return changes_on(kind, run, baseline, *same_images(run, run.clips.ids, baseline, baseline.clips.ids))


def changes_on(
    kind: Kind, run: ScoredRun, baseline: ScoredRun, run_rows: Rows, baseline_rows: Rows
) -> PairedValues:
    """Each image's mean change over compared frames, in these rows; both compare frames as the run does."""
    where = {sequence.id: name(sequence) for sequence in sequences_of(baseline)}
    shared = [sequence for sequence in sequences_of(run) if sequence.id in where]
    run_means = [
        changes(kind, run.clips, name(sequence), run, sequence)[run_rows].mean(axis=1) for sequence in shared
    ]
    baseline_means = [
        changes(kind, baseline.clips, where[sequence.id], run, sequence)[baseline_rows].mean(axis=1)
        for sequence in shared
    ]
    groups = groups_of(run)
    return PairedValues(
        baseline.info.model.name,
        tuple(map(name, shared)),
        tuple(sequence.unit for sequence in shared),
        np.array(run_means, np.float64).reshape(len(shared), len(run_rows)).T,
        np.array(baseline_means, np.float64).reshape(len(shared), len(run_rows)).T,
        None if groups is None else groups[run_rows],
    )


def why_no_ratio(kind: Kind, pair: PairedValues, condition: Condition) -> str:
    """Why a sequence cannot be normalised by the baseline on the same images, or "" if it can."""
    unit = condition.unit
    if not pair.columns(unit):
        return f"the baseline does not have {name(condition)}"
    if pair.divides(unit):
        return ""
    value = pair.sums(unit, relative=False)[1].mean()
    return f"the baseline's {kind.each} under {name(condition)} is not clearly above 0 ({value:.4f})"


def divided(
    kind: Kind,
    metric: str,
    condition: str,
    pair: PairedValues,
    run: ScoredRun,
    sequences: Sequence[Condition],
) -> Measure:
    """The mean over sequences of the run's score divided by the baseline's, on the same images."""
    number = counted(len(sequences), "sequence")
    over = f"mean over {number}, difficulty {difficulty_of(run)}, of: {kind.words}"
    formula = (
        f"{formula_of(run, kind, sequences[0]) if condition else over}, divided by that of "
        f"{pair.baseline} on the same {pair.count:,} images"
    )
    return mean_of_ratios(pair, metric, condition, formula, [sequence.unit for sequence in sequences])


def misfit(run: ScoredRun) -> Misfit | None:
    """Why AlexNet's published figures do not apply to this run, and what to do; None if they apply."""
    return joined_misfit(misfits(run))


def misfits(run: ScoredRun) -> list[Misfit]:
    """Every reason why AlexNet's published figures do not apply to this run."""
    sequences, reasons, edition = sequences_of(run), [], run.recipe.canvas.edition
    if edition != ALEXNET_EDITION:
        reasons.append(
            Misfit(
                f"they hold for edition {ALEXNET_EDITION}, this run is edition {edition}",
                f"run with {option('edition', ALEXNET_EDITION)} on images of that size",
            )
        )
    if difficulty_of(run) != 1:
        reasons.append(
            Misfit(
                f"they hold for difficulty 1, this run is difficulty {difficulty_of(run)}",
                f"run with {option('difficulty', 1)}",
            )
        )
    if not all(bare(sequence) in perturbation_normalisers() for sequence in sequences):
        reasons.append(Misfit("they hold for ImageNet-P's 14 sequences", "run suite imagenet-p"))
    if any(sequence.geometry for sequence in sequences):
        reasons.append(Misfit("they hold for ImageNet-P's own canvas", "run suite imagenet-p"))
    codecs = {sequence.codec for sequence in sequences} - ALEXNET_VIDEO
    if others := sorted(codec for codec in codecs if not never_compressed([codec])):
        reasons.append(
            Misfit(
                f"they hold for H.264 video and nearly for lossless frames, this run has {', '.join(others)}",
                f"run with {option('codec', H264)}",
            )
        )
    classes = other_classes(run)
    return [*reasons, classes] if classes else reasons


def why_not_normalised(run: ScoredRun) -> Missing | None:
    """Why a run has no flip rate and no normalised top-5 distance."""
    return not_normalised(misfits(run))


def why_no_mean(run: ScoredRun) -> Missing | None:
    """Why a run has no mean over ImageNet-P's sequences."""
    reasons = misfits(run)
    whole = {bare(sequence) for sequence in sequences_of(run)} == set(THE_TEN)
    ten = Misfit("it is defined over ImageNet-P's 10 sequences", "run suite imagenet-p")
    return not_normalised(reasons, [] if reasons and whole else [ten])


def _why_other_frames(condition: Condition) -> str:
    """The name and length of a sequence to which AlexNet's figure does not apply, or ""."""
    frames, usual = condition.frames, published_frames(condition.unit, ALEXNET_EDITION)
    return "" if frames == usual else f"{name(condition)} ({counted(frames, 'frame')} of {usual})"


def sequence_notes(run: ScoredRun) -> list[str]:
    """Notes on flip rates and top-5 distances."""
    sequences = sequences_of(run)
    if not sequences or (not run.baseline and "flip_rate" not in run.metrics):
        return []
    if run.baseline:
        return [*_baseline_notes(run, run.baseline, sequences), *_too_few(sequences)]
    if wrong := misfit(run):
        return [
            f"No FR, no mFR, no T5D, no mT5D: AlexNet's figures do not apply, {wrong.reason}. {wrong.advice} "
            "Otherwise use mFP and uT5D, which are not normalised."
        ]
    other = [why for sequence in sequences if (why := _why_other_frames(sequence))]
    lines = _too_few(sequences)
    if other:
        lines = [
            f"AlexNet's figures need whole clips: no FR and no T5D of {', '.join(other)}; no mFR, no mT5D."
        ]
    codecs = {sequence.codec for sequence in sequences}
    published = codecs == {STORED} and run.recipe.data.count == PUBLISHED_CLIPS
    if published or len(other) == len(sequences):
        return lines
    what = "FR and T5D of each sequence are" if lines else "FR, mFR, T5D and mT5D are"
    how = " and lossless frames" if never_compressed(codecs) else ""
    return [
        *lines,
        f"{what} normalised by AlexNet's figures on the 50,000 published H.264 clips. This run has different "
        f"images{how}, so its scores only approximate those of the same model on the published clips.",
    ]


def _baseline_notes(run: ScoredRun, baseline: ScoredRun, sequences: Sequence[Condition]) -> list[str]:
    """Notes on scores that are normalised by a baseline run, and on those that cannot be."""
    reasons = {}
    for kind in (FLIPS, TOP_FIVE):
        both = pair_changes(kind, run, baseline)
        reasons[kind.title] = [why_no_ratio(kind, both, sequence) for sequence in sequences]
    whole = " and ".join(title for title, whys in reasons.items() if not all(whys))
    divides = (
        f"{whole} are normalised by {baseline.info.model.name} ({baseline.path}) on the same images, "
        "not by AlexNet's published figures. They are not comparable with the paper's."
    )
    lines = (f"No {title}: {why}." for title, whys in reasons.items() for why in dict.fromkeys(whys) if why)
    return [*([divides] if whole else []), *lines]


def _too_few(sequences: Sequence[Condition]) -> list[str]:
    """Why there is no mFR and no mT5D, if the run's sequences are the reason."""
    ten = sum(bare(sequence) in THE_TEN for sequence in sequences)
    if ten == len(sequences) == len(THE_TEN):
        return []
    others = f" and {len(sequences) - ten} other" if len(sequences) > ten else ""
    return [
        f"No mFR, no mT5D: they are defined over ImageNet-P's 10 sequences, and the run has {ten}{others}."
    ]
