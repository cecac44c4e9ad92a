"""windtunnel slices: score a run by class, image size or metadata column."""

from __future__ import annotations

from dataclasses import asdict

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, GROUP, INCLUDE, print_json
from windtunnel.cli.printing import print_lines
from windtunnel.core.errors import UserError
from windtunnel.core.metrics import unit_of
from windtunnel.core.wording import counted
from windtunnel.report.sections.worst_slices import group_name
from windtunnel.report.tables import csv_text
from windtunnel.runs import Run, load_run

COLUMNS = ("group", "n", "value", "low", "high", "shrunk", "metric", "condition", "by", "recipe", "formula")


@click.command()
@click.argument("run_folder", metavar="RUN")
@click.option(
    "--by",
    required=True,
    metavar="class|size|COLUMN",
    help="How images are divided: by class, by short side in pixels, or by a column of the data's table.",
)
@click.option(
    "--metric", default="top1_error", show_default=True, help="A metric that is a mean over images."
)
@click.option(
    "--condition",
    metavar="NAME",
    help="A condition, such as fog:3; default: clean, or all corruptions together.",
)
@click.option(
    "--minimum",
    default=api.SLICE_MINIMUM,
    show_default=True,
    help="The smallest number of images of a slice.",
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Number of slices to print, the worst first.",
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
    """Score RUN by class, image size, or a column of the data's table, the worst slices first.

    Slices are ordered by values shrunk towards the overall mean, because slices with few images have extreme
    values by chance.
    """
    if as_json and as_csv:
        raise UserError("--json and --csv exclude each other; give one.")
    run = load_run(run_folder, group=group)
    slices = api.slices(run, by, metric, condition, minimum=minimum)
    omitted = api.omitted_slices(run, by, metric, condition, minimum=minimum)
    left_out = _left_out_lines(run, by, omitted, minimum)
    if as_json:
        print_json([asdict(row) for row in slices])
    elif as_csv:
        click.echo(csv_text(COLUMNS, slices), nl=False)
    else:
        print_lines(Console(), _lines(run, slices, top, left_out))
        return
    if left_out and not slices:
        print_lines(Console(stderr=True), left_out)


def _left_out_lines(run: Run, by: str, omitted: api.Omitted, minimum: int) -> list[tuple[str, str]]:
    """The number of omitted slices, the reason, and the minimum that would include another."""
    lines = []
    if omitted.small:
        group, size = max(omitted.small.items(), key=lambda item: item[1])
        count = len(omitted.small)
        advice = f"; --minimum {size} shows it" if size > 1 else ""
        have = counted(count, "slice has", "slices have")
        lines.append(
            (
                "left out",
                f"{have} fewer than {counted(minimum, 'image')}; the largest is "
                f"'{_full_name(run, by, group)}' with {size:,}{advice}",
            )
        )
    if omitted.alone:
        are = counted(len(omitted.alone), "slice is", "slices are")
        what = (
            f"{are} of one image or one group only (such as '{_full_name(run, by, omitted.alone[0])}') and "
        )
        lines.append(("left out", f"{what}{'has' if len(omitted.alone) == 1 else 'have'} no interval"))
    return lines


def _full_name(run: Run, by: str, group: str) -> str:
    """A group with its name, if it has one: `n01440764 tench`."""
    return " ".join(dict.fromkeys((group.strip(), group_name(run.scoring, by, group))))


def _lines(
    run: Run, slices: list[api.Slice], top: int, left_out: list[tuple[str, str]]
) -> list[tuple[str, str]]:
    if not slices:
        return [("slices", "none"), *left_out]
    worst = slices[0]
    scale, unit = (100.0, " %") if unit_of(worst.metric).is_share else (1.0, "")
    lines = [("score", f"{worst.metric} {worst.condition}   {worst.formula}")]
    lines += [
        (
            _full_name(run, row.by, row.group),
            f"{scale * row.value:6.2f}{unit}  [{scale * row.low:.2f}, {scale * row.high:.2f}]   "
            f"n = {row.n:,}   shrunk {scale * row.shrunk:.2f}{unit}",
        )
        for row in slices[:top]
    ]
    if len(slices) > top:
        lines.append(("", f"and {len(slices) - top} more (--top, --csv)"))
    return lines + left_out
