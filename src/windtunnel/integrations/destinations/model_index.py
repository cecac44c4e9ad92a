"""`model-index` of Hugging Face's model cards: YAML for the front matter of README.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from windtunnel.core.metrics import headline_titles, title_of, unit_of
from windtunnel.core.scores import Score
from windtunnel.integrations.destinations import (
    Destination,
    LoggedRun,
    Parameter,
    Settings,
    writable_folder,
    yaml_text,
)

FILE = "model-index.yaml"
TASK = {"type": "image-classification", "name": "Image Classification"}
# Unmodified images; the first that a run has.
CLEAN = ("clean", "native")


class ModelIndex(Destination):
    """A file with the key `model-index`, to be pasted into the front matter of a model card."""

    name = "model-index"
    help = "Hugging Face model-index YAML for the front matter of a model card; a local file."
    source = "github.com/huggingface/hub-docs, modelcard.md"
    parameters = (
        Parameter("folder", "model-card", "the folder of the file", path=True),
        Parameter("dataset", "", "the id of the dataset on the Hub; default: the name of the run's data"),
    )

    def log(self, runs: Sequence[LoggedRun], settings: Settings, upload: bool) -> list[str]:
        del upload
        models = [
            {
                "name": model,
                "results": [_result(run, str(settings["dataset"])) for run in runs if run.model == model],
            }
            for model in dict.fromkeys(run.model for run in runs)
        ]
        file = writable_folder(settings) / FILE
        file.write_text(yaml_text({"model-index": models}, "model-index"), encoding="utf-8")
        return [str(file)]


def _result(run: LoggedRun, dataset: str) -> dict[str, Any]:
    titles = headline_titles()
    shown = [score for score in run.scores if not score.condition and score.metric in titles]
    if run.headline not in shown:
        shown.insert(0, run.headline)
    errors = {score.condition: score for score in run.scores if score.metric == "top1_error"}
    clean = [errors[condition] for condition in CLEAN if condition in errors][:1]
    return {
        "task": dict(TASK),
        "dataset": {
            "type": dataset or "-".join(run.data.split()),
            "name": f"{run.data}, {run.suite}",
        },
        "metrics": [*map(_accuracy, clean), *map(_metric, shown)],
    }


def _accuracy(score: Score) -> dict[str, Any]:
    """The clean top-1 accuracy, in per cent, from the error."""
    value, low, high = (round(100 * (1 - error), 3) for error in (score.value, score.high, score.low))
    name = f"top-1 accuracy, {score.condition} images, % (95 % CI {low} to {high}, {score.n} images)"
    return {"type": "accuracy", "value": value, "name": name}


def _metric(score: Score) -> dict[str, Any]:
    unit = unit_of(score.metric)
    value, low, high = (round(unit.scale * part, 3) for part in (score.value, score.low, score.high))
    title = " ".join(filter(None, (score.condition, title_of(score.metric))))
    name = f"{title}, {unit.name} (95 % CI {low} to {high}, {score.n} images)"
    return {"type": score.metric, "value": value, "name": name}


model_index = ModelIndex()
