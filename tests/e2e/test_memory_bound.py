"""A folder of image bombs: every file is a row, and no process takes more than 1 GiB."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import windtunnel
from tests.hostile_files import write_accepted, write_refused

# What the documentation promises, the interpreter, its libraries and the demo model included.
BOUND_MIB = 1024
# Started from a small process of its own: a child's peak begins with that of the process it was forked from.
MEASURE = """
import json, os, sys
process = os.posix_spawn(sys.executable, [sys.executable, "-m", "windtunnel", *sys.argv[1:]], os.environ)
_, status, usage = os.wait4(process, 0)
print(json.dumps([os.waitstatus_to_exitcode(status), usage.ru_maxrss / 1024]))
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="peaks are measured in Linux's units")


@pytest.fixture(scope="module")
def bombs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A data set of files beyond the limits and of files just below them, with the status of each."""
    root = tmp_path_factory.mktemp("bombs")
    statuses = {f"0/{name}": status for name, status in write_refused(root / "0").items()}
    return root, statuses | {f"1/{name}": "ok" for name in write_accepted(root / "1")}


def peak_mib(arguments: Sequence[object]) -> tuple[str, float]:
    out = subprocess.run(
        [sys.executable, "-c", MEASURE, *map(str, arguments)], capture_output=True, text=True, timeout=300
    )
    said, _, measured = out.stdout.rstrip().rpartition("\n")
    code, peak = json.loads(measured)
    assert code == 0, out.stderr
    return said, peak


def test_inspection_of_bombs_stays_below_the_bound(bombs: tuple[Path, dict[str, str]]) -> None:
    root, statuses = bombs
    said, peak = peak_mib(["data", "inspect", root, "--json"])
    found = {name: reason.partition(":")[0] for name, reason in json.loads(said)["unreadable"].items()}
    assert found == {name: status for name, status in statuses.items() if status != "ok"}
    assert peak < BOUND_MIB


def test_a_run_over_bombs_stays_below_the_bound(bombs: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    root, statuses = bombs
    options = ["--suite", "smoke", "--labels-are-outputs", "--workers", 2, "--out", tmp_path / "run"]
    _, peak = peak_mib(["run", "demo", root, *options])
    rows = windtunnel.Run(tmp_path / "run").predictions(["condition", "status"]).to_pylist()
    assert {row["sample_id"]: row["status"] for row in rows if row["condition"] == "clean"} == statuses
    assert peak < BOUND_MIB
