"""windtunnel serve: browse runs in a web browser."""

from __future__ import annotations

import secrets
from pathlib import Path

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import INCLUDE
from windtunnel.cli.printing import print_lines
from windtunnel.cli.serving import load_server, refuse_unasked_exposure, serving_options
from windtunnel.core.errors import UserError

PORT = 8766
AUDIT_FILE = "audit.jsonl"


@click.command()
@click.argument("runs")
@serving_options(PORT)
@INCLUDE
@click.option(
    "--audit-log",
    metavar="FILE",
    help=f"Record who signed in, what was refused and what failed. Default: RUNS/{AUDIT_FILE} if other "
    "machines reach the server, else none.",
)
def command(
    runs: str,
    host: str,
    port: int,
    expose: bool,
    names: tuple[str, ...],
    https: bool,
    trusted_proxy: tuple[str, ...],
    audit_log: str | None,
) -> None:
    """List, filter, sort and compare the runs in the folder RUNS in a web browser.

    Pages show reports, any image under any condition with the prediction of each model, and scatter plots of
    any two scores. Images are made again from the run's recipe. No run is changed. Only this machine reaches
    the server by default; with --expose, or --name for a proxy, people need the link that is printed.

    \b
    Examples:
      windtunnel serve windtunnel-runs
      windtunnel serve windtunnel-runs --host 192.168.0.7 --expose
    """
    load_server("windtunnel serve")
    from windtunnel.web.runs_app import runs_app
    from windtunnel.web.server import (
        LOOPBACK_NAMES,
        is_loopback,
        listen,
        refuse_unknown_proxies,
        serve,
        served_names,
    )

    refuse_unasked_exposure(host, expose, "whoever has the link sees every run and image")
    refuse_unknown_proxies(trusted_proxy)
    browser = api.RunBrowser(runs)
    if not browser.keys():
        raise UserError(f"{runs} contains no run; give a folder with run folders, such as windtunnel-runs.")
    reached = not is_loopback(host) or bool(names)
    token = secrets.token_urlsafe(32) if reached else ""
    audit = Path(audit_log) if audit_log else Path(runs) / AUDIT_FILE if reached else None
    if audit is not None:
        _refuse_unwritable(audit)
    opened = listen(host, port)
    served = served_names(host)
    shown = f"http://{served[0]}:{opened.getsockname()[1]}"
    lines = [("address", f"{shown}/join#{token}" if token else shown)]
    if reached:
        lines.append(("exposed", "all runs in the folder and their images, to people with this link"))
    if audit is not None:
        lines.append(("audit log", str(audit)))
    lines.append(("stop", "Ctrl-C"))
    print_lines(Console(stderr=True), lines)
    app = runs_app(browser, {*LOOPBACK_NAMES, *served, *names}, token=token, secure=https, audit_file=audit)
    serve(app, opened, trusted_proxy)


def _refuse_unwritable(file: Path) -> None:
    try:
        with file.open("a"):
            pass
    except OSError as error:
        raise UserError(
            f"The audit log {file} cannot be written: {error.strerror}; give another file with --audit-log."
        ) from error
