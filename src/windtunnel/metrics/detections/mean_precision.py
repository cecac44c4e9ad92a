"""mPC and rPC: AP averaged over corrupted conditions, as it is and relative to clean images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from windtunnel.core.conditions import Condition, grid_text
from windtunnel.core.detections import MOST_DETECTIONS
from windtunnel.core.metrics import NotMeasurable
from windtunnel.core.option_names import option
from windtunnel.core.wording import counted
from windtunnel.metrics.detections.matches import THRESHOLDS
from windtunnel.metrics.detections.precision import condition_precisions, mean_of, ratio_of
from windtunnel.metrics.families import columns_by_family
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure

AP_WORDS = f"AP (IoU 0.50 to 0.95, at most {MOST_DETECTIONS} detections per image)"
# By name of a group, its conditions.
Grouped = Mapping[str, Sequence[Condition]]


def all_corruptions(run: ScoredRun) -> Grouped:
    """Every corrupted condition in one group without a name."""
    return {"": run.corruptions} if run.corruptions else {}


def by_corruption(run: ScoredRun) -> Grouped:
    """The severities of every corruption."""
    return _grouped(run, lambda condition: condition.unit)


def by_severity(run: ScoredRun) -> Grouped:
    """The corruptions at every severity; those with one strength have none."""
    levels = _grouped(run, lambda condition: f"severity {condition.level}" if condition.level else "")
    return {name: levels[name] for name in sorted(levels) if name}


def by_family(run: ScoredRun) -> Grouped:
    """The corrupted conditions of every family."""
    return {
        family: [run.conditions[column] for column in columns]
        for family, columns in columns_by_family(run).items()
    }


def mean_precisions(run: ScoredRun, metric: str, groups: Grouped) -> list[Measure]:
    """The mean AP of every group of conditions: mPC."""
    precisions = _by_condition(run)
    return [
        replace(
            mean_of(
                [precisions[condition.name] for condition in conditions], metric, _formula(name, conditions)
            ),
            condition=name,
        )
        for name, conditions in groups.items()
    ]


def relative_precisions(run: ScoredRun, metric: str, groups: Grouped) -> list[Measure]:
    """The mean AP of every group of conditions divided by the AP of clean images: rPC.

    Raises:
        NotMeasurable: the run has no clean images, or their AP is 0.
    """
    precisions = _by_condition(run)
    unmodified = [condition.name for condition in run.conditions if condition.is_unmodified]
    if not unmodified:
        raise NotMeasurable("it needs the clean images", f"give them with {option('clean')}")
    clean = precisions[unmodified[0]]
    if not clean.value:
        raise NotMeasurable("AP of the clean images is 0", "check the model's preprocessing and its head")
    return [
        replace(
            ratio_of(mean, clean, metric, f"{mean.formula} / AP of clean images"), condition=mean.condition
        )
        for mean in mean_precisions(run, metric, groups)
    ]


def _by_condition(run: ScoredRun) -> dict[str, Measure]:
    return {measure.condition: measure for measure in condition_precisions(run, "ap", tuple(THRESHOLDS))}


def _formula(name: str, conditions: Sequence[Condition]) -> str:
    """The mean in words; a group lists its conditions."""
    grid = grid_text([(condition.unit, condition.level) for condition in conditions])
    listed = f" ({grid})" if name else ""
    return f"{AP_WORDS}, mean over {counted(len(conditions), 'condition')} of equal weight{listed}"


def _grouped(run: ScoredRun, name_of: Callable[[Condition], str]) -> dict[str, list[Condition]]:
    groups: dict[str, list[Condition]] = {}
    for condition in run.corruptions:
        groups.setdefault(name_of(condition), []).append(condition)
    return groups
