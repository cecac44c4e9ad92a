"""URLs of served models: `kserve://HOST:PORT/MODEL`, `https://HOST/v2/models/MODEL`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from windtunnel.core.errors import UserError
from windtunnel.core.locations.urls import LOCAL_HOSTS, split_url

SCHEME = "kserve://"
MODELS = "/v2/models/"
_MODEL = re.compile(r"(?P<name>[^/]+)(/versions/(?P<version>[^/]+))?")
_HTTP = re.compile(rf"https?://[^/]+(/.*)?{MODELS}{_MODEL.pattern}/?", re.IGNORECASE)


@dataclass(frozen=True)
class ServedAddress:
    """Where a model is served.

    Attributes:
        secure: whether the connection uses TLS.
        host, port: the server.
        prefix: the path before `/v2`.
        name: the model's name.
        version: its version; "" for the one that the server chooses.
    """

    secure: bool
    host: str
    port: int
    prefix: str
    name: str
    version: str = ""

    @property
    def server(self) -> str:
        """The server's URL, for messages."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.secure else 'http'}://{host}:{self.port}{self.prefix}"

    @property
    def is_private(self) -> bool:
        """Whether nobody else can read what is sent: by TLS, or because the server is this machine."""
        return self.secure or self.host in LOCAL_HOSTS

    @property
    def model_path(self) -> str:
        """The path of the model's metadata."""
        version = f"/versions/{quote(self.version, safe='')}" if self.version else ""
        return f"{self.prefix}{MODELS}{quote(self.name, safe='')}{version}"


def is_served_model(text: str) -> bool:
    """Whether a text is the URL of a served model."""
    return text.lower().startswith(SCHEME) or _HTTP.fullmatch(text) is not None


def served_address(text: str) -> ServedAddress:
    """The address of a URL; refuses user names, passwords, query strings and incomplete URLs."""
    split_url(text)
    wrong = UserError(
        f"'{text}' is not the URL of a served model; give kserve://HOST:PORT/MODEL, or "
        "https://HOST/v2/models/MODEL, with /versions/VERSION after it for one version."
    )
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError as error:
        raise wrong from error
    secure = url.scheme.lower() == "https"
    prefix, mark, rest = url.path.rpartition(MODELS)
    if not mark:
        prefix = ""
    match = _MODEL.fullmatch(rest.strip("/"))
    if not url.hostname or match is None or url.fragment:
        raise wrong
    return ServedAddress(
        secure,
        url.hostname,
        port or (443 if secure else 80),
        prefix.rstrip("/"),
        unquote(match["name"]),
        unquote(match["version"] or ""),
    )
