"""Events of a review: stored once, folded, undone, and computed again."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from sqlalchemy import select

from tests.review_tasks import ACCEPT, REJECT, UNSURE, codes, judge, people, select_task, verdicts
from windtunnel.review import tables
from windtunnel.review.records import NewEvent
from windtunnel.review.review import Review


def test_undo_and_redo_go_back_as_far_as_one_likes(review: Review) -> None:
    select_task(review, 3)
    (ann,) = people(review, "Ann")
    item = codes(review, ann)[0]
    made = [judge(review, ann, item, verdict) for verdict in (ACCEPT, REJECT, UNSURE)]
    assert verdicts(review, ann) == {item: "unsure"}
    for event, left in ((made[2], "reject"), (made[1], "accept")):
        judge(review, ann, item, action="undo", target=event)
        assert verdicts(review, ann) == {item: left}
    judge(review, ann, item, action="undo", target=made[0])
    assert verdicts(review, ann) == {}
    for event, restored in zip(made, ("accept", "reject", "unsure"), strict=True):
        judge(review, ann, item, action="redo", target=event)
        assert verdicts(review, ann) == {item: restored}
    assert len(list(review.event_rows(review.task("choose")))) == 9  # nothing is overwritten


def test_an_event_that_is_sent_again_is_stored_once(review: Review) -> None:
    select_task(review, 2)
    ann, bob = people(review, "Ann", "Bob")
    item = codes(review, ann)[0]
    codes(review, bob)
    event = NewEvent(str(uuid.uuid4()), "choose", item, "verdict", 5, ACCEPT)
    assert review.append(ann, [event, event]).acknowledged == (event.event, event.event)
    assert review.append(ann, [event]).acknowledged == (event.event,)
    assert len(list(review.event_rows(review.task("choose")))) == 1
    stolen = review.append(bob, [event])
    assert not stolen.acknowledged
    assert "Another event has this id" in stolen.refused[event.event]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"task": "nothing"}, "Unknown task"),
        ({"item": "nothing"}, "no item"),
        ({"verdict": {"choice": "perhaps"}}, "does not fit"),
        ({"verdict": {"choice": "accept", "more": 1}}, "does not fit"),
        ({"verdict": {"choice": "accept", "reasons": ["poor_quality"]}}, "needs the choice reject"),
        ({"verdict": {"choice": "accept", "note": "a\0b"}}, "null character"),
        ({"verdict": {"choice": "accept", "note": "\ud800"}}, "surrogate"),
        ({"verdict": {"choice": "accept", "note": "x" * 2001}}, "2,001 characters"),
        ({"verdict": None}, "does not fit"),
        ({"action": "undo", "verdict": None, "target": str(uuid.uuid4())}, "no such event"),
        ({"action": "undo", "target": str(uuid.uuid4())}, "takes no verdict"),
        ({"target": str(uuid.uuid4())}, "takes no target"),
        ({"action": "decide"}, "Only the owner decides"),
    ],
)
def test_events_that_make_no_sense_are_refused(review: Review, changes: Any, reason: str) -> None:
    select_task(review, 2)
    (ann,) = people(review, "Ann")
    given = {"task": "choose", "item": codes(review, ann)[0], "action": "verdict", "verdict": ACCEPT}
    event = NewEvent(event=str(uuid.uuid4()), client_time=0, **{**given, **changes})
    done = review.append(ann, [event])
    assert not done.acknowledged
    assert reason in done.refused[event.event]
    assert not list(review.event_rows(review.task("choose")))


def test_nobody_votes_on_items_of_others(review: Review) -> None:
    select_task(review, 2, overlap=1)
    ann, bob = people(review, "Ann", "Bob")
    (item, _) = codes(review, ann)
    vote = NewEvent(str(uuid.uuid4()), "choose", item, "verdict", 0, ACCEPT)
    assert "not in your queue" in review.append(bob, [vote]).refused[vote.event]


def test_what_is_derived_can_be_computed_again(review: Review) -> None:
    select_task(review, 8, overlap=2)
    everybody = people(review, "Ann", "Bob")
    for person, word in zip(everybody, (ACCEPT, REJECT), strict=True):
        for number, item in enumerate(codes(review, person)):
            event = judge(review, person, item, word if number % 2 else ACCEPT)
            if number % 3 == 0:
                judge(review, person, item, action="undo", target=event)

    def derived() -> Any:
        with review._database.reading() as connection:
            return [
                connection.execute(select(table).order_by(*table.primary_key)).all()
                for table in (tables.items, tables.present, tables.queue)
            ]

    before = derived()
    review.rebuild()
    assert derived() == before
