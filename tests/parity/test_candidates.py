"""The Syn2Nat candidates have the published pixels for their draws, and the published distributions."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.parity import candidate_oracles
from tests.parity.candidate_oracles import ORACLES, Recorder
from tests.parity.compare import photograph
from windtunnel.corruptions import REGISTRY
from windtunnel.corruptions.s2n import Candidate
from windtunnel.kernels import byte_arithmetic, byte_tables
from windtunnel.kernels.byte_arithmetic import scale_and_shift, shift_bytes
from windtunnel.kernels.byte_tables import through_table
from windtunnel.kernels.jpeg import jpeg_pixels
from windtunnel.kernels.opencv_colours import rgb_of_scaled
from windtunnel.kernels.opencv_gaussian import gaussian_blurred
from windtunnel.kernels.squares import means, medians
from windtunnel.kernels.whole_noise import add_gaussian, add_hls_noise

NAMES = sorted(name.removeprefix("s2n/") for name in REGISTRY.shipped() if name.startswith("s2n/"))
SIZES = [(224, 224), (40, 40), (97, 150), (190, 221)]
DRAWS = 4
ALPHA = 1e-4


def unit(name: str) -> Candidate:
    found = REGISTRY.get(f"s2n/{name}")
    assert isinstance(found, Candidate)
    return found


def scene(height: int, width: int) -> np.ndarray:
    return np.ascontiguousarray(photograph(max(height, width), height)[:height, :width])


def applied(name: str, image: np.ndarray, sample: str) -> tuple[np.ndarray, dict[str, Any]]:
    """The corrupted image, and the draws behind it."""
    rng = Recorder(7, sample, f"corruption/s2n/{name}", 0)
    return unit(name).apply(image, rng, 0, 224), rng.recorded()


def test_there_are_forty_and_all_but_the_noises_have_an_oracle() -> None:
    assert len(NAMES) == 40
    assert set(NAMES) - set(ORACLES) == {"gauss_noise", "iso_noise"}
    assert len({unit(name).paper_name for name in NAMES}) == 40


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("name", sorted(ORACLES))
def test_pixels_are_the_published_ones(name: str, size: tuple[int, int]) -> None:
    image = scene(*size)
    before = image.copy()
    for number in range(DRAWS):
        ours, drawn = applied(name, image, f"sample {number}")
        theirs = ORACLES[name](image.copy(), drawn)
        assert np.array_equal(image, before), "the input is unchanged"
        assert ours.shape == image.shape and ours.dtype == np.uint8
        difference = np.abs(ours.astype(int) - theirs)
        if name == "elastic_transform":  # its field is summed in another order
            assert difference.max() <= 1 and (difference > 0).mean() < 1e-3
        else:
            assert difference.max() == 0, f"{(difference > 0).mean():.2%} differ by up to {difference.max()}"


def test_border_at_224_keeps_130_pixels_between_frames_of_47() -> None:
    ours, _ = applied("border", np.full((224, 224, 3), 9, np.uint8), "a")
    rows = np.flatnonzero(ours[:, 112, 0])
    assert (rows[0], rows[-1], len(rows)) == (47, 176, 130)


def test_fog_ends_for_very_long_images() -> None:
    ours, _ = applied("random_fog", np.zeros((3000, 64, 3), np.uint8), "a")
    assert ours.any()


def test_brightness_is_truncated_in_float32_next_to_whole_shifts() -> None:
    levels = np.arange(256, dtype=np.uint8)
    image = np.ascontiguousarray(np.repeat(levels, 3).reshape(16, 16, 3))
    for whole_shift in (-229, -7, 0, 1, 229):
        for fraction in (0.0, 1e-8, 1e-5, 1e-4, 2e-4, 0.5, 1 - 2e-4, 1 - 1e-4, 1 - 1e-5, 1 - 1e-8):
            shift = np.float32(whole_shift + fraction)
            truncated = np.clip(levels.astype(np.float32) + shift, 0, 255).astype(np.uint8)
            assert np.array_equal(shift_bytes(image, shift), truncated[image]), shift


@pytest.mark.parametrize("side_px", [9, 11, 13])
def test_gaussian_blur_is_opencvs_to_the_last_bit(side_px: int) -> None:
    generator = np.random.default_rng(side_px)
    noise = generator.integers(0, 256, (67, 50, 3), np.uint8)
    for image in (noise, noise // 128 * 255, np.full((32, 33, 3), 255, np.uint8), scene(97, 150)):
        opencv = candidate_oracles.cv2.GaussianBlur(image, (side_px, side_px), 0)
        assert np.array_equal(gaussian_blurred(image, side_px), opencv)


@pytest.mark.parametrize("side_px", [5, 7, 9, 11, 13, 15])
def test_means_and_medians_of_squares_are_opencvs(side_px: int) -> None:
    generator = np.random.default_rng(side_px)
    noise = generator.integers(0, 256, (67, 50, 3), np.uint8)
    for image in (noise, noise // 128 * 255, np.full((32, 33, 3), 255, np.uint8), scene(97, 150)):
        assert np.array_equal(means(image, side_px), candidate_oracles.cv2.blur(image, (side_px, side_px)))
        assert np.array_equal(medians(image, side_px), candidate_oracles.cv2.medianBlur(image, side_px))


def test_every_hls_colour_becomes_opencvs_rgb() -> None:
    colours = np.indices((180, 256, 256), np.uint8).reshape(3, 2880, 4096)
    hls = np.ascontiguousarray(colours.transpose(1, 2, 0))
    opencv = candidate_oracles.cv2.cvtColor(hls, candidate_oracles.cv2.COLOR_HLS2RGB)
    assert np.array_equal(rgb_of_scaled(hls, np.float32(1), np.float32(0)), opencv)


@pytest.mark.parametrize("size", [(97, 150), (40, 33)], ids=str)
def test_jpeg_of_rgb_taken_for_bgr_is_opencvs_at_every_quality(size: tuple[int, int]) -> None:
    image, cv2 = scene(*size), candidate_oracles.cv2
    for quality in range(1, 101):
        _, file = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])
        opencv = cv2.imdecode(file, cv2.IMREAD_UNCHANGED)
        assert np.array_equal(jpeg_pixels(image, quality, as_bgr=True), opencv), quality


@pytest.mark.parametrize("size", [(32, 32), (97, 151)], ids=str)
def test_tables_and_arithmetic_are_the_same_on_all_processors(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    image, generator = scene(*size), np.random.default_rng(0)
    table = generator.integers(0, 256, 256, np.uint8)
    numbers = [np.float32(1.37), np.float64(1.37), np.float32(-0.4), np.float64(0.3)]
    shifts = np.linspace(-229, 229, 12, dtype=np.float32)

    def results() -> list[np.ndarray]:
        scaled = [scale_and_shift(image, number, type(number)(7.25)) for number in numbers]
        return [through_table(image, table), *scaled, *(shift_bytes(image, shift) for shift in shifts)]

    here = results()
    for module in (byte_tables, byte_arithmetic):
        monkeypatch.setattr(module, "IS_FAST", False)
    assert np.array_equal(here[0], table[image])
    for fast, plain in zip(here, results(), strict=True):
        assert np.array_equal(fast, plain)


def poisson_counts(rate: float, size: tuple[int, int], key: int) -> np.ndarray:
    """The field that raises a lightness of 0, in 255 parts."""
    probe = np.zeros((*size, 3), np.float32)
    add_hls_noise(probe, 0.0, rate, 0, key)
    return np.rint(probe[..., 1] * 255.0)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_iso_noise_has_the_published_pixels_for_its_fields(size: tuple[int, int]) -> None:
    image = scene(*size)
    ours, drawn = applied("iso_noise", image, "a")
    hls = candidate_oracles.cv2.cvtColor(image / np.float32(255), candidate_oracles.cv2.COLOR_RGB2HLS)
    rate = 255 * hls[..., 1].astype(np.float64).std() * drawn["intensity"]
    counts = poisson_counts(rate, size, drawn["lightness"])
    theirs = candidate_oracles.iso_noise(image, drawn, counts)
    difference = np.abs(ours.astype(int) - theirs)
    assert (difference > 0).mean() < 1e-4, "but for the last bit of the two standard deviations"


@pytest.mark.parametrize("rate", [0.7, 12.0, 60.0])
def test_lightness_noise_is_poisson(rate: float) -> None:
    counts = poisson_counts(rate, (200, 300), 5).astype(int).ravel()
    assert binned_p_value(counts, stats.poisson(rate).pmf) > ALPHA


def test_flat_images_have_no_lightness_noise() -> None:
    assert not poisson_counts(0.0, (40, 40), 1).any()


@pytest.mark.parametrize("sigma", [500**0.5, 1000**0.5])
def test_gaussian_noise_is_normal_truncated_and_clipped(sigma: float) -> None:
    black, white = (
        add_gaussian(np.full((300, 300, 3), level, np.uint8), sigma, 3).astype(int) for level in (0, 255)
    )
    noise = black + white - 255
    assert binned_p_value(noise.ravel(), lambda k: np.diff(stats.norm(0, sigma).cdf([k, k + 1]))[0]) > ALPHA
    image = scene(97, 150)
    same_noise = add_gaussian(np.full(image.shape, 0, np.uint8), sigma, 4).astype(int)
    same_noise += add_gaussian(np.full(image.shape, 255, np.uint8), sigma, 4).astype(int) - 255
    assert np.array_equal(add_gaussian(image, sigma, 4), np.clip(image + same_noise, 0, 255))


def binned_p_value(values: np.ndarray, pmf: Any) -> float:
    """Chi-square of whole numbers against their probabilities; rare ones are pooled."""
    counts = Counter(values.tolist())
    expected = {k: len(values) * float(pmf(k)) for k in range(min(counts) - 5, max(counts) + 6)}
    common = [k for k, e in expected.items() if e >= 10]
    observed = [counts[k] for k in common] + [len(values) - sum(counts[k] for k in common)]
    wanted = [expected[k] for k in common]
    return float(stats.chisquare(observed, [*wanted, len(values) - sum(wanted)]).pvalue)


def whole(low: int, high: int) -> dict[int, float]:
    """Equal odds for all whole numbers from low to high."""
    return dict.fromkeys(range(low, high + 1), 1 / (high - low + 1))


SIDE = 40
# By candidate and purpose: the ends of a uniform number, or whole numbers with their odds.
DISTRIBUTIONS: dict[str, dict[str, tuple[float, float] | dict[int, float]]] = {
    "affines": {"scale": (0.6, 0.8)},
    "blur": {"side": whole(0, 2)},
    "channel_dropout": {"channel": whole(0, 2)},
    "coarse_dropout": {"count": whole(16, 48), "rows": whole(0, SIDE - 8), "columns": whole(0, SIDE - 8)},
    "color_jitter": {"factors": (0.3, 1.7), "hue": (-0.7, 0.7)},
    "cutout": {"row": whole(0, SIDE), "column": whole(0, SIDE)},
    "elastic_transform": {"moves": (-50, 50)},
    "emboss": {"strength": (0.2, 0.7)},
    "flip": {"direction": whole(-1, 1)},
    "gaussian_blur": {"side": whole(9, 13)},
    "gauss_noise": {"variance": (500, 1000)},
    "grid_distortion": {"columns": (0, 2), "rows": (0, 2)},
    "hue_saturation_value": {"hue": (-100, 100), "saturation": (-150, 150), "value": (-100, 100)},
    "image_compression": {"quality": whole(5, 15)},
    "iso_noise": {"colour shift": (0.2, 0.5), "intensity": (0.5, 1)},
    "jpeg_compression": {"quality": whole(5, 15)},
    "median_blur": {"side": whole(0, 3)},
    "motion_blur": {"side": whole(0, 3)},
    "optical_distortion": {"strength": (-4, 4), "columns": (-4, 4), "rows": (-4, 4)},
    "perspective": {"spread": (0.1, 0.3)},
    "random_brightness": {"shift": (-0.9, 0.9)},
    "random_contrast": {"factor": (-0.5, 2.5)},
    "random_fog": {"density": (0.8, 1)},
    "random_gamma": {"gamma": whole(300, 1000)},
    "random_rain": {"slant": (-10, 10), "rows": whole(0, SIDE - 20)},
    "random_shadow": {"count": whole(2, 4), "columns": whole(0, SIDE), "rows": whole(0, SIDE)},
    "random_snow": {"snow": (0.1, 0.3)},
    "random_sun_flare": {
        "angle": (0, 1), "column": (0, 1), "row": (0, 0.5), "count": whole(6, 10), "alphas": (0.05, 0.2),
        "columns": whole(0, 3), "radii": whole(1, 2), "colours": whole(205, 255),
    },
    "rgb_shift": {"shifts": (-200, 200)},
    "rotate": {"angle": (-180, 180)},
    "sharpen": {"share": (0.3, 0.6), "lightness": (0.6, 1)},
    "transpose": {"shift": (-0.7, 0.7)},
}  # fmt: skip
FIXED = {"border", "downscale", "invert_img", "posterize", "solarize", "to_sepia"}
# Their draws are fields or orders, tested elsewhere.
OTHER = {"multiplicative_noise", "random_grid_shuffle"}


def test_every_candidate_draws_what_is_tested() -> None:
    assert {*DISTRIBUTIONS, *FIXED, *OTHER} == set(NAMES)
    assert {name for name in NAMES if not unit(name).random} == FIXED


@pytest.mark.parametrize("name", sorted(DISTRIBUTIONS))
def test_parameters_have_the_published_distributions(name: str) -> None:
    image = np.zeros((SIDE, SIDE, 3), np.uint8)
    seen: dict[str, list[float]] = {purpose: [] for purpose in DISTRIBUTIONS[name]}
    for number in range(400):
        _, drawn = applied(name, image, f"{number}")
        for purpose, values in seen.items():
            values += np.ravel(drawn[purpose]).tolist()
    for purpose, wanted in DISTRIBUTIONS[name].items():
        values = np.array(seen[purpose])
        if isinstance(wanted, tuple):
            low, high = wanted
            p = stats.kstest(values, stats.uniform(low, high - low).cdf).pvalue
            assert low <= values.min() and values.max() <= high
        else:
            assert set(values) <= set(wanted)
            counts = np.array([np.count_nonzero(values == k) for k in wanted])
            if len(wanted) > 100:  # too many for the number of draws: in 20 ranges
                counts = np.array([part.sum() for part in np.array_split(counts, 20)])
                wanted = dict(enumerate(map(len, np.array_split(np.arange(len(wanted)), 20))))
            odds = np.array(list(wanted.values())) / sum(wanted.values())
            p = stats.chisquare(counts, len(values) * odds).pvalue
        assert p > ALPHA, (purpose, p)


def test_corners_of_the_perspective_are_normal_with_the_drawn_spread() -> None:
    image = np.zeros((SIDE, SIDE, 3), np.uint8)
    scaled: list[float] = []
    for number in range(200):
        _, drawn = applied("perspective", image, f"{number}")
        scaled += (np.array(drawn["corners"]) / drawn["spread"]).tolist()
    assert stats.kstest(scaled, stats.norm.cdf).pvalue > ALPHA


def test_ends_of_a_motion_blur_are_never_equal_and_otherwise_uniform() -> None:
    image = np.zeros((SIDE, SIDE, 3), np.uint8)
    shares: dict[str, list[float]] = {"columns": [], "rows": []}
    for number in range(600):
        _, drawn = applied("motion_blur", image, f"{number}")
        side = (11, 13, 15, 17)[drawn["side"]]
        ends = list(zip(drawn["columns"], drawn["rows"][:2], strict=True))
        assert ends[0] != ends[1]
        assert min(map(min, ends)) >= 0 and max(map(max, ends)) < side
        for purpose in shares:
            shares[purpose].append((drawn[purpose][0] + 0.5) / side)
    for values in shares.values():
        assert abs(np.mean(values) - 0.5) < 5 * np.sqrt(1 / 12 / len(values))


def test_orders_are_uniform() -> None:
    rows = [Recorder(0, str(n), "u", 0).permutation("order", 4) for n in range(2400)]
    counts = Counter(map(tuple, rows))
    assert len(counts) == 24
    assert stats.chisquare(list(counts.values())).pvalue > ALPHA


def test_one_image_in_six_is_black_under_random_contrast() -> None:
    image = np.full((SIDE, SIDE, 3), 255, np.uint8)
    black = sum(not applied("random_contrast", image, f"{n}")[0].any() for n in range(900))
    assert stats.binomtest(black, 900, 1 / 6).pvalue > ALPHA


def test_the_two_jpeg_candidates_make_the_same_pixels_of_the_same_draw() -> None:
    image = scene(97, 150)
    by_quality: dict[str, dict[int, bytes]] = {"image_compression": {}, "jpeg_compression": {}}
    for name, files in by_quality.items():
        for number in range(80):
            ours, drawn = applied(name, image, f"{number}")
            files[drawn["quality"]] = ours.tobytes()
    assert by_quality["image_compression"] == by_quality["jpeg_compression"]
