"""Every registered sequence keeps the laws; a new unit needs no new test file."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tracemalloc
from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np
import pytest

import windtunnel
from windtunnel.corruptions import EDITIONS
from windtunnel.sequences import REGISTRY
from windtunnel.suites.golden_digests import golden_digest, golden_image

SHAPES = [(32, 32), (64, 64), (224, 224), (299, 299), (33, 70), (150, 97)]
UNITS = REGISTRY.shipped()
TEMPORAL = [name for name in UNITS if REGISTRY.get(name).type == "temporal"]


def make_image(height: int, width: int) -> np.ndarray:
    return np.ascontiguousarray(golden_image(max(height, width))[:height, :width])


def digest(frames: Iterable[np.ndarray]) -> str:
    found = hashlib.sha256()
    for frame in frames:
        found.update(np.ascontiguousarray(frame).tobytes())
    return found.hexdigest()


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_any_size_keeps_shape_and_type_and_leaves_the_input_alone(name: str, shape: tuple[int, int]) -> None:
    image = make_image(*shape)
    before = image.copy()
    unit = REGISTRY.get(name)
    frames = list(windtunnel.perturb(image, name, seed=1))
    assert all(frame.shape == image.shape and frame.dtype == np.uint8 for frame in frames)
    assert all(frame.flags.c_contiguous and frame.flags.writeable for frame in frames)
    assert np.array_equal(image, before)
    places = {frame.__array_interface__["data"][0] for frame in [*frames, image]}
    assert len(places) == len(frames) + 1
    assert len(frames) in {table.frames for table in unit.tables.values()}


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize("edition", EDITIONS)
def test_frames_are_as_many_as_the_table_says_and_differ(name: str, edition: int) -> None:
    """Two angles of a trail may fall on the same pixels; most do not."""
    frames = list(windtunnel.perturb(golden_image(edition), name, seed=1, edition=edition))
    assert len(frames) == REGISTRY.get(name).table(edition).frames
    assert len({frame.tobytes() for frame in frames}) > 0.8 * len(frames)


@pytest.mark.parametrize("name", UNITS)
def test_frames_that_were_handed_out_may_be_written_to(name: str) -> None:
    """Neither the next frames nor the image hang on them."""
    image = golden_image(64)
    wanted = [frame.copy() for frame in windtunnel.perturb(image, name, seed=1)]
    for number, frame in enumerate(windtunnel.perturb(image, name, seed=1)):
        assert np.array_equal(frame, wanted[number])
        frame[:] = 77
    assert np.array_equal(image, golden_image(64))


@pytest.mark.parametrize("name", UNITS)
def test_same_seed_same_frames_in_any_order(name: str) -> None:
    image = golden_image(64)

    def frames(sample_id: str) -> Iterator[np.ndarray]:
        return windtunnel.perturb(image, name, seed=5, sample_id=sample_id)

    first, second = digest(frames("a")), digest(frames("b"))
    together = list(zip(frames("a"), frames("b"), strict=True))
    assert digest(pair[0] for pair in together) == first
    assert digest(pair[1] for pair in together) == second


@pytest.mark.parametrize("name", UNITS)
def test_seed_and_sample_decide_the_draws_of_random_units_only(name: str) -> None:
    image = golden_image(64)
    base = digest(windtunnel.perturb(image, name, seed=0, sample_id="a"))
    for other in (
        {"seed": 1, "sample_id": "a"},
        {"seed": 0, "sample_id": "b"},
        {"seed": None, "sample_id": "a"},
    ):
        assert (digest(windtunnel.perturb(image, name, **other)) != base) == REGISTRY.get(name).random


@pytest.mark.parametrize("name", [name for name in UNITS if REGISTRY.get(name).type == "noise"])
def test_difficulties_of_noise_are_more_noise(name: str) -> None:
    image = golden_image(64)
    strengths = []
    for difficulty in (1, 2, 3):
        frame = next(islice(windtunnel.perturb(image, name, seed=0, difficulty=difficulty), 1, None))
        strengths.append(np.abs(frame.astype(int) - image).mean())
    assert strengths == sorted(strengths)
    assert len(set(strengths)) == 3


@pytest.mark.parametrize("name", UNITS)
def test_grey_comes_back_in_its_own_shape(name: str) -> None:
    grey = golden_image(64)[:, :, 0]
    flat = list(windtunnel.perturb(grey, name, seed=0))
    deep = list(windtunnel.perturb(grey[:, :, None], name, seed=0))
    colour = list(windtunnel.perturb(np.repeat(grey[:, :, None], 3, axis=2), name, seed=0))
    assert all(frame.shape == (64, 64) for frame in flat)
    assert all(frame.shape == (64, 64, 1) for frame in deep)
    for one, other, third in zip(flat, deep, colour, strict=True):
        assert np.array_equal(one, other[:, :, 0])
        assert np.array_equal(one, third[:, :, 0])


@pytest.mark.parametrize("name", UNITS)
def test_layout_in_memory_does_not_matter(name: str) -> None:
    image = golden_image(64)
    wanted = digest(windtunnel.perturb(image, name, seed=0))
    wide = np.zeros((64, 128, 3), np.uint8)
    wide[:, ::2] = image
    frozen = image.copy()
    frozen.flags.writeable = False
    for same in (wide[:, ::2], np.asfortranarray(image), frozen):
        assert digest(windtunnel.perturb(same, name, seed=0)) == wanted


@pytest.mark.parametrize("name", UNITS)
def test_what_happens_to_the_image_later_does_not_matter(name: str) -> None:
    image = golden_image(64)
    wanted = digest(windtunnel.perturb(image, name, seed=0))
    frames = windtunnel.perturb(image, name, seed=0)
    image[:] = 0
    assert digest(frames) == wanted


@pytest.mark.parametrize("name", UNITS)
def test_global_random_state_is_neither_used_nor_touched(name: str) -> None:
    image = golden_image(64)
    np.random.seed(1)  # noqa: NPY002
    first = digest(windtunnel.perturb(image, name, seed=0))
    after = np.random.random()  # noqa: NPY002
    np.random.seed(1)  # noqa: NPY002
    assert after == np.random.random()  # noqa: NPY002
    assert first == digest(windtunnel.perturb(image, name, seed=0))


@pytest.mark.parametrize("name", UNITS)
def test_frames_are_made_one_at_a_time_and_not_kept(name: str) -> None:
    image = golden_image(224)
    digest(windtunnel.perturb(image, name, seed=0))  # compiled, and tables made
    tracemalloc.start()
    try:
        frames = windtunnel.perturb(image, name, seed=0)
        next(frames)
        tracemalloc.reset_peak()
        begin, _ = tracemalloc.get_traced_memory()
        for _ in frames:
            pass
        end, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # 31 frames would be 31 images.
    assert end - begin < 2 * image.nbytes
    assert peak - begin < 8 * image.nbytes


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
    assert set(unit.tables) == set(EDITIONS)
    assert unit.function.__doc__


def test_another_process_makes_the_same_frames() -> None:
    code = (
        "import windtunnel, hashlib\n"
        "from windtunnel.suites.golden_digests import golden_image\n"
        f"for name in {UNITS[::-1]!r}:\n"
        "    found = hashlib.sha256()\n"
        "    for frame in windtunnel.perturb(golden_image(64), name, seed=9, sample_id='p'):\n"
        "        found.update(frame.tobytes())\n"
        "    print(found.hexdigest())\n"
    )
    theirs = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    ours = [digest(windtunnel.perturb(golden_image(64), name, seed=9, sample_id="p")) for name in UNITS]
    assert theirs.split()[::-1] == ours


# Mistakes are told when the call is made, not when the first frame is asked for


@pytest.mark.parametrize("difficulty", [0, 4, -1, 1.5, "1", True, None])
def test_difficulties_outside_one_to_three_are_refused(difficulty: object) -> None:
    with pytest.raises(windtunnel.UserError, match="difficulty is"):
        windtunnel.perturb(golden_image(64), "gaussian_noise", difficulty=difficulty)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", TEMPORAL)
@pytest.mark.parametrize("difficulty", [2, 3])
def test_difficulties_of_temporal_sequences_are_strides(name: str, difficulty: int) -> None:
    with pytest.raises(windtunnel.UserError, match="stride") as error:
        windtunnel.perturb(golden_image(64), name, difficulty=difficulty)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "image",
    [np.zeros((64, 64, 3), np.float32), np.zeros((64, 64, 4), np.uint8), [[1, 2], [3, 4]]],
    ids=["float", "four channels", "list"],
)
def test_what_is_no_image_is_refused(image: object) -> None:
    with pytest.raises(windtunnel.UserError, match="uint8"):
        windtunnel.perturb(image, UNITS[0])  # type: ignore[arg-type]


def test_images_below_32_pixels_are_refused() -> None:
    with pytest.raises(windtunnel.UserError, match="at least 32"):
        windtunnel.perturb(np.zeros((16, 16, 3), np.uint8), UNITS[0])


def test_a_misspelt_name_is_corrected() -> None:
    with pytest.raises(windtunnel.UserError, match="Did you mean gaussian_noise"):
        windtunnel.perturb(golden_image(64), "gausian_noise")


@pytest.mark.parametrize(
    ("options", "match"), [({"seed": "a"}, "seed"), ({"seed": 1.7}, "seed"), ({"edition": 0}, "edition")]
)
def test_seeds_and_editions_that_are_none_are_refused(options: dict, match: str) -> None:
    with pytest.raises(windtunnel.UserError, match=f"The {match} is"):
        windtunnel.perturb(golden_image(64), UNITS[0], **options)


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize("shape", [(32, 300), (300, 32), (400, 500)], ids=str)
@pytest.mark.parametrize("level", [0, 255])
def test_thin_large_and_even_images(name: str, shape: tuple[int, int], level: int) -> None:
    image = np.full((*shape, 3), level, np.uint8)
    frames = list(islice(windtunnel.perturb(image, name, seed=1), 2))
    assert all(frame.shape == image.shape for frame in frames)
