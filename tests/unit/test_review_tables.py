"""Review: exports and imports of whole tasks, and what they mean for sets."""

from __future__ import annotations

import csv
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.review_projects import REVIEWERS, make_review
from windtunnel import UserError, api
from windtunnel.curate.frame_tables import read_set_frames
from windtunnel.curate.frame_verdicts import read_frame_verdicts
from windtunnel.curate.project import open_project
from windtunnel.review.records import Item, NewEvent, Person
from windtunnel.review.review import Review

SIMILAR = {"label": "right", "similar": "yes"}


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Review]:
    """A review of images and frame sets with a task of every kind, for three people each."""
    make_review(tmp_path / "project", overlap=3, practice=0, checks=0)
    with api.open_review(tmp_path / "project") as opened:
        yield opened


def person_named(review: Review, name: str) -> Person:
    return next(person for person in review.people() if person.name == name)


def judge(review: Review, name: str, task: str, item: str, verdict: Any) -> None:
    event = NewEvent(str(uuid.uuid4()), task, item, "verdict", 0, verdict)
    assert not review.append(person_named(review, name), [event]).refused


def queue_of(review: Review, name: str, task: str) -> list[Item]:
    window = review.window(review.task(task), person_named(review, name), 0, 100)
    return [place.item for place in window.places]


def judge_frame_sets(review: Review) -> None:
    """Everybody accepts everything, but calls the anchor of the first set bad in one of its pairs."""
    for name in REVIEWERS:
        for item in queue_of(review, name, "anchors"):
            judge(review, name, "anchors", item.code, {"status": "good", "labels": list(item.labels)})
        for item in queue_of(review, name, "pairs"):
            bad = (item.facts["set"], item.facts["offset"]) == ("video0/000100", 1)
            judge(review, name, "pairs", item.code, {"bad_anchor": True} if bad else SIMILAR)


@pytest.mark.parametrize("tasks", [("anchors", "pairs"), ("pairs", "anchors"), ("pairs",)])
def test_a_bad_anchor_removes_its_set_whatever_the_task_on_anchors_says(
    review: Review, tmp_path: Path, tasks: tuple[str, ...]
) -> None:
    judge_frame_sets(review)
    made = api.export_review(review.folder, tasks, tmp_path / "out")
    frames = read_set_frames(open_project(review.folder))
    outcomes = read_frame_verdicts(made.verdicts, frames).outcomes(frames)
    assert {outcome for (set_, _), outcome in outcomes.items() if set_ == "video0/000100"} == {
        "anchor_rejected"
    }
    assert {outcome for (set_, _), outcome in outcomes.items() if set_ != "video0/000100"} == {"exported"}


def import_rows(review: Review, task: str, file: Path, *lines: str) -> api.ImportedVotes:
    file.write_text("\n".join(lines) + "\n")
    return api.import_review_votes(review.folder, task, file)


def choice_of(review: Review, code: str) -> dict[str, str]:
    (found,) = (row for row in review.judged_items(review.task("select")) if row.item.code == code)
    return {vote.person.name: vote.verdict["choice"] for vote in found.votes}


def test_an_import_neither_repeats_rows_nor_replaces_later_verdicts(review: Review, tmp_path: Path) -> None:
    file = tmp_path / "votes.csv"
    found = [row.item for row in review.judged_items(review.task("select"))][:4]
    rows = [f"{item.facts['id']},accept,Ann" for item in found]
    assert import_rows(review, "select", file, "id,verdict,reviewer", *rows).added == 4
    judge(review, "Ann", "select", found[0].code, {"choice": "reject"})
    for order in (rows, rows[::-1], rows[:1]):
        again = import_rows(review, "select", file, "id,verdict,reviewer", *order)
        assert again.added == 0
    changed = [row.replace("accept", "unsure") for row in rows]
    other = import_rows(review, "select", file, "id,verdict,reviewer", *changed)
    assert (other.added, other.outdated) == (3, 1)
    assert choice_of(review, found[0].code) == {"Ann": "reject"}
    assert choice_of(review, found[1].code) == {"Ann": "unsure"}


def test_the_own_votes_of_a_review_are_not_imported_again(review: Review, tmp_path: Path) -> None:
    judge_frame_sets(review)
    made = api.export_review(review.folder, ("anchors", "pairs"), tmp_path / "out")
    again = api.import_review_votes(review.folder, "pairs", made.folder / "votes.csv")
    assert (again.added, again.outdated) == (0, 0)


def test_a_task_takes_its_rows_of_a_joint_table_of_votes(review: Review, tmp_path: Path) -> None:
    judge_frame_sets(review)
    made = api.export_review(review.folder, ("anchors", "pairs"), tmp_path / "out")
    make_review(tmp_path / "other", overlap=3, practice=0, checks=0)
    for task, own, others in (("anchors", 12, 72), ("pairs", 72, 12)):
        found = api.import_review_votes(tmp_path / "other", task, made.folder / "votes.csv")
        assert (found.rows, found.added, found.other_tasks) == (84, own, others)
    with pytest.raises(UserError, match="give a table of one task"):
        api.import_review_votes(tmp_path / "other", "blind", made.folder / "votes.csv")


def test_odd_names_and_times_of_a_table_are_read(review: Review, tmp_path: Path) -> None:
    file = tmp_path / "votes.csv"
    id_ = next(review.judged_items(review.task("select"))).item.facts["id"]
    for added in (1, 0):
        found = import_rows(
            review, "select", file, "id,verdict,reviewer,time", f"{id_},accept,Eve  Smith,\N{SUPERSCRIPT TWO}"
        )
        assert (found.added, found.people) == (added, ("Eve Smith",))
    with pytest.raises(UserError, match="line 2: Nobody may have the name majority"):
        import_rows(review, "select", file, "id,verdict,reviewer", f"{id_},accept,majority")


@pytest.mark.parametrize(
    ("last", "message"),
    [
        ("unknown,accept,Ann,", "line 5 has the item 'unknown'"),
        ("unknown,accept,Ann", "line 5 has 3 cells, the header 4"),
        ("unknown,accept,Ann,a,b", "line 5 has 5 cells, the header 4"),
    ],
)
def test_messages_name_the_line_of_the_file(review: Review, tmp_path: Path, last: str, message: str) -> None:
    """A cell may have several lines, and empty lines count."""
    id_ = next(review.judged_items(review.task("select"))).item.facts["id"]
    rows = ["id,verdict,reviewer,note", f'{id_},accept,Ann,"two\nlines"', "", last]
    with pytest.raises(UserError, match=message):
        import_rows(review, "select", tmp_path / "votes.csv", *rows)


def test_imported_verdicts_have_no_speed(review: Review, tmp_path: Path) -> None:
    found = [row.item.facts["id"] for row in review.judged_items(review.task("select"))]
    rows = [f"{id_},accept,Ann,{1000 + place}" for place, id_ in enumerate(found)]
    import_rows(review, "select", tmp_path / "votes.csv", "id,verdict,reviewer,time", *rows)
    (ann, *_) = review.progress(review.task("select")).people
    assert (ann.judged, ann.per_hour) == (len(found), None)


@pytest.mark.parametrize("note", ["=1+1", "@x", "-1", "'=1+1", "plain", "'quoted'"])
def test_notes_are_no_formulas_in_a_spreadsheet(review: Review, tmp_path: Path, note: str) -> None:
    for name in REVIEWERS:
        item = queue_of(review, name, "select")
        for one in item:
            judge(review, name, "select", one.code, {"choice": "accept", "note": note})
    made = api.export_review(review.folder, "select", tmp_path / "out")
    with made.verdicts.open(newline="") as stream:
        cells = {row["note"] for row in csv.DictReader(stream)}
    assert not any(cell.startswith(tuple("=+-@")) for cell in cells)
    make_review(tmp_path / "other", overlap=3, practice=0, checks=0)
    api.import_review_votes(tmp_path / "other", "select", made.verdicts)
    with api.open_review(tmp_path / "other") as other:
        found = list(other.judged_items(other.task("select")))
    assert {vote.verdict["note"] for row in found for vote in row.votes} == {note}


def test_the_own_votes_of_a_grid_are_not_imported_again(review: Review, tmp_path: Path) -> None:
    for item in queue_of(review, "Ann", "select"):
        judge(review, "Ann", "select", item.code, {"choice": "reject", "reasons": ["not_valid"]})
    made = api.export_review(review.folder, "select", tmp_path / "out")
    again = api.import_review_votes(review.folder, "select", made.folder / "votes.csv")
    assert (again.added, again.outdated) == (0, 0)


def test_of_several_rows_of_a_person_on_an_item_one_counts(review: Review, tmp_path: Path) -> None:
    file = tmp_path / "votes.csv"
    first, second, *_ = (row.item for row in review.judged_items(review.task("select")))
    one, other = first.facts["id"], second.facts["id"]
    rows = [f"{one},accept,Ann,", f"{one},reject,Ann,", f"{other},unsure,Ann,900", f"{other},accept,Ann,800"]
    for added in (2, 0):
        found = import_rows(review, "select", file, "id,verdict,reviewer,time", *rows)
        assert (found.rows, found.added, found.replaced, found.other_tasks) == (4, added, 2, 0)
    assert choice_of(review, first.code) == {"Ann": "reject"}
    assert choice_of(review, second.code) == {"Ann": "unsure"}
    with pytest.raises(UserError, match=r"line 3 is another vote on the item .* without a reviewer"):
        import_rows(review, "select", file, "id,verdict", f"{one},accept", f"{one},accept")


def test_a_class_is_a_verdict_of_blind_classification(review: Review, tmp_path: Path) -> None:
    file = tmp_path / "votes.csv"
    item = next(review.judged_items(review.task("blind"))).item
    id_, classes = item.facts["id"], sorted(review.task("blind").class_names)
    assert import_rows(review, "blind", file, "id,verdict,reviewer", f"{id_},{classes[1]},Ann").added == 1
    assert import_rows(review, "blind", file, "id,label,reviewer", f"{id_},{classes[0]},Bob").added == 1
    judged = next(row for row in review.judged_items(review.task("blind")) if row.item.code == item.code)
    given = {vote.person.name: vote.verdict["label"] for vote in judged.votes}
    assert given == {"Ann": classes[1], "Bob": classes[0]}
    with pytest.raises(UserError, match="line 2: Unknown class 'unicorn'"):
        import_rows(review, "blind", file, "id,verdict", f"{id_},unicorn")
    with pytest.raises(UserError, match="the verdict is reject, but the other columns mean accept"):
        import_rows(review, "blind", file, "id,label,verdict", f"{id_},{item.labels[0]},reject")
    with pytest.raises(UserError, match="the column label has"):
        import_rows(review, "blind", file, "id,verdict,label", f"{id_},{classes[0]},{classes[1]}")
    with pytest.raises(UserError, match="give accept, reject, unsure, or JSON"):
        import_rows(review, "select", file, "id,verdict", f"{id_},{classes[0]}")


def test_answers_without_rows_or_roles_are_refused(review: Review, tmp_path: Path) -> None:
    file = tmp_path / "answers.csv"
    id_ = next(review.judged_items(review.task("select"))).item.facts["id"]
    for text, message in (
        ("id,verdict,role\n", "answers.csv has no rows"),
        (
            f"id,verdict\n{id_},accept\n",
            "line 2: the column role is missing; give practice, check or example",
        ),
    ):
        file.write_text(text)
        with pytest.raises(UserError, match=message):
            api.create_review_task(review.folder, "other", "select", answers=str(file))
