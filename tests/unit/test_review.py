"""Queues, leases, hidden checks and the practice round."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from tests.review_tasks import ACCEPT, REJECT, codes, items, judge, outcomes, people, select_task, verdicts
from windtunnel.review import tables
from windtunnel.review.review import PracticeFirst, Review


def test_every_item_is_judged_by_as_many_people_as_asked_for(review: Review) -> None:
    select_task(review, 30, overlap=2)
    everybody = people(review, "Ann", "Bob", "Cid", "Dan")
    seen = {person.name: codes(review, person, 7) for person in everybody}
    assert seen["Ann"] != seen["Bob"]  # everyone has an order of their own
    for _ in range(10):
        for person in everybody:
            length = review.window(review.task("choose"), person, 0, 1).length
            for item in codes(review, person, 5, length):
                judge(review, person, item, ACCEPT)
            for item in seen.pop(person.name, ()):
                judge(review, person, item, ACCEPT)
    counts: dict[str, int] = {}
    for row in review.event_rows(review.task("choose")):
        counts[row["item"]] = counts.get(row["item"], 0) + 1
    assert len(counts) == 30
    assert set(counts.values()) == {2}
    assert outcomes(review)["accepted"] == 30
    window = review.window(review.task("choose"), everybody[0], 1000, 5)
    assert window.reason
    assert not window.places


def test_the_order_of_a_person_does_not_change_and_is_random(review: Review) -> None:
    select_task(review, 40, overlap=1)
    (ann,) = people(review, "Ann")
    order = codes(review, ann)
    assert order == codes(review, ann)
    in_source = [item.item.code for item in review.judged_items(review.task("choose"))]
    assert sorted(order) == sorted(in_source)
    assert order != in_source


def test_an_item_that_nobody_judges_is_offered_to_others_after_its_lease(review: Review) -> None:
    select_task(review, 3, overlap=1)
    ann, bob = people(review, "Ann", "Bob")
    kept = codes(review, ann)
    assert len(kept) == 3
    window = review.window(review.task("choose"), bob, 0, 3)
    assert len(window.places) == 1  # one of the two that Ann would come to last
    assert "kept for other people" in window.reason
    review._database.write(lambda connection: connection.execute(update(tables.queue).values(until=1)))
    taken = codes(review, bob, 2)
    assert len(taken) == 2
    judge(review, bob, taken[0], ACCEPT)
    closed = {
        place.item.code: place.closed for place in review.window(review.task("choose"), ann, 0, 3).places
    }
    assert closed == {item: item in taken for item in kept}
    judge(review, ann, taken[0], REJECT)  # a verdict that comes late is not lost
    assert verdicts(review, ann) == {taken[0]: "reject"}


def test_who_decides_nothing_does_not_hold_everything(review: Review) -> None:
    select_task(review, 300, overlap=1)
    (ann,) = people(review, "Ann")
    for start in range(0, 300, 50):
        window = review.window(review.task("choose"), ann, start, 50)
    assert window.length == 200
    assert "without a verdict" in window.reason


def test_hidden_checks_look_like_work_and_are_counted_apart(review: Review) -> None:
    checks = items(5, "check", answer=ACCEPT)
    select_task(review, 40, tuple(checks), overlap=1, check_every=10)
    (ann,) = people(review, "Ann")
    places = review.window(review.task("choose"), ann, 0, 100).places
    where = [place.place for place in places if place.item.role == "check"]
    assert [place // 10 for place in where] == list(range(len(where)))  # one in every ten
    assert len(where) >= 4
    for number in where:
        judge(review, ann, places[number].item.code, ACCEPT if number < 10 else REJECT)
    (found,) = review.progress(review.task("choose")).people
    assert (found.judged, found.checks, found.checks_correct) == (0, len(where), 1)
    assert review.judged(review.task("choose"), ann) == len(where)  # a count without them would reveal them
    assert outcomes(review)["open"] == 40


def test_the_practice_round_comes_first(review: Review) -> None:
    practice = items(4, "practice", answer=ACCEPT, explanation="It is a cat.")
    task = select_task(review, 5, tuple(practice), practice_pass=0.75)
    (ann,) = people(review, "Ann")
    with pytest.raises(PracticeFirst, match="practice round"):
        review.window(task, ann, 0, 5)
    solved = review.practice(task, ann)
    assert (solved.needed, solved.answered) == (3, 0)
    for row in solved.items[:2]:
        judge(review, ann, row.item.code, ACCEPT)
    for row in solved.items[2:]:
        judge(review, ann, row.item.code, REJECT)
    failed = review.practice(task, ann)
    assert (failed.answered, failed.correct, failed.passed) == (4, 2, False)
    judge(review, ann, solved.items[2].item.code, ACCEPT)
    assert review.practice(task, ann).passed
    assert len(codes(review, ann)) == 5
