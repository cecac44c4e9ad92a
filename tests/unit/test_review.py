"""Review: events and their fold, queues, the practice round, the second pass, people."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

import windtunnel
from tests.postgres_server import postgres_server
from windtunnel.review import tables
from windtunnel.review.kinds import REGISTRY
from windtunnel.review.progress import hourly_rate
from windtunnel.review.records import MediaFile, NewEvent, NewItem, Person, TaskRecipe
from windtunnel.review.review import PracticeFirst, Review, open_review

UserError = windtunnel.UserError
ACCEPT, REJECT, UNSURE = ({"choice": word} for word in ("accept", "reject", "unsure"))


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str]:
    """A PostgreSQL server with an empty database."""
    with postgres_server() as url:
        yield url


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Review]:
    """A review in SQLite without tasks."""
    with open_review(tmp_path, create=True) as opened:
        yield opened


def items(count: int, role: str = "work", **more: Any) -> list[NewItem]:
    return [
        NewItem(
            f"{role} {number}",
            (MediaFile("image", f"media/{number}.png"),),
            ("cat",),
            {"id": f"{role} {number}"},
            role,
            **more,
        )
        for number in range(count)
    ]


def select_task(review: Review, count: int, extra: tuple[NewItem, ...] = (), **recipe: Any) -> Any:
    settings = {"title": "Choose", "source": "candidates", "overlap": 2, "check_every": 0, **recipe}
    return review.create_task("choose", "select", TaskRecipe(**settings), [*items(count), *extra])


def judge(
    review: Review, person: Person, item: str, verdict: Any = None, action: str = "verdict", target: str = ""
) -> str:
    """Store an event and return its id."""
    new = NewEvent(str(uuid.uuid4()), "choose", item, action, 0, verdict, target or None)  # type: ignore[arg-type]
    done = review.append(person, [new])
    assert done.acknowledged == (new.event,), done.refused
    return new.event


def people(review: Review, *names: str, role: str = "reviewer") -> list[Person]:
    return [review.add_person(name, role)[0] for name in names]


def codes(review: Review, person: Person, count: int = 100, start: int = 0) -> list[str]:
    window = review.window(review.task("choose"), person, start, count)
    return [place.item.code for place in window.places]


def verdicts(review: Review, person: Person) -> dict[str, str]:
    window = review.window(review.task("choose"), person, 0, 100)
    return {place.item.code: place.verdict["choice"] for place in window.places if place.verdict}


def outcomes(review: Review) -> dict[str, int]:
    found = review.progress(review.task("choose"))
    return {name: getattr(found, name) for name in ("open", "accepted", "rejected", "conflicts", "resolved")}


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


def test_nobody_has_the_name_of_the_majority(review: Review) -> None:
    with pytest.raises(UserError, match="which reports use"):
        review.add_person(" Majority ", "reviewer")


def test_everything_that_somebody_flagged_can_go_to_the_second_pass(review: Review) -> None:
    select_task(review, 2, overlap=3, second_pass="flagged")
    everybody = people(review, "Ann", "Bob", "Cid")
    order = codes(review, everybody[0])
    for person, word in zip(everybody, (ACCEPT, ACCEPT, REJECT), strict=True):
        codes(review, person)
        judge(review, person, order[0], word)
        judge(review, person, order[1], ACCEPT)
    assert outcomes(review) == {"open": 0, "accepted": 1, "rejected": 0, "conflicts": 1, "resolved": 0}


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


def test_links_are_exchanged_renewed_and_revoked(review: Review) -> None:
    ann, secret = review.add_person("Ann", "reviewer")
    begun = review.begin_session(secret)
    assert begun is not None
    assert begun[0] == ann
    assert review.session_person(begun[1]) == ann
    assert review.session_person(secret) is None  # the secret of the link is not that of the session
    assert review.begin_session(secret[:-1]) is None
    _, renewed = review.renew_link("Ann")
    assert review.begin_session(secret) is None
    assert review.session_person(begun[1]) is None
    assert review.begin_session(renewed) is not None
    review.revoke_link("Ann")
    assert review.begin_session(renewed) is None
    with review._database.reading() as connection:
        stored = str(connection.execute(select(tables.people)).all())
    assert secret not in stored
    assert renewed not in stored


def test_speed_leaves_pauses_out() -> None:
    minute = 60_000
    assert hourly_rate([0, minute, 2 * minute, 100 * minute, 101 * minute]) == 60
    assert hourly_rate([0]) is None


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
