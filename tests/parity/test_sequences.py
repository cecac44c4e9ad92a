"""The fast sequences are the oracles: within one grey level, or of one distribution."""

from __future__ import annotations

import math
from itertools import islice

import numpy as np
import pytest
from PIL import Image
from scipy.stats import norm

import windtunnel
from tests.parity import oracles, sequence_oracles
from tests.parity.compare import ALPHA, MAX_LEVELS, caught, noise_p_value
from tests.parity.draws import Replay
from tests.parity.sequence_compare import (
    COMPARED,
    NOISES,
    differing_frame,
    oracle_frames,
    our_draws,
    unit_frames,
    wide_photograph,
)
from tests.parity.sequence_reference import NAMES, TABLES
from tests.parity.test_units import correlation
from windtunnel.corruptions import EDITIONS
from windtunnel.imaging.geometry import Geometry, finish, kept_window, resize_step
from windtunnel.kernels.warp import Affine, AffineWarp, PerspectiveWarp, about_centre
from windtunnel.kernels.window import Window, whole
from windtunnel.sequences import REGISTRY
from windtunnel.sequences.tilt import facing_back
from windtunnel.suites.golden_digests import golden_image

GEOMETRIC = ("zoom_blur", "translate", "rotate", "tilt", "scale", "shear")


def nth(frames: object, number: int) -> np.ndarray:
    return next(islice(frames, number, None))


def test_all_published_sequences_are_there() -> None:
    assert set(REGISTRY.shipped()) == set(NAMES)
    assert len(NAMES) == 14


@pytest.mark.parametrize("name", NAMES)
def test_tables_are_the_published_ones(name: str) -> None:
    unit = REGISTRY.get(name)
    for edition in EDITIONS:
        for difficulty in unit.difficulties:
            published = TABLES[edition, name, difficulty]
            ours = unit.table(edition)
            assert (ours.frames, ours.clean, ours.stage) == (
                published.frames,
                published.clean,
                published.stage,
            )
            assert list(unit.parameters(difficulty, edition).values()) == pytest.approx(
                list(published.parameters), rel=1e-12
            )


@pytest.mark.parametrize("name", COMPARED)
@pytest.mark.parametrize("edition", EDITIONS)
def test_frames_are_within_one_level_of_the_oracles(name: str, edition: int) -> None:
    for image in (golden_image(edition), wide_photograph(edition, edition)):
        assert differing_frame(name, image, edition) is None


@pytest.mark.parametrize("name", GEOMETRIC)
def test_frames_before_the_crop_are_the_oracles_with_a_margin(name: str) -> None:
    for height, width in ((256, 341), (341, 256), (256, 256)):
        image = wide_photograph(height, width)
        window = kept_window(image, "resized", Geometry())
        assert (window.height, window.width) == (224, 224)
        assert differing_frame(name, image, 224, window) is None


@pytest.mark.parametrize("name", COMPARED)
@pytest.mark.parametrize(("height", "width"), [(97, 97), (150, 101), (64, 133), (75, 41)])
def test_other_sizes_and_shapes_follow_the_same_code(name: str, height: int, width: int) -> None:
    assert differing_frame(name, wide_photograph(height, width), 224) is None


@pytest.mark.parametrize("name", COMPARED)
def test_ramps_and_checks_of_odd_shapes_are_within_one_level(name: str) -> None:
    """On ramps every pixel may lie on the border of a level: there a blur in float32 may miss many."""
    image = np.ascontiguousarray(golden_image(133)[:64])
    for ours, theirs in zip(unit_frames(name, image, 224), oracle_frames(name, image, 224), strict=True):
        assert np.abs(ours.astype(int) - theirs).max() <= MAX_LEVELS


@pytest.mark.parametrize("name", GEOMETRIC)
def test_warps_are_the_libraries_to_the_last_bit(name: str) -> None:
    for image in (golden_image(133)[:64].copy(), wide_photograph(141, 97)):
        for ours, theirs in zip(unit_frames(name, image, 224), oracle_frames(name, image, 224), strict=True):
            assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("edition", EDITIONS)
def test_clean_frames_are_the_image(name: str, edition: int) -> None:
    image = golden_image(edition)
    clean = REGISTRY.get(name).table(edition).clean
    same = [
        number for number, frame in enumerate(unit_frames(name, image, edition)) if (frame == image).all()
    ]
    assert same == ([] if clean is None else [clean])


@pytest.mark.parametrize("edition", EDITIONS)
def test_unmoved_brightness_is_within_a_level_of_the_image(edition: int) -> None:
    image = wide_photograph(edition, edition)
    bright = nth(unit_frames("brightness", image, edition), 15)
    assert np.abs(bright.astype(int) - image).max() <= 1


def test_unmoved_tilt_shrinks_a_little() -> None:
    image = np.zeros((256, 341, 3), np.uint8)
    image[:, 8] = 255
    facing = nth(unit_frames("tilt", image, 224), 15)[128, :, 0].astype(float)
    focus = math.hypot(256, 341)
    wanted = 341 / 2 + (8 - 341 / 2) * focus / (focus + 1)
    assert facing @ np.arange(341) / facing.sum() == pytest.approx(wanted, abs=0.05)


def test_tilted_corners_are_black_where_the_reference_says() -> None:
    white = np.full((256, 256, 3), 255, np.uint8)
    frames = list(unit_frames("tilt", white, 224, window=kept_window(white, "resized", Geometry())))
    corners = [(0, 0), (0, -1), (-1, 0), (-1, -1)]
    assert [frames[0][corner].max() == 0 for corner in corners] == [True, False, False, False]
    assert [frames[30][corner].max() == 0 for corner in corners] == [False, False, False, True]


def test_shear_moves_the_top_right_for_positive_angles() -> None:
    image = np.zeros((101, 101, 3), np.uint8)
    image[:, 50] = 255
    leaning = list(unit_frames("shear", image, 224))[30][:, :, 0]
    assert leaning[10].argmax() > 50 > leaning[90].argmax()


# Stages: what the engine does around a sequence gives the reference's geometry


@pytest.mark.parametrize("name", ["translate", "rotate", "shear"])
def test_full_resolution_frames_of_edition_299_end_on_the_canvas(name: str) -> None:
    geometry = Geometry(rule="crop-then-resize", crop_px=299)
    source = wide_photograph(375, 501)
    table = REGISTRY.get(name).table(299)
    assert table.stage == "source"
    window = kept_window(source, table.stage, geometry)
    frames = [finish(frame, table.stage, geometry) for frame in unit_frames(name, source, 299, window=window)]
    assert {frame.shape for frame in frames} == {(299, 299, 3)}
    assert (frames[table.clean] == resize_step(source, geometry)).all()
    theirs = list(oracle_frames(name, source, 299))[3]
    assert not caught(frames[3], resize_step(theirs, geometry))


def test_motion_blur_of_edition_64_is_made_before_the_resize() -> None:
    geometry = Geometry(rule="squash", resize_px=64, crop_px=0)
    source = wide_photograph(120, 160)
    window = kept_window(source, "source", geometry)
    assert window == whole(source)
    frames = unit_frames("motion_blur", source, 64, window=window)
    for ours, theirs in islice(zip(frames, oracle_frames("motion_blur", source, 64), strict=True), 3):
        assert not caught(finish(ours, "source", geometry), resize_step(theirs, geometry))


@pytest.mark.parametrize("name", NAMES)
def test_a_window_is_a_part_of_the_whole(name: str) -> None:
    image = wide_photograph(90, 121)
    window = Window(7, 30, 64, 58)
    pairs = zip(unit_frames(name, image, 224, window=window), unit_frames(name, image, 224), strict=True)
    for part, frame in pairs:
        assert part.flags.c_contiguous
        assert np.array_equal(part, window.cut(frame))


# Noises: outputs by input level against the exact distribution, and independence between frames


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("difficulty", [1, 2, 3])
def test_noises_have_the_reference_distribution(name: str, edition: int, difficulty: int) -> None:
    (parameter,) = TABLES[edition, name, difficulty].parameters
    unit, number = REGISTRY.get(name), 10 * difficulty

    def frame(image: np.ndarray) -> np.ndarray:
        rng = unit.draws(7, "chi", difficulty)
        made = unit.function(image, rng, number + 1, **unit.parameters(difficulty, edition))
        return next(islice(made, number, None))

    assert noise_p_value(name, parameter, frame) > ALPHA


@pytest.mark.parametrize("name", NOISES)
def test_oracle_noises_have_that_distribution_too(name: str) -> None:
    """The oracle's own draws pass the same test, so that the definition is the oracle's."""
    (parameter,) = TABLES[224, name, 2].parameters
    rng = np.random.RandomState(5)
    oracle = getattr(sequence_oracles, name)
    assert noise_p_value(name, parameter, lambda image: list(oracle(image, rng, 2, parameter))[1]) > ALPHA


def independent(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether two fields of noise pass for independent."""
    return correlation(first.astype(float), second.astype(float)) < norm.isf(ALPHA / 2)


@pytest.mark.parametrize("name", NOISES)
def test_noise_fields_are_independent(name: str) -> None:
    """Between frames, images, seeds, difficulties, and of the corruption of the same name."""
    grey = np.full((224, 224, 3), 128, np.uint8)

    def field(number: int, **options: object) -> np.ndarray:
        given = {"seed": 0, "sample_id": "a", **options}
        return next(islice(windtunnel.perturb(grey, name, **given), number, None))

    base = field(1)
    others = {
        "next frame": field(2),
        "last frame": field(30),
        "images": field(1, sample_id="b"),
        "seeds": field(1, seed=1),
        "difficulties": field(1, difficulty=2),
        "corruption": windtunnel.corrupt(grey, name, 1, seed=0, sample_id="a"),
    }
    for what, other in others.items():
        assert independent(base, other), what


# Mutants: each of these mistakes is caught by the checks above


@pytest.fixture
def image() -> np.ndarray:
    return wide_photograph(256, 341)


@pytest.mark.parametrize(("name", "angle"), [("rotate", "degrees"), ("shear", "shear_degrees")])
def test_mutant_affine_about_the_true_middle_is_caught(name: str, angle: str, image: np.ndarray) -> None:
    height, width = image.shape[:2]
    warp = AffineWarp(image, whole(image))
    mutant = about_centre(width - 1, height - 1, **{angle: 5.0})
    theirs = nth(oracle_frames(name, image, 224), 20)
    assert caught(warp(mutant), theirs)
    assert not caught(warp(about_centre(width, height, **{angle: 5.0})), theirs)


def test_mutant_scale_about_the_true_middle_is_caught(image: np.ndarray) -> None:
    height, width = image.shape[:2]
    warp = AffineWarp(image, whole(image))
    theirs = nth(oracle_frames("scale", image, 224), 12)
    assert caught(warp(about_centre(width - 1, height - 1, scale=0.7)), theirs)
    assert not caught(warp(about_centre(width, height, scale=0.7)), theirs)


def test_mutant_rounded_affine_is_caught(image: np.ndarray) -> None:
    height, width = image.shape[:2]
    back = about_centre(width, height, degrees=5.0)
    data = (back.a, back.b, back.c, back.d, back.e, back.f)
    planes = [
        np.asarray(
            Image.fromarray(image[:, :, channel].astype(np.float32)).transform(
                (width, height), Image.Transform.AFFINE, data, Image.Resampling.BILINEAR
            )
        )
        for channel in range(3)
    ]
    exact = np.stack(planes, axis=2)
    ours = nth(unit_frames("rotate", image, 224), 20)
    assert caught(np.rint(exact).astype(np.uint8), ours)
    assert not caught(np.floor(exact + 1e-4).astype(np.uint8), ours)


def test_mutant_opposite_tilts_are_caught(image: np.ndarray) -> None:
    height, width = image.shape[:2]
    ours, angle = nth(unit_frames("tilt", image, 224), 20), 5.0
    warp = PerspectiveWarp(image, whole(image))
    assert caught(warp(facing_back(width, height, -math.radians(angle))), ours)
    # About one axis only: the usual sign of a rotation about y, undone by mirroring across.
    flipped = sequence_oracles.tilt_matrix(width, height, angle)
    mirror = np.array([[-1, 0, width], [0, 1, 0], [0, 0, 1]])
    assert caught(sequence_oracles.perspective(image, mirror @ flipped @ mirror), ours)
    assert not caught(sequence_oracles.perspective(image, flipped), ours)


def test_mutant_shear_without_squeeze_is_caught(image: np.ndarray) -> None:
    height, width = image.shape[:2]
    lean = math.sin(math.radians(10))
    x, y = width / 2 + 0.5, height / 2 + 0.5
    plain = Affine(1.0, lean, -lean * y, 0.0, 1.0, 0.0)
    theirs = nth(oracle_frames("shear", image, 224), 25)
    assert caught(AffineWarp(image, whole(image))(plain), theirs)
    squeezed = about_centre(width, height, shear_degrees=10)
    assert squeezed.e * y + squeezed.d * x + squeezed.f == pytest.approx(y)
    assert not caught(AffineWarp(image, whole(image))(squeezed), theirs)


def test_mutant_zoom_blur_without_the_first_frame_is_caught(image: np.ndarray) -> None:
    enlarged = [sequence_oracles.affine(image, scale=1 + 0.004 * i) / 255 for i in range(1, 11)]
    without = oracles.truncated(sum(enlarged) / len(enlarged))
    assert caught(without, nth(unit_frames("zoom_blur", image, 224), 10))


@pytest.mark.parametrize("name", NOISES)
def test_mutant_noise_shared_by_frames_is_caught(name: str) -> None:
    grey = np.full((224, 224, 3), 128, np.uint8)
    shared = [nth(windtunnel.perturb(grey, name, seed=0), 1) for _ in range(2)]
    assert not independent(*shared)


@pytest.mark.parametrize(("edition", "frame"), [(224, 3), (224, 30), (32, 5)])
def test_mutant_spatter_with_a_threshold_in_every_frame_is_caught(edition: int, frame: int) -> None:
    image = wide_photograph(edition, edition)
    table = TABLES[edition, "spatter", 1]
    threshold = table.parameters[3]
    (field,) = our_draws("spatter", edition, edition, table.parameters)
    layer = oracles.blurred(field, table.parameters[2])
    layer[layer < threshold] = 0
    for _ in range(frame):
        padded = np.pad(layer, ((2, 1), (0, 0)))
        layer = sum(
            s * padded[k : k + edition] for s, k in zip(table.parameters[5:], (3, 2, 1, 0), strict=True)
        )
        layer[layer < threshold] = 0
    drops = (layer * 255).astype(int).astype(np.uint8)
    mask = drops * oracles.rims(drops).astype(np.float32)
    mask = mask / max(mask.max(), 1) * np.float32(table.parameters[4])
    again = oracles.truncated(image / 255 + mask[..., None] * np.array(oracles.WATER) / 255)
    assert caught(again, nth(unit_frames("spatter", image, edition), frame))


def test_the_oracles_draw_once_a_frame_or_once_a_sequence() -> None:
    image = golden_image(32)
    for name, count in (("shot_noise", 30), ("speckle_noise", 30), ("gaussian_noise", 30)):
        (parameter,) = TABLES[32, name, 1].parameters
        fields = [np.zeros((3, 32, 32) if name == "gaussian_noise" else (32, 32, 3), np.float32)] * count
        replay = Replay(fields)
        assert len(list(getattr(sequence_oracles, name)(image, replay, 31, parameter))) == 31
        assert replay.left == []
