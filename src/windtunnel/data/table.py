"""Tables: CSV, TSV or JSON lines with a path and a label (or labels) per row."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from windtunnel.core.errors import UserError
from windtunnel.core.labels import LabelSpace
from windtunnel.core.locations import Location, local_file
from windtunnel.core.samples import Sample
from windtunnel.data import Dataset, nfc, read_file, refuse_duplicates
from windtunnel.data.label_spaces import label_space_of

SUFFIXES = (".csv", ".tsv", ".jsonl")
PATH_COLUMNS = ("path", "file", "filename", "file_name", "image")
LABEL_COLUMNS = ("labels", "label", "class_index", "wnid", "class")
# Separator of several labels in one cell of a CSV.
SEPARATORS = (";", "|")


class TableDataset(Dataset):
    """Images listed in a table; paths are relative to the table's folder.

    The id is the `id` column if there is one, else the path, or path#row for a path that occurs in several
    rows. Other columns are kept with the sample. Without a label column no image has a label.
    """

    name: str
    location: str
    label_space: LabelSpace
    portable = True
    parallel_reads = True

    def __init__(self, file: Location) -> None:
        self._root = file.parent
        self.name = file.stem
        self.location = str(file)
        rows = table_rows(file)
        if not rows:
            raise UserError(f"{file} has no rows; give one line per image with the columns path and label.")
        columns = {name for row in rows for name in row}
        path_column = _column(columns, PATH_COLUMNS, file)
        label_column = next((name for name in LABEL_COLUMNS if name in columns), "")
        unlabelled = f"{file} has no column {' or '.join(LABEL_COLUMNS)}: no image has a label."
        self._notes = () if label_column else (unlabelled,)
        names = [label_names(row.get(label_column)) for row in rows]
        paths = [str(row.get(path_column) or "") for row in rows]
        self.label_space, index = label_space_of(
            (name for row in names for name in row),
            {name: path for row, path in zip(names, paths, strict=True) for name in row},
        )
        for number, path in enumerate(paths, 1):
            if not path:
                raise UserError(f"{file}: row {number} has no {path_column}.")
        repeated = {path for path, count in Counter(paths).items() if count > 1}
        used = {path_column, label_column, "id"}
        self._samples = []
        for number, (row, path, labels) in enumerate(zip(rows, paths, names, strict=True), 1):
            id_ = str(row.get("id") or (f"{path}#{number}" if path in repeated else path))
            extra = {key: str(value) for key, value in row.items() if key not in used and value is not None}
            indices = tuple(index[name] for name in labels)
            self._samples.append(Sample(nfc(id_), indices, {**extra, "path": path}))
        self._samples.sort(key=lambda sample: sample.id)
        refuse_duplicates(self._samples, str(file))

    @property
    def notes(self) -> tuple[str, ...]:
        """A note that no image has a label, if the table has no column of labels."""
        return self._notes

    def samples(self) -> Sequence[Sample]:
        """Every row, sorted by id."""
        return self._samples

    def read(self, sample: Sample) -> bytes:
        """The file's bytes."""
        return read_file(self._root / sample.meta["path"])


def table_columns(file: Location) -> set[str]:
    """The columns in the first line of a table; empty if the line is not a header."""
    with local_file(file).open(encoding="utf-8-sig", errors="replace", newline="") as stream:
        first = stream.readline()
    if file.suffix.lower() == ".jsonl":
        try:
            row = json.loads(first)
        except ValueError:
            return set()
        return set(row) if isinstance(row, dict) else set()
    return set(next(csv.reader([first], delimiter="\t" if file.suffix.lower() == ".tsv" else ","), []))


def table_rows(file: Location) -> list[dict[str, Any]]:
    """The rows of a table as dictionaries; refuses other text than CSV, TSV or JSON lines."""
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{file} is not UTF-8 text ({error.reason}); save the table as UTF-8.") from error
    if file.suffix.lower() == ".jsonl":
        rows = []
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise UserError(f"{file}: line {number} is not JSON: {error.msg}.") from error
            if not isinstance(row, dict):
                raise UserError(f"{file}: line {number} is not an object with a path and a label.")
            rows.append(row)
        return rows
    delimiter = "\t" if file.suffix.lower() == ".tsv" else ","
    return list(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter))


def _column(given_columns: set[str], allowed: Sequence[str], file: Location) -> str:
    for name in allowed:
        if name in given_columns:
            return name
    given = ", ".join(sorted(map(str, given_columns)))
    raise UserError(f"{file} has the columns {given}; one of them must be {' or '.join(allowed)}.")


def label_names(cell: object) -> list[str]:
    """A cell's labels as class names: a list, one value, or several in one text."""
    if cell is None or cell == "":
        return []
    if isinstance(cell, list):
        return [str(value) for value in cell]
    text = str(cell).strip()
    for separator in SEPARATORS:
        if separator in text:
            return [part.strip() for part in text.split(separator) if part.strip()]
    parts = text.split()
    # A space separates indices and WordNet ids, but belongs to names such as "tree frog".
    return parts if all(part.isdecimal() or part[1:].isdecimal() for part in parts) else [text]
