"""A whole review: three people who disagree, the second pass, exports, and scores with and without review."""

from __future__ import annotations

import csv
import json
import time
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

import windtunnel
from tests.conftest import Command
from tests.review_http import RunningReview, served
from tests.review_projects import CLASSES, add_frame_sets, make_project
from windtunnel import api
from windtunnel.curate.project import open_project

PEOPLE = ("Ann", "Bob", "Cid")
# Frames of another class, by set and offset.
WRONG = {(0, 2), (1, -3), (2, 1), (2, 3)}
SETS, REACH = 6, 3


class BrightestChannel:
    """A model of three classes: the channel that is brightest on average."""

    name = fingerprint = "brightest-channel"

    def __call__(self, batch: np.ndarray) -> np.ndarray:
        return batch.reshape(len(batch), -1, 3).mean(axis=1).astype(np.float32)


def error_of(folder: Path, out: Path) -> dict[str, float]:
    """The scores of the model on a set, by metric and condition."""
    declared = out.parent / "model.toml"
    declared.write_text('preset = "imagenet"\n')
    run = windtunnel.run(BrightestChannel(), folder, preprocess=declared, labels_are_outputs=True, out=out)
    run.report()
    return {f"{score.metric} {score.condition}": score.value for score in run.scores()}


def people_of(folder: Path, command: Command) -> dict[str, str]:
    """Add three reviewers and an owner; returns their secrets."""
    secrets = {}
    for names in (PEOPLE, ("Olga", "--owner")):
        done = command("review", "people", folder, *names, "--json")
        assert done.returncode == 0, done.stderr
        secrets |= {row["name"]: row["link"].partition("#")[2] for row in json.loads(done.stdout)}
    return secrets


def judge_all(running: RunningReview, task: str, name: str, verdict: Any) -> None:
    """Judge every item of a person's queue by a function of what the owner knows about it."""
    cookie = running.sign_in(name)
    with api.open_review(running.folder) as review:
        facts = {row.item.code: row.item for row in review.judged_items(review.task(task))}
    place = 0
    while True:
        status, queue, _ = running.get(f"/api/tasks/{task}/items?start={place}&count=50", cookie)
        assert status == 200, queue
        events = [
            {
                "event": str(uuid.uuid4()),
                "task": task,
                "item": row["item"],
                "action": "verdict",
                "verdict": verdict(facts[row["item"]]),
                "client_time": time.time_ns() // 1_000_000,
                "seconds": 1.5,
            }
            for row in queue["items"]
        ]
        if not events:
            return
        status, answer, _ = running.post("/api/events", {"events": events}, cookie)
        assert (status, answer["refused"]) == (200, [])
        place += len(events)


def resolve(running: RunningReview, task: str, verdict: Any) -> int:
    """Decide every conflict as the owner; returns how many there were."""
    cookie = running.sign_in("Olga")
    _, conflicts, _ = running.get(f"/api/owner/tasks/{task}/conflicts?count=100", cookie)
    for row in conflicts["items"]:
        decision = {"event": str(uuid.uuid4()), "item": row["item"], "client_time": 0}
        body = {"events": [decision | {"verdict": verdict(row)}]}
        assert running.post(f"/api/owner/tasks/{task}/resolve", body, cookie)[0] == 200
    assert running.get(f"/api/owner/tasks/{task}/conflicts", cookie)[1]["undecided"] == 0
    return len(conflicts["items"])


def with_a_dog(item: Any) -> dict[str, Any]:
    """An anchor that shows a dog as well."""
    return {"status": "good", "labels": sorted({*item.labels, "dog"})}


def rows_of(file: Path) -> list[dict[str, str]]:
    with file.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def done(command: Command, *arguments: object) -> Any:
    """The JSON output of a command."""
    result = command(*arguments, "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_frame_sets_are_reviewed_exported_and_scored(tmp_path: Path, windtunnel_command: Command) -> None:
    folder = tmp_path / "clips"
    make_project(folder, per_class=1, sets=0)
    add_frame_sets(open_project(folder), SETS, REACH, WRONG)
    created = done(windtunnel_command, "review", "create", folder, "pairs", "--kind", "pairs")
    assert created["items"]["work"] == SETS * 2 * REACH

    def number_of(item: Any) -> tuple[int, int]:
        return int(item.facts["set"].partition("/")[0].removeprefix("video")), item.facts["offset"]

    similar = {"label": "right", "similar": "yes"}
    moved = {"label": "right", "similar": "no", "reason": "motion"}

    def ann(item: Any) -> Any:  # always right
        return {"label": "wrong"} if number_of(item) in WRONG else similar

    def bob(item: Any) -> Any:  # misses one wrong frame, and rejects all frames three away
        if number_of(item) == (2, 1) or abs(number_of(item)[1]) < 3:
            return similar if number_of(item) != (0, 2) else {"label": "wrong"}
        return moved

    def cid(item: Any) -> Any:  # unsure about the first set, and about frames three away of the last
        number, offset = number_of(item)
        if number == 0 or (number == SETS - 1 and abs(offset) == 3):
            return {"label": "unsure", "similar": "unsure"}
        if number == 4:
            return {"bad_anchor": True} if offset == 1 else moved
        return ann(item)

    secrets = people_of(folder, windtunnel_command)
    with served(folder, secrets) as running:
        for name, verdict in zip(PEOPLE, (ann, bob, cid), strict=True):
            judge_all(running, "pairs", name, verdict)
        expected_conflicts = 0
        votes: dict[tuple[int, int], list[str]] = {}
        with api.open_review(folder) as review:
            task = review.task("pairs")
            for row in review.judged_items(task):
                words = [task.kind.vote(task.kind.read(one(row.item)), ()) for one in (ann, bob, cid)]
                votes[number_of(row.item)] = words
                expected_conflicts += max(words.count("accept"), words.count("reject")) < 2
        assert expected_conflicts > 0
        assert resolve(running, "pairs", lambda row: similar) == expected_conflicts
    exported = done(windtunnel_command, "review", "export", folder, "pairs", "--out", tmp_path / "review")
    accepted = {
        place
        for place, words in votes.items()
        if words.count("accept") >= 2 or max(words.count("accept"), words.count("reject")) < 2
    }
    assert (exported["accepted"], exported["conflicts"], exported["open"]) == (len(accepted), 0, 0)
    reviewed, whole = tmp_path / "with-review", tmp_path / "without-review"
    table = tmp_path / "review" / "verdicts.csv"
    for out, options in ((reviewed, ("--reviewed", table)), (whole, ())):
        done(windtunnel_command, "curate", "export", folder, "--step", "video", "--out", out, *options)
    pmsets = json.loads((reviewed / "metadata" / "pmsets.json").read_text())
    found = {
        (int(anchor.split("/")[1].removeprefix("video")), int(Path(frame).stem) - 100)
        for anchor, frames in pmsets.items()
        for frame in frames
    }
    assert found == accepted
    # A set is right if all its frames are: by the wrong frames that are part of it.
    scores = {out.name: error_of(out, tmp_path / f"run-{out.name}") for out in (reviewed, whole)}
    for name, frames in ((reviewed.name, accepted), (whole.name, set(votes))):
        left = {number for number, _ in WRONG & frames}
        assert scores[name]["pm_k pm-3"] == pytest.approx(1 - len(left) / SETS)
        assert scores[name]["pm_k pm-0"] == 1
    assert scores[reviewed.name]["pm_k pm-3"] > scores[whole.name]["pm_k pm-3"]


def test_a_shortlist_is_reviewed_exported_and_scored(tmp_path: Path, windtunnel_command: Command) -> None:
    folder = tmp_path / "animals"
    project = make_project(folder, per_class=6, sets=0)
    done(windtunnel_command, "review", "create", folder, "choose", "--kind", "select", "--overlap", 3)
    order = {row.id: place for place, row in enumerate(project.stored_candidates())}
    # Votes on the candidates by their place: accepted, rejected, in conflict.
    plan = ["aaa", "aar", "rra", "aru", "auu", "rrr"]
    words = {"a": "accept", "r": "reject", "u": "unsure"}

    def verdict_of(person: int) -> Any:
        return lambda item: {
            "choice": words[plan[order[item.facts["id"]] % len(plan)][person]],
            "note": "=1+1",
        }

    with served(folder, people_of(folder, windtunnel_command)) as running:
        for number, name in enumerate(PEOPLE):
            judge_all(running, "choose", name, verdict_of(number))
        owner = running.sign_in("Olga")
        _, progress, _ = running.get("/api/owner/tasks/choose/progress", owner)
        assert [progress[name] for name in ("accepted", "rejected", "conflicts", "open")] == [6, 6, 6, 0]
        assert [row["judged"] for row in progress["people"]] == [18, 18, 18]
        _, agreement, _ = running.get("/api/owner/tasks/choose/agreement", owner)
        assert resolve(running, "choose", lambda row: {"choice": "accept"}) == 6
    # Agreement by hand: agreeing pairs of the six patterns are 1, 1/3, 1/3, 0, 1/3 and 1: the mean is 1/2.
    (question,) = agreement["questions"]
    assert question["percent"]["value"] == pytest.approx(0.5)
    # Fleiss' kappa is (P - Pe) / (1 - Pe), with Pe from the shares of the three words.
    letters = "".join(plan)
    chance = sum((letters.count(letter) / 18) ** 2 for letter in "aru")
    assert question["fleiss_kappa"]["value"] == pytest.approx((0.5 - chance) / (1 - chance))
    for pair in question["pairs"]:
        first, second = PEOPLE.index(pair["first"]), PEOPLE.index(pair["second"])
        kappa = cohen_kappa_score([row[first] for row in plan], [row[second] for row in plan])
        assert pair["cohen_kappa"]["value"] == pytest.approx(kappa)
    exported = done(windtunnel_command, "review", "export", folder, "choose", "--out", tmp_path / "review")
    assert (exported["accepted"], exported["rejected"], exported["votes"]) == (12, 6, 54)
    table = tmp_path / "review" / "verdicts.csv"
    made = done(
        windtunnel_command, "curate", "export", folder, "--out", tmp_path / "set", "--reviewed", table
    )
    assert {row["note"] for row in rows_of(table)} == {"'=1+1", ""}  # no formula; decisions have no note
    # Places 0, 1 of every six are accepted, 3 and 4 by the second pass; 2 and 5 are rejected.
    assert made["outcomes"] == {"exported": 12, "rejected": 6}
    kept = {Path(row["file"]).stem for row in rows_of(tmp_path / "set" / "manifest.csv") if row["file"]}
    assert kept == {id_ for id_, place in order.items() if place % 6 in (0, 1, 3, 4)}
    assert error_of(tmp_path / "set", tmp_path / "run")
    # The votes can be imported into another review; the same file is not added twice.
    other = tmp_path / "other"
    make_project(other, per_class=6, sets=0)
    done(windtunnel_command, "review", "create", other, "choose", "--kind", "select", "--overlap", 3)
    for added in (54, 0):
        votes = done(
            windtunnel_command, "review", "import", other, "choose", tmp_path / "review" / "votes.csv"
        )
        assert (votes["rows"], votes["added"], votes["people"]) == (54, added, list(PEOPLE))
    (status,) = done(windtunnel_command, "review", "status", other)
    assert [status[name] for name in ("accepted", "rejected", "conflicts", "open")] == [6, 6, 6, 0]
    again = done(windtunnel_command, "review", "import", other, "choose", table)
    assert again["rows"] == len(rows_of(table))


def test_people_classify_blind_and_label_anchors(tmp_path: Path, windtunnel_command: Command) -> None:
    folder = tmp_path / "mixed"
    make_project(folder, per_class=4, sets=3)
    ids = [row.id for row in open_project(folder).stored_candidates()]
    known = tmp_path / "known.csv"
    labels = {row.id: row.label for row in open_project(folder).stored_candidates()}
    known.write_text(
        "id,role,label,explanation\n"
        f"{ids[0]},practice,{labels[ids[0]]},Look at the colour.\n{ids[1]},check,{labels[ids[1]]},\n"
        f"{ids[2]},example,{labels[ids[2]]},A typical one.\n"
    )
    created = done(
        windtunnel_command, "review", "create", folder, "blind", "--kind", "blind", "--overlap", 2,
        "--source", "candidates", "--answers", known, "--check-every", 4,
    )  # fmt: skip
    assert created["items"] == {"work": 9, "practice": 1, "check": 1, "example": 1}
    done(windtunnel_command, "review", "create", folder, "anchors", "--kind", "anchors", "--overlap", 2)
    with served(folder, people_of(folder, windtunnel_command)) as running:
        cookie = running.sign_in("Ann")
        _, queue, _ = running.get("/api/tasks/blind/items", cookie)
        assert "practice" in queue["detail"]
        _, detail, _ = running.get("/api/tasks/blind", cookie)
        (example,) = detail["examples"]
        assert (example["text"], example["verdict"]["label"]) == ("A typical one.", labels[ids[2]])
        assert running.get(example["media"][0]["url"], cookie)[0] == 200
        with api.open_review(folder) as review:
            task = review.task("blind")
            answers = {
                row.item.code: row.item.labels[0]
                for row in review.judged_items(task, ("work", "practice", "check"))
            }
            mistaken = next(review.judged_items(task)).item.code
        for name in ("Ann", "Bob"):
            cookie = running.sign_in(name)
            _, practice, _ = running.get("/api/tasks/blind/practice", cookie)
            (first,) = practice["items"]
            assert (first["labels"], first["answer"], first["explanation"]) == ([], None, "")
            self_made = {"task": "blind", "action": "verdict", "client_time": 0}
            right = answers[first["item"]]
            for label in (next(name for name in CLASSES if name != right), right):
                body = self_made | {"event": str(uuid.uuid4()), "item": first["item"]}
                running.post("/api/events", {"events": [body | {"verdict": {"label": label}}]}, cookie)
            _, practice, _ = running.get("/api/tasks/blind/practice", cookie)
            assert practice["score"]["passed"]
            assert practice["items"][0]["explanation"] == "Look at the colour."
            _, queue, _ = running.get("/api/tasks/blind/items?count=50", cookie)
            assert len(queue["items"]) == 10  # the hidden check looks like the others
            assert {tuple(row["labels"]) for row in queue["items"]} == {()}
            for row in queue["items"]:
                wrong = name == "Bob" and row["item"] == mistaken
                label = next(one for one in CLASSES if (one == answers[row["item"]]) != wrong)
                body = self_made | {"event": str(uuid.uuid4()), "item": row["item"]}
                body |= {"verdict": {"label": label}}
                assert running.post("/api/events", {"events": [body]}, cookie)[1]["refused"] == []
            judge_all(running, "anchors", name, with_a_dog)
        _, agreement, _ = running.get("/api/owner/tasks/blind/agreement", running.sign_in("Olga"))
    accuracy = {(row["who"], row["what"]): row for row in agreement["accuracy"]}
    assert accuracy["Ann", "classes"]["accuracy"]["value"] == 1
    # Clopper-Pearson of nine of nine: the lower end is 0.025 ** (1 / 9).
    assert accuracy["Ann", "classes"]["accuracy"]["low"] == pytest.approx(0.025 ** (1 / 9))
    assert accuracy["Ann", "checks"]["correct"] == 1
    exported = done(windtunnel_command, "review", "export", folder, "blind", "--out", tmp_path / "blind")
    (note,) = exported["notes"]
    assert note.startswith("Human accuracy 88.9 % (")  # Bob is wrong once: eight of nine have a majority
    humans = ("--reviewed", tmp_path / "blind" / "verdicts.csv", "--note", note)
    done(windtunnel_command, "curate", "export", folder, "--out", tmp_path / "humans", *humans)
    error_of(tmp_path / "humans", tmp_path / "run")
    assert note in (tmp_path / "run" / "report.md").read_text()
    done(windtunnel_command, "review", "export", folder, "anchors", "--out", tmp_path / "anchors")
    table = tmp_path / "anchors" / "verdicts.csv"
    assert {row["labels"] for row in rows_of(table)} == {"cat;dog", "dog", "dog;fox"}
    command = ("curate", "export", folder, "--step", "video", "--out", tmp_path / "set", "--reviewed", table)
    done(windtunnel_command, *command)
    stored = json.loads((tmp_path / "set" / "metadata" / "labels.json").read_text())
    assert sorted(map(len, stored.values())) == [1, 2, 2]


@pytest.fixture(scope="module")
def small_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the project `p`, which has no review."""
    folder = tmp_path_factory.mktemp("small")
    make_project(folder / "p", per_class=1, sets=0)
    return folder


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("create", "p", "Choose", "--kind", "select"), "The task's name is 'Choose'"),
        (("create", "p", "choose", "--kind", "selekt"), "Did you mean select?"),
        (("create", "p", "pairs", "--kind", "pairs"), "has no video to review"),
        (("create", "p", "x", "--kind", "select", "--source", "hard"), "has no hard to review"),
        (("create", "nothing", "x", "--kind", "select"), "is not a curation project"),
        (("create", "p", "x", "--kind", "select", "--answers", "none.csv"), "cannot be read"),
        (("create", "p", "x", "--kind", "select", "--practice-pass", "2"), "--practice-pass is 2.0"),
        (("people", "p", "--renew"), "No name is given"),
        (("people", "p", "Ann", "--renew"), "has no review"),
        (("status", "p"), "has no review"),
        (("serve", "p"), "has no review"),
        (("serve", "p", "--host", "0.0.0.0"), "Give --expose"),
        (("export", "p", "choose", "--out", "x"), "has no review"),
        (("status", "p", "--database", "mysql://x"), "--database is no PostgreSQL URL"),
        (("rubbish",), "Unknown sub-command 'rubbish'"),
    ],
)
def test_wrong_input_is_one_line(
    small_project: Path, windtunnel_command: Command, arguments: tuple[str, ...], message: str
) -> None:
    found = windtunnel_command("review", *arguments, cwd=small_project)
    assert found.returncode == 2, found.stdout
    assert message in found.stderr
    assert len(found.stderr.strip().splitlines()) == 1
