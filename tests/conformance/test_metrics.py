"""Every registered metric declares its facts; a new metric needs no new test file."""

from __future__ import annotations

import ast
import inspect
import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import windtunnel
import windtunnel.metrics.plugins
from tests.conftest import Command
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
    assert found.task == ("detection" if "objects" in found.needs else "classification")
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


# A metric as a contributor writes it, without any check of what the run has.
CONTRIBUTED = """
from windtunnel.core.metrics import metric
from windtunnel.stats.measure import Measure


@metric(direction="lower")
def contributed_top3_error(run, seen):
    \"""Top-3 error of every condition.\"""
    wrong = seen.top_k_wrong(3)
    return [
        Measure("contributed_top3_error", name, "top-3 error", (name,), wrong[:, [column]])
        for column, name in enumerate(seen.conditions)
    ]


@metric(direction="lower", unit="ranks")
def contributed_mean_rank(run, seen):
    \"""Mean rank of the label in every condition.\"""
    return [
        Measure("contributed_mean_rank", name, "mean rank", (name,), seen.rank[:, [column]].astype(float))
        for column, name in enumerate(seen.conditions)
    ]
"""
OWN = ("contributed_top3_error", "contributed_mean_rank")
# The rank of the label of image and condition; 12 images in 3 or 10 classes.
RANKS_OF_3 = np.array([[0, 1], [0, 2], [1, 0], [0, 0], [2, 2], [0, 1]] * 2)
RANKS_OF_10 = np.array([[0, 1], [2, 3], [4, 5], [9, 0], [0, 0], [3, 6]] * 2)
CONDITIONS = ("clean", "defocus_blur:1")


@dataclass(frozen=True)
class Imported:
    """Runs of the same predictions: with all scores, with the top class, and with the top three."""

    full: windtunnel.Run
    top: dict[int, windtunnel.Run]


def imported(root: Path, ranks: np.ndarray, classes: int) -> Imported:
    """Runs of predictions in which the labels have these ranks."""
    for number in range(len(ranks)):
        file = root / "data" / f"class-{number % classes}" / f"{number}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((40, 40, 3), 20 * number, np.uint8)).save(file)
    rows: dict[int, list[dict[str, object]]] = {0: [], 1: [], 3: []}
    for (number, column), rank in np.ndenumerate(ranks):
        others = [index for index in range(classes) if index != number % classes]
        order = [*others[:rank], number % classes, *others[rank:]]
        logits = [-0.7 * order.index(index) for index in range(classes)]
        row = {"id": f"class-{number % classes}/{number}.png", "condition": CONDITIONS[column]}
        rows[0].append({**row, "logits": logits})
        for k in (1, 3):
            rows[k].append({**row, "top": order[:k]})
    runs = {}
    for k, lines in rows.items():
        (root / f"top{k}.json").write_text(json.dumps(lines))
        runs[k] = windtunnel.score_predictions(
            root / f"top{k}.json", root / "data", "smoke", out=root / f"run{k}"
        )
    return Imported(runs[0], {1: runs[1], 3: runs[3]})


@pytest.fixture
def own_metrics(tmp_path: Path) -> Path:
    """The file of the contributed metrics, which is included in one test."""
    file = tmp_path / "own_metrics.py"
    file.write_text(CONTRIBUTED)
    windtunnel.include(file)
    return file


@pytest.fixture(scope="module")
def of_3(tmp_path_factory: pytest.TempPathFactory) -> Imported:
    return imported(tmp_path_factory.mktemp("of3"), RANKS_OF_3, 3)


@pytest.fixture(scope="module")
def of_10(tmp_path_factory: pytest.TempPathFactory) -> Imported:
    return imported(tmp_path_factory.mktemp("of10"), RANKS_OF_10, 10)


def values(run: windtunnel.Run, name: str) -> dict[tuple[str, str], float]:
    """By name and condition, the scores of a metric."""
    return {(score.metric, score.condition): score.value for score in run.scores([name])}


@pytest.mark.usefixtures("own_metrics")
@pytest.mark.parametrize("name", [*NAMES, *OWN])
def test_a_score_of_top_classes_is_that_of_all_scores_or_missing(
    name: str, of_3: Imported, of_10: Imported
) -> None:
    for predictions in (of_3, of_10):
        expected = values(predictions.full, name)
        for run in predictions.top.values():
            found = values(run, name)
            assert not found or found == pytest.approx(expected)


@pytest.mark.usefixtures("own_metrics")
def test_top_k_errors_count_ranks(of_3: Imported, of_10: Imported) -> None:
    """By hand: the share of ranks of at least k."""
    for predictions, ranks, known in (
        (of_3, RANKS_OF_3, {("top1_error", 1): [0, 1, 3], ("contributed_top3_error", 3): []}),
        (of_3, RANKS_OF_3, {("top5_error", 5): []}),
        (
            of_10,
            RANKS_OF_10,
            {
                ("top1_error", 1): [0, 1, 3],
                ("contributed_top3_error", 3): [0, 3],
                ("top5_error", 5): [0],
            },
        ),
    ):
        for (name, k), stored in known.items():
            expected = {
                (name, text): share for text, share in zip(CONDITIONS, (ranks >= k).mean(0), strict=True)
            }
            for top, run in {0: predictions.full, **predictions.top}.items():
                assert values(run, name) == (pytest.approx(expected) if top in stored else {}), (name, top)
    ranks = {
        ("contributed_mean_rank", text): mean
        for text, mean in zip(CONDITIONS, RANKS_OF_10.mean(0), strict=True)
    }
    assert values(of_10.full, "contributed_mean_rank") == pytest.approx(ranks)
    assert values(of_10.top[3], "contributed_mean_rank") == {}


@pytest.mark.parametrize(
    ("name", "top", "reason"),
    [
        ("top5_error", 1, "the predictions have only the top class. Give the top 5 classes of every image"),
        ("top5_error", 3, "the predictions have only the top 3 classes. Give the top 5 classes of"),
        ("contributed_top3_error", 1, "the predictions have only the top class. Give the top 3 classes"),
        ("contributed_top3_error", 0, "only 3 classes compete. Use the top-1 error"),
        ("contributed_mean_rank", 1, "the predictions have only the top class. Give the scores of every"),
    ],
)
def test_a_missing_score_has_its_reason(
    name: str,
    top: int,
    reason: str,
    own_metrics: Path,
    of_3: Imported,
    of_10: Imported,
    windtunnel_command: Command,
) -> None:
    run = of_10.top[top] if top else of_3.full
    done = windtunnel_command("score", run.path, "--metric", name, "--include", own_metrics)
    assert reason in " ".join((done.stdout + done.stderr).split())
