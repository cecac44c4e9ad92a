"""Models whose scores of an image depend on the batch are refused, or run with a warning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import windtunnel
from windtunnel.core.errors import UserError

OPTIONS = windtunnel.RunOptions(subset=6, preprocess="cifar", only=["brightness:3"])


def colours(images: np.ndarray) -> np.ndarray:
    """Ten scores of an image alone."""
    mean = images.mean(axis=(1, 2)).astype(np.float32)
    return mean @ np.random.default_rng(0).normal(size=(3, 10)).astype(np.float32)


def by_batch_statistics(images: np.ndarray) -> np.ndarray:
    scores = colours(images)
    return (scores - scores.mean(axis=0)) / (scores.std(axis=0) + 1e-3)


def quantised_by_batch(images: np.ndarray) -> np.ndarray:
    """A linear layer whose input is rounded to 8 bits of the range of the batch."""
    values = images.mean(axis=(1, 2)).astype(np.float32)
    step = np.ptp(values) / 255 or 1.0
    weights = np.random.default_rng(0).normal(size=(3, 10)).astype(np.float32)
    return (np.rint((values - values.min()) / step) * step + values.min()) @ weights


class Adapting:
    """Subtracts the running mean of all scores so far."""

    def __init__(self) -> None:
        self.mean = np.zeros(10, np.float32)

    def __call__(self, images: np.ndarray) -> np.ndarray:
        scores = colours(images)
        self.mean = 0.9 * self.mean + 0.1 * scores.mean(axis=0)
        return scores - self.mean


def training_mode() -> Any:
    """A callable around a torch module that was left in training mode."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, 2), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(8, 10),
    )  # fmt: skip

    def predictor(images: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return module(torch.from_numpy(images.transpose(0, 3, 1, 2) / np.float32(255))).numpy()

    predictor.module = module  # type: ignore[attr-defined]
    return predictor


@pytest.mark.parametrize(
    "model", [by_batch_statistics, quantised_by_batch, Adapting, training_mode], ids=lambda one: one.__name__
)
def test_a_batch_dependent_model_is_refused_by_name(model: Any, tmp_path: Path) -> None:
    made = model() if model in (Adapting, training_mode) else model
    with pytest.raises(
        UserError, match=r"gives an image other scores .* allow_batch_dependence=True"
    ) as error:
        windtunnel.run(made, "demo", "smoke", OPTIONS, out=tmp_path / "run")
    assert str(error.value).startswith(getattr(made, "__name__", "Adapting"))
    assert not (tmp_path / "run").exists()


def test_an_allowed_one_is_in_the_recipe_and_in_every_report(tmp_path: Path) -> None:
    run = windtunnel.run(
        by_batch_statistics, "demo", "smoke", OPTIONS, out=tmp_path / "run", allow_batch_dependence=True
    )
    assert run.recipe.model.batch_dependent
    said = "depend on the other images of its batch"
    assert any(said in warning for warning in run.warnings)
    run.report()
    assert said in (tmp_path / "run" / "report.html").read_text()
    assert said in (tmp_path / "run" / "report.md").read_text()


def test_the_option_changes_nothing_for_other_models(tmp_path: Path) -> None:
    module = training_mode().module
    plans = [
        windtunnel.plan(model, "demo", "smoke", OPTIONS, allow_batch_dependence=allowed)
        for model in (colours, module)  # torch modules are put into evaluation mode
        for allowed in (False, True)
    ]
    plans.append(windtunnel.plan(quantised_by_batch, "demo", "smoke", OPTIONS, batch=1))
    digests = [plan.recipe.digest for plan in plans]
    assert digests[0] == digests[1] and digests[2] == digests[3]
    assert not any(plan.recipe.model.batch_dependent for plan in plans)
