"""Python and the command line: each is told in its own terms, and what Python hands over stays as it was."""

from __future__ import annotations

import ast
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
from windtunnel.core.phrasing import phrased, phrased_for_command_line
from windtunnel.suites.suite_files import suite_names

OPTION = re.compile(r"(?<![\w-])--[a-z]")


@pytest.mark.parametrize(
    ("typed", "passed"),
    [
        ("run with --keep logits.", 'run with keep="logits".'),
        ("--keep summary drops them", 'keep="summary" drops them'),
        ("--keep is 'x'; give auto", "keep is 'x'; give auto"),
        ("pass --labels-are-outputs if", "pass labels_are_outputs=True if"),
        ("with --map FILE.csv (columns", 'with label_map="FILE.csv" (columns'),
        ("--set frost.textures=DIR.", 'settings=["frost.textures=DIR"].'),
        ("give --clean DATA.", "give clean=DATA."),
        ("use --workers 1.", "use workers=1."),
        ("give --group ''.", 'give group="".'),
        ("choose another with --out.", "choose another with out."),
        ("--only fog is not a sequence", 'only=["fog"] is not a sequence'),
        ("--only takes the same levels", "only takes the same levels"),
        ("give --suite imagenet-c or other", 'give suite="imagenet-c" or other'),
        ("pip install --force-reinstall x", "pip install --force-reinstall x"),
        ("if they are not, pass --labels indices.", 'if they are not, pass labels="indices".'),
        ("with --unsure fail they do", 'with unsure="fail" they do'),
        ("a--b", "a--b"),
    ],
)
def test_an_option_is_an_argument_in_python(typed: str, passed: str) -> None:
    assert phrased(typed) == passed
    assert str(UserError(typed)) == passed
    with phrased_for_command_line():
        assert phrased(typed) == str(UserError(typed)) == typed


def allowed_values() -> dict[str, set[str]]:
    """Option -> the words that it takes, as Click's choices, metavars (`auto|logits`) and suites say."""
    found: dict[str, set[str]] = {"suite": set(suite_names())}
    for command in ("run", "make", "gate", "score"):
        for option in cli.get_command(click.Context(cli), command).params:  # type: ignore[union-attr]
            if isinstance(option.type, click.Choice):
                values = {str(choice) for choice in option.type.choices}
            else:
                values = set(re.findall(r"(?<![\w.])[a-z][\w:-]*(?=[|]|$)", option.metavar or ""))
            for name in option.opts if values else ():
                found.setdefault(name.removeprefix("--"), set()).update(values)
    return found


def literals() -> Iterator[str]:
    """Every text in the source outside the command line, with implicit concatenations joined."""
    root = Path(windtunnel.__file__).parent
    for file in root.rglob("*.py"):
        if file.is_relative_to(root / "cli"):
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
            elif isinstance(node, ast.JoinedStr):
                yield "".join(
                    str(part.value) if isinstance(part, ast.Constant) else "0" for part in node.values
                )


def test_every_value_of_an_option_in_a_message_is_quoted_in_python() -> None:
    allowed = allowed_values()
    assert {"auto", "logits", "summary"} <= allowed["keep"] and {"pass", "fail"} == allowed["unsure"]
    seen = set()
    for text in literals():
        for name, value in re.findall(r"(?<![\w-])--([a-z-]+) ([\w:-]+)", text):
            if value in allowed.get(name, ()):
                seen.add((name, value))
                assert phrased(f"give --{name} {value}.") == f'give {name}="{value}".', text
    assert {("labels", "indices"), ("unsure", "fail"), ("keep", "logits"), ("suite", "as-stored")} <= seen


@pytest.mark.parametrize("name", ["keep", "labels", "layout", "split", "unsure", "codec", "suite"])
def test_every_value_that_an_option_takes_is_known(name: str) -> None:
    for value in allowed_values()[name]:
        if name != "suite" or value.startswith("imagenet-"):
            assert phrased(f"give --{name} {value}.") == f'give {name}="{value}".'


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
