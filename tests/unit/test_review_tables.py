"""Review: exports and imports of whole tasks, and what they mean for sets."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.review_projects import REVIEWERS, make_review
from windtunnel import api
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
