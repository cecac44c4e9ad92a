"""Fit a temperature to a stored run."""

from __future__ import annotations

import json
from pathlib import Path

from windtunnel.analysis import temperature
from windtunnel.core.locations import Location, location_of
from windtunnel.models.temperature_file import TemperatureFit
from windtunnel.runs import Run, load_run
from windtunnel.store.atomic_files import write_whole


def fit_temperature(run: Run | str | Path) -> TemperatureFit:
    """Fit the temperature of a run's model to the clean images of the run.

    Args:
        run: a finished run, or its folder; its images must not be scored with the temperature.

    Returns:
        The temperature, the mean negative log-likelihood before and after, and the hashes of the images.

    Raises:
        UserError: the run has no full outputs of clean images, or too few images.
    """
    opened = run if isinstance(run, Run) else load_run(run)
    return temperature.fit_temperature(opened.scoring)


def write_temperature(fit: TemperatureFit, file: str | Location) -> None:
    """Write a fitted temperature to a JSON file, for the wrapper `temperature(file=FILE)`."""
    write_whole(location_of(file), (json.dumps(fit.to_json(), indent=2) + "\n").encode())
