"""Command lines in processes of their own, forked from one that has imported the libraries already.

Importing them takes most of a short command's time. A forked process has its own exit code, streams, folder
and environment, as `python -m windtunnel` has. It takes the machine for one with a single core: a command
that is not given `--workers` works in its own process. Tests of start-up, signals, memory and the default
number of workers start an interpreter instead.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["tests.preloaded_commands"])


def started_command(*arguments: object, cwd: Path, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Run the command line in a new interpreter; returns its output and exit code."""
    command = [sys.executable, "-m", "windtunnel", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=timeout)


def forked_command(*arguments: object, cwd: Path, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Run the command line in a forked process; returns its output and exit code."""
    given = [*map(str, arguments)]
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "stdout"), Path(folder, "stderr")
        process = _context.Process(target=_main, args=(given, cwd, dict(os.environ), out, err))
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(given, timeout, out.read_text(), err.read_text())
        return subprocess.CompletedProcess(given, process.exitcode, out.read_text(), err.read_text())


def _main(arguments: Sequence[str], cwd: Path, environment: Mapping[str, str], out: Path, err: Path) -> None:
    """What `python -m windtunnel` does in that folder and environment, with its output in two files."""
    for path, stream in ((out, sys.stdout), (err, sys.stderr)):
        with path.open("wb") as file:
            os.dup2(file.fileno(), stream.fileno())
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.path.insert(0, str(cwd))
    sys.argv = ["windtunnel", *arguments]
    runpy.run_module("windtunnel", run_name="__main__", alter_sys=True)
