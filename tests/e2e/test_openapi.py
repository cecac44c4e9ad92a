"""Both web applications against their own OpenAPI schema: no request makes the server fail.

Schemathesis makes requests that follow the schema and requests that break it, with values of its own and with
the names of tasks, items and runs that exist.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from hypothesis.strategies import SearchStrategy
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance

import windtunnel
from tests.review_load import request
from tests.review_projects import make_review
from tests.served_apps import served
from windtunnel import api
from windtunnel.web import review_app as review_routes
from windtunnel.web import runs_app as runs_routes
from windtunnel.web.review_app import review_app
from windtunnel.web.runs_app import runs_app
from windtunnel.web.safety import Guard
from windtunnel.web.server import LOOPBACK_NAMES

EXAMPLES = 9
NO_LIMIT = 10**9
CHECKS = [not_a_server_error, response_schema_conformance]


@pytest.fixture(autouse=True)
def no_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests are not refused for being many."""
    for routes in (review_routes, runs_routes):
        for name in ("PER_SECOND", "BURST", "SIGN_IN_PER_SECOND", "SIGN_IN_BURST"):
            monkeypatch.setattr(routes, name, NO_LIMIT)


def check(guard: Guard, base_url: str, cookie: str, known: Mapping[str, Any]) -> dict[str, set[int]]:
    """Make requests to every operation of an application's schema.

    Args:
        guard: the application.
        base_url: where it is served.
        cookie: of a session.
        known: values of parameters that exist.

    Returns:
        The statuses that each operation answered with.
    """
    assert isinstance(guard._app, FastAPI)
    document = guard._app.openapi()
    schema = schemathesis.openapi.from_dict(document)
    statuses: dict[str, set[int]] = {}
    with requests.Session() as session:
        for result in schema.get_all_operations():
            operation = result.ok()
            described = document["paths"][operation.path][operation.method.lower()]
            parameters = [(row["name"], row["in"]) for row in described.get("parameters", ())]
            given_values = {
                place: {name: known[name] for name, where in parameters if where == within and name in known}
                for place, within in (("path_parameters", "path"), ("query", "query"))
            }
            seen = statuses.setdefault(f"{operation.method.upper()} {operation.path}", set())
            for mode in GenerationMode:
                seen |= _answers(operation.as_strategy(generation_mode=mode), mode, session, base_url, cookie)
                filled = {place: found for place, found in given_values.items() if found}
                strategy = operation.as_strategy(generation_mode=mode, **filled)
                strategy = strategy.map(lambda case: _with_known_items(case, known))
                seen |= _answers(strategy, mode, session, base_url, cookie)
    return statuses


def _with_known_items(case: Any, known: Mapping[str, Any]) -> Any:
    """The same request on an item that exists, if its body has events."""
    rows = case.body.get("events") if isinstance(case.body, dict) else None
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict):
            row.update({name: known[name] for name in ("task", "item") if name in row and name in known})
    return case


def _answers(
    strategy: SearchStrategy[Any], mode: GenerationMode, session: requests.Session, base_url: str, cookie: str
) -> set[int]:
    """The statuses of some requests to an operation; a failure of the server raises."""
    statuses: set[int] = set()

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=strategy)
    def ask(case: Any) -> None:
        # Ending the session would refuse everything after it.
        own = {} if case.path.endswith("/end") else {"cookie": cookie}
        response = case.call(base_url=base_url, session=session, headers={"origin": base_url} | own)
        statuses.add(response.status_code)
        case.validate_response(response, checks=CHECKS)

    try:
        ask()
    except Unsatisfiable:  # an operation without parameters cannot be asked wrongly
        assert mode is GenerationMode.NEGATIVE
    return statuses


def test_no_request_makes_the_review_server_fail(tmp_path: Path) -> None:
    secrets = make_review(tmp_path / "project", practice=1)
    with api.open_review(tmp_path / "project") as review:
        guard = review_app(review, LOOPBACK_NAMES)
        with served(guard) as port:
            _, _, headers = request(port, "POST", "/api/session", {"token": secrets["Olga"]})
            cookie = headers["set-cookie"].split(";")[0]
            (practice,) = review.practice(review.task("select"), review.people()[-1]).items
            found = practice.item
            known = {"name": "select", "task": "select", "item": found.code, "role": found.media[0].role}
            known |= {"file": "votes.csv"}
            statuses = check(guard, f"http://127.0.0.1:{port}", cookie, known)
            # The server still stores a verdict.
            event = {"event": str(uuid.uuid4()), "task": "select", "item": found.code}
            event |= {"action": "verdict", "verdict": {"choice": "accept"}, "client_time": 0}
            _, answer, _ = request(port, "POST", "/api/events", {"events": [event]}, cookie)
            assert answer["acknowledged"] == [event["event"]]
        text = review.audit_file.read_text()
    assert '"failed"' not in text
    assert len(statuses) >= 14
    read = {name for name, seen in statuses.items() if name.startswith("GET") and 200 not in seen}
    assert read <= {"GET /api/tasks/{name}/items"}  # the practice round comes first
    assert not {name for name, seen in statuses.items() if max(seen) >= 500}


def test_no_request_makes_the_server_of_runs_fail(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    for name in ("first", "second"):
        windtunnel.run("demo", "demo", "demo", out=runs / name).report()
    log = tmp_path / "audit.jsonl"
    guard = runs_app(api.RunBrowser(runs), LOOPBACK_NAMES, token="secret", audit_file=log)
    with served(guard) as port:
        _, _, headers = request(port, "POST", "/api/session", {"token": "secret"})
        cookie = headers["set-cookie"].split(";")[0]
        known = {"run": "first", "condition": "clean"}
        statuses = check(guard, f"http://127.0.0.1:{port}", cookie, known | {"row": 0, "frame": 0})
        both = request(port, "GET", "/compare?run=first&run=second", None, cookie)[0]
    assert '"failed"' not in log.read_text()
    assert len(statuses) >= 7
    assert both == 200
    assert not {name for name, seen in statuses.items() if max(seen) >= 500}
    read = {name for name, seen in statuses.items() if name.startswith("GET") and 200 not in seen}
    assert read <= {"GET /compare"}  # one run cannot be compared
