"""windtunnel data: look at a data set before using it, and check one that was made."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console

from windtunnel.cli.options import AS_JSON, INCLUDE, print_json
from windtunnel.cli.summary import print_lines
from windtunnel.core.progress import Bar
from windtunnel.core.wording import counted
from windtunnel.data.inspection import Inspection, inspect
from windtunnel.data.single_condition import open_as_run_reads
from windtunnel.make.verification import Verification, verify
from windtunnel.sequences import SEQUENCE_PREFIX

EXIT_DAMAGED = 1
DAMAGE_SHOWN = 20


@click.group()
def command() -> None:
    """Look at data sets."""


@command.command("inspect", short_help="Count images, classes, sizes, formats and unreadable files.")
@click.argument("data")
@INCLUDE
@AS_JSON
def inspect_command(data: str, as_json: bool) -> None:
    """Say what DATA holds: images, classes, sizes, formats, rotated and unreadable files, class order."""
    dataset, remarks = open_as_run_reads(data)
    with Bar(Console(stderr=True), "looking at the images", len(dataset.samples())) as bar:
        found = inspect(dataset, bar.advance, remarks)
    if as_json:
        print_json(found.to_json())
    else:
        print_lines(Console(), _lines(found))


def _lines(found: Inspection) -> list[tuple[str, str]]:
    per_class = f", {found.smallest_class} to {found.largest_class} images each" if found.classes_used else ""
    lines = [
        ("data", found.location),
        (
            "images",
            f"{found.images:,}" + (f", {found.unlabelled:,} without label" if found.unlabelled else ""),
        ),
        ("classes", f"{found.classes_used:,} of {found.classes:,}{per_class}; order: {found.order}"),
        ("first", ", ".join(found.first_classes)),
        ("sizes", found.sizes),
        ("formats", ", ".join(f"{count:,} {name}" for name, count in found.formats.items())),
    ]
    if found.stored:
        units = list(dict.fromkeys(re.split("[:+]", name)[0] for name in found.stored))
        kind = "sequences" if units[0].startswith(SEQUENCE_PREFIX) else "corruptions"
        lines.append(
            ("finished", f"{len(found.stored)} conditions of {len(units)} {kind}: {', '.join(units)}")
        )
    lines += [("note", remark) for remark in found.remarks]
    if found.rotated:
        lines.append(
            ("rotated", f"{len(found.rotated):,} by EXIF, which is ignored unless a geometry applies it")
        )
        lines += [("", id_) for id_ in found.rotated[:5]]
    if found.unreadable:
        lines.append(("failing", f"{len(found.unreadable):,} images"))
        lines += [("", f"{id_}: {reason}") for id_, reason in list(found.unreadable.items())[:20]]
    return lines


@command.command("verify", short_help="Check every file that windtunnel make wrote.")
@click.argument("folder")
@AS_JSON
def verify_command(folder: str, as_json: bool) -> None:
    """Check every file that `windtunnel make` wrote to FOLDER against its checksum; exit 1 for damage."""
    with Bar(Console(stderr=True), "checking") as bar:
        found = verify(Path(folder), bar.look)
    if as_json:
        print_json({**asdict(found), "sound": found.sound})
    else:
        print_lines(Console(), _verified_lines(found))
    if not found.sound:
        raise click.exceptions.Exit(EXIT_DAMAGED)


def _verified_lines(found: Verification) -> list[tuple[str, str]]:
    lines = [
        ("set", found.location),
        ("checked", f"{counted(found.pieces, 'piece')}, {found.bytes / 1e6:,.1f} MB"),
    ]
    if found.missing:
        lines.append(("unfinished", f"{counted(found.missing, 'piece')} of work not done"))
    lines += [("damaged", f"{path}: {wrong}") for path, wrong in list(found.damaged.items())[:DAMAGE_SHOWN]]
    if len(found.damaged) > DAMAGE_SHOWN:
        lines.append(("", f"and {len(found.damaged) - DAMAGE_SHOWN:,} more"))
    if found.missing and not found.damaged:
        result = "unfinished: run the same make command to go on"
    else:
        result = "sound" if found.sound else "not sound: run the same make command to repair it"
    lines.append(("result", result))
    return lines
