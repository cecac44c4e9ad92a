"""imagecorruptions' documented calls and its rules, over our pixels; that package itself is not needed."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import numpy as np
import pytest
from PIL import Image

import windtunnel
from windtunnel.compat import imagecorruptions
from windtunnel.compat.imagecorruptions import corrupt, get_corruption_names
from windtunnel.suites.golden_digests import golden_image
from windtunnel.suites.suite_files import load_suite

# The numbers 0 to 18 of imagecorruptions 1.1.2.
NUMBERED = (
    "gaussian_noise", "shot_noise", "impulse_noise", "defocus_blur", "glass_blur", "motion_blur", "zoom_blur",
    "snow", "frost", "fog", "brightness", "contrast", "elastic_transform", "pixelate", "jpeg_compression",
    "speckle_noise", "gaussian_blur", "spatter", "saturate",
)  # fmt: skip

SQUARE = golden_image(64)
WIDE = np.ascontiguousarray(golden_image(90)[:50])
TALL = np.ascontiguousarray(golden_image(90)[:, :50])


def test_the_signatures() -> None:
    parameters = list(inspect.signature(corrupt).parameters.values())
    assert [(p.name, p.default) for p in parameters[:4]] == [
        ("image", inspect.Parameter.empty),
        ("severity", 1),
        ("corruption_name", None),
        ("corruption_number", -1),
    ]
    assert [(p.name, p.kind.name) for p in parameters[4:]] == [("seed", "KEYWORD_ONLY")]
    assert str(inspect.signature(get_corruption_names)).startswith("(subset: 'str' = 'common')")
    assert imagecorruptions.__all__ == [
        "corrupt", "corruption_dict", "corruption_tuple", "get_corruption_names"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("subset", "numbers"),
    [
        ("common", range(15)),
        ("validation", range(15, 19)),
        ("all", range(19)),
        ("noise", range(3)),
        ("blur", range(3, 7)),
        ("weather", range(7, 11)),
        ("digital", range(11, 15)),
    ],
)
def test_subsets(subset: str, numbers: range) -> None:
    assert get_corruption_names(subset) == [NUMBERED[number] for number in numbers]
    get_corruption_names(subset).clear()
    assert get_corruption_names(subset)


def test_our_suites_hold_the_same_corruptions() -> None:
    assert tuple(get_corruption_names()) == load_suite("imagenet-c").units
    assert tuple(get_corruption_names("validation")) == load_suite("imagenet-c-extra").units


@pytest.mark.parametrize("subset", ["extra", "", None, ["noise"]])
def test_other_subsets_are_value_errors(subset: Any) -> None:
    with pytest.raises(ValueError, match="give one of common, all"):
        get_corruption_names(subset)


@pytest.mark.parametrize("image", [SQUARE, WIDE, TALL], ids=["square", "wide", "tall"])
def test_the_documented_loops(image: np.ndarray) -> None:
    before = image.copy()
    for corruption in get_corruption_names("all"):
        for severity in range(5):
            out = corrupt(image, corruption_name=corruption, severity=severity + 1)
            assert (out.shape, out.dtype) == (image.shape, np.uint8)
    for i in range(15):
        for severity in range(5):
            out = corrupt(image, corruption_number=i, severity=severity + 1)
            assert (out.shape, out.dtype) == (image.shape, np.uint8)
    assert corrupt(image, corruption_name="gaussian_blur", severity=1).shape == image.shape
    assert np.array_equal(image, before)


@pytest.mark.parametrize("name", NUMBERED)
def test_numbers_names_and_positions_are_the_same_call(name: str) -> None:
    number = NUMBERED.index(name)
    wanted = windtunnel.corrupt(SQUARE, name, 4, seed=3, edition=224)
    same = [
        corrupt(SQUARE, 4, name, seed=3),
        corrupt(SQUARE, severity=4, corruption_number=number, seed=3),
        corrupt(SQUARE, 4, None, np.int64(number), seed=3),
        corrupt(SQUARE, 4, name, 99, seed=3),
    ]
    if number < 18:  # -1 stands for no number
        same.append(corrupt(SQUARE, 4, None, number - 19, seed=3))
    assert all(np.array_equal(out, wanted) for out in same)


@pytest.mark.parametrize("name", NUMBERED)
def test_grey_comes_back_as_three_channels(name: str) -> None:
    grey = np.ascontiguousarray(WIDE[:, :, 0])
    colour = np.repeat(grey[:, :, None], 3, axis=2)
    for image in (grey, grey[:, :, None]):
        assert np.array_equal(corrupt(image, 2, name, seed=1), corrupt(colour, 2, name, seed=1))


def test_the_224_tables_hold_at_every_size() -> None:
    # Severity 5 at edition 224 takes the contrast to 0.05, at edition 32 to 0.15.
    image = golden_image(32)
    mean = image.mean(axis=(0, 1), keepdims=True)
    out = corrupt(image, 5, "contrast")
    assert np.abs(out - ((image - mean) * 0.05 + mean)).max() <= 1


def test_calls_draw_afresh_unless_they_are_seeded() -> None:
    np.random.seed(0)  # noqa: NPY002
    outs = {corrupt(SQUARE, 1, "gaussian_noise").tobytes() for _ in range(5)}
    assert len(outs) == 5
    assert len({corrupt(SQUARE, 1, "gaussian_noise", seed=4).tobytes() for _ in range(5)}) == 1
    assert np.array_equal(corrupt(SQUARE, True, "fog", seed=1), corrupt(SQUARE, 1, "fog", seed=1))


# What imagecorruptions 1.1.2 raises for the same calls.
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((SQUARE,), ValueError),
        ((SQUARE, 1, None, -1), ValueError),
        ((SQUARE, 1, "nope"), KeyError),
        ((SQUARE, 1, ""), KeyError),
        ((SQUARE, 1, ["fog"]), TypeError),
        ((SQUARE, 1, None, 19), IndexError),
        ((SQUARE, 1, None, -20), IndexError),
        ((SQUARE, 1, None, 1.0), TypeError),
        ((SQUARE, 1, None, "fog"), TypeError),
        ((SQUARE, 1, None, None), TypeError),
        ((SQUARE, 0, "fog"), AttributeError),
        ((SQUARE, 6, "fog"), AttributeError),
        ((SQUARE, 2.5, "fog"), AttributeError),
        ((SQUARE, "3", "fog"), AttributeError),
        ((SQUARE, 2.0, "fog"), TypeError),
        ((SQUARE, 0, "nope"), AttributeError),
        ((SQUARE[:31], 0, "nope"), AttributeError),
        ((SQUARE[:, :31], 1, "fog"), AttributeError),
        ((SQUARE[:0], 1, "fog"), AttributeError),
        ((SQUARE[:, :, :2], 1, "fog"), AttributeError),
        ((SQUARE[None], 1, "fog"), AttributeError),
        ((SQUARE[0, 0], 1, "fog"), AttributeError),
        ((SQUARE / 255, 1, "fog"), AttributeError),
        ((SQUARE.astype(np.int8), 1, "fog"), AttributeError),
        ((SQUARE.tolist(), 1, "fog"), AttributeError),
        ((None, 1, "fog"), AttributeError),
    ],
)
def test_exceptions_are_of_that_packages_types(arguments: tuple[Any, ...], error: type[Exception]) -> None:
    with pytest.raises(error) as caught:
        corrupt(*arguments)
    assert type(caught.value) is error
    assert "\n" not in str(caught.value)


def test_single_functions_by_name_and_number() -> None:
    assert tuple(imagecorruptions.corruption_dict) == NUMBERED
    assert tuple(function.__name__ for function in imagecorruptions.corruption_tuple) == NUMBERED
    for name, function in imagecorruptions.corruption_dict.items():
        wanted = corrupt(WIDE, 2, name, seed=5)
        # That package hands its functions Pillow images.
        for image in (Image.fromarray(WIDE), WIDE):
            assert np.array_equal(np.uint8(function(image, 2, seed=5)), wanted)
        assert list(inspect.signature(function).parameters)[:2] == ["x", "severity"]
        assert pickle.loads(pickle.dumps(function)) is function


# imagecorruptions-imaug 1.1.5 passes further keywords on: seed to impulse_noise and glass_blur.
@pytest.mark.parametrize("name", ["impulse_noise", "glass_blur"])
def test_the_forks_seeds(name: str) -> None:
    once, again = (corrupt(SQUARE, corruption_name=name, seed=np.int64(7)) for _ in range(2))
    assert np.array_equal(once, again)
    rng = np.random.default_rng(1)
    first, second = (corrupt(SQUARE, 3, name, seed=rng) for _ in range(2))
    assert not np.array_equal(first, second)
    assert np.array_equal(first, corrupt(SQUARE, 3, name, seed=np.random.default_rng(1)))
    assert len({corrupt(SQUARE, 1, name, seed=None).tobytes() for _ in range(3)}) == 3


def test_keywords_that_no_corruption_has_are_type_errors() -> None:
    with pytest.raises(TypeError, match="amount"):
        corrupt(SQUARE, 1, "impulse_noise", amount=0.5)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="amount"):
        imagecorruptions.corruption_dict["fog"](SQUARE, 1, amount=0.5)
