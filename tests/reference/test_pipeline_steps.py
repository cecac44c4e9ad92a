"""Every decoder, resizer, colour path and rounding against direct calls of its library, or its formula."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable

import av
import cv2
import numpy as np
import pytest
import simplejpeg
import torch
from PIL import Image

from windtunnel.core.errors import ImageError, UserError
from windtunnel.imaging.colour import COLOURS
from windtunnel.imaging.decoders import REGISTRY as DECODERS
from windtunnel.imaging.decoders import decode
from windtunnel.imaging.geometry import Geometry, decode_step, short_side_size
from windtunnel.imaging.header import read_header
from windtunnel.imaging.resizers import resize
from windtunnel.imaging.resizers.torch import TORCH_FILTERS
from windtunnel.kernels.window import centre_window
from windtunnel.suites.golden_digests import golden_image


def jpeg(image: np.ndarray, mode: str = "RGB", **options: object) -> bytes:
    return stored(image, "JPEG", mode, **{"quality": 85, **options})


def stored(image: np.ndarray, kind: str, mode: str = "RGB", **options: object) -> bytes:
    out = io.BytesIO()
    Image.fromarray(image).convert(mode).save(out, kind, **options)
    return out.getvalue()


def turned_exif(orientation: int) -> Image.Exif:
    exif = Image.Exif()
    exif[274] = orientation
    return exif


IMAGE = np.ascontiguousarray(golden_image(131)[:97])
FILES: dict[str, bytes] = {
    "exif-rotated": jpeg(IMAGE, exif=turned_exif(6)),
    "progressive": jpeg(IMAGE, progressive=True),
    "grey": jpeg(IMAGE, "L"),
    "cmyk": jpeg(IMAGE, "CMYK"),
    "4:4:4": jpeg(IMAGE, subsampling=0),
    "4:2:0 odd-sized": jpeg(IMAGE, subsampling=2),
    "png": stored(IMAGE, "PNG"),
    "webp": stored(IMAGE, "WEBP", quality=80),
    "bmp": stored(IMAGE, "BMP"),
    "gif": stored(IMAGE, "GIF"),
    "tiff": stored(IMAGE, "TIFF", dpi=(72, 72)),
    "tiff by opencv": cv2.imencode(".tiff", IMAGE)[1].tobytes(),
    "jpeg in tiff": stored(IMAGE, "TIFF", compression="jpeg"),
}


def reads(decoder: str, kind: str) -> bool:
    formats = DECODERS.get(decoder).formats
    return not formats or read_header(FILES[kind]).format in formats


def by_pyav(data: bytes) -> np.ndarray:
    with av.open(io.BytesIO(data)) as container:
        return next(container.decode(video=0)).to_ndarray(format="rgb24")


DIRECT: dict[str, Callable[[bytes], np.ndarray]] = {
    "pillow": lambda data: np.asarray(Image.open(io.BytesIO(data)).convert("RGB")),
    "opencv": lambda data: cv2.cvtColor(
        cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION),
        cv2.COLOR_BGR2RGB,
    ),
    "ffmpeg": by_pyav,
    "simplejpeg": lambda data: simplejpeg.decode_jpeg(data, "RGB", fastdct=False, fastupsample=False),
    "simplejpeg-fastdct": lambda data: simplejpeg.decode_jpeg(data, "RGB", fastdct=True, fastupsample=False),
    "simplejpeg-fastupsample": lambda data: simplejpeg.decode_jpeg(
        data, "RGB", fastdct=False, fastupsample=True
    ),
}


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("decoder", DIRECT)
def test_a_decoder_gives_its_librarys_pixels_in_the_same_geometry_or_says_why_not(
    decoder: str, kind: str
) -> None:
    data = FILES[kind]
    if not reads(decoder, kind):
        kinds = "JPEG, PNG, WEBP, BMP" if decoder == "ffmpeg" else "JPEG"
        with pytest.raises(ImageError, match=f"{decoder}: reads {kinds} only, this is "):
            decode(data, read_header(data), decoder)
        return
    wanted = DIRECT[decoder](data)
    assert wanted.shape == IMAGE.shape
    assert np.array_equal(decode(data, read_header(data), decoder), wanted)
    turned = decode(data, read_header(data), decoder, "apply")
    assert turned.shape == ((131, 97, 3) if kind == "exif-rotated" else IMAGE.shape)


def test_the_fast_switches_change_pixels() -> None:
    data = FILES["4:2:0 odd-sized"]
    accurate = decode(data, read_header(data), "simplejpeg")
    for switch in ("simplejpeg-fastdct", "simplejpeg-fastupsample"):
        assert not np.array_equal(decode(data, read_header(data), switch), accurate)


def test_scaled_decoding_stops_above_the_size_that_is_wanted() -> None:
    data = jpeg(golden_image(800)[:600])
    geometry = Geometry(decoder="simplejpeg-scaled", resize_px=256, crop_px=224)
    wanted = simplejpeg.decode_jpeg(data, "RGB", fastdct=False, min_height=256, min_width=341)
    found = decode_step(data, geometry)
    assert np.array_equal(found, wanted)
    assert 256 <= found.shape[0] < 600
    assert decode_step(data, Geometry(decoder="simplejpeg-scaled", rule="none")).shape == (600, 800, 3)


@pytest.mark.parametrize("decoder", sorted(set(DECODERS.shipped()) - {"ffmpeg"}))
def test_no_decoder_opens_what_is_no_image(decoder: str) -> None:
    with pytest.raises(ImageError, match=decoder):
        decode(b"\xff\xd8\xff" + bytes(64), read_header(FILES["4:4:4"]), decoder)


@pytest.mark.parametrize("share", [0.5, 0.95])
@pytest.mark.parametrize("kind", FILES)
def test_no_decoder_takes_half_an_image_for_a_whole_one(kind: str, share: float) -> None:
    data = FILES[kind]
    part = data[: int(share * len(data))]
    for decoder in (name for name in DECODERS.shipped() if reads(name, kind)):
        with pytest.raises(ImageError, match=decoder):
            decode(part, read_header(data), decoder)


def test_a_missing_library_names_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    for library in ("av", "torch"):
        monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(UserError, match="pip install 'av>="):
        decode(FILES["4:4:4"], read_header(FILES["4:4:4"]), "ffmpeg")
    with pytest.raises(UserError, match="pip install 'torch>="):
        resize(IMAGE, 60, 40, "torch-bilinear")


@pytest.mark.parametrize("name", TORCH_FILTERS)
def test_torch_resizing_is_torchs(name: str) -> None:
    mode, _, antialias = name.partition("-")
    values = torch.from_numpy(IMAGE).permute(2, 0, 1)[None].float()
    wanted = torch.nn.functional.interpolate(values, size=(47, 61), mode=mode, antialias=bool(antialias))
    found = resize(IMAGE, 61, 47, f"torch-{name}")
    assert np.array_equal(found, wanted[0].permute(1, 2, 0).round().clamp(0, 255).numpy().astype(np.uint8))


def test_roundings_of_the_long_side_and_of_the_crop() -> None:
    assert short_side_size(500, 375, 256, "floor") == (341, 256)
    assert short_side_size(500, 333, 256, "round") == (384, 256)
    assert short_side_size(500, 376, 256, "ceil") == (341, 256)
    assert short_side_size(375, 500, 257, "round") == (257, 343)
    columns = np.arange(7, dtype=np.uint8)[None, :, None].repeat(7, axis=0).repeat(3, axis=2)
    # A margin of 3: half is 1.5.
    starts = {name: centre_window(columns, 4, 4, name).left for name in ("floor", "round", "ceil")}
    assert starts == {"floor": 1, "round": 2, "ceil": 2}


# Worked by hand from ITU-R BT.601 and BT.709: pure red, green, blue, mid grey, black and white.
PATCHES = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255], [128, 128, 128], [0, 0, 0], [255, 255, 255]]])
PATCHES = PATCHES.astype(np.uint8)


@pytest.mark.parametrize(
    ("colour", "wanted"),
    [
        ("rgb", PATCHES[0].tolist()),
        ("bgr", PATCHES[0][:, ::-1].tolist()),
        # Limited codes read as full: black 16, white 235, grey 16 + 219*128/255 = 126.
        ("limited-as-full", [None, None, None, [126] * 3, [16] * 3, [235] * 3]),
        # Full codes read as limited: (128 - 16)*255/219 = 130.4, the ends clipped.
        ("full-as-limited", [None, None, None, [130] * 3, [0] * 3, [255] * 3]),
        # Greys have no chroma: no matrix changes them. Red: Y 76, Cb 85, Cr 255 read by BT.709:
        # R = 76 + 1.5748*127 = 276, G = 76 + 0.18732*43 - 0.46812*127 = 25, B = 76 - 1.8556*43 = -4; clipped.
        ("bt601-as-bt709", [[255, 25, 0], None, None, [128] * 3, [0] * 3, [255] * 3]),
        ("bt709-as-bt601", [None, None, None, [128] * 3, [0] * 3, [255] * 3]),
    ],
)
def test_colour_paths_by_hand(colour: str, wanted: list[list[int] | None]) -> None:
    found = COLOURS[colour](PATCHES)[0].tolist()
    for value, expected in zip(found, wanted, strict=True):
        assert expected is None or value == expected


# As the standards and JFIF print them: rows of Y, Cb and Cr by R, G and B from 0 to 1, and back.
JFIF = [[76.245, 149.685, 29.07], [-43.02768, -84.47232, 127.5], [127.5, -106.76544, -20.73456]]
BT601_LIMITED = [[65.481, 128.553, 24.966], [-37.797, -74.203, 112.0], [112.0, -93.786, -18.214]]
BT709_FULL = [[54.213, 182.376, 18.411], [-29.21586, -98.28414, 127.5], [127.5, -115.80902, -11.69098]]
FROM_JFIF = [[1.0, 0.0, 1.402], [1.0, -0.344136, -0.714136], [1.0, 1.772, 0.0]]
FROM_BT601_LIMITED = [[1.164384, 0.0, 1.596027], [1.164384, -0.391762, -0.812968], [1.164384, 2.017232, 0.0]]
FROM_BT709_FULL = [[1.0, 0.0, 1.5748], [1.0, -0.187324, -0.468124], [1.0, 1.8556, 0.0]]
# What is written, from which black, and by what it is read, from which black.
MISTAKES = {
    "limited-as-full": (BT601_LIMITED, 16, FROM_JFIF, 0),
    "full-as-limited": (JFIF, 0, FROM_BT601_LIMITED, 16),
    "bt601-as-bt709": (JFIF, 0, FROM_BT709_FULL, 0),
    "bt709-as-bt601": (BT709_FULL, 0, FROM_JFIF, 0),
}


@pytest.mark.parametrize("colour", MISTAKES)
def test_mistaken_colours_are_the_standards_matrices(colour: str) -> None:
    levels = np.array([0, 51, 120, 128, 204, 255], np.uint8)
    patches = np.stack(np.meshgrid(levels, levels, levels), axis=-1).reshape(1, -1, 3)
    written, black, read, taken_for_black = MISTAKES[colour]
    codes = np.rint(patches / 255 @ np.transpose(written) + [black, 128, 128]).clip(0, 255)
    wanted = np.rint((codes - [taken_for_black, 128, 128]) @ np.transpose(read)).clip(0, 255)
    found = COLOURS[colour](patches).astype(int)
    # Where a code lies between two levels the printed digits may take the other one, which counts double.
    assert np.abs(found - wanted).max() <= 2 and (found == wanted).mean() > 0.98
    assert np.abs(found - patches).max() > 10


def test_nv12_keeps_luma_and_halves_chroma() -> None:
    even = np.full((5, 7, 3), (200, 90, 30), np.uint8)
    assert np.abs(COLOURS["nv12"](even).astype(int) - even).max() <= 2
    # Reddish beside bluish in one 2x2 block: both get the mean chroma, and their luma stays apart.
    block = np.array([[[150, 100, 100], [100, 100, 150]]] * 2, np.uint8)
    found = COLOURS["nv12"](block).astype(float)
    luma = found @ [0.299, 0.587, 0.114]
    assert luma[0, 0] - luma[0, 1] == pytest.approx(50 * (0.299 - 0.114), abs=1.5)
    assert found[0, 0] - luma[0, 0] == pytest.approx(found[0, 1] - luma[0, 1], abs=1.5)


def test_nv12_is_opencvs_conversion_where_chroma_is_even() -> None:
    image = golden_image(32).repeat(2, axis=0).repeat(2, axis=1)
    theirs = cv2.cvtColor(cv2.cvtColor(image, cv2.COLOR_RGB2YUV_I420), cv2.COLOR_YUV2RGB_I420)
    # Fixed-point weights there, rounding at the last step here.
    assert np.abs(COLOURS["nv12"](image).astype(int) - theirs).max() <= 3
