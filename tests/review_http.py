"""A review that a thread of the test serves, and requests to it."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.review_load import ask
from tests.served_apps import served as served_app
from windtunnel import api
from windtunnel.web.review_app import review_app
from windtunnel.web.server import LOOPBACK_NAMES


class RunningReview:
    """A review that is served by a thread of this process."""

    def __init__(self, folder: Path, port: int, secrets: dict[str, str]) -> None:
        self.folder, self.port, self.secrets = folder, port, secrets

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    def sign_in(self, name: str) -> str:
        status, _, headers = ask(self.connect(), "POST", "/api/session", {"token": self.secrets[name]})
        assert status == 200
        return headers["set-cookie"].split(";")[0]

    def get(self, path: str, cookie: str = "") -> tuple[int, Any, dict[str, str]]:
        return ask(self.connect(), "GET", path, None, cookie)

    def post(self, path: str, body: Any, cookie: str = "") -> tuple[int, Any, dict[str, str]]:
        return ask(self.connect(), "POST", path, body, cookie)

    def raw(self, path: str, body: bytes, cookie: str = "", **headers: str) -> int:
        """Send bytes as they are; returns the status."""
        connection = self.connect()
        given = {"cookie": cookie, "origin": f"http://127.0.0.1:{self.port}"}
        given |= {"content-type": "application/json"} | {k.replace("_", "-"): v for k, v in headers.items()}
        connection.request("POST", path, body, {name: value for name, value in given.items() if value})
        return connection.getresponse().status

    def audit(self) -> list[dict[str, Any]]:
        lines = (self.folder / "review" / "audit.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]


@contextmanager
def served(folder: Path, secrets: dict[str, str]) -> Iterator[RunningReview]:
    """Serve a review in a thread."""
    with api.open_review(folder) as review, served_app(review_app(review, LOOPBACK_NAMES)) as port:
        yield RunningReview(folder, port, secrets)
