"""Summary of a finished run and of selected scores, for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from windtunnel.analysis.caveats import caveats
from windtunnel.analysis.deployment import StepCost, replaced_steps
from windtunnel.analysis.missing_scores import why_no_score
from windtunnel.analysis.plausibility import implausible
from windtunnel.analysis.training_overlap import training_notes
from windtunnel.core.metrics import title_of
from windtunnel.core.scores import Score
from windtunnel.core.wording import counted
from windtunnel.metrics.complete_images import CompleteImages
from windtunnel.metrics.families import FAMILY_METRICS
from windtunnel.metrics.headlines import PAPERS_SCORE, head_titles, headline_formula
from windtunnel.metrics.not_finite import not_finite_note
from windtunnel.metrics.ood_detection import lost_scores
from windtunnel.metrics.ood_scores import KL_MATCHING
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.options.command_line import for_command_line
from windtunnel.report.natural_sets import competing_outputs_text
from windtunnel.report.pipeline_steps import step_verdict
from windtunnel.report.score_format import number, unit
from windtunnel.report.sections.notes import missing_conditions, normaliser_notes, unlabelled_note

WORST_SHOWN = 3
REASONS_SHOWN = 3
MISSING_SHOWN = 4
# Metrics that are printed for every sequence.
EACH_SEQUENCE = ("flip_probability", "ut5d")
# Metrics whose selection prints the notes on training data.
NORMALISED = ("ce", "mce", "relative_ce", "relative_mce")
# Columns of the table of selected scores.
SELECTED_HEADER = ("score", "of", "value", "95 % interval", "images")


def score_lines(run: ScoredRun, scores: list[Score]) -> list[tuple[str, str]]:
    """The summary of a finished run as labelled lines."""
    observed = run.predicted
    if not scores:
        reason = "no image has a label" if observed.unlabelled else "no image could be scored"
        no_scores = ("scores", f"no error rates: {reason}")
        return [*_warning_lines(run), no_scores, *_not_finite_lines(run), *_left_out_lines(observed)]
    by_condition = {score.condition: score for score in scores if score.metric == "top1_error"}
    errors = [
        (f"{name} error", _score_text(by_condition[name]))
        for name in ("native", "clean")
        if name in by_condition
    ]
    lines = _warning_lines(run)
    lines += _part_lines(run, by_condition) if run.natural else errors
    heads = head_titles((score.metric, score.condition) for score in scores)
    for score in scores:
        title = heads.get((score.metric, score.condition))
        if title and score.metric != "top1_error":
            lines.append((title, f"{_score_text(score)}   {headline_formula(score.formula)}"))
    lines += [*_detection_lines(scores), *(("note", note) for note in lost_scores(run))]
    lines += [("note", note) for note in [*normaliser_notes(run), *training_notes(run)]]
    corruptions = {condition.name for condition in run.conditions if condition.is_corruption}
    corrupted = [score for score in by_condition.values() if score.condition in corruptions]
    worst = sorted(corrupted, key=lambda score: -score.value)[:WORST_SHOWN]
    if worst:
        lines.append(("worst", "   ".join(f"{score.condition} {100 * score.value:.1f} %" for score in worst)))
    lines += _family_lines(scores)
    lines += _sequence_lines(scores)
    lines += _missing_lines(run)
    return [*lines, *_step_lines(run, scores), *_not_finite_lines(run), *_left_out_lines(observed)]


def _family_lines(scores: list[Score]) -> list[tuple[str, str]]:
    """The error of every family of corruptions, if there are several."""
    families = [score for score in scores if score.metric in FAMILY_METRICS]
    texts = [f"{score.condition} {_score_text(score).strip()}" for score in families]
    return [("families", "   ".join(texts))] if len(texts) > 1 else []


def _missing_lines(run: ScoredRun) -> list[tuple[str, str]]:
    """The first conditions of the suite that the run lacks, and their number."""
    missing = missing_conditions(run)
    more = f" and {len(missing) - MISSING_SHOWN:,} more" if len(missing) > MISSING_SHOWN else ""
    return [("missing", f"{', '.join(missing[:MISSING_SHOWN])}{more}")] if missing else []


def _warning_lines(run: ScoredRun) -> list[tuple[str, str]]:
    """Warnings to read before any number."""
    return [("WARNING", warning) for warning in implausible(run)]


def _not_finite_lines(run: ScoredRun) -> list[tuple[str, str]]:
    """The number of predictions that are not finite and count as incorrect."""
    note = not_finite_note(run)
    return [("not finite", note)] if note else []


def _left_out_lines(observed: CompleteImages) -> list[tuple[str, str]]:
    """Numbers of images without a label and left out, and the first reasons with an example each."""
    lines = (
        [("note", unlabelled_note(observed.unlabelled))]
        if observed.unlabelled and observed.kept.any()
        else []
    )
    if not observed.left_out:
        return lines
    images = counted(observed.left_out, "image")
    lines += [("left out", f"{images} that could not be scored under some condition; see the report")]
    by_reason: dict[str, list[str]] = {}
    for unscored in observed.unscored:
        by_reason.setdefault(unscored.reason, []).append(unscored.image)
    for reason, failed in list(by_reason.items())[:REASONS_SHOWN]:
        more = f" and {len(failed) - 1:,} more" if len(failed) > 1 else ""
        lines.append(("", f"{failed[0]}{more}: {reason}"))
    if len(by_reason) > REASONS_SHOWN:
        lines.append(("", f"{counted(len(by_reason) - REASONS_SHOWN, 'other reason')}"))
    return lines


def selected_score_rows(scores: Sequence[Score]) -> list[tuple[str, ...]]:
    """A table row for every selected score, with the columns of SELECTED_HEADER."""
    return [
        (
            score.metric,
            score.condition or "all",
            f"{number(score.value, score.metric)} {unit(score.metric)}".rstrip(),
            f"[{number(score.low, score.metric)}, {number(score.high, score.metric)}]",
            f"{score.n:,}",
        )
        for score in scores
    ]


def selected_score_lines(
    run: ScoredRun, metrics: Sequence[str], scores: Sequence[Score]
) -> list[tuple[str, str]]:
    """Warnings, the formulas of selected scores, and the reasons why selected metrics have no score."""
    formulas = dict.fromkeys((score.metric, score.formula) for score in scores)
    scored = {score.metric for score in scores}
    missing = [metric for metric in metrics if metric.partition(":")[0] not in scored]
    reasons = [(metric, _no_score_text(run, metric)) for metric in missing]
    notes = [("note", note) for note in normaliser_notes(run)]
    if scored & set(NORMALISED):
        notes += [("note", note) for note in training_notes(run)]
    return [*_warning_lines(run), *formulas, *reasons, *notes]


def _no_score_text(run: ScoredRun, metric: str) -> str:
    missing = why_no_score(run, metric.partition(":")[0])
    cure = f"{missing.cure[0].upper()}{missing.cure[1:]}"
    return for_command_line(f"this run has no such score: {missing.reason}. {cure}.")


def _part_lines(run: ScoredRun, by_condition: dict[str, Score]) -> list[tuple[str, str]]:
    """The errors of a natural set's parts, the outputs that compete, and caveats."""
    errors = [
        (f"{name} error", f"{_score_text(score)}   {score.n:,} images")
        for name, score in by_condition.items()
    ]
    return [
        *errors,
        ("outputs", competing_outputs_text(run.recipe)),
        *(("caveat", caveat) for caveat in caveats(run)),
    ]


def _detection_lines(scores: list[Score]) -> list[tuple[str, str]]:
    """AUPR of the OOD scores other than msp, the best first.

    KL-matching has a line of its own because it uses fewer ID images, so its chance level differs.
    """
    others = [score for score in scores if score.metric == "aupr" and score.condition != PAPERS_SCORE]
    kl_matching = [score for score in others if score.condition == KL_MATCHING]
    ranked = sorted((score for score in others if score not in kl_matching), key=lambda score: -score.value)
    text = "   ".join(f"{score.condition} {100 * score.value:.1f} %" for score in ranked)
    return [
        *([("AUPR of others", text)] if text else []),
        *((f"AUPR of {score.condition}", f"{_score_text(score)}   {score.formula}") for score in kl_matching),
    ]


def _sequence_lines(scores: list[Score]) -> list[tuple[str, str]]:
    """Flip probability and top-5 distance of every sequence."""
    texts: dict[str, list[str]] = {}
    for score in scores:
        if score.metric in EACH_SEQUENCE:
            texts.setdefault(score.condition, []).append(f"{title_of(score.metric)} {_score_text(score)}")
    return [(condition, "   ".join(parts)) for condition, parts in texts.items()]


def _step_lines(run: ScoredRun, scores: list[Score]) -> list[tuple[str, str]]:
    """The verdict on pipeline steps, the costliest steps, and the standard deviation along each axis."""
    if not any(score.metric == "step_cost" for score in scores):
        return _changed_lines(scores)
    steps = replaced_steps(run)
    lines = [("verdict", step_verdict(steps, len(run.observed.with_unlabelled.ids)))] if steps else []
    costs = "   ".join(
        _cost_text(step.step, step.cost)
        for step in steps[:WORST_SHOWN]
        if step.cost and step.cost.difference.value > 0
    )
    lines.append(
        ("costliest", f"{costs}   p adjusted over all steps (Holm)" if costs else "no step costs accuracy")
    )
    points = {score.metric: f"{100 * score.value:.3f}" for score in scores}
    stds = "   ".join(
        f"{metric.partition('_')[0]} {points[metric]} ({points[f'{metric}_corrected']})"
        for metric in (score.metric for score in scores)
        if metric.endswith("_accuracy_std")
    )
    return [*lines, ("std by axis", f"{stds}   points of accuracy (bias-corrected)")] if stds else lines


def _cost_text(step: str, cost: StepCost) -> str:
    """The cost of a step, with its interval, p, and significance."""
    value, low, high = 100 * cost.difference.value, 100 * cost.difference.low, 100 * cost.difference.high
    note = "" if cost.is_significant else " (not significant)"
    return f"{step} {value:.1f} points [{low:.1f}, {high:.1f}], p {cost.p:.2g}{note}"


def _changed_lines(scores: list[Score]) -> list[tuple[str, str]]:
    """Without labels: the steps that change the most predictions, and the share that each axis changes."""
    flips = [score for score in scores if score.metric == "step_flip_share"]
    if not flips:
        return []
    most = sorted((score for score in flips if score.value > 0), key=lambda score: -score.value)[:WORST_SHOWN]
    steps = "   ".join(f"{score.condition} {_score_text(score).strip()}" for score in most)
    axes = "   ".join(
        f"{score.metric.partition('_')[0]} {_score_text(score).strip()}"
        for score in scores
        if score.metric.endswith("_flip_share") and not score.condition
    )
    return [
        ("scores", "no error rates, only shares of changed predictions: no image has a label"),
        ("most changed", steps or "no step changes a prediction"),
        *([("by axis", axes)] if axes else []),
    ]


def _score_text(score: Score) -> str:
    low, high = number(score.low, score.metric), number(score.high, score.metric)
    return f"{number(score.value, score.metric):>5} {unit(score.metric)}  [{low}, {high}]"
