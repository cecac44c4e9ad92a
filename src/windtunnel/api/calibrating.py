"""Fit a temperature to a stored run."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from windtunnel.analysis import temperature
from windtunnel.core.errors import UserError
from windtunnel.core.locations import Location, location_of
from windtunnel.core.progress import Progress, silent
from windtunnel.core.wording import counted
from windtunnel.data.survey import survey
from windtunnel.models.temperature_file import TemperatureFit
from windtunnel.report.source_images import open_run_data
from windtunnel.runs import Run, load_run
from windtunnel.store.atomic_files import write_whole


def fit_temperature(run: Run | str | Path, progress: Progress = silent) -> TemperatureFit:
    """Fit the temperature of a run's model to the clean images of the run.

    Args:
        run: a finished run, or its folder; its images must not be scored with the temperature.
        progress: counts images that are decoded, to recognise copies of them.

    Returns:
        The temperature with its interval, the mean negative log-likelihood before and after, warnings, and
        the ids and hashes of the images.

    Raises:
        UserError: the run has no full outputs of clean images, or too few images.
    """
    opened = run if isinstance(run, Run) else load_run(run)
    return _with_pixels(temperature.fit_temperature(opened.scoring), opened, progress)


def write_temperature(fit: TemperatureFit, file: str | Location) -> None:
    """Write a fitted temperature to a JSON file, for the wrapper `temperature(file=FILE)`."""
    write_whole(location_of(file), (json.dumps(fit.to_json(), indent=2) + "\n").encode())


def _with_pixels(fit: TemperatureFit, run: Run, progress: Progress) -> TemperatureFit:
    """The fit with hashes of the decoded images, or with a warning if images cannot be read again."""
    stored = run.scoring.samples
    contents = dict(zip(stored["id"].to_pylist(), stored["content"].to_pylist(), strict=True))
    wanted = set(fit.ids)
    try:
        data = open_run_data(run.scoring)
        surveyed = survey(
            data, [sample for sample in data.samples() if sample.id in wanted], progress, decoded=True
        )
    except UserError:
        surveyed = []
    pixels = [
        image.pixels for image in surveyed if image.pixels and image.content == contents[image.sample.id]
    ]
    warnings = fit.warnings
    if missing := len(fit.ids) - len(pixels):
        warnings += (
            f"{counted(missing, 'image')} of {run.info.data.location} cannot be read again or changed since "
            "the run; copies of them in other files will not be recognised.",
        )
    return msgspec.structs.replace(fit, pixels=tuple(pixels), warnings=warnings)
