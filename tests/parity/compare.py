"""How units and oracles are compared, for the tests and for the benchmark that checks before it times."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PIL import Image
from scipy.stats import chi2, norm, poisson

import windtunnel
from tests.parity import oracles
from tests.parity.draws import OURS, Replay
from tests.parity.reference import GOLDEN, PARAMETERS
from windtunnel.corruptions import REGISTRY
from windtunnel.golden import golden_picture

# One false alarm in a thousand for each distribution test; seeds are fixed.
ALPHA = 1e-3
MAX_LEVELS, MEAN_LEVELS = 1, 0.05

DETERMINISTIC = tuple(name for name in REGISTRY.shipped() if not REGISTRY.get(name).random)
NOISES = ("gaussian_noise", "impulse_noise", "shot_noise", "speckle_noise")


def photograph(side: int, seed: int = 0) -> np.ndarray:
    """Something like a picture: smooth shapes, an edge, an even area, grain."""
    rng = np.random.default_rng(seed)
    coarse = Image.fromarray(rng.integers(0, 256, (7, 7, 3), dtype=np.uint8))
    smooth = np.asarray(coarse.resize((side, side), Image.Resampling.BICUBIC)).astype(int)
    smooth[: side // 3, : side // 2] = rng.integers(0, 256, 3)
    smooth[side // 2 :, side // 3 :] += rng.integers(-12, 13, (side - side // 2, side - side // 3, 3))
    return np.clip(smooth, 0, 255).astype(np.uint8)


def pictures(edition: int) -> list[np.ndarray]:
    given = np.asarray(Image.open(GOLDEN / f"input-{edition}.png"))
    return [given, golden_picture(edition), photograph(edition)]


def run_unit(name: str, image: np.ndarray, severity: int, edition: int) -> np.ndarray:
    return windtunnel.corrupt(image, name, severity, edition=edition, seed=3, sample_id="parity")


def run_oracle(name: str, image: np.ndarray, severity: int, edition: int) -> np.ndarray:
    parameters = PARAMETERS[edition, name, severity]
    drawn = []
    if name in OURS:
        drawn = OURS[name](REGISTRY.get(name).draws(3, "parity", severity), image.shape[0], *parameters)
    return getattr(oracles, name)(image, Replay(drawn), *parameters)


def caught(ours: np.ndarray, theirs: np.ndarray) -> bool:
    """Whether two pictures differ by more than the tolerance."""
    difference = np.abs(ours.astype(int) - theirs)
    return bool(difference.max() > MAX_LEVELS or difference.mean() > MEAN_LEVELS)


def same(outputs: np.ndarray) -> np.ndarray:
    return outputs


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
    groups = np.minimum((np.cumsum(expected) // 5).astype(int), max(int(expected.sum() // 5) - 1, 0))
    pooled = np.bincount(groups, weights=expected)
    counted = np.bincount(groups, weights=seen)
    impossible = counted[pooled == 0].sum()
    kept = pooled > 0
    statistic = float(((counted[kept] - pooled[kept]) ** 2 / pooled[kept]).sum()) + 1e9 * impossible
    return statistic, int(kept.sum()) - 1


def noise_p_value(
    name: str, parameter: float, tested: float, change: Callable[[np.ndarray], np.ndarray]
) -> float:
    """p that the unit's outputs, changed, follow the definition with the tested parameter."""
    levels = np.arange(0, 256, 4)
    image = np.repeat(levels.astype(np.uint8), 12288).reshape(len(levels), 4096, 3)
    unit = REGISTRY.get(name)
    field = next(iter(unit.params))
    outputs = change(unit.function(image, unit.draws(7, "chi", 1), **{field: parameter}))
    statistic, freedom = 0.0, 0
    for row, value in enumerate(levels):
        edges = np.concatenate([[0.0], noise_cdf(name, int(value), tested), [1.0]])
        expected = np.diff(edges) * outputs[row].size
        part = chi_square(outputs[row].ravel(), expected)
        statistic, freedom = statistic + part[0], freedom + part[1]
    return float(chi2.sf(statistic, freedom))
