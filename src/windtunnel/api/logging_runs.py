"""Log finished runs to experiment trackers and files of model cards."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from windtunnel.analysis.leaderboard import headline_of
from windtunnel.core.calls import parse_call
from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.core.progress import Progress, silent
from windtunnel.integrations.destinations import REGISTRY, LoggedRun
from windtunnel.runs import Run

FILES = ("report.html", "scores.json", "scores.csv")


def log_runs(
    runs: Sequence[Run | str | Path], to: str, *, upload: bool = False, progress: Progress = silent
) -> list[str]:
    """Log finished runs to a destination; returns where the results are.

    Args:
        runs: finished runs.
        to: a destination, such as `mlflow` or `wandb(project=nets)`; `windtunnel list destinations`.
        upload: send the results over the network. Without it nothing leaves this machine.
        progress: counts scored runs.
    """
    call = parse_call(to, REGISTRY)
    if upload and not call.plugin.uploads:
        raise UserError(f"{call.plugin.name} writes local files only; leave out {option('upload')}.")
    call.plugin.check(call.settings)
    if not runs:
        raise UserError("No runs given; give one or more run folders.")
    logged = []
    for run in runs:
        logged.append(logged_run(run if isinstance(run, Run) else Run(run)))
        progress(1, len(runs))
    return call.plugin.log(logged, call.settings, upload)


def logged_run(run: Run) -> LoggedRun:
    """A finished run as destinations receive it."""
    recipe, info, scores = run.recipe, run.info, run.scores()
    facts = {
        "model": info.model.name,
        "model_fingerprint": recipe.model.fingerprint,
        "model_family": info.model.family,
        "parameters": str(info.model.parameters or ""),
        "preprocessing": info.model.preprocess_from,
        "suite": info.suite,
        "data": info.data.name,
        "images": str(recipe.data.count),
        "seed": str(recipe.seed),
        "device": recipe.device,
        "precision": recipe.precision,
        "recipe": run.scoring.digest,
        "windtunnel": info.versions.get("windtunnel", ""),
    }
    folder = Path(str(run.path))
    return LoggedRun(
        info.model.name,
        info.suite,
        info.data.name,
        tuple(scores),
        headline_of(run.scoring, scores),
        {name: text for name, text in facts.items() if text},
        info.model.tags,
        run.warnings,
        tuple(folder / name for name in FILES if (folder / name).is_file()),
    )
