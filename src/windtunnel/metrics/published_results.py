"""Published results as rows, and the rank of a user's score among them."""

from __future__ import annotations

import csv
import io
import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from windtunnel import published
from windtunnel.core.conditions import Condition
from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.metrics import unit_of

if TYPE_CHECKING:
    from windtunnel.metrics.scored_run import ScoredRun

BENCHMARKS = (
    "imagenet-c", "imagenet-p", "imagenet-s",
    "imagenet-a", "imagenet-o", "objectnet-masked", "vid-robust", "ytbb-robust",
)  # fmt: skip
PUBLISHED, STORED, MADE = "published", "stored", "made"
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
class Measured:
    """The measurement setup of a published figure or of a run.

    Attributes:
        benchmark: one of `BENCHMARKS`.
        edition: edition of the severity tables, in pixels; 0 for natural sets, which have none.
        images: number of images.
        files: `published` (the benchmark's own files), `stored` (a precomputed set without a declared origin,
            treated as the published one) or `made` (from the user's images).
        canvas: the geometry that is applied before the corruption.
        codec: how the corrupted image is stored before the model reads it.
        normaliser: the model and data whose errors normalise mCE and similar metrics, "" for none.
        classes: number of outputs that compete.
        own_frost: frost was made with windtunnel's textures.
        difficulty: difficulty of sequences.
        unit: the unit of `images`.
        id_images: number of ID images that the OOD images are compared with.
    """

    benchmark: str
    edition: int
    images: int
    files: str
    canvas: str
    codec: str
    normaliser: str = ""
    classes: int = 1000
    own_frost: bool = False
    difficulty: int = 1
    unit: str = "images"
    id_images: int = 0

    def describe(self) -> str:
        """The setup as text."""
        if not self.edition:
            clean = f" and {self.id_images:,} ID images" if self.id_images else ""
            return f"{self.images:,} {self.files} {self.unit}{clean}, {self.classes:,} classes compete"
        by = f", normalised by {self.normaliser}" if self.normaliser else ""
        hard = f", difficulty {self.difficulty}" if self.difficulty != 1 else ""
        return (
            f"{self.images:,} {self.files} images, edition {self.edition}, canvas {self.canvas}, "
            f"codec {self.codec}{hard}{by}"
        )


@dataclass(frozen=True)
class Source:
    """A source of published figures: where they are from, their setup, and how reliable they are."""

    name: str
    file: str
    where: str
    certain: str
    caution: str
    measured: Measured


@dataclass(frozen=True)
class PublishedModel:
    """One model's published figures, as fractions.

    Attributes:
        name: the model's name in the source.
        source: the source of the figures.
        values: metric to figure.
        cells: metric to condition or unit to figure.
        note: a note on this row.
    """

    name: str
    source: Source
    values: Mapping[str, float]
    cells: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    note: str = ""

    @property
    def benchmark(self) -> str:
        """The benchmark the figures belong to."""
        return self.source.measured.benchmark

    def to_json(self) -> dict[str, Any]:
        """The row as a JSON object."""
        return {
            "name": self.name,
            "benchmark": self.benchmark,
            "values": dict(self.values),
            "source": asdict(self.source),
            "cells": {metric: dict(cells) for metric, cells in self.cells.items()},
            "note": self.note,
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


@lru_cache(maxsize=1)
def sources() -> dict[str, Source]:
    """Every source of published results, by name."""
    rows = tomllib.loads(published.read_text("sources.toml"))
    return {
        name: Source(
            name, row["file"], row["where"], row["certain"], row["caution"], Measured(**row["measured"])
        )
        for name, row in rows.items()
    }


def published_models(benchmark: str = "", source: str = "") -> tuple[PublishedModel, ...]:
    """Published figures: all of them, or those of one benchmark or one source.

    Example:
        >>> [model.name for model in published_models("imagenet-p", "leaderboard-p")][0]
        'AugMix'
    """
    if benchmark and benchmark not in BENCHMARKS:
        raise unknown_name("benchmark", benchmark, BENCHMARKS, "windtunnel list published")
    if source and source not in sources():
        raise unknown_name("source", source, sources(), "windtunnel list published")
    return tuple(
        model
        for model in _everything()
        if benchmark in ("", model.benchmark) and source in ("", model.source.name)
    )


@lru_cache(maxsize=1)
def perturbation_normalisers() -> dict[str, dict[str, float]]:
    """AlexNet's flip probability (`fp`) and top-5 distance (`ut5d`) by ImageNet-P perturbation."""
    return {
        row["perturbation"]: {"fp": fraction(row["fp_pct"]), "ut5d": float(row["ut5d"])}
        for row in rows_of("alexnet_perturbation_normalisers.csv")
    }


@lru_cache(maxsize=2)
def perturbations_of(part: str) -> tuple[str, ...]:
    """The perturbations of ImageNet-P's `test` or `validation` part."""
    rows = rows_of("alexnet_perturbation_normalisers.csv")
    return tuple(row["perturbation"] for row in rows if row["set"] == part)


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
        from windtunnel.metrics.published_natural_results import natural_measured_on

        return natural_measured_on(run)
    from windtunnel.imaging.geometry import describe_geometry
    from windtunnel.metrics.sequence_scores import difficulty_of, sequences_of

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
    from windtunnel.metrics.corruption_error import THE_FIFTEEN, whole_units
    from windtunnel.metrics.sequence_scores import bare, sequences_of

    if {bare(sequence) for sequence in sequences_of(run)} == set(perturbations_of("test")):
        return "imagenet-p"
    fifteen = set(whole_units(run)) == set(THE_FIFTEEN)
    return "imagenet-c" if fifteen else run.recipe.suite.name


def _is_own_frost(condition: Condition) -> bool:
    return condition.unit == "frost" and condition.codec != STORED and "textures" not in condition.assets


@lru_cache(maxsize=1)
def _everything() -> tuple[PublishedModel, ...]:
    from windtunnel.metrics.published_natural_results import natural_rows, testbed_rows

    return (
        *_paper("c"),
        *_leaderboard("c"),
        *_robustbench(),
        *_paper("p"),
        *_leaderboard("p"),
        *_imagenet_s(),
        *natural_rows(),
        *testbed_rows(),
    )


# Columns and cells of each table, by benchmark.
_FIGURES = {"c": ("clean_error", "mce", "relative_mce"), "p": ("clean_error", "mfr", "mt5d")}
_CELLS = {"c": ("ce", "relative_ce"), "p": ("fr", "t5d")}


def _paper(kind: str) -> Iterator[PublishedModel]:
    cells: dict[str, dict[str, dict[str, float]]] = {}
    for row in rows_of("paper_cells.csv"):
        if row["metric"] in _CELLS[kind]:
            of_model = cells.setdefault(row["model"], {})
            of_model.setdefault(row["metric"], {})[row["unit"]] = fraction(row["value_pct"])
    for row in rows_of("paper_rows.csv"):
        values = _figures(row, kind)
        if set(values) - {"clean_error"}:
            source = sources()[f"paper-{kind}"]
            yield PublishedModel(row["model"], source, values, cells.get(row["model"], {}), row["note"])


def _leaderboard(kind: str) -> Iterator[PublishedModel]:
    for row in rows_of("leaderboard.csv"):
        if row["benchmark"] == f"imagenet-{kind}":
            source = sources()[f"leaderboard-{kind}"]
            yield PublishedModel(row["model"], source, _figures(row, kind), note=row["note"])


def _robustbench() -> Iterator[PublishedModel]:
    for row in rows_of("robustbench_5k.csv"):
        figures = {name: float(value) for name, value in row.items() if name != "model"}
        values = {name: figures.pop(name) for name in ("mce", "mean_error")}
        yield PublishedModel(row["model"], sources()["robustbench-5k"], values, {"mean_error": figures})


def _imagenet_s() -> Iterator[PublishedModel]:
    for axis in ("decode", "resize"):
        source = sources()[f"imagenet-s-{axis}"]
        for row in rows_of(source.file):
            name = f"{row['model']}, {row['training']}" if row["training"] else row["model"]
            values = {
                f"{axis}_mean_accuracy": fraction(row["mean"]),
                f"{axis}_accuracy_std": fraction(row["std"]),
            }
            cells = {
                f"{axis}={method.replace('_', '-')}": fraction(cell)
                for method, cell in row.items()
                if method not in _IMAGENET_S_REST and cell
            }
            yield PublishedModel(name, source, values, {"accuracy": cells}, f"table {row['table']}")


_IMAGENET_S_REST = ("table", "model", "training", "mean", "std", "printed_mean", "printed_std")


def _figures(row: Mapping[str, str], kind: str) -> dict[str, float]:
    """The figures of a row that belong to a benchmark and are not empty."""
    texts = {name: row.get(f"{name}_pct", "") for name in _FIGURES[kind]}
    return {name: fraction(text) for name, text in texts.items() if text}


def fraction(per_cent: str) -> float:
    """A printed percentage as a fraction, rounded to the printed digits."""
    return float(Decimal(per_cent) / 100)


def rows_of(name: str) -> Iterator[dict[str, str]]:
    """The rows of a table in `published/`."""
    return csv.DictReader(io.StringIO(published.read_text(name)))
