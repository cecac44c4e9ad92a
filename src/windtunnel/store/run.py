"""Reading a run: its recipe, images, predictions and scores."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windtunnel.core.conditions import digest
from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.labels import Projection
from windtunnel.data.label_spaces import class_keys
from windtunnel.store.folder import GROUPS_FILE, SAMPLES_FILE, SHARDS_FOLDER, read_run_json
from windtunnel.store.parquet import read_parquet

if TYPE_CHECKING:
    from windtunnel.core.scores import Score
    from windtunnel.metrics.frame_predictions import Clips
    from windtunnel.metrics.ood_detection import Outside
    from windtunnel.metrics.parts import Part
    from windtunnel.metrics.prediction_matrix import Observed


# Id, content hash and keys of the classes.
ImageIdentity = tuple[str, str, tuple[str, ...]]


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
        # The column of the data's table whose values say which images belong together, "" for none.
        self.group = str(self.info.get("scoring", {}).get("group", ""))
        # Whether nobody asked for these groups: videos, found by looking.
        self.group_found = bool(self.info.get("scoring", {}).get("group_found", False))

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
        """The images: id, labels (indices into the data's classes), content hash, width, height, format.

        `meta` holds what else the data says of an image, as JSON; runs of an older kind lack it. `source` is
        the content hash of what a finished image was made of, in runs over made sets.
        """
        return _read(self.path / SAMPLES_FILE, None, int(self.recipe["data"]["count"]))

    @cached_property
    def columns(self) -> dict[str, list[str]]:
        """What else the data's table says of every image, by column; "" where it says nothing."""
        if "meta" not in self.samples.column_names:
            return {}
        rows = [json.loads(text) for text in self.samples["meta"].to_pylist()]
        names = sorted({name for row in rows for name in row})
        return {name: [str(row.get(name) or "") for row in rows] for name in names}

    @property
    def natural(self) -> dict[str, Any]:
        """Of a run over a natural set its `set`, `parts` and counts, as the recipe holds them; else {}."""
        return dict(self.recipe["data"].get("natural") or {})

    @cached_property
    def outside(self) -> NDArray[np.bool_]:
        """Which of the run's images are out of distribution, and so have no label."""
        parts = self.natural.get("parts", ())
        names = [one["name"] for one in parts if one["role"] == "out"]
        if not names:
            return np.zeros(int(self.recipe["data"]["count"]), bool)
        return np.isin(np.array(self.columns["part"]), names)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The parts of a natural set (shifted or out, and clean); () for ordinary runs."""
        from windtunnel.metrics.parts import parts_of

        return parts_of(self)

    @cached_property
    def frame_sets(self) -> pa.Table | None:
        """Video frames by anchor: group, sample_id, offset, role (`anchor`, `neighbour`); None for none."""
        rows = self.natural.get("frames")
        return _read(self.path / GROUPS_FILE, None, int(rows)) if rows else None

    @cached_property
    def detectors(self) -> Outside | None:
        """Every out-of-distribution score of out and clean images; None for runs without either."""
        from windtunnel.metrics.ood_detection import outside_of

        return outside_of(self)

    @property
    def projection(self) -> Projection:
        """How the model's outputs, as `logits` holds them, become classes."""
        return Projection.from_json(self.recipe["projection"])

    @cached_property
    def groups(self) -> NDArray[np.int64] | None:
        """Of every scored image the number of its group, or None where every one stands for itself."""
        return self.groups_of(self.scored)

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Which of the run's images its scores rest on; sequences and swapped steps need no labels."""
        sequences = any(condition["kind"] == "sequence" for condition in self.conditions)
        return self.clips.kept if sequences else self.observed.answered.kept

    def groups_of(self, kept: NDArray[np.bool_]) -> NDArray[np.int64] | None:
        """The same of any images; one of which the column says nothing is its own group."""
        if not self.group:
            return None
        if self.group not in self.columns:
            raise unknown_name("column to group by", self.group, self.columns)
        values = self.columns[self.group]
        own = [value or f"\0{row}" for row, value in enumerate(values)]
        names, number = np.unique(np.array(own)[kept], return_inverse=True)
        if self.group_found and len(self.group_values(kept)) < 2:
            return None
        if len(names) < 2:
            raise UserError(f"All images of {self.path} have one {self.group}; intervals need two groups.")
        return None if len(names) == len(number) else number

    def group_values(self, kept: NDArray[np.bool_]) -> set[str]:
        """What the column to group by says of some images, where it says anything."""
        return {
            value for value, is_kept in zip(self.columns[self.group], kept, strict=True) if value and is_kept
        }

    @cached_property
    def class_keys(self) -> list[str]:
        """What identifies each class in other runs: its name, or the index of a class of ImageNet-1k.

        A run that reads class indices as ImageNet-1k's then joins one over the same data that does not.
        """
        return class_keys(self.recipe["data"]["label_space"], [*map(str, self.info["data"]["classes"])])

    @cached_property
    def images(self) -> dict[str, ImageIdentity]:
        """By id, what makes an image the same in two runs: id, content and its classes' keys.

        The content is the source's, so that finished images are those they were made of.
        """
        classes = self.class_keys
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
        return int(self.recipe["data"]["count"]) * self.views

    @cached_property
    def views(self) -> int:
        """How many rows an image has: every condition's frames."""
        return sum(map(frames_of, self.conditions))

    def predictions(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Every prediction as an Arrow table, sorted by image and condition."""
        wanted = None if columns is None else list(dict.fromkeys(["sample_id", *columns]))
        shards = list(self.shards(wanted))
        if not shards:
            raise UserError(f"{self.path} holds no predictions yet; run the same command to go on.")
        return pa.concat_tables(shards)

    def shards(self, columns: Sequence[str] | None) -> Iterator[pa.Table]:
        """The finished shards' columns, in the order of images; what is not finished is left out."""
        if not self.path.is_dir():
            raise UserError(f"{self.path} has gone since it was opened; restore it, or run again.")
        size, count = int(self.recipe["chunk"]), int(self.recipe["data"]["count"])
        for start in range(0, count, size):
            path = self.path / SHARDS_FOLDER / f"{digest([self.digest, start])}.parquet"
            if path.exists():
                yield _read(path, columns, min(size, count - start) * self.views)

    @cached_property
    def observed(self) -> Observed:
        """What the model said of every complete image under every condition."""
        from windtunnel.metrics.prediction_matrix import Observed

        return Observed(self)

    @cached_property
    def clips(self) -> Clips:
        """What the model said of every frame of every sequence."""
        from windtunnel.metrics.frame_predictions import Clips

        return Clips(self)

    def report(self, explain: Any = None, preprocess: str | Path | None = None) -> Path:
        """Write report.html, scores.json and scores.csv into the run folder; returns the page's path.

        Args:
            explain: the run's model, to draw what the wrong answers of shown images hang on; None for none.
            preprocess: as the run had it.
        """
        from windtunnel.models import load_model
        from windtunnel.report.files import write_reports
        from windtunnel.report.saliency import explain_nothing, explain_with

        how = explain_nothing if explain is None else explain_with(self, load_model(explain, preprocess))
        try:
            return write_reports(self, self.scores(), how).html
        except OSError as error:
            raise UserError(
                f"{error.filename or self.path} cannot be written: {error.strerror or error}; copy the run "
                "folder to where you may write."
            ) from error

    def scores(
        self,
        metrics: Sequence[str] | None = None,
        *,
        baseline: str | Path | Run | None = None,
        group: str | None = None,
    ) -> list[Score]:
        """Every score the suite asks for, each with interval, n, formula and parts.

        Args:
            metrics: other metrics than the suite's.
            baseline: a run on the same images, to divide CE, mCE, FR, T5D and their like by.
            group: a column of the data's table; images with the same value (of one patient, one video) stay
                together in every interval. "" for none, None as the run says.
        """
        from windtunnel.metrics.score import score_run

        return score_run(self._seen_as(baseline, group), metrics)

    def against(self, baseline: str | Path | Run) -> Run:
        """The same run, its corruption errors divided by those of a stored run on the same images."""
        return self._seen_as(baseline, None)

    def grouped_by(self, column: str) -> Run:
        """The same run, images with the same value in a column of the data's table staying together."""
        return self._seen_as(None, column)

    def _seen_as(self, baseline: str | Path | Run | None, group: str | None) -> Run:
        """The same predictions beside another baseline or in other groups; None leaves either as it is."""
        from windtunnel.metrics.baseline import check_baseline

        if baseline is None and group is None:
            return self
        found = copy(self)
        if group is not None:
            found.group, found.group_found = group, False
            for cached in ("groups", "detectors"):  # both depend on the groups
                found.__dict__.pop(cached, None)
        if baseline is not None:
            found.baseline = baseline if isinstance(baseline, Run) else Run(baseline)
            check_baseline(found, found.baseline)
        return found


def frames_of(condition: Mapping[str, Any]) -> int:
    """How many rows a stored condition has per image."""
    return int(condition.get("frames", 1))


def load_run(path: str | Path, *, baseline: str | Path | Run | None = None, group: str | None = None) -> Run:
    """Open a finished or unfinished run folder.

    Args:
        path: the run folder.
        baseline: a run on the same images, to divide corruption errors by.
        group: a column of the data's table whose values say which images belong together; None as the run
            says.
    """
    return Run(path)._seen_as(baseline, group)


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
