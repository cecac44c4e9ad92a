"""Reports as Markdown, for pull requests, wikis and terminals."""

from __future__ import annotations

from functools import partial
from typing import Any

from windtunnel.analysis.comparison import Comparison
from windtunnel.analysis.multi_run import Several
from windtunnel.core.records import RunInfo, read_recipe, read_record
from windtunnel.core.wording import counted
from windtunnel.report.comparison import (
    changed_columns,
    changed_rows,
    headline_formulas,
    headline_rows,
    run_names,
    summary_lines,
)
from windtunnel.report.markdown_table import markdown_table
from windtunnel.report.multi_suite import beside_content, marked, public_markdown, several_title, unmeasured
from windtunnel.report.sections import Section, by_order, failure_of, guarded


def run_markdown(document: dict[str, Any]) -> str:
    """One run: every section that applies, separated by blank lines."""
    info, recipe = read_record(document["info"], RunInfo), read_recipe(document["recipe"])
    blocks = [
        f"# {info.model.name} on {info.data.name}",
        f"Suite {info.suite}, {recipe.data.count:,} images, "
        f"{counted(len(recipe.conditions), 'condition')}, "
        f"seed {recipe.seed}, recipe {document['recipe_digest'][:8]}.",
    ]
    for section in by_order():
        text = guarded(section, document, partial(_section_markdown, section, document), "")
        blocks.append(text or failure_of(section, document))
    return "\n\n".join(filter(None, blocks)) + "\n"


def _section_markdown(section: Section, document: dict[str, Any]) -> str:
    lines = section.markdown(document) if section.applies(document) else []
    return "\n".join(lines).strip("\n")


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
    return "\n".join([*lines, *public_markdown(beside["placed"])]).rstrip("\n") + "\n"


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
