"""windtunnel curate report: the page of a project."""

from __future__ import annotations

import click

from windtunnel import api


@click.command("report", short_help="Write the page of a project: funnel, confusions, examples, transfer.")
@click.argument("project")
@click.option("--out", metavar="FILE.html", help="The page; default: PROJECT/report.html.")
def command(project: str, out: str | None) -> None:
    """Write the HTML page of a filtered PROJECT.

    It shows the funnel, the confusions, examples of the shortlist, near-duplicates and the transfer to
    held-out models.
    """
    click.echo(api.write_project_page(project, out))
