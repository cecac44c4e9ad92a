"""The server of runs: links, limits and the audit log; and addresses behind a proxy in both applications."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import windtunnel
from tests.review_load import ask
from tests.review_projects import make_review
from tests.served_apps import served
from windtunnel import api
from windtunnel.web import runs_app as runs_routes
from windtunnel.web.review_app import review_app
from windtunnel.web.runs_app import runs_app
from windtunnel.web.server import LOOPBACK_NAMES

TOKEN = "t" * 43
Command = Callable[..., Any]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run."""
    folder = tmp_path_factory.mktemp("served") / "runs"
    windtunnel.run("demo", "demo", "demo", out=folder / "first").report()
    return folder


def connect(port: int) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", port, timeout=30)


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_sign_ins_and_refusals_are_logged_without_secrets(runs: Path, tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    app = runs_app(api.RunBrowser(runs), LOOPBACK_NAMES, token=TOKEN, audit_file=log)
    with served(app) as port:
        connection = connect(port)
        assert ask(connection, "GET", "/api/runs")[0] == 401
        assert ask(connection, "POST", "/api/session", {"token": "forged"})[0] == 401
        status, _, headers = ask(connection, "POST", "/api/session", {"token": TOKEN})
        assert status == 200
        cookie = headers["set-cookie"].split(";")[0]
        assert ask(connection, "GET", "/api/runs", None, cookie)[0] == 200
        assert ask(connection, "GET", "/api/images?run=first&count=0", None, cookie)[0] == 422
        assert ask(connection, "GET", "/api/images?run=missing", None, cookie)[0] == 404
    found = [(row["what"], row.get("reason", "")) for row in lines(log)]
    assert found == [("refused", "not signed in"), ("refused", "unknown link"), ("signed in", "")]
    assert {row["address"] for row in lines(log)} == {"127.0.0.1"}
    assert TOKEN not in log.read_text()
    assert cookie.partition("=")[2] not in log.read_text()


def test_one_reader_cannot_flood_the_server(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs_routes, "PER_SECOND", 0.01)
    monkeypatch.setattr(runs_routes, "BURST", 10)
    log = tmp_path / "audit.jsonl"
    app = runs_app(api.RunBrowser(runs), LOOPBACK_NAMES, token=TOKEN, audit_file=log)
    with served(app) as port:
        connection = connect(port)
        cookies = []
        for _ in range(2):
            _, _, headers = ask(connection, "POST", "/api/session", {"token": TOKEN})
            cookies.append(headers["set-cookie"].split(";")[0])
        answers = [ask(connection, "GET", "/api/runs", None, cookies[0]) for _ in range(15)]
        assert [status for status, _, _ in answers] == [200] * 10 + [429] * 5
        assert answers[-1][2]["retry-after"] == "1"
        assert ask(connection, "GET", "/api/runs", None, cookies[1])[0] == 200  # others go on
    assert "too fast" in {row.get("reason") for row in lines(log)}


def test_a_failure_is_logged_and_one_line(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_browser: api.RunBrowser) -> None:
        raise RuntimeError("disk on fire")

    monkeypatch.setattr(api.RunBrowser, "listing", fail)
    log = tmp_path / "audit.jsonl"
    with served(runs_app(api.RunBrowser(runs), LOOPBACK_NAMES, audit_file=log)) as port:
        status, answer, _ = ask(connect(port), "GET", "/api/runs")
    assert (status, answer) == (500, {"detail": "The server failed. Try again."})
    assert lines(log)[-1]["error"] == "RuntimeError: disk on fire"


@pytest.mark.parametrize(
    ("proxies", "forwarded", "logged"),
    [
        ((), "203.0.113.9", "127.0.0.1"),
        (("10.0.0.0/8",), "203.0.113.9", "127.0.0.1"),
        (("127.0.0.1",), "203.0.113.9", "203.0.113.9"),
        (("127.0.0.1",), "198.51.100.1, 203.0.113.9", "203.0.113.9"),  # the first is what the client claims
        (("127.0.0.0/8", "10.0.0.0/8"), "203.0.113.9, 10.0.0.5", "203.0.113.9"),
    ],
)
def test_forwarded_addresses_are_believed_of_trusted_proxies_only(
    tmp_path: Path, proxies: tuple[str, ...], forwarded: str, logged: str
) -> None:
    make_review(tmp_path / "project")
    with api.open_review(tmp_path / "project") as review:
        with served(review_app(review, LOOPBACK_NAMES), proxies) as port:
            connection = connect(port)
            connection.request("GET", "/api/tasks", headers={"x-forwarded-for": forwarded})
            assert connection.getresponse().status == 401
        assert lines(review.audit_file)[-1]["address"] == logged


@pytest.mark.parametrize("proxy", ("*", "proxy.example.org", "10.0.0.0/40", "", "0.0.0.0/0", "::/0"))
def test_a_proxy_without_an_address_of_its_own_is_refused(
    runs: Path, windtunnel_command: Command, proxy: str
) -> None:
    done = windtunnel_command("serve", runs, "--trusted-proxy", proxy)
    assert done.returncode == 2
    assert "--trusted-proxy" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_an_audit_log_that_cannot_be_written_is_refused(
    runs: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    done = windtunnel_command("serve", runs, "--audit-log", tmp_path / "missing" / "audit.jsonl")
    assert done.returncode == 2
    assert "--audit-log" in done.stderr
