"""Reports as Markdown, for pull requests, wikis and terminals."""

from __future__ import annotations

from functools import partial
from typing import Any

from windtunnel.analysis.comparison import Comparison
from windtunnel.analysis.multi_run import Several
from windtunnel.core.records import read_recipe, read_record
from windtunnel.core.run_info import RunInfo
from windtunnel.core.wording import counted
from windtunnel.report.comparison import (
    changed_columns,
    changed_rows,
    family_rows,
    family_title,
    headline_formulas,
    headline_rows,
    run_names,
    summary_lines,
)
from windtunnel.report.markdown_table import markdown_table
from windtunnel.report.multi_run import drop_content, multi_suite_title, multi_suite_warnings
from windtunnel.report.public_placement import placement_markdown
from windtunnel.report.sections import Section, by_order, failure_of, guarded


def run_markdown(document: dict[str, Any]) -> str:
    """The report of one run, with every section that applies."""
    info, recipe = read_record(document["info"], RunInfo), read_recipe(document["recipe"])
    blocks = [
        f"# {info.model.name} on {info.data.name}",
        f"Suite {info.suite}, {recipe.data.count:,} images, "
        f"{counted(len(recipe.conditions), 'condition')}, "
        f"seed {recipe.seed}, recipe {document['recipe_digest'][:8]}.",
    ]
    for section in by_order(recipe.task):
        text = guarded(section, document, partial(_section_markdown, section, document), "")
        blocks.append(text or failure_of(section, document))
    return "\n\n".join(filter(None, blocks)) + "\n"


def _section_markdown(section: Section, document: dict[str, Any]) -> str:
    lines = section.markdown(document) if section.applies(document) else []
    return "\n".join(lines).strip("\n")


def multi_run_markdown(runs: Several) -> str:
    """The report of several runs: comparison, accuracy drops, drops by tag, public models."""
    drops = drop_content(runs)
    drop_lines = ["## Accuracy drops", "", *markdown_table(drops["header"], drops["rows"]), ""]
    if runs.comparison:
        lines = [comparison_markdown(runs.comparison)]
        lines += drop_lines if any(shift.natural for shift in runs.shifts) else []
    else:
        lines = [
            f"# {multi_suite_title(runs)}",
            "",
            f"The runs are not compared image by image: {runs.not_compared}.",
            "",
            *drop_lines,
            *(f"- {warning}" for warning in multi_suite_warnings(runs)),
        ]
    if drops["tags"]:
        with_caveats = drops["runs_with_caveats"]
        left_out = [f"Runs left out because of caveats: {with_caveats:,}.", ""] if with_caveats else []
        lines += ["## Drop by tag", "", *left_out]
        lines += [*markdown_table(drops["tag_header"], drops["tags"]), ""]
    return "\n".join([*lines, *placement_markdown(drops["placed"])]).rstrip("\n") + "\n"


def comparison_markdown(comparison: Comparison) -> str:
    """A comparison: the runs, headline scores with differences, and changed conditions."""
    names = run_names(comparison)
    lines = [f"# {names[0]} against {', '.join(names[1:])}", ""]
    lines += [f"- {label}: {text}" for label, text in summary_lines(comparison)]
    header = ["score", *names, *(f"{name} - {names[0]}" for name in names[1:])]
    lines += ["", *markdown_table(header, headline_rows(comparison)), ""]
    if families := family_rows(comparison):
        lines += [*markdown_table([f"family, {family_title(comparison)}", *header[1:]], families), ""]
    lines += [*(f"- {title}: {formula}" for title, formula in headline_formulas(comparison)), ""]
    for other, name in enumerate(names[1:], start=1):
        rows = changed_rows(comparison, other)
        if rows:
            header = changed_columns(comparison, other)
            lines += [f"## {name}: changed conditions", "", *markdown_table(header, rows), ""]
    return "\n".join(lines).rstrip("\n") + "\n"
