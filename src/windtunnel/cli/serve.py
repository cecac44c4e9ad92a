"""windtunnel serve: browse runs in a web browser."""

from __future__ import annotations

import secrets

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import INCLUDE
from windtunnel.cli.printing import print_lines
from windtunnel.cli.serving import load_server, refuse_unasked_exposure, serving_options
from windtunnel.core.errors import UserError

PORT = 8766


@click.command()
@click.argument("runs")
@serving_options(PORT)
@INCLUDE
def command(runs: str, host: str, port: int, expose: bool, names: tuple[str, ...], https: bool) -> None:
    """List, filter, sort and compare the runs in the folder RUNS in a web browser.

    Pages show reports, any image under any condition with the prediction of each model, and scatter plots of
    any two scores. Images are made again from the run's recipe. Nothing is changed. Only this machine reaches
    the server by default; with --expose, or --name for a proxy, people need the link that is printed.

    \b
    Examples:
      windtunnel serve windtunnel-runs
      windtunnel serve windtunnel-runs --host 192.168.0.7 --expose
    """
    load_server("windtunnel serve")
    from windtunnel.web.runs_app import runs_app
    from windtunnel.web.server import LOOPBACK_NAMES, is_loopback, listen, serve, served_names

    refuse_unasked_exposure(host, expose, "whoever has the link sees every run and image")
    browser = api.RunBrowser(runs)
    if not browser.keys():
        raise UserError(f"{runs} contains no run; give a folder with run folders, such as windtunnel-runs.")
    reached = not is_loopback(host) or bool(names)
    token = secrets.token_urlsafe(32) if reached else ""
    opened = listen(host, port)
    served = served_names(host)
    shown = f"http://{served[0]}:{opened.getsockname()[1]}"
    lines = [("address", f"{shown}/join#{token}" if token else shown)]
    if reached:
        lines.append(("exposed", "all runs in the folder and their images, to people with this link"))
    lines.append(("stop", "Ctrl-C"))
    print_lines(Console(stderr=True), lines)
    serve(runs_app(browser, {*LOOPBACK_NAMES, *served, *names}, token=token, secure=https), opened)
