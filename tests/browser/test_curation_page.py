"""The page of a curation project in a browser."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page

from tests.onnx_models import write_colour_model
from windtunnel import api

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "color_scheme": "dark"}
HOSTILE = "<b>cat&dog"
CLASSES = [HOSTILE, "a very long class name that goes on and on", "third"]


@pytest.fixture(scope="module")
def curation_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A filtered project with near-duplicates, a hostile class name and a held-out model."""
    folder = tmp_path_factory.mktemp("curation")
    rng = np.random.default_rng(5)
    table = ["file,label"]
    for number in range(30):
        small = Image.fromarray(rng.integers(0, 256, (3, 4, 3), dtype=np.uint8))
        for copy, quality in enumerate((95, 70)):
            name = f"{number}-{copy}.jpg"
            small.resize((60, 44), Image.Resampling.BICUBIC).save(folder / name, quality=quality)
            table.append(f'{name},"{CLASSES[number % 3]}"')
    (folder / "table.csv").write_text("\n".join(table) + "\n")
    models = []
    for name, softmax in (("filter", False), ("held-out", True)):
        models.append(write_colour_model(folder / f"{name}.onnx", classes=3, softmax=softmax))
        (folder / f"{name}.onnx.toml").write_text(
            f"labels = {json.dumps(CLASSES)}\n"
            '[geometry]\nrule = "short-side"\nresize_px = 40\ncrop_px = 32\n'
            "[tensor]\ndivisor = 64.0\nmean = [0.0, 0.0, 0.0]\nstd = [1.0, 1.0, 1.0]\n"
        )
    project = folder / "project"
    api.collect_candidates(folder / "table.csv", project)
    api.filter_hard(project, models[:1], max_true_confidence=0.9)
    api.measure_transfer(project, models[1:])
    return api.write_project_page(project)


@pytest.mark.parametrize("options", [{}, PHONE])
def test_the_page_draws_and_fits_the_screen(
    options: dict[str, object], curation_page: Path, open_page: Callable[..., Page]
) -> None:
    page = open_page(curation_page, **options)
    page.wait_for_function("document.querySelectorAll('.figure .main-svg').length >= 1")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    text = page.inner_text("main")
    assert HOSTILE in text and "never correct" in text and "groups of shortlisted images" in text
    assert "held-out, held out" in text and "filter, filter model" in text
    assert page.evaluate("[...document.images].every((image) => image.naturalWidth > 0)")
    assert page.evaluate("document.images.length") > 10
