"""Every registered corruption keeps the laws; a new unit needs no new test file."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import numpy as np
import pytest

import windtunnel
from windtunnel.corruptions import EDITIONS, REGISTRY, SEVERITIES
from windtunnel.suites.golden_digests import golden_digest, golden_image

SHAPES = [(32, 32), (64, 64), (224, 224), (299, 299), (33, 70), (150, 97)]
UNITS = REGISTRY.shipped()
GRADED = [name for name in UNITS if REGISTRY.get(name).severities]
ONE_STRENGTH = [name for name in UNITS if name not in GRADED]
# Several: two draws of a unit with few parameters may be the same.
SEEDS = range(8)


def severities(name: str) -> tuple[int | None, ...]:
    """The severities of a unit; None alone for one strength."""
    return SEVERITIES if name in GRADED else (None,)


def image_for(name: str) -> np.ndarray:
    """A small image, or the smallest that a unit accepts."""
    return golden_image(max(64, REGISTRY.get(name).min_side_px))


def severity(name: str, of_five: int) -> int | None:
    """A severity, or None for a unit with one strength."""
    return of_five if name in GRADED else None


def make_image(height: int, width: int) -> np.ndarray:
    side = max(height, width)
    return np.ascontiguousarray(golden_image(side)[:height, :width])


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_any_size_keeps_shape_and_type_and_leaves_the_input_alone(name: str, shape: tuple[int, int]) -> None:
    image = make_image(*shape)
    if min(shape) < REGISTRY.get(name).min_side_px:
        pytest.skip("the unit needs larger images")
    before = image.copy()
    for level in severities(name):
        out = windtunnel.corrupt(image, name, level, seed=1)
        assert out.shape == image.shape
        assert out.dtype == np.uint8
        assert out.flags.c_contiguous
        assert not np.shares_memory(out, image)
        assert np.array_equal(image, before)


@pytest.mark.parametrize("name", GRADED)
@pytest.mark.parametrize("edition", EDITIONS)
def test_every_severity_of_every_edition_changes_the_image(name: str, edition: int) -> None:
    image = golden_image(edition)
    outs = [windtunnel.corrupt(image, name, severity, seed=1, edition=edition) for severity in SEVERITIES]
    assert all((out != image).any() for out in outs)
    assert len({out.tobytes() for out in outs}) == len(SEVERITIES)


@pytest.mark.parametrize("name", ONE_STRENGTH)
@pytest.mark.parametrize("side", [160, 224])
def test_one_strength_changes_the_image_and_takes_no_severity(name: str, side: int) -> None:
    image = golden_image(side)
    outs = [windtunnel.corrupt(image, name, seed=seed) for seed in SEEDS]
    assert any((out != image).any() for out in outs)
    assert (len({out.tobytes() for out in outs}) > 1) == REGISTRY.get(name).random
    for given in (0, 1, 5):
        with pytest.raises(windtunnel.UserError, match=f"{name} has one strength; leave out the severity"):
            windtunnel.corrupt(image, name, given)


@pytest.mark.parametrize("name", UNITS)
def test_images_below_a_units_own_minimum_are_refused(name: str) -> None:
    least = REGISTRY.get(name).min_side_px
    with pytest.raises(windtunnel.UserError, match=f"at least {least}"):
        windtunnel.corrupt(golden_image(least)[:, : least - 1], name)
    windtunnel.corrupt(golden_image(least), name)


@pytest.mark.parametrize("name", UNITS)
def test_same_seed_same_pixels_in_any_order(name: str) -> None:
    image, given = image_for(name), severities(name)
    forward = [windtunnel.corrupt(image, name, s, seed=5, sample_id="a").tobytes() for s in given]
    backward = [windtunnel.corrupt(image, name, s, seed=5, sample_id="a").tobytes() for s in given[::-1]]
    assert forward == backward[::-1]


@pytest.mark.parametrize("name", UNITS)
def test_seed_and_sample_decide_the_draws_of_random_units_only(name: str) -> None:
    image = image_for(name)
    unit = REGISTRY.get(name)
    level = severity(name, 3)
    base = windtunnel.corrupt(image, name, level, seed=0, sample_id="a")
    # Several of each: two angles of a motion blur may fall on the same pixels.
    for others in (
        [{"seed": seed, "sample_id": "a"} for seed in range(1, 9)],
        [{"seed": 0, "sample_id": f"b{number}"} for number in range(8)],
        [{"seed": None, "sample_id": "a"}] * 8,
    ):
        changed = [(windtunnel.corrupt(image, name, level, **other) != base).any() for other in others]
        assert any(changed) == unit.random


@pytest.mark.parametrize("name", UNITS)
def test_grey_comes_back_in_its_own_shape(name: str) -> None:
    grey = image_for(name)[:, :, 0]
    level = severity(name, 2)
    flat = windtunnel.corrupt(grey, name, level, seed=0)
    deep = windtunnel.corrupt(grey[:, :, None], name, level, seed=0)
    colour = windtunnel.corrupt(np.repeat(grey[:, :, None], 3, axis=2), name, level, seed=0)
    assert flat.shape == grey.shape
    assert deep.shape == (*grey.shape, 1)
    assert np.array_equal(flat, deep[:, :, 0])
    assert np.array_equal(flat, colour[:, :, 0])


@pytest.mark.parametrize("name", UNITS)
def test_layout_in_memory_does_not_matter(name: str) -> None:
    image, level = image_for(name), severity(name, 3)
    wanted = windtunnel.corrupt(image, name, level, seed=0)
    wide = np.zeros((len(image), 2 * len(image), 3), np.uint8)
    wide[:, ::2] = image
    frozen = image.copy()
    frozen.flags.writeable = False
    for same in (wide[:, ::2], np.asfortranarray(image), frozen):
        assert np.array_equal(windtunnel.corrupt(same, name, level, seed=0), wanted)


@pytest.mark.parametrize("name", UNITS)
def test_global_random_state_is_neither_used_nor_touched(name: str) -> None:
    image, level = image_for(name), severity(name, 3)
    np.random.seed(1)  # noqa: NPY002
    first = windtunnel.corrupt(image, name, level, seed=0)
    after = np.random.random()  # noqa: NPY002
    np.random.seed(1)  # noqa: NPY002
    assert after == np.random.random()  # noqa: NPY002
    assert np.array_equal(first, windtunnel.corrupt(image, name, level, seed=0))


@pytest.mark.parametrize("name", UNITS)
def test_golden_digest_is_the_one_in_the_file(name: str) -> None:
    unit = REGISTRY.get(name)
    assert golden_digest(unit) == unit.golden, (
        "pixels changed: raise `revision` and run `windtunnel dev golden`"
    )


@pytest.mark.parametrize("name", UNITS)
def test_documents_itself(name: str) -> None:
    unit = REGISTRY.get(name)
    assert unit.name == name
    assert unit.imitates.endswith(".")
    assert unit.met_by.endswith(".")
    assert unit.family
    assert unit.source
    assert unit.revision >= 1
    assert set(unit.editions) == set(EDITIONS)
    assert bool(unit.drawn) == (unit.random and not unit.severities)
    assert all(not text or text.endswith(".") for text in (unit.drawn, unit.note))
    assert unit.function.__doc__


def test_another_process_makes_the_same_pixels() -> None:
    code = (
        "import windtunnel, hashlib\n"
        "from windtunnel.suites.golden_digests import golden_image\n"
        f"for name, level in {[(name, severity(name, 4)) for name in UNITS]!r}:\n"
        "    out = windtunnel.corrupt(golden_image(160), name, level, seed=9, sample_id='p')\n"
        "    print(hashlib.sha256(out.tobytes()).hexdigest())\n"
    )
    theirs = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    ours = [
        windtunnel.corrupt(golden_image(160), name, severity(name, 4), seed=9, sample_id="p")
        for name in UNITS
    ]
    assert theirs.split() == [hashlib.sha256(out.tobytes()).hexdigest() for out in ours]


@pytest.mark.parametrize("severity", [0, 6, -1, 2.5, 2.0, "3", True])
def test_severity_outside_one_to_five_is_refused(severity: object) -> None:
    with pytest.raises(windtunnel.UserError, match="Severity"):
        windtunnel.corrupt(golden_image(64), UNITS[0], severity)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "image",
    [
        np.zeros((64, 64, 3), np.float32),
        np.zeros((64, 64, 4), np.uint8),
        np.zeros((64,), np.uint8),
        np.zeros((2, 64, 64, 3), np.uint8),
        [[1, 2], [3, 4]],
    ],
    ids=["float", "four channels", "one axis", "batch", "list"],
)
def test_what_is_no_image_is_refused(image: object) -> None:
    with pytest.raises(windtunnel.UserError, match="uint8"):
        windtunnel.corrupt(image, UNITS[0], 1)  # type: ignore[arg-type]


def test_images_below_32_pixels_are_refused() -> None:
    with pytest.raises(windtunnel.UserError, match="at least 32"):
        windtunnel.corrupt(np.zeros((16, 16, 3), np.uint8), UNITS[0], 1)


def test_a_misspelt_name_is_corrected() -> None:
    with pytest.raises(windtunnel.UserError, match="Did you mean gaussian_noise"):
        windtunnel.corrupt(golden_image(64), "gausian_noise", 1)


@pytest.mark.parametrize(
    ("options", "match"), [({"seed": "a"}, "seed"), ({"seed": 1.7}, "seed"), ({"edition": 0}, "edition")]
)
def test_seeds_and_editions_that_are_none_are_refused(options: dict, match: str) -> None:
    with pytest.raises(windtunnel.UserError, match=f"The {match} is"):
        windtunnel.corrupt(golden_image(64), UNITS[0], 1, **options)


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize("shape", [(32, 500), (500, 32), (600, 700)], ids=str)
@pytest.mark.parametrize("level", [0, 255])
def test_thin_large_and_even_images(name: str, shape: tuple[int, int], level: int) -> None:
    image = np.full((*shape, 3), level, np.uint8)
    if min(shape) < REGISTRY.get(name).min_side_px:
        pytest.skip("the unit needs larger images")
    assert windtunnel.corrupt(image, name, severity(name, 5), seed=1).shape == image.shape


# Drawings in strokes, whose lines begin to the left of what they show.
DRAWINGS = ("vertical_lines",)


@pytest.mark.parametrize("name", [name for name in UNITS if name not in DRAWINGS])
def test_a_unit_that_moves_objects_far_declares_it(name: str) -> None:
    """The change that a patch in the image makes in the corrupted image is where the patch is."""
    without = golden_image(160)
    patched = without.copy()
    patched[36:56, 96:116] = 255 - without[36:56, 96:116] // 4
    distances = []
    for seed in range(3):
        before, after = (
            windtunnel.corrupt(image, name, severity(name, 3), seed=seed).mean(axis=2)
            for image in (without, patched)
        )
        change = np.abs(after - before)
        if change.max() >= 8:  # otherwise the patch is hidden
            centre = np.argwhere(change >= change.max() / 2).mean(axis=0)
            distances.append(float(np.hypot(*(centre - (45.5, 105.5)))))
    if distances and np.median(distances) > 12:
        assert REGISTRY.get(name).motion
