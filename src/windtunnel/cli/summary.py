"""What commands print about a plan and a finished run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from windtunnel.analysis.caveats import marks
from windtunnel.analysis.missing_scores import why_no_score
from windtunnel.analysis.plausibility import implausible
from windtunnel.analysis.training_overlap import training_notes
from windtunnel.core.conditions import grid_text, is_uneven
from windtunnel.core.metrics import title_of
from windtunnel.core.scores import Score
from windtunnel.core.wording import counted
from windtunnel.corruptions import SEVERITIES
from windtunnel.engine.estimate import Expected
from windtunnel.engine.plan import Plan
from windtunnel.metrics.headlines import PAPERS_SCORE, head_titles, headline_formula
from windtunnel.metrics.not_finite import not_finite_note
from windtunnel.metrics.ood_detection import lost_scores
from windtunnel.metrics.ood_scores import KL_MATCHING
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.models import Model
from windtunnel.report.deployment import certain, step_rows, step_verdict
from windtunnel.report.natural_sets import counted_text, parts_text
from windtunnel.report.recipe import classes_text
from windtunnel.report.score_format import number, unit
from windtunnel.report.tables import normaliser_notes, unlabelled_note
from windtunnel.suites.pipeline_steps import axis_of

# How a plan counts images that fail: a damaged file with a good header is found when it is decoded.
HEADERS_ONLY = "judging by headers alone (windtunnel data inspect decodes every image)"
WORST_SHOWN = 3
REASONS_SHOWN = 3
# What is said of every sequence.
EACH_SEQUENCE = ("flip_probability", "ut5d")
# Of scores that were asked for by name.
ASKED_HEADER = ("score", "of", "value", "95 % interval", "images")


def describe_model(model: Model) -> str:
    """A model in one line: kind, input, outputs, classes, preprocess and where that is declared."""
    side = model.preprocess.geometry.output_px
    size = f"{side}x{side}" if side else "any size"
    return (
        f"{model.kind_title or model.kind}, {size}, "
        f"{model.outputs} ({model.outputs_from}), {model.class_count} classes; "
        f"preprocess {model.preprocess.geometry.describe()}, {model.preprocess.tensor.channels.upper()} "
        f"({model.preprocess.origin})"
    )


def plan_lines(
    plan: Plan, folder: Path, workers: int, done: int, time: Expected | None = None
) -> list[tuple[str, str]]:
    """A plan as labelled lines; `done` predictions are already in the folder, the rest takes `time`."""
    total, count = plan.recipe.data.of, len(plan.surveyed)
    amount = (
        counted(count, "image")
        if count == total
        else f"{count:,} of {total:,} images (by class, seed {plan.seed})"
    )
    failed = sum(one.status != "ok" for one in plan.surveyed)
    unlabelled = unlabelled_images(plan)
    beside = " and ".join(one.name for one in plan.conditions if one.codec == "none" and one.is_unmodified)
    missing, remarks = plan.info.missing, plan.info.remarks
    canvas = plan.canvas.geometry.describe() + (f"; {plan.canvas.note}" if plan.canvas.note else "")
    return [
        ("model", f"{plan.model.name}   {describe_model(plan.model)}"),
        (
            "data",
            f"{plan.dataset.location}   {amount}; {classes_text(plan.info.data)}"
            + (
                f"; at least {counted(failed, 'image fails', 'images fail')}, {HEADERS_ONLY}"
                if failed
                else ""
            ),
        ),
        (
            "suite",
            f"{plan.suite.citation}   {_contents(plan)}"
            + ("" if plan.suite.natural else f", beside {beside}" if beside else ", without clean"),
        ),
        *([("lacking", f"{counted(len(missing), 'condition')}: {_by_unit(missing)}")] if missing else []),
        *(("note", remark) for remark in remarks),
        *([("note", unlabelled_note(unlabelled))] if unlabelled else []),
        *([] if plan.suite.natural else [("canvas", f"edition {plan.canvas.edition}, {canvas}")]),
        (
            "work",
            f"{counted(plan.predictions, 'prediction')} in {counted(len(plan.chunks), 'shard')} on "
            f"{counted(workers, 'worker')}" + (f"; {done:,} already done" if done else ""),
        ),
        *([("time", str(time))] if time else []),
        ("run", str(folder)),
    ]


def unlabelled_images(plan: Plan) -> int:
    """How many images have no label; those of natural sets may have none by design."""
    return 0 if plan.suite.natural else sum(not one.sample.labels for one in plan.surveyed)


def _contents(plan: Plan) -> str:
    """A suite's corruptions and severities, sequences and difficulty, or swapped steps, in a few words."""
    if plan.recipe.data.natural:
        return f"{parts_text(plan.recipe.data.natural)}; {counted_text(plan.recipe)}"
    corrupted = [one for one in plan.conditions if one.is_corrupted]
    steps = Counter(axis_of(one.unit) for one in plan.conditions if one.is_pipeline_step)
    units = len({one.unit for one in corrupted})
    parts = []
    if plan.suite.holds_sequences:
        frames = sum(one.frames for one in corrupted)
        parts.append(
            f"{counted(units, 'sequence')} of {frames:,} frames in all, difficulty {plan.suite.levels[0]}"
        )
    elif corrupted:
        found = sorted({one.level for one in corrupted})
        levels = ", ".join(map(str, found))
        severities = "severity" if len(found) == 1 else "severities"
        places = [(one.unit, one.level) for one in corrupted]
        uneven = is_uneven(places) and not plan.info.missing
        parts.append(
            f"{len(places)} conditions: {grid_text(places)}"
            if uneven
            else f"{counted(units, 'corruption')} x {severities} {levels}"
        )
    if corrupted:
        parts[0] += f", codec {corrupted[-1].codec}"
    if steps:
        shown = ", ".join(f"{axis} {count}" for axis, count in steps.items())
        parts.append(f"{steps.total()} swapped steps ({shown})")
    return "; ".join(parts) or "nothing corrupted"


def _by_unit(names: Sequence[str]) -> str:
    """Conditions by unit: those that lack all five severities, or have no levels, by their name alone."""
    units: dict[str, list[str]] = {}
    for name in names:
        unit, _, level = name.partition(":")
        units.setdefault(unit, []).append(level)
    return "; ".join(
        unit if len(levels) == len(SEVERITIES) else f"{unit} {', '.join(levels)}".strip()
        for unit, levels in units.items()
    )


def print_lines(console: Console, lines: list[tuple[str, str]]) -> None:
    """Print labelled lines in one column."""
    width = max(len(label) for label, _ in lines)
    for label, text in lines:
        # In one piece: a progress bar may be drawn below.
        line = Text.assemble((f"{label:<{width}}", "bold"), "  ", text)
        console.print(line, highlight=False, soft_wrap=True)


def print_table(console: Console, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print aligned columns under a bold header, one line per row whatever the terminal's width."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for place, row in enumerate([header, *rows]):
        text = "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        style = "" if place else "bold"
        console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)


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


def print_asked(console: Console, run: ScoredRun, metrics: Sequence[str], scores: Sequence[Score]) -> None:
    """Print every score of the metrics somebody asked for, how each is made, and why some are missing."""
    rows = [
        (
            one.metric,
            one.condition or "all",
            f"{number(one.value, one.metric)} {unit(one.metric)}".rstrip(),
            f"[{number(one.low, one.metric)}, {number(one.high, one.metric)}]",
            f"{one.n:,}",
        )
        for one in scores
    ]
    if rows:
        print_table(console, ASKED_HEADER, rows)
    formulas = dict.fromkeys((one.metric, one.formula) for one in scores)
    found = {one.metric for one in scores}
    missing = [asked for asked in metrics if asked.partition(":")[0] not in found]
    reasons = [(asked, _no_score_text(run, asked)) for asked in missing]
    print_lines(console, [*formulas, *reasons, *(("note", note) for note in normaliser_notes(run))])


def _no_score_text(run: ScoredRun, asked: str) -> str:
    why = why_no_score(run, asked.partition(":")[0])
    return f"this run has no such score: {why.reason}. {why.cure[0].upper()}{why.cure[1:]}."


def _part_lines(run: ScoredRun, by_condition: dict[str, Score]) -> list[tuple[str, str]]:
    """The errors of a natural set's parts, which outputs counted, and what marks them."""
    errors = [
        (f"{name} error", f"{_shown(score)}   {score.n:,} images") for name, score in by_condition.items()
    ]
    return [
        *errors,
        ("counted", counted_text(run.recipe)),
        *(("mark", mark) for mark in marks(run)),
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
    lines = [("verdict", step_verdict(rows, len(run.observed.answered.ids)))] if rows else []
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
