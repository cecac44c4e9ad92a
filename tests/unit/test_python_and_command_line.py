"""Python and the command line: messages in the terms of each; models from Python stay unchanged."""

from __future__ import annotations

import ast
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import numpy as np
import pytest
import torch

import windtunnel
from tests.conftest import Command
from windtunnel.cli import cli
from windtunnel.core.errors import RunFailed, UserError
from windtunnel.core.option_names import option, spelled_by
from windtunnel.options.command_line import as_option

OPTION = re.compile(r"(?<![\w-])--[a-z]")
PIP_OPTION = "--force-reinstall"


@pytest.mark.parametrize(
    ("token", "passed", "typed"),
    [
        (option("keep", "logits"), 'keep="logits"', "--keep logits"),
        (option("keep"), "keep", "--keep"),
        (option("labels_are_outputs", True), "labels_are_outputs=True", "--labels-are-outputs"),
        (option("label_map", "FILE.csv"), 'label_map="FILE.csv"', "--map FILE.csv"),
        (
            option("settings", ["frost.textures=DIR"]),
            'settings=["frost.textures=DIR"]',
            "--set frost.textures=DIR",
        ),
        (option("clean", "DATA"), "clean=DATA", "--clean DATA"),
        (option("workers", 1), "workers=1", "--workers 1"),
        (option("group", ""), 'group=""', "--group ''"),
        (option("only", ["fog"]), 'only=["fog"]', "--only fog"),
        (option("suite", "imagenet-c"), 'suite="imagenet-c"', "--suite imagenet-c"),
        (option("rules"), "rules", "--rule"),
        (option("unsure", "fail"), 'unsure="fail"', "--unsure fail"),
        (
            "pip install --force-reinstall x",
            "pip install --force-reinstall x",
            "pip install --force-reinstall x",
        ),
    ],
)
def test_an_option_is_spelled_by_the_interface(token: str, passed: str, typed: str) -> None:
    error = UserError(f"give {token}, or {token}.")
    assert str(error) == f"give {passed}, or {passed}."
    with spelled_by(as_option):
        assert str(error) == str(pickle.loads(pickle.dumps(error))) == f"give {typed}, or {typed}."
        # A message made of another one keeps its options.
        assert str(UserError(f"{error} Then go on.")) == f"give {typed}, or {typed}. Then go on."
    assert str(error) == f"give {passed}, or {passed}."


def calls(root: Path) -> Iterator[tuple[Path, ast.Call]]:
    for file in root.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                yield file, node


def test_options_in_messages_are_real_and_their_values_allowed() -> None:
    """Every `option("name", value)` in the source is an option of a command, of the right kind."""
    known: dict[str, list[click.Parameter]] = {}
    commands = ("run", "make", "gate", "score", "distance", "doctor", "explain", "show")
    names = (
        *commands,
        "predictivity",
        "effective-robustness",
        "overlap",
        "subtypes",
        "categories",
        "serve",
        "log",
    )
    found = [cli.get_command(click.Context(cli), name) for name in names]
    group = cli.get_command(click.Context(cli), "benchmarks")
    groups = [cli.get_command(click.Context(cli), name) for name in ("curate", "review")]
    steps = [folder.get_command(None, name) for folder in groups for name in folder.list_commands(None)]  # type: ignore[union-attr]
    for command in (*found, *group.commands.values(), *steps):  # type: ignore[union-attr]
        for parameter in command.params:  # type: ignore[union-attr]
            if isinstance(parameter, click.Option):
                known.setdefault(str(parameter.name), []).append(parameter)
    seen = set()
    for file, call in calls(Path(windtunnel.__file__).parent):
        if not (isinstance(call.func, ast.Name) and call.func.id == "option" and call.args):
            continue
        if not isinstance(call.args[0], ast.Constant):
            continue
        name = str(call.args[0].value)
        seen.add(name)
        assert name in known, (file, name)
        (*_, value) = call.args
        for parameter in known[name] if len(call.args) > 1 else ():
            assert isinstance(value, ast.List) == bool(parameter.multiple), (file, name)
            assert (isinstance(value, ast.Constant) and value.value is True) == bool(
                getattr(parameter, "is_flag", False)
            ), (file, name)
            if isinstance(parameter.type, click.Choice) and isinstance(value, ast.Constant):
                assert value.value in parameter.type.choices, (file, name)
    assert {
        "keep",
        "only",
        "settings",
        "label_map",
        "clean",
        "rules",
        "split",
        "partial",
        "layer",
        "size",
        "write",
    } <= seen


def test_no_error_outside_the_command_line_types_an_option() -> None:
    """Errors name options by tokens: Python has no `--keep`."""
    root = Path(windtunnel.__file__).parent
    for file, call in calls(root):
        if file.is_relative_to(root / "cli") or not isinstance(call.func, ast.Name):
            continue
        if call.func.id in ("UserError", "RunFailed", "unknown_name"):
            texts = [
                str(node.value)
                for node in ast.walk(call)
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
            ]
            typed = [text for text in texts if OPTION.search(text) and text != PIP_OPTION]
            assert not typed, (file, call.lineno)


MISTAKES: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "keep": (lambda data: windtunnel.plan("demo", data, keep="all"), ["--keep", "all"]),
    "chunk": (lambda data: windtunnel.plan("demo", data, chunk=0), ["--chunk", "0"]),
    "settings": (lambda data: windtunnel.plan("demo", data, settings=["frost"]), ["--set", "frost"]),
    "difficulty": (lambda data: windtunnel.plan("demo", data, difficulty=2), ["--difficulty", "2"]),
    "codec": (
        lambda data: windtunnel.plan("demo", data, "systematic", codec="png"),
        ["--suite", "systematic", "--codec", "png"],
    ),
    "only": (lambda data: windtunnel.plan("demo", data, only=["seq/tilt"]), ["--only", "seq/tilt"]),
    "clean": (lambda data: windtunnel.plan("demo", data, clean=data), ["--clean", "DATA"]),
    "out": (
        lambda data: windtunnel.run("demo", data, "smoke", out=data),
        ["--suite", "smoke", "--out", "DATA"],
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_python_is_told_of_arguments_and_the_command_line_of_options(
    mistake: str, digit_folder: Path, windtunnel_command: Command
) -> None:
    ask, options = MISTAKES[mistake]
    with pytest.raises(UserError) as error:
        ask(digit_folder)
    assert not OPTION.search(str(error.value))
    assert mistake in str(error.value)
    given = [str(digit_folder) if one == "DATA" else one for one in options]
    done = windtunnel_command("run", "demo", digit_folder, *given)
    assert done.returncode == 2
    assert OPTION.search(done.stderr), done.stderr


class Network(torch.nn.Module):
    """Takes 32 pixels and nothing else; a part of it is frozen in evaluation mode, as fine-tuners do."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.BatchNorm2d(3)
        self.rest = torch.nn.Sequential(
            torch.nn.Dropout(), torch.nn.Flatten(), torch.nn.Linear(3 * 32 * 32, 10)
        )
        self.norm.eval()

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.rest(self.norm(batch))
        return found


class Failing(Network):
    """The same, which fails on everything but the probe."""

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        if len(batch) != 2:
            raise RuntimeError("no")
        return super().forward(batch)


def modes(module: torch.nn.Module) -> list[bool]:
    return [part.training for part in module.modules()]


def test_a_module_keeps_the_mode_of_every_part(digit_folder: Path, tmp_path: Path) -> None:
    torch.manual_seed(0)
    module = Network()
    before = modes(module)
    assert True in before and False in before
    run = windtunnel.run(
        module, digit_folder, "smoke", only=["fog"], preprocess="cifar", out=tmp_path / "run"
    )
    assert modes(module) == before
    # It was evaluated without dropout all the same: twice the same, and as torch says it.
    row = next(
        one for one in run.predictions(["condition", "logits"]).to_pylist() if one["condition"] == "clean"
    )
    from PIL import Image

    pixels = np.asarray(Image.open(digit_folder / row["sample_id"]).convert("RGB"), np.float32) / 255
    mean, std = np.array([0.4914, 0.4822, 0.4465]), np.array([0.2470, 0.2435, 0.2616])
    tensor = torch.from_numpy(((pixels - mean) / std).astype(np.float32).transpose(2, 0, 1))[None]
    with torch.no_grad():
        assert module.eval()(tensor)[0].numpy() == pytest.approx(np.array(row["logits"]), abs=1e-4)


def test_a_module_that_fails_keeps_its_modes_too(digit_folder: Path, tmp_path: Path) -> None:
    module = Failing()
    before = modes(module)
    with pytest.raises(RunFailed, match="the model fails on every image: RuntimeError: no"):
        windtunnel.run(
            module, digit_folder, "smoke", only=["fog:1"], preprocess="cifar", out=tmp_path / "run"
        )
    assert modes(module) == before


@pytest.mark.parametrize("kind", ["module", "callable", "file"])
def test_a_network_of_fixed_size_is_probed_at_the_size_of_the_data(
    kind: str, digit_folder: Path, tmp_path: Path
) -> None:
    declared = tmp_path / "as-it-is.toml"
    declared.write_text('[geometry]\nrule = "none"\n')
    weights = np.random.default_rng(0).normal(size=(32 * 32 * 3, 10)).astype(np.float32)
    file = tmp_path / "fixed.py"
    file.write_text(
        "import numpy as np\n"
        "weights = np.random.default_rng(0).normal(size=(32 * 32 * 3, 10)).astype(np.float32)\n"
        "def make():\n"
        "    return lambda batch: batch.reshape(len(batch), -1).astype(np.float32) @ weights\n"
    )
    model: object = {
        "module": Network(),
        "callable": lambda batch: batch.reshape(len(batch), -1).astype(np.float32) @ weights,
        "file": f"{file}:make",
    }[kind]
    run = windtunnel.run(
        model, digit_folder, "smoke", only=["fog:1"], preprocess=declared, chunk=20, out=tmp_path / "run",
        workers=2 if kind == "file" else 1,
    )  # fmt: skip
    assert run.scoring.observed.left_out == 0 and len(run.scoring.observed.ids) == 40


def test_the_cifar_preset_is_cifars_statistics() -> None:
    """Mean and deviation of the 50,000 training images, as published to eight digits."""
    from windtunnel.models.preprocess import presets

    row = presets()["cifar"]
    assert row["tensor"]["mean"] == pytest.approx([0.49139968, 0.48215841, 0.44653091], abs=5e-5)
    assert row["tensor"]["std"] == pytest.approx([0.24703223, 0.24348513, 0.26158784], abs=5e-5)
