"""What the commands that serve pages share: where they listen, and whom they expose to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

from windtunnel.core.errors import UserError
from windtunnel.core.extras import load_extra

Command = TypeVar("Command", bound=Callable[..., object])


def serving_options(port: int) -> Callable[[Command], Command]:
    """The options of a server: host, port, expose, names, https and trusted proxies."""
    options = (
        click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on."),
        click.option(
            "--port", type=click.IntRange(0, 65535), default=port, show_default=True, help="0 for a free one."
        ),
        click.option(
            "--expose", is_flag=True, help="Allow an address that other machines reach; people need a link."
        ),
        click.option(
            "--name",
            "names",
            multiple=True,
            metavar="HOST",
            help="A name under which the server is reached, such as that of a proxy; may be repeated.",
        ),
        click.option(
            "--https", is_flag=True, help="A proxy in front speaks HTTPS: cookies are sent over HTTPS only."
        ),
        click.option(
            "--trusted-proxy",
            "trusted_proxy",
            multiple=True,
            metavar="ADDRESS",
            help="Address or network of a proxy in front. The audit log and limits then use the address of "
            "its client, from the header X-Forwarded-For; may be repeated.",
        ),
    )

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def load_server(what: str) -> None:
    """Load the libraries of web servers, or say which extra has them."""
    load_extra("fastapi", what)
    load_extra("uvicorn", what)


def refuse_unasked_exposure(host: str, expose: bool, visible: str) -> None:
    """Refuse an address that other machines reach, unless exposure is asked for."""
    from windtunnel.web.server import is_loopback

    if not is_loopback(host) and not expose:
        raise UserError(
            f"--host is {host}: other machines reach it, and {visible}. Give --expose if that is wanted, and "
            "put a proxy with HTTPS in front."
        )
