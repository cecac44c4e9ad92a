"""The pages of predictivity and effective robustness in a browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page

import windtunnel

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "device_scale_factor": 2}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Thirty models on a clean set, two corruptions and two natural sets; one has a hostile name."""
    folder = tmp_path_factory.mktemp("predictivity")
    rng = np.random.default_rng(0)
    lines = ["model,clean,fog:3,snow:3,ImageNet-V2,ImageNet-A"]
    for row in range(30):
        clean = rng.uniform(0.6, 0.9)
        cells = [clean, *(clean - rng.uniform(0.1, 0.5, 4))]
        name = "<script>alert(1)</script>" if row == 7 else f"network_with_a_long_name_{row}"
        lines.append(",".join([name, *(f"{cell:.4f}" for cell in cells)]))
    table = folder / "table.csv"
    table.write_text("\n".join(lines) + "\n")
    windtunnel.predictivity(table, synthetic=["fog", "fog,snow"], out=folder / "predictivity.html")
    windtunnel.effective_robustness(table, out=folder / "fits.html")
    return folder / "predictivity.html", folder / "fits.html"


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("options", [{}, {**PHONE, "color_scheme": "dark"}])
def test_pages_draw_and_fit_the_screen(
    place: int, options: dict[str, object], pages: tuple[Path, Path], open_page: Callable[..., Page]
) -> None:
    page = open_page(pages[place], **options)
    figures = page.locator(".figure")
    assert figures.count() == (6, 2)[place]
    assert page.locator(".figure .main-svg").count() >= figures.count()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator("h1").inner_text()
    # Points are drawn in every plot.
    assert page.evaluate("[...document.querySelectorAll('.figure')].every((f) => f.querySelector('.point'))")
