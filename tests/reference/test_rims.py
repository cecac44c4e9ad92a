"""The light in drops is what OpenCV makes of them, step by step."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from tests.parity.oracles import CANNY_THRESHOLDS, rims
from windtunnel.kernels.rims import light_from_edges


def drops(height: int, width: int, seed: int, sigma: float) -> np.ndarray:
    """A layer of spatter: smooth noise, black below a threshold."""
    noise = np.random.default_rng(seed).normal(0.65, 0.3, (height, width))
    smooth = cv2.GaussianBlur(noise, (0, 0), sigma)
    return np.where(smooth > 0.68, np.clip(255 * smooth, 0, 255), 0).astype(np.uint8)


@pytest.mark.parametrize(("height", "width"), [(224, 224), (32, 32), (33, 70), (97, 64), (299, 299)])
@pytest.mark.parametrize("sigma", [0.6, 1.0, 2.0, 4.0])
def test_light_is_opencvs_to_the_last_bit(height: int, width: int, sigma: float) -> None:
    for seed in range(5):
        layer = drops(height, width, seed, sigma)
        ours = light_from_edges(cv2.Canny(layer, *CANNY_THRESHOLDS))
        assert np.array_equal(ours, rims(layer))


@pytest.mark.parametrize("level", [0, 200])
def test_layers_without_edges(level: int) -> None:
    layer = np.full((40, 50), level, np.uint8)
    ours = light_from_edges(cv2.Canny(layer, *CANNY_THRESHOLDS))
    assert np.array_equal(ours, rims(layer))
