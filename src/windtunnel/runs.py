"""A run: its predictions, its scores and its report."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import pyarrow as pa

from windtunnel.analysis.plausibility import implausible
from windtunnel.core.conditions import Condition
from windtunnel.core.errors import ImplausibleScores, UserError
from windtunnel.core.extras import load_extra
from windtunnel.core.locations import Location
from windtunnel.core.records import Recipe
from windtunnel.core.run_info import RunInfo
from windtunnel.core.scores import Score
from windtunnel.metrics.score import score_run
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.models import load_model
from windtunnel.report.files import write_reports
from windtunnel.report.html_table import html_table
from windtunnel.report.saliency import explain_nothing, explain_with

# The columns of a table of scores: the fields of `Score`, in their order.
SCORE_COLUMNS = pa.schema(
    [
        ("metric", pa.string()),
        ("condition", pa.string()),
        ("value", pa.float64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("n", pa.int64()),
        ("formula", pa.string()),
        ("parts", pa.list_(pa.string())),
        ("recipe", pa.string()),
        ("corruption", pa.string()),
        ("severity", pa.int64()),
        ("codec", pa.string()),
    ]
)
# The columns that consoles and notebooks show.
SHOWN_COLUMNS = ("metric", "condition", "value", "low", "high", "n")


class Scores(list[Score]):
    """The scores of a run, in the suite's order; also as an Arrow table or a DataFrame of pandas or polars.

    Attributes:
        warnings: reasons to doubt the scores, as `Run.warnings`.
    """

    def __init__(self, scores: Iterable[Score] = (), warnings: Sequence[str] = ()) -> None:
        super().__init__(scores)
        self.warnings = tuple(warnings)

    def to_arrow(self) -> pa.Table:
        """The scores as an Arrow table: one row per score, one column per field of `Score`."""
        return pa.Table.from_pylist([score.to_json() for score in self], schema=SCORE_COLUMNS)

    def to_pandas(self) -> Any:
        """The scores as a pandas DataFrame with the columns of `to_arrow()`; needs pandas."""
        return pandas_frame(self.to_arrow())

    def to_polars(self) -> Any:
        """The scores as a polars DataFrame with the columns of `to_arrow()`; needs polars."""
        return polars_frame(self.to_arrow())

    def __repr__(self) -> str:
        rows = [SHOWN_COLUMNS, *self._shown_rows()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join([*(f"WARNING  {warning}" for warning in self.warnings), *table])

    def _repr_html_(self) -> str:
        return warnings_html(self.warnings) + html_table(SHOWN_COLUMNS, self._shown_rows())

    def _shown_rows(self) -> list[tuple[str, ...]]:
        return [
            (
                score.metric,
                score.condition,
                f"{score.value:.4g}",
                f"{score.low:.4g}",
                f"{score.high:.4g}",
                str(score.n),
            )
            for score in self
        ]


class Run:
    """The predictions of one model on one dataset under many conditions, stored on disk.

    Attributes:
        scoring: the source of scores, comparisons and reports.

    Example:
        >>> run = windtunnel.load_run("windtunnel-runs/demo")  # doctest: +SKIP
        >>> run.scores()[0].value  # doctest: +SKIP
    """

    def __init__(self, scoring: ScoredRun | str | Location) -> None:
        self.scoring = scoring if isinstance(scoring, ScoredRun) else ScoredRun(scoring)

    @property
    def path(self) -> Location:
        """The run folder."""
        return self.scoring.path

    @property
    def recipe(self) -> Recipe:
        """Everything that determines the predictions."""
        return self.scoring.recipe

    @property
    def info(self) -> RunInfo:
        """Further facts about the run: names, locations, versions, warnings."""
        return self.scoring.info

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions, in the suite's order."""
        return self.scoring.conditions

    @property
    def samples(self) -> pa.Table:
        """The images: id, labels, content hash, width, height, format."""
        return self.scoring.samples

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Reasons to doubt the scores: an error near chance, undeclared preprocessing; () if there are none.

        These are the lines that the command line prints as WARNING.
        """
        return tuple(implausible(self.scoring))

    def warn(self, stacklevel: int = 2) -> None:
        """Emit every warning by Python's `warnings`, in the category `windtunnel.ImplausibleScores`."""
        for warning in self.warnings:
            warnings.warn(warning, ImplausibleScores, stacklevel=stacklevel + 1)

    def predictions(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Every prediction as an Arrow table, sorted by image and condition."""
        return self.scoring.predictions(columns)

    def to_pandas(self, columns: Sequence[str] | None = None) -> Any:
        """Every prediction as a pandas DataFrame; needs pandas."""
        return pandas_frame(self.predictions(columns))

    def to_polars(self, columns: Sequence[str] | None = None) -> Any:
        """Every prediction as a polars DataFrame; needs polars."""
        return polars_frame(self.predictions(columns))

    def scores(
        self,
        metrics: Sequence[str] | None = None,
        *,
        baseline: str | Location | Run | None = None,
        group: str | None = None,
    ) -> Scores:
        """Every score of the suite, each with confidence interval, n, formula and parts.

        Args:
            metrics: metrics to compute instead of the suite's.
            baseline: a run on the same images; its scores normalise CE, mCE, FR, T5D and the like.
            group: a column of the data's table; images with the same value (of one patient, one video) are
                clustered in every interval. "" for none, None for the run's own column.
        """
        scoring = self.scoring.scored_as(_scoring_of(baseline), group)
        return Scores(score_run(scoring, metrics), self.warnings)

    def against(self, baseline: str | Location | Run) -> Run:
        """The same run, with corruption errors normalised by a baseline run on the same images."""
        return Run(self.scoring.scored_as(_scoring_of(baseline)))

    def grouped_by(self, column: str) -> Run:
        """The same run, with images clustered by a column of the data's table."""
        return Run(self.scoring.scored_as(group=column))

    def report(self, explain: Any = None, preprocess: str | Path | None = None) -> Location:
        """Write report.html, scores.json and scores.csv into the run folder; returns the page's path.

        Args:
            explain: the run's model, to add saliency maps for the misclassified images that are shown.
            preprocess: the preprocessing of the run, if it was given.
        """
        maps = (
            explain_nothing
            if explain is None
            else explain_with(self.scoring, load_model(explain, preprocess))
        )
        try:
            return write_reports(self.scoring, self.scores(), maps).html
        except OSError as error:
            raise UserError(
                f"{error.filename or self.path} cannot be written: {error.strerror or error}; copy the run "
                "folder to a writable place."
            ) from error

    def __repr__(self) -> str:
        model, data = self.info.model.name, self.info.data.name
        suite = self.recipe.suite.name
        doubt = ", the numbers may be wrong: see .warnings" if self._shown_warnings() else ""
        return (
            f"Run({str(self.path)!r}: {model} on {data}, {suite}, {len(self.conditions)} conditions{doubt})"
        )

    def _shown_warnings(self) -> tuple[str, ...]:
        """The warnings; none of an unfinished run, which cannot be scored yet."""
        try:
            return self.warnings
        except UserError:
            return ()

    def _repr_html_(self) -> str:
        rows = [
            ("model", self.info.model.name),
            ("data", self.info.data.name),
            ("suite", self.recipe.suite.name),
            ("conditions", len(self.conditions)),
            ("images", self.recipe.data.count),
            ("folder", str(self.path)),
        ]
        return warnings_html(self._shown_warnings()) + html_table((), rows)


def pandas_frame(table: pa.Table) -> Any:
    """An Arrow table as a pandas DataFrame."""
    load_extra("pandas", "to_pandas()")
    return table.to_pandas()


def polars_frame(table: pa.Table) -> Any:
    """An Arrow table as a polars DataFrame."""
    return load_extra("polars", "to_polars()").from_arrow(table)


def warnings_html(texts: Iterable[str]) -> str:
    return "".join(f"<p><strong>WARNING</strong> {escape(text)}</p>" for text in texts)


def load_run(
    path: str | Location, *, baseline: str | Location | Run | None = None, group: str | None = None
) -> Run:
    """Open a run folder, complete or incomplete.

    Args:
        path: the run folder.
        baseline: a run on the same images, to normalise corruption errors by.
        group: a column of the data's table by which images are clustered; None for the run's own column.
    """
    return Run(ScoredRun(path).scored_as(_scoring_of(baseline), group))


def _scoring_of(run: str | Location | Run | None) -> str | Location | ScoredRun | None:
    return run.scoring if isinstance(run, Run) else run


def scored_runs(runs: Iterable[str | Location | Run]) -> list[ScoredRun]:
    """Run folders and `Run` objects as objects for comparisons and reports."""
    return [run.scoring if isinstance(run, Run) else ScoredRun(run) for run in runs]
