"""The page of an overlap study in a browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page

import windtunnel
from tests.overlap_tables import block_accuracies
from windtunnel import api
from windtunnel.analysis.overlap.accuracies import Accuracies

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "color_scheme": "dark"}
HOSTILE = "</script><b>noise"


@pytest.fixture(scope="module")
def study_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study whose first corruption has a hostile name."""
    made = block_accuracies()
    accuracies = Accuracies((HOSTILE, *made.candidates[1:]), made.seeds, made.accuracy, made.images)
    analysis = windtunnel.find_categories(accuracies, replicates=10)
    file = tmp_path_factory.mktemp("study") / "page.html"
    api.write_study_page(analysis, accuracies, file)
    return file


@pytest.mark.parametrize("options", [{}, PHONE])
def test_the_page_draws_and_fits_the_screen(
    options: dict[str, object], study_page: Path, open_page: Callable[..., Page]
) -> None:
    page = open_page(study_page, **options)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    page.wait_for_function("document.querySelectorAll('.figure .main-svg').length >= 3")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator("#overlaps .hm, #overlaps image").count() >= 1
    assert page.locator("#dendrogram .point").count() == 11
    assert HOSTILE in page.locator("body").inner_text()
    colours = page.evaluate("document.getElementById('overlaps').data[0].z")
    assert np.asarray(colours).shape == (11, 11)


def test_hovering_shows_the_interval(study_page: Path, open_page: Callable[..., Page]) -> None:
    page = open_page(study_page)
    page.locator("#overlaps").scroll_into_view_if_needed()
    box = page.locator("#overlaps .nsewdrag").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.15 * box["width"], box["y"] + 0.04 * box["height"])
    label = page.locator("#overlaps .hovertext")
    label.wait_for()
    text = label.text_content() or ""
    assert "overlap " in text and "[" in text
