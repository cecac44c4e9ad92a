"""URLs as users write them: scheme and key, without credentials."""

from __future__ import annotations

import re
from pathlib import Path

from windtunnel.core.errors import UserError

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.*)", re.DOTALL)
# A URL that was made a pathlib.Path, which merges slashes.
_SHORTENED = re.compile(r"[a-z][a-z0-9+.-]+:/(?!/)")
# user:password@, where the password may contain slashes; host:8080/ is none.
_PASSWORD = re.compile(r"[^/@:]*:(?!\d+(/|$))[^@]*@")
# Azure writes container@account.
_CONTAINERS = frozenset({"abfs", "abfss", "az", "wasb", "wasbs"})
# Names of this machine, to which secrets may be sent without TLS.
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
ELSEWHERE = "put credentials into the environment (docs/howto/remote.md)"


def is_url(text: str) -> bool:
    """Whether a text is a URL of something that is not a local file."""
    return "://" in text and _URL.match(text) is not None


def split_url(url: str) -> tuple[str, str]:
    """Scheme and key of a URL; refuses user names, passwords, query strings and chained URLs.

    Messages do not repeat what is refused: it may be a secret.
    """
    match = _URL.match(url)
    if match is None:
        raise UserError(f"'{url}' is not a URL; write scheme://..., such as s3://bucket/folder.")
    scheme, key = match[1].lower(), match[2]
    user, at, _ = key.partition("/")[0].rpartition("@")
    if _PASSWORD.match(key) or (at and (":" in user or scheme not in _CONTAINERS)):
        host = key.rpartition("@")[2].partition("/")[0].partition("?")[0]
        raise UserError(
            f"{scheme}://...@{host} contains a user name or a password; give the URL without it and "
            f"{ELSEWHERE}."
        )
    before, mark, _ = key.partition("?")
    if mark:
        raise UserError(
            f"{scheme}://{before}?... has a query string, which may contain a signature; give the URL "
            f"without it and {ELSEWHERE}."
        )
    if "::" in key:
        raise UserError(f"{scheme}://... is a chain of URLs; give the URL of the file itself.")
    key = key.rstrip("/")
    if not key.strip("/") and scheme != "memory":
        raise UserError(f"{scheme}:// names no bucket or host; give a URL such as s3://bucket/folder.")
    return scheme, key


def refuse_shortened(path: Path) -> None:
    """Refuse a URL that was made a `Path`."""
    if _SHORTENED.match(str(path)) and not path.exists():
        raise UserError(
            f"{path} is a URL with one slash; write {str(path).replace(':/', '://', 1)}, in Python as a str."
        )
