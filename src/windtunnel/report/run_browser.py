"""Browsing run folders: what is in a folder of runs, and any image under any condition."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from windtunnel.analysis.multi_run import several
from windtunnel.core.conditions import Condition
from windtunnel.core.errors import UserError
from windtunnel.core.metrics import metric_of, title_of
from windtunnel.imaging.codecs.png import png
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.report.multi_run import render_multi_run
from windtunnel.report.score_format import decimals, scale, unit
from windtunnel.report.source_images import (
    SourceImages,
    class_names,
    label_names,
    missing_data_note,
    open_source_images,
    prediction_name,
)
from windtunnel.store.folder import RECIPE_FILE

# Folders below the given one in which runs are found.
DEPTH = 3
# Runs whose predictions are kept in memory.
OPEN_RUNS = 8
# The list of folders is read again after this many seconds when single runs are asked for.
KEYS_SECONDS = 1.0
# Runs on the same images that are shown with one image.
MODELS_SHOWN = 24
PREDICTION_COLUMNS = ("condition", "frame", "top", "top_score", "label_rank", "logsumexp", "status", "reason")


class NoSuchRun(UserError):
    """There is no run, image or condition of this name."""


@dataclass(frozen=True)
class Axis:
    """A score that runs can be sorted by and plotted against.

    Attributes:
        key: metric and condition.
        title: its words, with the unit.
        direction: `lower`, `higher` or `none` is better.
        decimals: digits to show after the point.
        overall: whether it is a score over several conditions.
    """

    key: str
    title: str
    direction: str
    decimals: int
    overall: bool


class RunBrowser:
    """The runs in a folder, read when they are asked for; may be used by several threads."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._lock = threading.RLock()
        self._open: OrderedDict[tuple[str, float], tuple[ScoredRun, SourceImages | None]] = OrderedDict()
        self._listed: dict[str, _Listed] = {}
        self._keys: frozenset[str] = frozenset()
        self._keys_until = 0.0
        if not self.folder.is_dir():
            raise UserError(f"{folder} is no folder; give a folder that contains run folders.")

    def keys(self) -> list[str]:
        """The runs, by their paths relative to the folder; `.` is the folder itself."""
        found = sorted(_run_folders(self.folder))
        self._keys, self._keys_until = frozenset(found), time.monotonic() + KEYS_SECONDS
        return found

    def listing(self) -> dict[str, Any]:
        """All runs with their stored scores, and the axes of these scores."""
        with self._lock:
            self._listed = {key: self._read(key) for key in self.keys()}
            runs = [found.row for found in self._listed.values()]
        axes: dict[str, Axis] = {}
        for row in runs:
            for name in row["scores"]:
                if name not in axes:
                    axes[name] = _axis(name)
        ordered = sorted(axes.values(), key=lambda axis: (not axis.overall, axis.title))
        return {"runs": runs, "axes": [asdict(axis) for axis in ordered]}

    def _read(self, key: str) -> _Listed:
        """What is listed of a run; its files are read again only if they have changed."""
        folder = self.folder / key
        stamp = tuple(_modified(folder / name) for name in (RECIPE_FILE, "scores.json", "report.html"))
        found = self._listed.get(key)
        if found is None or found.stamp != stamp:
            found = self._listed[key] = _listed(folder, key, stamp)
        return found

    def report(self, key: str) -> bytes:
        """The HTML report of a run."""
        folder = self._folder(key).resolve()
        file = folder / "report.html"
        # A link could lead to any file of the machine.
        if not file.is_file() or file.resolve() != file:
            raise NoSuchRun(f"{key} has no report; windtunnel report writes it.")
        return file.read_bytes()

    def comparison(self, keys: Sequence[str]) -> str:
        """The HTML page that compares runs with the first of them."""
        if len(keys) < 2:
            raise UserError("Choose at least two runs to compare.")
        with self._lock:
            return render_multi_run(several(*(self._opened(key)[0] for key in keys)))

    def images(
        self, key: str, condition: str, shown: str = "all", query: str = "", start: int = 0, count: int = 60
    ) -> dict[str, Any]:
        """A part of the images of a run with their predicted classes under a condition.

        Args:
            key: the run.
            condition: one of its conditions with one image each.
            shown: `all`, `wrong` or `correct` predictions.
            query: a part of the image's id or label; "" for any.
            start: number of matches to leave out.
            count: number of images.
        """
        with self._lock:
            run, _ = self._opened(key)
            observed = run.observed
            names = list(observed.conditions)
            condition = condition or (names[-1] if names else "")
            if condition not in names:
                raise NoSuchRun(f"{key} has no condition '{condition}' with one image each.")
            column, classes = observed.column(condition), class_names(run)
            rows = np.flatnonzero(observed.kept)
            wanted = {"wrong": observed.wrong, "correct": observed.correct}.get(shown)
            chosen = np.arange(len(rows)) if wanted is None else np.flatnonzero(wanted[:, column])
            ids = observed.ids
            if query:
                labels = {label: label_names(run, label).casefold() for label in set(observed.labels)}
                text = query.casefold()
                chosen = np.array(
                    [n for n in chosen if text in ids[n].casefold() or text in labels[observed.labels[n]]],
                    int,
                )
            confident = observed.confidence if observed.gives_probabilities else None
            return {
                "condition": condition,
                "conditions": names,
                "total": len(chosen),
                "images": [
                    {
                        "row": int(rows[n]),
                        "image": str(ids[n]),
                        "label": label_names(run, observed.labels[n]),
                        "predicted": prediction_name(classes, int(observed.chosen[n, column])),
                        "confidence": None if confident is None else float(confident[n, column]),
                        "correct": bool(observed.correct[n, column]),
                    }
                    for n in chosen[start : start + count]
                ],
            }

    def image(self, key: str, row: int, condition: str, frame: int = 0) -> dict[str, Any]:
        """One image of a run, and what each model on the same images predicted under a condition."""
        with self._lock:
            run, sources = self._opened(key)
            found = self._condition(run, key, row, condition)
            labels = run.samples["labels"][row].as_py()
            data = (run.recipe.data.digest, run.recipe.seed)
            same = [other for other in self.keys() if other == key or self._read(other).data == data]
            predictions = [self._prediction(other, row, condition, frame) for other in same[:MODELS_SHOWN]]
            return {
                "image": run.samples["id"][row].as_py(),
                "row": row,
                "rows": run.recipe.data.count,
                "label": label_names(run, labels),
                "condition": condition,
                "frames": found.frames,
                "conditions": [name.name for name in run.conditions],
                "predictions": [prediction for prediction in predictions if prediction],
                "note": "" if sources else missing_data_note(run),
            }

    def pixels(self, key: str, row: int, condition: str, frame: int = 0) -> bytes:
        """An image under a condition as PNG, made again from the run's recipe."""
        with self._lock:
            run, sources = self._opened(key)
            found = self._condition(run, key, row, condition)
            if not 0 <= frame < found.frames:
                raise NoSuchRun(f"{condition} has {found.frames} frames; there is no frame {frame}.")
            image = str(run.samples["id"][row].as_py())
            frames = sources.frames_under(image, condition) if sources else None
            if not frames:
                raise NoSuchRun("The source image is missing or has changed since the run.")
            return png.function(np.ascontiguousarray(frames[0][frame]))

    def _prediction(self, key: str, row: int, condition: str, frame: int) -> dict[str, Any] | None:
        """The five best classes of a run's model on one image; None if the run has no such prediction."""
        run = ScoredRun(self._folder(key))
        table = run.image_predictions(row, PREDICTION_COLUMNS)
        if table is None:
            return None
        for line in table.to_pylist():
            if line["condition"] == condition and line["frame"] == frame:
                break
        else:
            return None
        names = class_names(run)
        best = [
            {
                "class": prediction_name(names, output),
                "probability": _probability(run, score, line["logsumexp"]),
            }
            for output, score in zip(line["top"] or (), line["top_score"] or (), strict=True)
            if output is not None and output >= 0
        ]
        return {
            "run": key,
            "model": run.info.model.name,
            "best": best,
            "correct": None if line["label_rank"] is None else line["label_rank"] == 0,
            "problem": "" if line["status"] == "ok" else f"{line['status']}: {line['reason'] or ''}",
        }

    def _condition(self, run: ScoredRun, key: str, row: int, name: str) -> Condition:
        if not 0 <= row < run.recipe.data.count:
            raise NoSuchRun(f"{key} has {run.recipe.data.count} images; there is no image {row}.")
        found = [condition for condition in run.conditions if condition.name == name]
        if not found:
            raise NoSuchRun(f"{key} has no condition '{name}'.")
        return found[0]

    def _folder(self, key: str) -> Path:
        """The folder of a run; refuses every path that is not in the list of runs."""
        if time.monotonic() > self._keys_until or key not in self._keys:
            self.keys()
        if key not in self._keys:
            raise NoSuchRun(f"There is no run '{key}' in {self.folder.name}.")
        return self.folder / key

    def _opened(self, key: str) -> tuple[ScoredRun, SourceImages | None]:
        """A run and its source images; those used last are kept open."""
        folder = self._folder(key)
        known = (key, _modified(folder / RECIPE_FILE))
        if known not in self._open:
            run = ScoredRun(folder)
            self._open[known] = (run, open_source_images(run))
        self._open.move_to_end(known)
        while len(self._open) > OPEN_RUNS:
            self._open.popitem(last=False)
        return self._open[known]


@dataclass(frozen=True)
class _Listed:
    """A run of the list.

    Attributes:
        stamp: when its files were changed.
        row: what the list shows.
        data: digest of its images and seed; None if it cannot be read.
    """

    stamp: tuple[float, ...]
    row: dict[str, Any]
    data: tuple[str, int] | None


def _listed(folder: Path, key: str, stamp: tuple[float, ...]) -> _Listed:
    """One run of the list; a folder that cannot be read has only its problem."""
    row: dict[str, Any] = {
        "run": key, "model": "", "data": "", "suite": "", "images": 0, "conditions": 0, "seed": 0,
        "time": datetime.fromtimestamp(stamp[0], UTC).isoformat(timespec="minutes"),
        "report": (folder / "report.html").is_file(), "scores": {}, "warnings": 0, "problem": "",
    }  # fmt: skip
    try:
        run = ScoredRun(folder)
    except UserError as error:
        return _Listed(stamp, row | {"problem": str(error)}, None)
    row |= {
        "model": run.info.model.name, "data": run.info.data.name, "suite": run.info.suite,
        "images": run.recipe.data.count, "conditions": len(run.conditions), "seed": run.recipe.seed,
    }  # fmt: skip
    stored = _stored_scores(folder / "scores.json")
    if not stored:
        stored = {"problem": "No stored scores: the run is not finished, or has no report yet."}
    return _Listed(stamp, row | stored, (run.recipe.data.digest, run.recipe.seed))


def _stored_scores(file: Path) -> dict[str, Any]:
    """The stored scores of a run, as they are shown; empty if there are none."""
    try:
        document = json.loads(file.read_bytes())
        return {
            "scores": {
                f"{row['metric']} {row['condition']}".strip(): [
                    scale(row["metric"]) * row[part] for part in ("value", "low", "high")
                ]
                for row in document["scores"]
            },
            "warnings": len(document["warnings"]),
        }
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _run_folders(root: Path) -> Iterator[str]:
    """Run folders below a folder, as relative paths; links are not followed."""
    for place, folders, files in os.walk(root):
        relative = Path(place).relative_to(root)
        if RECIPE_FILE in files:
            yield relative.as_posix()
            folders.clear()
        elif len(relative.parts) >= DEPTH:
            folders.clear()


def _modified(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def _axis(key: str) -> Axis:
    """The axis of a stored score."""
    metric, _, condition = key.partition(" ")
    declared = metric_of(metric)
    title = " ".join(filter(None, (title_of(metric), condition)))
    text = f"{title}, {unit(metric)}" if unit(metric) else title
    return Axis(key, text, declared.direction if declared else "none", decimals(metric), not condition)


def _probability(run: ScoredRun, score: float | None, logsumexp: float | None) -> float | None:
    """The probability of a class from its stored score; None if it is unknown."""
    outputs = run.recipe.model.outputs
    if score is None or outputs not in ("logits", "probabilities"):
        return None
    if outputs == "probabilities":
        return float(score)
    return None if logsumexp is None else float(np.exp(np.float64(score) - np.float64(logsumexp)))
