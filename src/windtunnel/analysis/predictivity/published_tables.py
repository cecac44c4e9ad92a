"""The paper's mean correlations of generated benchmarks with natural sets, and their recomputed means."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from windtunnel import published
from windtunnel.metrics.published_figures import rows_of

TABLES = ("syn2nat-table2", "syn2nat-table3")
MEAN = "Mean"


@dataclass(frozen=True)
class PublishedRow:
    """Mean correlations of every group with one natural set."""

    name: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class PublishedTable:
    """A table of the paper.

    Attributes:
        title: its content in one line.
        columns: groups of benchmarks, and existing ones.
        rows: a natural set each.
        printed: the means that the paper prints.
        recomputed: the means of the rows.
        where: the source.
        caution: what limits its use.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[PublishedRow, ...]
    printed: tuple[float, ...]
    recomputed: tuple[float, ...]
    where: str
    caution: str

    @property
    def differences(self) -> tuple[str, ...]:
        """A sentence per column whose printed mean is not the rounded mean of its rows."""
        return tuple(
            f"{column}: the five values average {mean:.3f}, and the paper prints {printed:.3f}."
            for column, mean, printed in zip(self.columns, self.recomputed, self.printed, strict=True)
            # Printed values are rounded to three decimals, and so are the rows that are averaged.
            if abs(mean - printed) > 0.001
        )


@lru_cache(maxsize=1)
def published_syn2nat() -> tuple[PublishedTable, ...]:
    """Tables 2 and 3 of Laugros et al. (2021)."""
    sources = tomllib.loads(published.read_text("sources.toml"))
    return tuple(_table(sources[name]) for name in TABLES)


def _table(source: dict[str, str]) -> PublishedTable:
    rows = list(rows_of(source["file"]))
    columns = tuple(name for name in rows[0] if name != "natural")
    values = {row["natural"]: tuple(float(row[column]) for column in columns) for row in rows}
    printed = values.pop(MEAN)
    return PublishedTable(
        source["title"],
        columns,
        tuple(PublishedRow(name, cells) for name, cells in values.items()),
        printed,
        tuple(float(mean) for mean in np.mean(list(values.values()), axis=0)),
        source["where"],
        source["caution"],
    )
