"""Votes become decisions: majorities, the second pass, kinds and agreement."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from sqlalchemy import update

from tests.review_tasks import ACCEPT, REJECT, UNSURE, codes, items, judge, outcomes, people, select_task
from windtunnel import UserError
from windtunnel.review import tables
from windtunnel.review.kinds import REGISTRY
from windtunnel.review.records import NewEvent
from windtunnel.review.review import Review, open_review


def test_a_strict_majority_decides_and_anything_else_is_a_conflict(review: Review) -> None:
    select_task(review, 6, overlap=4)
    everybody = people(review, "Ann", "Bob", "Cid", "Dan")
    (owner,) = people(review, "Olga", role="owner")
    votes = {  # per item, in the order of the source
        "accept": "aaar", "reject": "rrru", "tie": "aarr", "short": "aaru", "open": "aaa", "nobody": "",
    }  # fmt: skip
    words = {"a": ACCEPT, "r": REJECT, "u": UNSURE}
    order = [item.item.code for item in review.judged_items(review.task("choose"))]
    for person in everybody:
        codes(review, person)
    for item, given in zip(order, votes.values(), strict=True):
        for person, word in zip(everybody, given, strict=False):
            judge(review, person, item, words[word])
    assert outcomes(review) == {"open": 2, "accepted": 1, "rejected": 1, "conflicts": 2, "resolved": 0}
    conflicts = review.conflicts(review.task("choose"), 0, 10)
    assert [item.item.code for item in conflicts.items] == order[2:4]
    assert [len(item.votes) for item in conflicts.items] == [4, 4]
    first = judge(review, owner, order[2], ACCEPT, "decide")
    judge(review, owner, order[3], UNSURE, "decide")  # the second pass is not sure either: not accepted
    assert outcomes(review) == {"open": 2, "accepted": 2, "rejected": 2, "conflicts": 0, "resolved": 2}
    judge(review, owner, order[2], action="undo", target=first)
    assert outcomes(review)["conflicts"] == 1
    judge(review, owner, order[2], action="redo", target=first)
    assert outcomes(review)["accepted"] == 2


def test_the_second_pass_decides_items_in_conflict_only(review: Review) -> None:
    select_task(review, 3, tuple(items(1, "practice", answer=ACCEPT)), overlap=2, practice_pass=0)
    ann, bob = people(review, "Ann", "Bob")
    (owner,) = people(review, "Olga", role="owner")
    practice = review.practice(review.task("choose"), ann).items[0].item.code
    for person in (ann, bob):
        judge(review, person, practice, ACCEPT)
    order = codes(review, ann)
    codes(review, bob)
    for item, (first, second) in zip(order, ((ACCEPT, ACCEPT), (ACCEPT, REJECT)), strict=False):
        judge(review, ann, item, first)
        judge(review, bob, item, second)
    agreed, in_conflict, not_judged = order
    for item in (agreed, not_judged, practice):
        event = NewEvent(str(uuid.uuid4()), "choose", item, "decide", 0, REJECT)
        assert "in conflict only" in review.append(owner, [event]).refused[event.event]
    judge(review, owner, in_conflict, REJECT, "decide")
    judge(review, owner, in_conflict, ACCEPT, "decide")  # a decision may be changed
    assert outcomes(review) == {"open": 1, "accepted": 2, "rejected": 0, "conflicts": 0, "resolved": 1}


def test_everything_that_somebody_flagged_can_go_to_the_second_pass(review: Review) -> None:
    select_task(review, 2, overlap=3, second_pass="flagged")
    everybody = people(review, "Ann", "Bob", "Cid")
    order = codes(review, everybody[0])
    for person, word in zip(everybody, (ACCEPT, ACCEPT, REJECT), strict=True):
        codes(review, person)
        judge(review, person, order[0], word)
        judge(review, person, order[1], ACCEPT)
    assert outcomes(review) == {"open": 0, "accepted": 1, "rejected": 0, "conflicts": 1, "resolved": 0}


def test_verdicts_of_pairs_and_anchors_become_votes() -> None:
    pairs, anchors, blind = (REGISTRY.get(name) for name in ("pairs", "anchors", "blind"))
    votes: list[tuple[Any, str]] = [
        ({"label": "right", "similar": "yes"}, "accept"),
        ({"label": "right", "similar": "no", "reason": "motion"}, "reject"),
        ({"label": "wrong"}, "reject"),
        ({"bad_anchor": True}, "reject"),
        ({"label": "right", "similar": "unsure"}, "unsure"),
    ]
    assert [pairs.vote(pairs.read(given), ()) for given, _ in votes] == [vote for _, vote in votes]
    two = [anchors.read({"status": "good", "labels": labels}) for labels in (["dog"], ["dog", "cat"])]
    assert anchors.outcome(two, ()) == "conflict"  # half of the people see a cat
    three = [*two, two[1]]
    assert anchors.outcome(three, ()) == "accept"
    assert anchors.majority_labels(three) == ("cat", "dog")
    assert blind.vote(blind.read({"label": "dog"}), ("dog",)) == "accept"
    assert blind.vote(blind.read({"label": ""}), ("dog",)) == "unsure"
    with pytest.raises(UserError, match="Unknown class 'wolf'"):
        blind.read({"label": "wolf"}, frozenset({"dog"}))


def test_questions_that_nobody_answered_are_no_category() -> None:
    pairs = REGISTRY.get("pairs")
    compared: list[tuple[Any, dict[str, str]]] = [
        ({"label": "right", "similar": "yes"}, {"accepted": "accept", "label": "right", "similar": "yes"}),
        ({"label": "wrong"}, {"accepted": "reject", "label": "wrong"}),
        ({"bad_anchor": True}, {"accepted": "reject"}),
        (
            {"similar": "no", "reason": "blur"},
            {"accepted": "reject", "similar": "no", "reason": "blur"},
        ),
        # A table that says reject does not say what is wrong.
        (pairs.from_vote("reject", ()), {"accepted": "reject"}),
    ]
    for given, expected in compared:
        assert pairs.compared(pairs.read(given)) == expected


def test_agreement_of_two_people_equals_a_hand_calculation(review: Review) -> None:
    # Four items; both accept two, both reject one, they differ on one: per cent 75, Cohen's kappa 1/2:
    # Po = 3/4, Pe = 3/4 * 1/2 + 1/4 * 1/2 = 1/2.
    select_task(review, 4, overlap=2)
    ann, bob = people(review, "Ann", "Bob")
    order = codes(review, ann)
    codes(review, bob)
    for item, (first, second) in zip(order, ("aa", "aa", "rr", "ar"), strict=True):
        judge(review, ann, item, ACCEPT if first == "a" else REJECT)
        judge(review, bob, item, ACCEPT if second == "a" else REJECT)
    (question,) = review.agreement(review.task("choose")).questions
    (pair,) = question.pairs
    assert (question.question, question.percent.value, pair.cohen.value) == ("accepted", 0.75, 0.5)
    assert question.percent.items == 4


def test_agreement_follows_new_events_and_rebuilds_of_other_processes(review: Review) -> None:
    select_task(review, 4, overlap=2)
    task = review.task("choose")
    ann, bob = people(review, "Ann", "Bob")

    def percent() -> float:
        (question,) = review.agreement(task).questions
        return question.percent.value

    for person in (ann, bob):
        for code in codes(review, person):
            judge(review, person, code, {"choice": "accept"})
    assert percent() == 1
    judge(review, ann, codes(review, ann)[0], {"choice": "reject"})
    assert percent() == 0.75
    judge(review, bob, codes(review, bob)[0], {"choice": "unsure"})
    damage = update(tables.present).values(verdict='{"choice": "accept"}')
    review._database.write(lambda connection: connection.execute(damage))
    assert percent() == 1
    with open_review(review.folder) as other:
        assert other.rebuild().verdicts
    assert percent() < 1
