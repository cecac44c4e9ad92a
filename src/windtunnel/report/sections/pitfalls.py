"""Known pitfalls that apply to a run; the headings are those of docs/explanation/footguns.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from windtunnel.core.metrics import headline_titles
from windtunnel.core.scores import Score
from windtunnel.core.wording import counted
from windtunnel.metrics.corruption_error import THE_FIFTEEN, whole_units
from windtunnel.metrics.flip_rates import THE_TEN, misfit, never_compressed
from windtunnel.metrics.published_results import PUBLISHED_IMAGES
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.metrics.sequence_scores import bare, sequences_of
from windtunnel.metrics.slices import MINIMUM
from windtunnel.report.sections import Document, ReportInput, Section

Top1 = Mapping[str, Score]
# A smaller share of ties is not mentioned.
TIES_MENTIONED = 0.001


class Pitfalls(Section):
    """The known pitfalls that apply to the run."""

    name = "pitfalls"
    title = "Known pitfalls that apply to this run"
    help = "Known ways to misread numbers like these, as far as they apply to the run."
    order = 400
    json_order = 30

    def data(self, inputs: ReportInput) -> dict[str, Any]:
        return {"pitfalls": [asdict(pitfall) for pitfall in applicable_pitfalls(inputs.run, inputs.scores)]}

    def applies(self, document: Document) -> bool:
        return bool(document["pitfalls"])

    def markdown(self, document: Document) -> list[str]:
        return [f"- **{pitfall['heading']}** {pitfall['why']}" for pitfall in document["pitfalls"]]


@dataclass(frozen=True)
class Pitfall:
    """A way to misread a run.

    Attributes:
        heading: its heading in docs/explanation/footguns.md.
        why: why it applies to this run.
    """

    heading: str
    why: str


def applicable_pitfalls(run: ScoredRun, scores: Sequence[Score]) -> list[Pitfall]:
    """The known pitfalls that apply to a run, in the order of the documentation."""
    top1 = {score.condition: score for score in scores if score.metric == "top1_error"}
    if not scores:
        return []
    return [Pitfall(heading, why) for heading, find in PITFALLS.items() for why in find(run, top1)]


def _fifteen_or_nineteen(run: ScoredRun, _: Top1) -> Iterator[str]:
    units = set(run.recipe.suite.units)
    if units and units != set(THE_FIFTEEN) and len(whole_units(run)):
        yield (
            f"The mean is over {counted(len(units), 'corruption')}, not over the 15 of ImageNet-C. Do not "
            "compare it with means over the 15."
        )


def _ten_or_fourteen(run: ScoredRun, _: Top1) -> Iterator[str]:
    clips = {bare(sequence) for sequence in sequences_of(run)}
    if clips and clips != set(THE_TEN):
        yield (
            f"The mean is over {counted(len(clips), 'sequence')}, not over the 10 of ImageNet-P. Do not "
            "compare it with means over the 10."
        )


def _which_images(run: ScoredRun, top1: Top1) -> Iterator[str]:
    if top1 and len(run.observed.ids) != PUBLISHED_IMAGES:
        widest = max(top1.values(), key=lambda score: score.high - score.low)
        yield (
            f"With {widest.n:,} images, the interval of a condition's error is up to "
            f"{100 * (widest.high - widest.low):.1f} points wide. Compare models on the same images "
            "(windtunnel compare), not with published tables."
        )


def _files_or_memory(run: ScoredRun, _: Top1) -> Iterator[str]:
    codecs = {condition.codec for condition in run.conditions if condition.is_corruption}
    if codecs == {"none"} and run.recipe.canvas.edition in (224, 299):
        yield (
            "The corrupted images were not compressed. The published files are JPEG of quality 85; scores on "
            "them differ by several points."
        )


def _different_crops(_: ScoredRun, top1: Top1) -> Iterator[str]:
    native, clean = top1.get("native"), top1.get("clean")
    if native and clean and (native.low > clean.high or native.high < clean.low):
        yield (
            f"The error is {100 * native.value:.1f} % with the model's own preprocessing and "
            f"{100 * clean.value:.1f} % on the suite's canvas. Part of the drop is due to the canvas, so "
            "measure drops from clean, not from native."
        )


def _at_chance(run: ScoredRun, top1: Top1) -> Iterator[str]:
    first = top1.get("native") or top1.get("clean")
    guessing = 1 - 1 / run.recipe.counted_classes
    if first and first.low <= guessing <= first.high:
        yield (
            f"The {first.condition} error, {100 * first.value:.1f} % [{100 * first.low:.1f}, "
            f"{100 * first.high:.1f}], is at chance level ({100 * guessing:.1f} %). Check preprocessing, "
            "label order and channel order before you use any number."
        )
    elif first and first.low > guessing:
        yield (
            f"The {first.condition} error, {100 * first.value:.1f} %, is above chance level "
            f"({100 * guessing:.1f} %): labels and outputs are not in the same order."
        )


def _no_mask(run: ScoredRun, _: Top1) -> Iterator[str]:
    classes, outputs = len(set(_labels(run))), run.recipe.model.classes
    if run.projection.counts_all and 0 < classes < outputs:
        yield (
            f"The dataset has {classes:,} classes, and all {outputs:,} outputs compete. Errors are higher "
            "than with --mask."
        )


def _not_monotone(run: ScoredRun, top1: Top1) -> Iterator[str]:
    by_unit: dict[str, list[Score]] = {}
    for condition in run.conditions:
        if condition.is_corruption and condition.name in top1:
            by_unit.setdefault(condition.unit, []).append(top1[condition.name])
    falls = [
        f"{milder.condition} {100 * milder.value:.1f} % to {harder.condition} {100 * harder.value:.1f} %"
        for unit_scores in by_unit.values()
        for milder, harder in pairwise(unit_scores)
        if harder.high < milder.low
    ]
    if falls:
        yield f"The error falls with severity: {'; '.join(falls)}. Severities are settings, not a scale."


def _few_per_class(run: ScoredRun, _: Top1) -> Iterator[str]:
    counts = Counter(_labels(run))
    small = sum(count < MINIMUM for count in counts.values())
    if small:
        yield (
            f"{small:,} of {len(counts):,} classes have fewer than {MINIMUM} images, too few for a statement "
            "about a single class."
        )


def _different_clean_errors(run: ScoredRun, _: Top1) -> Iterator[str]:
    asked = {"relative_mce", "residual_robustness", "accuracy_drop"} & set(run.metrics)
    if asked:
        titles = headline_titles()
        names = " and ".join(titles.get(name, name.replace("_", " ")) for name in sorted(asked))
        yield (
            f"A drop depends on the clean error. Rank models by their errors, and compare {names} only "
            "between models with similar clean error."
        )


def _lossy_video(run: ScoredRun, _: Top1) -> Iterator[str]:
    sequences = sequences_of(run)
    lossless = bool(sequences) and never_compressed(str(sequence.codec) for sequence in sequences)
    if lossless and not run.baseline and not misfit(run):
        yield (
            "FR and T5D are normalised by AlexNet's figures on H.264 frames, but these frames were not "
            "compressed. Run with --codec h264 before you compare them with published figures."
        )


def _direction(run: ScoredRun, _: Top1) -> Iterator[str]:
    if sequences_of(run) and {"ut5d", "mean_ut5d"} & set(run.metrics):
        ties = run.observed.tie_share
        tied = f"{100 * ties:.1f} % of predictions have equal scores among the top 5, ordered by class index."
        yield (
            "uT5D ranks the earlier frame's classes in the later frame (for noise, the clean frame's "
            "classes). Implementations that swap the two frames return other values."
            f"{f' {tied}' if ties >= TIES_MENTIONED else ''}"
        )


def _small_edition(run: ScoredRun, _: Top1) -> Iterator[str]:
    edition = run.recipe.canvas.edition
    if edition < 224 and sequences_of(run):
        yield (
            f"Sequences of edition {edition} have other step sizes than ImageNet-P, and some have fewer "
            "frames. Flip probabilities of the two are not comparable."
        )
    elif edition < 224:
        yield (
            f"Severities of edition {edition} are milder than those of ImageNet-C. Errors of the two are not "
            "comparable."
        )


def _labels(run: ScoredRun) -> Iterator[int]:
    return (label for labels in run.observed.labels for label in labels)


PITFALLS: dict[str, Callable[[ScoredRun, Top1], Iterator[str]]] = {
    "15 or 19 corruptions?": _fifteen_or_nineteen,
    "10 or 14 sequences?": _ten_or_fourteen,
    "Which images?": _which_images,
    "Files or memory?": _files_or_memory,
    "Clean and corrupted images cropped differently": _different_crops,
    "The model's preprocessing": _at_chance,
    "With or without the mask": _no_mask,
    "Error that falls with severity": _not_monotone,
    "Few images per class": _few_per_class,
    "Drops from different clean errors": _different_clean_errors,
    "ImageNet-P was lossy video": _lossy_video,
    "Top-5 distance has a direction": _direction,
    "Severities of small editions": _small_edition,
}

pitfalls = Pitfalls()
