"""Score predictions that were made elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from windtunnel.core.progress import Progress, silent
from windtunnel.data import Dataset
from windtunnel.importing import imported_run
from windtunnel.options import ScoreOptions
from windtunnel.runs import Run
from windtunnel.suites.suite import Suite


def score_predictions(
    predictions: str | Path,
    data: str | Path | Dataset,
    suite: str | Path | Suite | None = None,
    options: ScoreOptions = ScoreOptions(),  # noqa: B008 (frozen)
    *,
    progress: Progress = silent,
    **changes: Any,
) -> Run:
    """Make a run folder from predictions made elsewhere, for scores, reports and comparisons.

    Args:
        predictions: Parquet, npz, CSV, JSON or JSONL: a row per sample id and condition (none: clean), with
            the scores of all classes, or the top classes. Rows of images that the data contains and the run
            does not score are ignored and counted; rows of unknown images are refused. For annotated data,
            a COCO result file, or a folder with one per condition (`clean.json`, `fog/3.json`).
        data: the images of the predictions.
        suite: the suite of their conditions; by default imagenet-c, or the suite of a precomputed or natural
            set. Conditions without any prediction are reported and left out.
        options: outputs, label map and other options; see `windtunnel.options.ScoreOptions`. With `clean`,
            predictions on the clean images of a natural set have the ids `clean/...`.
        progress: counts surveyed images.
        changes: single options by name, such as `partial=True`; they override `options`.
    """
    run = Run(
        imported_run.score_predictions(predictions, data, suite, options.with_changes(changes), progress)
    )
    run.warn()
    return run
