"""Options as the command line spells them."""

from __future__ import annotations

from windtunnel.core.option_names import Value, spelled, spelled_by
from windtunnel.options.collect import CollectOptions
from windtunnel.options.curation import HardOptions, OodOptions, TransferOptions
from windtunnel.options.distance import DistanceOptions
from windtunnel.options.doctor import DoctorOptions
from windtunnel.options.explain import ExplainOptions
from windtunnel.options.export import ExportOptions
from windtunnel.options.fine_tune import FineTuneOptions
from windtunnel.options.make import MakeOptions
from windtunnel.options.overlap import OverlapOptions
from windtunnel.options.predictivity import EffectiveRobustnessOptions, PredictivityOptions
from windtunnel.options.review import ReviewOptions
from windtunnel.options.run import RunOptions
from windtunnel.options.score import ScoreOptions
from windtunnel.options.show import ShowOptions
from windtunnel.options.video import VideoOptions

RECORDS = (
    RunOptions,
    MakeOptions,
    ScoreOptions,
    DistanceOptions,
    DoctorOptions,
    ExplainOptions,
    OverlapOptions,
    ShowOptions,
    PredictivityOptions,
    EffectiveRobustnessOptions,
    FineTuneOptions,
    HardOptions,
    OodOptions,
    TransferOptions,
    CollectOptions,
    ExportOptions,
    VideoOptions,
    ReviewOptions,
)
# The name on the command line of every field, and of parameters of `gate`, `score` and `explain`.
FLAG_NAMES = {field.name: field.flag_name for record in RECORDS for field in record.fields()} | {
    "rules": "rule",
    "metrics": "metric",
    "target": "class",
}


def as_option(name: str, value: Value) -> str:
    """An option as the command line passes it: `--keep logits`."""
    flag = f"--{FLAG_NAMES.get(name) or name.replace('_', '-')}"
    if value is None or value is True:
        return flag
    values = value if isinstance(value, list) else [str(value)]
    return " ".join(f"{flag} {text}" if text else f"{flag} ''" for text in values)


def for_command_line(text: str) -> str:
    """A text for reports, with options as the command line passes them."""
    with spelled_by(as_option):
        return spelled(text)
