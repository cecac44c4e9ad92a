"""Every registered metric declares its facts; a new metric needs no new test file."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import windtunnel.metrics.plugins
from windtunnel.analysis.missing_scores import RUNS
from windtunnel.core.errors import UserError
from windtunnel.core.metrics import REGISTRY, metric, metric_named, title_of, unit_of
from windtunnel.suites.suite_files import load_suite, suite_names

FOLDER = Path(next(iter(windtunnel.metrics.plugins.__path__)))
NAMES = REGISTRY.shipped()
# A sentence that fits two lines of a terminal and a half.
LONGEST_HELP = 240


def test_the_folder_holds_metrics_alone() -> None:
    assert sorted(file.stem for file in FOLDER.glob("*.py")) == ["__init__", *NAMES]


@pytest.mark.parametrize("name", NAMES)
def test_a_metric_is_declared_in_the_file_of_its_name_and_in_no_other(name: str) -> None:
    found = REGISTRY.get(name)
    assert found.name == name
    assert Path(inspect.getfile(found.function)) == FOLDER / f"{name}.py"
    tree = ast.parse((FOLDER / f"{name}.py").read_text())
    declared = [
        one.name
        for one in tree.body
        if isinstance(one, ast.FunctionDef) and any("metric(" in ast.unparse(d) for d in one.decorator_list)
    ]
    assert declared == [name]


@pytest.mark.parametrize("name", NAMES)
def test_a_metric_has_help_direction_unit_and_task(name: str) -> None:
    found = REGISTRY.get(name)
    assert found.help.endswith(".")
    assert 20 < len(found.help) <= LONGEST_HELP
    assert found.direction in ("lower", "higher", "none")
    assert found.unit.scale == (100 if found.unit.name in ("%", "points") else 1)
    assert unit_of(name) == found.unit
    assert found.task == "classification"
    assert found.title or not found.headline
    assert found.direction == "lower" or not found.sliceable


@pytest.mark.parametrize("name", NAMES)
def test_a_metric_needs_at_most_one_kind_of_run(name: str) -> None:
    """So that a missing score can be explained by one sentence."""
    found = REGISTRY.get(name)
    assert len(set(found.needs) & set(RUNS)) <= 1
    assert len(set(found.needs)) == len(found.needs)
    parameters = list(inspect.signature(found.function).parameters)
    assert ("only" in parameters) == found.of_ood_scores


def test_no_two_metrics_are_written_alike() -> None:
    written = [text for name in NAMES for text in {name, REGISTRY.get(name).title.lower()} if text]
    assert [text for text, count in Counter(written).items() if count > 1] == []


def test_metrics_are_found_by_title_and_in_any_case() -> None:
    written = ("mCE", "FP", "mean error", " Error ", "AUROC:energy", "x", "")
    assert [metric_named(text) for text in written] == [
        "mce", "flip_probability", "mean_error", "top1_error", "auroc:energy", "x", "",
    ]  # fmt: skip
    assert [title_of(name) for name in ("mce", "auroc", "fpr95", "top1_error", "brier", "x")] == [
        "mCE", "AUROC", "FPR95", "error", "brier", "x",
    ]  # fmt: skip


def test_scores_under_other_names_have_the_unit_that_their_metric_declares() -> None:
    spread = unit_of("resize_accuracy_std")
    assert (spread.name, spread.scale, spread.decimals) == ("points", 100, 3)
    assert unit_of("resize_mean_accuracy").name == "%"


@pytest.mark.parametrize("suite", suite_names())
def test_every_metric_of_a_suite_is_registered(suite: str) -> None:
    assert set(load_suite(suite).metrics) <= set(NAMES)


def test_listing_names_imports_no_metric() -> None:
    code = (
        "import sys; from windtunnel.core.metrics import REGISTRY; names = REGISTRY.names(); "
        "assert len(names) > 40; print([one for one in sys.modules "
        "if one.startswith('windtunnel.metrics.plugins.') or one == 'pyarrow'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({}, "'dull' declares no direction; give direction='lower', 'higher' or 'none'"),
        ({"direction": "up"}, "direction is 'up'; give direction='lower', 'higher' or 'none'"),
        ({"direction": "lower", "needs": ("label",)}, "needs 'label', which is unknown; allowed: labels,"),
        ({"direction": "lower"}, "'dull' has no docstring"),
    ],
)
def test_a_metric_without_its_facts_does_not_register(facts: dict[str, object], message: str) -> None:
    def dull(run: object, seen: object) -> list[object]:
        return []

    with pytest.raises(UserError, match=message):
        metric(**facts)(dull)  # type: ignore[arg-type]
    assert "dull" not in REGISTRY.names()
