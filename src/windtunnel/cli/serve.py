"""windtunnel serve: browse runs in a web browser."""

from __future__ import annotations

import secrets

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import INCLUDE
from windtunnel.cli.printing import print_lines
from windtunnel.core.errors import UserError
from windtunnel.core.extras import load_extra

PORT = 8766


@click.command()
@click.argument("runs")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0 for a free one."
)
@click.option("--expose", is_flag=True, help="Allow an address that other machines reach; needs the link.")
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="HOST",
    help="A name under which the server is reached, such as that of a proxy; may be repeated.",
)
@click.option(
    "--https", is_flag=True, help="A proxy in front speaks HTTPS: cookies are sent over HTTPS only."
)
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
    load_extra("fastapi", "windtunnel serve")
    load_extra("uvicorn", "windtunnel serve")
    from windtunnel.web.runs_app import runs_app
    from windtunnel.web.server import LOOPBACK_NAMES, is_loopback, listen, serve, served_names

    if not is_loopback(host) and not expose:
        raise UserError(
            f"--host is {host}: other machines reach it, and whoever has the link sees every run and image. "
            "Give --expose if that is wanted, and put a proxy with HTTPS in front."
        )
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
