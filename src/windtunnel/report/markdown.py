"""Reports as Markdown, for pull requests, wikis and terminals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from windtunnel.analysis.comparison import Comparison
from windtunnel.analysis.multi_run import Several
from windtunnel.core.metrics import headline_titles
from windtunnel.core.records import RunInfo, read_recipe, read_record
from windtunnel.core.wording import counted
from windtunnel.report import deployment
from windtunnel.report.comparison import (
    changed_columns,
    changed_rows,
    headline_formulas,
    headline_rows,
    run_names,
    summary_lines,
)
from windtunnel.report.figures import top1_by_unit
from windtunnel.report.multi_suite import beside_content, marked, several_title, unmeasured
from windtunnel.report.natural_sets import document_heads
from windtunnel.report.recipe import recipe_lines
from windtunnel.report.score_format import amount, number

UNSTEADY_SHOWN = 6
FAILURES_SHOWN = 20


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table, a line each; bars in cells are escaped."""
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def run_markdown(document: dict[str, Any]) -> str:
    """One run: headline scores, notes, traps, errors by severity, published company, failures, recipe."""
    info, recipe = read_record(document["info"], RunInfo), read_recipe(document["recipe"])
    lines = [
        f"# {info.model.name} on {info.data.name}",
        "",
        f"Suite {info.suite}, {recipe.data.count:,} images, "
        f"{counted(len(recipe.conditions), 'condition')}, "
        f"seed {recipe.seed}, recipe {document['recipe_digest'][:8]}.",
        "",
        *(f"> **Warning:** {warning}\n" for warning in document["warnings"]),
        *_headline(document),
        "",
        *(f"- {note}" for note in document["notes"]),
        *(f"- **{trap['heading']}** {trap['why']}" for trap in document["traps"]),
        "",
        *(deployment.markdown(document["deployment"]) if document["deployment"] else []),
        *_by_severity(document),
        *_by_sequence(document),
        *_published(document),
        *_public(document["public"]),
        *_confusions(document),
        *_other_scores(document),
        *_failures(document),
        "## Recipe",
        "",
        *(f"- {label}: {text}" for label, text in recipe_lines(info, recipe)),
    ]
    return "\n".join(lines) + "\n"


def several_markdown(found: Several) -> str:
    """Several runs: compared where they are of one test, what every shift costs, tags, public models."""
    beside = beside_content(found)
    costs = ["## What every shift costs", "", *markdown_table(beside["header"], beside["rows"]), ""]
    if found.comparison:
        lines = [comparison_markdown(found.comparison)]
        lines += costs if any(one.natural for one in found.shifts) else []
    else:
        lines = [
            f"# {several_title(found)}",
            "",
            f"Not compared image by image, since {found.not_compared}.",
            "",
            *costs,
            *(f"- {line}" for line in [*marked(found.shifts), *unmeasured(found.shifts)]),
        ]
    if beside["tags"]:
        left_out = [f"Left out because marked: {beside['marked']:,}.", ""] if beside["marked"] else []
        lines += ["## Drop by tag", "", *left_out]
        lines += [*markdown_table(beside["tag_header"], beside["tags"]), ""]
    return "\n".join([*lines, *_public(beside["placed"])]).rstrip("\n") + "\n"


def comparison_markdown(found: Comparison) -> str:
    """Several runs: who they are, headline scores with differences, changed conditions."""
    names = run_names(found)
    lines = [f"# {names[0]} against {', '.join(names[1:])}", ""]
    lines += [f"- {label}: {text}" for label, text in summary_lines(found)]
    header = ["score", *names, *(f"{name} - {names[0]}" for name in names[1:])]
    lines += ["", *markdown_table(header, headline_rows(found)), ""]
    lines += [*(f"- {title}: {formula}" for title, formula in headline_formulas(found)), ""]
    for other, name in enumerate(names[1:], start=1):
        rows = changed_rows(found, other)
        if rows:
            header = changed_columns(found, other)
            lines += [f"## {name}: conditions that changed", "", *markdown_table(header, rows), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _headline(document: dict[str, Any]) -> list[str]:
    rows = [[score["title"], *_numbers(score), score["formula"]] for score in document_heads(document)]
    if rows:
        return markdown_table(["score", "value", "95 % interval", "n", "what it is"], rows)
    return [
        "No error rates: "
        + ("no image has a label." if document["unlabelled"] else "no image could be scored.")
    ]


def _numbers(score: dict[str, Any]) -> list[str]:
    metric = score["metric"]
    interval = f"{number(score['low'], metric)} to {number(score['high'], metric)}"
    return [amount(score["value"], metric), interval, f"{score['n']:,}"]


def _by_severity(document: dict[str, Any]) -> list[str]:
    table = top1_by_unit(document)
    if not table:
        return []
    levels = sorted({level for row in table.values() for level in row})
    rows = [
        [unit, *(f"{100 * row[level]['value']:.1f}" if level in row else "" for level in levels)]
        for unit, row in table.items()
    ]
    header = ["top-1 error, %", *map(str, levels)]
    return ["## By corruption and severity", "", *markdown_table(header, rows), ""]


def _by_sequence(document: dict[str, Any]) -> list[str]:
    scores = {(score["metric"], score["condition"]): score for score in document["scores"]}
    titles = {"flip_probability": "flip probability", "flip_rate": "FR", "ut5d": "uT5D", "t5d": "T5D"}
    shown = [metric for metric in titles if any(found == metric for found, _ in scores)]
    if not shown:
        return []
    rows = [
        [
            row["condition"],
            *(_cell(scores.get((metric, row["condition"]))) for metric in shown),
            "none" if row["peak"] is None else str(row["peak"]),
        ]
        for row in document["sequences"]
    ]
    header = [
        f"sequence, difficulty {document['sequences'][0]['difficulty']}",
        *(titles[metric] for metric in shown),
        "most flips at frame",
    ]
    return ["## By sequence", "", *markdown_table(header, rows), "", *_unsteady(document)]


def _cell(score: dict[str, Any] | None) -> str:
    if score is None:
        return ""
    value, interval, _ = _numbers(score)
    return f"{value} ({interval})"


def _unsteady(document: dict[str, Any]) -> list[str]:
    """The images that flip most."""
    rows = [
        [one["image"], one["label"], f"{100 * one['flip_probability']:.1f} %", one["worst"]]
        for one in document["unsteady"][:UNSTEADY_SHOWN]
    ]
    header = ["least steady images", "label", "flips, mean over sequences", "most under"]
    return [*markdown_table(header, rows), ""] if rows else []


def _published(document: dict[str, Any]) -> list[str]:
    if not document["published"]:
        return []
    lines = ["## Among published models", "", *(f"- {field['place']}" for field in document["published"])]
    sources = {source["name"]: source for field in document["published"] for source in field["sources"]}
    return [
        *lines,
        *(
            f"- {name}, measured on {source['measured']}: {source['unlike'] or 'like with like.'}"
            for name, source in sources.items()
        ),
    ]


def _public(placed: Sequence[dict[str, Any]]) -> list[str]:
    """Runs among public models."""
    lines = []
    for one in placed:
        fit = f", r = {one['fit']['correlation']:.3f} on logit axes" if one["fit"] else ""
        lines += [
            f"## {one['title']}: among {one['models']:,} public results{fit}",
            "",
            *markdown_table(one["header"], one["rows"]),
            "",
            *(f"- {note}" for note in one["notes"]),
            *(f"- {told['run']}: {'; '.join(told['lines'])}." for told in one["unlike"]),
            "",
        ]
    return lines


def _confusions(document: dict[str, Any]) -> list[str]:
    lines = []
    for part in document["confusions"]:
        rows = [
            [row["said"], row["right"], f"{row['n']:,}", f"{row['images']:,}", f"{100 * row['share']:.1f}"]
            for row in part["rows"]
        ]
        if rows:
            header = ["said", "right was", "answers", "images", "share of that class, %"]
            lines += [f"## What it takes for what: {part['part']}", "", *markdown_table(header, rows), ""]
    return lines


def _other_scores(document: dict[str, Any]) -> list[str]:
    """Scores over several conditions that head nothing."""
    heads = headline_titles()
    rows = [
        [score["metric"], *_numbers(score), score["formula"]]
        for score in document["scores"]
        if not score["condition"] and score["metric"] not in heads
    ]
    header = ["score", "value", "95 % interval", "n", "what it is"]
    return ["", "## Other scores", "", *markdown_table(header, rows), ""] if rows else [""]


def _failures(document: dict[str, Any]) -> list[str]:
    """The images that could not be scored, the first of them by name and reason."""
    failed = document["failed_images"]
    if not failed:
        return ["## Failures", "", "None: every image was scored under every condition.", ""]
    rows = [
        [one["image"], f"{one['conditions']:,}", one["condition"], one["status"], one["reason"]]
        for one in document["failures"][:FAILURES_SHOWN]
    ]
    more = failed - len(rows)
    count = "predictions" if document["sequences"] else "conditions"
    images = counted(document["recipe"]["data"]["count"], "image")
    return [
        "## Failures",
        "",
        f"{failed:,} of {images} could not be scored under at least one condition.",
        "",
        *markdown_table(["image", count, "first under", "status", "reason"], rows),
        "",
        *([f"{more:,} more in report.html and scores.json.", ""] if more else []),
    ]
