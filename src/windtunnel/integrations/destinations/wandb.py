"""Weights & Biases: a run with settings, summary metrics and a table of scores."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from windtunnel.core.errors import UserError, first_line
from windtunnel.core.extras import load_extra
from windtunnel.integrations.destinations import (
    Destination,
    LoggedRun,
    Parameter,
    Settings,
    metric_values,
    writable_folder,
)

COLUMNS = ("metric", "condition", "value", "low", "high", "n")


class Wandb(Destination):
    """Weights & Biases in offline mode: `wandb sync` uploads later. With `--upload` in online mode."""

    name = "wandb"
    help = "Weights & Biases run with metrics and a table of scores; offline without --upload."
    source = "wandb.ai; the library's own API"
    uploads = True
    parameters = (
        Parameter("folder", "wandb-runs", "the folder in which wandb makes its folder `wandb`", path=True),
        Parameter("project", "windtunnel", "the project"),
    )

    def log(self, runs: Sequence[LoggedRun], settings: Settings, upload: bool) -> list[str]:
        # The library reports its own errors to its makers unless this is set before the import.
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
        wandb = load_extra("wandb", "The destination wandb")
        folder = writable_folder(settings)
        try:
            places = [self._log(wandb, run, settings, str(folder), upload) for run in runs]
        except wandb.errors.Error as error:
            raise UserError(f"Weights & Biases refused the run: {first_line(error)}.") from error
        if wandb.run is None:  # else the caller's own run needs the service
            wandb.teardown()  # `finish` returns before the service has written the files
        return places

    def _log(self, wandb: Any, run: LoggedRun, settings: Settings, folder: str, upload: bool) -> str:
        quiet = wandb.Settings(
            silent=True, console="off", disable_git=True, save_code=False, x_disable_stats=True
        )
        logged = wandb.init(
            project=str(settings["project"]),
            name=run.name,
            dir=folder,
            mode="online" if upload else "offline",
            config=run.settings,
            tags=[run.suite, *run.tags],
            notes="\n".join(run.warnings) or None,
            settings=quiet,
            reinit="create_new",
        )
        rows = [[getattr(score, column) for column in COLUMNS] for score in run.scores]
        logged.log({"scores": wandb.Table(columns=list(COLUMNS), data=rows)})
        logged.summary.update(metric_values(run))
        place = str(logged.url if upload else logged.dir)
        logged.finish()
        return place if upload else place.removesuffix("/files")


wandb = Wandb()
