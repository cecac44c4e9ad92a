"""The fast units are the oracles: within one grey level, or of one distribution."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from PIL import Image
from scipy.stats import chi2, norm

import windtunnel
from tests.parity import oracles
from tests.parity.compare import (
    ALPHA,
    DETERMINISTIC,
    MAX_LEVELS,
    MEAN_LEVELS,
    NOISES,
    caught,
    chi_square,
    noise_cdf,
    noise_p_value,
    photograph,
    pictures,
    run_oracle,
    run_unit,
    same,
)
from tests.parity.draws import OURS, Replay
from tests.parity.reference import PARAMETERS
from windtunnel.corruptions import EDITIONS, REGISTRY, SEVERITIES, frost
from windtunnel.kernels import motion


def assert_close(ours: np.ndarray, theirs: np.ndarray) -> None:
    difference = np.abs(ours.astype(int) - theirs)
    assert difference.max() <= MAX_LEVELS
    assert difference.mean() <= MEAN_LEVELS


@pytest.mark.parametrize("name", sorted(set(REGISTRY.shipped())))
def test_tables_are_the_published_ones(name: str) -> None:
    unit = REGISTRY.get(name)
    for edition in EDITIONS:
        for severity in SEVERITIES:
            ours = list(unit.parameters(severity, edition).values())
            theirs = PARAMETERS[edition, name, severity]
            assert ours[: len(theirs)] == pytest.approx(theirs, rel=1e-12), (edition, severity)


@pytest.mark.parametrize("name", [*DETERMINISTIC, *OURS])
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("severity", SEVERITIES)
def test_units_are_within_one_level_of_the_oracle(name: str, edition: int, severity: int) -> None:
    for image in pictures(edition):
        assert_close(run_unit(name, image, severity, edition), run_oracle(name, image, severity, edition))


@pytest.mark.parametrize("name", ["defocus_blur", "gaussian_blur", "motion_blur", "contrast", "glass_blur"])
def test_other_sizes_follow_the_same_code(name: str) -> None:
    for side in (97, 150):
        image = photograph(side)
        assert_close(run_unit(name, image, 3, 224), run_oracle(name, image, 3, 224))


# Frost


def frost_textures(edition: int) -> list[np.ndarray]:
    return [frost.frost.function.__globals__["_load"]("", number) for number in range(5)]


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("severity", SEVERITIES)
def test_frost_is_the_oracle_with_the_same_textures(edition: int, severity: int) -> None:
    unit = REGISTRY.get("frost")
    scale = unit.parameters(severity, edition)["shrink"]
    for number in range(4):
        image = photograph(edition, number)
        rng = unit.draws(3, f"frost {number}", severity)
        ours = unit.apply(image, rng, severity, edition)
        textures = frost_textures(edition)
        index = rng.integer("texture", 0, 5)
        size = np.round(np.array(textures[index].shape[:2]) * scale).astype(int)
        drawn = [
            index,
            rng.integer("row", 0, int(size[0]) - edition),
            rng.integer("column", 0, int(size[1]) - edition),
        ]
        keep, add = PARAMETERS[edition, "frost", severity]
        theirs = oracles.frost(image, Replay(drawn), keep, add, textures=textures, scale=scale)
        assert_close(ours, theirs)


def test_frost_draws_five_textures_equally_and_every_window() -> None:
    unit = REGISTRY.get("frost")
    seen = [unit.draws(0, str(n), 1).integer("texture", 0, 5) for n in range(5000)]
    counts = np.bincount(seen, minlength=6)
    assert counts[5] == 0
    assert ((counts[:5] - 1000) ** 2 / 1000).sum() < chi2.isf(ALPHA, 4)


def test_frost_takes_textures_of_the_users(tmp_path: object) -> None:
    from pathlib import Path

    folder = Path(str(tmp_path))
    unit = REGISTRY.get("frost")
    image = photograph(64)
    with pytest.raises(windtunnel.UserError, match="frost1 to frost5"):
        unit.apply(image, unit.draws(0, "", 1), 1, 224, {"textures": str(folder)})
    for number in range(1, 6):
        Image.new("RGB", (400, 300), (10 * number, 0, 0)).save(folder / f"frost{number}.png")
    out = unit.apply(image, unit.draws(0, "", 5), 5, 224, {"textures": str(folder)})
    added = out[:, :, 0].astype(int) - (0.6 * image[:, :, 0]).astype(int)
    assert set(np.unique(added)) <= {int(0.75 * 10 * n) + extra for n in range(1, 6) for extra in (0, 1)}
    assert unit.assets({"textures": str(folder)}) != unit.assets({"textures": str(Path(__file__).parent)})


# Noises: outputs by input level against the exact distribution


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("severity", SEVERITIES)
def test_noises_have_the_reference_distribution(name: str, edition: int, severity: int) -> None:
    (parameter,) = PARAMETERS[edition, name, severity]
    assert noise_p_value(name, parameter, parameter, same) > ALPHA


@pytest.mark.parametrize("name", NOISES)
def test_oracle_noises_have_that_distribution_too(name: str) -> None:
    """The oracle's own draws pass the same test, so that the definition above is the oracle's."""
    (parameter,) = PARAMETERS[224, name, 3]
    levels = np.arange(0, 256, 16)
    image = np.repeat(levels.astype(np.uint8), 12288).reshape(len(levels), 4096, 3)
    outputs = getattr(oracles, name)(image, np.random.RandomState(5), parameter)
    statistic, freedom = 0.0, 0
    for row, value in enumerate(levels):
        edges = np.concatenate([[0.0], noise_cdf(name, int(value), parameter), [1.0]])
        part = chi_square(outputs[row].ravel(), np.diff(edges) * outputs[row].size)
        statistic, freedom = statistic + part[0], freedom + part[1]
    assert chi2.sf(statistic, freedom) > ALPHA


def correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Correlation in units of its standard error under independence."""
    return float(abs(np.corrcoef(first.ravel(), second.ravel())[0, 1]) * np.sqrt(first.size))


@pytest.mark.parametrize("name", NOISES)
def test_noise_fields_are_independent(name: str) -> None:
    """Between pictures, channels, neighbours, severities and seeds."""
    grey = np.full((224, 224, 3), 128, np.uint8)

    def field(severity: int = 3, seed: int = 0, sample_id: str = "a") -> np.ndarray:
        return windtunnel.corrupt(grey, name, severity, seed=seed, sample_id=sample_id).astype(float)

    base, limit = field(), norm.isf(ALPHA / 2)
    pairs = {
        "pictures": (base, field(sample_id="b")),
        "seeds": (base, field(seed=1)),
        "severities": (base, field(severity=2)),
        "red and green": (base[:, :, 0], base[:, :, 1]),
        "green and blue": (base[:, :, 1], base[:, :, 2]),
        "neighbours across": (base[:, 1:], base[:, :-1]),
        "neighbours down": (base[1:], base[:-1]),
    }
    for what, (first, second) in pairs.items():
        assert correlation(first, second) < limit, what


# Mutants: each of these mistakes is caught by the checks above


def test_mutant_true_swap_glass_is_caught() -> None:
    image = photograph(224)
    sigma, reach, passes = PARAMETERS[224, "glass_blur", 3]
    drawn = OURS["glass_blur"](REGISTRY.get("glass_blur").draws(3, "parity", 3), 224, sigma, reach, passes)
    pixels = (oracles.blurred(image / 255.0, sigma) * 255).astype(np.uint8)
    reach = int(reach)
    for offsets in drawn:
        steps = iter(offsets.tolist())
        for row in range(224 - reach, reach, -1):
            for column in range(224 - reach, reach, -1):
                dx, dy = next(steps)
                here = pixels[row, column].copy()
                pixels[row, column] = pixels[row + dy, column + dx]
                pixels[row + dy, column + dx] = here
    swapped = oracles.truncated(oracles.blurred(pixels / 255.0, sigma))
    assert caught(swapped, run_oracle("glass_blur", image, 3, 224))


def test_mutant_rounding_for_truncation_is_caught() -> None:
    image = photograph(224)
    x = image / 255.0
    mean = x.mean(axis=(0, 1), keepdims=True)
    rounded = np.rint(np.clip((x - mean) * 0.2 + mean, 0, 1) * 255).astype(np.uint8)
    assert caught(rounded, run_oracle("contrast", image, 3, 224))
    assert (
        noise_p_value("gaussian_noise", 0.18, 0.18, lambda out: np.clip(out.astype(int) + 1, 0, 255)) < ALPHA
    )


@pytest.mark.parametrize("name", NOISES)
def test_mutant_five_per_cent_more_noise_is_caught(name: str) -> None:
    (parameter,) = PARAMETERS[224, name, 3]
    assert noise_p_value(name, parameter * 1.05, parameter, same) < ALPHA


def test_mutant_one_mask_for_all_channels_is_caught() -> None:
    grey = np.full((224, 224, 3), 128, np.uint8)
    out = windtunnel.corrupt(grey, "impulse_noise", 3, seed=0).astype(float)
    shared = np.repeat(out[:, :, :1], 3, axis=2)
    assert correlation(shared[:, :, 0], shared[:, :, 1]) > norm.isf(ALPHA / 2)


def test_mutant_noise_shared_by_two_pictures_is_caught() -> None:
    grey = np.full((224, 224, 3), 128, np.uint8)
    fields = [windtunnel.corrupt(grey, "gaussian_noise", 3, seed=0, sample_id="a") for _ in range(2)]
    assert correlation(fields[0].astype(float), fields[1].astype(float)) > norm.isf(ALPHA / 2)


def test_mutant_symmetric_motion_kernel_is_caught() -> None:
    image = photograph(224)
    angle = REGISTRY.get("motion_blur").draws(3, "parity", 3).uniform("angle", -45, 45)
    across, down, weight = motion.trail(15, 8, angle)
    both = (np.concatenate([across, -across]), np.concatenate([down, -down]), np.tile(weight, 2) / 2)
    symmetric = motion._blur_along(image, both[0], both[1], both[2].astype(np.float32))
    assert caught(symmetric, run_oracle("motion_blur", image, 3, 224))


def test_mutant_sixth_frost_texture_is_caught() -> None:
    seen = np.array([zlib.crc32(str(n).encode()) % 6 for n in range(5000)])
    assert np.bincount(seen, minlength=6)[5] > 0


def test_mutant_normalised_defocus_kernel_is_caught() -> None:
    from windtunnel.corruptions.defocus_blur import disc_kernel
    from windtunnel.kernels.correlate import correlate, run_kernel

    image = photograph(224)
    kernel = disc_kernel(8, 0.5)
    assert kernel.sum() == pytest.approx(1.0130, abs=1e-4)
    normalised = correlate(image, run_kernel(kernel / kernel.sum()))
    assert caught(normalised, run_oracle("defocus_blur", image, 4, 224))


def test_mutant_elastic_without_affine_is_caught() -> None:
    image = photograph(224)
    parameters = PARAMETERS[224, "elastic_transform", 3]
    drawn = OURS["elastic_transform"](
        REGISTRY.get("elastic_transform").draws(3, "parity", 3), 224, *parameters
    )
    drawn[0] = np.zeros((3, 2))
    still = oracles.elastic_transform(image, Replay(drawn), *parameters)
    assert caught(still, run_unit("elastic_transform", image, 3, 224))
