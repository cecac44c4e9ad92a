"""Why a run has no score of a metric, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from windtunnel.core.metric_names import (
    DETECTION_TITLES,
    NEED_NO_LABEL,
    NORMALISED,
    NORMALISED_SEQUENCES,
    OF_CORRUPTIONS,
    OF_DETECTION,
    OF_FRAMES,
    OF_NATURAL_SETS,
    OF_PROBABILITIES,
    OF_SEQUENCES,
    OF_STEPS,
    SHORT_NAMES,
    TITLES,
)
from windtunnel.core.wording import counted
from windtunnel.metrics import corruption_error, flip_rates
from windtunnel.metrics.clean_comparison import clean_with_codec_of
from windtunnel.metrics.corruption_error import THE_FIFTEEN, whole_units
from windtunnel.metrics.misfit import Misfit, joined_misfit
from windtunnel.metrics.score import measure_run
from windtunnel.metrics.sequence_scores import bare, sequences_of
from windtunnel.store.run import Run


@dataclass(frozen=True)
class Missing:
    """Why there is no score, and what to do; both without a full stop."""

    reason: str
    cure: str


def has_score(run: Run, metric: str) -> bool:
    """Whether a run's own scores include a metric."""
    return metric in run.metrics and bool(measure_run(run, [metric]))


def written(metric: str) -> str:
    """A metric as people write it."""
    return (TITLES | DETECTION_TITLES | SHORT_NAMES).get(metric, metric)


def why_no_score(run: Run, metric: str) -> Missing:
    """Why a run has no score of a known metric, and what to do."""
    return _of_other_runs(run, metric) or _not_normalised(run, metric) or _of_this_run(run, metric)


def needed_run(run: Run, metric: str) -> str:
    """The kind of run that a metric needs, or "" where the run is of that kind."""
    kinds = {str(one["kind"]) for one in run.conditions}
    if metric in OF_DETECTION and not any(part.role == "out" for part in run.parts):
        return "an out-of-distribution run (suite imagenet-o or ood)"
    if metric in OF_FRAMES and run.frame_sets is None:
        return "a run over frames of videos (suite vid-robust, ytbb-robust or pm-k)"
    if metric in OF_SEQUENCES and not sequences_of(run):
        return "a run of sequences (suite imagenet-p)"
    if metric in OF_STEPS and "pipeline" not in kinds:
        return "a run that swaps pipeline steps (suite systematic)"
    if metric in OF_CORRUPTIONS and "corruption" not in kinds:
        return "a run of corruptions (suite imagenet-c)"
    if metric in OF_NATURAL_SETS and not run.natural:
        return "a run over a natural set, with its clean images (suite imagenet-a, imagenet-r and others)"
    return ""


def _of_other_runs(run: Run, metric: str) -> Missing | None:
    if needed := needed_run(run, metric):
        return Missing(f"it needs {needed}", "run such a suite")
    if metric not in NEED_NO_LABEL and not len(run.observed.ids):
        return Missing("no image has a label and a prediction under every condition", "give labelled images")
    return None


def _not_normalised(run: Run, metric: str) -> Missing | None:
    """Why a score that is normalised by AlexNet's errors is missing."""
    if metric not in (*NORMALISED, *NORMALISED_SEQUENCES):
        return None
    found = corruption_error.misfits(run) if metric in NORMALISED else flip_rates.misfits(run)
    units = set(whole_units(run))
    others = []
    if metric in ("mce", "relative_mce") and units != set(THE_FIFTEEN):
        found = [one for one in found if one != corruption_error.SEVERITIES_LACKING]
        have = counted(len(units & set(THE_FIFTEEN)), "such corruption")
        reason = f"it is defined over 15 corruptions at 5 severities, and the run has {have}"
        others.append(Misfit(reason, "run suite imagenet-c"))
    if metric in ("mfr", "mt5d") and (
        not found or set(map(bare, sequences_of(run))) != set(flip_rates.THE_TEN)
    ):
        others.append(Misfit("it is defined over ImageNet-P's 10 sequences", "run suite imagenet-p"))
    if metric in ("relative_ce", "relative_mce") and "clean" not in run.observed.conditions:
        others.append(Misfit("it needs the clean images", "give them with --clean"))
    if found:
        found[0] = replace(found[0], reason=f"AlexNet's published errors do not fit, {found[0].reason}")
    missing = joined_misfit([*found, *others])
    if missing is None:
        return None
    return Missing(missing.reason, missing.cure or "use a metric that is not normalised")


def _of_this_run(run: Run, metric: str) -> Missing:
    """Why a score is missing that the run could have by its kind."""
    if metric in OF_PROBABILITIES and not run.observed.gives_probabilities:
        return Missing(
            "the predictions are the best classes, without probabilities", "give the scores of every class"
        )
    corrupted = [one for one in run.conditions if one["kind"] == "corruption"]
    if metric == "flip_share" and not all(clean_with_codec_of(run, one) for one in corrupted):
        return Missing("there are no clean images stored as the corrupted ones are", "run suite imagenet-c")
    if metric == "residual_robustness" and "clean" not in run.observed.conditions:
        return Missing("it needs the clean images", "give them with --clean")
    counted_outputs = len(run.recipe["projection"]["kept"]) or int(run.recipe["model"]["classes"])
    if metric == "top5_error" and counted_outputs <= 5:
        return Missing(f"only {counted_outputs} classes compete", "use the top-1 error")
    if metric not in run.metrics:
        return Missing(
            f"suite {run.recipe['suite']['name']} does not score it",
            f"run a suite that lists {metric} under `metrics`",
        )
    return Missing("the run has too little data for it", f"see windtunnel report {run.path}")
