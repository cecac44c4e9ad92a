"""A comparison as data and as text for people: JSON, CSV, labelled lines and tables."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from typing import Any

from windtunnel.analysis.comparison import SIGNIFICANT, Comparison
from windtunnel.analysis.relative_error import TITLES as DIVIDED
from windtunnel.core.metrics import unit_of
from windtunnel.core.scores import Score
from windtunnel.core.wording import counted
from windtunnel.metrics.headlines import head_titles
from windtunnel.report.score_format import amount, change, number, unit
from windtunnel.stats.paired import Difference

# Flipped images that a JSON document lists, the most broken first.
IMAGES_LISTED = 100

CSV_COLUMNS = (
    "metric", "condition", "corruption", "severity", "codec",
    "base", "run", "base_value", "run_value", "difference", "low", "high", "p",
    "holm_p", "test", "n", "discordant", "effect", "effect_name", "broken", "mended",
)  # fmt: skip


def comparison_document(found: Comparison) -> dict[str, Any]:
    """Everything a comparison found, as one JSON document; the most flipped images only."""
    return {
        "schema": 1,
        "runs": [asdict(column) for column in found.columns],
        "images": found.images,
        "paired": not found.unpaired_because,
        "unpaired_because": found.unpaired_because,
        "warnings": list(found.warnings),
        "headline": {"metric": found.headline[0], "condition": found.headline[1]},
        "scores": [
            {"metric": metric, "condition": condition, "values": [score.to_json() for score in scores]}
            for (metric, condition), scores in found.scores.items()
        ],
        "against_first": [
            {"run": found.columns[other].run, **score.to_json()}
            for other, score in found.against_first.items()
        ],
        "differences": [
            {
                "metric": one.metric,
                "condition": one.condition,
                "run": found.columns[one.other].run,
                **one.difference.to_json(),
                "holm_p": one.holm_p,
            }
            for one in found.changes
        ],
        "flips": [
            {
                "run": found.columns[flips.other].run,
                "flipped_images": len(flips.images),
                "conditions": {
                    name: {"broken": broken, "mended": mended}
                    for name, (broken, mended) in flips.conditions.items()
                },
                "images": [
                    {"image": id_, "broken": broken, "mended": mended}
                    for id_, broken, mended in flips.images[:IMAGES_LISTED]
                ],
            }
            for flips in found.flips
        ],
    }


def comparison_csv(found: Comparison) -> str:
    """Every difference as one line of CSV, fractions."""
    flips = {one.other: one.conditions for one in found.flips}
    rows = []
    for one in found.changes:
        scores = found.scores[one.metric, one.condition]
        counts = flips.get(one.other, {}).get(one.condition) if one.metric == "top1_error" else None
        row = {
            **one.difference.to_json(),
            "metric": one.metric,
            "condition": one.condition,
            "corruption": scores[0].corruption,
            "severity": scores[0].severity,
            "codec": scores[0].codec,
            "base": found.columns[0].run,
            "run": found.columns[one.other].run,
            "base_value": scores[0].value,
            "run_value": scores[one.other].value,
            "difference": one.difference.value,
            "holm_p": one.holm_p,
            "broken": counts[0] if counts else "",
            "mended": counts[1] if counts else "",
        }
        rows.append([row[name] for name in CSV_COLUMNS])
    return _csv(CSV_COLUMNS, rows)


def flips_csv(found: Comparison) -> str:
    """Every flipped image as one line of CSV: run, image, conditions broken, conditions mended."""
    rows = [[found.columns[one.other].run, *image] for one in found.flips for image in one.images]
    return _csv(("run", "image", "broken", "mended"), rows)


def run_names(found: Comparison) -> list[str]:
    """A short name per run: the model's, numbered where two runs share it."""
    models = [column.model for column in found.columns]
    return [
        f"{name} ({models[: place + 1].count(name)})" if models.count(name) > 1 else name
        for place, name in enumerate(models)
    ]


def headline_rows(found: Comparison) -> list[list[str]]:
    """Headline scores: a name, then value and interval per run, then the change of each other run."""
    parts = [condition for metric, condition in [found.headline] if metric == "top1_error"]
    rows = []
    for key, title in head_titles(found.scores, parts).items():
        changes = [one.difference for one in found.changes if (one.metric, one.condition) == key]
        rows.append(
            [
                title,
                *(_with_interval(score) for score in found.scores[key]),
                *(_changed_by(one, key[0]) for one in changes),
            ]
        )
    return rows


def changed_rows(found: Comparison, other: int) -> list[list[str]]:
    """Conditions that changed, under the columns of `changed_columns`."""
    flips = {one.other: one.conditions for one in found.flips}.get(other, {})
    rows = []
    for one in found.changed(other):
        scores = found.scores[one.metric, one.condition]
        counts = flips.get(one.condition, ("", "")) if one.metric == "top1_error" else ("", "")
        rows.append(
            [
                one.condition if one.metric == "top1_error" else f"{one.condition} {one.metric}",
                amount(scores[0].value, one.metric),
                amount(scores[other].value, one.metric),
                _changed_by(one.difference, one.metric),
                f"{one.holm_p:.2g}",
                *(map(str, counts) if _counts_answers(found, other) else ()),
            ]
        )
    return rows


def changed_columns(found: Comparison, other: int) -> list[str]:
    """What stands over conditions that changed: name, both scores, change, adjusted p, and counts."""
    names = run_names(found)
    counts = ["broken", "mended"] if _counts_answers(found, other) else []
    return ["changed", names[0], names[other], "change, points", "p (Holm)", *counts]


def _counts_answers(found: Comparison, other: int) -> bool:
    """Whether some changed condition is of single images, whose answers are right or wrong."""
    return any(one.metric == "top1_error" for one in found.changed(other))


def headline_formulas(found: Comparison) -> list[tuple[str, str]]:
    """What each headline score is, by its title; errors of one condition say it themselves."""
    titles = head_titles(found.scores)
    return [(titles[key], found.scores[key][0].formula) for key in titles if key[0] != "top1_error"]


def summary_lines(found: Comparison) -> list[tuple[str, str]]:
    """What else there is to say, as labelled lines."""
    names = run_names(found)
    lines = [("base", f"{names[0]}   {found.columns[0].run}{_model_facts(found, 0)}")]
    lines += [
        (f"run {place}", f"{names[place]}   {column.run}{_model_facts(found, place)}")
        for place, column in enumerate(found.columns)
        if place
    ]
    lines += [(f"{name} by", column.made_by) for name, column in zip(names, found.columns, strict=True)]
    how = " or more in each run, not paired" if found.unpaired_because else ", the same for all, paired"
    lines.append(("images", f"{found.images:,}{how}"))
    for other, score in found.against_first.items():
        title = DIVIDED[score.metric]
        lines.append(("against base", f"{names[other]} {title} {_with_interval(score)}   {score.formula}"))
    has_clips = any(metric == "flip_probability" for metric, _ in found.scores)
    for one in found.flips:
        changed, of = len(found.changed(one.other)), len(found.by_condition(one.other))
        broken, mended = (sum(counts[side] for counts in one.conditions.values()) for side in (0, 1))
        text = f"{names[one.other]}: {changed} of {of} conditions (Holm, {100 * SIGNIFICANT:.0f} %)"
        if one.conditions:
            under = f" under {' and '.join(one.conditions)}; frames are not counted" if has_clips else ""
            on = f" on {counted(len(one.images), 'image')}" if one.images else ""
            text += f"; {counted(broken, 'answer')} broken and {mended:,} mended{on}{under}"
        lines.append(("changed", text))
    lines += [("warning", text) for text in found.warnings]
    return lines


def _model_facts(found: Comparison, place: int) -> str:
    column = found.columns[place]
    facts = [column.family, f"{column.parameters:,} parameters" if column.parameters else "", *column.tags]
    if column.rank is not None:
        facts.append(f"rank {column.rank.rank} [{column.rank.low}, {column.rank.high}]")
    shown = ", ".join(filter(None, facts))
    return f"   {shown}" if shown else ""


def _with_interval(score: Score) -> str:
    low, high = (number(one, score.metric) for one in (score.low, score.high))
    return f"{amount(score.value, score.metric)} [{low}, {high}]"


def _changed_by(difference: Difference, metric: str) -> str:
    """A difference and its interval; in its own unit where that is not points."""
    moved, low, high = (change(one, metric) for one in (difference.value, difference.low, difference.high))
    own = "" if unit_of(metric).is_share else f" {unit(metric)}"
    return f"{moved}{own} [{low}, {high}]"


def _csv(header: tuple[str, ...], rows: list[list[Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()
