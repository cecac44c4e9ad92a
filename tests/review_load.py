"""Reviewers as programs: they judge through the server's routes while it is killed and started again.

Every reviewer keeps an outbox as the browser does: an event leaves it only when the server has acknowledged
it, and is sent again otherwise.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from windtunnel.review.records import MediaFile, NewItem, TaskRecipe
from windtunnel.review.review import open_review

TASK = "load"
START_SECONDS = 60


def make_load_project(
    folder: Path, items: int, reviewers: int, database: str | None = None
) -> dict[str, str]:
    """A project with a task of some items and overlap 2; returns the secrets of the reviewers."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "project.json").write_text(json.dumps({"schema": 1, "name": folder.name, "seed": 0}))
    new = [
        NewItem(
            f"{number}", (MediaFile("image", f"media/{number}.png", 32, 32),), ("cat",), {"id": f"{number}"}
        )
        for number in range(items)
    ]
    with open_review(folder, database, create=True) as review:
        recipe = TaskRecipe(title="Load", source="candidates", overlap=2, check_every=0)
        review.create_task(TASK, "select", recipe, new)
        return {f"R{number}": review.add_person(f"R{number}", "reviewer")[1] for number in range(reviewers)}


class Server:
    """A server process that can be killed at any moment and started again on its port."""

    def __init__(self, project: Path, port: int, database: str | None = None) -> None:
        self.project, self.port, self._database = project, port, database
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers."""
        command = [sys.executable, "-m", "windtunnel", "review", "serve", self.project, "--port", self.port]
        environment = {**os.environ, "WINDTUNNEL_REVIEW_DATABASE": self._database or ""}
        self.process = subprocess.Popen(
            [str(word) for word in command],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                assert self.process.stderr is not None
                raise AssertionError(self.process.stderr.read().decode())
            try:
                if request(self.port, "GET", "/api/tasks")[0] == 401:
                    return
            except OSError:
                time.sleep(0.05)
        raise AssertionError("the server does not answer")

    def kill(self) -> None:
        """Kill it without warning."""
        self.stop(signal.SIGKILL)

    def stop(self, number: int = signal.SIGTERM) -> None:
        """End it with a signal."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(30)
        if self.process is not None and self.process.stderr is not None:
            self.process.stderr.close()


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    """Run a server, and end it at the end."""
    try:
        server.start()
        yield server
    finally:
        server.stop()


def request(
    port: int, method: str, path: str, body: Any = None, cookie: str = "", timeout: float = 30
) -> tuple[int, Any, dict[str, str]]:
    """Send a request on a connection of its own; returns status, JSON and headers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        return ask(connection, method, path, body, cookie)
    finally:
        connection.close()


def ask(
    connection: http.client.HTTPConnection, method: str, path: str, body: Any = None, cookie: str = ""
) -> tuple[int, Any, dict[str, str]]:
    """Send a request on an open connection."""
    headers = {"cookie": cookie, "origin": f"http://127.0.0.1:{connection.port}"}
    content = None if body is None else json.dumps(body).encode()
    connection.request(method, path, content, headers | {"content-type": "application/json"})
    answer = connection.getresponse()
    text = answer.read()
    is_json = answer.headers.get_content_type() == "application/json"
    return answer.status, json.loads(text) if is_json else text, dict(answer.headers)


class Reviewer(threading.Thread):
    """Judges items at a rate until told to stop, with an outbox."""

    def __init__(self, port: int, secret: str, per_second: float, seed: int) -> None:
        super().__init__(daemon=True)
        self._port, self._secret, self._interval = port, secret, 1 / per_second
        self._random = random.Random(seed)
        self._connection: http.client.HTTPConnection | None = None
        self._cookie = ""
        self._outbox: list[dict[str, Any]] = []
        self.leaving = threading.Event()
        self.acknowledged: list[str] = []
        self.seconds: list[float] = []
        self.window_seconds: list[float] = []
        self.failures = 0
        self.refused: list[Any] = []

    def run(self) -> None:
        """Judge one item after the other."""
        place = 0
        items: dict[int, str] = {}
        due = time.monotonic() + self._random.random() * self._interval
        while not self.leaving.is_set():
            time.sleep(max(0.0, due - time.monotonic()))
            due = max(due + self._interval, time.monotonic() - 5 * self._interval)
            if place not in items:
                begun = time.perf_counter()
                found = self._ask("GET", f"/api/tasks/{TASK}/items?start={place}&count=20")
                if found is None:
                    continue
                self.window_seconds.append(time.perf_counter() - begun)
                if not found["items"]:
                    return
                items |= {row["place"]: row["item"] for row in found["items"]}
            word = self._random.choice(("accept", "reject", "unsure"))
            self._outbox.append(
                {
                    "event": str(uuid.uuid4()),
                    "task": TASK,
                    "item": items[place],
                    "action": "verdict",
                    "verdict": {"choice": word},
                    "client_time": time.time_ns() // 1_000_000,
                }
            )
            place += 1
            self._flush()
        while self._outbox:
            self._flush()

    def _flush(self) -> None:
        begun = time.perf_counter()
        answer = self._ask("POST", "/api/events", {"events": self._outbox[:200]})
        if answer is None:
            return
        self.seconds.append(time.perf_counter() - begun)
        self.refused += answer["refused"]
        done = set(answer["acknowledged"])
        self.acknowledged += answer["acknowledged"]
        self._outbox = [row for row in self._outbox if row["event"] not in done]

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        """The answer, or None if the server is away; signs in again after a restart if need be."""
        try:
            if self._connection is None:
                self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
            if not self._cookie:
                token = {"token": self._secret}
                status, _, headers = ask(self._connection, "POST", "/api/session", token)
                assert status == 200, status
                self._cookie = headers["set-cookie"].split(";")[0]
            status, content, _ = ask(self._connection, method, path, body, self._cookie)
        except (OSError, http.client.HTTPException):
            if self._connection is not None:
                self._connection.close()
            self._connection = None
            self.failures += 1
            time.sleep(0.1)
            return None
        assert status == 200, (status, content)
        return content


def run_load(
    server: Server, secrets: Sequence[str], *, per_second: float, seconds: float, kills: int, seed: int = 0
) -> list[Reviewer]:
    """Let reviewers work for some seconds while the server is killed and restarted `kills` times."""
    rng = random.Random(seed)
    reviewers = [Reviewer(server.port, secret, per_second, place) for place, secret in enumerate(secrets)]
    for reviewer in reviewers:
        reviewer.start()
    begun = time.monotonic()
    moments = sorted(rng.uniform(0.1, 0.95) * seconds for _ in range(kills))
    for moment in moments:
        time.sleep(max(0.0, begun + moment - time.monotonic()))
        server.kill()
        server.start()
    time.sleep(max(0.0, begun + seconds - time.monotonic()))
    for reviewer in reviewers:
        reviewer.leaving.set()
    for reviewer in reviewers:
        reviewer.join(60)
        assert not reviewer.is_alive()
    return reviewers


def stored_events(project: Path, database: str | None = None) -> list[str]:
    """The ids of all stored events."""
    with open_review(project, database) as review:
        return [str(row["event"]) for row in review.event_rows(review.task(TASK))]
