"""LAION-C's and ImageNet-C-bar's corruptions have the published pixels for their draws and strengths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import windtunnel
from tests.parity.candidate_oracles import Recorder
from tests.parity.compare import photograph
from tests.parity.ood_oracles import C_BAR, LAION_C
from windtunnel.corruptions import REGISTRY
from windtunnel.suites.suite_files import load_suite

# The strengths of severities 1 to 5 as the two sets publish them; CIFAR-10-C-bar's for edition 32.
STRENGTHS = {
    "blue_noise_sample": ((0.8, 1.6, 2.4, 4.0, 5.6), (0.7, 1.4, 2.1, 3.5, 4.2)),
    "brownish_noise": ((1, 2, 3, 4, 5), (2.5, 4, 5.5, 6.5, 7)),
    "caustic_refraction": ((2.35, 3.2, 4.9, 6.6, 9.15), None),
    "checkerboard_cutout": ((2, 3, 4, 5, 6), (1, 2, 3, 4, 5)),
    "cocentric_sine_waves": ((3, 5, 8, 9, 10), None),
    "inverse_sparkles": ((1, 2, 4, 9, 10), (1, 1.5, 2.5, 4.5, 5)),
    "perlin_noise": ((4.6, 5.2, 5.8, 7.6, 8.8), None),
    "plasma_noise": ((4.75, 7, 8.5, 9.25, 10), None),
    "single_frequency_greyscale": ((1, 1.5, 2, 4.5, 5), None),
    "sparkles": ((1, 2, 3, 5, 6), (0.7, 3.5, 5.6, 6.3, 7)),
    "circular_motion_blur": ((2.8, 3.6, 4.4, 5.2, 6), None),
    "lines": ((0.5, 1, 1.5, 2, 2.5), None),
    "pinch_and_twirl": ((5.5, 6, 6.5, 8.5, 10), None),
    "ripple": ((5.5, 6, 6.5, 7.5, 8), None),
    "transverse_chromatic_abberation": ((1, 2, 5, 9, 10), None),
}
CIFAR_ONLY = {
    "circular_motion_blur", "lines", "pinch_and_twirl", "ripple", "transverse_chromatic_abberation",
}  # fmt: skip
# Pillow truncates corners towards zero, and its slopes are single-precision: some pixels of stars differ.
MOST_APART = 0.0005


def scene(height: int, width: int) -> np.ndarray:
    return np.ascontiguousarray(photograph(max(height, width), height)[:height, :width])


def applied(
    name: str, image: np.ndarray, severity: int, edition: int = 224, **settings: str
) -> tuple[np.ndarray, dict[str, Any]]:
    """The corrupted image, and the draws behind it."""
    rng = Recorder(7, f"{severity}", f"corruption/{name}", severity)
    return REGISTRY.get(name).apply(image, rng, severity, edition, settings), rng.recorded()


@pytest.mark.parametrize("name", sorted(C_BAR))
def test_c_bar_has_the_published_pixels(name: str) -> None:
    large, small = STRENGTHS[name]
    cases = [(scene(224, 224), severity, 224, large[severity - 1]) for severity in (1, 3, 5)]
    cases.append((scene(32, 32), 4, 32, (small or large)[3]))
    cases += [(scene(*size), 2, 64, large[1]) for size in ((61, 90), (75, 61), (64, 81))]
    for image, severity, edition, strength in cases:
        out, values = applied(name, image, severity, edition)
        apart = np.abs(out.astype(int) - C_BAR[name](image, values, strength))
        # Both truncate: where a value is a whole level, rounding errors decide.
        assert (apart > 1).mean() < 1e-3, (severity, image.shape)
        assert (apart > 0).mean() < 0.03, (severity, image.shape)
        assert (out != image).mean() > 0.003


@pytest.mark.parametrize("severity", range(1, 6))
@pytest.mark.parametrize("name", sorted(LAION_C))
def test_laion_c_has_the_published_pixels(name: str, severity: int) -> None:
    image = scene(224, 224)
    out, values = applied(name, image, severity)
    apart = (out != LAION_C[name](image, values, severity)).any(axis=2)
    assert apart.mean() <= (MOST_APART if name == "geometric_shapes" else 0)


@pytest.mark.parametrize("name", ["mosaic", "stickers"])
def test_tiles_of_a_folder_replace_the_drawn_ones(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for number in range(40):
        coarse = Image.fromarray(rng.integers(0, 256, (3, 3, 3), np.uint8))
        coarse.resize((80, 64), Image.Resampling.BICUBIC).save(tmp_path / f"{number}.png")
    image, folder = scene(224, 224), str(tmp_path)
    out, values = applied(name, image, 4, tiles=folder)
    assert np.array_equal(out, LAION_C[name](image, values, 4, folder))
    same = windtunnel.corrupt(image, name, 4, seed=0, settings={"tiles": folder})
    assert (same != windtunnel.corrupt(image, name, 4, seed=0)).any()
    # A tile shows the centre 7/8 of the short side.
    photo = np.asarray(Image.open(tmp_path / "0.png").resize((16, 16), 2, (12, 4, 68, 60)))
    assert any(np.array_equal(photo, tile) for tile in _tiles_seen(out)) or name == "mosaic"
    for place in (tmp_path / "nowhere", tmp_path.parent):
        with pytest.raises(windtunnel.UserError, match="folder of 16 or more images"):
            windtunnel.corrupt(image, name, 4, settings={"tiles": str(place)})
    (tmp_path / "notes.txt").write_text("no image")
    with pytest.raises(windtunnel.UserError, match=r"notes\.txt cannot be read as an image"):
        windtunnel.corrupt(image, name, 4, settings={"tiles": folder})


def _tiles_seen(image: np.ndarray) -> Any:
    windows = np.lib.stride_tricks.sliding_window_view(image, (16, 16), axis=(0, 1))
    return windows.transpose(0, 1, 3, 4, 2).reshape(-1, 16, 16, 3)


def test_suites_have_the_published_corruptions() -> None:
    cifar = {name for name, (_, small) in STRENGTHS.items() if small} | CIFAR_ONLY
    assert set(load_suite("imagenet-c-bar").units) == set(C_BAR) - CIFAR_ONLY
    assert set(load_suite("cifar-10-c-bar").units) == cifar
    assert set(load_suite("laion-c").units) == set(LAION_C)
