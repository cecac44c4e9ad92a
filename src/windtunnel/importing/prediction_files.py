"""Files of predictions, read in blocks: Parquet, npz, CSV, JSON lines and JSON.

Every row has a sample id (`sample_id` or `id`), a `condition` (none: all are clean), and either
scores of every class (`logits`, `probabilities` or `scores` as a list, or one column per class), or the best
classes (`top` as a list together with `top_score`, or the columns top1, top2 ... with score1, score2 ...).
"""

from __future__ import annotations

import ast
import csv
import json
import re
import textwrap
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windtunnel.core.errors import UserError, unknown_name
from windtunnel.data.precomputed import CLEAN
from windtunnel.tasks.classification.postprocessing import TOP_K

SUFFIXES = (".parquet", ".npz", ".csv", ".jsonl", ".json")
ID_COLUMNS = ("sample_id", "id", "ids")
CONDITION_COLUMNS = ("condition", "conditions")
SCORE_COLUMNS = ("logits", "probabilities", "scores")
TOP, TOP_SCORE = "top", "top_score"
# The number of values per block: some tens of megabytes.
BLOCK_NUMBERS = 4_000_000
REASON_LENGTH = 160

# Separators of a list of numbers in one cell.
NUMBER_MARKS = r"[;,\s]+"
# Separators of a list of classes in one cell, by the form of the cell; the first pattern that matches is
# used. Names may contain spaces and commas, so commas separate names only in brackets without semicolons.
CLASS_MARKS = (
    (re.compile(r"[\[\s]*-?\d+(\.0*)?([;,\s]+-?\d+(\.0*)?)*[\]\s]*"), re.compile(NUMBER_MARKS)),
    (re.compile(r"\s*\[[^;]*\]\s*"), re.compile(r"\s*,\s*")),
    (re.compile(r".*", re.DOTALL), re.compile(r"\s*;\s*")),
)
# A list of quoted names, as Python, JSON and NumPy write it.
_QUOTED_LIST = re.compile(r"\s*\[\s*['\"]")
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s,;\[\]'"]+""")
_WIDE_TOP = re.compile(r"top_?(\d+)")
_WHOLE = re.compile(r"-?\d+\.0*")
# How tables write a missing class.
GAPS = ("", "nan", "NaN", "None", "null")


@dataclass(frozen=True)
class Block:
    """A block of rows of a file.

    Attributes:
        ids: sample ids as text.
        conditions: names of conditions as text, or None if the file has none.
        values: rows x width: scores of every class, or the best classes as text or numbers.
        top_scores: the best classes' scores, or None.
        ragged: the number of rows that have another width than the first row of the file; they are omitted.
        example: the id of one of them.
    """

    ids: pa.Array
    conditions: pa.Array | None
    values: NDArray[Any]
    top_scores: NDArray[np.float32] | None
    ragged: int = 0
    example: str = ""


@dataclass(frozen=True)
class Layout:
    """The columns of a file.

    Attributes:
        id: the column of sample ids.
        condition: the column of conditions, or "".
        values: the columns of scores or of best classes: one column of lists, or one per class or rank.
        top_scores: the columns of the best classes' scores in the same form; () for none.
        outputs: `logits`, `probabilities`, `top-k`, or "" if the name does not determine it.
        classes: the names of the scores' columns, if they are class names.
    """

    id: str
    condition: str
    values: tuple[str, ...]
    top_scores: tuple[str, ...]
    outputs: str
    classes: tuple[str, ...] = ()


def find_layout(file: Path, columns: Sequence[str], outputs: str | None) -> Layout:
    """Recognise a file's columns; refuses unknown ones."""
    id_ = next((name for name in ID_COLUMNS if name in columns), "")
    if not id_:
        raise UserError(f"{file} has the columns {_shown(columns)}; one of them must be sample_id or id.")
    condition = next((name for name in CONDITION_COLUMNS if name in columns), "")
    listed = [name for name in SCORE_COLUMNS if name in columns]
    if listed and outputs != TOP_K:
        name = outputs if outputs in listed else listed[0]
        return Layout(id_, condition, (name,), (), "" if name == "scores" else name)
    if TOP in columns and outputs in (None, TOP_K):
        scored = TOP_SCORE in columns
        return Layout(id_, condition, (TOP,), (TOP_SCORE,) if scored else (), TOP_K)
    wide = sorted((name for name in columns if _WIDE_TOP.fullmatch(name)), key=_number)
    if wide and outputs in (None, TOP_K):
        scores = [name.replace("top", "score") for name in wide]
        top_scores = tuple(scores) if set(scores) <= set(columns) else ()
        return Layout(id_, condition, tuple(wide), top_scores, TOP_K)
    rest = tuple(name for name in columns if name not in (id_, condition))
    if outputs == TOP_K or len(rest) < 2:
        raise UserError(
            f"{file} has the columns {_shown(columns)}; give scores as logits, probabilities or one column "
            "per class, or best classes as top or top1, top2 ..."
        )
    numbered = [str(place) for place in range(len(rest))]
    return Layout(id_, condition, rest, (), "", () if list(rest) == numbered else rest)


def whole_classes(values: NDArray[Any]) -> NDArray[Any]:
    """Best classes as integers or texts: 1.0, as in tables with gaps, is 1, and a gap is no class."""
    if values.dtype.kind == "f":
        gaps = np.isnan(values)
        filled = np.where(gaps, -1, values)
        whole = bool((filled == np.rint(filled)).all())
        return filled.astype(np.int64) if whole else values.astype(str)
    if values.dtype.kind in "iu":
        return values
    texts = np.array(["" if entry is None else str(entry) for entry in values.ravel()])
    names, back = np.unique(texts, return_inverse=True)
    plain = [
        "-1" if name in GAPS else name.partition(".")[0] if _WHOLE.fullmatch(name) else name for name in names
    ]
    return np.array(plain)[back].reshape(values.shape)


def _number(name: str) -> int:
    return int(name.lstrip("top_"))


def _shown(columns: Sequence[str]) -> str:
    return ", ".join(columns[:8]) + (" ..." if len(columns) > 8 else "") or "none"


class PredictionFile:
    """A file of predictions.

    Attributes:
        layout: its columns.
        width: the number of values in its first row: classes, or best classes.
        unnamed: the condition of rows without one.
    """

    def __init__(self, path: Path, outputs: str | None = None, unnamed: str = CLEAN) -> None:
        if path.suffix.lower() not in SUFFIXES:
            raise unknown_name("kind of predictions", path.suffix or path.name, SUFFIXES)
        if not path.is_file():
            raise UserError(f"No such predictions: {path}; give a file of predictions.")
        self.path, self.unnamed = path, unnamed
        try:
            self.layout = find_layout(path, self._columns(), outputs)
            first = next(self._tables(1), None)
        except (pa.ArrowException, OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise self._damaged(error) from error
        if first is None or not len(first):
            raise UserError(f"{path} contains no predictions.")
        self.width = len(self.layout.values)
        if pa.types.is_list(first.schema.field(self.layout.values[0]).type):
            self.width = int(pc.list_value_length(first[self.layout.values[0]])[0].as_py() or 0)
        if self.width < 1:
            raise UserError(f"{path}: the first row has no {self.layout.values[0]}; add it.")

    def blocks(self) -> Iterator[Block]:
        """The rows, in the file's order."""
        rows = max(1, BLOCK_NUMBERS // max(self.width, 16))
        try:
            for table in self._tables(rows):
                yield self._block(table)
        except (pa.ArrowException, OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise self._damaged(error) from error

    def conditions(self) -> Iterator[tuple[int, pa.Array | None]]:
        """The number of rows and their conditions, block by block; scores are not read."""
        names = [name for name in (self.layout.id, self.layout.condition) if name]
        try:
            for table in self._tables(BLOCK_NUMBERS // 16, names):
                yield len(table), self._named(table)
        except (pa.ArrowException, OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise self._damaged(error) from error

    def _named(self, table: pa.Table) -> pa.Array | None:
        """The conditions of rows; an empty cell is the condition of rows without one."""
        if not self.layout.condition:
            return None
        names = _flat(table[self.layout.condition]).cast(pa.string()).fill_null("")
        return pc.if_else(pc.equal(pc.utf8_trim_whitespace(names), ""), self.unnamed, names)

    def _damaged(self, error: Exception) -> UserError:
        reason = textwrap.shorten((str(error).splitlines() or [type(error).__name__])[0], REASON_LENGTH)
        columns = "; CSV has a number per column, named 0, 1, 2 ..., or all in one cell, [0.1, 2.5]"
        cure = columns if self.path.suffix == ".csv" else ""
        return UserError(f"{self.path} cannot be read as {self.path.suffix[1:]}: {reason}{cure}.")

    def _block(self, table: pa.Table) -> Block:
        layout = self.layout
        ids = _flat(table[layout.id]).cast(pa.string())
        conditions = self._named(table)
        ragged, example = 0, ""
        if len(layout.values) == 1 and pa.types.is_list(table.schema.field(layout.values[0]).type):
            lengths = pc.list_value_length(_flat(table[layout.values[0]])).fill_null(0)
            good = pc.equal(lengths, self.width)
            ragged = len(table) - int(pc.sum(good).as_py() or 0)
            if ragged:
                example = str(ids.filter(pc.invert(good))[0].as_py())
                table, ids = table.filter(good), ids.filter(good)
                conditions = conditions.filter(good) if conditions is not None else None
        number = None if layout.outputs == TOP_K else np.float32
        values = _matrix(table, layout.values, self.width, number)
        if layout.outputs == TOP_K:
            values = whole_classes(values)
        top_scores = _matrix(table, layout.top_scores, self.width, np.float32) if layout.top_scores else None
        return Block(ids, conditions, values, top_scores, ragged, example)

    def _columns(self) -> list[str]:
        suffix = self.path.suffix.lower()
        if suffix == ".parquet":
            import pyarrow.parquet as pq

            return list(pq.read_schema(self.path).names)
        if suffix == ".npz":
            with zipfile.ZipFile(self.path) as archive:
                return [name.removesuffix(".npy") for name in archive.namelist()]
        if suffix == ".csv":
            with self.path.open(encoding="utf-8-sig", newline="") as stream:
                return next(csv.reader(stream), [])
        return list(next(_objects(self.path), {}))

    def _tables(self, rows: int, columns: Sequence[str] = ()) -> Iterator[pa.Table]:
        """The file's rows in tables of at most `rows`; the given columns, or all that are used."""
        layout, suffix = self.layout, self.path.suffix.lower()
        wanted = [name for name in (layout.id, layout.condition) if name]
        wanted = list(columns) or [*wanted, *layout.values, *layout.top_scores]
        if suffix == ".parquet":
            import pyarrow.parquet as pq

            for batch in pq.ParquetFile(self.path).iter_batches(rows, columns=wanted):
                yield _with_lists(pa.Table.from_batches([batch]), layout)
        elif suffix == ".npz":
            yield from _npz_tables(self.path, wanted, rows)
        elif suffix == ".csv":
            yield from (_with_lists(table, layout) for table in _csv_tables(self.path, wanted))
        else:
            waiting: list[dict[str, Any]] = []
            for row in _objects(self.path):
                waiting.append({name: row.get(name) for name in wanted})
                if len(waiting) == rows:
                    yield pa.Table.from_pylist(waiting)
                    waiting = []
            if waiting:
                yield pa.Table.from_pylist(waiting)


def _flat(column: pa.ChunkedArray) -> pa.Array:
    combined = column.combine_chunks()
    return combined if isinstance(combined, pa.Array) else pa.concat_arrays(combined.chunks)


def _matrix(table: pa.Table, columns: Sequence[str], width: int, number: Any) -> NDArray[Any]:
    """One list column, or several columns, as rows x width."""
    arrow_type = None if number is None else pa.float32()
    flat = [_flat(table[name]) for name in columns]
    if len(flat) == 1 and pa.types.is_list(flat[0].type):
        values = flat[0].flatten()
        return _numpy(values, arrow_type).reshape(-1, width)
    return np.stack([_numpy(values, arrow_type) for values in flat], axis=1)


def _numpy(values: pa.Array, arrow_type: pa.DataType | None) -> NDArray[Any]:
    converted: NDArray[Any] = (values.cast(arrow_type) if arrow_type else values).to_numpy(
        zero_copy_only=False
    )
    return converted


def _with_lists(table: pa.Table, layout: Layout) -> pa.Table:
    """Lists of any kind as plain lists, including texts: `cat;red fox` or `[1, 5]`."""
    for name in (column for column in (*layout.values, *layout.top_scores) if column in table.column_names):
        arrow_type = table.schema.field(name).type
        place = table.schema.get_field_index(name)
        if pa.types.is_fixed_size_list(arrow_type) or pa.types.is_large_list(arrow_type):
            table = table.set_column(place, name, table[name].cast(pa.list_(arrow_type.value_type)))
        elif pa.types.is_string(arrow_type) and len(layout.values) == 1:
            if name == TOP:
                cells = table[name].to_pylist()
                listed = pa.array(map(_class_list, cells), pa.list_(pa.string()), size=len(cells))
            else:
                listed = pc.split_pattern_regex(pc.utf8_trim(table[name], characters=" []"), NUMBER_MARKS)
            table = table.set_column(place, name, listed)
    return table


def _class_list(cell: str | None) -> list[str] | None:
    """The classes in a cell: `[0, 3]`, `0 3`, `['cat', 'red fox']`, `[cat, red fox]` or `cat;red fox`."""
    if cell is None:
        return None
    if _QUOTED_LIST.match(cell):
        return _quoted_names(cell)
    marks = next(marks for pattern, marks in CLASS_MARKS if pattern.fullmatch(cell))
    return marks.split(cell.strip(" []"))


def _quoted_names(cell: str) -> list[str]:
    """The entries of a list of quoted names; entries without quotes, such as None, are unchanged."""
    try:
        return [_unquoted(entry) for entry in _QUOTED.findall(cell)]
    except SyntaxError as error:
        raise ValueError(f"{cell} is not a list of quoted class names") from error


@lru_cache(maxsize=4096)
def _unquoted(entry: str) -> str:
    return str(ast.literal_eval(entry)) if entry[0] in "'\"" else entry


def _csv_tables(path: Path, wanted: Sequence[str]) -> Iterator[pa.Table]:
    from pyarrow import csv as arrow_csv

    convert = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(wanted, pa.string()), include_columns=list(wanted)
    )
    read = arrow_csv.ReadOptions(block_size=1 << 24)
    for batch in arrow_csv.open_csv(path, read_options=read, convert_options=convert):
        yield pa.Table.from_batches([batch])


def _npz_tables(path: Path, wanted: Sequence[str], rows: int) -> Iterator[pa.Table]:
    with zipfile.ZipFile(path) as archive:
        streams = [_npy_blocks(archive, name, rows) for name in wanted]
        for parts in zip(*streams, strict=True):
            yield pa.table({name: _column(part) for name, part in zip(wanted, parts, strict=True)})


def _column(part: NDArray[Any]) -> pa.Array:
    if part.ndim == 1:
        return pa.array(part.astype(str) if part.dtype.kind in "US" else part)
    offsets = pa.array(np.arange(0, part.size + 1, part.shape[1], dtype=np.int32))
    return pa.ListArray.from_arrays(offsets, pa.array(part.reshape(-1)))


def _npy_blocks(archive: zipfile.ZipFile, name: str, rows: int) -> Iterator[NDArray[Any]]:
    with archive.open(f"{name}.npy") as stream:
        version = np.lib.format.read_magic(stream)
        read = (
            np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        )
        shape, columns_first, dtype = read(stream)
        if dtype.hasobject or (columns_first and len(shape) > 1):
            raise ValueError(
                f"the array {name} contains objects or is stored by column; save it as a plain array"
            )
        width = int(np.prod(shape[1:]))
        for start in range(0, shape[0], rows):
            count = min(rows, shape[0] - start)
            raw = stream.read(count * width * dtype.itemsize)
            yield np.frombuffer(raw, dtype).reshape(count, *shape[1:])


def _objects(path: Path) -> Iterator[dict[str, Any]]:
    if path.suffix.lower() == ".json":
        content = json.loads(path.read_text(encoding="utf-8-sig"))
        if isinstance(content, dict) and all(isinstance(scores, list) for scores in content.values()):
            # The format of the published scorer of video frames: an id and its scores.
            content = [{"id": key, "scores": scores} for key, scores in content.items()]
        if not isinstance(content, list):
            raise UserError(f"{path} is not a list of objects; give one object per prediction.")
        rows: Iterator[Any] = iter(content)
    else:
        rows = _lines(path)
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise UserError(f"{path}: entry {number} is not an object with an id and scores.")
        yield row


def _lines(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8-sig") as stream:
        for line in stream:
            if line.strip():
                yield json.loads(line)
