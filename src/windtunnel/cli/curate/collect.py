"""windtunnel curate collect: candidates from a table of URLs and files, or from a folder."""

from __future__ import annotations

import shlex
from typing import Any

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, LOG, print_json, record_options
from windtunnel.cli.printing import print_lines
from windtunnel.core.progress_bar import Bar
from windtunnel.core.wording import counted
from windtunnel.options.collect import CollectOptions

# Pairs of labels that are printed.
CHANGES_SHOWN = 8


@click.command("collect", short_help="Collect candidates from a table of URLs or files, or a folder.")
@click.argument("table", metavar="TABLE|FOLDER")
@click.option("--project", required=True, help="The project's folder; it is created if there is none.")
@record_options(CollectOptions)
@AS_JSON
@LOG
def command(table: str, project: str, as_json: bool, console: Console, **options: Any) -> None:
    """Store the images of TABLE or FOLDER in a project, with a row for every candidate.

    TABLE is a CSV file with a column url or file, and optionally tag, label, licence and source. FOLDER has
    one folder per class; other datasets are read too. Only http and https URLs of public hosts are
    requested. Labels are weak until a person confirms them. The same command continues after a stop.

    \b
    Examples:
      windtunnel curate collect urls.csv --project birds --classes tags.csv
      windtunnel curate collect ./downloaded --project birds --licence CC-BY-4.0
    """
    with Bar(console, "collecting candidates") as bar:
        step = api.collect_candidates(table, project, CollectOptions(**options), progress=bar)
    if as_json:
        changes = [
            {"before": before, "now": now, "images": images}
            for (before, now), images in step.label_changes.items()
        ]
        print_json(
            {
                "step": step.step,
                **step.summary.to_json(),
                "label_changes": changes,
                "label_conflicts": step.label_conflicts,
                "restored": step.restored,
                "not_restored": step.not_restored,
            }
        )
        return
    statuses = ", ".join(f"{name} {count:,}" for name, count in step.summary.statuses.items())
    print_lines(
        Console(),
        [
            (
                "collected",
                f"{step.summary.stored:,} of {step.summary.rows:,} candidates into {project}",
            ),
            ("statuses", statuses),
            *_changes(step),
            ("next", shlex.join(["windtunnel", "curate", "status", project])),
        ],
    )


def _changes(step: api.Collected) -> list[tuple[str, str]]:
    """What the command changed for images that were stored before."""
    changes = [
        f"{counted(images, 'image')}: label changed from {_quoted(before)} to {_quoted(now)}"
        for (before, now), images in sorted(step.label_changes.items(), key=lambda item: -item[1])
    ]
    lines = [("labels", text) for text in changes[:CHANGES_SHOWN]]
    if len(changes) > CHANGES_SHOWN:
        lines.append(("labels", f"and {len(changes) - CHANGES_SHOWN:,} more changes (--json)"))
    if step.label_conflicts:
        images = counted(step.label_conflicts, "image")
        lines.append(("conflicts", f"{images} given with several labels; the latest collection decides"))
    if step.restored:
        images = counted(step.restored, "image that was", "images that were")
        lines.append(("restored", f"{images} damaged or missing"))
    if step.not_restored:
        images = counted(step.not_restored, "damaged or missing image")
        lines.append(("not restored", f"{images}; the source does not have the same content any more"))
    return lines


def _quoted(label: str) -> str:
    return f"'{label}'" if label else "none"
