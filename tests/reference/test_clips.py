"""H.264 clips: encoded as ImageNet-P's were, read as its own reader reads them, the same every time."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

import windtunnel
from windtunnel.core.errors import ImageError, UserError
from windtunnel.imaging.clips import decode_clip, encode_clip, whole_clip
from windtunnel.suites.golden_digests import golden_image

TYPES = {"gaussian_noise": "noise", "tilt": "temporal"}
# What x264's documentation says of preset veryslow, and of tune grain.
VERYSLOW = {"ref": "16", "me": "umh", "subme": "10", "me_range": "24", "trellis": "2", "bframes": "8",
            "b_adapt": "2", "rc_lookahead": "60"}  # fmt: skip
GRAIN = {"deblock": "1:-2:-2", "deadzone": "6,6", "decimate": "0", "qcomp": "0.80", "ip_ratio": "1.10",
         "aq": "1:0.50"}  # fmt: skip
PLAIN = {"deblock": "1:0:0", "deadzone": "21,11", "decimate": "1", "qcomp": "0.60", "ip_ratio": "1.40",
         "aq": "1:1.00"}  # fmt: skip


def frames_of(name: str, side: int) -> list[np.ndarray]:
    return list(windtunnel.perturb(golden_image(side), name, seed=0))


def read_by_opencv(path: Path) -> list[np.ndarray]:
    """As the reference's loader does: cv2.VideoCapture, BGR to RGB."""
    video, frames = cv2.VideoCapture(str(path)), []
    while True:
        more, frame = video.read()
        if not more:
            return frames
        frames.append(cv2.cvtColor(frame, cv2.COLOR_BGR2RGB))


@pytest.mark.parametrize(("type_", "crf", "tuning"), [("noise", "23.0", GRAIN), ("temporal", "20.0", PLAIN)])
def test_libx264_is_asked_for_the_published_settings(type_: str, crf: str, tuning: dict[str, str]) -> None:
    """The encoder writes into the stream what it was asked for."""
    content = encode_clip(frames_of("tilt", 32), type_)
    written = re.search(rb"options: ([ -~]+)", content)
    assert written
    said = dict(item.partition("=")[::2] for item in written[1].decode().split())
    assert {"rc": "crf", "crf": crf, **VERYSLOW, **tuning}.items() <= said.items()


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("side", [32, 45, 64])
def test_frames_are_near_and_are_what_opencv_reads(name: str, side: int, tmp_path: Path) -> None:
    frames = frames_of(name, side)
    content = encode_clip(iter(frames), TYPES[name])
    stored = list(decode_clip(content))
    (tmp_path / "clip.mp4").write_bytes(content)
    assert np.array_equal(read_by_opencv(tmp_path / "clip.mp4"), stored)
    assert len(stored) == len(frames) == 31
    squares = [np.mean((np.float64(a) - b) ** 2) for a, b in zip(frames, stored, strict=True)]
    quality = 10 * np.log10(255**2 / np.array(squares))
    assert (30 if name == "gaussian_noise" else 33) < quality.min() and quality.mean() < 50


def test_a_clip_is_yuv444_at_one_frame_a_second() -> None:
    import io

    import av

    with av.open(io.BytesIO(encode_clip(frames_of("tilt", 32), "temporal"))) as container:
        (stream,) = container.streams.video
        assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("h264", "yuv444p")
        assert (stream.average_rate, stream.frames) == (1, 31)


def test_noise_is_stored_with_its_grain() -> None:
    frames = frames_of("gaussian_noise", 64)
    as_noise, as_other = (list(decode_clip(encode_clip(frames, type_))) for type_ in ("noise", "temporal"))
    assert not np.array_equal(as_noise, as_other)


@pytest.mark.parametrize("name", TYPES)
def test_the_same_frames_are_the_same_bytes(name: str) -> None:
    """In this process again and again, and in another: memory that was used before decides nothing."""
    frames = frames_of(name, 64)
    made = set()
    for seed in range(6):
        np.random.default_rng(seed).bytes(50_000)
        made.add(hashlib.sha256(encode_clip(frames, TYPES[name])).hexdigest())
    code = (
        "import hashlib\nfrom tests.reference.test_clips import *\n"
        f"print(hashlib.sha256(encode_clip(frames_of({name!r}, 64), TYPES[{name!r}])).hexdigest())"
    )
    root = Path(__file__).parents[2]
    there = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert made == {there.stdout.strip()}


@pytest.mark.parametrize("shape", [(33, 47), (9, 200), (8, 8)])
def test_odd_sizes_keep_their_size(shape: tuple[int, int]) -> None:
    frames = [np.full((*shape, 3), level, np.uint8) for level in (0, 128, 255)]
    stored = list(decode_clip(encode_clip(frames, "temporal")))
    assert [frame.shape for frame in stored] == [(*shape, 3)] * 3


@pytest.mark.parametrize("damage", [lambda _: b"", lambda clip: clip[: len(clip) // 2], lambda _: b"x" * 999])
def test_a_damaged_video_is_an_image_that_cannot_be_read(damage: object) -> None:
    content = encode_clip(frames_of("tilt", 32), "temporal")
    with pytest.raises(ImageError) as told:
        list(decode_clip(damage(content)))  # type: ignore[operator]
    assert told.value.status == "unreadable" and "\n" not in told.value.reason


def test_without_pyav_the_cure_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    cure = "pip install 'av>="
    with pytest.raises(UserError, match=cure):
        windtunnel.plan("demo", "demo", "imagenet-p", codec="h264")
    with pytest.raises(UserError, match=cure):
        windtunnel.make_set("imagenet-p", "demo", tmp_path / "made", layout="videos")
    assert not (tmp_path / "made").exists()
    (tmp_path / "set" / "tilt" / "a").mkdir(parents=True)
    (tmp_path / "set" / "tilt" / "a" / "1.mp4").write_bytes(b"video")
    with pytest.raises(UserError, match=cure):
        windtunnel.plan("demo", tmp_path / "set")


def test_a_clip_of_another_length_or_size_is_refused_before_its_first_frame() -> None:
    frames = [np.full((4, 6, 3), number, np.uint8) for number in range(4)]
    assert [int(one[0, 0, 0]) for one in whole_clip(iter(frames[:3]), 3, (6, 4))] == [0, 1, 2]
    for clip, told in (
        (frames, "more frames than the usual 3"),
        (frames[:1], "1 frame where 3"),
        ([], "0 frames"),
        ([*frames[:2], frames[2][:, :4]], "4x4 pixels where 6x4"),
    ):
        with pytest.raises(ImageError, match=told):
            whole_clip(iter(clip), 3, (6, 4))
