"""Corruptions with one strength, such as Syn2Nat's candidates, wherever corruptions are used."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import windtunnel
from tests.conftest import Command
from windtunnel.suites.canvas import GEOMETRIES, Canvas
from windtunnel.suites.suite_files import load_suite

USUAL = Canvas(224, GEOMETRIES[224], "")
NIGHT = '''"""Night."""
import numpy as np

from windtunnel.corruptions import corruption


@corruption(imitates="Night.", source="this test", drawn="The share of the light.")
def my_night(image, rng):
    """Darken."""
    return (image * SHARE).astype(np.uint8)
'''


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> windtunnel.Run:
    """Two units with one strength next to severities 1 and 3 of fog."""
    out = tmp_path_factory.mktemp("mixed") / "run"
    units = ["fog:1", "fog:3", "s2n/blur", "s2n/rotate"]
    return windtunnel.run("demo", "demo", "smoke", subset=30, only=units, codec="jpeg:85", out=out)


def test_the_suites_are_the_papers() -> None:
    candidates, chosen = load_suite("syn2nat-candidates"), load_suite("imagenet-syn2nat")
    assert len(candidates.units) == 40
    assert len(chosen.units) == 18 and set(chosen.units) < set(candidates.units)
    assert chosen.units[:3] == ("s2n/solarize", "s2n/random_sun_flare", "s2n/random_shadow")
    assert chosen.units[-1] == "s2n/to_sepia"
    names = [condition.name for condition in candidates.conditions(USUAL)]
    assert names == ["native", "clean", *candidates.units]
    assert candidates.levels == ()


def test_names_have_no_severity(mixed: windtunnel.Run) -> None:
    names = [condition.name for condition in mixed.conditions]
    assert names[3:] == ["fog:1+jpeg:85", "fog:3+jpeg:85", "s2n/blur+jpeg:85", "s2n/rotate+jpeg:85"]
    assert len({condition.id for condition in mixed.conditions}) == len(names)


def test_scores_count_a_strength_as_one_condition(mixed: windtunnel.Run) -> None:
    scores = mixed.scores(metrics=["top1_error", "mean_error", "residual_robustness"])
    by_name = {(score.metric, score.condition): score for score in scores}
    errors = [by_name["top1_error", condition.name].value for condition in mixed.conditions[3:]]
    mean = by_name["mean_error", ""]
    assert mean.value == pytest.approx(np.mean(errors))
    assert "4 conditions of equal weight (fog at severities 1, 3; s2n/blur, s2n/rotate)" in mean.formula
    clean = by_name["top1_error", "clean"].value
    assert by_name["residual_robustness", ""].value == pytest.approx(np.mean(errors) - clean)


def test_tables_leave_the_severity_empty(mixed: windtunnel.Run, windtunnel_command: Command) -> None:
    done = windtunnel_command("score", mixed.path, "--csv")
    rows = {row["condition"]: row for row in csv.DictReader(io.StringIO(done.stdout))}
    blurred = rows["s2n/blur+jpeg:85"]
    assert (blurred["corruption"], blurred["severity"], blurred["codec"]) == ("s2n/blur", "", "jpeg:85")
    assert rows["fog:3+jpeg:85"]["severity"] == "3"


def test_the_report_lists_them_apart_from_severities(
    mixed: windtunnel.Run, windtunnel_command: Command
) -> None:
    assert windtunnel_command("report", mixed.path).returncode == 0
    text = (Path(mixed.path) / "report.md").read_text()
    graded, single = text.split("## Error by corruption\n")
    assert "| fog |" in graded and "s2n/blur" not in graded.split("## Error by corruption and severity")[1]
    assert "| s2n/blur |" in single
    page = (Path(mixed.path) / "report.html").read_text()
    assert 'id="one_strength"' in page and 'id="curves"' in page


def test_a_run_without_severities_has_a_report_and_no_curves(
    tmp_path: Path, windtunnel_command: Command
) -> None:
    done = windtunnel_command(
        "run", "demo", "demo", "--suite", "imagenet-syn2nat", "--subset", 12, "--out", "run", "--workers", 1
    )
    assert done.returncode == 0, done.stderr
    assert "17 corruptions, codec none" in done.stderr
    assert "s2n/cutout is left out: it needs images of at least 151 pixels" in done.stderr
    assert "mean over 17 corruptions;" in done.stdout
    page = (tmp_path / "run" / "report.html").read_text()
    assert 'id="one_strength"' in page and 'id="curves"' not in page
    assert "severities" not in json.loads((tmp_path / "run" / "run.json").read_text())["recipe"]["suite"]


def test_a_unit_that_needs_larger_images_is_refused_alone(windtunnel_command: Command) -> None:
    done = windtunnel_command("plan", "demo", "demo", "--only", "s2n/cutout")
    assert done.returncode == 2
    assert "needs images of at least 151 pixels on each side, and they have 32. Give larger" in done.stderr


def test_a_baseline_normalises_them_and_alexnet_does_not(
    mixed: windtunnel.Run, windtunnel_command: Command
) -> None:
    refused = windtunnel_command("score", mixed.path, "--metric", "ce")
    assert "they have no errors for s2n/blur, s2n/rotate" in refused.stdout
    done = windtunnel_command("score", mixed.path, "--metric", "ce", "--baseline", mixed.path, "--json")
    scores = {score["condition"]: score["value"] for score in json.loads(done.stdout)["scores"]}
    assert scores == {"s2n/blur": pytest.approx(1.0), "s2n/rotate": pytest.approx(1.0)}


def test_runs_are_compared_and_gated(mixed: windtunnel.Run, windtunnel_command: Command) -> None:
    assert windtunnel_command("report", mixed.path, mixed.path, "--out", "both.html").returncode == 0
    rule = "s2n/blur top1_error <= +5"
    passed = windtunnel_command("gate", mixed.path, "--against", mixed.path, "--rule", rule)
    assert passed.returncode == 0, passed.stderr
    wrong = windtunnel_command(
        "gate", mixed.path, "--against", mixed.path, "--rule", "s2n/blur:3 top1_error <= +5"
    )
    assert wrong.returncode == 2 and "s2n/blur has no levels" in wrong.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--only", "s2n/blur:2"), "--only is 's2n/blur:2'; s2n/blur has one strength. Write s2n/blur."),
        (("--only", "s2n/blurr"), "Did you mean s2n/blur"),
    ],
)
def test_a_severity_is_refused(arguments: tuple[str, ...], message: str, windtunnel_command: Command) -> None:
    done = windtunnel_command("plan", "demo", "demo", *arguments)
    assert done.returncode == 2 and message in done.stderr


def test_unit_levels_of_one_strength_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        "name = 'mine'\nversion = 1\nunits = ['fog', 's2n/blur']\nunit_levels = { 's2n/blur' = [1] }\n"
    )
    with pytest.raises(windtunnel.UserError, match="s2n/blur has one strength; leave it out of unit_levels"):
        load_suite(file)


def test_a_set_on_disk_scores_as_the_images_made_on_the_fly(tmp_path: Path) -> None:
    units = ["s2n/blur", "s2n/transpose"]
    made = windtunnel.make_set(
        "syn2nat-candidates", "demo", tmp_path / "made", only=units, subset=12, layout="folders"
    )
    assert {path.name for path in (tmp_path / "made" / "s2n").iterdir()} == {"blur", "transpose"}
    stored = windtunnel.run("demo", made, out=tmp_path / "stored")
    direct = windtunnel.run("demo", "demo", "syn2nat-candidates", only=units, subset=12, out=tmp_path / "run")
    errors = [
        {score.condition: score.value for score in run.scores(metrics=["top1_error"])}
        for run in (stored, direct)
    ]
    assert [errors[0][name] for name in units] == [errors[1][name] for name in units]


def test_arrays_cannot_store_them(tmp_path: Path) -> None:
    with pytest.raises(windtunnel.UserError, match="corruptions with one strength are stored as folders"):
        windtunnel.make_set(
            "syn2nat-candidates", "demo", tmp_path / "made", only=["s2n/blur"], layout="arrays"
        )


def test_show_draws_five_images(tmp_path: Path, windtunnel_command: Command) -> None:
    assert windtunnel_command("show", "s2n/flip").stdout == "s2n-flip.png\n"
    sheet, single = Image.open(tmp_path / "s2n-flip.png").size, None
    assert windtunnel_command("show", "s2n/solarize", "--out", "one.png").returncode == 0
    single = Image.open(tmp_path / "one.png").size
    assert sheet[0] > single[0] and sheet[1] > single[1], "six cells, and two"
    small = windtunnel_command("show", "s2n/cutout", "--edition", 64)
    assert small.returncode == 2 and "at least 151 pixels" in small.stderr


def test_listings_say_what_is_drawn(windtunnel_command: Command) -> None:
    rows = {
        row["name"]: row for row in json.loads(windtunnel_command("list", "corruptions", "--json").stdout)
    }
    assert rows["fog"]["severities"] == 5 and rows["fog"]["drawn"] == ""
    assert rows["s2n/blur"]["severities"] == 0 and "5, 7 or 9" in rows["s2n/blur"]["drawn"]
    assert "one image in six black" in rows["s2n/random_contrast"]["note"]


def test_notes_of_candidates_stand_in_the_report(tmp_path: Path, windtunnel_command: Command) -> None:
    units = ["s2n/transpose", "s2n/blur"]
    windtunnel.run("demo", "demo", "smoke", only=units, subset=10, out=tmp_path / "run")
    assert windtunnel_command("report", "run").returncode == 0
    assert "Transpose is a translation" in (tmp_path / "run" / "report.md").read_text()


def test_a_users_own_unit_may_have_one_strength(tmp_path: Path, windtunnel_command: Command) -> None:
    for file, share in (("good.py", 'rng.uniform("share")'), ("bad.py", "np.random.rand()")):
        (tmp_path / file).write_text(NIGHT.replace("SHARE", share))
    run = ("run", "demo", "demo", "--only", "my_night", "--subset", 10, "--workers", 1)
    done = windtunnel_command(*run, "--include", "good.py", "--out", "run")
    assert done.returncode == 0 and "my_night" in done.stdout, done.stderr
    refused = windtunnel_command(*run, "--include", "bad.py", "--out", "other")
    assert refused.returncode == 2
    assert "my_night (bad.py) changes its pixels for the same seed and image" in refused.stderr
