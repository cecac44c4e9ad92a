"""windtunnel doctor: is the declared preprocess the right one?"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console

from windtunnel.analysis.doctor import IMAGES, Diagnosis, diagnose
from windtunnel.analysis.doctor_trials import LEAST_GAIN, Trial, gain
from windtunnel.cli.options import AS_JSON, DEVICE, INCLUDE, LABELS, print_json
from windtunnel.cli.printing import print_lines
from windtunnel.core.errors import UserError
from windtunnel.core.progress_bar import Bar
from windtunnel.data.demo import demo_model_path
from windtunnel.data.single_condition import open_as_run_reads
from windtunnel.models import Model, load_model
from windtunnel.models.declaration import declaration_text, declared_before
from windtunnel.report.plan_summary import describe_model

# Probabilities below this are not told apart.
LEAST_P = 1e-6
# Of what these images cannot judge, those that change most answers are shown.
SHOWN = 4
# Lists and files with more entries or lines than this are cut in the terminal.
MAX_ENTRIES, MAX_LINES = 20, 40


@click.command()
@click.argument("model")
@click.argument("data")
@click.option(
    "--preprocess",
    metavar="PRESET|FILE.toml",
    help="What is declared; else MODEL.toml beside the model, else preset imagenet.",
)
@click.option(
    "--subset",
    type=click.IntRange(min=0),
    default=IMAGES,
    show_default=True,
    help="How many images, each class in proportion; 0 for all.",
)
@click.option("--seed", default=0, show_default=True, help="Seed of the choice of images.")
@click.option(
    "--labels-are-outputs",
    is_flag=True,
    help="Trust the data's class indices although the model has more outputs.",
)
@LABELS
@DEVICE
@click.option(
    "--map",
    "label_map",
    metavar="FILE.csv",
    help="Which outputs stand for which class of the data: columns output,class; other orders are not tried.",
)
@click.option(
    "--group",
    default="",
    metavar="COLUMN",
    help="A column of the data's table; of images alike in it (one patient) one is used, as of frames of a "
    "video.",
)
@click.option("--write", is_flag=True, help="Write MODEL.toml if another preprocess is surely better.")
@INCLUDE
@AS_JSON
def command(
    model: str,
    data: str,
    preprocess: str | None,
    subset: int,
    seed: int,
    labels_are_outputs: bool,
    labels: str | None,
    device: str,
    label_map: str | None,
    group: str,
    write: bool,
    as_json: bool,
) -> None:
    """Try other preprocesses of MODEL on labelled DATA and say if one is surely better than the declared.

    Channel order, scaling, means, label order, resize, crop and filter are changed one after another. A
    change is taken if the labels' log-probabilities surely rise (Wilcoxon's p, times the number tried) and
    accuracy does not fall in the sample; another geometry or filter, if accuracy surely gains a point as
    well. Label orders that are not tried are listed.

    \b
    Example:
      windtunnel doctor resnet50.onnx ./val --write
    """
    console = Console(stderr=True)
    if write:
        _check_target(model)
    dataset, remarks = open_as_run_reads(data)
    loaded = load_model(model, preprocess, device=device)
    with Bar(console, "trying") as bar, redirect_stdout(sys.stderr):
        found = diagnose(
            loaded,
            dataset,
            images=subset,
            seed=seed,
            labels_are_outputs=labels_are_outputs,
            labels=labels,
            label_map=label_map,
            group=group,
            progress=bar,
        )
    found = replace(found, remarks=[*remarks, *found.remarks])
    remark = (
        f"chosen by windtunnel doctor on {len(found.declared.right)} images of {dataset.name}, seed {seed}"
    )
    cures = _cures(found, loaded, model, preprocess, remark) if found.found else {}
    if as_json:
        print_json(found.to_json() | {"files": {str(file): text for file, text in cures.items()}})
    else:
        print_lines(Console(), [("model", f"{loaded.name}   {describe_model(loaded)}"), *_lines(found)])
    # What was found is told before anything can go wrong with writing it down.
    for file, text in cures.items():
        if write:
            _write(file, text, model, found)
        if not as_json:
            click.echo(f"\n{'written' if write else 'with --write'}: {file}\n{_shortened(text)}")
    if not as_json and any(file.suffix == ".csv" for file in cures):
        click.echo("The labels are numbers: run with --map and this file.")


def _shortened(text: str) -> str:
    """A file's text for the terminal: long lists and tables are cut, with the number of entries left out."""
    lines = [_shortened_list(line) for line in text.splitlines()]
    if len(lines) > MAX_LINES:
        more = len(lines) - MAX_LINES
        lines = [*lines[:MAX_LINES], f"... {more:,} more lines in the file"]
    return "\n".join(lines) + "\n"


def _shortened_list(line: str) -> str:
    key, _, value = line.partition(" = ")
    entries = json.loads(value) if re.match(r"\w+ = \[", line) else []
    if len(entries) <= MAX_ENTRIES:
        return line
    start = json.dumps(entries[:SHOWN], ensure_ascii=False).removesuffix("]")
    return f"{key} = {start}, ...]  # {len(entries) - SHOWN:,} more in the file"


def _lines(found: Diagnosis) -> list[tuple[str, str]]:
    count = len(found.declared.right)
    lines = [("note", remark) for remark in found.remarks]
    if found.outputs:
        lines.append(("outputs", f"declared logits, but all {count} images give {found.outputs}"))
    declared = f"{100 * found.declared.accuracy:.1f} % right on {count} images"
    if found.best is found.declared:
        silent = f"{declared}; none of {found.tried} other ways is surely better"
        return [*lines, ("declared", silent), *_undecided(found)]
    p = f"p < {LEAST_P:g}" if found.p < LEAST_P else f"p = {found.p:.2g}"
    return [
        *lines,
        ("declared", declared),
        (
            "better",
            f"{100 * found.best.accuracy:.1f} % with {'; '.join(found.best.changed)} "
            f"({_gained(found.declared, found.best)} points); {p} ({found.test}; {found.tried} tried)",
        ),
        *(("warning", warning) for warning in found.warnings),
        *_alike(found),
        *_undecided(found),
        ("note", "These images have chosen it: measure how good it is on others."),
    ]


def _alike(found: Diagnosis) -> list[tuple[str, str]]:
    """What might have been taken as well, best first."""
    if not found.not_told_apart:
        return []
    named = [" with ".join(one.changed) for one in found.not_told_apart]
    return [("alike", f"not told apart from {found.best.changed[0]} by these images: {_first(named)}")]


def _first(named: Sequence[str]) -> str:
    """The first of a list, and how many more there are."""
    more = f"; {len(named) - SHOWN} more (--json)" if len(named) > SHOWN else ""
    return "; ".join(named[:SHOWN]) + more


def _undecided(found: Diagnosis) -> list[tuple[str, str]]:
    """What these images cannot judge, by what accuracy would gain: those that change most answers."""
    if not found.undecided:
        return []
    most = sorted(found.undecided, key=lambda one: -int((one.right != found.best.right).sum()))
    shown = _first([f"{one.changed[-1]} {_gained(found.best, one)}" for one in most])
    return [
        (
            "undecided",
            f"other geometries and filters, neither surely better nor worse by {100 * LEAST_GAIN:g} point; "
            f"points gained, 95 % interval: {shown}",
        )
    ]


def _gained(before: Trial, after: Trial) -> str:
    value, low, high = (100 * one for one in gain(before, after))
    return f"{value:+.1f} [{low:.1f}, {high:.1f}]"


def _cures(
    found: Diagnosis, loaded: Model, model: str, preprocess: str | None, remark: str
) -> dict[Path, str]:
    """The files that would put it right, and their texts."""
    path = _file_of(model)
    target = path.with_name(f"{path.name}.toml")
    given = Path(preprocess) if preprocess and preprocess.endswith(".toml") else target
    order, space = found.best.order, found.space
    reordered = order.name in found.best.changed
    named = dict(sorted(zip(order.outputs, space.classes, strict=True)))
    by_number = reordered and space.name == "indices"
    cures = {}
    if by_number:
        rows = [f"{output},{name}" for output, name in named.items()]
        cures[path.with_name(f"{path.name}.labels.csv")] = "\n".join(["output,class", *rows]) + "\n"
    by_name = reordered and not by_number
    labels = _output_names(found, loaded, named) if by_name else []
    if labels or found.outputs or len(found.best.changed) > reordered:
        cures[target] = declaration_text(
            found.best.preprocess,
            declared_before(given),
            labels=labels,
            outputs=found.outputs,
            comment=remark,
        )
    return cures


def _output_names(found: Diagnosis, loaded: Model, named: Mapping[int, str]) -> list[str]:
    """A name for every output in the order that was found: the model's own, where all move by one step."""
    count = loaded.class_count
    pairs = zip(found.declared.order.outputs, found.best.order.outputs, strict=True)
    steps = {(new - old) % count for old, new in pairs if old >= 0}
    if loaded.classes and len(steps) == 1:
        (step,) = steps
        return [loaded.classes[(place - step) % count] for place in range(count)]
    return [named.get(place, f"no class {place}") for place in range(count)]


def _file_of(model: str) -> Path:
    if model == "demo":
        return demo_model_path()
    where, colon, _ = model.rpartition(":")
    return Path(where if colon else model)


def _check_target(model: str) -> None:
    """Refuse to write where nothing can be written, before any work."""
    if model == "demo":
        raise UserError("The demo model comes with the package; copy it before you write beside it.")
    file = _file_of(model)
    if not file.is_file():
        raise UserError(f"--write needs a model file, and {model} is none; leave --write out to be told.")
    if not os.access(file.parent, os.W_OK):
        raise UserError(f"{file.parent} cannot be written to; leave --write out to be told.")


def _write(file: Path, text: str, model: str, found: Diagnosis) -> None:
    """Put a file into its place, the old one kept beside it; a declaration only if the model loads by it."""
    if file.suffix == ".toml":
        with tempfile.TemporaryDirectory() as folder:
            tried = Path(folder) / file.name
            tried.write_text(text, encoding="utf-8")
            again = load_model(model, tried).preprocess
        if (again.geometry, again.tensor) != (found.best.preprocess.geometry, found.best.preprocess.tensor):
            raise UserError(f"What was found cannot be declared in {file}; declare by hand:\n{text}")
    if file.is_file():
        file.replace(file.with_name(f"{file.name}.before"))
    file.write_text(text, encoding="utf-8")
