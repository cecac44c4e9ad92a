"""windtunnel doctor: is the declared preprocess the right one?"""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path

import click
from rich.console import Console

from windtunnel.analysis.doctor import PICTURES, Diagnosis, diagnose, least_sure_gain
from windtunnel.cli.options import AS_JSON, print_json
from windtunnel.cli.present import Bar, describe_model, print_lines
from windtunnel.data import open_dataset
from windtunnel.data.demo import demo_model_path
from windtunnel.errors import UserError
from windtunnel.labels import LabelSpace
from windtunnel.models import load_model
from windtunnel.models.declaration import declaration_text, declared_before

# Probabilities below this are not told apart.
LEAST_P = 1e-6


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
    default=PICTURES,
    show_default=True,
    help="How many pictures, each class in proportion; 0 for all.",
)
@click.option("--seed", default=0, show_default=True, help="Seed of the choice of pictures.")
@click.option(
    "--labels-are-outputs",
    is_flag=True,
    help="Trust the data's class indices although the model has more outputs.",
)
@click.option("--write", is_flag=True, help="Write MODEL.toml if another preprocess is surely better.")
@AS_JSON
def command(
    model: str,
    data: str,
    preprocess: str | None,
    subset: int,
    seed: int,
    labels_are_outputs: bool,
    write: bool,
    as_json: bool,
) -> None:
    """Try other preprocesses of MODEL on labelled DATA and say if one is surely better than the declared.

    Channel order, scaling, means, label order, resize, crop and filter are changed one after another; p is
    McNemar's, times the number tried. Nothing is said where the declared preprocess is not beaten.

    \b
    Example:
      windtunnel doctor resnet50.onnx ./val --write
    """
    console = Console(stderr=True)
    dataset = open_dataset(data)
    loaded = load_model(model, preprocess)
    with Bar(console, "trying") as bar, redirect_stdout(sys.stderr):
        found = diagnose(
            loaded,
            dataset,
            pictures=subset,
            seed=seed,
            labels_are_outputs=labels_are_outputs,
            advance=bar.look,
        )
    cures = _cures(found, dataset.label_space, model, preprocess) if found.found else {}
    if write:
        for file, text in cures.items():
            _write(file, text, model)
    if as_json:
        print_json(found.to_json() | {"files": {str(file): text for file, text in cures.items()}})
        return
    print_lines(Console(), [("model", f"{loaded.name}   {describe_model(loaded)}"), *_lines(found)])
    for file, text in cures.items():
        click.echo(f"\n{'written' if write else 'with --write'}: {file}\n{text}")
    if any(file.suffix == ".csv" for file in cures):
        click.echo("The labels are numbers: run with --map and this file.")


def _lines(found: Diagnosis) -> list[tuple[str, str]]:
    count = len(found.declared.right)
    lines = [("note", remark) for remark in found.remarks]
    if found.outputs:
        lines.append(("outputs", f"declared logits, but all {count} pictures give {found.outputs}"))
    if found.best is found.declared:
        return [
            *lines,
            (
                "declared",
                f"{100 * found.declared.accuracy:.1f} % right on {count} pictures; none of {found.tried} "
                "other ways is surely better",
            ),
            *_undecided(found),
        ]
    p = f"p < {LEAST_P:g}" if found.p < LEAST_P else f"p = {found.p:.2g}"
    return [
        *lines,
        ("declared", f"{100 * found.declared.accuracy:.1f} % right on {count} pictures"),
        (
            "better",
            f"{100 * found.best.accuracy:.1f} % with {'; '.join(found.best.changed)}; {p} "
            f"({found.tried} tried)",
        ),
        *_undecided(found),
    ]


def _undecided(found: Diagnosis) -> list[tuple[str, str]]:
    """What these pictures cannot judge: the geometry or resizer that changes most answers."""
    if not found.undecided:
        return []
    most = max(found.undecided, key=lambda one: (one.right != found.best.right).sum())
    gain = least_sure_gain(found.best, most, found.tried)
    needed = f"it would have to gain {100 * gain:.1f} points" if gain < 1 else "no gain could show"
    return [
        (
            "undecided",
            f"{len(found.undecided)} other geometries and resizers are neither surely better nor worse on "
            f"{len(most.right)} pictures; {most.changed[-1]}, which changes most, is right on "
            f"{100 * most.accuracy:.1f} % ({needed})",
        )
    ]


def _cures(found: Diagnosis, space: LabelSpace, model: str, preprocess: str | None) -> dict[Path, str]:
    """The files that would put it right, and their texts."""
    path = _file_of(model)
    target = path.with_name(f"{path.name}.toml")
    given = Path(preprocess) if preprocess and preprocess.endswith(".toml") else target
    order = found.best.order
    reordered = order.name in found.best.changed
    named = sorted((output, name) for name, output in zip(space.classes, order.outputs, strict=True))
    by_number = reordered and space.name == "indices"
    cures = {}
    if by_number:
        rows = [f"{output},{name}" for output, name in named]
        cures[path.with_name(f"{path.name}.labels.csv")] = "\n".join(["output,class", *rows]) + "\n"
    labels = [name for _, name in named] if reordered and not by_number else []
    if labels or found.outputs or len(found.best.changed) > reordered:
        cures[target] = declaration_text(
            found.best.preprocess, declared_before(given), labels=labels, outputs=found.outputs
        )
    return cures


def _file_of(model: str) -> Path:
    if model == "demo":
        return demo_model_path()
    where, colon, _ = model.rpartition(":")
    return Path(where if colon else model)


def _write(file: Path, text: str, model: str) -> None:
    if model == "demo":
        raise UserError("The demo model comes with the package; copy it before you write beside it.")
    if not _file_of(model).is_file():
        raise UserError(f"{model} is no file; declare what is shown where the model is made.")
    if file.is_file():
        file.rename(file.with_name(f"{file.name}.before"))
    file.write_text(text, encoding="utf-8")
