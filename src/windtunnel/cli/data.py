"""windtunnel data: inspect datasets and verify made ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, INCLUDE, print_json
from windtunnel.cli.printing import print_lines
from windtunnel.core.progress_bar import Bar
from windtunnel.core.wording import counted

EXIT_DAMAGED = 1
# Numbers of image ids and files that are listed.
ROTATED_SHOWN = 5
UNREADABLE_SHOWN = 20
DAMAGED_SHOWN = 20


@click.group()
def command() -> None:
    """Inspect datasets and verify made ones."""


@command.command("inspect", short_help="Count images, classes, sizes, formats and unreadable files.")
@click.argument("data")
@INCLUDE
@AS_JSON
def inspect_command(data: str, as_json: bool) -> None:
    """Count the images of DATA: classes, sizes, formats, rotated and unreadable files, class order."""
    with Bar(Console(stderr=True), "decoding images") as bar:
        inspection = api.inspect_dataset(data, progress=bar)
    if as_json:
        print_json(inspection.to_json())
    else:
        print_lines(Console(), _inspection_lines(inspection))


def _inspection_lines(inspection: api.Inspection) -> list[tuple[str, str]]:
    unlabelled = f", {inspection.unlabelled:,} without label" if inspection.unlabelled else ""
    lines = [
        ("data", inspection.location),
        ("images", f"{inspection.images:,}{unlabelled}"),
        ("classes", _classes_text(inspection)),
        *([("first", ", ".join(inspection.first_classes))] if inspection.first_classes else []),
        ("sizes", inspection.sizes),
        ("formats", ", ".join(f"{count:,} {name}" for name, count in inspection.formats.items())),
    ]
    if inspection.stored:
        lines.append(("precomputed", _stored_text(inspection.stored)))
    lines += [("note", remark) for remark in inspection.remarks]
    if inspection.rotated:
        lines.append(
            (
                "rotated",
                f"{len(inspection.rotated):,} by EXIF, which is ignored unless the geometry applies it",
            )
        )
        lines += [("", sample_id) for sample_id in inspection.rotated[:ROTATED_SHOWN]]
    if inspection.unreadable:
        lines.append(("failing", f"{len(inspection.unreadable):,} images"))
        reasons = list(inspection.unreadable.items())[:UNREADABLE_SHOWN]
        lines += [("", f"{sample_id}: {reason}") for sample_id, reason in reasons]
    return lines


def _stored_text(conditions: Sequence[str]) -> str:
    units = list(dict.fromkeys(re.split("[:+]", condition)[0] for condition in conditions))
    kind = "sequences" if units[0].startswith(api.SEQUENCE_PREFIX) else "corruptions"
    return f"{len(conditions)} conditions of {len(units)} {kind}: {', '.join(units)}"


def _classes_text(inspection: api.Inspection) -> str:
    if not inspection.classes:
        return "none: no image has a label"
    counts = f"{inspection.classes_used:,} of {inspection.classes:,}"
    if inspection.classes_used:
        counts += f", {inspection.smallest_class} to {inspection.largest_class} images each"
    return f"{counts}; order: {inspection.order}"


@command.command("verify", short_help="Check every file that windtunnel make wrote.")
@click.argument("folder")
@AS_JSON
def verify_command(folder: str, as_json: bool) -> None:
    """Compare every file that `windtunnel make` wrote to FOLDER with its checksum; exit 1 for damage."""
    with Bar(Console(stderr=True), "checking files") as bar:
        verification = api.verify_set(folder, progress=bar)
    if as_json:
        print_json({**asdict(verification), "sound": verification.sound})
    else:
        print_lines(Console(), _verification_lines(verification))
    if not verification.sound:
        raise click.exceptions.Exit(EXIT_DAMAGED)


def _verification_lines(verification: api.Verification) -> list[tuple[str, str]]:
    lines = [
        ("set", verification.location),
        ("checked", f"{counted(verification.pieces, 'piece')}, {verification.bytes / 1e6:,.1f} MB"),
    ]
    if verification.missing:
        lines.append(("unfinished", f"{counted(verification.missing, 'piece')} of work not done"))
    damaged = list(verification.damaged.items())
    lines += [("damaged", f"{path}: {reason}") for path, reason in damaged[:DAMAGED_SHOWN]]
    if len(damaged) > DAMAGED_SHOWN:
        lines.append(("", f"and {len(damaged) - DAMAGED_SHOWN:,} more"))
    if verification.missing and not damaged:
        result = "unfinished: run the same make command to continue"
    elif verification.sound:
        result = "sound"
    else:
        result = "damaged: run the same make command to repair it"
    return [*lines, ("result", result)]
