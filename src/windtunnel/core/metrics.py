"""Metrics as plug-ins: the facts that each one declares, and the registry that finds them by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.records import DEFAULT_TASK
from windtunnel.core.registry import Plugin, Registry
from windtunnel.core.task import REGISTRY as TASKS

Direction = Literal["lower", "higher", "none"]
Need = Literal[
    "labels",
    "probabilities",  # of every class
    "corruptions",
    "sequences",
    "pipeline steps",
    "shifted images",  # of a natural set
    "frame sets",  # of videos
    "objects",  # annotated with boxes
    "ood scores",  # of out-of-distribution and clean images
    "normaliser",  # the errors of another model: a baseline run, or published ones
    "weights",  # of the suite's corruptions
]
# Scores in these units are stored as fractions and shown times 100.
SHARES = ("%", "points")
DECIMALS = {"%": 1, "points": 1, "ranks": 3}
OTHER_DECIMALS = 4


@dataclass(frozen=True)
class ScoreUnit:
    """How scores are shown: `61.0 %`, `1.357 ranks`.

    Attributes:
        name: "%" and "points" for fractions; "nats", "ranks" or another unit; "" for none.
        decimals: digits shown after the point.
    """

    name: str
    decimals: int

    @property
    def is_share(self) -> bool:
        """Whether scores are fractions."""
        return self.name in SHARES

    @property
    def scale(self) -> int:
        """The factor from a stored score to a shown one."""
        return 100 if self.is_share else 1


PERCENT = ScoreUnit("%", DECIMALS["%"])


@dataclass(frozen=True)
class Missing:
    """Why a run has no score of a metric, and what to do; both without a full stop."""

    reason: str
    cure: str


class NotMeasurable(Exception):
    """A metric asks for predictions that a run does not have; its score is missing, for this reason."""

    def __init__(self, reason: str, cure: str) -> None:
        super().__init__(f"{reason}; {cure}")
        self.missing = Missing(reason, cure)


def _no_reason(_run: Any) -> Missing | None:
    return None


@dataclass(frozen=True)
class Metric(Plugin):
    """A score of runs and the facts about it; made by `@metric`.

    Attributes:
        function: from a scored run and its predictions to a list of measures.
        direction: whether lower or higher is better; "none" for neither.
        unit: how its scores are shown.
        title: the name for reports, such as mCE; "" for the metric's name.
        headline: whether it is shown at the top of reports.
        needs: what a run must have. A metric that needs "ood scores" is measured for each OOD score; its
            function takes `only`, the name of one of them or "" for all.
        across_parts: whether it is measured on all parts of a natural set together, or on each labelled part.
        own_images: whether its images depend on the model's predictions, so that runs cannot be compared.
        sliceable: whether it is a mean over images, the higher the worse, that slices can be ranked by.
        derived: by suffix of their names, the units of scores that it reports under other names.
        why_missing: a function that returns why a run with all it needs has no score of it, or None.
        task: what its models predict.
        accompanies: metrics that it is measured with, whether or not a suite lists it.
    """

    function: Callable[..., Sequence[Any]]
    direction: Direction
    unit: ScoreUnit = PERCENT
    title: str = ""
    headline: bool = False
    needs: tuple[Need, ...] = ("labels",)
    across_parts: bool = False
    own_images: bool = False
    sliceable: bool = False
    derived: Mapping[str, ScoreUnit] = field(default_factory=dict)
    why_missing: Callable[[Any], Missing | None] = _no_reason
    task: str = DEFAULT_TASK
    accompanies: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The metric's name: its function's, and its file's."""
        return self.function.__name__

    @property
    def help(self) -> str:
        """A description in one sentence: the first paragraph of its function's docstring."""
        return " ".join((inspect.getdoc(self.function) or "").split("\n\n")[0].split())

    @property
    def needs_labels(self) -> bool:
        """Whether it depends on which predictions are correct."""
        return "labels" in self.needs

    @property
    def of_ood_scores(self) -> bool:
        """Whether it is measured for each out-of-distribution score."""
        return "ood scores" in self.needs


def metric(
    *,
    direction: str = "",
    unit: str = "%",
    title: str = "",
    headline: bool = False,
    needs: Sequence[Need] = ("labels",),
    across_parts: bool = False,
    own_images: bool = False,
    sliceable: bool = False,
    derived: Mapping[str, ScoreUnit] | None = None,
    why_missing: Callable[[Any], Missing | None] = _no_reason,
    task: str = DEFAULT_TASK,
    accompanies: Sequence[str] = (),
) -> Callable[[Callable[..., Sequence[Any]]], Metric]:
    """Declare the decorated function `(run, seen) -> list[Measure]` as a metric: see `Metric`."""

    def declare(function: Callable[..., Sequence[Any]]) -> Metric:
        name = function.__name__
        if direction not in get_args(Direction):
            given = f": direction is '{direction}'" if direction else " declares no direction"
            raise UserError(f"Metric '{name}'{given}; give direction='lower', 'higher' or 'none'.")
        unknown = sorted(set(needs) - set(get_args(Need)))
        if unknown:
            allowed = ", ".join(get_args(Need))
            raise UserError(f"Metric '{name}' needs '{unknown[0]}', which is unknown; allowed: {allowed}.")
        if task not in TASKS:
            raise unknown_name("task", task, TASKS.names())
        declared = Metric(
            function,
            direction,  # type: ignore[arg-type]  # checked above
            ScoreUnit(unit, DECIMALS.get(unit, OTHER_DECIMALS)),
            title,
            headline,
            tuple(needs),
            across_parts,
            own_images,
            sliceable,
            derived or {},
            why_missing,
            task,
            tuple(accompanies),
        )
        if not declared.help:
            raise UserError(f"Metric '{name}' has no docstring; describe in one sentence what it measures.")
        return declared

    return declare


REGISTRY: Registry[Metric] = Registry("metric", "windtunnel.metrics.plugins", Metric)


def metric_named(written: str) -> str:
    """The metric that a user means (`FP`, `mFP`, `mean error`, `auroc:energy`); an unknown one unchanged."""
    name, colon, score = written.partition(":")
    if name in REGISTRY.names():
        return written
    wanted = name.strip().lower()
    for known in (*REGISTRY.shipped(), *REGISTRY.names()):
        if wanted and wanted in (known.lower(), REGISTRY.get(known).title.lower()):
            return known + colon + score
    return written


def metric_of(score: str) -> Metric | None:
    """The metric that scores of this name belong to; None if no metric has that name."""
    return REGISTRY.get(score) if score in REGISTRY.names() else None


def title_of(score: str) -> str:
    """The name of a score for reports."""
    declared = metric_of(score)
    return declared.title or score if declared else score


def unit_of(score: str) -> ScoreUnit:
    """The unit of scores of this name; for derived scores, as their metric declares it."""
    if declared := metric_of(score):
        return declared.unit
    units = (unit for metric in REGISTRY.all() for end, unit in metric.derived.items() if score.endswith(end))
    return next(units, PERCENT)


def headline_titles(*, of_ood_scores: bool = False) -> dict[str, str]:
    """The titles of the metrics at the top of reports: those of each OOD score, or all others."""
    return {
        metric.name: metric.title or metric.name
        for metric in REGISTRY.all()
        if metric.headline and metric.of_ood_scores == of_ood_scores
    }


def accompanying(metrics: Sequence[str]) -> list[str]:
    """The metrics that are measured with any of the given ones."""
    return [metric.name for metric in REGISTRY.all() if set(metric.accompanies) & set(metrics)]


def needing(need: Need, metrics: Sequence[str] | None = None) -> list[str]:
    """The metrics, among all or the given ones, that need something; unknown names are left out."""
    names = REGISTRY.names() if metrics is None else [name for name in metrics if name in REGISTRY.names()]
    return [name for name in names if need in REGISTRY.get(name).needs]
