"""Rows of Parquet and Arrow files, of which images are read one at a time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from windtunnel.core.errors import UserError, first_line
from windtunnel.core.locations import Location, local_file

MIB = 2**20
# The bytes of row groups that a process keeps, and the largest row group that is read.
KEPT_BYTES = 128 * MIB
MAX_GROUP_BYTES = 1024 * MIB


class TableFile(Protocol):
    """A file of rows.

    Attributes:
        location: where it is.
        schema: its columns.
        rows: their length.
    """

    location: Location

    @property
    def schema(self) -> pa.Schema: ...
    @property
    def rows(self) -> int: ...
    def columns(self, names: Sequence[str]) -> pa.Table:
        """Columns, or fields of them (`image.path`), of all rows."""
        ...

    def cell(self, column: str, row: int) -> Any:
        """The value of one row."""
        ...


class ParquetTable:
    """A Parquet file; its row groups are read on demand, and the last ones are kept."""

    def __init__(self, location: Location) -> None:
        self.location = location
        self._opened: pq.ParquetFile | None = None
        self._groups: OrderedDict[tuple[str, int], pa.ChunkedArray] = OrderedDict()

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        return self._file.schema_arrow

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self._file.metadata.num_rows)

    @property
    def _file(self) -> pq.ParquetFile:
        if self._opened is None:
            try:
                self._opened = pq.ParquetFile(local_file(self.location))
            except (pa.ArrowException, OSError) as error:
                raise unreadable(self.location, "Parquet", error) from error
            metadata = self._opened.metadata
            sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
            self._starts = np.cumsum([0, *sizes])
        return self._opened

    def check_groups(self, column: str) -> None:
        """Refuse row groups that are too large to be read for one image."""
        metadata = self._file.metadata
        for group in range(metadata.num_row_groups):
            parts = (metadata.row_group(group).column(place) for place in range(metadata.num_columns))
            size = sum(
                part.total_uncompressed_size for part in parts if part.path_in_schema.split(".")[0] == column
            )
            if size > MAX_GROUP_BYTES:
                raise UserError(
                    f"{self.location} has a row group of {size / MIB:,.0f} MiB, which is read whole for each "
                    f"image; at most {MAX_GROUP_BYTES / MIB:,.0f} MiB are. Write it again with fewer rows "
                    "per group (PyArrow: row_group_size=100)."
                )

    def columns(self, names: Sequence[str]) -> pa.Table:
        """Columns, or fields of them, of all rows."""
        try:
            return self._file.read(list(names), use_threads=False)
        except (pa.ArrowException, OSError) as error:
            raise unreadable(self.location, "Parquet", error) from error

    def cell(self, column: str, row: int) -> Any:
        """The value of one row; raises `ArrowException` or `OSError` if it cannot be read."""
        file = self._file
        group = int(np.searchsorted(self._starts, row, "right")) - 1
        if (column, group) not in self._groups:
            values = file.read_row_group(group, [column], use_threads=False).column(0)
            self._groups[column, group] = values
            while len(self._groups) > 1 and sum(kept.nbytes for kept in self._groups.values()) > KEPT_BYTES:
                self._groups.popitem(last=False)
        self._groups.move_to_end((column, group))
        return self._groups[column, group][row - int(self._starts[group])].as_py()

    def __getstate__(self) -> dict[str, object]:
        return {"location": self.location, "_opened": None, "_groups": OrderedDict()}


class ArrowTable:
    """An Arrow file as `save_to_disk` of Hugging Face Datasets writes it, mapped into memory."""

    def __init__(self, location: Location) -> None:
        self.location = location
        self._opened: pa.Table | None = None

    @property
    def _table(self) -> pa.Table:
        if self._opened is None:
            try:
                source = pa.memory_map(str(local_file(self.location)))
                self._opened = pa.ipc.open_stream(source).read_all()
            except (pa.ArrowException, OSError) as error:
                raise unreadable(self.location, "Arrow stream", error) from error
        return self._opened

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        return self._table.schema

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self._table.num_rows)

    def columns(self, names: Sequence[str]) -> pa.Table:
        """Columns, or fields of them, of all rows; a field is the only one of its column."""
        found = {}
        for name in names:
            column, _, field = name.partition(".")
            values = self._table.column(column if field and column in self.schema.names else name)
            if field and pa.types.is_struct(values.type):
                fields = [pa.StructArray.from_arrays([part.field(field)], [field], mask=part.is_null())
                          for part in values.chunks]  # fmt: skip
                values = pa.chunked_array(fields, pa.struct([values.type.field(field)]))
            found[column if field else name] = values
        return pa.table(found)

    def cell(self, column: str, row: int) -> Any:
        """The value of one row."""
        return self._table.column(column)[row].as_py()

    def __getstate__(self) -> dict[str, object]:
        return {"location": self.location, "_opened": None}


def unreadable(location: Location, kind: str, error: Exception) -> UserError:
    """The error for a file of rows that cannot be read."""
    return UserError(
        f"{location} cannot be read as {kind} ({first_line(error)}); it may be incomplete. Download or write "
        "it again."
    )
