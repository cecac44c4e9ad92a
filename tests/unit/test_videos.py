"""Decoding videos: pixels, times and damage, against other decoders and the frames that were written."""

from __future__ import annotations

import contextlib
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.video_clips import numbered_frames, turn, write_bad_videos, write_clip, write_h264
from windtunnel.curate.frame_signals import compare_frames, histogram_distance, structural_similarity
from windtunnel.imaging.container_sizes import missing_bytes
from windtunnel.imaging.frame_times import frame_times
from windtunnel.imaging.videos import VideoError, decode_frames, video_times


def opencv_frames(path: Path) -> list[np.ndarray]:
    """Every frame as OpenCV's own reader returns it, which also turns frames upright."""
    capture = cv2.VideoCapture(str(path))
    frames = []
    while True:
        there, frame = capture.read()
        if not there:
            return frames
        frames.append(cv2.cvtColor(frame, cv2.COLOR_BGR2RGB))


def decoded(path: Path, *wanted: int) -> list[np.ndarray]:
    return [image for _, image in decode_frames(path, wanted or range(len(video_times(path).frames)))]


def test_frames_of_a_lossless_video_are_those_that_were_written(tmp_path: Path) -> None:
    frames = numbered_frames(12)
    path = write_clip(tmp_path / "a.mkv", frames)
    assert np.array_equal(decoded(path), frames)
    assert np.array_equal(decoded(path, 7, 2), [frames[2], frames[7]])


def test_frames_of_h264_are_opencvs_in_the_order_of_presentation(tmp_path: Path) -> None:
    path = write_h264(tmp_path / "a.mp4", numbered_frames(40))
    assert np.array_equal(decoded(path), opencv_frames(path))


def test_times_of_a_variable_frame_rate_are_those_that_were_written(tmp_path: Path) -> None:
    milliseconds = [0, 7, 40, 41, 300, 333, 1500, 1501]
    path = write_clip(tmp_path / "a.mkv", numbered_frames(8), milliseconds=milliseconds)
    video = video_times(path)
    assert [frame.time for frame in video.frames] == [stamp / 1000 for stamp in milliseconds]
    assert not any(frame.estimated for frame in video.frames)


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("clockwise", lambda image: np.rot90(image, -1)),
        ("upside_down", lambda image: np.rot90(image, 2)),
        ("counter_clockwise", lambda image: np.rot90(image, 1)),
        ("mirrored", lambda image: image[:, ::-1]),
    ],
)
def test_frames_are_turned_as_players_show_them(tmp_path: Path, how: str, expected) -> None:
    path = write_h264(tmp_path / "a.mp4", numbered_frames(6))
    stored = decoded(path)
    turn(path, how)
    upright = decoded(path)
    assert np.array_equal(upright, [expected(image) for image in stored])
    facts = video_times(path).facts
    assert (facts.height, facts.width) == upright[0].shape[:2]
    if how != "mirrored":  # OpenCV reads only the angle
        assert np.array_equal(upright, opencv_frames(path))


def test_a_stream_without_timestamps_gets_them_from_its_rate(tmp_path: Path) -> None:
    path = write_clip(
        tmp_path / "a.h264", numbered_frames(10), codec="libx264", pixels="yuv420p", container="h264"
    )
    video = video_times(path)
    assert [frame.time for frame in video.frames] == pytest.approx([index / 25 for index in range(10)])
    assert all(frame.estimated for frame in video.frames)
    assert "10 frames without a usable timestamp" in video.notes[0]


def test_every_kind_of_damage_has_a_status_and_a_reason(tmp_path: Path) -> None:
    expected = write_bad_videos(tmp_path)
    found = {}
    for name in expected:
        try:
            reason = video_times(tmp_path / name).truncated
            found[name] = "truncated" if reason else "ok"
        except VideoError as error:
            found[name], reason = error.status, error.reason
        assert reason
    assert found == expected


CONTAINERS = [
    ("a.mp4", {"codec": "libx264", "pixels": "yuv420p", "options": {"movflags": "faststart"}}),
    ("a.mp4", {"codec": "libx264", "pixels": "yuv420p", "options": {"movflags": "frag_keyframe+empty_moov"}}),
    ("a.mkv", {"codec": "libx264", "pixels": "yuv420p"}),
    ("a.avi", {"codec": "libx264", "pixels": "yuv420p"}),
    ("a.webm", {"codec": "libvpx-vp9", "pixels": "yuv420p"}),
    ("a.mkv", {}),
]


@pytest.mark.parametrize(("name", "how"), CONTAINERS)
def test_frames_of_a_truncated_video_are_the_first_of_the_whole_one(
    tmp_path: Path, name: str, how: dict
) -> None:
    """Also where frames are stored in another order than they are shown (H.264)."""
    path = write_clip(tmp_path / name, numbered_frames(40), **how)
    content, whole, times = (
        path.read_bytes(),
        decoded(path),
        [frame.time for frame in video_times(path).frames],
    )
    assert missing_bytes(path) == 0 and not video_times(path).truncated
    used = []
    for share in (0.1, 0.4, 0.6, 0.75, 0.9, 0.97):
        path.write_bytes(content[: round(len(content) * share)])
        try:
            video = video_times(path)
        except VideoError as error:
            assert error.status == "truncated"
            continue
        used.append(len(video.frames))
        assert video.truncated
        assert [frame.time for frame in video.frames] == times[: used[-1]]
        assert np.array_equal(decoded(path), whole[: used[-1]])
    assert used == sorted(used) and 5 < used[-1] <= 40


def test_containers_state_how_many_bytes_are_missing(tmp_path: Path) -> None:
    for name, how in CONTAINERS:
        path = write_clip(tmp_path / name, numbered_frames(10), **how)
        content = path.read_bytes()
        # The end of a Matroska or AVI file is that of its outermost element, of MP4 that of its frames.
        path.write_bytes(content[: len(content) // 2])
        missing = missing_bytes(path)
        assert 0 < missing <= len(content) - len(content) // 2
        if name.endswith((".mkv", ".webm", ".avi")):
            assert missing == len(content) - len(content) // 2
    for content in (
        b"",
        b"RIFF",
        b"RIFF\0\0\0\0AVI LIST",  # a recorder that was stopped
        b"RIFF\x09\0\0\0AVI LIST",  # a byte of padding that is not there
        b"\x1aE\xdf\xa3",
        b"\x1aE\xdf\xa3\x01",
        b"no video",
    ):
        (tmp_path / "other").write_bytes(content)
        assert missing_bytes(tmp_path / "other") == 0


def test_frames_of_avi_are_shown_at_a_constant_rate(tmp_path: Path) -> None:
    """AVI has no times of presentation; FFmpeg's guesses for H.264 with B-frames are out of order."""
    video = video_times(write_h264(tmp_path / "a.avi", numbered_frames(40)))
    assert [frame.time for frame in video.frames] == pytest.approx([index / 25 for index in range(40)])
    assert not any(frame.estimated for frame in video.frames)


@pytest.mark.parametrize("suffix", [".mp4", ".ts", ".avi", ".mkv"])
def test_damaged_bytes_never_raise_another_error(tmp_path: Path, suffix: str) -> None:
    codec = (
        {"codec": "ffv1", "pixels": "bgr0"} if suffix == ".mkv" else {"codec": "libx264", "pixels": "yuv420p"}
    )
    whole = write_clip(tmp_path / f"a{suffix}", numbered_frames(10), **codec).read_bytes()
    rng = np.random.default_rng(0)
    for number in range(60):
        content = np.frombuffer(whole, np.uint8).copy()
        # Headers first: they decide what is allocated and how texts are read.
        places = rng.integers(0, len(content) if number % 2 else 600, 8)
        content[places] = rng.integers(0, 256, 8)
        path = tmp_path / f"damaged{suffix}"
        path.write_bytes(content.tobytes())
        with contextlib.suppress(VideoError):
            assert decoded(path)


stamps = st.lists(st.tuples(st.none() | st.integers(-9, 99), st.none() | st.integers(-9, 99)), min_size=1)


# Drawing fractions can be slow on a busy machine.
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(stamps, st.none() | st.fractions(-1, 1, max_denominator=1000))
def test_times_always_increase(stamps: list, start: Fraction | None) -> None:
    times = [frame.time for frame in frame_times(stamps, Fraction(1, 90), start, Fraction(30))]
    assert all(earlier < later for earlier, later in pairwise(times))


def test_times_follow_decoding_where_presentation_is_out_of_order() -> None:
    # The container has no presentation times, and the decoder's guesses swap two frames.
    shown, decoding = [1, 2, 4, 3, 5], [2, 3, 4, 5, 6]
    frames = frame_times(list(zip(shown, decoding, strict=True)), Fraction(1, 25), Fraction(0), Fraction(25))
    assert [round(frame.time * 25) for frame in frames] == [1, 2, 3, 4, 5]
    assert [frame.estimated for frame in frames] == [False, False, True, True, False]


def test_structural_similarity_of_plain_images_is_the_luminance_term() -> None:
    first, second = np.full((40, 40), 100, np.float32), np.full((40, 40), 150, np.float32)
    c1 = (0.01 * 255) ** 2
    expected = (2 * 100 * 150 + c1) / (100**2 + 150**2 + c1)
    assert structural_similarity(first, second) == pytest.approx(expected, abs=1e-4)
    noise = np.random.default_rng(0).uniform(0, 255, (64, 64)).astype(np.float32)
    assert structural_similarity(noise, noise) == pytest.approx(1, abs=1e-4)
    assert structural_similarity(noise, 255 - noise) < -0.5


def test_histogram_distance_is_the_share_of_pixels_that_must_change() -> None:
    first = np.zeros((10, 10, 3), np.uint8)
    second = first.copy()
    second[:3] = 255
    assert histogram_distance(first, first) == 0
    assert histogram_distance(first, second) == pytest.approx(0.3)


def test_flags_of_pairs() -> None:
    rng = np.random.default_rng(1)
    scene = cv2.resize(rng.integers(0, 256, (12, 16, 3), np.uint8), (320, 240))
    other = cv2.resize(rng.integers(0, 90, (12, 16, 3), np.uint8), (320, 240))
    grain = scene.copy()
    grain[::7, ::7] ^= 1
    moved = np.roll(scene, 4, axis=1)
    assert compare_frames(scene, scene.copy()).flags == ("duplicate",)
    assert compare_frames(scene, grain).flags == ("near_duplicate",)
    assert compare_frames(scene, moved).flags == ()
    assert compare_frames(scene, other).flags == ("cut",)
