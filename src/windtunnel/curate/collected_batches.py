"""The batches of a project in the order of collection, and the label that an image given by several keeps.

The latest collection of an image decides its label; in one batch its first row does. Rows without a label
decide only if no row has one. A batch of a source that was collected before, such as a corrected table,
corrects the labels of the earlier batch; other labels are conflicts. A source is known by its resolved path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from windtunnel.core.candidates import Candidate
from windtunnel.core.records import Record


class CollectedBatch(Record, frozen=True):
    """A batch, and the table or dataset that it was collected from.

    Attributes:
        batch: its name.
        source: the file or folder name of the source, for messages.
        path: the resolved path of the source; "" in projects that have stored only its name.
    """

    batch: str
    source: str
    path: str = ""


class CollectedBatches(Record, frozen=True):
    """All batches of a project, the latest collection last."""

    batches: tuple[CollectedBatch, ...] = ()


def duplicates_marked(rows: Sequence[Candidate], batches: Sequence[CollectedBatch] = ()) -> list[Candidate]:
    """Candidates of which one row keeps each content; its reason names labels that conflict with its own.

    Args:
        rows: the rows of all batches, in the order of collection.
        batches: the batches with their sources, in the same order.
    """
    sources = _source_keys(batches)
    names = {batch.batch: batch.source for batch in batches}
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
            source = sources.get(row.batch, row.batch)
            if source not in of_content or of_content[source][0] != row.batch:
                of_content[source] = (row.batch, [])
            of_content[source][1].append(row.label)
    labels = {
        content: list(dict.fromkeys(label for _, of_source in of_content.values() for label in of_source))
        for content, of_content in given.items()
    }
    return [
        _marked(image, holders[image.id], labels.get(image.id, ()), names)
        if row.id or (image.id and image is holders[image.id])
        else row
        for row, image in zip(rows, filled, strict=True)
    ]


def row_name(row: Candidate, batches: Sequence[CollectedBatch]) -> str:
    """A row with its number and the file or folder name of its source, for messages."""
    names = {batch.batch: batch.source for batch in batches}
    return f"row {row.row + 1} of {names.get(row.batch, row.batch)}"


def stored_labels(rows: Sequence[Candidate]) -> dict[str, str]:
    """The label of every stored image, by id, of rows with marked duplicates."""
    return {row.id: row.label for row in rows if row.status == "ok"}


def _source_keys(batches: Sequence[CollectedBatch]) -> dict[str, str]:
    """By batch, what identifies its source: its path.

    A batch without a stored path is of the first source of the same name that has one, else of its name.
    """
    paths: dict[str, str] = {}
    for batch in batches:
        if batch.path:
            paths.setdefault(batch.source, batch.path)
    return {batch.batch: batch.path or paths.get(batch.source, batch.source) for batch in batches}


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


def _marked(row: Candidate, holder: Candidate, labels: Sequence[str], names: Mapping[str, str]) -> Candidate:
    if row is holder:
        others = ", ".join(f"'{label}'" for label in labels if label != row.label)
        return replace(row, status="ok", reason=f"label conflict: also given as {others}" if others else "")
    source = "" if holder.batch == row.batch else f" of {names.get(holder.batch, holder.batch)}"
    place = f"row {holder.row + 1}{source}"
    other = "" if holder.label == row.label else f", whose label is '{holder.label}'"
    return replace(row, status="duplicate", reason=f"same content as {place}{other}")
