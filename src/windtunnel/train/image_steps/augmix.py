"""AugMix: chains of simple operations, mixed with each other and with the image."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PIL import Image as PillowImage
from PIL import ImageOps

from windtunnel.core.seeding import Draws
from windtunnel.train.image_steps import Image, ImageStep, Parameter, Settings

# From an image and a level of 0 to 10 with a sign.
Operation = Callable[[PillowImage.Image, float], PillowImage.Image]

MOST = 10  # the largest severity
DEEPEST = 3  # operations in a chain of random length
# The change at the largest severity.
DEGREES, SHEAR, SHIFT, BITS, VALUES = 30, 0.3, 1 / 3, 4, 256


def _affine(image: PillowImage.Image, matrix: tuple[float, ...]) -> PillowImage.Image:
    return image.transform(image.size, PillowImage.Transform.AFFINE, matrix, PillowImage.Resampling.BILINEAR)


def _shift(level: float, side_px: int) -> int:
    return int(level / MOST * side_px * SHIFT)


# None of them is a corruption of ImageNet-C.
OPERATIONS: tuple[Operation, ...] = (
    lambda image, _level: ImageOps.autocontrast(image),
    lambda image, _level: ImageOps.equalize(image),
    lambda image, level: ImageOps.posterize(image, BITS - int(abs(level) / MOST * BITS) or 1),
    lambda image, level: image.rotate(int(level / MOST * DEGREES), PillowImage.Resampling.BILINEAR),
    lambda image, level: ImageOps.solarize(image, VALUES - int(abs(level) / MOST * VALUES)),
    lambda image, level: _affine(image, (1, level / MOST * SHEAR, 0, 0, 1, 0)),
    lambda image, level: _affine(image, (1, 0, 0, level / MOST * SHEAR, 1, 0)),
    lambda image, level: _affine(image, (1, 0, _shift(level, image.width), 0, 1, 0)),
    lambda image, level: _affine(image, (1, 0, 0, 0, 1, _shift(level, image.height))),
)


class AugMix(ImageStep):
    """(1 - m) image + m (w_1 chain_1 + ... + w_n chain_n), w ~ Dirichlet(alpha), m ~ Beta(alpha, alpha)."""

    name = "augmix"
    help = "Mix the image with chains of geometric and tonal operations that ImageNet-C does not contain."
    source = (
        "Hendrycks et al. 2020: width 3, depth 1 to 3, alpha 1, severity 3 (CIFAR; their ImageNet code has "
        "1). They mix floats; windtunnel rounds the mixture to bytes"
    )
    parameters = (
        Parameter("severity", 3.0, "largest strength of an operation; 0 for no operations", 0.0, float(MOST)),
        Parameter("width", 3, "number of chains", 1, 10),
        Parameter("depth", 0, "operations in a chain; 0 for 1 to 3 at random", 0, 10),
        Parameter("alpha", 1.0, "parameter of the Dirichlet and the Beta distribution", 0.01, 100.0),
    )
    # Its operations are sequences and candidates.
    trained_on = ("seq/rotate", "seq/shear", "seq/translate", "s2n/rotate", "s2n/posterize", "s2n/solarize")

    def is_active(self, settings: Settings) -> bool:
        """Whether there are operations."""
        return bool(settings["severity"])

    def apply(self, image: Image, rng: Draws, settings: Settings) -> Image:
        """The mixture."""
        draws = np.random.default_rng(rng.key("augmix"))
        weights, share = mixture(draws, int(settings["width"]), float(settings["alpha"]))
        mixed = (1 - share) * image.astype(np.float64)
        for weight in weights:
            mixed += share * weight * _chain(image, draws, settings)
        return np.clip(np.rint(mixed), 0, 255).astype(np.uint8)


def mixture(draws: np.random.Generator, width: int, alpha: float) -> tuple[list[float], float]:
    """The weights of the chains, whose sum is 1, and the share of all chains together."""
    weights = draws.dirichlet([alpha] * width)
    return [float(weight) for weight in weights], float(draws.beta(alpha, alpha))


def _chain(image: Image, draws: np.random.Generator, settings: Settings) -> Image:
    """The image after some operations."""
    depth = int(settings["depth"]) or int(draws.integers(1, DEEPEST + 1))
    severity = float(settings["severity"])
    if not severity:
        return image
    changed = PillowImage.fromarray(image)
    for _ in range(depth):
        operation = OPERATIONS[int(draws.integers(len(OPERATIONS)))]
        level = draws.uniform(min(0.1, severity), severity) * draws.choice((-1, 1))
        changed = operation(changed, float(level))
    return np.asarray(changed)


augmix = AugMix()
