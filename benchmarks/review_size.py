"""A review of many items: time of the first page and of the next item, and memory of the server.

python benchmarks/review_size.py [--items 100000] [--windows 200]

Prints the time to create the task, of the first requests after a start, of following windows with their
verdicts, and the resident memory of the server before and after.
"""

from __future__ import annotations

import argparse
import http.client
import socket
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.many_connections import resident_mb
from tests.review_load import TASK, Server, ask, make_load_project, serving


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--windows", type=int, default=200)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="windtunnel-size-") as folder:
        project = Path(folder) / "project"
        begun = time.perf_counter()
        secrets = make_load_project(project, given.items, 1)
        print(f"created {given.items:,} items in {time.perf_counter() - begun:.1f} s")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with serving(Server(project, port)) as server:
            measure(server, secrets["R0"], given.windows)


def measure(server: Server, secret: str, windows: int) -> None:
    """Judge as a person does, window by window."""
    assert server.process is not None
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    _, _, headers = ask(connection, "POST", "/api/session", {"token": secret})
    cookie = headers["set-cookie"].split(";")[0]

    def timed(method: str, path: str, body: Any = None) -> tuple[float, Any]:
        begun = time.perf_counter()
        status, content, _ = ask(connection, method, path, body, cookie)
        assert status == 200, content
        return 1000 * (time.perf_counter() - begun), content

    first = {path: timed("GET", path)[0] for path in ("/", "/api/tasks", f"/api/tasks/{TASK}")}
    first["window"] = timed("GET", f"/api/tasks/{TASK}/items?start=0&count=20")[0]
    print("first requests, ms: " + ", ".join(f"{path} {value:.0f}" for path, value in first.items()))
    print(f"the first page in all: {sum(first.values()):.0f} ms")
    before = resident_mb(server.process.pid)
    times, events = [], []
    for number in range(windows):
        took, found = timed("GET", f"/api/tasks/{TASK}/items?start={20 * number}&count=20")
        times.append(took)
        new = [
            {
                "event": str(uuid.uuid4()),
                "task": TASK,
                "item": row["item"],
                "action": "verdict",
                "verdict": {"choice": "accept"},
                "client_time": 0,
            }
            for row in found["items"]
        ]
        events.append(timed("POST", "/api/events", {"events": new})[0])
    for what, values in (("next window of 20", times), ("20 verdicts in one request", events)):
        print(f"{what}: p50 {np.median(values):.1f} ms, p95 {np.percentile(values, 95):.1f} ms")
    print(
        f"memory: {before:.0f} MB, after {20 * windows:,} verdicts {resident_mb(server.process.pid):.0f} MB"
    )


if __name__ == "__main__":
    main()
