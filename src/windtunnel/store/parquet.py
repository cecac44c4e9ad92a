"""Tables as Parquet files whose every page has a checksum."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from windtunnel.core.locations import Location, local_file


def parquet_bytes(table: pa.Table) -> bytes:
    """A table as the content of a Parquet file, with a checksum on every page."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", write_page_checksum=True)
    return bytes(sink.getvalue().to_pybytes())


def read_parquet(path: Location, columns: list[str] | None = None) -> pa.Table:
    """Read a whole file and check every page; raises `ArrowInvalid` for a missing column."""
    with pq.ParquetFile(local_file(path), page_checksum_verification=True) as file:
        table = file.read(columns, use_threads=False)
    for name in columns or ():
        if name not in table.column_names:
            raise pa.ArrowInvalid(f"no column {name}")
    return table
