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
# A smaller share of ties is not worth a word.
TIES_TOLD = 0.001


class Footguns(Section):
    """The known pitfalls that apply to the run."""

    name = "footguns"
    title = "Known traps near these numbers"
    help = "Known ways to misread numbers like these, as far as they apply to the run."
    order = 400
    json_order = 30

    def data(self, given: ReportInput) -> dict[str, Any]:
        return {"traps": [asdict(trap) for trap in traps(given.run, given.scores)]}

    def applies(self, document: Document) -> bool:
        return bool(document["traps"])

    def markdown(self, document: Document) -> list[str]:
        return [f"- **{trap['heading']}** {trap['why']}" for trap in document["traps"]]


@dataclass(frozen=True)
class Trap:
    """A way to misread this run: the heading in the list of traps, and what in the run calls for it."""

    heading: str
    why: str


def traps(run: ScoredRun, scores: Sequence[Score]) -> list[Trap]:
    """Every known trap that applies, in the order of the list."""
    top1 = {score.condition: score for score in scores if score.metric == "top1_error"}
    if not scores:
        return []
    return [Trap(heading, why) for heading, find in TRAPS.items() for why in find(run, top1)]


def _fifteen_or_nineteen(run: ScoredRun, _: Top1) -> Iterator[str]:
    units = set(run.recipe.suite.units)
    if units and units != set(THE_FIFTEEN) and len(whole_units(run)):
        yield (
            f"The mean is over {counted(len(units), 'corruption')}, and not ImageNet-C's fifteen: do not set "
            "it beside means over the fifteen."
        )


def _ten_or_fourteen(run: ScoredRun, _: Top1) -> Iterator[str]:
    clips = {bare(one) for one in sequences_of(run)}
    if clips and clips != set(THE_TEN):
        yield (
            f"The mean is over {counted(len(clips), 'sequence')}, and not ImageNet-P's ten: do not set it "
            "beside means over the ten."
        )


def _which_images(run: ScoredRun, top1: Top1) -> Iterator[str]:
    if top1 and len(run.observed.ids) != PUBLISHED_IMAGES:
        widest = max(top1.values(), key=lambda score: score.high - score.low)
        yield (
            f"{widest.n:,} images: the interval of one condition's error is up to "
            f"{100 * (widest.high - widest.low):.1f} points wide. Compare models on the same images "
            "(windtunnel compare), not through tables."
        )


def _files_or_memory(run: ScoredRun, _: Top1) -> Iterator[str]:
    codecs = {one.codec for one in run.conditions if one.is_corruption}
    if codecs == {"none"} and run.recipe.canvas.edition in (224, 299):
        yield (
            "Nothing was compressed after the corruption. The published files are JPEG 85: numbers from them "
            "differ by some points."
        )


def _cut_differently(_: ScoredRun, top1: Top1) -> Iterator[str]:
    native, clean = top1.get("native"), top1.get("clean")
    if native and clean and (native.low > clean.high or native.high < clean.low):
        yield (
            f"The error is {100 * native.value:.1f} % by the model's own preprocess and "
            f"{100 * clean.value:.1f} % on the suite's canvas: part of the fall is the canvas. Measure it "
            "against clean, not against native."
        )


def _at_chance(run: ScoredRun, top1: Top1) -> Iterator[str]:
    first = top1.get("native") or top1.get("clean")
    guessing = 1 - 1 / run.recipe.counted_classes
    if first and first.low <= guessing <= first.high:
        yield (
            f"The {first.condition} error, {100 * first.value:.1f} % [{100 * first.low:.1f}, "
            f"{100 * first.high:.1f}], cannot be told from guessing ({100 * guessing:.1f} %). Look for a "
            "wrong preprocess, label order or channel order before reading anything else."
        )
    elif first and first.low > guessing:
        yield (
            f"The {first.condition} error, {100 * first.value:.1f} %, is worse than guessing "
            f"({100 * guessing:.1f} %): labels and outputs are not in the same order."
        )


def _no_mask(run: ScoredRun, _: Top1) -> Iterator[str]:
    classes, outputs = len(set(_labels(run))), run.recipe.model.classes
    if run.projection.counts_all and 0 < classes < outputs:
        yield (
            f"The images are of {classes:,} classes and all {outputs:,} outputs may win: errors are higher "
            "than with --mask."
        )


def _not_monotone(run: ScoredRun, top1: Top1) -> Iterator[str]:
    by_unit: dict[str, list[Score]] = {}
    for one in run.conditions:
        if one.is_corruption and one.name in top1:
            by_unit.setdefault(one.unit, []).append(top1[one.name])
    falls = [
        f"{milder.condition} {100 * milder.value:.1f} % to {harder.condition} {100 * harder.value:.1f} %"
        for found in by_unit.values()
        for milder, harder in pairwise(found)
        if harder.high < milder.low
    ]
    if falls:
        yield f"The error falls with severity: {'; '.join(falls)}. Severities are settings, not a scale."


def _few_per_class(run: ScoredRun, _: Top1) -> Iterator[str]:
    counts = Counter(_labels(run))
    small = sum(count < MINIMUM for count in counts.values())
    if small:
        yield (
            f"{small:,} of {len(counts):,} classes have fewer than {MINIMUM} images: nothing can be said "
            "of any one of them."
        )


def _whose_fall(run: ScoredRun, _: Top1) -> Iterator[str]:
    asked = {"relative_mce", "residual_robustness", "accuracy_drop"} & set(run.metrics)
    if asked:
        titles = headline_titles()
        names = " and ".join(titles.get(name, name.replace("_", " ")) for name in sorted(asked))
        yield (
            f"What a model loses depends on what it had: rank models by their errors, and read {names} only "
            "at comparable clean error."
        )


def _lossy_video(run: ScoredRun, _: Top1) -> Iterator[str]:
    found = sequences_of(run)
    lossless = bool(found) and never_compressed(str(one.codec) for one in found)
    if lossless and not run.baseline and not misfit(run):
        yield (
            "FR and T5D divide by AlexNet's figures on H.264 frames, and these frames were never compressed: "
            "run with --codec h264 before setting them beside published ones."
        )


def _direction(run: ScoredRun, _: Top1) -> Iterator[str]:
    if sequences_of(run) and {"ut5d", "mean_ut5d"} & set(run.metrics):
        ties = run.observed.tie_share
        share = f"Of {100 * ties:.1f} % of predictions"
        order = f" {share} the order of classes decides: two of the five best scores are equal."
        yield (
            "uT5D looks for the earlier frame's classes in the later frame (of noise: the clean frame's). "
            f"Programs that swap the two get other numbers.{order if ties >= TIES_TOLD else ''}"
        )


def _small_images(run: ScoredRun, _: Top1) -> Iterator[str]:
    edition = run.recipe.canvas.edition
    if edition < 224 and sequences_of(run):
        yield (
            f"Sequences of edition {edition} have other steps than ImageNet-P's, and some fewer frames: flip "
            "probabilities here and there are two different scales."
        )
    elif edition < 224:
        yield (
            f"Severities of edition {edition} are milder than ImageNet-C's: errors here and there are two "
            "different scales."
        )


def _labels(run: ScoredRun) -> Iterator[int]:
    return (label for labels in run.observed.labels for label in labels)


TRAPS: dict[str, Callable[[ScoredRun, Top1], Iterator[str]]] = {
    "Fifteen or nineteen?": _fifteen_or_nineteen,
    "Ten or fourteen?": _ten_or_fourteen,
    "Which images?": _which_images,
    "Files or memory?": _files_or_memory,
    "Clean and corrupted cut differently": _cut_differently,
    "The model's preprocess": _at_chance,
    "With or without the mask": _no_mask,
    "More severity, more error?": _not_monotone,
    "Few images per class": _few_per_class,
    "Whose fall is larger?": _whose_fall,
    "ImageNet-P was lossy video": _lossy_video,
    "Top-5 distance has a direction": _direction,
    "Small images with large numbers": _small_images,
}

footguns = Footguns()
