"""The leaderboard in a browser: sorted by the keyboard, filtered, and usable on a phone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page

import windtunnel
from windtunnel import api
from windtunnel.data.demo import demo_model_path


class Spoilt:
    """The demo's network, wrong about a share of the images."""

    def __init__(self, name: str, share: float) -> None:
        self.name = self.fingerprint = name
        self._share, self._model = share, windtunnel.load_model("demo")

    def __call__(self, batch: np.ndarray) -> np.ndarray:
        scores = self._model.predict(batch)
        chosen = batch.astype(np.int64).sum(axis=(1, 2, 3)) * 2654435761 % 1000 < 1000 * self._share
        return np.where(chosen[:, None], -scores, scores)


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three models on the same images, and one on fewer."""
    root = tmp_path_factory.mktemp("board")
    declared = demo_model_path().with_name("digits.onnx.toml")
    models = (("good", 0.0, 40), ("fair", 0.3, 40), ("bad", 0.6, 40), ("other", 0.1, 20))
    runs = [
        windtunnel.run(
            Spoilt(name, share), "demo", "smoke", out=root / name, subset=count, preprocess=declared
        )
        for name, share, count in models
    ]
    return api.write_leaderboard(api.leaderboard(runs), root / "board.html")


def _models(page: Page) -> list[str]:
    return [text.split("\n")[0] for text in page.locator("tbody tr:not([hidden]) th").all_inner_texts()]


def test_columns_sort_by_the_keyboard_and_the_filter_hides_models(
    board: Path, open_page: Callable[..., Page]
) -> None:
    page = open_page(board)
    assert _models(page) == ["good", "fair", "bad", "other"]
    clean = page.get_by_role("button", name="clean error")
    clean.focus()
    page.keyboard.press("Enter")
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"
    page.keyboard.press("Enter")
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "descending"
    # What is not comparable is last in both orders, and never the best.
    assert _models(page) == ["bad", "fair", "good", "other"]
    assert page.locator("td.best").count() == page.locator("th[data-column]").count() - 1
    assert page.locator("td.best[data-unlike]").count() == 0
    page.get_by_label("Filter models").fill("A")
    assert _models(page) == ["bad", "fair"]
    assert page.get_by_role("status").inner_text() == "2 of 4 models shown"
    page.get_by_label("Filter models").fill("")
    page.get_by_label("Comparable only").check()
    assert _models(page) == ["bad", "fair", "good"]
    page.get_by_label("Families").uncheck()
    assert page.locator("td.family:visible").count() == 0


def test_a_phone_shows_the_models_next_to_every_column(board: Path, open_page: Callable[..., Page]) -> None:
    page = open_page(board, viewport={"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator(".board").evaluate("board => { board.scrollLeft = 400; }")
    name = page.locator("tbody th").first.bounding_box()
    assert name is not None and 0 <= name["x"] < 40
