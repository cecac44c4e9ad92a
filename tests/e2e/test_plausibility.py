"""A number that cannot be right is reported at the top, with the command that finds out why."""

from __future__ import annotations

import json
import re
import warnings
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from scipy.stats import binom, hypergeom

import windtunnel
from windtunnel.analysis.plausibility import LEAST_SKILL, implausible
from windtunnel.cli import cli
from windtunnel.data.arrays import ArrayDataset
from windtunnel.data.demo import demo_model_path
from windtunnel.stats.multiple_tests import SIGNIFICANT
from windtunnel.stats.shuffling import probability_of_so_few, right_by_chance

DECLARED = "preset = 'imagenet'\n"


class Reads:
    """A model of so many outputs that reads the class from the first pixel, moved by a step."""

    def __init__(self, outputs: int, step: int = 0) -> None:
        self.name = self.fingerprint = f"reads-{outputs}-{step}"
        self.outputs, self.step = outputs, step

    def __call__(self, batch: np.ndarray) -> np.ndarray:
        return np.eye(self.outputs, dtype=np.float32)[(batch[:, 0, 0, 0] + self.step) % self.outputs]


def run_of(
    tmp_path: Path,
    shown: np.ndarray,
    labels: np.ndarray,
    outputs: int,
    *,
    step: int = 0,
    declared: bool = True,
) -> windtunnel.Run:
    """A run over images that each show a class, whatever their label is."""
    images = np.broadcast_to(shown.astype(np.uint8)[:, None, None, None], (len(shown), 32, 32, 3))
    toml = tmp_path / "net.toml"
    toml.write_text(DECLARED + "[geometry]\nrule = 'exact'\ncrop_px = 32\n")
    return windtunnel.run(
        Reads(outputs, step),
        ArrayDataset(images, labels),
        "smoke",
        only=["defocus_blur:1"],
        preprocess=toml if declared else None,
        labels_are_outputs=True,
        out=tmp_path / "run",
    )


def call(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(one) for one in arguments])


def test_shuffled_labels_are_a_hypergeometric_for_two_classes() -> None:
    """Of n images, a labelled 1 and b predicted 1: both 1 in x; right are n - a - b + 2x."""
    rng = np.random.default_rng(1)
    labels = rng.uniform(size=60) < 0.3
    predicted = np.where(rng.uniform(size=60) < 0.25, labels, rng.uniform(size=60) < 0.4).astype(np.int32)
    by_chance = right_by_chance(predicted, [(int(one),) for one in labels])
    exact = hypergeom(60, int(labels.sum()), int(predicted.sum()))
    constant = 60 - int(labels.sum()) - int(predicted.sum())
    assert by_chance.sum() == pytest.approx(constant + 2 * exact.mean())


def test_several_labels_of_an_image_are_all_right() -> None:
    """Brute force over every order of three images."""
    predicted, accepted = (0, 1, 2), [(0, 1), (1,), (0,)]
    orders = list(permutations(range(3)))
    expected = [np.mean([predicted[i] in accepted[order[i]] for order in orders]) for i in range(3)]
    by_image = right_by_chance(np.array(predicted, np.int32), accepted)
    assert by_image.sum() == pytest.approx(sum(expected))
    # Of an image, the share of predictions that are right for it: 0 and 1 of three, then 1, then 0.
    assert by_image == pytest.approx([2 / 3, 1 / 3, 1 / 3])


@pytest.mark.parametrize("skill", [0.0, 0.15, 0.4, 1.0])
def test_the_probability_of_so_few_is_exact(skill: float) -> None:
    """Equal images are a binomial (SciPy); unequal ones are summed over every outcome."""
    for count in (1, 2, 9, 100):
        for right in range(count + 1):
            ours = probability_of_so_few(right, np.full(count, 0.1), skill)
            assert ours == pytest.approx(binom.cdf(right, count, skill + (1 - skill) * 0.1), abs=1e-12)
    by_chance = np.array([0.0, 0.1, 0.1, 0.5, 0.9, 1.0])
    shares = skill + (1 - skill) * by_chance
    outcomes = np.array(list(product((0, 1), repeat=len(shares))))
    each = np.prod(np.where(outcomes, shares, 1 - shares), axis=1)
    for right in range(len(shares) + 1):
        expected = each[outcomes.sum(axis=1) <= right].sum()
        assert probability_of_so_few(right, by_chance, skill) == pytest.approx(expected, abs=1e-12)


def test_labels_in_no_relation_to_images_are_reported_at_the_top(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    run = run_of(tmp_path, rng.integers(0, 10, 200), rng.integers(0, 10, 200), 10)
    (warning,) = implausible(run.scoring)
    assert "shuffled labels give" in warning and "skill is below 0.15 with 95 % confidence" in warning
    assert "windtunnel doctor" in warning
    lines = call("score", run.path).output.splitlines()
    assert lines[0].startswith("WARNING") and "windtunnel doctor" in lines[0]
    page = run.report().read_text()
    assert page.index("is implausible") < page.index('aria-label="Headline scores"')
    text = call("report", run.path, "--markdown").output
    assert text.index("is implausible") < text.index("\n| ")


def test_python_warns_like_the_command_line(tmp_path: Path) -> None:
    shown = np.arange(200) % 10
    with pytest.warns(windtunnel.ImplausibleScores, match="The native error, 100.0 %") as caught:
        run = run_of(tmp_path, shown, shown, 10, step=1)
    assert [str(warning.message) for warning in caught] == list(run.warnings)
    assert caught[0].filename == __file__
    assert re.search(rf"WARNING +{re.escape(run.warnings[0])}\n", call("score", run.path).output)
    assert f"WARNING  {run.warnings[0]}" in repr(run.scores())
    assert ".warnings" in repr(run)
    for shown_text in (run._repr_html_(), run.scores()._repr_html_()):
        assert "<strong>WARNING</strong> The native error, 100.0 %, is implausible" in shown_text


def test_a_plausible_run_does_not_warn(tmp_path: Path) -> None:
    labels = np.arange(40) % 10
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = run_of(tmp_path, labels, labels, 10)
    assert run.warnings == () and "warnings" not in repr(run)


def test_the_warning_names_the_doctor_with_the_options_of_the_run(tmp_path: Path) -> None:
    shown = np.arange(200) % 10
    (warning,) = run_of(tmp_path, shown, shown, 10, step=1).warnings
    assert (
        f"run windtunnel doctor MODEL DATA --preprocess {tmp_path}/net.toml --labels-are-outputs b" in warning
    )


def test_gate_and_compare_repeat_the_warnings_of_both_runs(tmp_path: Path) -> None:
    shown = np.arange(200) % 10
    folders = []
    for name, step in (("old", 1), ("new", 1)):
        (tmp_path / name).mkdir()
        folders.append(run_of(tmp_path / name, shown, shown, 10, step=step).path)
    old, new = folders
    gate = windtunnel.gate(new, old)
    assert gate.verdict == "passed" and gate.implausible == (str(new), str(old))
    done = call("gate", new, "--against", old, "--markdown", tmp_path / "gate.md")
    last = done.output.splitlines()[-1]
    assert last.startswith("✓ passed, but the numbers may be wrong (see the warnings)")
    compared = call("compare", old, new).output
    printed = json.loads(call("gate", new, "--against", old, "--json").output)["warnings"]
    for folder in folders:
        expected = f"reads-10-1 ({folder}): The native error, 100.0 %, is implausible"
        assert f"warning  {expected}" in done.output and expected in (tmp_path / "gate.md").read_text()
        assert expected in compared
        assert any(text.startswith(expected) for text in printed)
        assert any(text.startswith(expected) for text in windtunnel.compare(old, new).warnings)


def test_outputs_one_off_are_reported(tmp_path: Path) -> None:
    """No prediction is right: far fewer than shuffled labels give."""
    shown = np.arange(200) % 10
    (warning,) = implausible(run_of(tmp_path, shown, shown, 10, step=1).scoring)
    assert (
        "The native error, 100.0 %, is implausible" in warning
        and "shuffled labels give 20.0 on average" in warning
    )


def test_a_few_lucky_hits_of_many_classes_are_still_near_chance(tmp_path: Path) -> None:
    """Eight of 200 right with a hundred classes: surely more than shuffled labels give, and yet nonsense."""
    labels = np.arange(200) % 100
    shown = np.where(np.arange(200) < 8, labels, (labels + 1) % 100)
    (warning,) = implausible(run_of(tmp_path, shown, labels, 100).scoring)
    assert "8 of 200 predictions are correct, shuffled labels give" in warning


def test_one_class_is_judged_by_guessing(tmp_path: Path) -> None:
    (warning,) = implausible(run_of(tmp_path, np.arange(40) % 10, np.full(40, 3), 10).scoring)
    assert "guessing gives 4.0" in warning


@pytest.mark.parametrize("labels", [np.array([0, 1]), np.arange(40) % 10, np.full(5, 3)])
def test_a_model_that_is_right_is_left_alone(tmp_path: Path, labels: np.ndarray) -> None:
    assert implausible(run_of(tmp_path, labels, labels, 10).scoring) == []


def test_too_few_images_to_tell_raise_no_warning(tmp_path: Path) -> None:
    assert implausible(run_of(tmp_path, np.array([1, 0, 0]), np.array([0, 1, 0]), 2).scoring) == []


@pytest.mark.parametrize(
    ("count", "classes", "accuracy"), [(20, 2, 0.7), (40, 2, 0.7), (10, 10, 0.46), (50, 10, 0.46)]
)
def test_useful_models_raise_no_warning_on_few_images(
    tmp_path: Path, count: int, classes: int, accuracy: float
) -> None:
    rng = np.random.default_rng(count)
    warned = 0
    for number in range(20):
        labels = rng.integers(0, classes, count)
        other = (labels + rng.integers(1, classes, count)) % classes
        shown = np.where(rng.uniform(size=count) < accuracy, labels, other)
        folder = tmp_path / str(number)
        folder.mkdir()
        warned += len(implausible(run_of(folder, shown, labels, classes).scoring))
    assert warned <= 1


def warned_sets(count: int, classes: int, skill: float, sets: int = 200) -> float:
    """The share of simulated sets in which the decision falls on near chance."""
    rng = np.random.default_rng(count)
    warned = 0
    for _ in range(sets):
        labels, guesses = rng.integers(0, classes, (2, count))
        predicted = np.where(rng.uniform(size=count) < skill, labels, guesses).astype(np.int32)
        by_chance = right_by_chance(predicted, [(int(one),) for one in labels])
        right = int((predicted == labels).sum())
        warned += probability_of_so_few(right, by_chance, LEAST_SKILL) <= SIGNIFICANT
    return warned / sets


@pytest.mark.parametrize("classes", [2, 10, 100])
@pytest.mark.parametrize("count", [2, 5, 10, 20, 50, 200])
def test_false_warnings_are_rare_at_any_number_of_images(count: int, classes: int) -> None:
    assert warned_sets(count, classes, skill=0.4) <= 0.05


@pytest.mark.parametrize(("count", "classes"), [(100, 10), (100, 100), (200, 10), (1000, 2)])
def test_models_at_chance_are_found(count: int, classes: int) -> None:
    assert warned_sets(count, classes, skill=0.0) >= 0.95


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_few_misses_of_one_class_raise_no_warning(tmp_path: Path, count: int) -> None:
    assert implausible(run_of(tmp_path, np.zeros(count), np.full(count, 3), 10).scoring) == []


def test_a_constant_prediction_on_unbalanced_classes_is_near_chance(tmp_path: Path) -> None:
    """Ninety per cent right, as many as shuffled labels give; 40 images of the rare class, none found."""
    labels = (np.arange(400) % 10 == 0).astype(np.int64)
    (warning,) = implausible(run_of(tmp_path, np.zeros(400), labels, 2).scoring)
    assert "360 of 400 predictions are correct, shuffled labels give 360.0 on average" in warning


def test_doubtful_declarations_is_reported_at_the_top(tmp_path: Path) -> None:
    labels = np.arange(40) % 10
    run = run_of(tmp_path, labels, labels, 10, declared=False)
    (warning,) = implausible(run.scoring)
    assert "preprocessing is not declared" in warning and "windtunnel doctor" in warning
    assert call("score", run.path).output.startswith("WARNING")
    assert "preprocessing is not declared" in run.report().read_text()


def test_the_demo_raises_no_warning(tmp_path: Path) -> None:
    assert demo_model_path().exists()
    run = windtunnel.run("demo", "demo", "demo", subset=60, only=["fog:1"], out=tmp_path / "run")
    assert implausible(run.scoring) == []
    assert "WARNING" not in call("score", run.path).output
