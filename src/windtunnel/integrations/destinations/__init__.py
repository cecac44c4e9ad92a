"""Destinations of results, one file each: experiment trackers and files of model cards."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.core.calls import CalledPlugin, Parameter, Settings
from windtunnel.core.errors import UserError
from windtunnel.core.extras import load_extra
from windtunnel.core.registry import Registry
from windtunnel.core.scores import Score

__all__ = [
    "REGISTRY",
    "Destination",
    "LoggedRun",
    "Parameter",
    "Settings",
    "metric_values",
    "writable_folder",
    "yaml_text",
]

# Characters that MLflow and Weights & Biases accept in the name of a metric.
_OTHER = re.compile(r"[^A-Za-z0-9_./-]")


@dataclass(frozen=True)
class LoggedRun:
    """A finished run, as destinations receive it.

    Attributes:
        model, suite, data: names; the suite with its version.
        scores: all scores.
        headline: the score that the suite is cited by.
        settings: facts of the run as texts: seed, images, fingerprint of the model, versions.
        tags: the model's tags.
        warnings: reasons to doubt the scores.
        files: report.html, scores.json and scores.csv, those that exist.
    """

    model: str
    suite: str
    data: str
    scores: tuple[Score, ...]
    headline: Score
    settings: dict[str, str]
    tags: tuple[str, ...]
    warnings: tuple[str, ...]
    files: tuple[Path, ...]

    @property
    def name(self) -> str:
        """The model and the suite."""
        return f"{self.model}, {self.suite}"


class Destination(CalledPlugin):
    """A system that results are sent to, or a file format. A subclass declares facts and overrides `log`.

    Attributes:
        uploads: whether it can send results over the network; it does so only if that is asked for.
    """

    uploads: bool = False

    def __init__(self) -> None:
        missing = ["log(runs, settings, upload)"] if type(self).log is Destination.log else []
        self.refuse_incomplete(("name", "help", "source"), missing)

    def log(self, runs: Sequence[LoggedRun], settings: Settings, upload: bool) -> list[str]:
        """Log runs; returns where each result is. Without `upload` nothing leaves this machine."""
        raise NotImplementedError

    def check(self, settings: Settings) -> None:
        """Refuse settings that cannot work, before any run is scored."""


REGISTRY: Registry[Destination] = Registry("destination", __name__, Destination, separator="-")


def metric_values(run: LoggedRun) -> dict[str, float]:
    """Every score by a name that trackers accept: `mean_error`, `top1_error/fog_3`.

    The ends of the confidence interval of scores over several conditions are `mean_error_low` and
    `mean_error_high`. Values are fractions, or in the metric's own unit.
    """
    values: dict[str, float] = {}
    for score in run.scores:
        name = _OTHER.sub("_", f"{score.metric}/{score.condition}" if score.condition else score.metric)
        values[name] = score.value
        if not score.condition:
            values |= {f"{name}_low": score.low, f"{name}_high": score.high}
    return {name: value for name, value in values.items() if math.isfinite(value)}


def writable_folder(settings: Settings) -> Path:
    """The folder of the parameter `folder`, made if it does not exist."""
    folder = Path(str(settings["folder"]))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"The folder {folder} cannot be made: {error.strerror}; give another one as folder=FOLDER."
        ) from error
    return folder.resolve()


def yaml_text(content: object, destination: str) -> str:
    """Content as YAML; keys stay in their order."""
    yaml = load_extra("yaml", f"The destination {destination}")
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=1000))
