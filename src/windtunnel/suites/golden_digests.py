"""Golden digests: fingerprints of a unit's pixels, which detect any change.

They are valid under constraints.txt on x86-64 Linux; on other platforms the parity tests apply.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

from windtunnel.core.images import Image
from windtunnel.corruptions import Corruption
from windtunnel.models.wrappers import Wrapper
from windtunnel.sequences import Perturbation

# Sample ids: a unit with one strength is drawn with each of them, others with the first.
GOLDEN_DRAWS = ("golden", "golden 2", "golden 3", "golden 4", "golden 5")


def golden_image(side_px: int) -> Image:
    """An image computed by formula: colour ramps, rings, edges, fine texture, black and white corners."""
    y, x = np.mgrid[0:side_px, 0:side_px] / (side_px - 1)
    distance = np.hypot(x - 0.45, y - 0.55)
    red = 255 * x
    green = 127.5 + 127.5 * np.cos(40 * distance)
    blue = np.where((x - 0.3) ** 2 + (y - 0.4) ** 2 < 0.05, 230, 255 * y)
    image = np.stack([red, green, blue], axis=-1)
    checks = (np.arange(side_px)[:, None] // 2 + np.arange(side_px)[None, :] // 2) % 2
    corner = side_px // 4
    image[-corner:, -corner:] = 255 * checks[-corner:, -corner:, None]
    image[:corner, -corner:] = 255
    image[-corner:, :corner] = 0
    return np.asarray(np.floor(image), np.uint8)


def golden_digest(unit: Corruption | Perturbation) -> str:
    """Digest of a unit's pixels at every level of every edition, on the golden image of that size."""
    digest = hashlib.blake2b(digest_size=16)
    for pixels in _levels(unit) if isinstance(unit, Corruption) else _frames(unit):
        digest.update(np.ascontiguousarray(pixels).tobytes())
    return digest.hexdigest()


def golden_views_digest(wrapper: Wrapper) -> str:
    """Digest of a wrapper's views, with its default settings, of golden images without and with noise."""
    digest = hashlib.blake2b(digest_size=16)
    for side in (32, 224):
        image = golden_image(side)
        noise = np.random.default_rng(0).integers(-60, 61, image.shape)
        noisy = np.clip(image + noise, 0, 255).astype(np.uint8)
        for view in wrapper.views(np.stack([image, noisy]), wrapper.settings({})):
            digest.update(np.ascontiguousarray(view).tobytes())
    return digest.hexdigest()


def _levels(unit: Corruption) -> Iterator[Image]:
    """The images of every level; of a unit with one strength, several draws."""
    names = GOLDEN_DRAWS if unit.has_one_strength else GOLDEN_DRAWS[:1]
    for edition in unit.editions:
        image = golden_image(edition)
        if edition < unit.min_side_px:
            continue
        for level in unit.levels:
            for name in names:
                yield unit.apply(image.copy(), unit.draws(0, name, level), level, edition)


def _frames(unit: Perturbation) -> Iterator[Image]:
    for edition in sorted(unit.tables):
        for difficulty in unit.difficulties:
            rng = unit.draws(0, "golden", difficulty)
            yield from unit.apply(golden_image(edition), rng, difficulty, edition)
