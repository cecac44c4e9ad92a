"""Inspect datasets, and measure the distance between two."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from windtunnel.analysis.distance import Distance, measure_distance
from windtunnel.core.option_names import spelled
from windtunnel.core.progress import Progress, silent
from windtunnel.data import Dataset
from windtunnel.data.inspection import Inspection, inspect
from windtunnel.data.single_condition import open_as_run_reads
from windtunnel.options import DistanceOptions
from windtunnel.suites.inclusion import include_files


def inspect_dataset(data: str | Path | Dataset, *, progress: Progress = silent) -> Inspection:
    """Decode and count every image of a dataset: classes, sizes, formats, rotated and unreadable files.

    Args:
        data: a dataset as `run` accepts it.
        progress: counts decoded images.
    """
    dataset, remarks = open_as_run_reads(data)
    inspection = inspect(dataset, progress, remarks)
    return replace(inspection, remarks=[*map(spelled, inspection.remarks)])


def distance(
    a: str | Path | Dataset,
    b: str | Path | Dataset,
    features: str | Path,
    options: DistanceOptions = DistanceOptions(),  # noqa: B008 (frozen)
    *,
    progress: Progress = silent,
    progress_splits: Progress = silent,
    **changes: Any,
) -> Distance:
    """Measure the Fréchet distance between two datasets in the features of a network.

    ||m1 - m2||^2 + tr(C1 + C2 - 2 (C1 C2)^(1/2)), of equal numbers of images, over several random splits.

    Args:
        a: a dataset; of a corrupted set one condition, such as `imagenet-c#fog:3`; of a natural set its own
            images, as `run` reads them. Labels are not needed. Every split samples one frame of each video
            (frame sets, or the column `video` of a table).
        b: another dataset.
        features: an ONNX file. Features with a height and a width are averaged over them.
        options: output, preprocessing, groups and splits; see `windtunnel.options.DistanceOptions`.
        progress: counts images whose features are computed.
        progress_splits: counts splits.
        changes: single options by name, such as `output="pool"`; they override `options`.

    Returns:
        The distance, the distances within A and within B, and the excess over their mean.

    Raises:
        UserError: no such data, network or output, or too few images.
    """
    chosen = options.with_changes(changes)
    include_files(chosen.include)
    return measure_distance(a, b, features, chosen, progress=progress, progress_splits=progress_splits)
