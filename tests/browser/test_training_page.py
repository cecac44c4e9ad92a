"""The page of trainings in a browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Page

from windtunnel import api
from windtunnel.train import Geometry, Preprocess, Remedies, Settings, Tensor, fit

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "color_scheme": "dark"}
HOSTILE = "<b>noise & <img src=x>"


@pytest.fixture(scope="module")
def training_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two trainings of two epochs; the folder of one has a hostile name."""
    folder = tmp_path_factory.mktemp("trainings")
    preprocess = Preprocess(Geometry(rule="exact", crop_px=16), Tensor())
    for name, loss in (("plain", "cross_entropy"), (HOSTILE, "stability")):
        module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(768, 10))
        fit(module, "demo", folder / name, preprocess=preprocess, settings=Settings(epochs=2, batch=256),
            remedies=Remedies(loss=loss))  # fmt: skip
    file = folder / "page.html"
    api.write_training_page(api.open_trainings([folder / "plain", folder / HOSTILE]), file)
    return file


@pytest.mark.parametrize("options", [{}, PHONE])
def test_the_curves_are_drawn_and_fit_the_screen(
    options: dict[str, object], training_page: Path, open_page: Callable[..., Page]
) -> None:
    page = open_page(training_page, **options)
    page.wait_for_function("document.querySelectorAll('.figure .main-svg').length >= 3")
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for name in ("loss", "accuracy", "learning_rate"):
        assert page.locator(f"#{name} .point").count() == 4
    assert HOSTILE in page.locator("h1").inner_text()
    assert page.locator("main img").count() == 0
