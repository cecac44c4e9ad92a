"""windtunnel doctor: check whether the declared preprocessing and label order are right."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import Any

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, print_json, record_options
from windtunnel.cli.printing import print_lines
from windtunnel.core.progress_bar import Bar
from windtunnel.options import DoctorOptions
from windtunnel.report.plan_summary import describe_model

# Smaller p-values are printed as `p < 1e-06`.
LEAST_P = 1e-6
# Entries of a list that are printed.
SHOWN = 4
# Lists and files with more entries or lines than this are shortened in the terminal.
MAX_ENTRIES, MAX_LINES = 20, 40
# Lines of a label map that are printed: its header and some rows.
MAP_LINES = 6


@click.command()
@click.argument("model")
@click.argument("data")
@record_options(DoctorOptions)
@click.option(
    "--write", is_flag=True, help="Write MODEL.toml if other preprocessing is significantly better."
)
@AS_JSON
def command(model: str, data: str, write: bool, as_json: bool, **options: Any) -> None:
    """Try other preprocessing of MODEL on labelled DATA and report if one is better than declared.

    Channel order, scaling, means, label order, resize, crop and filter are changed one after another. A
    change is accepted if the labels' log-probabilities rise significantly (Wilcoxon's p-value, multiplied
    by the number of changes tried) and accuracy does not fall. Another geometry or filter must also gain a
    percentage point of accuracy. Label orders that are not tried are listed.

    \b
    Example:
      windtunnel doctor resnet50.onnx ./val --write
    """
    if write:
        api.check_writable(model)
    with Bar(Console(stderr=True), "trying preprocessing") as bar, redirect_stdout(sys.stderr):
        result = api.doctor(model, data, DoctorOptions(**options), progress=bar)
    # The diagnosis is printed first, in case writing fails.
    if as_json:
        print_json(result.to_json())
    else:
        model_line = ("model", f"{result.model.name}   {describe_model(result.model)}")
        print_lines(Console(), [model_line, *_lines(result.diagnosis)])
    for correction in result.corrections:
        if write:
            correction.write()
        if not as_json:
            action = "written" if write else "with --write"
            text = _shortened(correction.text, MAP_LINES if correction.is_label_map else MAX_LINES)
            click.echo(f"\n{action}: {correction.path}\n{text}")
    if not as_json and any(correction.is_label_map for correction in result.corrections):
        click.echo("The labels are class indices: pass this file to windtunnel run with --map.")


def _shortened(text: str, most_lines: int) -> str:
    """The text of a file for the terminal; long lists and tables are shortened and their length is given."""
    lines = [_shortened_list(line) for line in text.splitlines()]
    if len(lines) > most_lines:
        more = len(lines) - most_lines
        lines = [*lines[:most_lines], f"... {more:,} more lines in the file"]
    return "\n".join(lines) + "\n"


def _shortened_list(line: str) -> str:
    key, _, value = line.partition(" = ")
    entries = json.loads(value) if re.match(r"\w+ = \[", line) else []
    if len(entries) <= MAX_ENTRIES:
        return line
    start = json.dumps(entries[:SHOWN], ensure_ascii=False).removesuffix("]")
    return f"{key} = {start}, ...]  # {len(entries) - SHOWN:,} more in the file"


def _lines(diagnosis: api.Diagnosis) -> list[tuple[str, str]]:
    declared, best = diagnosis.declared, diagnosis.best
    count = len(declared.right)
    lines = [("note", remark) for remark in diagnosis.remarks]
    if diagnosis.outputs:
        lines.append(("outputs", f"declared logits, but all {count} images give {diagnosis.outputs}"))
    warnings = [("warning", warning) for warning in diagnosis.warnings]
    accuracy = f"{100 * declared.accuracy:.1f} % correct on {count} images"
    if best is declared:
        text = f"{accuracy}; none of {diagnosis.tried} alternatives is significantly better"
        return [*lines, ("declared", text), *warnings, *_undecided_lines(diagnosis)]
    p = f"p < {LEAST_P:g}" if diagnosis.p < LEAST_P else f"p = {diagnosis.p:.2g}"
    return [
        *lines,
        ("declared", accuracy),
        (
            "better",
            f"{100 * best.accuracy:.1f} % with {'; '.join(best.changed)} "
            f"({_interval(diagnosis.gain)} points); {p} ({diagnosis.test}; "
            f"{diagnosis.tried} tried)",
        ),
        *warnings,
        *_similar_lines(diagnosis),
        *_undecided_lines(diagnosis),
        ("note", "The setting was chosen on these images: measure its accuracy on others."),
    ]


def _similar_lines(diagnosis: api.Diagnosis) -> list[tuple[str, str]]:
    """Other settings that are not significantly worse than the accepted one, best first."""
    if not diagnosis.indistinguishable:
        return []
    names = [" with ".join(trial.changed) for trial in diagnosis.indistinguishable]
    accepted = diagnosis.best.changed[0]
    return [("similar", f"these images do not distinguish {accepted} from: {_first(names)}")]


def _undecided_lines(diagnosis: api.Diagnosis) -> list[tuple[str, str]]:
    """Geometries and filters that are neither significantly better nor worse, with the gain in accuracy."""
    if not diagnosis.undecided:
        return []
    shown = _first([f"{name} {_interval(gain)}" for name, gain in diagnosis.undecided_gains()])
    return [
        (
            "undecided",
            "geometries and filters that are neither significantly better nor worse by "
            f"{100 * api.LEAST_GAIN:g} point; gain in points, 95 % interval: {shown}",
        )
    ]


def _first(names: Sequence[str]) -> str:
    """The first entries of a list, and the number of others."""
    more = f"; {len(names) - SHOWN} more (--json)" if len(names) > SHOWN else ""
    return "; ".join(names[:SHOWN]) + more


def _interval(gain: api.Gain) -> str:
    """A gain in accuracy in percentage points, with its interval."""
    return f"{100 * gain.value:+.1f} [{100 * gain.low:.1f}, {100 * gain.high:.1f}]"
