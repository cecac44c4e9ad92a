"""The headline of a finished run, and scores asked for by name, as labelled lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from windtunnel.analysis.caveats import caveats
from windtunnel.analysis.missing_scores import why_no_score
from windtunnel.analysis.plausibility import implausible
from windtunnel.analysis.training_overlap import training_notes
from windtunnel.core.metrics import title_of
from windtunnel.core.scores import Score
from windtunnel.core.wording import counted
from windtunnel.metrics.headlines import PAPERS_SCORE, head_titles, headline_formula
from windtunnel.metrics.not_finite import not_finite_note
from windtunnel.metrics.ood_detection import lost_scores
from windtunnel.metrics.ood_scores import KL_MATCHING
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.options.command_line import for_command_line
from windtunnel.report.natural_sets import counted_text
from windtunnel.report.score_format import number, unit
from windtunnel.report.sections.notes import normaliser_notes, unlabelled_note
from windtunnel.report.step_costs import certain, step_rows, step_verdict

WORST_SHOWN = 3
REASONS_SHOWN = 3
# What is reported of every sequence.
EACH_SEQUENCE = ("flip_probability", "ut5d")
# Columns of scores that were asked for by name.
ASKED_HEADER = ("score", "of", "value", "95 % interval", "images")


def score_lines(run: ScoredRun, scores: list[Score]) -> list[tuple[str, str]]:
    """The headline of a finished run as labelled lines."""
    seen = run.observed
    if not scores:
        why = "no image has a label" if seen.unlabelled else "no image could be scored"
        nothing = ("scores", f"{why}: no error rates")
        return [*_warning_lines(run), nothing, *_not_finite_lines(run), *_left_out_lines(seen)]
    by_condition = {score.condition: score for score in scores if score.metric == "top1_error"}
    errors = [
        (f"{name} error", _shown(by_condition[name])) for name in ("native", "clean") if name in by_condition
    ]
    lines = _warning_lines(run)
    lines += _part_lines(run, by_condition) if run.natural else errors
    heads = head_titles((score.metric, score.condition) for score in scores)
    for score in scores:
        title = heads.get((score.metric, score.condition))
        if title and score.metric != "top1_error":
            lines.append((title, f"{_shown(score)}   {headline_formula(score.formula)}"))
    lines += [*_detection_lines(scores), *(("note", note) for note in lost_scores(run))]
    lines += [("note", note) for note in [*normaliser_notes(run), *training_notes(run)]]
    corruptions = {condition.name for condition in run.conditions if condition.is_corruption}
    corrupted = [score for score in by_condition.values() if score.condition in corruptions]
    worst = sorted(corrupted, key=lambda score: -score.value)[:WORST_SHOWN]
    if worst:
        lines.append(("worst", "   ".join(f"{score.condition} {100 * score.value:.1f} %" for score in worst)))
    lines += _sequence_lines(scores)
    return [*lines, *_step_lines(run, scores), *_not_finite_lines(run), *_left_out_lines(seen)]


def _warning_lines(run: ScoredRun) -> list[tuple[str, str]]:
    """What must be read before any number."""
    return [("WARNING", warning) for warning in implausible(run)]


def _not_finite_lines(run: ScoredRun) -> list[tuple[str, str]]:
    """How many predictions are not finite, which count as wrong."""
    note = not_finite_note(run)
    return [("not finite", note)] if note else []


def _left_out_lines(seen: Observed) -> list[tuple[str, str]]:
    """How many images have no label or were left out, and the first few reasons with an image each."""
    lines = [("note", unlabelled_note(seen.unlabelled))] if seen.unlabelled and seen.kept.any() else []
    if not seen.left_out:
        return lines
    images = counted(seen.left_out, "image")
    lines += [("left out", f"{images} that some condition could not score; see the report")]
    by_reason: dict[str, list[str]] = {}
    for one in seen.unscored:
        by_reason.setdefault(one.reason, []).append(one.image)
    for reason, failed in list(by_reason.items())[:REASONS_SHOWN]:
        more = f" and {len(failed) - 1:,} more" if len(failed) > 1 else ""
        lines.append(("", f"{failed[0]}{more}: {reason}"))
    if len(by_reason) > REASONS_SHOWN:
        lines.append(("", f"{counted(len(by_reason) - REASONS_SHOWN, 'other reason')}"))
    return lines


def asked_rows(scores: Sequence[Score]) -> list[tuple[str, ...]]:
    """A table row, under ASKED_HEADER, for every score of the metrics that were asked for."""
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


def asked_lines(run: ScoredRun, metrics: Sequence[str], scores: Sequence[Score]) -> list[tuple[str, str]]:
    """How every score is computed, and why some of the metrics that were asked for have none."""
    formulas = dict.fromkeys((score.metric, score.formula) for score in scores)
    found = {score.metric for score in scores}
    missing = [asked for asked in metrics if asked.partition(":")[0] not in found]
    reasons = [(asked, _no_score_text(run, asked)) for asked in missing]
    return [*formulas, *reasons, *(("note", note) for note in normaliser_notes(run))]


def _no_score_text(run: ScoredRun, asked: str) -> str:
    why = why_no_score(run, asked.partition(":")[0])
    return for_command_line(f"this run has no such score: {why.reason}. {why.cure[0].upper()}{why.cure[1:]}.")


def _part_lines(run: ScoredRun, by_condition: dict[str, Score]) -> list[tuple[str, str]]:
    """The errors of a natural set's parts, which outputs counted, and what marks them."""
    errors = [
        (f"{name} error", f"{_shown(score)}   {score.n:,} images") for name, score in by_condition.items()
    ]
    return [
        *errors,
        ("counted", counted_text(run.recipe)),
        *(("mark", mark) for mark in caveats(run)),
    ]


def _detection_lines(scores: list[Score]) -> list[tuple[str, str]]:
    """AUPR of the other out-of-distribution scores, the best first.

    KL-matching stands apart with its own chance: its templates leave it fewer in images.
    """
    others = [one for one in scores if one.metric == "aupr" and one.condition != PAPERS_SCORE]
    apart = [one for one in others if one.condition == KL_MATCHING]
    ordered = sorted((one for one in others if one not in apart), key=lambda one: -one.value)
    shown = "   ".join(f"{one.condition} {100 * one.value:.1f} %" for one in ordered)
    lines = [("AUPR of others", shown)] if shown else []
    return lines + [(f"AUPR of {one.condition}", f"{_shown(one)}   {one.formula}") for one in apart]


def _sequence_lines(scores: list[Score]) -> list[tuple[str, str]]:
    """Flip probability and top-5 distance of every sequence, in the run's order."""
    found: dict[str, list[str]] = {}
    for score in scores:
        if score.metric in EACH_SEQUENCE:
            shown = f"{title_of(score.metric)} {_shown(score)}"
            found.setdefault(score.condition, []).append(shown)
    return [(condition, "   ".join(shown)) for condition, shown in found.items()]


def _step_lines(run: ScoredRun, scores: list[Score]) -> list[tuple[str, str]]:
    """The report's verdict on swapped steps, the costliest ones, and the spread along each axis."""
    if not any(one.metric == "step_cost" for one in scores):
        return _changed_lines(scores)
    rows = step_rows(run)
    shown = "   ".join(_cost_text(row) for row in rows[:WORST_SHOWN] if row["cost"]["value"] > 0)
    told = f"{shown}   p adjusted over all steps (Holm)" if shown else ""
    lines = [("verdict", step_verdict(rows, len(run.observed.with_unlabelled.ids)))] if rows else []
    lines.append(("costliest", told or "none: no step costs accuracy on these images"))
    spreads = [one for one in scores if one.metric.endswith("_accuracy_std")]
    points = {one.metric: f"{100 * one.value:.3f}" for one in scores}
    shown = "   ".join(
        f"{one.metric.partition('_')[0]} {points[one.metric]} ({points[f'{one.metric}_corrected']})"
        for one in spreads
    )
    told = f"{shown}   points of accuracy, sample (without what chance adds)"
    return [*lines, ("std by axis", told)] if shown else lines


def _cost_text(row: Mapping[str, Any]) -> str:
    """What a step costs, and whether that is more than chance."""
    value, low, high = (100 * row["cost"][key] for key in ("value", "low", "high"))
    doubt = "" if certain(row) else " (not certain)"
    return f"{row['step']} {value:.1f} points [{low:.1f}, {high:.1f}], p {row['p']:.2g}{doubt}"


def _changed_lines(scores: list[Score]) -> list[tuple[str, str]]:
    """Which swapped steps change most answers, and how many each axis changes, where nothing has a label."""
    flips = [one for one in scores if one.metric == "step_flip_share"]
    if not flips:
        return []
    most = sorted((one for one in flips if one.value > 0), key=lambda one: -one.value)[:WORST_SHOWN]
    shown = "   ".join(f"{one.condition} {_shown(one).strip()}" for one in most)
    axes = "   ".join(
        f"{one.metric.partition('_')[0]} {_shown(one).strip()}"
        for one in scores
        if one.metric.endswith("_flip_share") and not one.condition
    )
    return [
        ("scores", "no image has a label: no error rates, only how many answers change"),
        ("most changed", shown or "none: no step changes an answer to these images"),
        *([("by axis", axes)] if axes else []),
    ]


def _shown(score: Score) -> str:
    low, high = number(score.low, score.metric), number(score.high, score.metric)
    return f"{number(score.value, score.metric):>5} {unit(score.metric)}  [{low}, {high}]"
