"""ImageNet-C: the oracles are the reference, and the units are the oracles."""

from __future__ import annotations

import csv
import hashlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.stats import chi2, norm

import windtunnel
from tests.parity import oracles
from windtunnel.corruptions import EDITIONS, REGISTRY, SEVERITIES

GOLDEN = Path(__file__).parent / "golden"
# One false alarm in a thousand for each distribution test; seeds are fixed.
ALPHA = 1e-3


def golden_rows() -> list[tuple[int, str, int, str]]:
    with (GOLDEN / "imagenet-c.csv").open() as file:
        return [
            (int(row["edition"]), row["corruption"], int(row["severity"]), row["digest"])
            for row in csv.DictReader(file)
        ]


def reference_input(edition: int) -> np.ndarray:
    return np.asarray(Image.open(GOLDEN / f"input-{edition}.png"))


def oracle(name: str, image: np.ndarray, severity: int, edition: int) -> np.ndarray:
    rng = np.random.RandomState(12345)
    parameters = REGISTRY.get(name).parameters(severity, edition)
    return getattr(oracles, name)(image, rng, *parameters.values())


@pytest.mark.parametrize(("edition", "name", "severity", "digest"), golden_rows())
def test_the_oracle_is_the_original_code(edition: int, name: str, severity: int, digest: str) -> None:
    out = oracle(name, reference_input(edition), severity, edition)
    assert hashlib.blake2b(out.tobytes(), digest_size=16).hexdigest() == digest


@pytest.mark.parametrize("name", ["defocus_blur", "jpeg_compression"])
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("severity", SEVERITIES)
def test_deterministic_units_are_within_one_level_of_the_oracle(
    name: str, edition: int, severity: int
) -> None:
    rng = np.random.default_rng(edition)
    for image in (reference_input(edition), rng.integers(0, 256, (edition, edition, 3), dtype=np.uint8)):
        ours = windtunnel.corrupt(image, name, severity, edition=edition, seed=0).astype(int)
        difference = np.abs(ours - oracle(name, image, severity, edition))
        assert difference.max() <= 1
        assert difference.mean() <= 0.05


def gaussian_noise_chi_square(sigma_used: float, sigma_tested: float, *, rounding: float = 0.0) -> float:
    """p-value that outputs follow truncation of v + 255*sigma*z, over all input levels pooled."""
    image = np.repeat(np.arange(256, dtype=np.uint8), 6144).reshape(256, 2048, 3)
    unit = REGISTRY.get("gaussian_noise")
    outputs = unit.function(image, unit.draws(7, "chi", 1), sigma=sigma_used).reshape(256, -1)
    statistic, freedom = 0.0, 0
    for value in range(256):
        edges = np.concatenate([[-np.inf], np.arange(1, 256) + rounding, [np.inf]])
        expected = np.diff(norm.cdf((edges - value) / (255 * sigma_tested))) * outputs.shape[1]
        seen = np.bincount(outputs[value], minlength=256)
        # Cells are pooled from the left until each expects at least five.
        groups = np.minimum((np.cumsum(expected) // 5).astype(int), int(expected.sum() // 5) - 1)
        pooled = np.bincount(groups, weights=expected)
        counted = np.bincount(groups, weights=seen)
        kept = pooled > 0
        statistic += float(((counted[kept] - pooled[kept]) ** 2 / pooled[kept]).sum())
        freedom += int(kept.sum()) - 1
    return float(chi2.sf(statistic, freedom))


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("severity", SEVERITIES)
def test_gaussian_noise_has_the_reference_distribution(edition: int, severity: int) -> None:
    sigma = REGISTRY.get("gaussian_noise").parameters(severity, edition)["sigma"]
    assert gaussian_noise_chi_square(sigma, sigma) > ALPHA


def test_the_distribution_test_notices_five_per_cent_of_sigma_and_rounding() -> None:
    assert gaussian_noise_chi_square(0.18 * 1.05, 0.18) < ALPHA
    assert gaussian_noise_chi_square(0.04, 0.04, rounding=-0.5) < ALPHA


def test_noise_fields_of_two_pictures_are_independent() -> None:
    grey = np.full((224, 224, 3), 128, np.uint8)
    fields = [
        windtunnel.corrupt(grey, "gaussian_noise", 3, seed=0, sample_id=name).astype(float) - 128
        for name in ("a", "b")
    ]
    limit = norm.isf(ALPHA / 2) / np.sqrt(grey.size)
    assert abs(np.corrcoef(fields[0].ravel(), fields[1].ravel())[0, 1]) < limit
    channels = fields[0].reshape(-1, 3)
    limit = norm.isf(ALPHA / 2) / np.sqrt(len(channels))
    assert abs(np.corrcoef(channels.T)[np.triu_indices(3, 1)]).max() < limit
