"""Ten thousand connections to a review server: a person at work goes on."""

from __future__ import annotations

import resource
import socket
from pathlib import Path

from tests.many_connections import open_many
from tests.review_load import Server, make_load_project, serving
from windtunnel.web.server import CONNECTIONS


def test_ten_thousand_connections_do_not_stop_a_person_at_work(tmp_path: Path) -> None:
    secrets = make_load_project(tmp_path / "project", 50, 1)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = 10_000 if hard == resource.RLIM_INFINITY else min(10_000, hard - 500)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, hard))  # the server begins with few files
    try:
        with serving(Server(tmp_path / "project", port)) as server:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            found = open_many(server, secrets["R0"], count)
            assert server.process is not None
            assert server.process.poll() is None
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert found.opened == count
    assert found.closed >= count - CONNECTIONS
    assert found.statuses == {200}
    assert found.slowest < 10
    assert found.memory_mb < 100
