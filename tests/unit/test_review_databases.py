"""The databases of a review: SQLite and PostgreSQL."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgres_server import postgres_server
from tests.review_tasks import ACCEPT, codes, items, judge, outcomes, people, select_task
from windtunnel import UserError
from windtunnel.review.records import NewEvent, Person, TaskRecipe
from windtunnel.review.review import Review, open_review


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str]:
    """A PostgreSQL server with an empty database."""
    with postgres_server() as url:
        yield url


def test_both_databases_do_the_same(tmp_path: Path, postgresql: str) -> None:
    found = []
    for url in (None, postgresql):
        folder = tmp_path / "project"
        folder.mkdir(exist_ok=True)
        with open_review(folder, url, create=True) as review:
            select_task(review, 12, tuple(items(2, "check", answer=ACCEPT)), overlap=2, check_every=5)
            everybody = people(review, "Ann", "Bob")
            for person in everybody:
                for item in codes(review, person):
                    event = judge(review, person, item, {**ACCEPT, "note": "naïve ' \" ; -- ✓"})
                    judge(review, person, item, action="undo", target=event)
                    judge(review, person, item, action="redo", target=event)
            progress = review.progress(review.task("choose"))
            rows = list(review.event_rows(review.task("choose")))
            checks = [(row.checks, row.checks_correct) for row in progress.people]
            found.append((outcomes(review), checks, len(rows), rows[0]["verdict"]))
    assert found[0] == found[1]
    assert found[0][0]["accepted"] == 12


def test_two_processes_may_write_to_postgresql_at_once(tmp_path: Path, postgresql: str) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    with open_review(folder, postgresql, create=True) as one, open_review(folder, postgresql) as other:
        recipe = TaskRecipe(title="Choose", source="candidates", overlap=2, check_every=0)
        task = one.create_task("together", "select", recipe, items(40))
        both = [(one, one.add_person("Eve", "reviewer")[0]), (other, one.add_person("Fay", "reviewer")[0])]
        windows = [review.window(review.task("together"), person, 0, 40) for review, person in both]
        start = threading.Barrier(2)

        def work(review: Review, person: Person) -> None:
            for place in sorted(windows[0].places, key=lambda place: place.item.number):
                start.wait(30)
                event = NewEvent(str(uuid.uuid4()), "together", place.item.code, "verdict", 0, ACCEPT)
                review.append(person, [event])

        threads = [threading.Thread(target=work, args=pair) for pair in both]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        found = [(row.item.verdicts, row.item.outcome) for row in one.judged_items(task)]
        assert found == [(2, "accept")] * 40


@pytest.mark.parametrize("server", [False, True])
def test_an_export_sees_one_state(tmp_path: Path, postgresql: str, server: bool) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    with open_review(folder, postgresql if server else None, create=True) as review:
        recipe = TaskRecipe(title="Choose", source="candidates", overlap=1, check_every=0)
        task = review.create_task("state", "select", recipe, items(2))
        person = review.add_person("Gus", "reviewer")[0]
        (first, second) = (place.item.code for place in review.window(task, person, 0, 2).places)

        def vote(item: str) -> None:
            review.append(person, [NewEvent(str(uuid.uuid4()), "state", item, "verdict", 0, ACCEPT)])

        vote(first)
        with review.one_state():
            assert len(list(review.event_rows(task))) == 1
            vote(second)
            assert len(list(review.event_rows(task))) == 1
            assert review.progress(task).accepted == 1
        assert len(list(review.event_rows(task))) == 2


def test_a_postgresql_database_belongs_to_one_project(tmp_path: Path, postgresql: str) -> None:
    for name in ("one", "another"):
        (tmp_path / name).mkdir()
    with open_review(tmp_path / "project", postgresql, create=True):
        pass
    with pytest.raises(UserError, match="belongs to the project project"):
        open_review(tmp_path / "another", postgresql, create=True)


@pytest.mark.parametrize("url", ["mysql://x/y", "postgresql://nobody@127.0.0.1:1/x", "rubbish"])
def test_a_database_that_cannot_be_used_is_one_line(tmp_path: Path, url: str) -> None:
    with pytest.raises(UserError, match="database"):
        open_review(tmp_path, url, create=True)
