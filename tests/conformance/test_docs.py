"""What the explanations in docs/ say is what the program has and the formulas give."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import click
import pytest

from windtunnel import cli
from windtunnel.analysis.gate import DEFAULT_RULES, DEFAULT_SEQUENCE_RULES
from windtunnel.core.extras import REQUIREMENTS
from windtunnel.core.registry import import_file
from windtunnel.metrics.published_results import published_models
from windtunnel.stats.intervals import wilson
from windtunnel.suites.suite_files import load_suite, suite_names

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (
    "footguns.md",
    "statistics.md",
    "deployment.md",
    "explain.md",
    "natural.md",
    "distance.md",
    "training.md",
)


def every_command(group: click.Group, path: str = "windtunnel") -> dict[str, click.Command]:
    context = click.Context(group)
    found: dict[str, click.Command] = {}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        found[f"{path} {name}"] = command
        if isinstance(command, click.Group):
            found |= every_command(command, f"{path} {name}")
    return found


@pytest.mark.parametrize("page", PAGES)
def test_commands_options_and_suites_exist(page: str) -> None:
    text = (DOCS / page).read_text()
    commands = every_command(cli.cli)
    options = {
        option for command in commands.values() for parameter in command.params for option in parameter.opts
    }
    assert set(re.findall(r"`[^`]*?(--[a-z][a-z-]*)", text)) <= options
    assert set(re.findall(r"--suite ([a-z-]+)", text)) <= set(suite_names())
    for line in re.findall(r"`(windtunnel [a-z]+)", text):
        assert line in commands


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", (DOCS / page).read_text()):
        assert (DOCS / target).exists(), target


def test_the_widths_are_wilsons() -> None:
    text = (DOCS / "statistics.md").read_text()
    rows = re.findall(r"^\| ([\d,]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", text, flags=re.M)
    assert [row[0] for row in rows] == ["200", "1,000", "5,000", "50,000"]
    for count, *widths in rows:
        n = int(count.replace(",", ""))
        for share, width in zip((0.05, 0.25, 0.5), widths, strict=True):
            low, high = wilson(round(share * n), n)
            assert f"{100 * (high - low):.1f}" == width


def test_every_trap_has_a_wrong_and_a_right() -> None:
    traps = (DOCS / "footguns.md").read_text().split("\n## ")[1:]
    assert len(traps) >= 17
    for trap in traps:
        assert trap.index("**Wrong**:") < trap.index("**Right**:")


def test_published_figures_in_the_traps_are_those_of_the_tables() -> None:
    text = (DOCS / "footguns.md").read_text()
    models = {model.name: model for model in published_models(source="robustbench-5k")}
    values = models["Standard_R50"].values
    for name in ("mean_error", "mce"):
        assert f"{values[name]:.1%}".replace("%", " %") in text


def test_the_drawing_of_resizes_is_what_the_resizers_make() -> None:
    tool = import_file(DOCS.parent / "tools" / "draw_resizes.py")
    assert (DOCS / "resizes.svg").read_text() == tool.drawing(), "python tools/draw_resizes.py"


def test_suites_and_default_rules_of_sequences_are_told() -> None:
    readme = (DOCS.parent / "README.md").read_text()
    for name in suite_names():
        if load_suite(name).holds_sequences:
            assert f"| `{name}` |" in readme
    for text in (
        (DOCS / "gate.md").read_text(),
        every_command(cli.cli)["windtunnel gate"].get_help(click.Context(cli.cli)),
    ):
        assert all(rule in " ".join(text.split()) for rule in (*DEFAULT_RULES, *DEFAULT_SEQUENCE_RULES))
    for name in ("score", "report"):
        assert "FR" in every_command(cli.cli)[f"windtunnel {name}"].get_help(click.Context(cli.cli))


def test_install_commands_work_without_a_release_on_pypi() -> None:
    root = DOCS.parent
    pages = [*root.glob("*.md"), *DOCS.rglob("*.md"), *(root / "src").rglob("*.py")]
    for page in pages:
        if page.name != "CHANGELOG.md":
            found = re.findall(
                r"pip install[^\n`]*?[ ']windtunnel\b[^\n`]*|windtunnel\[\w+\]", page.read_text()
            )
            assert not found, (page.name, found)


def test_the_libraries_of_extras_are_those_of_the_package() -> None:
    extras = tomllib.loads((DOCS.parent / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    declared = {one for name, needed in extras.items() if name != "test" for one in needed}
    assert declared == set(REQUIREMENTS.values())
    assert all(needed.startswith(f"{library}>=") for library, needed in REQUIREMENTS.items())
