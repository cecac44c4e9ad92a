"""Why a run has no score of a metric, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable

from windtunnel.core.metrics import REGISTRY, Missing, Need
from windtunnel.metrics.score import measure_run, why_not_measurable
from windtunnel.metrics.scored_run import ScoredRun

# By requirement of a metric: whether a run meets it, and the kind of run that does.
RUNS: dict[Need, tuple[Callable[[ScoredRun], bool], str]] = {
    "ood scores": (
        lambda run: any(part.role == "out" for part in run.parts),
        "an out-of-distribution run (suite imagenet-o or ood)",
    ),
    "frame sets": (
        lambda run: run.frame_sets is not None,
        "a run over frames of videos (suite vid-robust, ytbb-robust or pm-k)",
    ),
    "sequences": (lambda run: bool(run.sequences), "a run of sequences (suite imagenet-p)"),
    "pipeline steps": (
        lambda run: bool(run.pipeline_steps),
        "a run that swaps pipeline steps (suite systematic)",
    ),
    "corruptions": (lambda run: bool(run.corruptions), "a run of corruptions (suite imagenet-c)"),
    "shifted images": (
        lambda run: bool(run.natural),
        "a run over a natural set, with its clean images (suite imagenet-a, imagenet-r and others)",
    ),
}


def has_score(run: ScoredRun, metric: str) -> bool:
    """Whether a run has scores of a metric."""
    return bool(measure_run(run, [metric]))


def needed_run(run: ScoredRun, metric: str) -> str:
    """The kind of run that a metric needs, or "" if the run is of that kind."""
    needs = REGISTRY.get(metric).needs
    lacking = (text for need, (has, text) in RUNS.items() if need in needs and not has(run))
    return next(lacking, "")


def why_no_score(run: ScoredRun, metric: str) -> Missing:
    """Why a run has no score of a known metric, and what to do."""
    known = REGISTRY.get(metric)
    if needed := needed_run(run, metric):
        return Missing(f"it needs {needed}", "run such a suite")
    if known.needs_labels and not len(run.predicted.ids):
        return Missing("no image has a label and a prediction under every condition", "give labelled images")
    if "probabilities" in known.needs and not run.predicted.gives_probabilities:
        return Missing(
            "the predictions have only the top classes, without probabilities",
            "give the scores of every class",
        )
    if missing := known.why_missing(run) or why_not_measurable(metric, run):
        return missing
    return Missing("the run has too little data for it", f"see the notes of windtunnel report {run.path}")
