"""The datasheet of an exported set: where its images come from, how they were chosen, and their limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from windtunnel.core.wording import byte_size, counted
from windtunnel.curate.export import FILTERED, ExportedSet
from windtunnel.curate.export_folder import CHECKSUMS, MANIFEST
from windtunnel.curate.project import counts
from windtunnel.published.imagenet import imagenet_names
from windtunnel.report.page import render_page

# A table with more values ends with the number left; the manifest has all.
ROWS_SHOWN = 30
OUTCOMES = {
    "exported": "in the set",
    FILTERED: "dropped by the filtration",
    "rejected": "rejected by reviewers",
    "no_majority": "neither accepted nor rejected by most of their reviewers",
    "not_reviewed": "shortlisted, without a verdict",
    "not_collected": "not stored when it was collected",
}
NOT_STATED = "not stated"


def render_datasheet(made: ExportedSet) -> str:
    """The HTML page of a set."""
    rows = made.exported
    stored = [row.candidate for row in rows]
    return render_page(
        "datasheet.html.j2",
        {},
        own=made.own,
        role="out of distribution" if made.own.extends == "ood" else "natural shift, with labels",
        unit="images",
        size_text=f"{counted(len(rows), 'image')}, {byte_size(sum(row.bytes for row in stored))}",
        review="reviewed" if made.reviewed else "without review",
        outcomes=count_table((OUTCOMES[name], count) for name, count in made.outcomes.items()),
        classes=count_table(counts(class_name(row.label) for row in stored).items()),
        label_statuses=count_table(counts(row.label_status for row in stored).items()),
        licences=count_table(counts(row.licence or NOT_STATED for row in stored).items()),
        sources=count_table(counts(row.source or NOT_STATED for row in stored).items()),
        formats=count_table(counts(row.format for row in stored).items()),
        collected=count_table(counts(row.candidate.status for row in made.rows).items()),
        stages=count_table(counts(row.stage for row in made.rows if row.stage).items()),
        filtered=made.filtered,
        settings=_settings(made),
        reviewers=reviewer_rows(
            row.verdict.votes for row in made.rows if row.verdict and row.outcome != FILTERED
        ),
        renamed=[(label, folder) for label, folder in made.folders.items() if label and label != folder],
        manifest=f"{MANIFEST}.parquet, {MANIFEST}.csv",
        checksums=CHECKSUMS,
    )


def class_name(label: str) -> str:
    """A class for readers: WordNet ids of ImageNet-1k with their names."""
    name = imagenet_names().get(label)
    return f"{name} ({label})" if name else label or "no label"


def count_table(values: Iterable[tuple[str, int]]) -> list[list[str]]:
    """Names with their counts, at most `ROWS_SHOWN`."""
    rows = [[name, f"{count:,}"] for name, count in values]
    if len(rows) <= ROWS_SHOWN:
        return rows
    return [*rows[:ROWS_SHOWN], [f"and {len(rows) - ROWS_SHOWN:,} more", ""]]


def _settings(made: ExportedSet) -> list[list[str]]:
    """The plain settings of the step that filtered the candidates."""
    recipe: dict[str, Any] = made.filtration.to_json() if made.filtration else {}
    flat = {key: value for key, value in recipe.items() if not isinstance(value, dict | list | tuple)}
    for value in recipe.values():
        if isinstance(value, dict):
            flat |= {key: inner for key, inner in value.items() if not isinstance(inner, dict | list | tuple)}
    return [[key.replace("_", " "), str(value)] for key, value in flat.items() if value not in ("", None)]


def reviewer_rows(votes: Iterable[Mapping[str, str]]) -> list[list[str]]:
    """The number of votes of each reviewer, and how many accept; `votes` are those of each candidate."""
    given: dict[str, list[str]] = {}
    for of_candidate in votes:
        for name, vote in of_candidate.items():
            given.setdefault(name or "not named", []).append(vote)
    return [
        [name, f"{len(all_votes):,}", f"{sum(vote == 'accept' for vote in all_votes):,}"]
        for name, all_votes in sorted(given.items())
    ]
