"""Published figures as rows: the models, the source of each figure, and its measurement setup."""

from __future__ import annotations

import csv
import io
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any

from windtunnel import published
from windtunnel.core.errors import unknown_name

BENCHMARKS = (
    "imagenet-c", "imagenet-p", "imagenet-s",
    "imagenet-a", "imagenet-o", "objectnet-masked", "vid-robust", "ytbb-robust",
)  # fmt: skip
PUBLISHED, STORED, MADE = "published", "stored", "made"


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


@lru_cache(maxsize=1)
def sources() -> dict[str, Source]:
    """Every source of published figures of models, by name."""
    rows = tomllib.loads(published.read_text("sources.toml"))
    return {
        name: Source(
            name, row["file"], row["where"], row["certain"], row["caution"], Measured(**row["measured"])
        )
        for name, row in rows.items()
        if "measured" in row
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
