"""How units and oracles are compared, for the tests and for the benchmark that checks before it times."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.stats import chi2, norm, poisson

import windtunnel
from tests.parity import oracles
from tests.parity.draws import OURS, Replay
from tests.parity.reference import GOLDEN, PARAMETERS
from windtunnel.corruptions import REGISTRY
from windtunnel.suites.golden_digests import golden_image

# One false alarm in a thousand for each distribution test; seeds are fixed.
ALPHA = 1e-3
MAX_LEVELS, MEAN_LEVELS = 1, 0.05
# Expected counts below this mean a level that cannot occur.
IMPOSSIBLE = 1e-9

# Those of ImageNet-C; candidate_oracles.py and ood_oracles.py have the others.
GRADED = tuple(name for name in REGISTRY.shipped() if REGISTRY.get(name).source.startswith("Hendrycks"))
DETERMINISTIC = tuple(name for name in GRADED if not REGISTRY.get(name).random)
NOISES = ("gaussian_noise", "impulse_noise", "shot_noise", "speckle_noise")


def photograph(side: int, seed: int = 0) -> np.ndarray:
    """Something like an image: smooth shapes, an edge, an even area, grain."""
    rng = np.random.default_rng(seed)
    coarse = Image.fromarray(rng.integers(0, 256, (7, 7, 3), dtype=np.uint8))
    smooth = np.asarray(coarse.resize((side, side), Image.Resampling.BICUBIC)).astype(int)
    smooth[: side // 3, : side // 2] = rng.integers(0, 256, 3)
    smooth[side // 2 :, side // 3 :] += rng.integers(-12, 13, (side - side // 2, side - side // 3, 3))
    return np.clip(smooth, 0, 255).astype(np.uint8)


def make_images(edition: int) -> list[np.ndarray]:
    given = np.asarray(Image.open(GOLDEN / f"input-{edition}.png"))
    return [given, golden_image(edition), photograph(edition)]


def run_unit(name: str, image: np.ndarray, severity: int, edition: int) -> np.ndarray:
    return windtunnel.corrupt(image, name, severity, edition=edition, seed=3, sample_id="parity")


def run_oracle(name: str, image: np.ndarray, severity: int, edition: int) -> np.ndarray:
    parameters = PARAMETERS[edition, name, severity]
    if name == "frost":
        return frost_oracle(image, severity, edition)
    drawn = []
    if name in OURS:
        drawn = OURS[name](REGISTRY.get(name).draws(3, "parity", severity), *image.shape[:2], *parameters)
    return getattr(oracles, name)(image, Replay(drawn), *parameters)


def frost_oracle(image: np.ndarray, severity: int, edition: int) -> np.ndarray:
    """The oracle of frost on our textures, with our unit's draws."""
    unit = REGISTRY.get("frost")
    rng = unit.draws(3, "parity", severity)
    scale = unit.parameters(severity, edition)["shrink"]
    folder = Path(str(files("windtunnel.published") / "frost"))
    textures = [np.asarray(Image.open(folder / f"frost{n}.jpg").convert("RGB")) for n in range(1, 6)]
    index = rng.integer("texture", 0, 5)
    height, width = (round(side * scale) for side in textures[index].shape[:2])
    drawn = [index, rng.integer("row", 0, height - edition), rng.integer("column", 0, width - edition)]
    keep, add = PARAMETERS[edition, "frost", severity]
    return oracles.frost(image, Replay(drawn), keep, add, textures=textures, scale=scale)


def caught(ours: np.ndarray, theirs: np.ndarray) -> bool:
    """Whether two images differ by more than the tolerance."""
    difference = np.abs(ours.astype(int) - theirs)
    return bool(difference.max() > MAX_LEVELS or difference.mean() > MEAN_LEVELS)


def noise_cdf(name: str, value: int, parameter: float) -> np.ndarray:
    """P(output < k) for k = 1..255 after clipping and truncation, straight from the definition."""
    edges = np.arange(1, 256)
    if name == "gaussian_noise":
        return norm.cdf((edges - value) / (255 * parameter))
    if name == "speckle_noise":
        return norm.cdf((edges - value) / (value * parameter)) if value else np.ones(255)
    if name == "impulse_noise":
        return np.where(edges <= value, 0.0, 1 - parameter) + parameter / 2
    # trunc(255 * count / rate) < k means count < k * rate / 255
    counts = np.ceil(edges * parameter / 255 - 1e-9) - 1
    return poisson.cdf(counts, value / 255 * parameter)


def chi_square(outputs: np.ndarray, expected: np.ndarray) -> tuple[float, int]:
    """Pearson's statistic and degrees of freedom, cells pooled until each expects at least five."""
    seen = np.bincount(outputs, minlength=256)
    if seen[expected < IMPOSSIBLE].any():
        return np.inf, 1
    groups = np.minimum((np.cumsum(expected) // 5).astype(int), max(int(expected.sum() // 5) - 1, 0))
    pooled = np.bincount(groups, weights=expected)
    counted = np.bincount(groups, weights=seen)
    kept = pooled > 0
    statistic = float(((counted[kept] - pooled[kept]) ** 2 / pooled[kept]).sum())
    return statistic, int(kept.sum()) - 1


def noise_p_value(name: str, parameter: float, outputs_of: Callable[[np.ndarray], np.ndarray]) -> float:
    """p that outputs of 64 input levels follow the definition with a parameter.

    Two tests, Bonferroni's correction between them: chi-square of every level's outputs, which sees
    shapes, and the mean of all outputs, which sees half a level of rounding under much noise.
    """
    levels = np.arange(0, 256, 4)
    image = np.repeat(levels.astype(np.uint8), 12288).reshape(len(levels), 4096, 3)
    outputs = outputs_of(image)
    statistic, freedom, shift, variance = 0.0, 0, 0.0, 0.0
    for row, value in enumerate(levels):
        share = np.diff(np.concatenate([[0.0], noise_cdf(name, int(value), parameter), [1.0]]))
        part = chi_square(outputs[row].ravel(), share * outputs[row].size)
        statistic, freedom = statistic + part[0], freedom + part[1]
        mean = share @ np.arange(256)
        shift += float(outputs[row].sum()) - mean * outputs[row].size
        variance += (share @ np.arange(256) ** 2 - mean**2) * outputs[row].size
    return float(2 * min(chi2.sf(statistic, freedom), 2 * norm.sf(abs(shift) / np.sqrt(variance))))


def unit_noise(name: str, parameter: float) -> Callable[[np.ndarray], np.ndarray]:
    """Our unit with one parameter."""
    unit = REGISTRY.get(name)
    return lambda image: unit.function(image, unit.draws(7, "chi", 1), **{unit.params[0]: parameter})
