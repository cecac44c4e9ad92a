"""`windtunnel curate export`: natural sets that `run` reads, with every candidate in the manifest."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windtunnel
from tests.conftest import Command
from tests.natural_sets import WNIDS, put, write_csv, write_model
from windtunnel.analysis.model_tables.filter_models import filter_models
from windtunnel.analysis.model_tables.reading import read_tables
from windtunnel.core.curation_records import (
    ClassOverlaps,
    HardRecipe,
    HardSummary,
    OodRecipe,
    OodSummary,
    RulesRecord,
)
from windtunnel.core.errors import UserError
from windtunnel.curate.filter_models import FilterModel, load_source
from windtunnel.curate.hard import HARD
from windtunnel.curate.ood import OOD
from windtunnel.curate.project import Project
from windtunnel.data.natural_layouts import open_own_images
from windtunnel.models import load_model

CLASSES = [0, 1, 2]
OUTSIDE = 999


@pytest.fixture
def model(tmp_path: Path) -> str:
    return f"{write_model(tmp_path)}:answers"


@pytest.fixture
def project(tmp_path: Path, windtunnel_command: Command, model: str) -> Path:
    """Three classes of four images; `hard` keeps the last three of each class.

    The model is wrong on the second and third images, but the third is right among the three classes. It is
    right on the fourth.
    """
    for number, label in enumerate(CLASSES):
        wrong = CLASSES[(number + 1) % 3]
        answers = [(label, wrong), (wrong, label), (OUTSIDE, label), (label, wrong)]
        for place, (first, second) in enumerate(answers):
            put(tmp_path / "images" / WNIDS[label] / f"{place}.png", first, second, shade=4 * number + place)
    rows = [
        {"file": f"images/{WNIDS[label]}/{place}.png", "tag": WNIDS[label], "licence": "CC0", "source": "zoo"}
        for label in CLASSES
        for place in range(4)
    ]
    rows.append({"file": "images/gone.png", "tag": WNIDS[0], "licence": "CC0", "source": "zoo"})
    write_csv(tmp_path / "t.csv", list(rows[0]), [list(row.values()) for row in rows])
    folder = tmp_path / "birds"
    done = windtunnel_command("curate", "collect", "t.csv", "--project", folder)
    assert done.returncode == 0, done.stderr
    filter_step(folder, "hard", lambda place: "correct" if place % 4 == 0 else "shortlisted", model)
    return folder


def filter_step(folder: Path, step: str, stage: Any, model: str, classes: Sequence[str] = ()) -> None:
    """Write the audit and the record of a filtering step; only the outputs of given classes competed."""
    opened = Project(folder)
    rows = [row for row in opened.candidates() if row.status == "ok"]
    stages = [stage(row.row) for row in rows]
    reasons = ["a crop is right" if stage == "correct" else "" for stage in stages]
    opened.write_audit(step, pa.table({"id": [row.id for row in rows], "stage": stages, "reason": reasons}))
    loaded = FilterModel(*load_source(model), {}, tuple(map(WNIDS.index, classes)))
    shared = {
        "candidates": opened.candidates_digest(), "models": (loaded.record,),
        "duplicate_bits": 0, "duplicate_cosine": 0.0, "hierarchy": "",
    }  # fmt: skip
    found = {"filter_models": (loaded.record.info,), "near_duplicates": (), "features": "", "warnings": ()}
    if step == "ood":
        opened.finish(
            OOD,
            OodRecipe(**shared, in_distribution=tuple(classes or WNIDS), min_confidence=0.5),
            OodSummary(
                stored=12, outside_label_space=12, unrelated=12, shortlist=6, hierarchy_known=False,
                related_classes=(), **found,
            ),
        )  # fmt: skip
        return
    rules = RulesRecord(0.15, 0, "centre", "least-true", 4)
    opened.finish(
        HARD,
        HardRecipe(**shared, classes=tuple(classes), rules=rules),
        HardSummary(
            stored=12, of_classes=12, candidates=12, never_correct=9, low_true_confidence=9, shortlist=9,
            accuracies=(0.5,), overlapping_classes=ClassOverlaps((), ()), **found,
        ),
    )  # fmt: skip


def verdicts(project: Path, file: Path, votes: Sequence[tuple[int, str, str]]) -> Path:
    """A table of votes: the row of a candidate, its verdict, and the reviewer."""
    ids = {row.row: row.id for row in Project(project).candidates()}
    rows: list[list[object]] = [[ids[row], verdict, reviewer, "seen"] for row, verdict, reviewer in votes]
    return write_csv(file, ["id", "verdict", "reviewer", "note"], rows)


def everything(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def test_the_set_has_class_folders_manifest_and_checksums(
    tmp_path: Path, windtunnel_command: Command, project: Path
) -> None:
    done = windtunnel_command("curate", "export", project, "--out", "set", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["images"], report["name"], report["reviewed"]) == (9, "birds-hard-unreviewed", False)
    assert report["outcomes"] == {"exported": 9, "filtered": 3, "not_collected": 1}
    assert len(list((tmp_path / "set").glob("n*/*.png"))) == 9
    table = pq.read_table(tmp_path / "set" / "manifest.parquet").to_pylist()
    assert len(table) == 13
    for row in table:
        assert (row["licence"], row["source"]) == ("CC0", "zoo")
        if row["outcome"] == "exported":
            assert (tmp_path / "set" / row["file"]).is_file()
            assert (row["stage"], row["label_status"], row["verdict"]) == ("shortlisted", "weak", "")
    assert {(row["stage"], row["stage_reason"]) for row in table if row["outcome"] == "filtered"} == {
        ("correct", "a crop is right")
    }
    with (tmp_path / "set" / "manifest.csv").open(newline="") as stream:
        assert [row["url"] for row in csv.DictReader(stream)] == [row["url"] for row in table]
    checked = subprocess.run(
        ["sha256sum", "--strict", "-c", "SHA256SUMS"], cwd=tmp_path / "set", capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stderr
    listed = {line.split("  ")[1] for line in (tmp_path / "set" / "SHA256SUMS").read_text().splitlines()}
    assert listed | {"SHA256SUMS", ".windtunnel/lock"} == set(everything(tmp_path / "set"))
    page = (tmp_path / "set" / "datasheet.html").read_text()
    for text in ("CC0", "zoo", "Without review", "low by construction", "correct"):
        assert text.lower() in page.lower()


def test_run_reads_the_set_and_marks_the_models_that_filtered_it(
    tmp_path: Path, windtunnel_command: Command, project: Path, model: str
) -> None:
    assert (
        windtunnel_command("curate", "export", project, "--out", "set", "--title", "Bird trouble").returncode
        == 0
    )
    run = windtunnel.run(model, tmp_path / "set", out=tmp_path / "run")
    scores = {score.condition: score.value for score in run.scores(["top1_error"])}
    # Of nine images three are right: all outputs compete, as in the filtration.
    assert scores == {"birds-hard-unreviewed": pytest.approx(6 / 9)}
    assert run.recipe.suite.name == "natural"
    page = windtunnel_command("report", tmp_path / "run")
    assert page.returncode == 0, page.stderr
    text = (tmp_path / "run" / "report.md").read_text()
    assert "Accuracy low by construction: Bird trouble was filtered by this model" in text
    assert "Without review" in text
    windtunnel.run(f"flip|{model}", tmp_path / "set", out=tmp_path / "flipped")
    windtunnel_command("report", tmp_path / "flipped")
    text = (tmp_path / "flipped" / "report.md").read_text()
    assert "Bird trouble was filtered by this model in other wrappers" in text
    # A model that did not filter is not marked.
    windtunnel.run(f"{tmp_path / 'colours.py'}:others", tmp_path / "set", out=tmp_path / "other")
    windtunnel_command("report", tmp_path / "other")
    assert "Accuracy low by construction" not in (tmp_path / "other" / "report.md").read_text()


def test_the_outputs_that_compete_are_those_of_the_filtration(
    tmp_path: Path, windtunnel_command: Command, project: Path, model: str
) -> None:
    def error(name: str, *options: str) -> float:
        done = windtunnel_command("curate", "export", project, "--out", name, *options)
        assert done.returncode == 0, done.stderr
        run = windtunnel.run(model, tmp_path / name, out=tmp_path / f"run-{name}")
        (score,) = run.scores(["top1_error"])
        return score.value

    # Among the three classes, three more images are right: the model's second answer.
    assert error("masked", "--mask") == pytest.approx(3 / 9)
    # The first answer on these three is a class that competed in the filtration, but has no image.
    kept = [WNIDS[label] for label in (*CLASSES, OUTSIDE)]
    filter_step(project, "hard", lambda place: "correct" if place % 4 == 0 else "shortlisted", model, kept)
    assert error("four") == pytest.approx(6 / 9)
    declared = (tmp_path / "four" / "windtunnel.toml").read_text()
    assert "masked = true" in declared
    assert WNIDS[OUTSIDE] in declared


def test_effective_robustness_leaves_out_the_models_that_filtered(
    tmp_path: Path, windtunnel_command: Command, project: Path, model: str
) -> None:
    """The line is fitted over the models that did not choose the images."""
    assert windtunnel_command("curate", "export", project, "--out", "set").returncode == 0
    for number, label in enumerate(CLASSES):
        for place in range(4):
            put(tmp_path / "val" / WNIDS[label] / f"{place}.png", label, shade=100 + 4 * number + place)
    (tmp_path / "copy").mkdir()
    copy = write_model(tmp_path / "copy")
    copy.write_text(copy.read_text().replace("def others", "def fourth"))
    models = [model, *(f"{tmp_path / name}" for name in ("colours.py:others", "colours.py:resnet50"))]
    models.append(f"{copy}:fourth")
    runs = [tmp_path / f"run-{number}" for number in range(4)]
    for each, out in zip(models, runs, strict=True):
        windtunnel.run(each, tmp_path / "set", clean=tmp_path / "val", out=out)
    table = read_tables(runs)
    found = filter_models(table, [table.setting("birds-hard-unreviewed")])
    marked = [name for name, is_filter in zip(table.models, found.marked, strict=True) if is_filter]
    assert marked == [load_model(model).name]
    assert found.filtered_sets == ("birds, hard, without review",)


def test_reviewed_and_unreviewed_versions_come_from_one_project(
    tmp_path: Path, windtunnel_command: Command, project: Path
) -> None:
    votes = [
        (1, "accept", "a"), (1, "accept", "b"), (1, "reject", "c"),  # a strict majority
        (2, "accept", "a"), (2, "reject", "b"),  # half is not more than half
        (3, "reject", "a"), (3, "accept", "a"),  # the later vote of a reviewer counts
        (5, "accept", ""),
        (6, "unsure", "a"),
        (7, "reject", "a"), (7, "reject", "b"), (7, "accept", "c"),
        (0, "accept", "a"),  # dropped by the filtration all the same
    ]  # fmt: skip
    file = verdicts(project, tmp_path / "verdicts.csv", votes)
    done = windtunnel_command("curate", "export", project, "--out", "reviewed", "--reviewed", file)
    assert done.returncode == 0, done.stderr
    assert "1 candidate with verdicts not in the shortlist, left out" in done.stdout
    sheet = (tmp_path / "reviewed" / "datasheet.html").read_text()
    assert "{'" not in sheet and "()" not in re.sub(r"<(script|style).*?</\1>", "", sheet, flags=re.DOTALL)
    table = pq.read_table(tmp_path / "reviewed" / "manifest.parquet").to_pylist()
    outcomes = {row["row"]: row["outcome"] for row in table}
    assert [row for row, outcome in outcomes.items() if outcome == "exported"] == [1, 3, 5]
    assert [row for row, outcome in outcomes.items() if outcome == "no_majority"] == [2, 6]
    assert [row for row, outcome in outcomes.items() if outcome == "rejected"] == [7]
    assert [row for row, outcome in outcomes.items() if outcome == "not_reviewed"] == [9, 10, 11]
    assert outcomes[0] == "filtered"
    confirmed = [row["row"] for row in table if row["label_status"] == "confirmed"]
    assert confirmed == [0, 1, 3, 5]
    assert table[1]["votes"] == "a: accept; b: accept; c: reject"
    assert 'name = "birds-hard"' in (tmp_path / "reviewed" / "windtunnel.toml").read_text()
    assert windtunnel_command("curate", "export", project, "--out", "plain").returncode == 0
    shown = json.loads(windtunnel_command("curate", "status", project, "--json").stdout)
    assert {"export-birds-hard", "export-birds-hard-unreviewed"} <= set(shown["steps"])


def test_the_same_command_gives_the_same_bytes_also_after_a_kill(
    tmp_path: Path, windtunnel_command: Command, project: Path
) -> None:
    assert windtunnel_command("curate", "export", project, "--out", "whole").returncode == 0
    whole = everything(tmp_path / "whole")
    assert windtunnel_command("curate", "export", project, "--out", "whole").returncode == 0
    assert everything(tmp_path / "whole") == whole
    command = [sys.executable, "-m", "windtunnel", "curate", "export", str(project), "--out"]
    killed = tmp_path / "killed"
    for images in (0, 3, 9):
        process = subprocess.Popen([*command, str(killed)], stderr=subprocess.DEVNULL)
        until = time.monotonic() + 60
        while time.monotonic() < until and process.poll() is None:
            if killed.is_dir() and len(list(killed.glob("n*/*.png"))) >= images:
                os.kill(process.pid, signal.SIGKILL)
                break
        process.wait()
    (damaged,) = list(killed.glob("n*/*.png"))[:1]
    damaged.write_bytes(b"torn")
    assert windtunnel_command("curate", "export", project, "--out", killed).returncode == 0
    assert everything(killed) == whole


def test_out_of_distribution_sets_need_no_labels(
    tmp_path: Path, windtunnel_command: Command, project: Path, model: str
) -> None:
    filter_step(project, "ood", lambda row: "shortlisted" if row % 2 else "low_confidence", model)
    done = windtunnel_command("curate", "export", project, "--out", "set")
    assert done.returncode == 2
    assert "--step hard" in done.stderr
    done = windtunnel_command("curate", "export", project, "--out", "set", "--step", "ood")
    assert done.returncode == 0, done.stderr
    for label in (5, 6):
        for place in range(3):
            put(tmp_path / "val" / WNIDS[label] / f"{place}.png", label, shade=place)
    run = windtunnel.run(model, tmp_path / "set", clean=tmp_path / "val", out=tmp_path / "run")
    assert run.recipe.suite.name == "ood"
    assert {part.name: part.count for part in run.recipe.data.natural.parts} == {
        "birds-ood-unreviewed": 6, "clean": 6,
    }  # fmt: skip


def test_an_out_of_distribution_set_declares_the_classes_that_competed(
    tmp_path: Path, windtunnel_command: Command, project: Path, model: str
) -> None:
    """A run of the set gives the probabilities of the filtration: only these outputs compete."""
    kept = [WNIDS[label] for label in (5, 6, 7)]
    filter_step(project, "ood", lambda row: "shortlisted" if row % 2 else "unsure", model, kept)
    done = windtunnel_command("curate", "export", project, "--out", "set", "--step", "ood")
    assert done.returncode == 0, done.stderr
    declared = (tmp_path / "set" / "windtunnel.toml").read_text()
    assert "masked = true" in declared and all(f'"{name}"' in declared for name in kept)
    for label in (5, 6):
        for place in range(3):
            put(tmp_path / "val" / WNIDS[label] / f"{place}.png", label, shade=place)
    run = windtunnel.run(model, tmp_path / "set", clean=tmp_path / "val", out=tmp_path / "run")
    assert run.recipe.projection.kept == (5, 6, 7)


def test_a_filtration_of_other_candidates_or_labels_is_refused(
    tmp_path: Path, windtunnel_command: Command, project: Path, model: str
) -> None:
    (tmp_path / "map.csv").write_text(
        "tag,class\n" + "".join(f"{WNIDS[label]},{WNIDS[(label + 1) % 3]}\n" for label in CLASSES)
    )
    votes = [f"{row.id},{row.label},accept\n" for row in Project(project).stored_candidates()]
    (tmp_path / "votes.csv").write_text("id,label,verdict\n" + "".join(votes))
    export = "curate", "export", project, "--reviewed", "votes.csv", "--out"
    assert windtunnel_command(*export, "before").returncode == 0
    done = windtunnel_command("curate", "collect", "t.csv", "--project", project, "--classes", "map.csv")
    assert done.returncode == 0, done.stderr
    for arguments in (
        (*export, "set"),
        ("curate", "report", project),
        ("curate", "transfer", project, "--held-out", f"{tmp_path / 'colours.py'}:others"),
        ("review", "create", project, "check", "--kind", "select"),
    ):
        done = windtunnel_command(*arguments)
        assert done.returncode == 2, (arguments, done.stdout)
        assert "filter again with windtunnel curate hard." in done.stderr
    status = json.loads(windtunnel_command("curate", "status", project, "--json").stdout)
    assert status["next"].startswith("windtunnel curate hard")
    filter_step(project, "hard", lambda place: "correct" if place % 4 == 0 else "shortlisted", model)
    done = windtunnel_command(*export, "set")
    assert done.returncode == 2
    assert "line 2 judges the label" in done.stderr
    assert not (tmp_path / "set").exists()


def test_the_set_does_not_depend_on_later_steps(
    tmp_path: Path, windtunnel_command: Command, project: Path, model: str
) -> None:
    assert windtunnel_command("curate", "export", project, "--out", "set").returncode == 0
    before = everything(tmp_path / "set")
    filter_step(project, "ood", lambda row: "unsure", model)
    done = windtunnel_command("curate", "export", project, "--out", "set", "--step", "hard")
    assert done.returncode == 0, done.stderr
    assert everything(tmp_path / "set") == before


def test_an_audit_whose_step_was_stopped_is_not_exported(
    tmp_path: Path, windtunnel_command: Command, project: Path
) -> None:
    """The record of the step before is not taken for that of the new audit."""
    opened = Project(project)
    ids = [row.id for row in opened.stored_candidates()]
    columns = {"id": ids, "stage": ["shortlisted"] * len(ids), "reason": [""] * len(ids)}
    opened.write_audit("hard", pa.table(columns))  # and then the process is killed
    done = windtunnel_command("curate", "export", project, "--out", "set", "--step", "hard")
    assert done.returncode == 2
    status = json.loads(windtunnel_command("curate", "status", project, "--json").stdout)
    assert "hard" not in status["steps"] and status["next"].startswith("windtunnel curate hard")


def test_hostile_labels_are_no_paths(tmp_path: Path, windtunnel_command: Command) -> None:
    labels = [
        "../../escape", "Cat", "cat", "clean", "/abs", "..", "<b>x", "fine name", "con", "ünïcode", ".",
        "manifest.csv", "Manifest.parquet", "windtunnel.toml", "set.json", "sha256sums", "images",
        "datasheet.html", "漢" * 100,
    ]  # fmt: skip
    for number, _ in enumerate(labels):
        put(tmp_path / "images" / f"{number}.png", number)
    write_csv(
        tmp_path / "t.csv",
        ["file", "label"],
        [[f"images/{number}.png", label] for number, label in enumerate(labels)],
    )
    assert windtunnel_command("curate", "collect", "t.csv", "--project", "p").returncode == 0
    before = {path for path in tmp_path.rglob("*") if tmp_path / "p" not in path.parents}
    done = windtunnel_command("curate", "export", "p", "--out", "set")
    assert done.returncode == 0, done.stderr
    after = {path for path in tmp_path.rglob("*") if tmp_path / "p" not in path.parents}
    assert all(tmp_path / "set" in (path, *path.parents) for path in after - before)
    folders = sorted(path.name for path in (tmp_path / "set").iterdir() if path.is_dir())
    assert len({name.casefold() for name in folders}) == len(labels) + 1  # and .windtunnel
    assert {"fine name", "ünïcode"} <= set(folders)
    assert not {"clean", "con", "Cat", "cat"} & set(folders)
    page = (tmp_path / "set" / "datasheet.html").read_text()
    assert "<b>x" not in page
    opened = windtunnel_command("data", "inspect", "set", "--json")
    assert json.loads(opened.stdout)["images"] == len(labels)


def test_a_set_declared_by_hand_is_found(tmp_path: Path, model: str) -> None:
    for label in (0, 1):
        put(tmp_path / "mine" / WNIDS[label] / "a.png", 1, shade=label)
    (tmp_path / "mine" / "windtunnel.toml").write_text(
        '[natural_set]\nname = "mine"\nextends = "natural"\ntitle = "My set"\nmasked = true\n'
    )
    run = windtunnel.run(model, tmp_path / "mine", out=tmp_path / "run")
    assert {score.condition: score.value for score in run.scores(["top1_error"])} == {"mine": 0.5}


@pytest.mark.parametrize(
    ("classes", "message"),
    [((WNIDS[0],), f"the folder '{WNIDS[1]}', not among"), ((*WNIDS, "n1"), "the class 'n1'")],
)
def test_declared_wordnet_ids_are_those_of_the_folders(
    tmp_path: Path, model: str, classes: tuple[str, ...], message: str
) -> None:
    for label in (0, 1):
        put(tmp_path / "mine" / WNIDS[label] / "a.png", 1, shade=label)
    (tmp_path / "mine" / "windtunnel.toml").write_text(
        '[natural_set]\nname = "mine"\nextends = "natural"\ntitle = "My set"\nmasked = true\n'
        f"classes = {json.dumps(classes)}\n"
    )
    with pytest.raises(UserError, match=message):
        windtunnel.run(model, tmp_path / "mine", out=tmp_path / "run")


@pytest.mark.parametrize(
    ("folders", "classes", "message"),
    [
        ((0, 1), ("cat", "dog"), ""),
        ((1, 2), ("cat", "dog", "emu"), ""),
        ((3, 7), ("3", "7"), ""),
        ((1, 2), ("cat", "dog"), "the folder '2', but its windtunnel.toml declares 2 classes"),
        ((1, 2), ("0", "1", "3"), "the folder '2', not among the 3 classes"),
    ],
)
def test_numbered_folders_are_places_in_the_declared_classes(
    tmp_path: Path, folders: tuple[int, ...], classes: tuple[str, ...], message: str
) -> None:
    for label in folders:
        put(tmp_path / "mine" / str(label) / "a.png", label, shade=label)
    (tmp_path / "mine" / "windtunnel.toml").write_text(
        '[natural_set]\nname = "mine"\nextends = "natural"\ntitle = "My set"\n'
        f"classes = {json.dumps(classes)}\n"
    )
    if message:
        with pytest.raises(UserError, match=message):
            open_own_images(str(tmp_path / "mine"), "natural")
    else:
        opened = open_own_images(str(tmp_path / "mine"), "natural")
        assert sorted(label for sample in opened.samples() for label in sample.labels) == list(folders)


def test_own_sets_are_listed_with_the_published_ones(
    tmp_path: Path, windtunnel_command: Command, project: Path
) -> None:
    assert windtunnel_command("curate", "export", project, "--out", "sets/imagenet-a").returncode == 0
    (tmp_path / "sets" / "other").mkdir()
    (tmp_path / "sets" / "other" / "windtunnel.toml").write_text("not toml [")

    def own(*folders: str) -> dict[str, str]:
        done = windtunnel_command("list", "natural-sets", *folders, "--json")
        assert done.returncode == 0, done.stderr
        rows = json.loads(done.stdout)
        assert {"imagenet-a", "objectnet", "ytbb-robust"} <= {row["name"] for row in rows}
        return {row["name"]: row["folder"] for row in rows if row["folder"]}

    name = "birds-hard-unreviewed"
    assert own() == {}
    assert own("sets/imagenet-a") == {name: "sets/imagenet-a"}
    assert own("sets", "sets/imagenet-a") == {name: "sets/imagenet-a", "unusable": "sets/other"}
    shown = windtunnel_command("list", "natural-sets", "sets")
    assert name in shown.stdout and "objectnet" in shown.stdout
    for arguments, message in (
        (("natural-sets", "gone"), "No such folder: gone"),
        (("suites", "sets"), "only natural-sets are found in folders"),
    ):
        done = windtunnel_command("list", *arguments)
        assert done.returncode == 2
        assert message in done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not toml [", "is not valid TOML"),
        ("x = 1\n", "declare one table [natural_set]"),
        ('[natural_set]\nname = "a"\nextends = "natural"\n', "title"),
        ('[natural_set]\nname = "../a"\nextends = "natural"\ntitle = "t"\n', "name is '../a'"),
        ('[natural_set]\nname = "imagenet-a"\nextends = "natural"\ntitle = "t"\n', "published set"),
        ('[natural_set]\nname = "a"\nextends = "imagenet-a"\ntitle = "t"\n', "extends is 'imagenet-a'"),
        ('[natural_set]\nname = "a"\nextends = "natural"\ntitle = "t"\nclasses = ["x"]\n', "the folder 'y'"),
    ],
)
def test_bad_declarations_are_refused_in_one_line(
    tmp_path: Path, windtunnel_command: Command, model: str, text: str, message: str
) -> None:
    for name in ("x", "y"):
        put(tmp_path / "mine" / name / "a.png", 1)
    (tmp_path / "mine" / "windtunnel.toml").write_text(text)
    done = windtunnel_command("run", model, "mine", "--out", "run")
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_bad_exports_are_refused_before_any_work(
    tmp_path: Path, windtunnel_command: Command, project: Path
) -> None:
    (tmp_path / "bad.csv").write_text("id,verdict\nunknown,accept\n")
    some_id = Project(project).stored_candidates()[0].id
    (tmp_path / "word.csv").write_text(f"id,verdict\n{some_id},maybe\n")
    (tmp_path / "none.csv").write_text(f"id,verdict\n{some_id},reject\n")
    (tmp_path / "columns.csv").write_text(f"image,verdict\n{some_id},accept\n")
    (tmp_path / "unnamed.csv").write_text(f"id,verdict\n{some_id},accept\n{some_id},reject\n")
    two_lines = f'id,verdict,note\n{some_id},accept,"two\nlines"\n\n'
    (tmp_path / "lines.csv").write_text(f"{two_lines}{some_id},maybe,\n")
    (tmp_path / "more.csv").write_text(f"{two_lines}{some_id},accept,a,b\n")
    (tmp_path / "fewer.csv").write_text(f"{two_lines}{some_id},accept\n")
    votes = [f"{some_id},accept,", f"{some_id},reject,ann"]
    for name, rows in (("first", votes), ("last", votes[::-1])):
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,verdict,reviewer", *rows, ""]))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("mine")
    for arguments, message in (
        ((tmp_path, "--out", "set"), "is not a curation project"),
        ((project, "--out", "set", "--step", "hrad"), "Did you mean hard?"),
        ((project, "--out", "set", "--reviewed", "bad.csv"), "no stored candidate"),
        ((project, "--out", "set", "--reviewed", "word.csv"), "the verdict 'maybe'"),
        ((project, "--out", "set", "--reviewed", "none.csv"), "is left for the set (not_reviewed 9"),
        ((project, "--out", "set", "--reviewed", "unnamed.csv"), "line 2 has no reviewer, but"),
        ((project, "--out", "set", "--reviewed", "lines.csv"), "line 5 has the verdict 'maybe'"),
        ((project, "--out", "set", "--reviewed", "more.csv"), "line 5 has 4 cells, the header 3"),
        ((project, "--out", "set", "--reviewed", "fewer.csv"), "line 5 has 2 cells, the header 3"),
        ((project, "--out", "set", "--reviewed", "first.csv"), "line 2 has no reviewer, but"),
        ((project, "--out", "set", "--reviewed", "last.csv"), "line 3 has no reviewer, but"),
        ((project, "--out", "set", "--role", "out"), "windtunnel curate ood selects out-of-distribution"),
        ((project, "--out", "set", "--reviewed", "columns.csv"), "has the columns image, verdict;"),
        ((project, "--out", "set", "--name", "Bad Name"), "--name"),
        ((project, "--out", "other"), "contains other files"),
    ):
        done = windtunnel_command("curate", "export", *arguments)
        assert done.returncode == 2, done.stderr
        assert message in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "set").exists()
    assert windtunnel_command("curate", "export", project, "--out", "set").returncode == 0
    done = windtunnel_command("curate", "export", project, "--out", "set", "--title", "Other")
    assert done.returncode == 2
    assert "contains a set with other options" in done.stderr


def test_status_shows_why_a_row_failed_and_show_lists_ids(windtunnel_command: Command, project: Path) -> None:
    status = windtunnel_command("curate", "status", project).stdout
    assert re.search(r"example +refused: .*gone\.png: .+|example +unreachable: .*gone\.png: .+", status), (
        status
    )
    ids = sorted(row.id for row in Project(project).stored_candidates())
    shared = next(a[0] for a, b in pairwise(ids) if a[0] == b[0])
    done = windtunnel_command("curate", "show", project, shared)
    assert done.returncode == 2
    assert f"'{shared}' is the beginning of several ids" in done.stderr
    assert next(id_ for id_ in ids if id_[0] == shared) in done.stderr


def test_changed_media_are_refused(tmp_path: Path, windtunnel_command: Command, project: Path) -> None:
    row = next(row for row in Project(project).stored_candidates() if row.row == 1)
    (project / row.file).write_bytes(b"changed")
    done = windtunnel_command("curate", "export", project, "--out", "set")
    assert done.returncode == 2
    assert "was changed after it was collected" in done.stderr
