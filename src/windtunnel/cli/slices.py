"""windtunnel slices: which classes, sizes or kinds of images a model fails on."""

from __future__ import annotations

from dataclasses import asdict

import click
from rich.console import Console

from windtunnel.cli.options import AS_JSON, GROUP, INCLUDE, print_json
from windtunnel.cli.summary import print_lines
from windtunnel.core.errors import UserError
from windtunnel.core.metrics import unit_of
from windtunnel.core.wording import counted
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.metrics.slices import MINIMUM, Omitted, Slice, omitted_slices, slices
from windtunnel.report.tables import csv_text
from windtunnel.report.worst_slices import group_name

COLUMNS = ("group", "n", "value", "low", "high", "shrunk", "metric", "condition", "by", "recipe", "formula")


@click.command()
@click.argument("run_folder", metavar="RUN")
@click.option("--by", required=True, metavar="class|size|COLUMN", help="What divides the images.")
@click.option("--metric", default="top1_error", show_default=True, help="A metric that is a mean.")
@click.option("--condition", metavar="NAME", help="As fog:3; default clean, or all corruptions together.")
@click.option("--minimum", default=MINIMUM, show_default=True, help="Images a slice needs to be shown.")
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="How many slices to print, the worst first.",
)
@GROUP
@INCLUDE
@AS_JSON
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
def command(
    run_folder: str,
    by: str,
    metric: str,
    condition: str | None,
    minimum: int,
    top: int,
    group: str | None,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Score RUN by class, by image size, or by a column of the data's table, the worst slices first.

    The order goes by values shrunk towards the overall mean, since few images make extremes by chance.
    """
    if as_json and as_csv:
        raise UserError("--json and --csv exclude each other; give one.")
    run = ScoredRun(run_folder).scored_as(group=group)
    found = slices(run, by, metric, condition, minimum=minimum)
    omitted = omitted_slices(run, by, metric, condition, minimum=minimum)
    left_out = _left_out_lines(run, by, omitted, minimum)
    if as_json:
        print_json([asdict(one) for one in found])
    elif as_csv:
        click.echo(csv_text(COLUMNS, found), nl=False)
    else:
        print_lines(Console(), _lines(run, found, top, left_out))
        return
    if left_out and not found:
        print_lines(Console(stderr=True), left_out)


def _left_out_lines(run: ScoredRun, by: str, omitted: Omitted, minimum: int) -> list[tuple[str, str]]:
    """How many slices are not shown, why, and which minimum would show one more."""
    lines = []
    if omitted.small:
        group, size = max(omitted.small.items(), key=lambda item: item[1])
        count = len(omitted.small)
        cure = f"; --minimum {size} shows it" if size > 1 else ""
        have = counted(count, "slice has", "slices have")
        lines.append(
            (
                "left out",
                f"{have} fewer than {counted(minimum, 'image')}; the largest is "
                f"'{_full_name(run, by, group)}' with {size:,}{cure}",
            )
        )
    if omitted.alone:
        are = counted(len(omitted.alone), "slice is", "slices are")
        what = (
            f"{are} of one image or one group only (such as '{_full_name(run, by, omitted.alone[0])}') and "
        )
        lines.append(("left out", f"{what}{'has' if len(omitted.alone) == 1 else 'have'} no interval"))
    return lines


def _full_name(run: ScoredRun, by: str, group: str) -> str:
    """A group with its name in words, where it has one: `n01440764 tench`."""
    return " ".join(dict.fromkeys((group.strip(), group_name(run, by, group))))


def _lines(
    run: ScoredRun, found: list[Slice], top: int, left_out: list[tuple[str, str]]
) -> list[tuple[str, str]]:
    if not found:
        return [("slices", "none"), *left_out]
    scale, unit = (100.0, " %") if unit_of(found[0].metric).is_share else (1.0, "")
    lines = [("score", f"{found[0].metric} {found[0].condition}   {found[0].formula}")]
    lines += [
        (
            _full_name(run, one.by, one.group),
            f"{scale * one.value:6.2f}{unit}  [{scale * one.low:.2f}, {scale * one.high:.2f}]   "
            f"n = {one.n:,}   shrunk {scale * one.shrunk:.2f}{unit}",
        )
        for one in found[:top]
    ]
    if len(found) > top:
        lines.append(("", f"and {len(found) - top} more (--top, --csv)"))
    return lines + left_out
