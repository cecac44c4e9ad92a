"""A number that cannot be right is reported at the top, with the command that finds out why."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from scipy.stats import hypergeom

import windtunnel
from windtunnel.analysis.plausibility import implausible
from windtunnel.cli import cli
from windtunnel.data.arrays import ArrayDataset
from windtunnel.data.demo import demo_model_path
from windtunnel.stats.shuffling import SHUFFLES, shuffled_labels

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
    found = shuffled_labels(predicted, [(int(one),) for one in labels])
    exact = hypergeom(60, int(labels.sum()), int(predicted.sum()))
    both = int((labels & (predicted == 1)).sum())
    constant = 60 - int(labels.sum()) - int(predicted.sum())
    assert found.right == constant + 2 * both == int((labels == predicted).sum())
    assert found.expected == pytest.approx(constant + 2 * exact.mean())
    for ours, theirs in ((found.p_more, exact.sf(both - 1)), (found.p_fewer, exact.cdf(both))):
        assert ours == pytest.approx(theirs, abs=4 * np.sqrt(theirs * (1 - theirs) / SHUFFLES) + 1 / SHUFFLES)
    assert found.p_perfect == pytest.approx(hypergeom(60, labels.sum(), labels.sum()).pmf(labels.sum()))


def test_several_labels_of_an_image_are_all_right() -> None:
    """Brute force over every order of three images."""
    found = shuffled_labels(np.array([0, 1, 2], np.int32), [(0, 1), (1,), (0,)])
    orders = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    accepted = [(0, 1), (1,), (0,)]
    rights = [sum(image in accepted[place] for image, place in enumerate(order)) for order in orders]
    assert found.right == rights[0] == 2
    assert found.expected == pytest.approx(np.mean(rights))
    assert found.p_perfect == pytest.approx(1 / 6)


def test_labels_in_no_relation_to_images_are_reported_at_the_top(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    run = run_of(tmp_path, rng.integers(0, 10, 200), rng.integers(0, 10, 200), 10)
    (warning,) = implausible(run)
    assert "shuffled labels give as many" in warning and "windtunnel doctor" in warning
    lines = call("score", run.path).output.splitlines()
    assert lines[0].startswith("WARNING") and "windtunnel doctor" in lines[0]
    page = run.report().read_text()
    assert page.index("is implausible") < page.index('aria-label="Headline scores"')
    text = call("report", run.path, "--markdown").output
    assert text.index("is implausible") < text.index("\n| ")


def test_outputs_one_off_are_reported(tmp_path: Path) -> None:
    """No prediction is right: far fewer than shuffled labels give."""
    shown = np.arange(200) % 10
    (warning,) = implausible(run_of(tmp_path, shown, shown, 10, step=1))
    assert (
        "The native error, 100.0 %, is implausible" in warning
        and "shuffled labels give more, 20.0" in warning
    )


def test_a_few_lucky_hits_of_many_classes_are_still_near_chance(tmp_path: Path) -> None:
    """Eight of 200 right with a hundred classes: surely more than shuffled labels give, and yet nonsense."""
    labels = np.arange(200) % 100
    shown = np.where(np.arange(200) < 8, labels, (labels + 1) % 100)
    (warning,) = implausible(run_of(tmp_path, shown, labels, 100))
    assert "hardly fewer" in warning


def test_one_class_is_judged_by_guessing(tmp_path: Path) -> None:
    (warning,) = implausible(run_of(tmp_path, np.arange(40) % 10, np.full(40, 3), 10))
    assert "guessing gives 4.0" in warning


@pytest.mark.parametrize("labels", [np.array([0, 1]), np.arange(40) % 10, np.full(5, 3)])
def test_a_model_that_is_right_is_left_alone(tmp_path: Path, labels: np.ndarray) -> None:
    assert implausible(run_of(tmp_path, labels, labels, 10)) == []


def test_too_few_images_to_tell_raise_no_warning(tmp_path: Path) -> None:
    assert implausible(run_of(tmp_path, np.array([1, 0, 0]), np.array([0, 1, 0]), 2)) == []


def test_false_warnings_of_useful_models_are_rare() -> None:
    """Sixty per cent right of ten classes on fifty images, 200 data sets: none is taken for shuffled."""
    rng = np.random.default_rng(3)
    alarms = 0
    for _ in range(200):
        labels = rng.integers(0, 10, 50)
        predicted = np.where(rng.uniform(size=50) < 0.6, labels, rng.integers(0, 10, 50)).astype(np.int32)
        alarms += shuffled_labels(predicted, [(int(one),) for one in labels]).p_more > 0.05
    assert alarms == 0


def test_undeclared_preprocessing_is_reported_at_the_top(tmp_path: Path) -> None:
    labels = np.arange(40) % 10
    run = run_of(tmp_path, labels, labels, 10, declared=False)
    (warning,) = implausible(run)
    assert "preprocessing was not declared" in warning and "windtunnel doctor" in warning
    assert call("score", run.path).output.startswith("WARNING")
    assert "preprocessing was not declared" in run.report().read_text()


def test_the_demo_raises_no_warning(tmp_path: Path) -> None:
    assert demo_model_path().exists()
    run = windtunnel.run("demo", "demo", "demo", subset=60, only=["fog:1"], out=tmp_path / "run")
    assert implausible(run) == []
    assert "WARNING" not in call("score", run.path).output
