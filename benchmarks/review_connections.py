"""Very many connections to the review server while a person works.

python benchmarks/review_connections.py [--connections 10000]

Prints how many connections the server closed, the time of the person's requests, and the growth of memory.
"""

from __future__ import annotations

import argparse
import socket
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.many_connections import open_many
from tests.review_load import Server, make_load_project, serving


def main() -> None:
    """Open the connections and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", type=int, default=10_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="windtunnel-connections-") as folder:
        project = Path(folder) / "project"
        secrets = make_load_project(project, 100, 1)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with serving(Server(project, port)) as server:
            begun = time.monotonic()
            found = open_many(server, secrets["R0"], given.connections)
            print(
                f"{found.opened:,} connections in {time.monotonic() - begun:.1f} s, closed {found.closed:,}"
            )
            print(f"requests of the person: status {found.statuses}, slowest {1000 * found.slowest:.0f} ms")
            print(f"memory of the server: {found.memory_mb:+.1f} MB")


if __name__ == "__main__":
    main()
