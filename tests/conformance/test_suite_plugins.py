"""Suites are plug-ins: known by name from a file, a folder or another package."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import windtunnel
from tests.conftest import Command
from windtunnel.core.errors import UserError
from windtunnel.core.registry import included_files
from windtunnel.suites.suite_files import load_suite, suite_names

NIGHT = """
name = "night-shift"
version = 2
about = "brightness alone"
extends = "smoke"
units = ["brightness"]
levels = [3]
"""


@pytest.fixture
def night(tmp_path: Path) -> Path:
    """A suite in a file of the user's."""
    file = tmp_path / "night.toml"
    file.write_text(NIGHT)
    return file


def test_every_command_that_takes_a_suite_takes_an_included_one_by_name(
    night: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    own = ("--include", night.name)
    for form in (own, ("--include", ".")):
        listed = windtunnel_command("list", "suites", "--json", *form)
        row = {row["name"]: row for row in json.loads(listed.stdout)}["night-shift@2"]
        assert row == {
            "name": "night-shift@2",
            "units": 1,
            "about": "brightness alone",
            "source": "night.toml",
        }
    planned = windtunnel_command("plan", "demo", "demo", "--suite", "night-shift", *own)
    assert planned.returncode == 0 and "night-shift@2" in planned.stdout, planned.stderr
    made = windtunnel_command(
        "make", "night-shift", "demo", "set", "--subset", 4, "--layout", "folders", *own
    )
    assert made.returncode == 0 and (tmp_path / "set" / "brightness" / "3").is_dir(), made.stderr
    sample = next(iter(windtunnel.open_dataset("demo").samples()))
    (tmp_path / "best.csv").write_text(f"id,top1\n{sample.id},{sample.labels[0]}\n")
    options = ("--suite", "night-shift", "--partial", "--out", "scored", *own)
    scored = windtunnel_command("score", "--predictions", "best.csv", "--data", "demo", *options)
    assert scored.returncode == 0 and (tmp_path / "scored").is_dir(), scored.stderr
    (tmp_path / "run.toml").write_text(
        'model = "demo"\ndata = "demo"\nsuite = "night-shift"\ninclude = ["night.toml"]\nsubset = 10\n'
    )
    run = windtunnel_command("run", "run.toml", "--out", "run")
    assert run.returncode == 0 and windtunnel.load_run(tmp_path / "run").info.suite == "night-shift@2"


def test_in_python_it_is_included_extended_and_corrected(night: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Unknown suite 'night-shift'"):
        load_suite("night-shift")
    assert windtunnel.include(night) == ["night-shift"]
    assert included_files() == ()  # a worker needs no suite
    assert load_suite("night-shift@2").units == ("brightness",) and "night-shift" in suite_names()
    with pytest.raises(UserError, match=r"Did you mean night-shift\?.*windtunnel list suites"):
        load_suite("nigth-shift")
    with pytest.raises(UserError, match="There is no night-shift@1; this windtunnel has night-shift@2"):
        load_suite("night-shift@1")
    (tmp_path / "longer.toml").write_text(
        "name = 'longer'\nversion = 1\nextends = 'night-shift'\nlevels = [1]\n"
    )
    windtunnel.include(tmp_path / "longer.toml")
    assert load_suite("longer").units == ("brightness",) and load_suite("longer").levels == (1,)
    night.write_text(NIGHT.replace("[3]", "[4]"))
    assert load_suite(night).levels == (4,)
    windtunnel.include(night)
    assert load_suite("night-shift").levels == (4,)


def test_a_folder_has_plug_ins_and_other_files(night: Path, tmp_path: Path) -> None:
    (tmp_path / "dim.py").write_text(
        "from windtunnel.corruptions import corruption\n"
        "@corruption(\n"
        "    params=('by',), severities={32: [[1], [2], [3], [4], [5]]}, imitates='Dusk.', source='')\n"
        "def dim(image, rng, *, by):\n    return image // (1 + by)\n"
    )
    (tmp_path / "dim.toml").write_text("name = 'dim-light'\nversion = 1\nunits = ['dim']\n")
    (tmp_path / "_draft.toml").write_text("no TOML")
    (tmp_path / "model.onnx.toml").write_text("preset = 'cifar'\n")
    (tmp_path / "notes.txt").write_text("")
    assert windtunnel.include(tmp_path) == ["dim", "dim-light", "night-shift"]
    assert load_suite("dim-light").units == ("dim",)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            NIGHT.replace("night-shift", "smoke"),
            "declares the suite 'smoke', which windtunnel already has; choose",
        ),
        (
            NIGHT,
            r"other.toml declares the suite 'night-shift', which .*night.toml already has; choose another",
        ),
        ("model = 'demo'\n", "other.toml has no 'name'; a suite needs a name and a version"),
        ("name = 'a\n", "other.toml is not valid TOML"),
        (NIGHT.replace("night-shift", "night@2"), "names its suite 'night@2'; give a name of letters"),
    ],
)
def test_a_file_that_cannot_be_included_gets_one_line(
    text: str, what: str, night: Path, tmp_path: Path
) -> None:
    windtunnel.include(night)
    (tmp_path / "other.toml").write_text(text)
    with pytest.raises(UserError, match=what) as error:
        windtunnel.include(tmp_path / "other.toml")
    assert "\n" not in str(error.value)


def test_files_of_other_types_and_empty_folders_are_refused(
    tmp_path: Path, windtunnel_command: Command
) -> None:
    (tmp_path / "notes.txt").write_text("")
    for given, what in (
        (
            "notes.txt",
            "notes.txt is not a plug-in; give a Python file, a suite (.toml) or a folder of these.",
        ),
        (".", ". declares no plug-in; declare a corruption"),
        ("nowhere", "No such file: nowhere."),
    ):
        done = windtunnel_command("list", "suites", "--include", given)
        assert done.returncode == 2 and what in done.stderr, done.stderr
