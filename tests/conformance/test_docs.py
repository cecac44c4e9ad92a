"""What the explanations in docs/ say is what the program has and the formulas give."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import click
import pytest

from tests.conftest import Command
from windtunnel import api, cli
from windtunnel.analysis.gate import DEFAULT_RULES, DEFAULT_SEQUENCE_RULES
from windtunnel.core.extras import REQUIREMENTS
from windtunnel.core.registry import import_file
from windtunnel.corruptions import REGISTRY
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.published_figures import published_models
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.intervals import wilson
from windtunnel.stats.measure import Measure
from windtunnel.suites.suite_files import load_suite, suite_names

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [
    "../README.md",
    "../CONTRIBUTING.md",
    *sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md") if path.parent.name != "generated"),
]
README_WORDS = 700
NOTE_WORDS = 500
STATISTICS = DOCS / "explanation" / "statistics.md"
FOOTGUNS = DOCS / "explanation" / "footguns.md"


# Commands of other programs, in a code span or on a line of a block.
OTHER_PROGRAMS = re.compile(r"`ray [^`]*`|^(ray|srun|#SBATCH) .*$", flags=re.M)


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
    text = OTHER_PROGRAMS.sub("", (DOCS / page).read_text())
    commands = every_command(cli.cli)
    options = {
        option
        for command in commands.values()
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    assert set(re.findall(r"`[^`]*?(--[a-z][a-z-]*)", text)) <= options | {"--help"}
    own = re.findall(r'^name = "([a-z0-9-]+)"', text, re.MULTILINE)  # suites that the page declares
    assert set(re.findall(r"--suite ([a-z0-9-]+)(?![a-z0-9.-])", text)) <= {*suite_names(), *own}
    for line in re.findall(r"`(windtunnel [a-z]+)", text):
        assert line in commands


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", (DOCS / page).read_text()):
        # The generated pages are there once the site is built, which checks them.
        if "generated/" not in target:
            assert ((DOCS / page).parent / target).exists(), target


def test_the_readme_and_the_decision_notes_stay_short() -> None:
    assert len((DOCS.parent / "README.md").read_text().split()) <= README_WORDS
    notes = sorted((DOCS / "explanation" / "decisions").glob("0*.md"))
    assert [int(note.name[:4]) for note in notes] == list(range(1, len(notes) + 1))
    assert not [note.name for note in notes if len(note.read_text().split()) > NOTE_WORDS]


@pytest.fixture(scope="module")
def generated(request: pytest.FixtureRequest) -> ModuleType:
    """The Sphinx extension that writes the reference pages."""
    folder = str(DOCS / "_ext")
    sys.path.insert(0, folder)
    request.addfinalizer(lambda: sys.path.remove(folder))
    return importlib.import_module("generated_pages")


def test_generated_pages_list_every_plug_in_and_public_name(generated: ModuleType) -> None:
    suites = generated.suites_page()
    assert all(f"\n## {name}\n" in suites for name in suite_names())
    corruptions = generated.units_page("corruptions", "Corruptions", "")
    assert all(f"\n## {name}\n" in corruptions for name in REGISTRY.shipped())
    assert {Path(image).name for image in re.findall(r"\]\(([^)]+\.jpg)\)", corruptions)} >= {"fog.jpg"}
    assert all(f".. auto{kind}:: windtunnel.{name}\n" in generated.api_page()
               for kind, name in (("function", "run"), ("class", "Run")))  # fmt: skip
    for kind in ("model-kinds", "layouts"):
        page = generated.forms_page(kind, "Title", "Lead.")
        for row in api.list_plugins(kind):
            assert f"\n## {row['name']}\n" in page and f"- form: `{row['form']}`\n" in page
    assert "## mean_error\n\n*mean error, %, lower is better*\n" in generated.metrics_page()


def test_what_a_metric_receives_exists() -> None:
    page = (DOCS / "reference" / "metric-inputs.md").read_text(encoding="utf-8")
    documented: dict[str, set[str]] = {}
    for section in page.split("\n## ")[1:]:
        rows = re.findall(r"^\| (`.+?) \|", section, re.MULTILINE)
        names = {name for row in rows for name in re.findall(r"`(\w+)[`(]", row)}
        documented[section.partition(":")[0]] = names
    assert all(len(names) > 5 for names in documented.values())
    for type_ in (Observed, ScoredRun, Measure):
        source = "".join(inspect.getsource(base) for base in type_.__mro__[:-1])
        known = {*dir(type_), *re.findall(r"self\.(\w+)\b", source), *getattr(type_, "__annotations__", {})}
        assert documented[type_.__name__] <= known


def test_the_package_graph_has_a_cycle_only_where_the_contract_has_exceptions(generated: ModuleType) -> None:
    graph = importlib.import_module("package_graph")
    contracts = tomllib.loads((DOCS.parent / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ]
    exceptions = [one for contract in contracts for one in contract.get("ignore_imports", ())]
    assert bool(graph.cyclic_packages()) <= bool(exceptions)
    drawn = graph.package_graph_svg()
    assert all(f">{name}</text>" in drawn for layer in graph.layers() for name in layer)


def test_shells_get_completions(windtunnel_command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_WINDTUNNEL_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "windtunnel run --su")
    monkeypatch.setenv("COMP_CWORD", "2")
    done = windtunnel_command()
    assert done.stdout.split() == ["plain,--suite", "plain,--subset"], done.stderr


def test_the_widths_are_wilsons() -> None:
    text = STATISTICS.read_text()
    rows = re.findall(r"^\| ([\d,]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", text, flags=re.M)
    assert [row[0] for row in rows] == ["200", "1,000", "5,000", "50,000"]
    for count, *widths in rows:
        n = int(count.replace(",", ""))
        for share, width in zip((0.05, 0.25, 0.5), widths, strict=True):
            low, high = wilson(round(share * n), n)
            assert f"{100 * (high - low):.1f}" == width


def test_every_trap_has_a_wrong_and_a_right() -> None:
    traps = FOOTGUNS.read_text().split("\n## ")[1:]
    assert len(traps) >= 17
    for trap in traps:
        assert trap.index("**Wrong**:") < trap.index("**Right**:")


def test_published_figures_in_the_traps_are_those_of_the_tables() -> None:
    text = FOOTGUNS.read_text()
    models = {model.name: model for model in published_models(source="robustbench-5k")}
    values = models["Standard_R50"].values
    for name in ("mean_error", "mce"):
        assert f"{values[name]:.1%}".replace("%", " %") in text


def test_the_drawing_of_resizes_is_what_the_resizers_make() -> None:
    tool = import_file(DOCS.parent / "tools" / "draw_resizes.py")
    assert (DOCS / "images" / "resizes.svg").read_text() == tool.drawing(), "python tools/draw_resizes.py"


def test_suites_and_default_rules_of_sequences_are_documented() -> None:
    page = (DOCS / "howto" / "sequences.md").read_text()
    for name in suite_names():
        if load_suite(name).holds_sequences:
            assert f"`{name}`" in page or f"--suite {name}`" in page
    for text in (
        (DOCS / "howto" / "gate.md").read_text(),
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
    declared = {one for name, needed in extras.items() if name not in ("test", "docs") for one in needed}
    assert declared == set(REQUIREMENTS.values())
    # Libraries whose import has another name.
    distributions = {
        "ai_edge_litert": "ai-edge-litert",
        "sklearn": "scikit-learn",
        "psycopg_binary": "psycopg-binary",
        "mlflow": "mlflow-skinny",
        "yaml": "pyyaml",
    }
    assert all(
        needed.startswith(f"{distributions.get(library, library)}>=")
        for library, needed in REQUIREMENTS.items()
    )
