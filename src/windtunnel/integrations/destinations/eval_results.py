"""`.eval_results` of Hugging Face's model repositories: a YAML file per suite."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from windtunnel.core.errors import UserError
from windtunnel.core.metrics import title_of, unit_of
from windtunnel.integrations.destinations import (
    Destination,
    LoggedRun,
    Parameter,
    Settings,
    writable_folder,
    yaml_text,
)

FOLDER = ".eval_results"
# Characters that are replaced in the name of a file.
OTHER = re.compile(r"[^A-Za-z0-9_-]")


class EvalResults(Destination):
    """Files in the folder `.eval_results` of a model repository, with the headline score of each run.

    The Hub shows them if the dataset is registered as a benchmark with the task.
    """

    name = "eval-results"
    help = "Hugging Face .eval_results YAML of one model, a local file per suite."
    source = "github.com/huggingface/hub-docs, docs/hub/eval-results.md"
    parameters = (
        Parameter("folder", ".", "a copy of the model repository", path=True),
        Parameter("dataset", "", "the id of the benchmark on the Hub, such as OWNER/NAME; required"),
        Parameter("task", "default", "the id of the task in the benchmark's eval.yaml"),
    )

    def check(self, settings: Settings) -> None:
        if not settings["dataset"]:
            raise UserError(
                "eval-results needs the benchmark's id on the Hub; write 'eval-results(dataset=OWNER/NAME)'."
            )

    def log(self, runs: Sequence[LoggedRun], settings: Settings, upload: bool) -> list[str]:
        del upload
        models, suites = {run.model for run in runs}, [run.suite for run in runs]
        if len(models) > 1 or len(set(suites)) < len(suites):
            raise UserError(
                f"{len(runs)} runs are of {len(models)} models and {len(set(suites))} suites; give runs of "
                "one model, one per suite."
            )
        folder = writable_folder(settings) / FOLDER
        folder.mkdir(exist_ok=True)
        files = []
        for run in runs:
            # A suite's name comes from the run's folder; it must not name another folder.
            file = folder / f"windtunnel-{OTHER.sub('-', run.suite.partition('@')[0])}.yaml"
            file.write_text(yaml_text([_entry(run, settings)], "eval-results"), encoding="utf-8")
            files.append(str(file))
        return files


def _entry(run: LoggedRun, settings: Settings) -> dict[str, Any]:
    score = run.headline
    unit = unit_of(score.metric)
    value, low, high = (round(unit.scale * part, 3) for part in (score.value, score.low, score.high))
    title = " ".join(filter(None, (score.condition, title_of(score.metric))))
    return {
        "dataset": {"id": settings["dataset"], "task_id": settings["task"]},
        "value": value,
        "notes": f"windtunnel {run.suite}: {title}, {unit.name}, 95 % CI {low} to {high}, {score.n} images",
    }


eval_results = EvalResults()
