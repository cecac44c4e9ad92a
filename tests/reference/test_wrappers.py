"""Wrappers against OpenCV's own calls, SciPy, plain loops and known noise."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from PIL import Image as PillowImage
from PIL import ImageDraw, ImageFont
from scipy import optimize, special

import windtunnel
from windtunnel.analysis.temperature import best_temperature, mean_nll, temperature_interval
from windtunnel.models import load_model
from windtunnel.models.wrappers import REGISTRY
from windtunnel.models.wrappers.denoise import noise_of
from windtunnel.report.demo_scene import scene


def views(name: str, images: np.ndarray, **given: object) -> list[np.ndarray]:
    wrapper = REGISTRY.get(name)
    return list(wrapper.views(images, wrapper.settings(given)))


@pytest.fixture(scope="module")
def photo() -> np.ndarray:
    return scene(96)


def noisy(image: np.ndarray, deviation: float, seed: int = 0) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(0, deviation, image.shape)
    return np.clip(np.round(image + noise), 0, 255).astype(np.uint8)


def test_clahe_is_opencvs_on_the_lightness(photo: np.ndarray) -> None:
    lightness, green, blue = cv2.split(cv2.cvtColor(photo, cv2.COLOR_RGB2Lab))
    equalised = cv2.createCLAHE(clipLimit=3.0, tileGridSize=(4, 4)).apply(lightness)
    expected = cv2.cvtColor(cv2.merge([equalised, green, blue]), cv2.COLOR_Lab2RGB)
    (found,) = views("clahe", photo[None], clip=3, tiles=4)
    assert np.array_equal(found[0], expected) and not np.array_equal(found[0], photo)


def test_denoising_is_opencvs_with_a_strength_in_proportion_to_the_noise(photo: np.ndarray) -> None:
    image = noisy(photo, 25)
    strength = 0.5 * noise_of(image)
    bgr = cv2.cvtColor(image, cv2.COLOR_RGB2BGR)
    expected = cv2.fastNlMeansDenoisingColored(bgr, None, strength, strength, 5, 11)
    (found,) = views("denoise", image[None], strength=0.5, patch=5, search=11)
    assert np.array_equal(found[0], cv2.cvtColor(expected, cv2.COLOR_BGR2RGB))
    before, after = (np.mean((one.astype(float) - photo) ** 2) for one in (image, found[0]))
    assert after < before / 2


def test_denoising_leaves_images_below_the_level_unchanged(photo: np.ndarray) -> None:
    images = np.stack([photo, noisy(photo, 30)])
    assert noise_of(images[0]) < 10 < noise_of(images[1])
    (found,) = views("denoise", images)
    assert np.array_equal(found[0], images[0]) and not np.array_equal(found[1], images[1])
    (all_of_them,) = views("denoise", images, level=0)
    assert not np.array_equal(all_of_them[0], images[0])
    (none,) = views("denoise", images, level=255)
    assert np.array_equal(none, images)


@pytest.mark.parametrize("deviation", [5, 10, 20, 40])
def test_the_estimate_of_noise_finds_a_known_deviation(deviation: float) -> None:
    flat = np.full((224, 224, 3), 128, np.uint8)
    found = [noise_of(noisy(flat, deviation, seed)) for seed in range(5)]
    # Rounding to bytes makes the median a multiple of 0.5.
    assert abs(np.mean(found) - deviation) < 0.04 * deviation + 0.1


def test_an_image_of_one_colour_has_no_noise() -> None:
    assert noise_of(np.full((33, 35, 3), 7, np.uint8)) == 0


def text_page(paper: int = 255, ink: int = 0, size: int = 10) -> np.ndarray:
    """A page of antialiased text without noise."""
    page = PillowImage.new("L", (224, 224), paper)
    draw, font = ImageDraw.Draw(page), ImageFont.load_default(size)
    for top in range(0, 224, size + 2):
        draw.text((2, top), "The quick brown fox jumps over the lazy dog again", fill=ink, font=font)
    return np.repeat(np.asarray(page)[..., None], 3, axis=2)


@pytest.mark.parametrize("size", [8, 10, 14, 20, 30])
def test_a_page_of_text_has_no_noise(size: int) -> None:
    for page in (text_page(size=size), text_page(240, 20, size)):
        assert noise_of(page) < 1
        (found,) = views("denoise", page[None])
        assert np.array_equal(found[0], page)
    assert 15 < noise_of(noisy(text_page(size=size), 25)) < 30


def test_clean_digits_have_no_noise_and_noisy_ones_have() -> None:
    data = windtunnel.open_dataset("demo")
    digits = [np.asarray(data.read(sample)) for sample in list(data.samples())[:60]]
    assert max(map(noise_of, digits)) < 2
    found = [noise_of(noisy(digit, 25, seed)) for seed, digit in enumerate(digits)]
    assert min(found) > 15 and np.median(found) == pytest.approx(25, rel=0.15)


def test_the_estimate_does_not_see_sparse_impulses() -> None:
    grey = np.full((224, 224, 3), 128, np.uint8)
    struck = np.random.default_rng(0).random((224, 224, 3)) < 0.05
    assert noise_of(np.where(struck, 255, grey).astype(np.uint8)) == 0


@pytest.fixture(scope="module")
def digit_images() -> np.ndarray:
    data = windtunnel.open_dataset("demo")
    return np.stack([np.asarray(data.read(sample)) for sample in list(data.samples())[:8]])


def test_flip_averages_probabilities_not_logits(digit_images: np.ndarray) -> None:
    model = load_model("demo")
    plain = special.softmax(model.predict(digit_images).astype(float), axis=1)
    mirrored = special.softmax(model.predict(np.flip(digit_images, axis=2)).astype(float), axis=1)
    found = load_model("flip|demo").predict(digit_images)
    assert np.allclose(found, (plain + mirrored) / 2, atol=1e-6)


def test_tencrop_is_the_mean_over_a_plain_loop_of_crops(digit_images: np.ndarray) -> None:
    model = load_model("demo")
    total = np.zeros((len(digit_images), 10))
    for row, image in enumerate(digit_images):
        for top, left in ((0, 0), (0, 4), (4, 0), (4, 4), (2, 2)):  # 28 of 32 pixels
            crop = cv2.resize(image[top : top + 28, left : left + 28], (32, 32))
            for shown in (crop, crop[:, ::-1]):
                total[row] += special.softmax(
                    model.predict(np.ascontiguousarray(shown)[None])[0].astype(float)
                )
    assert np.allclose(load_model("tencrop|demo").predict(digit_images), total / 10, atol=1e-5)


def test_resizes_average_the_image_and_four_round_trips(digit_images: np.ndarray) -> None:
    found = views("resizes", digit_images)
    assert len(found) == 5 and np.array_equal(found[0], digit_images)
    area = cv2.resize(cv2.resize(digit_images[0], (28, 28), interpolation=cv2.INTER_AREA), (32, 32))
    assert np.array_equal(found[4][0], area)
    probabilities = [
        special.softmax(load_model("demo").predict(view).astype(float), axis=1) for view in found
    ]
    assert np.allclose(
        load_model("resizes|demo").predict(digit_images), np.mean(probabilities, axis=0), atol=1e-6
    )


def test_temperature_divides_logits(digit_images: np.ndarray) -> None:
    logits = load_model("demo").predict(digit_images)
    hot = load_model("temperature(t=2.5)|demo")
    assert hot.outputs == "logits" and np.allclose(hot.predict(digit_images), logits / 2.5, atol=1e-6)
    averaged = load_model("flip|demo").predict(digit_images).astype(float)
    expected = averaged ** (1 / 2.5) / (averaged ** (1 / 2.5)).sum(axis=1, keepdims=True)
    found = load_model("temperature(t=2.5)|flip|demo")
    assert found.outputs == "probabilities"
    assert np.allclose(found.predict(digit_images), expected, atol=1e-5)


@pytest.mark.parametrize("truth", [0.4, 1.0, 3.0])
def test_the_fitted_temperature_is_scipys(truth: float) -> None:
    rng = np.random.default_rng(7)
    logits = rng.normal(0, 2, (400, 12))
    labels = np.array([rng.choice(12, p=row) for row in special.softmax(logits, axis=1)])
    shown = logits * truth  # the best temperature is near `truth`
    label = shown[np.arange(400), labels]

    def nll(temperature: float) -> float:
        return float(-special.log_softmax(shown / temperature, axis=1)[np.arange(400), labels].mean())

    expected = optimize.minimize_scalar(nll, bounds=(0.01, 100), method="bounded", options={"xatol": 1e-9})
    found = best_temperature(shown, label)
    assert found == pytest.approx(expected.x, rel=1e-5)
    assert mean_nll(shown, label, found) == pytest.approx(expected.fun, abs=1e-9)


def test_the_interval_of_a_temperature_is_that_of_a_plain_bootstrap() -> None:
    rng = np.random.default_rng(3)
    logits = rng.normal(0, 2, (150, 5))
    labels = np.array([rng.choice(5, p=row) for row in special.softmax(logits, axis=1)])
    label = logits[np.arange(150), labels]
    value = best_temperature(logits, label)
    draws = [rng.integers(0, 150, 150) for _ in range(400)]
    spread = np.log([best_temperature(logits[rows], label[rows]) for rows in draws]).std()
    low, high = temperature_interval(logits, label, value)
    # Student's 0.975 quantile at 149 degrees of freedom; 400 replicates know the spread to 4 %.
    assert np.log(high / low) == pytest.approx(2 * 1.976 * spread, rel=0.12)
    assert np.sqrt(low * high) == pytest.approx(value, rel=1e-6)
