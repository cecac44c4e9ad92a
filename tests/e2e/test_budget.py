"""Cost before work: time, storage and precision of a plan, and a subset that fits a time budget."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import windtunnel
from tests.conftest import Command
from windtunnel.core.wording import byte_size, seconds_in
from windtunnel.data.arrays import ArrayDataset
from windtunnel.stats.intervals import wilson


def slow(images: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Ten milliseconds an image."""
    time.sleep(0.01 * len(images))
    return np.eye(10, dtype=np.float32)[images[:, 0, 0, 0] % 10]


@pytest.fixture
def many(digits: tuple[np.ndarray, np.ndarray]) -> ArrayDataset:
    return ArrayDataset(digits[0][:400], digits[1][:400])


def test_a_plan_states_storage_and_precision(windtunnel_command: Command, digit_folder: Path) -> None:
    arguments = ("demo", digit_folder, "--suite", "smoke", "--out", "run")
    planned = json.loads(windtunnel_command("plan", *arguments, "--json").stdout)
    low, high = wilson(20, 40)
    assert planned["interval_half_width"] == pytest.approx((high - low) / 2)
    lines = windtunnel_command("plan", *arguments).stdout
    assert re.search(
        r"^interval +at most \+-14\.8 points for the error of one condition", lines, re.MULTILINE
    )
    assert re.search(r"^storage +about \d+ kB", lines, re.MULTILINE)


def test_storage_is_near_the_truth(tmp_path: Path) -> None:
    run = windtunnel.run("demo", "demo", "smoke", out=tmp_path / "run", keep="logits")
    stored = sum(file.stat().st_size for file in (run.path / "shards").iterdir())
    from windtunnel.api import storage_bytes

    planned = storage_bytes(windtunnel.plan("demo", "demo", "smoke", keep="logits"))
    assert stored / 2 < planned < stored * 2


def test_a_budget_chooses_the_subset(tmp_path: Path, many: ArrayDataset) -> None:
    # 11 views of 10 ms: 110 ms an image and some more for pixels; 12 s are about 100 images.
    run = windtunnel.run(slow, many, "smoke", out=tmp_path / "run", budget="12s")
    assert run.recipe.data.count in (20, 50, 100)
    again = windtunnel.run(slow, many, "smoke", out=tmp_path / "run", budget="10h")
    assert again.recipe == run.recipe  # a started run keeps its subset
    assert len(windtunnel.plan(slow, many, "smoke", budget="10h").surveyed) == 400


def test_a_started_run_of_all_images_keeps_them(
    tmp_path: Path, digits: tuple[np.ndarray, np.ndarray]
) -> None:
    few = ArrayDataset(digits[0][:20], digits[1][:20])
    windtunnel.run("demo", few, "smoke", out=tmp_path / "run", budget="10h")
    assert len(windtunnel.plan("demo", few, "smoke", out=tmp_path / "run", budget="1s").surveyed) == 20


def test_bad_budgets_are_refused_in_one_line(many: ArrayDataset) -> None:
    for budget, message in (
        ("soon", r"budget is 'soon'; give a time such as 90s, 10m or 2h"),
        ("0s", r"give a time such as"),
        ("0.2s", r"10 images take about .* Give a larger budget, or fewer conditions with only"),
    ):
        with pytest.raises(windtunnel.UserError, match=message):
            windtunnel.plan(slow, many, "smoke", budget=budget)
    with pytest.raises(windtunnel.UserError, match="leave out subset"):
        windtunnel.plan(slow, many, "smoke", budget="10m", subset=5)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("10m", 600), ("1.5h", 5400), ("2h30m", 9000), ("1d", 86400), ("m", None), ("-5m", None)],
)  # fmt: skip
def test_lengths_of_time(text: str, seconds: float | None) -> None:
    assert seconds_in(text) == seconds


@pytest.mark.parametrize(
    ("count", "text"), [(640, "0.6 kB"), (12_300_000, "12 MB"), (3.4e9, "3.4 GB"), (2e12, "2,000 GB")]
)
def test_sizes_of_files(count: float, text: str) -> None:
    assert byte_size(count) == text
