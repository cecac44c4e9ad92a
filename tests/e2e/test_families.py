"""Scores by family of corruptions: in scores, tables, reports, comparisons and gates."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

import windtunnel
from tests.conftest import Command
from windtunnel.corruptions import REGISTRY
from windtunnel.suites.suite_files import load_suite

PAPER = {
    "noise": {"gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise"},
    "blur": {"defocus_blur", "glass_blur", "motion_blur", "zoom_blur", "gaussian_blur"},
    "weather": {"snow", "frost", "fog", "brightness", "spatter"},
    "digital": {"contrast", "elastic_transform", "pixelate", "jpeg_compression", "saturate"},
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("families")
    suite = root / "mixed.toml"
    suite.write_text(
        'name = "mixed"\nversion = 1\nmetrics = ["top1_error", "mean_error"]\n'
        'units = ["gaussian_noise", "speckle_noise", "defocus_blur", "fog", "pixelate"]\n'
        "levels = [3]\nunit_levels = { gaussian_noise = [1, 5], speckle_noise = [5] }\n"
    )
    for name, model in (("plain", "demo"), ("equalised", "clahe|demo")):
        windtunnel.run(model, "demo", suite, out=root / name, subset=60)
    return root


def test_the_families_are_those_of_the_paper() -> None:
    extra = {*load_suite("imagenet-c").units, *load_suite("imagenet-c-extra").units}
    for family, units in PAPER.items():
        assert {name for name in extra if REGISTRY.get(name).family == family} == units


def test_a_familys_error_is_the_mean_over_its_conditions(runs: Path) -> None:
    run = windtunnel.load_run(runs / "plain")
    scores = {(score.metric, score.condition): score for score in run.scores()}
    errors = {name: score.value for (metric, name), score in scores.items() if metric == "top1_error"}
    expected = {
        "noise": ("gaussian_noise:1", "gaussian_noise:5", "speckle_noise:5"),
        "blur": ("defocus_blur:3",), "weather": ("fog:3",), "digital": ("pixelate:3",),
    }  # fmt: skip
    found = [name for metric, name in scores if metric == "family_error"]
    assert found == list(expected)
    for family, conditions in expected.items():
        score = scores["family_error", family]
        assert score.value == pytest.approx(np.mean([errors[name] for name in conditions]))
        assert score.parts == conditions and score.low <= score.value <= score.high and score.n == 60
    # A family with one condition has that condition's error.
    assert scores["family_error", "blur"].value == scores["top1_error", "defocus_blur:3"].value


def test_the_command_line_prints_families(runs: Path, windtunnel_command: Command) -> None:
    shown = windtunnel_command("score", runs / "plain")
    assert "families" in shown.stdout and "noise " in shown.stdout and "weather " in shown.stdout
    rows = list(csv.DictReader(io.StringIO(windtunnel_command("score", runs / "plain", "--csv").stdout)))
    assert [row["condition"] for row in rows if row["metric"] == "family_error"] == list(PAPER)
    document = json.loads(windtunnel_command("score", runs / "plain", "--json").stdout)
    assert sum(score["metric"] == "family_error" for score in document["scores"]) == len(PAPER)
    markdown = windtunnel_command("report", runs / "plain", "--markdown").stdout
    assert "## Error by family" in markdown and "| noise | " in markdown
    assert 'id="families"' in windtunnel.load_run(runs / "plain").report().read_text()


def test_compare_and_gate_take_families(runs: Path, windtunnel_command: Command) -> None:
    compared = windtunnel_command("compare", runs / "plain", runs / "equalised")
    table = compared.stdout.partition("family, mean top-1 error")[2]
    assert all(f"\n{family} " in table for family in PAPER), compared.stdout
    rows = csv.DictReader(
        io.StringIO(windtunnel_command("compare", runs / "plain", runs / "equalised", "--csv").stdout)
    )
    changes = {row["condition"]: row for row in rows if row["metric"] == "family_error"}
    assert list(changes) == list(PAPER)
    noise = changes["noise"]
    assert float(noise["low"]) <= float(noise["difference"]) <= float(noise["high"])
    gated = windtunnel_command(
        "gate", runs / "equalised", "--against", runs / "plain", "--rule", "noise family_error <= +1",
        "--rule", "each * family_error <= +90",
    )  # fmt: skip
    assert (
        gated.stdout.count("family_error <= +90") == len(PAPER) and "noise family_error <= +1" in gated.stdout
    )
    unknown = windtunnel_command(
        "gate", runs / "equalised", "--against", runs / "plain", "--rule", "noize family_error <= +1"
    )
    assert unknown.returncode == 2 and "Did you mean noise?" in unknown.stderr
    page = windtunnel_command("report", runs / "plain", runs / "equalised", "--out", "both.html")
    assert page.returncode == 0, page.stderr


def test_compare_names_the_families_that_it_leaves_out(runs: Path, windtunnel_command: Command) -> None:
    windtunnel.run(
        "demo", "demo", runs / "mixed.toml", out=runs / "part", subset=60, only=["fog", "speckle_noise"]
    )
    compared = windtunnel_command("compare", runs / "plain", runs / "part")
    text = " ".join((compared.stdout + compared.stderr).split())
    assert "Families not compared (not in every run): blur, digital." in text
    assert "Families not compared (over different conditions" in text and "): noise." in text


def test_a_suite_declares_families(tmp_path: Path, windtunnel_command: Command) -> None:
    suite = tmp_path / "own.toml"
    content = 'name = "own"\nversion = 1\nunits = ["fog", "pixelate"]\nlevels = [3]\n'
    suite.write_text(content + 'families = { fog = "night", pixelate = "night" }\n')
    run = windtunnel.run("demo", "demo", suite, out=tmp_path / "run", subset=20)
    assert [score.condition for score in run.scores() if score.metric == "family_error"] == ["night"]
    for families, said in (
        ('{ snow = "x" }', "Unknown unit in the families of"),
        ("{ fog = 3 }", "the family of fog is 3; give a word, such as 'noise'"),
    ):
        suite.write_text(f"{content}families = {families}\n")
        with pytest.raises(windtunnel.UserError, match=said):
            load_suite(suite)
    extended = tmp_path / "extended.toml"
    suite.write_text(content + 'families = { fog = "night" }\n')
    extended.write_text(f'extends = "{suite.name}"\nname = "more"\nversion = 1\nunits = ["snow"]\n')
    assert load_suite(extended).units == ("snow",)


def test_runs_without_corruptions_have_no_families(tmp_path: Path) -> None:
    run = windtunnel.run("demo", "demo", "imagenet-p", only=["tilt"], subset=5, out=tmp_path / "run")
    assert not [score for score in run.scores() if score.metric == "family_error"]
