"""Options records: Python, the command line and run files agree on names, types and defaults."""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
from pathlib import Path

import click
import pytest

import windtunnel
from tests.conftest import Command
from windtunnel.cli import cli
from windtunnel.core.errors import UserError
from windtunnel.options import (
    DistanceOptions,
    DoctorOptions,
    EffectiveRobustnessOptions,
    ExplainOptions,
    MakeOptions,
    Options,
    OverlapOptions,
    PredictivityOptions,
    RunOptions,
    ScoreOptions,
    ShowOptions,
    SubtypeOptions,
    read_run_file,
)
from windtunnel.options.run import EXECUTION

# What a command takes besides the fields of its record.
RECORDS: dict[str, tuple[type[Options], set[str]]] = {
    "run": (RunOptions, {"subject", "suite", "explain", "as_json", "console"}),
    "plan": (RunOptions, {"subject", "suite", "as_json"}),
    "make": (MakeOptions, {"suite", "data", "out", "as_json", "console"}),
    "score": (
        ScoreOptions,
        {"run_folder", "metrics", "baseline", "predictions", "data", "suite", "as_json", "as_csv"},
    ),
    "distance": (DistanceOptions, {"a", "b", "features", "as_json"}),
    "doctor": (DoctorOptions, {"model", "data", "write", "as_json"}),
    "explain": (ExplainOptions, {"model", "image", "target", "out", "as_json"}),
    "overlap": (OverlapOptions, {"subject", "out", "as_json", "as_csv", "console"}),
    "show": (ShowOptions, {"unit", "out"}),
    "subtypes": (SubtypeOptions, {"data", "out", "as_json", "as_csv", "console"}),
    "predictivity": (PredictivityOptions, {"tables", "as_json", "as_csv"}),
    "effective-robustness": (EffectiveRobustnessOptions, {"tables", "as_json", "as_csv"}),
}


def parameters(command: str) -> dict[str, click.Parameter]:
    found = cli.get_command(click.Context(cli), command)
    assert found is not None
    return {str(parameter.name): parameter for parameter in found.params}


@pytest.mark.parametrize("command", RECORDS)
def test_every_field_is_an_option_and_every_option_a_field(command: str) -> None:
    record, others = RECORDS[command]
    left_out = set(EXECUTION) if command == "plan" else set()
    names = {field.name for field in record.fields()}
    assert set(parameters(command)) == (names - left_out) | others
    assert not names & others


@pytest.mark.parametrize("command", RECORDS)
def test_defaults_help_and_names_are_those_of_the_record(command: str) -> None:
    record, _ = RECORDS[command]
    found = cli.get_command(click.Context(cli), command)
    assert found is not None
    required = [
        word
        for one in found.params
        if one.required
        for word in (["x"] if isinstance(one, click.Argument) else [one.opts[0], "x"])
    ]
    parsed = found.make_context(command, required).params
    for field in record.fields():
        if command == "plan" and field.name in EXECUTION:
            continue
        option = parameters(command)[field.name]
        assert isinstance(option, click.Option)
        assert parsed[field.name] == field.default == getattr(record(), field.name)
        assert option.help == field.help and len(field.help) > 10
        assert option.opts == [f"--{field.flag_name}"]
        assert option.is_flag == (field.kind == "flag") and option.multiple == (field.kind == "texts")
    order = [name for name in parameters(command) if name in {field.name for field in record.fields()}]
    assert order == [field.name for field in record.fields() if field.name in order]


@pytest.mark.parametrize("record", dict.fromkeys(record for record, _ in RECORDS.values()))
def test_records_are_frozen_and_documented(record: type[Options]) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        record().include = ()  # type: ignore[attr-defined]
    for field in record.fields():
        assert f"{field.name}: {field.help}" in (record.__doc__ or "")


def test_the_verbs_take_records_and_not_single_parameters() -> None:
    assert list(inspect.signature(windtunnel.run).parameters) == [
        "model", "data", "suite", "options", "progress", "changes",
    ]  # fmt: skip
    for verb, record in (
        (windtunnel.plan, RunOptions),
        (windtunnel.make_set, MakeOptions),
        (windtunnel.score_predictions, ScoreOptions),
        (windtunnel.distance, DistanceOptions),
        (windtunnel.doctor, DoctorOptions),
        (windtunnel.explain, ExplainOptions),
        (windtunnel.overlap, OverlapOptions),
        (windtunnel.subtypes, SubtypeOptions),
        (windtunnel.predictivity, PredictivityOptions),
        (windtunnel.effective_robustness, EffectiveRobustnessOptions),
    ):
        names = set(inspect.signature(verb).parameters)
        assert "options" in names and not names & {field.name for field in record.fields()}


def test_changes_override_options_and_leave_the_record_alone(digit_folder: Path) -> None:
    options = RunOptions(seed=3, only=["fog"])
    by_record = windtunnel.plan("demo", digit_folder, "smoke", options)
    by_name = windtunnel.plan("demo", digit_folder, "smoke", seed=3, only="fog")
    assert by_record.recipe.digest == by_name.recipe.digest
    changed = windtunnel.plan("demo", digit_folder, "smoke", options, seed=4)
    assert changed.seed == 4 and changed.conditions == by_record.conditions
    assert changed.recipe.digest != by_record.recipe.digest
    assert options == RunOptions(seed=3, only=["fog"])


@pytest.mark.parametrize(
    ("given", "meant"), [({"sead": 1}, "seed"), ({"map": "x.csv"}, "label_map"), ({"set": ["x"]}, "settings")]
)
def test_an_unknown_option_is_refused_with_the_one_that_was_meant(
    given: dict[str, object], meant: str
) -> None:
    for ask in (
        lambda: windtunnel.run("demo", "demo", "smoke", **given),
        lambda: windtunnel.plan("demo", "demo", "smoke", **given),
        lambda: windtunnel.make_set("smoke", "demo", "out", **given),
    ):
        with pytest.raises(UserError, match=rf"Unknown option '{next(iter(given))}'. "):
            ask()
    with pytest.raises(UserError, match=f"Did you mean {meant}"):
        windtunnel.run("demo", "demo", "smoke", **given)


@pytest.fixture
def run_file(tmp_path: Path, digit_folder: Path) -> Path:
    """A run file in a folder of its own, with the images next to it and another folder as the current one."""
    place = tmp_path / "project"
    place.mkdir()
    (place / "images").symlink_to(digit_folder, target_is_directory=True)
    (place / "map.csv").write_text("output,class\n" + "".join(f"{n},{n}\n" for n in range(10)))
    file = place / "run.toml"
    file.write_text(
        'model = "demo"\ndata = "images"\nsuite = "smoke"\nonly = ["fog:1", "contrast"]\nseed = 3\n'
        'subset = 20\nlabel_map = "map.csv"\nout = "made/run"\nmask = true\nkeep = "logits"\n'
    )
    return file


def test_a_run_file_is_the_same_run_as_its_options(
    run_file: Path, digit_folder: Path, windtunnel_command: Command
) -> None:
    place = run_file.parent
    described = read_run_file(run_file)
    assert described.options == RunOptions(
        only=("fog:1", "contrast"), seed=3, subset=20, label_map=str(place / "map.csv"),
        out=str(place / "made/run"), mask=True, keep="logits",
    )  # fmt: skip
    options = [
        "--suite", "smoke", "--only", "fog:1", "--only", "contrast", "--seed", 3, "--subset", 20, "--map",
        place / "map.csv", "--out", place / "made/run", "--mask", "--keep", "logits",
    ]  # fmt: skip
    by_options = json.loads(windtunnel_command("plan", "demo", digit_folder, *options, "--json").stdout)
    by_file = json.loads(windtunnel_command("plan", run_file, "--json").stdout)
    ignored = {"expected_seconds"}
    assert {name: by_file[name] for name in set(by_file) - ignored} == {
        name: by_options[name] for name in set(by_options) - ignored
    }
    planned = windtunnel.plan(described.models[0], described.data, described.suite, described.options)
    assert json.loads(json.dumps(planned.recipe.to_json())) == by_file["recipe"]
    # The command line overrides the file.
    changed = json.loads(
        windtunnel_command("plan", run_file, "--seed", 0, "--only", "fog:1", "--json").stdout
    )
    assert changed["recipe"]["seed"] == 0
    assert "contrast:1" in "".join(by_file["conditions"])
    assert not any(name.startswith("contrast") for name in changed["conditions"])
    assert changed["folder"] == by_file["folder"]


def test_run_takes_a_run_file(run_file: Path, windtunnel_command: Command) -> None:
    done = windtunnel_command("run", run_file, "--workers", 1, "--subset", 10)
    assert done.returncode == 0, done.stderr
    run = windtunnel.load_run(run_file.parent / "made/run")
    assert run.recipe.seed == 3 and run.recipe.data.count == 10
    assert (run_file.parent / "made/run/report.html").exists()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("sead = 3", r"Unknown key in .*run.toml: 'sead'. Did you mean seed\?"),
        ('map = "map.csv"', r"Did you mean label_map\?"),
        ('labels-are-outputs = "x"', r"Did you mean labels_are_outputs\?"),
        ('seed = "3"', r"seed is '3'; write a whole number, as in `seed = 3`"),
        ("seed = true", "seed is True; write a whole number"),
        ("mask = 1", "mask is 1; write true or false"),
        ('only = "fog"', r"only is 'fog'; write a list of strings, as in `only = \[\"fog\"\]`"),
        ("only = [3]", "write a list of strings"),
        ('labels = "imagenet"', "labels is 'imagenet'; give imagenet-1k, indices"),
        ("workers = 0", "workers is 0; give at least 1"),
        ("suite = 3", "suite is 3; write a string"),
        ("seed = ", "is not valid TOML"),
    ],
)
def test_a_wrong_line_of_a_run_file_is_refused(line: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text(f'model = "demo"\ndata = "demo"\n{line}\n')
    with pytest.raises(UserError, match=told) as error:
        read_run_file(file)
    assert str(file) in str(error.value) and "\n" not in str(error.value)


def test_a_run_file_needs_a_model_and_data(tmp_path: Path, windtunnel_command: Command) -> None:
    file = tmp_path / "run.toml"
    file.write_text('data = "demo"\n')
    with pytest.raises(UserError, match='names no model; add a line such as `model = "demo"`'):
        read_run_file(file)
    for given, told in ((file, "names no model"), (tmp_path / "none.toml", "There is no file")):
        done = windtunnel_command("run", given)
        assert done.returncode == 2 and told in done.stderr
    done = windtunnel_command("run", "demo")
    assert done.returncode == 2 and "Missing argument 'DATA'" in done.stderr


def test_paths_in_a_run_file_are_relative_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(os.sep)
    for name in ("net.py", "own.toml", "smoke", "textures"):
        (tmp_path / name).touch()
    file = tmp_path / "run.toml"
    file.write_text(
        'model = "net.py:make"\ndata = "./missing"\nsuite = "smoke"\npreprocess = "own.toml"\n'
        'clean = "demo"\n'
        'settings = ["frost.textures=textures", "frost.other=word"]\ninclude = ["mine.py"]\n'
    )
    found = read_run_file(file)
    assert found.models == (f"{tmp_path / 'net.py'}:make",)
    assert found.data == str(tmp_path / "missing")
    assert found.suite == "smoke"  # a name, although a file has it too
    assert found.options == RunOptions(
        preprocess=str(tmp_path / "own.toml"),
        clean="demo",
        settings=(f"frost.textures={tmp_path / 'textures'}", "frost.other=word"),
        include=(str(tmp_path / "mine.py"),),
    )
