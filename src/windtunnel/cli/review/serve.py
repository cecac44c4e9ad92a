"""windtunnel review serve: the review app."""

from __future__ import annotations

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.printing import print_lines
from windtunnel.cli.review_database import DATABASE
from windtunnel.cli.serving import load_server, refuse_unasked_exposure, serving_options
from windtunnel.core.errors import UserError

PORT = 8765


@click.command("serve", short_help="Serve the review pages.")
@click.argument("project")
@serving_options(PORT)
@DATABASE
def command(
    project: str,
    host: str,
    port: int,
    expose: bool,
    names: tuple[str, ...],
    https: bool,
    trusted_proxy: tuple[str, ...],
    database: str | None,
) -> None:
    """Serve the review of PROJECT to the people whom review people has given a link.

    Only this machine reaches it by default. Verdicts are on the disk before they are acknowledged; the server
    may be stopped at any time. PROJECT/review/audit.jsonl records who signed in and what was refused.

    \b
    Examples:
      windtunnel review serve birds
      windtunnel review serve birds --host 192.168.0.7 --expose
      windtunnel review serve birds --name review.example.org --https --trusted-proxy 127.0.0.1
    """
    load_server("The review app")
    from windtunnel.web.review_app import review_app
    from windtunnel.web.server import (
        LOOPBACK_NAMES,
        is_loopback,
        listen,
        refuse_unknown_proxies,
        serve,
        served_names,
    )

    refuse_unasked_exposure(host, expose, "whoever has a link sees the images of all tasks")
    refuse_unknown_proxies(trusted_proxy)
    with api.open_review(project, database) as review:
        if not review.tasks():
            raise UserError(f"{project} has no task; windtunnel review create {project} TASK --kind KIND.")
        opened = listen(host, port)
        served = served_names(host)
        hosts = {*LOOPBACK_NAMES, *served, *names}
        lines = [("address", f"http://{served[0]}:{opened.getsockname()[1]}")]
        if not is_loopback(host) or names:
            encrypted = "" if https else "; without HTTPS"
            lines.append(("exposed", f"images and labels of all tasks, to people with a link{encrypted}"))
        lines.append(("stop", "Ctrl-C"))
        print_lines(Console(stderr=True), lines)
        serve(review_app(review, hosts, secure=https), opened, trusted_proxy)
