"""Run folders as a table: a row per model, a column per condition, natural set or score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from windtunnel.analysis.model_tables.table import ModelTable, Role, Setting
from windtunnel.core.errors import UserError
from windtunnel.core.metrics import metric_named, metric_of
from windtunnel.core.option_names import option
from windtunnel.core.scores import Score
from windtunnel.metrics.headlines import PM_0
from windtunnel.metrics.score import score_run
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.published.natural_sets import natural_sets


@dataclass(frozen=True)
class Cell:
    """One value of one model."""

    setting: Setting
    value: float


def runs_table(runs: Sequence[ScoredRun], metrics: Sequence[str] = ()) -> ModelTable:
    """The table of finished runs, joined by the models' names.

    Different models of one name are told apart by their run folders.

    Corrupted conditions have the accuracy on clean images of the same run, and natural sets that on their
    clean images, which are of the same classes. Frame sets have pm-0 and every pm-k.

    Args:
        runs: finished runs; one run per model and benchmark.
        metrics: further scores over all conditions of a run, such as mfr.
    """
    names = _model_names(runs)
    prefixes = _prefixes([run for run in runs if not run.natural])
    rows: dict[str, dict[str, Cell]] = {}
    origin: dict[tuple[str, str], str] = {}
    for run, model in zip(runs, names, strict=True):
        prefix = "" if run.natural else prefixes[_benchmark(run)]
        row = rows.setdefault(model, {})
        for cell in (*_accuracies(run, prefix), *_other_scores(run, metrics, prefix)):
            name = cell.setting.name
            if name in row and row[name].value != cell.value:
                raise UserError(
                    f"{origin[model, name]} and {run.path} both have {name} of {model}; give one run per "
                    "model and benchmark."
                )
            row[name] = cell
            origin[model, name] = str(run.path)
    settings = {name: cell.setting for row in rows.values() for name, cell in row.items()}
    values = [[row[name].value if name in row else np.nan for name in settings] for row in rows.values()]
    families = {model: run.info.model.family for run, model in zip(runs, names, strict=True)}
    return ModelTable(
        tuple(rows),
        tuple(settings.values()),
        np.array(values, np.float64).reshape(len(rows), len(settings)),
        {"family": tuple(families[model] for model in rows)} if all(families.values()) else {},
        tuple(str(run.path) for run in runs),
        tuple(_notes(runs)),
    )


def _accuracies(run: ScoredRun, prefix: str) -> Iterator[Cell]:
    suite = run.recipe.suite.name
    if run.frame_sets is not None:
        clean = f"{_set_name(run)} {PM_0}"
        for score in score_run(run, ["pm_k"]):
            name = f"{_set_name(run)} {score.condition}"
            role: Role = "clean" if score.condition == PM_0 else "natural"
            own = "" if role == "clean" else clean
            setting = Setting(
                name,
                role,
                own,
                "same",
                score.n,
                suite,
                natural_set=_natural_name(run),
                own_set=run.info.data.own_set,
            )
            yield Cell(setting, score.value)
        return
    errors = {score.condition: score for score in score_run(run, ["top1_error"])}
    if run.natural:
        yield from _natural_cells(run, errors, suite)
        return
    has_clean = "clean" in errors
    for condition in run.conditions:
        if condition.name not in errors or not (condition.is_corruption or condition.name == "clean"):
            continue
        score = errors[condition.name]
        setting = Setting(
            prefix + condition.name,
            "clean" if condition.name == "clean" else "synthetic",
            f"{prefix}clean" if has_clean and condition.name != "clean" else "",
            "same",
            score.n,
            suite,
            score.corruption,
        )
        yield Cell(setting, 1 - score.value)


def _natural_cells(run: ScoredRun, errors: dict[str, Score], suite: str) -> Iterator[Cell]:
    parts = {part.role: part.name for part in run.parts}
    shifted, clean = parts.get("shifted", ""), parts.get("clean", "")
    if shifted not in errors:
        return
    name = shifted if _natural_name(run) else _set_name(run)
    own = f"{name} clean" if clean in errors else ""
    if own:
        yield Cell(Setting(own, "clean", "", "same", errors[clean].n, suite), 1 - errors[clean].value)
    setting = Setting(
        name,
        "natural",
        own,
        "same",
        errors[shifted].n,
        suite,
        natural_set=_natural_name(run),
        own_set=run.info.data.own_set,
    )
    yield Cell(setting, 1 - errors[shifted].value)


def _other_scores(run: ScoredRun, metrics: Sequence[str], prefix: str) -> Iterator[Cell]:
    """Scores of a run over several conditions, under the metric's name."""
    for asked in metrics:
        name = metric_named(asked)
        declared = metric_of(name)
        if declared is None:
            continue
        if declared.direction == "none":
            raise UserError(
                f"{option('scores', [asked])}: neither lower nor higher {name} is better, so it ranks no "
                "models; give a metric with a direction."
            )
        for score in score_run(run, [name]):
            if not score.condition:
                role: Role = "natural" if run.natural else "synthetic"
                setting = Setting(
                    prefix + name,
                    role,
                    images=score.n,
                    table=run.recipe.suite.name,
                    direction=declared.direction,
                    is_accuracy=False,
                )
                yield Cell(setting, score.value)


def _natural_name(run: ScoredRun) -> str:
    """The published natural set of a run; "" for a user's own images."""
    natural = natural_sets()[run.natural.set] if run.natural else None
    return natural.name if natural and natural.layout not in ("own", "frames") else ""


def _set_name(run: ScoredRun) -> str:
    """The natural set, or the name of a user's own set or data, so that several own sets are told apart."""
    own = run.info.data.own_set
    return _natural_name(run) or (own.name if own else run.info.data.name)


def _benchmark(run: ScoredRun) -> tuple[str, str]:
    """Suite and data, by which settings of the same name are told apart."""
    return run.recipe.suite.name, run.info.data.name


def _prefixes(runs: Sequence[ScoredRun]) -> dict[tuple[str, str], str]:
    """What the names of a benchmark's settings begin with: suite and data, as far as runs differ in them."""
    benchmarks = {_benchmark(run) for run in runs}
    suites, datasets = ({benchmark[place] for benchmark in benchmarks} for place in (0, 1))
    return {
        (suite, data): (f"{suite}/" if len(suites) > 1 else "") + (f"{data}/" if len(datasets) > 1 else "")
        for suite, data in benchmarks
    }


def _model_names(runs: Sequence[ScoredRun]) -> list[str]:
    """The name of each run's model; different models of one name are called by their run folders.

    Models with several runs each cannot be told apart so, and are refused.
    """
    by_name: dict[str, list[ScoredRun]] = {}
    for run in runs:
        by_name.setdefault(run.info.model.name, []).append(run)
    ambiguous = set()
    for name, same in by_name.items():
        fingerprints = [run.recipe.model.fingerprint for run in same]
        if len(set(fingerprints)) == 1:
            continue
        if len(set(fingerprints)) < len(same):
            other = next(run for run in same if run.recipe.model.fingerprint != fingerprints[0])
            raise UserError(
                f"{same[0].path} and {other.path} are runs of two models called {name}; give each model a "
                "name of its own, because runs are joined by it."
            )
        ambiguous.add(name)
    names = ((run.info.model.name, run.path.name) for run in runs)
    return [folder if name in ambiguous else name for name, folder in names]


def _notes(runs: Sequence[ScoredRun]) -> Iterator[str]:
    """Differences between runs of one benchmark that limit a comparison of their models."""
    for benchmark in sorted({_benchmark(run) for run in runs}):
        same = [run for run in runs if _benchmark(run) == benchmark]
        if len({run.recipe.data.count for run in same}) > 1:
            yield f"Runs of {' on '.join(benchmark)} have different numbers of images."
        if len({run.recipe.seed for run in same}) > 1:
            yield f"Runs of {' on '.join(benchmark)} have different seeds: their pixels differ."
