"""The rank of a score among published figures, and which of them are comparable."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from windtunnel.core.conditions import Condition
from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.metrics import unit_of
from windtunnel.imaging.geometry import describe_geometry
from windtunnel.metrics.corruption_error import THE_FIFTEEN, whole_units
from windtunnel.metrics.published_figures import (
    MADE,
    PUBLISHED,
    STORED,
    Measured,
    PublishedModel,
    perturbations_of,
    published_models,
)
from windtunnel.metrics.published_natural_results import natural_measured_on
from windtunnel.metrics.sequence_scores import bare, difficulty_of, sequences_of

if TYPE_CHECKING:
    from windtunnel.metrics.scored_run import ScoredRun

PUBLISHED_IMAGES = 50_000
ALEXNET_50K = "AlexNet on the 50,000 published images"
ALEXNET_CLIPS = "AlexNet on the published clips"
USUAL_CANVAS = "the edition's own"


@dataclass(frozen=True)
class Metric:
    """Title and direction of a published metric, and the fields of `Measured` that do not affect it."""

    title: str
    lower_is_better: bool = True
    ignores: frozenset[str] = frozenset()


METRICS = {
    "clean_error": Metric("clean error", ignores=frozenset({"codec", "normaliser", "own_frost"})),
    "mean_error": Metric("mean error", ignores=frozenset({"normaliser"})),
    "mce": Metric("mCE"),
    "relative_mce": Metric("relative mCE"),
    "mfr": Metric("mFR"),
    "mt5d": Metric("mT5D"),
    "decode_mean_accuracy": Metric("mean accuracy over decoders", False, frozenset({"normaliser"})),
    "decode_accuracy_std": Metric("std over decoders", ignores=frozenset({"normaliser"})),
    "resize_mean_accuracy": Metric("mean accuracy over resizes", False, frozenset({"normaliser"})),
    "resize_accuracy_std": Metric("std over resizes", ignores=frozenset({"normaliser"})),
    "accuracy": Metric("accuracy", False),
    "msp_aupr": Metric("AUPR of msp", False),
    "pm_0": Metric("pm-0", False),
    "pm_10": Metric("pm-10", False),
}


@dataclass(frozen=True)
class Neighbour:
    """A published figure to compare with a user's; `why_not_comparable` is "" if it is comparable."""

    model: PublishedModel
    value: float
    why_not_comparable: str


@dataclass(frozen=True)
class Place:
    """The rank of a score among published figures, best first.

    Attributes:
        metric, value: the score to rank.
        better: models with a better figure.
        others: models with an equal or worse one.
    """

    metric: str
    value: float
    better: tuple[Neighbour, ...]
    others: tuple[Neighbour, ...]

    @property
    def rank(self) -> int:
        """The rank: 1 if no published figure is better."""
        return len(self.better) + 1

    @property
    def of(self) -> int:
        """Number of ranked scores, the user's included."""
        return len(self.better) + len(self.others) + 1

    def describe(self) -> str:
        """The rank in one sentence, with the number of comparable figures."""
        fair = sum(not neighbour.why_not_comparable for neighbour in (*self.better, *self.others))
        shown = f"{100 * self.value:.{unit_of(self.metric).decimals}f} {unit_of(self.metric).name}"
        return (
            f"{METRICS[self.metric].title} {shown} ranks {self.rank} of {self.of}; "
            f"{fair} of the {self.of - 1} published figures are comparable."
        )


def place_among(
    value: float, metric: str, measured: Measured, *, source: str = "", benchmark: str = ""
) -> Place:
    """Rank a score among the published figures of its benchmark, each with the reason if not comparable.

    Args:
        value: the score, a fraction.
        metric: `mce`, `mean_error`, `mfr` ... (`METRICS`).
        measured: its measurement setup; `measured_on(run)` returns it for a run.
        source: use only the figures of this source.
        benchmark: use this benchmark instead of the one in `measured`.
    """
    if metric not in METRICS:
        raise unknown_name("metric", metric, METRICS, "windtunnel list published")
    if not math.isfinite(value):
        raise UserError(f"{METRICS[metric].title} is {value}; give a finite fraction such as 0.767.")
    sign = 1 if METRICS[metric].lower_is_better else -1
    neighbours = [
        Neighbour(model, model.values[metric], why_not_comparable(measured, model.source.measured, metric))
        for model in published_models(benchmark or measured.benchmark, source)
        if metric in model.values
    ]
    neighbours.sort(key=lambda neighbour: (sign * neighbour.value, neighbour.model.name))
    return Place(
        metric,
        value,
        tuple(neighbour for neighbour in neighbours if sign * neighbour.value < sign * value),
        tuple(neighbour for neighbour in neighbours if sign * neighbour.value >= sign * value),
    )


def why_not_comparable(measured: Measured, reference: Measured, metric: str = "mce") -> str:
    """A sentence that states why two figures are not comparable; "" if they are."""
    ignored = METRICS[metric].ignores
    reasons = [reason for about, reason in _differences(measured, reference) if about not in ignored]
    return f"Not comparable: {'; '.join(reasons)}." if reasons else ""


def _differences(measured: Measured, reference: Measured) -> Iterator[tuple[str, str]]:
    """The differences between two setups, as texts."""
    for about in ("benchmark", "edition", "difficulty", "canvas"):
        value, reference_value = getattr(measured, about), getattr(reference, about)
        if value != reference_value:
            yield about, f"{about} {value}, published {reference_value}"
    if measured.files == MADE and reference.files == PUBLISHED:
        yield "files", "made from your images, not the published files"
    if measured.images != reference.images:
        yield "images", f"{measured.images:,} {reference.unit}, published {reference.images:,}"
    elif reference.edition and measured.images != PUBLISHED_IMAGES:
        yield "images", f"both {measured.images:,} images, but perhaps not the same ones"
    if measured.id_images != reference.id_images:
        yield "id_images", f"{measured.id_images:,} ID images, published {reference.id_images:,}"
    if measured.codec not in (reference.codec, STORED):
        yield "codec", f"codec {measured.codec}, published {reference.codec}"
    if measured.classes != reference.classes:
        yield "classes", f"{measured.classes:,} outputs compete, published {reference.classes:,}"
    if measured.own_frost != reference.own_frost:
        yield "own_frost", f"frost with {_textures(measured)}, published with {_textures(reference)}"
    if measured.normaliser != reference.normaliser:
        yield "normaliser", f"normalised by {_whose(measured)}, the published figure by {_whose(reference)}"
    elif measured.normaliser in (ALEXNET_50K, ALEXNET_CLIPS) and (
        measured.files == MADE or measured.images != PUBLISHED_IMAGES
    ):
        yield "normaliser", "the baseline was measured on other images than yours"


def _textures(measured: Measured) -> str:
    return "windtunnel's textures" if measured.own_frost else "the reference's textures"


def _whose(measured: Measured) -> str:
    return measured.normaliser or "nothing"


def measured_on(run: ScoredRun) -> Measured:
    """The measurement setup of a run."""
    if run.natural:
        return natural_measured_on(run)
    recipe, clips = run.recipe, sequences_of(run)
    corrupted = clips or run.corruptions
    codecs = {condition.codec for condition in corrupted}
    made = [condition for condition in run.conditions if (condition.is_corruption or condition.is_clean)]
    unusual = any(condition.geometry for condition in made)
    return Measured(
        benchmark=_benchmark(run),
        edition=recipe.canvas.edition,
        images=len(run.observed.ids),
        files=STORED if codecs == {STORED} else MADE,
        canvas=describe_geometry(recipe.canvas.geometry) if unusual else USUAL_CANVAS,
        codec=" and ".join(sorted(codecs)) or "none",
        normaliser=ALEXNET_CLIPS if clips else ALEXNET_50K,
        classes=recipe.counted_classes,
        own_frost=any(_is_own_frost(condition) for condition in corrupted),
        difficulty=difficulty_of(run) if clips else 1,
    )


def _benchmark(run: ScoredRun) -> str:
    """The published benchmark that a run corresponds to, or the suite's name."""
    if {bare(sequence) for sequence in sequences_of(run)} == set(perturbations_of("test")):
        return "imagenet-p"
    fifteen = set(whole_units(run)) == set(THE_FIFTEEN)
    return "imagenet-c" if fifteen else run.recipe.suite.name


def _is_own_frost(condition: Condition) -> bool:
    return condition.unit == "frost" and condition.codec != STORED and "textures" not in condition.assets
