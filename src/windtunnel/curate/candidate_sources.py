"""Where candidates come from: tables of URLs and files, and datasets."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.core.conditions import digest
from windtunnel.core.errors import ImageError, UserError
from windtunnel.core.images import Image
from windtunnel.core.option_names import option
from windtunnel.core.wording import counted
from windtunnel.data import open_dataset, read_file
from windtunnel.imaging.codecs.png import png
from windtunnel.options.collect import CollectOptions

COLUMNS = ("url", "file", "tag", "label", "licence", "source")
SPELLINGS = {"license": "licence", "path": "file", "class": "label"}
# Longer cells are refused; a URL has its own limit.
MAX_CELL_CHARACTERS = 1000


@dataclass(frozen=True)
class Wanted:
    """A candidate that is to be collected.

    Attributes:
        url: the URL; "" for a file.
        path: the file as given; "" for a URL.
        tag, label, licence, source: as given; "" for none.
        problem: why the row cannot be collected; "" if it can.
    """

    url: str
    path: str
    tag: str
    label: str
    licence: str
    source: str
    problem: str = ""


@dataclass(frozen=True)
class CandidateSource:
    """Candidates of one batch.

    Attributes:
        name: the table or dataset.
        wanted: what is to be collected, in order.
        read: returns the bytes of a candidate that is no URL; raises `ImageError`.
        location: the folder or dataset that files are relative to.
        path: the resolved path of the table or dataset; the source as given if it is no path.
    """

    name: str
    wanted: tuple[Wanted, ...]
    read: Callable[[Wanted], bytes]
    location: str
    path: str

    @property
    def batch(self) -> str:
        """The name of the batch: digest of all rows as they were given, and of the place of files.

        Files of the same names in two folders are different candidates.
        """
        rows = [[self.location]] if any(row.path for row in self.wanted) else []
        for row in self.wanted:
            cells = [row.url, row.path, row.tag, row.label, row.licence, row.source]
            rows.append([*cells, row.problem] if row.problem else cells)
        return digest(rows)[:16]


def open_source(source: str | Path, options: CollectOptions) -> CandidateSource:
    """The candidates of a CSV table with a column `url` or `file`, or of any dataset."""
    path = Path(source)
    if path.suffix.lower() == ".csv":
        return _table(path, options)
    return _dataset(str(source), options)


def read_class_map(file: str | Path | None) -> Mapping[str, str] | None:
    """The class of every tag, or None if no map is given; case and outer spaces of tags do not matter."""
    if file is None:
        return None
    header, lines = csv_lines(Path(file))
    _refuse_repeated(Path(file), header)
    if not lines or not {"tag", "class"} <= set(header):
        raise UserError(f"{option('classes')} is {file}; give a CSV file with the columns tag and class.")
    classes: dict[str, str] = {}
    for line in lines:
        row = dict(zip(header, line.cells, strict=False))
        tag, name = tag_key(row.get("tag", "")), row.get("class", "").strip()
        if not tag or not name:
            raise UserError(f"{file}: line {line.number} needs a tag and a class.")
        if classes.setdefault(tag, name) != name:
            raise UserError(
                f"{file}: tag '{row['tag']}' has the classes {classes[tag]} and {name}; give one."
            )
    return classes


def tag_key(tag: str) -> str:
    """A tag as maps compare it."""
    return " ".join(tag.split()).casefold()


def _table(file: Path, options: CollectOptions) -> CandidateSource:
    header, lines = csv_lines(file)
    header = [SPELLINGS.get(name, name) for name in header]
    _refuse_repeated(file, header)
    if not lines:
        raise UserError(f"{file} has no rows; give a CSV file with a column url or file.")
    if not {"url", "file"} & set(header):
        raise UserError(
            f"{file} has the columns {', '.join(header)}; give a column url or file, and optionally "
            f"{', '.join(COLUMNS[2:])}."
        )
    wanted = []
    for line in lines:
        row = dict(zip(header, line.cells, strict=False))
        cells = {name: row.get(name, "").strip() for name in COLUMNS}
        for name in COLUMNS[2:]:
            if len(cells[name]) > MAX_CELL_CHARACTERS:
                raise UserError(
                    f"{file}: {name} in line {line.number} has {len(cells[name]):,} characters; "
                    f"give at most {MAX_CELL_CHARACTERS:,}."
                )
        wanted.append(
            Wanted(
                cells["url"],
                cells["file"],
                cells["tag"],
                cells["label"],
                cells["licence"] or options.licence,
                cells["source"] or options.source,
                _problem(line, header, cells),
            )
        )
    folder = file.parent.resolve()

    def read(row: Wanted) -> bytes:
        try:
            path = (folder / row.path).resolve()
        except (OSError, ValueError) as error:
            raise ImageError("unreadable", f"not a valid path: {error}") from error
        if not options.allow_outside_files and not path.is_relative_to(folder):
            raise OutsideFolder
        return read_file(path)

    return CandidateSource(str(file), tuple(wanted), read, str(folder), str(file.resolve()))


def _problem(line: CsvLine, header: Sequence[str], cells: Mapping[str, str]) -> str:
    """Why a line names no candidate; "" if it names one."""
    if len(line.cells) != len(header):
        return _cell_problem(line, header)
    if cells["url"] and cells["file"]:
        return f"line {line.number} has both a url and a file"
    return "" if cells["url"] or cells["file"] else f"line {line.number} has neither a url nor a file"


def _cell_problem(line: CsvLine, header: Sequence[str]) -> str:
    return f"line {line.number} has {counted(len(line.cells), 'cell')}, the header {len(header)}"


class OutsideFolder(Exception):
    """A table names a file outside its folder."""


def _dataset(source: str, options: CollectOptions) -> CandidateSource:
    """The images of a folder or another dataset; the class is the tag."""
    dataset = open_dataset(source)
    classes = dataset.label_space.classes
    samples = {sample.id: sample for sample in dataset.samples()}
    wanted = tuple(
        Wanted(
            "", sample.id, "; ".join(classes[label] for label in sample.labels), "", options.licence,
            options.source,
        )
        for sample in samples.values()
    )  # fmt: skip

    def read(row: Wanted) -> bytes:
        content: bytes | Image = dataset.read(samples[row.path])
        return content if isinstance(content, bytes) else png.function(content)

    location = str(Path(source).resolve()) if Path(source).exists() else source
    return CandidateSource(source, wanted, read, location, location)


@dataclass(frozen=True)
class CsvLine:
    """A row of a CSV file: the line of the file on which it begins, from 1, and its cells."""

    number: int
    cells: tuple[str, ...]


def csv_lines(file: Path) -> tuple[list[str], list[CsvLine]]:
    """The lower-case column names and the rows of a CSV file; refuses other files.

    Empty lines are omitted. A row may have more or fewer cells than there are columns.
    """
    lines: list[CsvLine] = []
    try:
        reader = csv.reader(io.StringIO(file.read_text(encoding="utf-8-sig")), strict=True)
        number = 1
        for cells in reader:
            if cells:
                lines.append(CsvLine(number, tuple(cells)))
            number = reader.line_num + 1
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror or error}; give a CSV file.") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{file} is not a CSV file in UTF-8: {error}.") from error
    header = [name.strip().lower() for name in lines[0].cells] if lines else []
    return header, lines[1:]


def csv_rows(file: Path) -> list[tuple[int, dict[str, str]]]:
    """The line and the cells, by lower-case column name, of each row of a CSV file.

    Refuses other files, and rows with more or fewer cells than there are columns.
    """
    header, lines = csv_lines(file)
    _refuse_repeated(file, header)
    for line in lines:
        if len(line.cells) != len(header):
            raise UserError(f"{file}: {_cell_problem(line, header)}; correct the line.")
    return [(line.number, dict(zip(header, line.cells, strict=True))) for line in lines]


def _refuse_repeated(file: Path, header: Sequence[str]) -> None:
    """Refuse a column name that occurs twice; columns without a name have no meaning."""
    repeated = [name for name, count in Counter(header).items() if name and count > 1]
    if repeated:
        raise UserError(f"{file} has the column {repeated[0]} more than once; give each column once.")
