"""A comparison of runs as JSON, CSV, labelled lines and table rows."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from typing import Any

from windtunnel.analysis.comparison import Comparison, Flips
from windtunnel.analysis.relative_error import TITLES as RELATIVE_ERROR_TITLES
from windtunnel.core.metrics import unit_of
from windtunnel.core.scores import Score
from windtunnel.core.wording import counted
from windtunnel.metrics.families import FAMILY_METRICS, FAMILY_MPC
from windtunnel.metrics.headlines import Key, head_titles
from windtunnel.report.accuracy_drops import numbered
from windtunnel.report.score_format import amount, number, signed_number, unit
from windtunnel.stats.multiple_tests import SIGNIFICANT
from windtunnel.stats.paired import Difference

# Number of changed images in the JSON document, those with the most broken conditions first.
IMAGES_LISTED = 100

CSV_COLUMNS = (
    "metric", "condition", "corruption", "severity", "codec",
    "base", "run", "base_value", "run_value", "difference", "low", "high", "p",
    "holm_p", "test", "n", "discordant", "effect", "effect_name", "broken", "repaired",
)  # fmt: skip


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """A comparison as one JSON document; lists only the images with the most changes."""
    return {
        "schema": 1,
        "runs": [asdict(column) for column in comparison.columns],
        "images": comparison.images,
        "paired": not comparison.unpaired_because,
        "unpaired_because": comparison.unpaired_because,
        "warnings": list(comparison.warnings),
        "headline": {"metric": comparison.headline[0], "condition": comparison.headline[1]},
        "scores": [
            {"metric": metric, "condition": condition, "values": [score.to_json() for score in scores]}
            for (metric, condition), scores in comparison.scores.items()
        ],
        "against_first": [
            {"run": comparison.columns[other].run, **score.to_json()}
            for other, score in comparison.against_first.items()
        ],
        "differences": [
            {
                "metric": change.metric,
                "condition": change.condition,
                "run": comparison.columns[change.other].run,
                **change.difference.to_json(),
                "holm_p": change.holm_p,
            }
            for change in comparison.changes
        ],
        "flips": [
            {
                "run": comparison.columns[flips.other].run,
                "flipped_images": len(flips.images),
                "conditions": {
                    name: {"broken": broken, "repaired": repaired}
                    for name, (broken, repaired) in flips.conditions.items()
                },
                "images": [
                    {"image": image_id, "broken": broken, "repaired": repaired}
                    for image_id, broken, repaired in flips.images[:IMAGES_LISTED]
                ],
            }
            for flips in comparison.flips
        ],
    }


def comparison_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """Every difference as a row with the columns of CSV_COLUMNS; values are fractions, unknown ones None."""
    flips_by_run = {flips.other: flips.conditions for flips in comparison.flips}
    rows = []
    for change in comparison.changes:
        scores = comparison.scores[change.metric, change.condition]
        flips = flips_by_run.get(change.other, {})
        counts = flips.get(change.condition) if change.metric == "top1_error" else None
        row = {
            **change.difference.to_json(),
            "metric": change.metric,
            "condition": change.condition,
            "corruption": scores[0].corruption,
            "severity": scores[0].severity,
            "codec": scores[0].codec,
            "base": comparison.columns[0].run,
            "run": comparison.columns[change.other].run,
            "base_value": scores[0].value,
            "run_value": scores[change.other].value,
            "difference": change.difference.value,
            "holm_p": change.holm_p,
            "broken": counts[0] if counts else None,
            "repaired": counts[1] if counts else None,
        }
        rows.append({name: row[name] for name in CSV_COLUMNS})
    return rows


def comparison_csv(comparison: Comparison) -> str:
    """Every difference as CSV, a line each; values are fractions."""
    return rows_csv(CSV_COLUMNS, [list(row.values()) for row in comparison_rows(comparison)])


def flips_csv(comparison: Comparison) -> str:
    """Every changed image as CSV: run, image, number of broken and of repaired conditions."""
    rows = [
        [comparison.columns[flips.other].run, *image] for flips in comparison.flips for image in flips.images
    ]
    return rows_csv(("run", "image", "broken", "repaired"), rows)


def run_names(comparison: Comparison) -> list[str]:
    """A short name per run: the model's name, with the run's folder if several runs share it.

    Trained models are all called `model`, after their file. Folders of the same name are numbered.
    """
    models = [column.model for column in comparison.columns]
    named = [
        f"{column.model} ({column.run.rstrip('/').rpartition('/')[2]})"
        if models.count(column.model) > 1
        else column.model
        for column in comparison.columns
    ]
    return numbered(named)


def headline_rows(comparison: Comparison) -> list[list[str]]:
    """Rows of headline scores: title, value of each run, change of each run after the first."""
    parts = [condition for metric, condition in [comparison.headline] if metric == "top1_error"]
    return _score_rows(comparison, head_titles(comparison.scores, parts))


def family_rows(comparison: Comparison) -> list[list[str]]:
    """Rows of the families of corruptions, with the columns of `headline_rows`; none for a single family."""
    titles = {key: key[1] for key in comparison.scores if key[0] in FAMILY_METRICS}
    return _score_rows(comparison, titles) if len(titles) > 1 else []


def family_title(comparison: Comparison) -> str:
    """What `family_rows` shows."""
    return "mPC" if any(metric == FAMILY_MPC for metric, _ in comparison.scores) else "mean top-1 error"


def _score_rows(comparison: Comparison, titles: dict[Key, str]) -> list[list[str]]:
    rows = []
    for key, title in titles.items():
        differences = [
            change.difference for change in comparison.changes if (change.metric, change.condition) == key
        ]
        rows.append(
            [
                title,
                *(_with_interval(score) for score in comparison.scores[key]),
                *(_difference_text(difference, key[0]) for difference in differences),
            ]
        )
    return rows


def changed_rows(comparison: Comparison, other: int) -> list[list[str]]:
    """Rows of the conditions that changed significantly, with the columns of `changed_columns`."""
    flips = {flips.other: flips.conditions for flips in comparison.flips}.get(other, {})
    rows = []
    for change in comparison.changed(other):
        metric, condition, is_error = change.metric, change.condition, change.metric == "top1_error"
        scores = comparison.scores[metric, condition]
        counts = flips.get(condition, ("", "")) if is_error else ("", "")
        rows.append(
            [
                condition if is_error else f"{condition} {metric}",
                amount(scores[0].value, metric),
                amount(scores[other].value, metric),
                _difference_text(change.difference, metric),
                f"{change.holm_p:.2g}",
                *(map(str, counts) if _has_error_changes(comparison, other) else ()),
            ]
        )
    return rows


def changed_columns(comparison: Comparison, other: int) -> list[str]:
    """Columns of the conditions that changed: name, both scores, change, adjusted p, and counts."""
    names = run_names(comparison)
    counts = ["images broken", "images repaired"] if _has_error_changes(comparison, other) else []
    return ["condition", names[0], names[other], "change, points", "p (Holm)", *counts]


def _has_error_changes(comparison: Comparison, other: int) -> bool:
    """Whether the top-1 error of a condition changed, so that broken and repaired images are counted."""
    return any(change.metric == "top1_error" for change in comparison.changed(other))


def headline_formulas(comparison: Comparison) -> list[tuple[str, str]]:
    """Titles and formulas of headline scores, without the errors of single conditions."""
    titles = head_titles(comparison.scores)
    return [(titles[key], comparison.scores[key][0].formula) for key in titles if key[0] != "top1_error"]


def summary_lines(comparison: Comparison) -> list[tuple[str, str]]:
    """Labelled lines: runs, images, relative scores, changed conditions, warnings."""
    names = run_names(comparison)
    lines = [("base", f"{names[0]}   {comparison.columns[0].run}{_model_facts(comparison, 0)}")]
    lines += [
        (f"run {index}", f"{names[index]}   {column.run}{_model_facts(comparison, index)}")
        for index, column in enumerate(comparison.columns)
        if index
    ]
    lines += [
        (f"{name} made by", column.made_by) for name, column in zip(names, comparison.columns, strict=True)
    ]
    pairing = (
        " or more in each run, not paired"
        if comparison.unpaired_because
        else ", the same in all runs, paired"
    )
    lines.append(("images", f"{comparison.images:,}{pairing}"))
    for other, score in comparison.against_first.items():
        title = RELATIVE_ERROR_TITLES[score.metric]
        lines.append(("against base", f"{names[other]} {title} {_with_interval(score)}   {score.formula}"))
    has_clips = any(metric == "flip_probability" for metric, _ in comparison.scores)
    lines += [
        ("changed", _changes_text(comparison, flips, names[flips.other], has_clips))
        for flips in comparison.flips
    ]
    lines += [("warning", text) for text in comparison.warnings]
    return lines


def _changes_text(comparison: Comparison, flips: Flips, name: str, has_clips: bool) -> str:
    """Numbers of changed conditions, and of broken and repaired predictions, of one run."""
    changed, conditions = len(comparison.changed(flips.other)), len(comparison.by_condition(flips.other))
    text = f"{name}: {changed} of {conditions} conditions (Holm, {100 * SIGNIFICANT:.0f} %)"
    if not flips.conditions:
        return text
    broken, repaired = (sum(counts[side] for counts in flips.conditions.values()) for side in (0, 1))
    under = f" under {' and '.join(flips.conditions)}; frames are not counted" if has_clips else ""
    on = f" on {counted(len(flips.images), 'image')}" if flips.images else ""
    return f"{text}; {counted(broken, 'prediction')} broken and {repaired:,} repaired{on}{under}"


def _model_facts(comparison: Comparison, index: int) -> str:
    column = comparison.columns[index]
    facts = [column.family, f"{column.parameters:,} parameters" if column.parameters else "", *column.tags]
    if column.trained_with:
        facts.append(f"trained with {', '.join(column.trained_with)}")
    if column.rank is not None:
        facts.append(f"rank {column.rank.rank} [{column.rank.low}, {column.rank.high}]")
    shown = ", ".join(filter(None, facts))
    return f"   {shown}" if shown else ""


def _with_interval(score: Score) -> str:
    low, high = (number(end, score.metric) for end in (score.low, score.high))
    return f"{amount(score.value, score.metric)} [{low}, {high}]"


def _difference_text(difference: Difference, metric: str) -> str:
    """A difference and its interval, with the unit if it is not points."""
    value, low, high = (
        signed_number(end, metric) for end in (difference.value, difference.low, difference.high)
    )
    unit_text = "" if unit_of(metric).is_share else f" {unit(metric)}"
    return f"{value}{unit_text} [{low}, {high}]"


def rows_csv(header: tuple[str, ...], rows: list[list[Any]]) -> str:
    """A header and rows of values as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()
