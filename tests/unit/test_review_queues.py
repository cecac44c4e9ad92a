"""Queues of reviewers near the end of a task, and in tasks with few items."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, select, update

from tests.postgres_server import postgres_server
from windtunnel.review import queues, tables
from windtunnel.review.records import MediaFile, NewEvent, NewItem, Person, TaskRecipe
from windtunnel.review.review import Review, open_review

TASK = "choose"


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Review]:
    """A review in SQLite without tasks."""
    with open_review(tmp_path, create=True) as opened:
        yield opened


def create(review: Review, count: int, overlap: int, more: Sequence[NewItem] = (), **recipe: Any) -> None:
    items = [
        NewItem(f"{number}", (MediaFile("image", f"{number}.png"),), ("cat",), {"id": f"{number}"})
        for number in range(count)
    ]
    settings = {"title": "Choose", "source": "candidates", "overlap": overlap, "check_every": 0, **recipe}
    review.create_task(TASK, "select", TaskRecipe(**settings), [*items, *more])


def people(review: Review, *names: str) -> list[Person]:
    return [review.add_person(name, "reviewer")[0] for name in names]


def window(review: Review, person: Person, start: int = 0, count: int = 10) -> queues.Window:
    return review.window(review.task(TASK), person, start, count)


def offered(review: Review, person: Person, start: int = 0, count: int = 10) -> list[str]:
    return [place.item.code for place in window(review, person, start, count).places]


def judge(review: Review, person: Person, items: Sequence[str], word: str = "accept") -> None:
    new = [NewEvent(str(uuid.uuid4()), TASK, item, "verdict", 0, {"choice": word}) for item in items]
    assert not review.append(person, new).refused


def verdicts(review: Review) -> Counter[str]:
    return Counter(row["item"] for row in review.event_rows(review.task(TASK)))


def test_a_second_person_takes_over_half_of_a_small_task(review: Review) -> None:
    create(review, 6, overlap=1)
    ann, bob, cid = people(review, "Ann", "Bob", "Cid")
    of_ann = offered(review, ann)
    assert len(of_ann) == 6
    of_bob = offered(review, bob)
    assert of_bob == of_ann[:2:-1]  # those that Ann would come to last, the last one first
    assert offered(review, bob, 3) == []  # only who has nothing left takes over
    assert len(offered(review, cid)) == 2  # one of the three that each of the others still holds
    judge(review, bob, of_bob)
    closed = [place.item.code for place in window(review, ann).places if place.closed]
    assert set(of_bob) <= set(closed)
    assert window(review, ann).first_open == 0


def test_both_verdicts_count_if_two_people_judge_what_was_taken_over(review: Review) -> None:
    create(review, 4, overlap=1)
    ann, bob = people(review, "Ann", "Bob")
    of_ann = offered(review, ann)
    of_bob = offered(review, bob)
    judge(review, bob, of_bob)
    judge(review, ann, of_ann, "reject")  # her browser had them all on screen
    assert verdicts(review) == {item: 2 if item in of_bob else 1 for item in of_ann}
    found = review.progress(review.task(TASK))
    assert (found.conflicts, found.rejected, found.open) == (2, 2, 0)


def test_what_was_taken_over_and_is_not_judged_comes_back(review: Review) -> None:
    create(review, 2, overlap=1)
    ann, bob = people(review, "Ann", "Bob")
    of_ann = offered(review, ann)
    (taken,) = offered(review, bob)
    judge(review, ann, [item for item in of_ann if item != taken])
    assert window(review, ann).first_open == 2  # Bob has the other one
    review._database.write(lambda connection: connection.execute(update(tables.queue).values(until=1)))
    assert window(review, ann).first_open == of_ann.index(taken)
    judge(review, ann, [taken])
    assert review.finished(review.task(TASK)) == 2


def test_the_last_item_of_a_person_is_not_taken_over(review: Review) -> None:
    create(review, 1, overlap=1)
    ann, bob = people(review, "Ann", "Bob")
    assert offered(review, ann)
    nothing = window(review, bob)
    assert (nothing.places, nothing.reason) == ((), queues.ALL_TAKEN)


@pytest.mark.parametrize("few", (0, 20, 2000))
def test_all_items_are_offered_however_they_are_searched(
    review: Review, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(queues, "FEW_OPEN", few or 1)
    monkeypatch.setattr(queues, "STEP", 4)
    monkeypatch.setattr(queues, "MOST_SCANNED", 16)
    create(review, 60, overlap=2)
    everybody = people(review, "Ann", "Bob", "Cid")
    places = dict.fromkeys(everybody, 0)
    for _ in range(40):
        for person in everybody:
            found = offered(review, person, places[person], 3)
            judge(review, person, found)
            places[person] += len(found)
    assert set(verdicts(review).values()) == {2}
    assert len(verdicts(review)) == 60


def test_the_next_item_needs_few_statements_near_the_end(
    review: Review, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queues, "FEW_OPEN", 50)
    monkeypatch.setattr(queues, "STEP", 10)
    create(review, 1500, overlap=2)
    ann, bob, cid, dan = people(review, "Ann", "Bob", "Cid", "Dan")
    for start in range(0, 1400, 100):
        judge(review, ann, offered(review, ann, start, 100))
    statements: list[str] = []
    event.listen(
        review._database._engine, "before_cursor_execute", lambda *given: statements.append(given[2])
    )

    def needed(person: Person, start: int, count: int) -> int:
        begun = len(statements)
        assert len(offered(review, person, start, count)) == count
        return len(statements) - begun

    assert needed(ann, 1400, 20) < 25  # she has judged almost everything
    for start in range(0, 1480, 74):
        judge(review, bob, offered(review, bob, start, 74))
    for start in range(0, 80, 40):
        judge(review, cid, offered(review, cid, start, 40))
    assert needed(dan, 0, 10) < 25  # other people have


def test_postgresql_takes_over_leases_and_rebuilds_too(tmp_path: Path) -> None:
    with postgres_server() as url, open_review(tmp_path, url, create=True) as review:
        create(review, 6, overlap=1)
        ann, bob = people(review, "Ann", "Bob")
        of_ann = offered(review, ann)
        of_bob = offered(review, bob)
        assert of_bob == of_ann[:2:-1]
        judge(review, bob, of_bob)
        assert not review.rebuild().changed
        damage = update(tables.items).values(verdicts=0, outcome="open")
        review._database.write(lambda connection: connection.execute(damage))
        assert review.rebuild().outcomes == 3
        assert review.finished(review.task(TASK)) == 3


def age_leases(review: Review, minutes: int) -> None:
    change = update(tables.queue).values(until=tables.queue.c.until - minutes * 60_000)
    review._database.write(lambda connection: connection.execute(change))


def leases(review: Review, person: Person) -> list[int]:
    asked = select(tables.queue.c.until).where(tables.queue.c.person == person.id)
    with review._database.reading() as connection:
        return list(connection.execute(asked.order_by(tables.queue.c.place)).scalars())


def test_an_item_with_enough_verdicts_is_closed_for_who_holds_it(review: Review) -> None:
    create(review, 4, overlap=1)
    ann, bob = people(review, "Ann", "Bob")
    of_ann = offered(review, ann)
    of_bob = offered(review, bob)
    age_leases(review, 20)
    judge(review, ann, of_ann[2:])  # she is faster with what Bob has taken over
    before = leases(review, bob)
    found = window(review, bob)
    assert [place.closed for place in found.places if place.item.code in of_bob] == [True, True]
    assert leases(review, bob)[:2] == before[:2]  # what is closed is not kept any longer
    assert found.first_open == 2  # he is offered one of Ann's instead
    assert [place.item.code for place in found.places[2:]] == [of_ann[1]]
    judge(review, ann, of_bob, "reject")
    assert not any(place.closed for place in window(review, ann).places if place.verdict)


def test_who_has_an_open_place_takes_nothing_over(review: Review) -> None:
    create(review, 6, overlap=1)
    ann, bob = people(review, "Ann", "Bob")
    offered(review, ann)
    of_bob = offered(review, bob)
    release = update(tables.queue).where(tables.queue.c.person == bob.id).values(until=1)
    review._database.write(lambda connection: connection.execute(release))
    assert offered(review, bob, 3) == []  # his leases have ended, but nobody else has the items
    judge(review, bob, of_bob)
    assert len(offered(review, bob, 3)) == 1


def test_the_only_item_of_an_idle_person_is_taken_over(review: Review) -> None:
    create(review, 1, overlap=1)
    ann, bob = people(review, "Ann", "Bob")
    of_ann = offered(review, ann)
    age_leases(review, 1)
    assert offered(review, bob) == []
    age_leases(review, 2)
    assert offered(review, bob) == of_ann
    assert window(review, ann).first_open == 1
    assert window(review, ann).reason == queues.NO_MORE


@pytest.mark.parametrize("checks", (1, 2, 3, 50))
@pytest.mark.parametrize("work", (1, 4, 11, 12))
def test_spare_check_items_are_not_waited_for(review: Review, work: int, checks: int) -> None:
    spare = [
        NewItem(f"c{number}", (MediaFile("image", "c.png"),), ("cat",), {}, "check", {"choice": "accept"})
        for number in range(checks)
    ]
    create(review, work, overlap=2, check_every=4, more=spare)
    task = review.task(TASK)
    for person in people(review, "Ann", "Bob"):
        total = review.most_places(task, person)
        length = 0
        while items := offered(review, person, length, 3):
            judge(review, person, items)
            length += len(items)
            assert review.most_places(task, person) == total
        assert window(review, person, length).reason == queues.NO_MORE
        assert review.judged(task, person) == total
        assert total >= work
    assert review.finished(task) == work
