"""The peer that is installed: imagecorruptions 1.1.2, or its maintained fork imagecorruptions-imaug 1.1.5.

Both have the import name `imagecorruptions`, so that each needs an environment of its own. The first is made
to run on today's packages without touching its algorithms; the fork runs as it is.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numba
import numpy as np
import skimage.filters
import skimage.util

NAMES = (
    "gaussian_noise", "shot_noise", "impulse_noise", "defocus_blur", "glass_blur", "motion_blur", "zoom_blur",
    "snow", "frost", "fog", "brightness", "contrast", "elastic_transform", "pixelate", "jpeg_compression",
    "speckle_noise", "gaussian_blur", "spatter", "saturate",
)  # fmt: skip
ORIGINAL, FORK = "imagecorruptions", "imagecorruptions-imaug"
_random_noise = skimage.util.random_noise
# The 224-pixel parameters of its glass blur: sigma, reach, passes.
GLASS = ((0.7, 1, 2), (0.9, 2, 1), (1, 2, 3), (1.1, 3, 2), (1.5, 4, 2))


def installed() -> tuple[str, str]:
    """Name and version of the peer in this environment."""
    for package in (ORIGINAL, FORK):
        try:
            return package, version(package)
        except PackageNotFoundError:
            continue
    raise SystemExit(f"No peer is installed; install {ORIGINAL} or {FORK}, as `make bench` does.")


def load() -> Callable[[np.ndarray, str, int], np.ndarray]:
    """Import the package; the original behind shims for names that NumPy 2 and scikit-image 0.19 removed."""
    warnings.simplefilter("ignore")
    original = installed()[0] == ORIGINAL
    if original:
        setattr(np, "float_", np.float64)  # noqa: B010 - the name is gone from NumPy 2
    import imagecorruptions
    from imagecorruptions import corruptions

    if original:
        corruptions.gaussian = gaussian
        corruptions.sk.util.random_noise = _seeded_random_noise

    def corrupt(image: np.ndarray, name: str, severity: int) -> np.ndarray:
        return np.asarray(imagecorruptions.corrupt(image, severity=severity, corruption_name=name))

    return corrupt


def _seeded_random_noise(*args: Any, **options: Any) -> np.ndarray:
    """scikit-image's noise drawn from NumPy's global seed, as it was when the package was written."""
    return np.asarray(_random_noise(*args, **options, rng=np.random.randint(2**31)))  # noqa: NPY002


def gaussian(*args: Any, multichannel: bool = False, **options: Any) -> np.ndarray:
    """scikit-image's gaussian under its old signature."""
    if multichannel:
        options["channel_axis"] = -1
    return np.asarray(skimage.filters.gaussian(*args, **options))


def compiled_glass_blur(image: np.ndarray, severity: int) -> np.ndarray:
    """The package's glass blur as its development branch has it: the same loop, compiled by numba."""
    sigma, reach, passes = GLASS[severity - 1]
    pixels = np.uint8(gaussian(image / 255.0, sigma=sigma, multichannel=True) * 255)
    _shuffle(pixels, reach, passes)
    return (np.clip(gaussian(pixels / 255.0, sigma=sigma, multichannel=True), 0, 1) * 255).astype(np.uint8)


@numba.njit(cache=True)
def seed_compiled(seed: int) -> None:
    """Seed compiled code's own generator."""
    np.random.seed(seed)  # noqa: NPY002


@numba.njit(cache=True)
def _shuffle(pixels: np.ndarray, reach: int, passes: int) -> None:
    for _ in range(passes):
        for row in range(pixels.shape[0] - reach, reach, -1):
            for column in range(pixels.shape[1] - reach, reach, -1):
                dx, dy = np.random.randint(-reach, reach), np.random.randint(-reach, reach)  # noqa: NPY002
                pixels[row, column] = pixels[row + dy, column + dx]
