"""The datasheet of an exported set: where its images come from, how they were chosen, and their limits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from windtunnel.core.wording import byte_size, counted
from windtunnel.curate.export import CHECKSUMS, MANIFEST, ExportedSet
from windtunnel.curate.project import counts
from windtunnel.published.imagenet import imagenet_names
from windtunnel.report.page import render_page

# A table with more values ends with the number left; the manifest has all.
ROWS_SHOWN = 30
OUTCOMES = {
    "exported": "in the set",
    "filtered": "dropped by the filtration",
    "rejected": "rejected by reviewers",
    "not_reviewed": "shortlisted, without a verdict",
    "not_collected": "not stored when it was collected",
}
NO_LICENCE = "not stated"


def render_datasheet(made: ExportedSet) -> str:
    """The HTML page of a set."""
    rows = made.exported
    stored = [row.candidate for row in rows]
    return render_page(
        "datasheet.html.j2",
        {},
        own=made.own,
        role="out of distribution" if made.own.extends == "ood" else "natural shift, with labels",
        images=counted(len(rows), "image"),
        size=byte_size(sum(row.bytes for row in stored)),
        review="reviewed" if made.reviewed else "without review",
        outcomes=_table((OUTCOMES[name], count) for name, count in made.outcomes.items()),
        classes=_table(counts(_class_name(row.label) for row in stored).items()),
        label_statuses=_table(counts(row.label_status for row in stored).items()),
        licences=_table(counts(row.licence or NO_LICENCE for row in stored).items()),
        sources=_table(counts(row.source or "not stated" for row in stored).items()),
        formats=_table(counts(row.format for row in stored).items()),
        collected=_table(counts(row.candidate.status for row in made.rows).items()),
        stages=_table(counts(row.stage for row in made.rows if row.stage).items()),
        filtered=made.filtered,
        settings=_settings(made),
        reviewers=_reviewers(made),
        renamed=[(label, folder) for label, folder in made.folders.items() if label and label != folder],
        manifest=f"{MANIFEST}.parquet, {MANIFEST}.csv",
        checksums=CHECKSUMS,
    )


def _class_name(label: str) -> str:
    """A class for readers: WordNet ids of ImageNet-1k with their names."""
    name = imagenet_names().get(label)
    return f"{name} ({label})" if name else label or "no label"


def _table(values: Iterable[tuple[str, int]]) -> list[list[str]]:
    """Names with their counts, at most `ROWS_SHOWN`."""
    rows = [[name, f"{count:,}"] for name, count in values]
    if len(rows) <= ROWS_SHOWN:
        return rows
    return [*rows[:ROWS_SHOWN], [f"and {len(rows) - ROWS_SHOWN:,} more", ""]]


def _settings(made: ExportedSet) -> list[list[str]]:
    """The plain settings of the step that filtered the candidates."""
    if made.filtered not in made.steps:
        return []
    recipe: dict[str, Any] = made.steps[made.filtered].recipe
    flat = {key: value for key, value in recipe.items() if not isinstance(value, dict | list)}
    for value in recipe.values():
        if isinstance(value, dict):
            flat |= {key: inner for key, inner in value.items() if not isinstance(inner, dict | list)}
    return [[key.replace("_", " "), str(value)] for key, value in flat.items() if value not in ("", None)]


def _reviewers(made: ExportedSet) -> list[list[str]]:
    """The number of votes of each reviewer, and how many accept."""
    votes: dict[str, list[str]] = {}
    for row in made.rows:
        for name, vote in (row.verdict.votes if row.verdict else {}).items():
            votes.setdefault(name or "not named", []).append(vote)
    return [
        [name, f"{len(given):,}", f"{sum(vote == 'accept' for vote in given):,}"]
        for name, given in sorted(votes.items())
    ]
