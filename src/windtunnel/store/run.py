"""Reading a run: its recipe, pictures, predictions and scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from windtunnel.conditions import digest
from windtunnel.errors import UserError
from windtunnel.store.folder import SAMPLES_FILE, SHARDS_FOLDER, read_run_json
from windtunnel.store.parquet import read_parquet

if TYPE_CHECKING:
    from windtunnel.metrics.observed import Observed
    from windtunnel.metrics.score import Score


# Id, content hash and names of the classes.
Picture = tuple[str, str, tuple[str, ...]]


class Run:
    """One model on one data set under many conditions, on disk.

    Example:
        >>> run = windtunnel.load_run("windtunnel-runs/demo")  # doctest: +SKIP
        >>> run.scores()[0].value  # doctest: +SKIP
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        content = read_run_json(self.path)
        self.recipe: dict[str, Any] = content["recipe"]
        self.info: dict[str, Any] = content["info"]
        self.digest: str = content["recipe_digest"]
        self.baseline: Run | None = None

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    @property
    def conditions(self) -> list[dict[str, Any]]:
        """The conditions, in the suite's order."""
        return list(self.recipe["conditions"])

    @property
    def metrics(self) -> list[str]:
        """What is scored; runs of an older kind hold it in the recipe."""
        return list(self.info.get("scoring", self.recipe["suite"])["metrics"])

    @property
    def weights(self) -> dict[str, float]:
        """The suite's weights of corruptions, if any."""
        return dict(self.info.get("scoring", {}).get("weights", {}))

    @property
    def missing(self) -> list[str]:
        """Conditions of the suite that a finished set does not hold."""
        return list(self.info.get("missing", []))

    @cached_property
    def samples(self) -> pa.Table:
        """The pictures: id, labels (indices into the data's classes), content hash, width, height, format.

        `meta` holds what else the data says of a picture, as JSON; runs of an older kind lack it. `source` is
        the content hash of what a finished picture was made of, in runs over made sets.
        """
        return _read(self.path / SAMPLES_FILE, None, int(self.recipe["data"]["count"]))

    @cached_property
    def pictures(self) -> dict[str, Picture]:
        """By id, what makes a picture the same in two runs: id, content and names of its classes.

        The content is the source's, so that finished pictures are those they were made of.
        """
        classes = self.info["data"]["classes"]
        content = self.samples["content"]
        if "source" in self.samples.column_names:
            content = pc.coalesce(self.samples["source"], content)
        rows = zip(self.samples["id"].to_pylist(), content.to_pylist(), self.samples["labels"].to_pylist(),
                   strict=True)  # fmt: skip
        return {
            id_: (id_, hash_ or "", tuple(str(classes[label]) for label in labels))
            for id_, hash_, labels in rows
        }

    @property
    def expected_rows(self) -> int:
        """How many rows the finished run has."""
        return int(self.recipe["data"]["count"]) * len(self.conditions)

    def predictions(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Every prediction as an Arrow table, sorted by picture and condition."""
        wanted = None if columns is None else list(dict.fromkeys(["sample_id", *columns]))
        shards = list(self.shards(wanted))
        if not shards:
            raise UserError(f"{self.path} holds no predictions yet; run the same command to go on.")
        return pa.concat_tables(shards)

    def shards(self, columns: Sequence[str] | None) -> Iterator[pa.Table]:
        """The finished shards' columns, in the order of pictures; what is not finished is left out."""
        if not self.path.is_dir():
            raise UserError(f"{self.path} has gone since it was opened; restore it, or run again.")
        size, count = int(self.recipe["chunk"]), int(self.recipe["data"]["count"])
        for start in range(0, count, size):
            path = self.path / SHARDS_FOLDER / f"{digest([self.digest, start])}.parquet"
            if path.exists():
                yield _read(path, columns, min(size, count - start) * len(self.conditions))

    @cached_property
    def observed(self) -> Observed:
        """What the model said of every complete picture under every condition."""
        from windtunnel.metrics.observed import Observed

        return Observed(self)

    def report(self) -> Path:
        """Write report.html, scores.json and scores.csv into the run folder; returns the page's path."""
        from windtunnel.report.files import write_reports

        try:
            return write_reports(self, self.scores()).html
        except OSError as error:
            raise UserError(
                f"{error.filename or self.path} cannot be written: {error.strerror or error}; copy the run "
                "folder to where you may write."
            ) from error

    def scores(
        self, metrics: Sequence[str] | None = None, *, baseline: str | Path | Run | None = None
    ) -> list[Score]:
        """Every score the suite asks for, each with interval, n, formula and parts.

        Args:
            metrics: other metrics than the suite's.
            baseline: a run on the same pictures, to divide CE, mCE and relative mCE by.
        """
        from windtunnel.metrics.score import score_run

        return score_run(self if baseline is None else self.against(baseline), metrics)

    def against(self, baseline: str | Path | Run) -> Run:
        """The same run, its corruption errors divided by those of a stored run on the same pictures."""
        from windtunnel.metrics.baseline import check_baseline

        found = Run(self.path)
        found.baseline = baseline if isinstance(baseline, Run) else Run(baseline)
        check_baseline(found, found.baseline)
        return found


def load_run(path: str | Path, *, baseline: str | Path | Run | None = None) -> Run:
    """Open a finished or unfinished run folder, with a run to divide corruption errors by if one is given."""
    return Run(path) if baseline is None else Run(path).against(baseline)


def _read(path: Path, columns: Sequence[str] | None, rows: int) -> pa.Table:
    """One of a run's tables, which holds as many rows as it should, or else is damaged."""
    try:
        table = read_parquet(path, list(columns) if columns else None)
        if len(table) == rows:
            return table
        reason = f"{len(table):,} rows where {rows:,} belong"
    except FileNotFoundError:
        raise UserError(f"{path} is missing; run the same command to make it again.") from None
    except (pa.ArrowException, OSError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
    raise UserError(f"{path} is damaged ({reason}); run the same command to make it again.")
