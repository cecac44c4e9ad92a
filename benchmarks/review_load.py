"""Load of the review app: people judge while the server is killed; no acknowledged verdict may be lost.

python benchmarks/review_load.py [--reviewers 20] [--per-second 2] [--seconds 300] [--kills 10]
                                 [--items 20000] [--database sqlite|postgresql]

Prints how many verdicts were acknowledged, that each is stored exactly once, and the time of a request.
"""

from __future__ import annotations

import argparse
import socket
import sys
import tempfile
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.postgres_server import postgres_server
from tests.review_load import Server, make_load_project, run_load, serving, stored_events


def main() -> None:
    """Run the load and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reviewers", type=int, default=20)
    parser.add_argument("--per-second", type=float, default=2)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="windtunnel-load-") as folder,
        postgres_server() if given.database == "postgresql" else nullcontext() as url,
    ):
        project = Path(folder) / "project"
        secrets = make_load_project(project, given.items, given.reviewers, url)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with serving(Server(project, port, url)) as server:
            reviewers = run_load(
                server,
                list(secrets.values()),
                per_second=given.per_second,
                seconds=given.seconds,
                kills=given.kills,
            )
        stored = Counter(stored_events(project, url))
        acknowledged = {event for reviewer in reviewers for event in reviewer.acknowledged}
        lost = [event for event in acknowledged if not stored[event]]
        repeated = [event for event, count in stored.items() if count > 1]
        times = 1000 * np.array([second for reviewer in reviewers for second in reviewer.seconds])
        windows = 1000 * np.array([second for reviewer in reviewers for second in reviewer.window_seconds])
        print(f"{given.database}: {given.reviewers} reviewers, {given.seconds:g} s, {given.kills} kills")
        print(f"acknowledged {len(acknowledged):,}, lost {len(lost)}")
        print(f"stored {len(stored):,}, of which more than once {len(repeated)}")
        print(f"requests that met no server: {sum(reviewer.failures for reviewer in reviewers):,}")
        for what, values in (("events", times), ("items", windows)):
            low, middle, high = np.percentile(values, (50, 95, 99))
            print(
                f"{what}: p50 {low:.1f} ms, p95 {middle:.1f} ms, p99 {high:.1f} ms, max {values.max():.1f} ms"
            )
        sys.exit(bool(lost or repeated))


if __name__ == "__main__":
    main()
