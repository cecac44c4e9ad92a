"""What an owner of a review meets: names of classes, folders of exports, lost databases, next commands."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from PIL import Image

from tests.conftest import Command
from tests.review_http import served
from tests.review_projects import add_frame_sets, make_project
from windtunnel import api
from windtunnel.core.curation_records import (
    ClassOverlaps,
    HardRecipe,
    HardSummary,
    OodRecipe,
    OodSummary,
    RulesRecord,
)
from windtunnel.curate.hard import HARD
from windtunnel.curate.ood import OOD
from windtunnel.curate.project import Project
from windtunnel.curate.steps import StepKind

HEN, COCK = "n01514859", "n01514668"


def photos(folder: Path, *classes: str) -> Path:
    """A folder with two images of each class."""
    for number, name in enumerate(classes):
        (folder / name).mkdir(parents=True)
        for copy in range(2):
            colour = (80 * number, 90 * copy, 120)
            Image.new("RGB", (40, 30), colour).save(folder / name / f"{copy}.png")
    return folder


def ask(command: Command, *arguments: object) -> str:
    """The output of a command."""
    found = command(*arguments)
    assert found.returncode == 0, found.stderr
    return found.stdout


def refusal(command: Command, *arguments: object) -> str:
    """The one line with which a command refuses."""
    found = command(*arguments)
    assert found.returncode == 2, found.stdout
    assert len(found.stderr.strip().splitlines()) == 1, found.stderr
    return found.stderr


def test_classes_are_shown_by_their_names(tmp_path: Path) -> None:
    images = photos(tmp_path / "images", COCK, HEN)
    api.create_review_task(
        tmp_path / "p", "choose", "select", images=images, overlap=1, second_pass="flagged"
    )
    api.create_review_task(tmp_path / "p", "classify", "blind", images=images, overlap=2)
    with api.open_review(tmp_path / "p") as review:
        secrets = {name: review.add_person(name, "reviewer")[1] for name in ("Ann", "Bob")}
        secrets["Olga"] = review.add_person("Olga", "owner")[1]
    with served(tmp_path / "p", secrets) as running:
        _, queue, _ = running.get("/api/tasks/choose/items", running.sign_in("Ann"))
        assert {name: title for row in queue["items"] for name, title in row["titles"].items()} == {
            COCK: "cock",
            HEN: "hen",
        }
        for name, label in (("Ann", COCK), ("Bob", HEN)):
            cookie = running.sign_in(name)
            _, queue, _ = running.get("/api/tasks/classify/items", cookie)
            assert all(row["titles"] == {} for row in queue["items"])  # nobody is told the label
            item = min(row["item"] for row in queue["items"])
            event = {"event": str(uuid.uuid4()), "task": "classify", "item": item, "action": "verdict"}
            body = {"events": [event | {"verdict": {"label": label}, "client_time": 1}]}
            assert running.post("/api/events", body, cookie)[1]["refused"] == []
        _, conflicts, _ = running.get("/api/owner/tasks/classify/conflicts", running.sign_in("Olga"))
        assert [row["titles"] for row in conflicts["items"]] == [{COCK: "cock", HEN: "hen"}]


def test_an_export_replaces_only_itself(tmp_path: Path, windtunnel_command: Command) -> None:
    images = photos(tmp_path / "images", "cat")
    for name in ("first", "second"):
        api.create_review_task(tmp_path / "p", name, "select", images=images)
    export = ("review", "export", tmp_path / "p")
    ask(windtunnel_command, *export, "first", "--out", tmp_path / "out")
    ask(windtunnel_command, *export, "first", "--out", tmp_path / "out")
    before = {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()}
    said = refusal(windtunnel_command, *export, "second", "--out", tmp_path / "out")
    assert "contains the export of first of the project p; choose another folder with --out" in said
    assert {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()} == before
    (tmp_path / "out" / "notes.txt").write_text("mine")
    for folder in (tmp_path / "out", images):
        said = refusal(windtunnel_command, *export, "first", "--out", folder)
        assert "contains other files; give a separate folder for the export with --out" in said
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "verdicts.csv").write_text("id,verdict\n")
    assert "contains other files" in refusal(windtunnel_command, *export, "first", "--out", mine)
    assert (mine / "verdicts.csv").read_text() == "id,verdict\n"


def test_a_kind_that_does_not_fit_changes_nothing(tmp_path: Path, windtunnel_command: Command) -> None:
    images = photos(tmp_path / "images", "cat")
    create = ("review", "create", tmp_path / "p", "bad", "--kind", "pairs", "--images", images)
    assert "The kind pairs needs frame sets, not candidates" in refusal(windtunnel_command, *create)
    assert not (tmp_path / "p").exists()


def test_verdicts_are_not_acknowledged_without_their_database(
    tmp_path: Path, windtunnel_command: Command
) -> None:
    folder = tmp_path / "p"
    api.create_review_task(folder, "choose", "select", images=photos(tmp_path / "images", "cat"))
    with api.open_review(folder) as review:
        secrets = {"Ann": review.add_person("Ann", "reviewer")[1]}
    file = folder / "review" / "review.sqlite"
    with served(folder, secrets) as running:
        cookie = running.sign_in("Ann")
        _, queue, _ = running.get("/api/tasks/choose/items", cookie)
        event = {"event": str(uuid.uuid4()), "task": "choose", "item": queue["items"][0]["item"]}
        event |= {"action": "verdict", "verdict": {"choice": "accept"}, "client_time": 1}
        moved = file.rename(tmp_path / "moved.sqlite")
        status, answer, _ = running.post("/api/events", {"events": [event]}, cookie)
        assert (status, answer["detail"][:47]) == (503, "The review database is missing on the server; y")
        assert not file.exists()
        said = refusal(windtunnel_command, "review", "people", folder, "Bob")
        assert "audit.jsonl shows that there was a review" in said
        assert not file.exists()
        file.write_bytes(moved.read_bytes())  # another file of the same name
        assert running.post("/api/events", {"events": [event]}, cookie)[0] == 503
        assert "was removed or replaced" in running.audit()[-1]["error"]
        moved.rename(file)
        status, answer, _ = running.post("/api/events", {"events": [event]}, cookie)
        assert (status, answer["acknowledged"]) == (200, [event["event"]])


@pytest.mark.parametrize("frames", [False, True])
def test_a_table_without_verdicts_is_called_so(
    tmp_path: Path, windtunnel_command: Command, frames: bool
) -> None:
    make_project(tmp_path / "p", per_class=1, sets=1)
    table = tmp_path / "verdicts.csv"
    table.write_text("set,frame,verdict,reviewer\n" if frames else "id,verdict,reviewer\n")
    step = ("--step", "video") if frames else ()
    export = ("curate", "export", tmp_path / "p", "--out", tmp_path / "set", "--reviewed", table, *step)
    assert "verdicts.csv, which has no verdicts" in refusal(windtunnel_command, *export)


def test_tasks_of_one_kind_have_different_titles(tmp_path: Path) -> None:
    images = photos(tmp_path / "images", "cat")
    made = [api.create_review_task(tmp_path / "shop", name, "select", images=images) for name in ("a", "b")]
    assert [task.recipe.title for task in made] == ["Select: shop, a", "Select: shop, b"]


def shortlist_all(project: Project, step: StepKind[Any, Any]) -> None:
    """Audit and record of a filtering step without filter models that keeps every candidate."""
    rows = project.stored_candidates()
    project.write_audit(
        step.name,
        pa.Table.from_pylist([{"id": row.id, "stage": "shortlisted", "reason": ""} for row in rows]),
    )
    shared = {
        "candidates": project.candidates_digest(), "models": (),
        "duplicate_bits": 0, "duplicate_cosine": 0.0, "hierarchy": "",
    }  # fmt: skip
    found = {"filter_models": (), "near_duplicates": (), "features": "", "warnings": ()}
    count = len(rows)
    if step is OOD:
        recipe = OodRecipe(**shared, in_distribution=(), min_confidence=0.5)
        summary = OodSummary(
            stored=count, outside_label_space=count, unrelated=count, shortlist=count,
            hierarchy_known=False, related_classes=(), **found,
        )  # fmt: skip
        project.finish(OOD, recipe, summary)
        return
    rules = RulesRecord(0.15, 0, "centre", "least-true", 4)
    project.finish(
        HARD,
        HardRecipe(**shared, classes=(), rules=rules),
        HardSummary(
            stored=count, of_classes=count, candidates=count, never_correct=count,
            low_true_confidence=count, shortlist=count, accuracies=(),
            overlapping_classes=ClassOverlaps((), ()), **found,
        ),
    )  # fmt: skip


def test_the_status_of_a_project_names_the_review(tmp_path: Path, windtunnel_command: Command) -> None:
    project = make_project(tmp_path / "p", per_class=1, sets=0)
    status = ("curate", "status", tmp_path / "p")
    assert "review create" not in ask(windtunnel_command, *status)
    add_frame_sets(project, sets=1, reach=1)
    assert api.project_status(tmp_path / "p").review.endswith(" TASK --kind pairs")
    shortlist_all(project, HARD)
    command = f"windtunnel review create {tmp_path / 'p'} TASK --kind select"
    assert api.project_status(tmp_path / "p").review == command
    assert " ".join(command.split()) in " ".join(ask(windtunnel_command, *status).split())
    shortlist_all(project, OOD)
    assert api.project_status(tmp_path / "p").review == f"{command} --source hard"
