"""windtunnel curate fine-tune: a filter model trained further on the project's classes."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.filtering import print_step, quiet_bar
from windtunnel.cli.options import AS_JSON, LOG, record_options
from windtunnel.core.wording import counted
from windtunnel.options import FineTuneOptions


@click.command("fine-tune", short_help="Train a filter model further on the candidates' classes.")
@click.argument("project")
@click.argument("model")
@click.argument("data")
@record_options(FineTuneOptions)
@AS_JSON
@LOG
def command(project: str, model: str, data: str, as_json: bool, console: Console, **options: Any) -> None:
    """Fine-tune MODEL, a factory of a torch module, on the images in DATA of the classes of PROJECT.

    The result is an ONNX file in PROJECT for `curate hard --filter`. Images in DATA that are candidates are
    left out. The same command continues after a stop. It needs the extra torch.

    \b
    Example:
      windtunnel curate fine-tune my-project nets.py:resnet50 ./train --classes 200.txt
    """
    with quiet_bar(console, "training epochs") as bar:
        step = api.fine_tune(project, model, data, FineTuneOptions(**options), progress=bar)
    summary = step.summary
    file = str(Path(project) / summary.model)
    print_step(
        console,
        step,
        lambda: [
            ("model", f"{file}   {summary.fingerprint[:12]}"),
            ("images", f"{summary.images:,} of {counted(len(step.recipe.classes), 'class', 'classes')}"),
            ("left out", f"{counted(summary.left_out, 'image')} that are candidates"),
            ("loss", f"{summary.losses[0]:.3f} in the first epoch, {summary.losses[-1]:.3f} in the last"),
            ("next", shlex.join(["windtunnel", "curate", "hard", project, "--filter", file])),
        ],
        as_json=as_json,
    )
