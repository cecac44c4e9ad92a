"""The review server is killed while people judge: every acknowledged verdict is there, exactly once."""

from __future__ import annotations

import socket
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.postgres_server import postgres_server
from tests.review_load import Server, make_load_project, run_load, serving, stored_events
from windtunnel.review.review import open_review


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_acknowledged_verdicts_survive_kills(tmp_path: Path, database: str) -> None:
    with postgres_server() if database == "postgresql" else nullcontext() as url:
        project = tmp_path / "project"
        secrets = make_load_project(project, 400, 4, url)
        with serving(Server(project, free_port(), url)) as server:
            reviewers = run_load(server, list(secrets.values()), per_second=10, seconds=4, kills=1)
        stored = Counter(stored_events(project, url))
        acknowledged = [event for reviewer in reviewers for event in reviewer.acknowledged]
        assert len(acknowledged) > 30
        assert set(acknowledged) <= set(stored)
        assert set(stored.values()) == {1}
        assert not [row for reviewer in reviewers for row in reviewer.refused]
        assert sum(reviewer.failures for reviewer in reviewers) > 0  # the kills were felt
        with open_review(project, url) as review:
            before = review.progress(review.task("load"))
            review.rebuild()
            after = review.progress(review.task("load"))
        assert [row.judged for row in before.people] == [row.judged for row in after.people]
        assert sum(row.judged for row in after.people) == len(stored)
