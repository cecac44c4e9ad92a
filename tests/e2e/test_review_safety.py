"""Attacks on the review server: refused, logged, and it goes on."""

from __future__ import annotations

import contextlib
import json
import socket
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.review_http import RunningReview, served
from tests.review_load import ask
from tests.review_projects import make_review
from windtunnel import api
from windtunnel.web import review_app as review_routes
from windtunnel.web import server as web_server
from windtunnel.web.safety import Audit

SCRIPT = "<script>alert(1)</script>"
SQL = "'; DROP TABLE events; --"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningReview]:
    """A served review with tasks of every kind and without practice."""
    folder = tmp_path_factory.mktemp("review") / "project"
    secrets = make_review(folder, practice=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(web_server, "REQUEST_SECONDS", 1)
        patch.setattr(web_server, "IDLE_SECONDS", 5)
        patch.setattr(web_server, "CONNECTIONS", 100)
        with served(folder, secrets) as found:
            yield found


def event(item: str, **changes: Any) -> dict[str, Any]:
    made = {"event": str(uuid.uuid4()), "task": "select", "item": item, "action": "verdict"}
    return made | {"verdict": {"choice": "accept"}, "client_time": 1} | changes


def test_pages_and_data_need_a_link(running: RunningReview) -> None:
    for path in ("/api/tasks", "/api/tasks/select/items", "/api/session", "/media/select/x/image"):
        assert running.get(path)[0] == 401
    cookie = running.sign_in("Ann")
    for path in ("progress", "agreement", "conflicts", "export/votes.csv"):
        assert running.get(f"/api/owner/tasks/select/{path}", cookie)[0] == 403
    body = {"events": [{"event": str(uuid.uuid4()), "item": "x", "verdict": {}, "client_time": 0}]}
    assert running.post("/api/owner/tasks/select/resolve", body, cookie)[0] == 403
    assert running.get("/openapi.json")[0] == 404


@pytest.mark.parametrize(
    "token", ["", "x", "0" * 43, "x" * 201, SQL, SCRIPT, "\u0000", "\ud83d", None, 5, ["x"], {"a": 1}]
)
def test_forged_links_are_refused_and_logged(running: RunningReview, token: Any) -> None:
    assert running.post("/api/session", {"token": token})[0] in (401, 422)
    assert running.get("/api/tasks", f"windtunnel_review_{running.port}={'x' * 43}")[0] == 401


def test_an_ended_session_and_a_renewed_link_cannot_be_used_again(running: RunningReview) -> None:
    cookie = running.sign_in("Cid")
    assert running.get("/api/tasks", cookie)[0] == 200
    assert running.post("/api/session/end", {}, cookie)[0] == 200
    assert running.get("/api/tasks", cookie)[0] == 401
    again = running.sign_in("Cid")
    with api.open_review(running.folder) as review:
        review.renew_link("Cid")
    assert running.get("/api/tasks", again)[0] == 401
    assert running.post("/api/session", {"token": running.secrets["Cid"]})[0] == 401


@pytest.mark.parametrize(
    "path",
    [
        "/media/select/../../project.json",
        "/media/select/..%2f..%2fproject.json/image",
        "/media/select/%2e%2e/%2e%2e",
        "/media/select/%252e%252e%252fproject.json/image",
        "/media/..%5c..%5cproject.json/x/image",
        "/media/select/x/..%2f..%2f..%2fproject.json",
        "/media/select//etc/passwd",
        "/media/select/%00/image",
        "/static/..%2f..%2freview_app.py",
        "/static/%2e%2e/review_app.py",
        "/static/..%252freview_app.py",
        "/static//etc/passwd",
        "/api/owner/tasks/select/export/..%2f..%2fproject.json",
    ],
)
def test_no_path_leads_out_of_the_project(running: RunningReview, path: str) -> None:
    status, content, _ = running.get(path, running.sign_in("Olga"))
    assert status in (400, 404), content
    assert b"schema" not in str(content).encode()


def test_files_that_are_links_or_no_images_are_not_served(running: RunningReview) -> None:
    cookie = running.sign_in("Ann")
    _, found, _ = running.get("/api/tasks/select/items?count=4", cookie)
    urls = [row["media"][0]["url"] for row in found["items"]]
    with api.open_review(running.folder) as review:
        items = [review.item("select", row["item"]) for row in found["items"]]
    files = [running.folder / item.media[0].file for item in items if item is not None]
    contents = [file.read_bytes() for file in files]
    assert running.get(urls[0], cookie)[0] == 200
    secret = running.folder.parent / "secret.png"
    secret.write_bytes(contents[0])
    try:
        files[0].unlink()
        files[0].symlink_to(secret)
        files[1].write_text(f'<svg xmlns="http://www.w3.org/2000/svg">{SCRIPT}</svg>')
        files[2].write_text(f"<html>{SCRIPT}</html>")
        files[3].unlink()
        assert [running.get(url, cookie)[0] for url in urls] == [404, 415, 415, 404]
    finally:
        files[0].unlink()
        for file, content in zip(files, contents, strict=True):
            file.write_bytes(content)
    _, _, headers = running.get(urls[0], cookie)
    assert headers["content-type"] == "image/jpeg"
    assert headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in headers["content-security-policy"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": ""}, 403),
        ({"sec_fetch_site": "cross-site"}, 403),
        ({"content_type": "text/plain"}, 415),
        ({"content_type": "application/x-www-form-urlencoded"}, 415),
        ({"content_type": "multipart/form-data; boundary=x"}, 415),
        ({"host": "evil.example"}, 421),
    ],
)
def test_posts_from_other_sites_are_refused(
    running: RunningReview, headers: dict[str, str], status: int
) -> None:
    cookie = running.sign_in("Ann")
    body = json.dumps({"events": [event("x")]}).encode()
    assert running.raw("/api/events", body, cookie, **headers) == status
    assert running.audit()[-1]["status"] == status


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe{}",
        b'{"events": 5}',
        b'{"events": []}',
        b"[" * 100_000,
        b'{"events": [' + b"9" * 5000 + b"]}",
        b'{"events": [{"event": NaN}]}',
        b'{"events": [{"client_time": 1e999}]}',
        b'{"events": [{"event": "\\ud800"}]}',
        b'{"events": [{"event": "x", "unknown": 1}]}',
        b'{"events": [{"__proto__": {"x": 1}}]}',
    ],
)
def test_malformed_bodies_are_refused(running: RunningReview, body: bytes) -> None:
    assert running.raw("/api/events", body, running.sign_in("Ann")) in (400, 422)


def test_ids_of_imported_events_are_refused(running: RunningReview) -> None:
    cookies = {name: running.sign_in(name) for name in ("Ann", "Olga")}
    _, queue, _ = running.get("/api/tasks/select/items?count=1", cookies["Ann"])
    given = event(queue["items"][0]["item"])
    given["event"] = str(uuid.uuid5(uuid.NAMESPACE_URL, "a row of a table"))
    assert running.post("/api/events", {"events": [given]}, cookies["Ann"])[0] == 422
    decision = {key: given[key] for key in ("event", "item", "verdict", "client_time")}
    resolve = "/api/owner/tasks/select/resolve"
    assert running.post(resolve, {"events": [decision]}, cookies["Olga"])[0] == 422
    with api.open_review(running.folder) as review:
        assert given["event"] not in {row["event"] for row in review.event_rows(review.task("select"))}


def test_large_bodies_are_refused(running: RunningReview) -> None:
    cookie = running.sign_in("Ann")
    assert running.raw("/api/events", b" " * 600_000, cookie) == 413
    connection = running.connect()
    connection.putrequest("POST", "/api/events")
    for name, value in (
        ("cookie", cookie),
        ("origin", f"http://127.0.0.1:{running.port}"),
        ("content-type", "application/json"),
        ("transfer-encoding", "chunked"),
    ):
        connection.putheader(name, value)
    connection.endheaders()
    try:
        for _ in range(20):
            connection.send(b"10000\r\n" + b" " * 65536 + b"\r\n")
        connection.send(b"0\r\n\r\n")
        assert connection.getresponse().status == 413
    except (BrokenPipeError, ConnectionResetError):
        pass  # the server has closed the connection before the end
    assert running.get("/api/tasks", cookie)[0] == 200


def test_sql_and_script_in_every_field_are_data(running: RunningReview) -> None:
    cookie = running.sign_in("Bob")
    _, queue, _ = running.get("/api/tasks/select/items?count=1", cookie)
    item = queue["items"][0]["item"]
    for text in (SQL, SCRIPT, "' OR 1=1 --", "\u202e", "=cmd|' /C calc'!A0"):
        good = event(item, verdict={"choice": "accept", "note": text})
        status, answer, headers = running.post("/api/events", {"events": [good]}, cookie)
        assert (status, answer["acknowledged"]) == (200, [good["event"]])
        assert answer["present"][0]["verdict"]["note"] == text
        assert headers["content-type"] == "application/json"
        assert headers["x-content-type-options"] == "nosniff"
        for field in ("task", "item", "target", "event", "action"):
            bad = event(item) | {field: text}
            status, answer, _ = running.post("/api/events", {"events": [bad]}, cookie)
            assert status == 422 or answer["acknowledged"] == []
        bad = event(item, verdict={"choice": text})
        _, answer, _ = running.post("/api/events", {"events": [bad]}, cookie)
        assert answer["acknowledged"] == []
        quoted = "".join(f"%{byte:02x}" for byte in text.encode())
        for path in (
            f"/api/tasks/{quoted}",
            f"/api/tasks/{quoted}/classes",
            f"/media/{quoted}/{quoted}/{quoted}",
        ):
            assert running.get(path, cookie)[0] == 404
        assert running.get(f"/api/tasks/select/items?start={quoted}", cookie)[0] == 422


def test_every_response_has_the_headers_of_a_strict_page(running: RunningReview) -> None:
    for path in ("/join", "/api/tasks", "/nothing"):
        headers = running.get(path)[2]
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert (headers["referrer-policy"], headers["x-frame-options"]) == ("no-referrer", "DENY")
    status, _, headers = running.post("/api/session", {"token": running.secrets["Bob"]})
    assert status == 200
    cookie = headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


def test_one_person_cannot_flood_the_server(running: RunningReview, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(review_routes, "PER_SECOND", 0.1)
    monkeypatch.setattr(review_routes, "BURST", 20)
    with served(running.folder, running.secrets) as limited:
        cookie, connection = limited.sign_in("Bob"), limited.connect()
        statuses = [ask(connection, "GET", "/api/session", None, cookie)[0] for _ in range(25)]
        assert statuses[:19] == [200] * 19  # signing in was the first of 20
        assert 429 in statuses
        assert limited.get("/api/session", limited.sign_in("Ann"))[0] == 200
        tried = [limited.post("/api/session", {"token": "forged"})[0] for _ in range(40)]
        assert set(tried) == {401, 429}
        assert limited.sign_in("Ann")  # a real link still works


def test_slow_clients_are_cut_off(running: RunningReview) -> None:
    with socket.create_connection(("127.0.0.1", running.port)) as slow:
        slow.settimeout(20)
        slow.sendall(b"POST /api/events HTTP/1.1\r\nhost: 127.0.0.1\r\n")
        assert slow.recv(10) == b""
    assert running.audit()[-1]["reason"] == "too slow"


def test_a_page_of_one_person_does_not_store_verdicts_of_another(running: RunningReview) -> None:
    cookies = {name: running.sign_in(name) for name in ("Ann", "Bob", "Olga")}
    codes = {name: running.get("/api/session", cookie)[1]["person"] for name, cookie in cookies.items()}
    _, queue, _ = running.get("/api/tasks/select/items?count=1", cookies["Bob"])
    given = event(queue["items"][0]["item"])
    body = json.dumps({"events": [given]}).encode()
    decision = {key: given[key] for key in ("event", "item", "verdict", "client_time")}
    decisions = json.dumps({"events": [decision]}).encode()
    resolve = "/api/owner/tasks/select/resolve"
    assert running.raw("/api/events", body, cookies["Bob"], x_windtunnel_person=codes["Ann"]) == 409
    assert running.raw(resolve, decisions, cookies["Olga"], x_windtunnel_person=codes["Ann"]) == 409
    with api.open_review(running.folder) as review:
        assert given["event"] not in {row["event"] for row in review.event_rows(review.task("select"))}
    assert running.raw("/api/events", body, cookies["Bob"], x_windtunnel_person=codes["Bob"]) == 200


def test_clients_that_do_not_read_are_cut_off(
    running: RunningReview, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_server, "RESPONSE_SECONDS", 1)
    cookie = running.sign_in("Ann")
    _, queue, _ = running.get("/api/tasks/select/items?count=1", cookie)
    path = queue["items"][0]["media"][0]["url"]
    request = f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncookie: {cookie}\r\n\r\n".encode()
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(("127.0.0.1", running.port))
        deaf.settimeout(0.5)
        deadline = time.monotonic() + 20
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            while time.monotonic() < deadline:
                with contextlib.suppress(TimeoutError):
                    deaf.sendall(request * 100)
    assert running.audit()[-1]["reason"] == "too slow"


def test_one_address_does_not_fill_the_audit_log(tmp_path: Path) -> None:
    audit = Audit(tmp_path / "audit.jsonl")
    for _ in range(1000):
        audit.refused("10.0.0.1", "GET", "/", 401, "not signed in")
    audit.refused("10.0.0.2", "GET", "/", 401, "not signed in")
    lines = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert 200 <= len(lines) < 300
    assert lines[-1]["address"] == "10.0.0.2"


def test_the_cookie_belongs_to_the_port(running: RunningReview) -> None:
    assert running.sign_in("Ann").startswith(f"windtunnel_review_{running.port}=")


def test_a_server_on_every_address_accepts_the_name_that_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    assert web_server.served_names("0.0.0.0")[0] == socket.gethostname()
    monkeypatch.setattr(socket, "gethostname", lambda: "no-such-name.invalid")
    assert web_server.served_names("0.0.0.0") == ["no-such-name.invalid"]


def test_very_many_connections_do_not_stop_people_at_work(running: RunningReview) -> None:
    cookie, connection = running.sign_in("Ann"), running.connect()
    assert ask(connection, "GET", "/api/session", None, cookie)[0] == 200
    opened = []
    try:
        for _ in range(400):  # four times the limit of this server
            opened.append(socket.create_connection(("127.0.0.1", running.port)))
        assert ask(connection, "GET", "/api/session", None, cookie)[0] == 200
    finally:
        for one in opened:
            one.close()
    assert "too many connections" in {row.get("reason") for row in running.audit()}


def test_idle_connections_do_not_keep_people_out(running: RunningReview) -> None:
    cookie = running.sign_in("Ann")
    idle = [running.connect() for _ in range(150)]  # the limit of this server is 100
    try:
        for connection in idle:
            assert ask(connection, "GET", "/join")[0] == 200
        assert running.get("/api/session", cookie)[0] == 200
        assert ask(idle[-1], "GET", "/join")[0] == 200  # the oldest ones are closed, the newest are not
    finally:
        for connection in idle:
            connection.close()


def test_requests_that_are_sent_together_are_answered(running: RunningReview) -> None:
    with socket.create_connection(("127.0.0.1", running.port), timeout=20) as opened:
        opened.sendall(b"GET /join HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n" * 3)
        received = b""
        while received.count(b"</html>") < 3 and (part := opened.recv(65536)):
            received += part
    assert received.count(b"HTTP/1.1 200") == 3


def test_the_audit_log_has_no_secret(running: RunningReview) -> None:
    running.sign_in("Ann")
    text = (running.folder / "review" / "audit.jsonl").read_text()
    assert "signed in" in text
    for secret in running.secrets.values():
        assert secret not in text
