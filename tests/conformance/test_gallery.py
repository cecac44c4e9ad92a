"""The gallery in docs/ is the one that the units and suites of today make."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from windtunnel.corruptions import REGISTRY, SEVERITIES, Corruption, corruption
from windtunnel.report.demo_scene import scene
from windtunnel.report.gallery import (
    gallery_page,
    gallery_strip,
    grouped,
    strip_bytes,
    strip_name,
    write_gallery,
)
from windtunnel.sequences import REGISTRY as SEQUENCES
from windtunnel.sequences import Perturbation
from windtunnel.suites.units import Unit, find_unit

DOCS = Path(__file__).parents[2] / "docs"
UNITS = REGISTRY.shipped()
EVERY = [*UNITS, *(f"seq/{name}" for name in SEQUENCES.shipped())]
STALE = "run `windtunnel dev gallery`"


def units() -> list[Corruption]:
    """The shipped ones alone: other tests include units of their own."""
    return [REGISTRY.get(name) for name in UNITS]


def clips() -> list[Perturbation]:
    return [SEQUENCES.get(name) for name in SEQUENCES.shipped()]


def decoded(file: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(file)), np.float64)


@pytest.fixture(scope="module")
def harbour() -> np.ndarray:
    return scene(224)


@corruption(
    params=("share",),
    severities={64: [[0.1], [0.2], [0.3], [0.4], [0.5]]},
    imitates="Nightfall.",
    source="this test",
    random=False,
)
def my_dusk(image: np.ndarray, rng: object, *, share: float) -> np.ndarray:
    return (image * (1 - share)).astype(np.uint8)


def test_the_page_is_up_to_date() -> None:
    assert gallery_page(units(), clips()) == (DOCS / "gallery.md").read_text(encoding="utf-8"), STALE


def test_every_unit_has_one_small_strip() -> None:
    every: list[Unit] = [*units(), *clips()]
    sizes = {path.name: path.stat().st_size for path in (DOCS / "gallery").iterdir()}
    assert sorted(sizes) == sorted(map(strip_name, every)), STALE
    for unit in every:
        assert sizes[strip_name(unit)] <= strip_bytes(unit), unit.name
    assert sum(sizes.values()) <= 3_200_000


@pytest.mark.parametrize("name", EVERY)
def test_strips_show_todays_pixels(name: str) -> None:
    unit = find_unit(name)
    stored = decoded((DOCS / "gallery" / strip_name(unit)).read_bytes())
    drawn = decoded(gallery_strip(unit))
    assert stored.shape == drawn.shape, STALE
    # Room for another JPEG encoder and for rounding on other machines; other draws differ by more.
    assert np.abs(stored - drawn).mean() < 4, STALE


def test_every_unit_stands_under_one_heading_and_the_suites_decide_which() -> None:
    groups = {title: [unit.name for unit in members] for title, members in grouped(units()).items()}
    assert list(groups) == [
        "Noise",
        "Blur",
        "Weather",
        "Digital",
        "Extra, for validation",
        "ImageNet-C-bar",
        "CIFAR-10-C-bar",
        "LAION-C",
        "Syn2Nat candidates",
    ]
    assert sorted(name for names in groups.values() for name in names) == UNITS
    assert groups["Noise"] == ["gaussian_noise", "shot_noise", "impulse_noise"]


def test_a_users_own_unit_appears_too(tmp_path: Path) -> None:
    fog = REGISTRY.get("fog")
    written = write_gallery([my_dusk, fog], tmp_path / "new" / "docs")
    assert [path.name for path in written] == ["gallery.md", "my_dusk.jpg", "fog.jpg"]
    page = written[0].read_text(encoding="utf-8")
    assert "## In none of these suites\n\n### my_dusk\n\nNightfall.\n" in page
    assert "Edition: 64" in page
    assert "Who meets it" not in page.split("### my_dusk")[1]
    assert "| share | 0.1 | 0.2 | 0.3 | 0.4 | 0.5 |" in page


def test_a_unit_with_one_strength_shows_its_draws_and_no_table() -> None:
    page = gallery_page([REGISTRY.get("s2n/blur"), REGISTRY.get("s2n/solarize")])
    drawn, fixed = page.split("### s2n/")[1:]
    assert "clean and five draws](gallery/s2n-blur.jpg)" in drawn
    assert "- Drawn for every image: The side of the box: 5, 7 or 9 pixels, equally likely." in drawn
    assert "- Random: no." in fixed
    assert "| severity" not in page


def test_long_tables_are_left_out() -> None:
    many = tuple(f"p{number}" for number in range(9))
    rows = [[1.0] * 9] * len(SEVERITIES)
    assert "| p0 |" not in gallery_page([replace(my_dusk, params=many, severities={64: rows})])


def test_the_scene_is_the_same_at_every_call_and_size(harbour: np.ndarray) -> None:
    small = scene(40)
    assert small.shape == (40, 40, 3)
    assert small.dtype == np.uint8
    assert np.array_equal(small, scene(40))
    large = np.asarray(Image.fromarray(harbour).resize((40, 40), Image.Resampling.BOX), np.float64)
    assert np.abs(small - large).mean() < 4


def test_the_scene_has_what_corruptions_act_on(harbour: np.ndarray) -> None:
    image = harbour.astype(np.float64)
    grey, spread = image.mean(axis=2), image.max(axis=2) - image.min(axis=2)
    assert grey.min() < 30
    assert grey.max() > 245
    assert np.percentile(spread, 95) > 120, "saturated colours"
    assert np.percentile(spread, 20) < 40, "muted colours"
    steps = np.abs(np.diff(grey, axis=1))
    assert np.median(steps[:60]) < 4, "a smooth sky"
    assert np.percentile(steps, 98) > 60, "edges"
