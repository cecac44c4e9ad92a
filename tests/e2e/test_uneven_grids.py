"""Any mix of corruptions and severities in one run, and the columns that name what a score is of."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

import windtunnel
from tests.conftest import Command
from windtunnel.core.conditions import digest
from windtunnel.suites.canvas import GEOMETRIES, Canvas
from windtunnel.suites.suite import Suite
from windtunnel.suites.suite_files import load_suite

USUAL = Canvas(224, GEOMETRIES[224], "")


def corrupted(suite: Suite) -> list[str]:
    return [one.name for one in suite.conditions(USUAL) if one.kind == "corruption"]


@pytest.fixture(scope="module")
def uneven(tmp_path_factory: pytest.TempPathFactory) -> windtunnel.Run:
    out = tmp_path_factory.mktemp("uneven") / "run"
    return windtunnel.run("demo", "demo", "smoke", subset=20, only=["fog:3", "gaussian_noise"], out=out)


def test_only_takes_any_mix_of_units_and_severities() -> None:
    suite = load_suite("smoke")
    assert corrupted(suite.only(["fog:3", "gaussian_noise"])) == [
        "gaussian_noise:1", "gaussian_noise:3", "gaussian_noise:5", "fog:3",
    ]  # fmt: skip
    assert corrupted(suite.only(["fog:2", "fog:4", "defocus_blur:4", "defocus_blur:2"])) == [
        "defocus_blur:2", "defocus_blur:4", "fog:2", "fog:4",
    ]  # fmt: skip
    assert corrupted(suite.only(["fog:3", "fog"])) == ["fog:1", "fog:3", "fog:5"]
    assert corrupted(suite.only(["fog:3", "snow"]).only(["fog", "snow:1"])) == ["fog:3", "snow:1"]


def test_steps_have_no_severity_and_stand_next_to_any() -> None:
    mixed = load_suite("imagenet-s").only(["decode=opencv", "fog:3"])
    assert [one.name for one in mixed.conditions(USUAL)][2:] == ["fog:3", "decode=opencv"]
    with pytest.raises(windtunnel.UserError, match=r"decode=opencv:3.*has no severity"):
        load_suite("imagenet-s").only(["decode=opencv:3"])


def test_an_even_choice_has_the_recipe_it_always_had() -> None:
    even = load_suite("smoke").only(["fog:3", "snow:3"]).recipe().to_json()
    assert "unit_levels" not in even
    assert digest(even) == "be7a56a53b50bfa7ba3227df891b2142"
    assert (
        load_suite("smoke").only(["fog:3", "snow"]).recipe()
        != load_suite("smoke").only(["fog", "snow:3"]).recipe()
    )


def test_a_suite_file_says_the_same(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    head = 'name = "mine"\nversion = 1\nunits = ["fog", "snow"]\nlevels = [1, 5]\n'
    file.write_text(head + "unit_levels = { fog = [3] }\n")
    assert corrupted(load_suite(file)) == ["fog:3", "snow:1", "snow:5"]
    for bad, match in (
        ("{ fog = [9] }", "levels of fog are 9"),
        ("{ fog = [] }", "levels of fog are none"),
        ("{ fog = 3 }", "unit_levels of fog is 3"),
        ("{ fogg = [3] }", "Did you mean fog"),
        ("[3]", "unit_levels is"),
    ):
        file.write_text(head + f"unit_levels = {bad}\n")
        with pytest.raises(windtunnel.UserError, match=match):
            load_suite(file)


def test_the_mean_error_says_which_conditions_it_averages(uneven: windtunnel.Run) -> None:
    scores = {(one.metric, one.condition): one for one in uneven.scores()}
    names = ["gaussian_noise:1", "gaussian_noise:3", "gaussian_noise:5", "fog:3"]
    mean = scores["mean_error", ""]
    assert mean.value == pytest.approx(np.mean([scores["top1_error", name].value for name in names]))
    assert mean.parts == tuple(names)
    assert (
        "4 conditions of equal weight (gaussian_noise at severities 1, 3, 5; fog at severity 3)"
        in mean.formula
    )
    page = (uneven.report().parent / "report.md").read_text()
    assert "gaussian_noise at severities 1, 3, 5; fog at severity 3" in page


def test_ce_is_of_complete_corruptions_only(tmp_path: Path, digit_folder: Path) -> None:
    model = lambda batch: np.stack([batch.mean((1, 2, 3)), *([np.full(len(batch), 9.0)] * 9)], 1)  # noqa: E731
    only = ["fog", "contrast:3"]
    base, run = (
        windtunnel.run(one, digit_folder, "imagenet-c", out=tmp_path / name, only=only, preprocess=None)
        for one, name in ((model, "base"), ("demo", "run"))
    )
    found = run.scores(baseline=base)
    assert {one.condition for one in found if one.metric == "ce"} == {"fog"}
    assert not [one for one in found if one.metric in ("mce", "relative_mce")]


def test_scores_have_columns_for_corruption_severity_and_codec(
    uneven: windtunnel.Run, windtunnel_command: Command
) -> None:
    rows = list(csv.DictReader(io.StringIO(windtunnel_command("score", uneven.path, "--csv").stdout)))
    found = {(row["metric"], row["condition"]): row for row in rows}
    columns = ("corruption", "severity", "codec")
    assert [found["top1_error", "fog:3"][name] for name in columns] == ["fog", "3", "none"]
    assert [found["top1_error", "clean"][name] for name in columns] == ["", "", "none"]
    assert [found["mean_error", ""][name] for name in columns] == ["", "", ""]
    document = json.loads(windtunnel_command("score", uneven.path, "--json").stdout)
    assert [
        tuple("" if one[name] is None else str(one[name]) for name in columns) for one in document["scores"]
    ] == [tuple(row[name] for name in columns) for row in rows]
    assert [one.severity for one in uneven.scores() if one.condition == "fog:3"] == [3, 3]


def test_columns_of_codecs_sequences_and_steps(tmp_path: Path, digit_folder: Path) -> None:
    def columns(suite: str, **options: object) -> dict[tuple[str, str], tuple[str, int | None, str]]:
        run = windtunnel.run("demo", digit_folder, suite, subset=4, out=tmp_path / suite, **options)
        return {
            (one.metric, one.condition): (one.corruption, one.severity, one.codec) for one in run.scores()
        }

    stored = columns("imagenet-c", only=["fog:3"], codec="jpeg:85")
    assert stored["top1_error", "fog:3+jpeg:85"] == ("fog", 3, "jpeg:85")
    assert stored["top1_error", "clean+jpeg:85"] == ("", None, "jpeg:85")
    clips = columns("imagenet-p", only=["tilt", "gaussian_noise"])
    assert clips["flip_probability", "seq/tilt"] == ("tilt", None, "none")
    assert clips["flip_probability", "seq/gaussian_noise:1"] == ("gaussian_noise", None, "none")
    steps = columns("imagenet-s", only=["decode=opencv", "resize=pillow-nearest"])
    assert steps["top1_error", "resize=pillow-nearest"] == ("", None, "none")


def test_a_set_on_disk_may_be_uneven(tmp_path: Path, digit_folder: Path, windtunnel_command: Command) -> None:
    out = windtunnel_command(
        "make", "imagenet-c", digit_folder, "set", "--layout", "folders", "--only", "fog:3",
        "--only", "contrast", "--subset", 4,
    )  # fmt: skip
    assert out.returncode == 0, out.stderr
    made = {
        f"{unit}:{path.name}" for unit in ("fog", "contrast") for path in (tmp_path / "set" / unit).iterdir()
    }
    assert made == {"fog:3", *(f"contrast:{level}" for level in range(1, 6))}
    refused = windtunnel_command(
        "make", "imagenet-c", digit_folder, "arrays", "--layout", "arrays", "--only", "fog:3",
        "--only", "contrast", "--subset", 4,
    )  # fmt: skip
    assert refused.returncode == 2 and "all five severities" in refused.stderr
