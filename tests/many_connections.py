"""Very many connections to a review server while somebody works."""

from __future__ import annotations

import resource
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.review_load import Server, request

# Connections that are opened between two requests of the person at work.
BATCH = 200


@dataclass(frozen=True)
class ManyConnections:
    """What happened while connections were opened.

    Attributes:
        opened: connections that were opened.
        closed: those of them that the server has closed.
        statuses: of the requests of the person at work, each on a new connection.
        slowest: seconds of the slowest of these requests.
        memory_mb: growth of the server's resident memory.
    """

    opened: int
    closed: int
    statuses: set[int]
    slowest: float
    memory_mb: float


def open_many(server: Server, secret: str, count: int) -> ManyConnections:
    """Open connections that send nothing, and let a person work meanwhile."""
    assert server.process is not None
    _, _, headers = request(server.port, "POST", "/api/session", {"token": secret})
    cookie = headers["set-cookie"].split(";")[0]
    request(server.port, "GET", "/api/tasks", None, cookie)
    before = resident_mb(server.process.pid)
    opened: list[socket.socket] = []
    statuses, slowest = set(), 0.0
    with open_files(count + 200):
        try:
            for _ in range(0, count, BATCH):
                for _ in range(min(BATCH, count - len(opened))):
                    opened.append(socket.create_connection(("127.0.0.1", server.port), timeout=30))
                begun = time.monotonic()
                statuses.add(request(server.port, "GET", "/api/tasks", None, cookie)[0])
                slowest = max(slowest, time.monotonic() - begun)
            growth = resident_mb(server.process.pid) - before
            closed = sum(is_closed(connection) for connection in opened)
        finally:
            for connection in opened:
                connection.close()
    return ManyConnections(len(opened), closed, statuses, slowest, growth)


def is_closed(connection: socket.socket) -> bool:
    """Whether the other side has ended a connection."""
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def resident_mb(process: int) -> float:
    """The resident memory of a process in MB."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1000


@contextmanager
def open_files(count: int) -> Iterator[None]:
    """Let this process have as many files open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
