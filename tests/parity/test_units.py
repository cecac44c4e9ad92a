"""The fast units are the oracles: within one grey level, or of one distribution."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.stats import chi2, norm

import windtunnel
from tests.parity import oracles
from tests.parity.compare import (
    ALPHA,
    DETERMINISTIC,
    GRADED,
    MAX_LEVELS,
    MEAN_LEVELS,
    NOISES,
    caught,
    make_images,
    noise_p_value,
    photograph,
    run_oracle,
    run_unit,
    unit_noise,
)
from tests.parity.draws import OURS, Replay
from tests.parity.reference import PARAMETERS
from windtunnel.corruptions import EDITIONS, REGISTRY, SEVERITIES, Corruption, frost
from windtunnel.kernels import motion
from windtunnel.kernels.gaussian import blur_bytes
from windtunnel.kernels.unit import unit, unit32
from windtunnel.suites.golden_digests import golden_image


def assert_close(ours: np.ndarray, theirs: np.ndarray) -> None:
    difference = np.abs(ours.astype(int) - theirs)
    assert difference.max() <= MAX_LEVELS
    assert difference.mean() <= MEAN_LEVELS


@pytest.mark.parametrize("name", GRADED)
def test_tables_are_the_published_ones(name: str) -> None:
    unit = REGISTRY.get(name)
    for edition in EDITIONS:
        for severity in SEVERITIES:
            ours = list(unit.parameters(severity, edition).values())
            theirs = PARAMETERS[edition, name, severity]
            assert ours[: len(theirs)] == pytest.approx(theirs, rel=1e-12), (edition, severity)


@pytest.mark.parametrize("name", [*DETERMINISTIC, *OURS, "frost"])
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("severity", SEVERITIES)
def test_units_are_within_one_level_of_the_oracle(name: str, edition: int, severity: int) -> None:
    for image in make_images(edition):
        assert_close(run_unit(name, image, severity, edition), run_oracle(name, image, severity, edition))


@pytest.mark.parametrize("name", [*DETERMINISTIC, *OURS])
@pytest.mark.parametrize("severity", [1, 3, 5])
def test_other_sizes_and_shapes_follow_the_same_code(name: str, severity: int) -> None:
    for height, width in ((97, 97), (150, 101), (64, 133)):
        image = np.ascontiguousarray(golden_image(max(height, width))[-height:, -width:])
        assert_close(run_unit(name, image, severity, 224), run_oracle(name, image, severity, 224))


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("severity", SEVERITIES)
def test_gaussian_blur_of_even_areas_is_the_oracles(edition: int, severity: int) -> None:
    """There the last bit of a float64 sum decides about a whole level."""
    (sigma,) = PARAMETERS[edition, "gaussian_blur", severity]
    for level in range(256):
        image = np.full((2, 2, 3), level, np.uint8)
        assert (blur_bytes(image, sigma) == oracles.gaussian_blur(image, Replay([]), sigma)).all(), level


def test_bytes_from_0_to_1_are_quotients_to_the_last_bit() -> None:
    for level in np.arange(256, dtype=np.uint8):
        assert unit(level) == level / 255.0
        assert unit32(level) == np.float32(level) / np.float32(255)


def test_threads_do_not_share_intermediate_results() -> None:
    """Memory for them is used again by the next call, of any size, in the same thread only."""
    images = [photograph(side, side) for side in (64, 97, 224)]
    jobs = [
        (image, unit, number)
        for number in range(4)
        for image in images
        for unit in map(REGISTRY.get, REGISTRY.shipped())
        if len(image) >= unit.min_side_px
    ]

    def corrupted(job: tuple[np.ndarray, Corruption, int]) -> bytes:
        image, unit, number = job
        severity = 3 if unit.severities else None
        return windtunnel.corrupt(image, unit.name, severity, seed=0, sample_id=str(number)).tobytes()

    alone = [corrupted(job) for job in jobs]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(corrupted, jobs)) == alone


# Frost


def frost_draws(folder: Path, count: int) -> np.ndarray:
    """How often each of six even textures is drawn for as many images."""
    for number in range(1, 7):
        Image.new("RGB", (400, 300), (30 * number, 0, 0)).save(folder / f"frost{number}.png")
    black = np.zeros((64, 64, 3), np.uint8)
    seen = [
        windtunnel.corrupt(
            black, "frost", 2, seed=0, sample_id=str(n), edition=224, settings={"textures": str(folder)}
        )[0, 0, 0]
        for n in range(count)
    ]
    return np.array([sum(value == int(0.6 * 30 * number) for value in seen) for number in range(1, 7)])


def follows_the_reference(counts: np.ndarray) -> bool:
    """Five textures equally often, the sixth never."""
    expected = counts.sum() / 5
    return counts[5] == 0 and ((counts[:5] - expected) ** 2 / expected).sum() < chi2.isf(ALPHA, 4)


def test_frost_draws_five_textures_equally_and_never_the_sixth(tmp_path: Path) -> None:
    assert follows_the_reference(frost_draws(tmp_path, 1000))


def test_mutant_sixth_frost_texture_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frost, "TEXTURES", 6)
    assert not follows_the_reference(frost_draws(tmp_path, 1000))


def test_frost_windows_reach_all_but_the_last_row_and_column(tmp_path: Path) -> None:
    ramp = np.zeros((40, 44, 3), np.uint8)
    ramp[:, :, 0], ramp[:, :, 1] = 5 * np.arange(40)[:, None], 5 * np.arange(44)
    for number in range(1, 6):
        Image.fromarray(ramp).save(tmp_path / f"frost{number}.png")
    black, settings = np.zeros((32, 32, 3), np.uint8), {"textures": str(tmp_path)}
    rows, columns = set(), set()
    for number in range(1000):
        out = windtunnel.corrupt(
            black, "frost", 3, seed=0, sample_id=str(number), edition=224, settings=settings
        )
        row, column = np.rint(out[0, 0, :2] / (0.7 * 5)).astype(int).tolist()
        rows.add(row)
        columns.add(column)
    assert rows == set(range(40 - 32))
    assert columns == set(range(44 - 32))


def test_frost_refuses_a_folder_without_textures(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(windtunnel.UserError, match="frost1 to frost5"):
            windtunnel.corrupt(photograph(64), "frost", 1, settings={"textures": str(place)})
    with pytest.raises(windtunnel.UserError, match="Did you mean textures"):
        windtunnel.corrupt(photograph(64), "frost", 1, settings={"texture": "x"})


# Noises: outputs by input level against the exact distribution


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("severity", SEVERITIES)
def test_noises_have_the_reference_distribution(name: str, edition: int, severity: int) -> None:
    (parameter,) = PARAMETERS[edition, name, severity]
    assert noise_p_value(name, parameter, unit_noise(name, parameter)) > ALPHA


@pytest.mark.parametrize("name", NOISES)
def test_oracle_noises_have_that_distribution_too(name: str) -> None:
    """The oracle's own draws pass the same test, so that the definition is the oracle's."""
    (parameter,) = PARAMETERS[224, name, 3]
    rng = np.random.RandomState(5)
    assert noise_p_value(name, parameter, lambda image: getattr(oracles, name)(image, rng, parameter)) > ALPHA


def correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Correlation in units of its standard error under independence."""
    return float(abs(np.corrcoef(first.ravel(), second.ravel())[0, 1]) * np.sqrt(first.size))


@pytest.mark.parametrize("name", NOISES)
def test_noise_fields_are_independent(name: str) -> None:
    """Between images, channels, neighbours, severities and seeds."""
    grey = np.full((224, 224, 3), 128, np.uint8)

    def field(severity: int = 3, seed: int = 0, sample_id: str = "a") -> np.ndarray:
        return windtunnel.corrupt(grey, name, severity, seed=seed, sample_id=sample_id).astype(float)

    base, limit = field(), norm.isf(ALPHA / 2)
    pairs = {
        "images": (base, field(sample_id="b")),
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
    drawn = OURS["glass_blur"](
        REGISTRY.get("glass_blur").draws(3, "parity", 3), 224, 224, sigma, reach, passes
    )
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


# At rates 3 and 5 every count falls on a whole level: there rounding is truncation.
@pytest.mark.parametrize("name", ["gaussian_noise", "shot_noise", "speckle_noise"])
@pytest.mark.parametrize("severity", [1, 2, 3])
def test_mutant_rounded_noise_is_caught(name: str, severity: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oracle itself, rounding where it should truncate."""
    (parameter,) = PARAMETERS[224, name, severity]
    rng = np.random.RandomState(5)
    monkeypatch.setattr(
        oracles, "truncated", lambda values: np.rint(np.clip(values, 0, 1) * 255).astype(np.uint8)
    )
    assert noise_p_value(name, parameter, lambda image: getattr(oracles, name)(image, rng, parameter)) < ALPHA


def test_mutant_impulse_noise_that_moves_survivors_is_caught() -> None:
    def moved(image: np.ndarray) -> np.ndarray:
        out = unit_noise("impulse_noise", 0.09)(image)
        return np.where((out == 0) | (out == 255), out, out + 1).astype(np.uint8)

    assert noise_p_value("impulse_noise", 0.09, moved) < ALPHA


@pytest.mark.parametrize("name", NOISES)
def test_mutant_five_per_cent_more_noise_is_caught(name: str) -> None:
    (parameter,) = PARAMETERS[224, name, 3]
    assert noise_p_value(name, parameter, unit_noise(name, parameter * 1.05)) < ALPHA


def test_mutant_one_mask_for_all_channels_is_caught() -> None:
    grey = np.full((224, 224, 3), 128, np.uint8)
    out = windtunnel.corrupt(grey, "impulse_noise", 3, seed=0).astype(float)
    shared = np.repeat(out[:, :, :1], 3, axis=2)
    assert correlation(shared[:, :, 0], shared[:, :, 1]) > norm.isf(ALPHA / 2)


def test_mutant_noise_shared_by_two_images_is_caught() -> None:
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


def test_mutant_normalised_defocus_kernel_is_caught() -> None:
    from windtunnel.corruptions.defocus_blur import disc_kernel
    from windtunnel.kernels.correlate import correlate, layered_kernel

    image = photograph(224)
    kernel = disc_kernel(8, 0.5)
    assert kernel.sum() == pytest.approx(1.0130, abs=1e-4)
    normalised = correlate(image, layered_kernel(kernel / kernel.sum()))
    assert caught(normalised, run_oracle("defocus_blur", image, 4, 224))


def test_mutant_elastic_without_affine_is_caught() -> None:
    image = photograph(224)
    parameters = PARAMETERS[224, "elastic_transform", 3]
    drawn = OURS["elastic_transform"](
        REGISTRY.get("elastic_transform").draws(3, "parity", 3), 224, 224, *parameters
    )
    drawn[0] = np.zeros((3, 2))
    still = oracles.elastic_transform(image, Replay(drawn), *parameters)
    assert caught(still, run_unit("elastic_transform", image, 3, 224))
