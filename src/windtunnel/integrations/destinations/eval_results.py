"""`.eval_results` of Hugging Face's model repositories: a YAML file per suite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from windtunnel.core.errors import UserError
from windtunnel.core.extras import load_extra
from windtunnel.core.metrics import title_of, unit_of
from windtunnel.integrations.destinations import (
    Destination,
    LoggedRun,
    Parameter,
    Settings,
    writable_folder,
)

FOLDER = ".eval_results"


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
        yaml = load_extra("yaml", "The destination eval-results")
        folder = writable_folder(settings) / FOLDER
        folder.mkdir(exist_ok=True)
        files = []
        for run in runs:
            file = folder / f"windtunnel-{run.suite.partition('@')[0]}.yaml"
            text = yaml.safe_dump([_entry(run, settings)], sort_keys=False, allow_unicode=True, width=1000)
            file.write_text(text, encoding="utf-8")
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
