"""The oracles beyond the golden files: injected draws, frost, rounding, other sizes."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from tests.parity import oracles
from tests.parity.draws import Recorder, Replay

# Corruption, parameters, and the draws it makes of a 48 x 48 image.
DRAWS = [
    ("gaussian_noise", (0.18,), [("normal", (48, 48, 3))]),
    ("shot_noise", (12,), [("poisson", (48, 48, 3))]),
    ("impulse_noise", (0.09,), [("random_sample", (48, 48, 3))] * 2),
    ("speckle_noise", (0.35,), [("normal", (48, 48, 3))]),
    ("gaussian_blur", (3,), []),
    ("glass_blur", (1, 2, 3), [("randint", (44 * 44, 2))] * 3),
    ("defocus_blur", (6, 0.5), []),
    ("motion_blur", (15, 8), [("uniform", ())]),
    ("zoom_blur", (1.21, 0.02), []),
    ("snow", (0.55, 0.3, 4, 0.9, 12, 8, 0.7), [("normal", (48, 48)), ("uniform", ())]),
    ("frost", (0.7, 0.7), [("randint", ())] * 3),
    ("fog", (2.5, 1.7), [("uniform", (n, n)) for n in (1, 2, 4, 8, 16, 32) for _ in range(3)]),
    ("brightness", (0.3,), []),
    ("contrast", (0.2,), []),
    ("elastic_transform", (12.2, 2.44, 4.88), [("uniform", (3, 2))] + [("uniform", (48, 48))] * 2),
    ("pixelate", (0.4,), []),
    ("jpeg_compression", (15,), []),
    ("saturate", (2, 0), []),
    ("spatter", (0.65, 0.3, 2, 0.68, 0.5, 0), [("normal", (48, 48))]),
]
FROST_SIZES = {
    0.3: [(180, 270), (94, 168), (94, 168), (105, 158), (148, 198)],
    0.2: [(120, 180), (63, 112), (63, 112), (70, 105), (99, 132)],
}


def make_image(side: int) -> np.ndarray:
    return np.random.default_rng(side).integers(0, 256, (side, side, 3), dtype=np.uint8)


def textures() -> list[np.ndarray]:
    """Smooth synthetic ones of the reference's sizes."""
    rng = np.random.default_rng(5)
    sizes = [(600, 900), (315, 560), (315, 560), (350, 527), (495, 660)]
    return [cv2.resize(rng.integers(0, 256, (h // 4, w // 4, 3), dtype=np.uint8), (w, h)) for h, w in sizes]


@pytest.mark.parametrize(("name", "parameters", "draws"), DRAWS)
def test_draws_are_as_documented_and_can_be_injected(name: str, parameters: tuple, draws: list) -> None:
    options = {"textures": textures()} if name == "frost" else {}
    function, image, recorder = getattr(oracles, name), make_image(48), Recorder(1)
    before = image.copy()
    out = function(image, recorder, *parameters, **options)
    assert out.dtype == np.uint8
    assert out.shape == image.shape
    assert (image == before).all()
    assert [(method, np.shape(values)) for method, values in recorder.drawn] == draws
    replay = Replay([values for _, values in recorder.drawn])
    assert (function(image, replay, *parameters, **options) == out).all()
    assert replay.left == []


def test_the_table_covers_all_corruptions() -> None:
    assert len({name for name, _, _ in DRAWS}) == 19


@pytest.mark.parametrize("index", range(5))
def test_frost_cuts_the_drawn_window_of_the_drawn_texture(index: int) -> None:
    texture = textures()[index]
    replay = Replay([index, 7, 31])
    out = oracles.frost(np.zeros((224, 224, 3), np.uint8), replay, 1, 1, textures=textures())
    assert (out == texture[7:231, 31:255]).all()
    assert replay.asked == [(5,), (texture.shape[0] - 224,), (texture.shape[1] - 224,)]


@pytest.mark.parametrize(("keep", "add"), [(1, 0.4), (0.65, 0.7), (0.6, 0.75)])
def test_frost_adds_clips_and_truncates(keep: float, add: float) -> None:
    image = np.repeat(np.arange(256, dtype=np.uint8).reshape(16, 16, 1), 3, axis=2)
    sheets = [np.full((20, 20, 3), level, np.uint8) for level in (0, 64, 128, 200, 255)]
    for index, level in enumerate((0, 64, 128, 200, 255)):
        out = oracles.frost(image, Replay([index, 0, 0]), keep, add, textures=sheets)
        expected = [int(min(255.0, keep * value + add * level)) for value in range(256)]
        assert out[..., 1].ravel().tolist() == expected


@pytest.mark.parametrize("scale", FROST_SIZES)
@pytest.mark.parametrize("index", range(5))
def test_frost_shrinks_by_plain_bilinear_sampling(scale: float, index: int) -> None:
    side, texture = 32, textures()[index].astype(float)
    replay = Replay([index, 3, 5])
    out = oracles.frost(
        np.zeros((side, side, 3), np.uint8), replay, 1, 1, textures=textures(), scale=scale
    ).astype(int)
    assert (replay.asked[1][0] + side, replay.asked[2][0] + side) == FROST_SIZES[scale][index]
    rows = (np.arange(3, 3 + side) + 0.5) / scale - 0.5
    columns = (np.arange(5, 5 + side) + 0.5) / scale - 0.5
    top, left = np.floor(rows).astype(int), np.floor(columns).astype(int)
    low, right = (rows - top)[:, None, None], (columns - left)[None, :, None]
    expected = (
        texture[np.ix_(top, left)] * (1 - low) * (1 - right)
        + texture[np.ix_(top, left + 1)] * (1 - low) * right
        + texture[np.ix_(top + 1, left)] * low * (1 - right)
        + texture[np.ix_(top + 1, left + 1)] * low * right
    )
    assert np.abs(out - np.rint(expected)).max() <= 1


def test_published_motion_blur_rounds_where_newer_magicks_floor() -> None:
    published, floored = (
        oracles.motion_blur(make_image(64), np.random.RandomState(3), 10, 3, floor=floor).astype(int)
        for floor in (False, True)
    )
    difference = published - floored
    assert set(np.unique(difference)) == {0, 1}
    assert 0.4 < difference.mean() < 0.6
