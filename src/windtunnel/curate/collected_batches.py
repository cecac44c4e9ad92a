"""The batches of a project in the order of collection, and the label that an image given by several keeps.

The latest collection of an image decides its label; in one batch its first row does. Rows without a label
decide only if no row has one. A batch of a source that was collected before, such as a corrected table,
corrects the labels of the earlier batch; other labels are conflicts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from windtunnel.core.candidates import Candidate
from windtunnel.core.records import Record


class CollectedBatch(Record, frozen=True):
    """A batch, and the file or folder name of the table or dataset that it was collected from."""

    batch: str
    source: str


class CollectedBatches(Record, frozen=True):
    """All batches of a project, the latest collection last."""

    batches: tuple[CollectedBatch, ...] = ()


def duplicates_marked(rows: Sequence[Candidate], sources: Mapping[str, str] | None = None) -> list[Candidate]:
    """Candidates of which one row keeps each content; its reason names labels that conflict with its own.

    Args:
        rows: the rows of all batches, in the order of collection.
        sources: the name of each batch's source.
    """
    contents = {(row.batch, row.url): row for row in reversed(rows) if row.id}
    # Every row with the image that it gives: a row with the URL of another row of its batch gives the same.
    filled = [_with_content(row, contents.get((row.batch, row.url))) for row in rows]
    holders: dict[str, Candidate] = {}
    # By content and source: the latest batch that gives a label, and its labels.
    given: dict[str, dict[str, tuple[str, list[str]]]] = {}
    for row in filled:
        if not row.id:
            continue
        if row.id not in holders or _decides(row, holders[row.id]):
            holders[row.id] = row
        if row.label:
            of_content = given.setdefault(row.id, {})
            source = (sources or {}).get(row.batch, row.batch)
            if source not in of_content or of_content[source][0] != row.batch:
                of_content[source] = (row.batch, [])
            of_content[source][1].append(row.label)
    labels = {
        content: list(dict.fromkeys(label for _, of_source in of_content.values() for label in of_source))
        for content, of_content in given.items()
    }
    return [
        _marked(image, holders[image.id], labels.get(image.id, ()), sources or {})
        if row.id or (image.id and image is holders[image.id])
        else row
        for row, image in zip(rows, filled, strict=True)
    ]


def stored_labels(rows: Sequence[Candidate]) -> dict[str, str]:
    """The label of every stored image, by id, of rows with marked duplicates."""
    return {row.id: row.label for row in rows if row.status == "ok"}


def _with_content(row: Candidate, image: Candidate | None) -> Candidate:
    """A row that was not requested because of its URL, with the image of that URL; other rows as they are."""
    if row.id or image is None or row.status != "duplicate":
        return row
    return replace(
        row, id=image.id, file=image.file, width=image.width, height=image.height, format=image.format,
        bytes=image.bytes,
    )  # fmt: skip


def _decides(row: Candidate, earlier: Candidate) -> bool:
    """Whether a row decides the label of an image instead of an earlier row."""
    if row.batch == earlier.batch:
        return bool(row.label) and not earlier.label
    return bool(row.label) or not earlier.label


def _marked(
    row: Candidate, holder: Candidate, labels: Sequence[str], sources: Mapping[str, str]
) -> Candidate:
    if row is holder:
        others = ", ".join(f"'{label}'" for label in labels if label != row.label)
        return replace(row, status="ok", reason=f"label conflict: also given as {others}" if others else "")
    source = "" if holder.batch == row.batch else f" of {sources.get(holder.batch, holder.batch)}"
    place = f"row {holder.row + 1}{source}"
    other = "" if holder.label == row.label else f", whose label is '{holder.label}'"
    return replace(row, status="duplicate", reason=f"same content as {place}{other}")
