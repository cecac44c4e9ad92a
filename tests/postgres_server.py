"""A PostgreSQL server of its own for tests: Debian's, in a temporary folder, reached by a socket in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# As root, PostgreSQL refuses to run; Debian's package has made this user.
USER = "postgres"


@contextmanager
def postgres_server() -> Iterator[str]:
    """Start a server; yields the URL of an empty database."""
    binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    assert binaries, "no PostgreSQL on this machine; apt-get install postgresql (make test does it)"
    folder = Path(tempfile.mkdtemp(prefix="windtunnel-pg-"))
    if os.geteuid() == 0:
        shutil.chown(folder, USER)
    bin_, data = binaries[-1].parent, folder / "data"
    try:
        _run(bin_ / "initdb", "--pgdata", data, "--username", USER, "--auth", "trust", "--no-sync")
        options = f"-k {folder} -c listen_addresses= -c shared_buffers=16MB -c max_connections=60"
        _run(bin_ / "pg_ctl", "--pgdata", data, "--log", folder / "log", "-w", "-o", options, "start")
        try:
            yield f"postgresql://{USER}@/postgres?host={folder}"
        finally:
            _run(bin_ / "pg_ctl", "--pgdata", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(*command: Any) -> None:
    words = [str(word) for word in command]
    if os.geteuid() == 0:
        words = ["runuser", "-u", USER, "--", *words]
    # A server that pg_ctl starts would keep a pipe open.
    done = subprocess.run(words, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 0, done.stderr.decode()
