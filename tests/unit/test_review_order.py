"""Events of two devices, computing again what is derived from events, and imports while people work."""

from __future__ import annotations

import csv
import itertools
import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, select, update

from windtunnel import UserError, api
from windtunnel.review import tables
from windtunnel.review.records import MediaFile, NewEvent, NewItem, Person, TaskRecipe, now_ms
from windtunnel.review.review import Review, open_review

TASK = "choose"
HOUR = 3_600_000
Command = Callable[..., Any]


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Review]:
    """A review with a task that was created a day ago."""
    with made_review(tmp_path, 12) as opened:
        yield opened


def made_review(folder: Path, count: int) -> Review:
    (folder / "project.json").write_text(json.dumps({"schema": 1, "name": folder.name, "seed": 0}))
    items = [
        NewItem(f"{number}", (MediaFile("image", f"{number}.png"),), ("cat",), {"id": f"{number}"})
        for number in range(count)
    ]
    review = open_review(folder, create=True)
    recipe = TaskRecipe(title="Choose", source="candidates", overlap=2, check_every=0)
    review.create_task(TASK, "select", recipe, items)
    change = update(tables.tasks).values(created=now_ms() - 24 * HOUR)
    review._database.write(lambda connection: connection.execute(change))
    review.close()
    return open_review(folder)


def offered(review: Review, person: Person) -> list[str]:
    window = review.window(review.task(TASK), person, 0, 100)
    return [place.item.code for place in window.places]


def made(item: str, hours_ago: float, choice: str, **more: Any) -> NewEvent:
    when = now_ms() - int(hours_ago * HOUR)
    verdict = {"choice": choice} if choice else None
    return NewEvent(str(uuid.uuid4()), TASK, item, more.pop("action", "verdict"), when, verdict, **more)


def choices(review: Review) -> dict[str, str]:
    rows = review.judged_items(review.task(TASK))
    return {row.item.code: vote.verdict["choice"] for row in rows for vote in row.votes}


def derived(review: Review) -> Any:
    with review._database.reading() as connection:
        return [
            connection.execute(select(table).order_by(*table.primary_key)).all()
            for table in (tables.items, tables.present, tables.queue)
        ]


def test_of_two_devices_the_later_verdict_is_in_force(review: Review) -> None:
    ann, _ = review.add_person("Ann", "reviewer")
    item = offered(review, ann)[0]
    events = [made(item, 3, "reject"), made(item, 2, "unsure"), made(item, 1, "accept")]
    for order, code in zip(itertools.permutations(events), offered(review, ann), strict=False):
        for event in order:
            copy = NewEvent(str(uuid.uuid4()), TASK, code, "verdict", event.client_time, event.verdict)
            assert not review.append(ann, [copy]).refused
    assert set(choices(review).values()) == {"accept"}
    assert len(choices(review)) == 6
    before = derived(review)
    assert not review.rebuild().changed
    assert derived(review) == before


def test_who_sends_an_old_verdict_is_told_which_one_is_in_force(review: Review) -> None:
    ann, _ = review.add_person("Ann", "reviewer")
    item = offered(review, ann)[0]
    review.append(ann, [made(item, 1, "accept")])
    late = made(item, 2, "reject")
    answer = review.append(ann, [late])
    assert answer.acknowledged == (late.event,)
    (in_force,) = answer.present.values()
    assert in_force is not None
    assert in_force["choice"] == "accept"


def test_an_undo_that_arrives_late_takes_back_its_own_verdict_only(review: Review) -> None:
    ann, _ = review.add_person("Ann", "reviewer")
    item = offered(review, ann)[0]
    first, last = made(item, 4, "reject"), made(item, 1, "accept")
    undo = made(item, 3, "", action="undo", target=first.event)
    redo = made(item, 2, "", action="redo", target=first.event)
    for event in (last, first, redo, undo):  # the redo was made after the undo
        assert not review.append(ann, [event]).refused
    assert choices(review) == {item: "accept"}
    review.append(ann, [made(item, 0, "", action="undo", target=last.event)])
    assert choices(review) == {item: "reject"}
    assert not review.rebuild().changed


def test_a_clock_that_is_ahead_does_not_win_for_ever(review: Review) -> None:
    ann, _ = review.add_person("Ann", "reviewer")
    item = offered(review, ann)[0]
    review.append(ann, [made(item, 1, "accept")])
    time.sleep(0.005)
    review.append(ann, [made(item, -5, "unsure")])  # counts as made when it arrived
    assert choices(review) == {item: "unsure"}
    time.sleep(0.005)
    review.append(ann, [made(item, 0, "reject")])
    assert choices(review) == {item: "reject"}


@pytest.mark.parametrize("hours", ((30, 23), (50, 40), (1, -1), (-1, -2)))
def test_events_of_one_device_keep_their_order_whatever_its_clock_says(
    review: Review, hours: tuple[float, float]
) -> None:
    ann, _ = review.add_person("Ann", "reviewer")
    item = offered(review, ann)[0]
    first, second = (
        made(item, before, word) for before, word in zip(hours, ("accept", "reject"), strict=True)
    )
    review.append(ann, [first, second])  # the task was created 24 hours ago
    assert choices(review) == {item: "reject"}
    review.append(ann, [made(item, hours[1], "", action="undo", target=second.event)])
    assert choices(review) == {item: "accept"}


def test_a_clock_before_the_task_does_not_replace_verdicts_of_another_device(review: Review) -> None:
    ann, _ = review.add_person("Ann", "reviewer")
    item = offered(review, ann)[0]
    review.append(ann, [made(item, 1, "accept")])
    review.append(ann, [made(item, 24 * 365 * 50, "unsure")])  # counts as made when the task was created
    assert choices(review) == {item: "accept"}


def test_rebuild_corrects_what_is_derived_and_says_what_changed(
    review: Review, windtunnel_command: Command
) -> None:
    ann, _ = review.add_person("Ann", "reviewer")
    bob, _ = review.add_person("Bob", "reviewer")
    for person in (ann, bob):
        for code in offered(review, person):
            review.append(person, [made(code, 0, "accept")])
    before = derived(review)
    review.close()
    done = windtunnel_command("review", "rebuild", review.folder)
    assert (done.returncode, "nothing" in done.stdout) == (0, True)
    with open_review(review.folder) as again:
        damage = (
            delete(tables.present).where(tables.present.c.item == 1),
            update(tables.items).where(tables.items.c.id > 1).values(outcome="reject"),
            update(tables.queue).where(tables.queue.c.person == bob.id).values(judged=False),
        )
        for statement in damage:
            again._database.write(lambda connection, part=statement: connection.execute(part))
    found = json.loads(windtunnel_command("review", "rebuild", review.folder, "--json").stdout)
    assert found == {"items": 12, "events": 24, "verdicts": 2, "outcomes": 11, "places": 12}
    with open_review(review.folder) as again:
        assert derived(again) == before


def votes_table(folder: Path, lines: Sequence[str]) -> Path:
    file = folder / "votes.csv"
    file.write_text("\n".join(["id,verdict,reviewer", *lines]) + "\n")
    return file


def test_people_save_while_a_table_is_imported(tmp_path: Path) -> None:
    with made_review(tmp_path, 1200) as review:
        ann, _ = review.add_person("Ann", "reviewer")
        codes = offered(review, ann)
        file = votes_table(tmp_path, [f"{number},accept,Bob" for number in range(1200)])
        imported: list[Any] = []
        importer = threading.Thread(
            target=lambda: imported.append(api.import_review_votes(tmp_path, TASK, file))
        )
        importer.start()
        saved_meanwhile = 0
        for code in codes:
            review.append(ann, [made(code, 0, "accept")])
            stored = sum(row["reviewer"] == "Bob" for row in review.event_rows(review.task(TASK)))
            saved_meanwhile += 0 < stored < 1200
        importer.join()
        assert imported[0].added == 1200
        assert saved_meanwhile


def test_a_wrong_row_at_the_end_of_a_table_imports_nothing(review: Review, tmp_path: Path) -> None:
    good = [f"{number},accept,Bob" for number in range(12)]
    for wrong in ("0,perhaps,Bob", "unknown,accept,Bob", "0,accept,majority"):
        with pytest.raises(UserError, match="14"):
            api.import_review_votes(tmp_path, TASK, votes_table(tmp_path, [*good, wrong]))
        assert not list(review.event_rows(review.task(TASK)))
        assert not review.people()


@pytest.mark.parametrize("hours", ((3, 2), (50, 40)))
def test_an_earlier_export_does_not_replace_verdicts_that_were_made_later(
    review: Review, tmp_path: Path, hours: tuple[float, float]
) -> None:
    ann, _ = review.add_person("Ann", "reviewer")
    item = offered(review, ann)[0]
    first = made(item, hours[0], "accept")
    review.append(ann, [first])
    created = review.task(TASK).created
    api.export_review(tmp_path, TASK, tmp_path / "export")
    (row,) = csv.DictReader((tmp_path / "export" / "votes.csv").open())
    assert int(row["time"]) == max(first.client_time, created)  # when it was made, not when it arrived
    review.append(ann, [made(item, hours[1], "reject")])
    imported = api.import_review_votes(tmp_path, TASK, tmp_path / "export" / "votes.csv")
    assert (imported.added, imported.outdated) == (0, 1)
    assert choices(review) == {item: "reject"}
    assert not review.rebuild().changed
