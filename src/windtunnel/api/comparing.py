"""Compare, gate and slice finished runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pyarrow as pa

from windtunnel.analysis import comparison
from windtunnel.analysis import gate as gates
from windtunnel.metrics import slices as slicing
from windtunnel.report.comparison import CSV_COLUMNS, comparison_rows, headline_rows, run_names
from windtunnel.report.html_table import html_table
from windtunnel.runs import Run, pandas_frame, polars_frame, scored_runs, warnings_html

# Images that a slice needs to be scored.
SLICE_MINIMUM = slicing.MINIMUM
# The columns of a table of differences.
_TEXTS = ("metric", "condition", "corruption", "codec", "base", "run", "test", "effect_name")
_COUNTS = ("severity", "n", "discordant", "broken", "repaired")
DIFFERENCE_COLUMNS = pa.schema(
    [
        (name, pa.string() if name in _TEXTS else pa.int64() if name in _COUNTS else pa.float64())
        for name in CSV_COLUMNS
    ]
)


class ComparedRuns(comparison.Comparison):
    """A comparison that notebooks show as a table; also as an Arrow table or a DataFrame."""

    def to_arrow(self) -> pa.Table:
        """Every difference as an Arrow table, with the columns of `windtunnel compare --csv`."""
        return pa.Table.from_pylist(comparison_rows(self), schema=DIFFERENCE_COLUMNS)

    def to_pandas(self) -> Any:
        """Every difference as a pandas DataFrame; needs pandas."""
        return pandas_frame(self.to_arrow())

    def to_polars(self) -> Any:
        """Every difference as a polars DataFrame; needs polars."""
        return polars_frame(self.to_arrow())

    def _repr_html_(self) -> str:
        names = run_names(self)
        header = ["", *names, *(f"{name} - {names[0]}" for name in names[1:])]
        return warnings_html(self.warnings) + html_table(header, headline_rows(self))


def compare(*runs: Run | str | Path) -> ComparedRuns:
    """Compare finished runs with the first one: image by image if they share images and seed."""
    compared = comparison.compare(*scored_runs(runs))
    return ComparedRuns(*(getattr(compared, field.name) for field in fields(compared)))


def gate(
    run: Run | str | Path,
    against: Run | str | Path,
    rules: Sequence[str] = (),
    *,
    unsure: gates.Unsure = "pass",
) -> gates.Gate:
    """Check whether a run is worse than a baseline run by more than the rules allow.

    Args:
        run: the new run.
        against: the baseline run, on the same images with the same seed.
        rules: such as `mce <= +1.0`; by default the rules for this kind of run.
        unsure: whether undecided rules `pass` or `fail`.
    """
    new, base = scored_runs([run, against])
    return gates.gate(new, base, rules, unsure=unsure)


def slices(
    run: Run | str | Path,
    by: str,
    metric: str = "top1_error",
    condition: str | None = None,
    *,
    minimum: int = SLICE_MINIMUM,
) -> list[slicing.Slice]:
    """The score of every slice with at least `minimum` images, the worst by shrunk value first.

    Args:
        run: a finished run.
        by: `class`, `size` (short side in pixels), or a column of the data's table.
        metric: a metric that is a mean over images.
        condition: such as `fog:3`; by default clean, or all corruptions for metrics over several conditions.
        minimum: images a slice needs.
    """
    (scored,) = scored_runs([run])
    return slicing.slices(scored, by, metric, condition, minimum=minimum)


def omitted_slices(
    run: Run | str | Path,
    by: str,
    metric: str = "top1_error",
    condition: str | None = None,
    *,
    minimum: int = SLICE_MINIMUM,
) -> slicing.Omitted:
    """The slices that `slices` omits, with the reason; the arguments are the same."""
    (scored,) = scored_runs([run])
    return slicing.omitted_slices(scored, by, metric, condition, minimum=minimum)
