"""The result of an experiment as tables: for the screen, CSV and JSON."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from windtunnel.analysis.experiment_results import (
    HELPS,
    HURTS,
    MEAN,
    UNCLEAR,
    ExperimentResults,
    ScoreResult,
    VariantResult,
)
from windtunnel.core.csv_cells import csv_cell
from windtunnel.core.wording import counted, duration, listed
from windtunnel.report.tables import csv_text
from windtunnel.studies.experiment_records import Costs, VariantCosts

COLUMNS = (
    "variant", "suite", "score", "error", "difference", "low", "high", "p", "adjusted_p", "verdict",
    "pairing", "trained_on", "train_seconds", "latency_ms", "latency_ratio", "passes", "failed",
)  # fmt: skip
MARKS = {HELPS: "*", HURTS: "*"}
SEEN = "†"
NOTHING = "–"


def experiment_document(results: ExperimentResults, costs: Costs) -> dict[str, Any]:
    """The result with its costs as one JSON document."""
    return {**results.to_json(), "costs": costs.to_json()}


def experiment_csv(results: ExperimentResults, costs: Costs) -> str:
    """The result as CSV: a line for each variant and score; a failed variant has one line."""
    rows = []
    for variant in results.variants:
        spent = costs.variants.get(variant.facts.name, VariantCosts())
        for score in variant.scores or (None,):
            rows.append(_row(variant, score, spent))
    return csv_text(COLUMNS, rows)


def _row(variant: VariantResult, score: ScoreResult | None, spent: VariantCosts) -> SimpleNamespace:
    difference = score.difference if score else None
    values = {
        "variant": csv_cell(variant.facts.name),
        "suite": score.suite if score else "",
        "score": score.score if score else "",
        "error": score.error if score else None,
        "pairing": variant.pairing,
        "trained_on": " ".join(score.seen) if score else "",
        "failed": csv_cell(variant.failed),
        **{name: getattr(difference, name, None) for name in ("low", "high", "p", "adjusted_p", "verdict")},
        "difference": difference.value if difference else None,
        **{name: getattr(spent, name) for name in ("train_seconds", "latency_ms", "latency_ratio", "passes")},
    }
    return SimpleNamespace(**{name: "" if value is None else value for name, value in values.items()})


def score_title(results: ExperimentResults, suite: str, score: str) -> str:
    """The heading of a score; with its suite if there are several."""
    several = len(results.suites) > 1
    return f"{score}, {suite}" if suite and several else score


def main_table(results: ExperimentResults, costs: Costs) -> tuple[list[str], list[list[str]]]:
    """Errors with differences to the baseline, and costs: a header and a row for each variant."""
    header = [
        "variant",
        *(score_title(results, suite, score) for suite, score in results.scores),
        "training",
        "latency",
        "passes",
    ]
    rows = []
    for variant in results.variants:
        name = variant.facts.name
        cells = (
            ["failed"] + [""] * (len(results.scores) - 1)
            if variant.failed
            else [score_cell(variant.score(*key)) for key in results.scores]
        )
        rows.append([name, *cells, *cost_cells(costs.variants.get(name, VariantCosts()))])
    return header, rows


def score_cell(score: ScoreResult | None) -> str:
    """An error in per cent, its difference in points, and marks."""
    if score is None:
        return ""
    text = f"{100 * score.error:.1f}"
    seen = SEEN if score.seen else ""
    if score.difference is None:
        return text + seen
    mark = MARKS.get(score.difference.verdict, "")
    return f"{text} ({100 * score.difference.value:+.1f}{mark}){seen}"


def cost_cells(spent: VariantCosts) -> list[str]:
    """Time of training, latency as a ratio to the baseline, forward passes."""
    return [
        NOTHING if spent.train_seconds is None else duration(spent.train_seconds),
        NOTHING if spent.latency_ratio is None else f"x {spent.latency_ratio:.2f}",
        NOTHING if spent.passes is None else str(spent.passes),
    ]


def legend(results: ExperimentResults) -> str:
    """What the cells and marks of the main table mean."""
    seen = any(score.seen for variant in results.variants for score in variant.scores)
    also = f" {SEEN}: trained on corruptions of this score." if seen else ""
    clear = (
        f" *: a clear difference (Holm's procedure over {counted(results.comparisons, 'comparison')}, 5 %)."
        if results.comparisons
        else ""
    )
    return (
        f"Top-1 error in %, in brackets the difference to {results.baseline} in points; lower is better."
        f"{clear}{also}"
    )


def verdict_lines(results: ExperimentResults) -> list[tuple[str, str]]:
    """By variant, where it helps and where it hurts."""
    lines = []
    for variant in results.variants:
        name = variant.facts.name
        if name == results.baseline:
            continue
        if variant.failed:
            lines.append((name, f"failed: {variant.failed}"))
            continue
        judged = [score for score in variant.scores if score.difference and score.difference.verdict]
        parts = [
            f"{verdict} {listed([_marked_title(results, score) for score in scores])}"
            for verdict in (HELPS, HURTS)
            if (scores := [score for score in judged if _verdict(score) == verdict])
        ]
        unclear = UNCLEAR if judged else "not judged: one seed"
        lines.append((name, "; ".join(parts) or unclear + _mean_intervals(results, variant)))
    return lines


def _mean_intervals(results: ExperimentResults, variant: VariantResult) -> str:
    """What the differences of the means may be, in brackets: "not clear" is not "none"."""
    texts = [
        f"{score_title(results, score.suite, score.score)} {100 * score.difference.low:+.1f} to "
        f"{100 * score.difference.high:+.1f} points"
        for score in variant.scores
        if score.score == MEAN and score.difference
    ]
    return f" ({', '.join(texts)})" if texts else ""


def _verdict(score: ScoreResult) -> str:
    return score.difference.verdict if score.difference else ""


def _marked_title(results: ExperimentResults, score: ScoreResult) -> str:
    """The heading of a score, marked if it contains a corruption of the training."""
    return score_title(results, score.suite, score.score) + (SEEN if score.seen else "")


def choice_text(results: ExperimentResults) -> str:
    """Which variant is best on the suite for choosing; "" if none is chosen."""
    choice = results.choice
    if choice is None:
        return ""
    near = (
        f"not clearly better than {listed(choice.near)}" if choice.near else "clearly better than all others"
    )
    if len(choice.near) == len(choice.errors) - 1:
        near = "not clearly better than any other variant"
    if len(choice.errors) == 1:
        near = "no other variant finished"
    left_out = (
        f" Without {listed(choice.left_out)}, which variants were trained on." if choice.left_out else ""
    )
    return (
        f"{choice.best}, mean error {100 * choice.errors[choice.best]:.1f} % on {choice.suite}; {near}. "
        f"Chosen on {counted(choice.images, 'test image')} that no other score here contains.{left_out}"
    )


def facts_line(results: ExperimentResults) -> str:
    """The size of the experiment in words."""
    suites = listed([suite.name for suite in results.suites])
    return (
        f"{counted(len(results.variants), 'variant')}, {counted(results.seeds, 'seed')}, "
        f"{counted(results.images, 'test image')}, {suites}"
    )
