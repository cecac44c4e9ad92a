"""Options as the command line spells them."""

from __future__ import annotations

from windtunnel.core.option_names import Value, spelled, spelled_by
from windtunnel.options.make import MakeOptions
from windtunnel.options.run import RunOptions
from windtunnel.options.score import ScoreOptions

# Options whose name on the command line is not the field's: those of the records, of `gate` and of `score`.
FLAG_NAMES = {
    field.name: field.flag_name
    for record in (RunOptions, MakeOptions, ScoreOptions)
    for field in record.fields()
} | {"rules": "rule", "metrics": "metric"}


def as_option(name: str, value: Value) -> str:
    """An option as the command line passes it: `--keep logits`."""
    flag = f"--{FLAG_NAMES.get(name) or name.replace('_', '-')}"
    if value is None or value is True:
        return flag
    values = value if isinstance(value, list) else [str(value)]
    return " ".join(f"{flag} {text}" if text else f"{flag} ''" for text in values)


def for_command_line(text: str) -> str:
    """A text for reports, which readers of any interface see: its options as the command line passes them."""
    with spelled_by(as_option):
        return spelled(text)
