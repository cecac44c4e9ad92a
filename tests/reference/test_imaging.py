"""Decoders, resizers, crops and codecs against direct calls of their libraries."""

from __future__ import annotations

import io

import cv2
import numpy as np
import pytest
from PIL import Image, ImageOps

from windtunnel.core.errors import UserError
from windtunnel.imaging.codecs import check_codec, round_trip
from windtunnel.imaging.codecs.jpeg import jpeg_round_trip
from windtunnel.imaging.decoders import decode, decoders
from windtunnel.imaging.geometry import Geometry, crop_step, resize_step, short_side_size
from windtunnel.imaging.header import read_header
from windtunnel.imaging.resizers import resize
from windtunnel.imaging.resizers.opencv import OPENCV_FILTERS
from windtunnel.imaging.resizers.pillow import PILLOW_FILTERS
from windtunnel.kernels.window import centre_window
from windtunnel.suites.golden_digests import golden_image


def encoded(image: np.ndarray, kind: str = "JPEG", **options: object) -> bytes:
    out = io.BytesIO()
    Image.fromarray(image).save(out, kind, **options)
    return out.getvalue()


@pytest.mark.parametrize("decoder", ["pillow", "opencv", "simplejpeg"])
@pytest.mark.parametrize("subsampling", [0, 1, 2])
def test_jpeg_decoders_agree_bit_for_bit(decoder: str, subsampling: int) -> None:
    data = encoded(golden_image(101), quality=80, subsampling=subsampling)
    wanted = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    assert np.array_equal(decode(data, read_header(data), decoder), wanted)


HOLD_A_TAG = ("JPEG", "TIFF", "PNG", "WEBP")
READERS = [
    (kind, decoder.name)
    for kind in HOLD_A_TAG
    for decoder in decoders()
    if not decoder.formats or kind in decoder.formats
]


@pytest.mark.parametrize(("kind", "decoder"), READERS)
@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_applied_alike_or_not_at_all(kind: str, decoder: str, orientation: int) -> None:
    exif = Image.Exif()
    exif[274] = orientation
    untagged = encoded(golden_image(96)[:64], kind)
    stored = decode(untagged, read_header(untagged), decoder)
    data = encoded(golden_image(96)[:64], kind, exif=exif)
    header = read_header(data)
    assert (header.width, header.height, header.orientation) == (96, 64, orientation)
    image = Image.fromarray(stored)
    image.getexif()[274] = orientation
    upright = np.asarray(ImageOps.exif_transpose(image))
    assert np.array_equal(decode(data, header, decoder, "apply"), upright)
    assert np.array_equal(decode(data, header, decoder, "ignore"), stored)


def test_sixteen_bit_png_takes_the_high_byte() -> None:
    values = np.arange(64 * 64, dtype=np.uint16).reshape(64, 64) * 16
    data = encoded(values, "PNG")
    out = decode(data, read_header(data))
    assert np.array_equal(out, np.repeat((values >> 8).astype(np.uint8)[:, :, None], 3, axis=2))


@pytest.mark.parametrize("name", PILLOW_FILTERS)
def test_pillow_resizing_is_pillows(name: str) -> None:
    image = golden_image(100)
    wanted = np.asarray(Image.fromarray(image).resize((61, 47), PILLOW_FILTERS[name]))
    assert np.array_equal(resize(image, 61, 47, f"pillow-{name}"), wanted)


@pytest.mark.parametrize("name", OPENCV_FILTERS)
def test_opencv_resizing_is_opencvs(name: str) -> None:
    image = golden_image(100)
    wanted = cv2.resize(image, (61, 47), interpolation=OPENCV_FILTERS[name])
    assert np.array_equal(resize(image, 61, 47, f"opencv-{name}"), wanted)


@pytest.mark.parametrize(
    ("width", "height", "wanted"),
    [(500, 375, (341, 256)), (375, 500, (256, 341)), (300, 300, (256, 256)), (500, 333, (384, 256))],
)
def test_short_side_sizes(width: int, height: int, wanted: tuple[int, int]) -> None:
    assert short_side_size(width, height, 256) == wanted


def test_the_224_canvas_is_resize_256_then_crop_at_half_to_even() -> None:
    image = np.ascontiguousarray(golden_image(500)[:375])
    geometry = Geometry(rule="short-side", resize_px=256, crop_px=224)
    canvas = crop_step(resize_step(image, geometry), geometry)
    whole = Image.fromarray(image).resize((341, 256), Image.Resampling.BILINEAR)
    # (341 - 224) / 2 = 58.5 rounds to 58, not 59
    assert np.array_equal(canvas, np.asarray(whole.crop((58, 16, 58 + 224, 16 + 224))))


def test_the_299_canvas_crops_seven_eighths_then_resizes() -> None:
    image = np.ascontiguousarray(golden_image(500)[:375])
    geometry = Geometry(rule="crop-then-resize", crop_px=299)
    canvas = crop_step(resize_step(image, geometry), geometry)
    width, height = int(500 * 0.875), int(375 * 0.875)
    left, top = round((500 - width) / 2), round((375 - height) / 2)
    middle = Image.fromarray(image).crop((left, top, left + width, top + height))
    assert np.array_equal(canvas, np.asarray(middle.resize((299, 299), Image.Resampling.BILINEAR)))


def test_squash_and_exact_ignore_the_aspect() -> None:
    image = np.ascontiguousarray(golden_image(120)[:90])
    squash = Geometry(rule="squash", resize_px=64, crop_px=56)
    whole = np.asarray(Image.fromarray(image).resize((64, 64), Image.Resampling.BILINEAR))
    assert np.array_equal(crop_step(resize_step(image, squash), squash), whole[4:60, 4:60])
    exact = Geometry(rule="exact", crop_px=64)
    assert np.array_equal(crop_step(resize_step(image, exact), exact), whole)


def test_centre_windows_of_even_and_odd_margins() -> None:
    image = np.arange(7 * 7 * 3, dtype=np.uint8).reshape(7, 7, 3)
    assert np.array_equal(centre_window(image, 3, 3).cut(image), image[2:5, 2:5])
    assert np.array_equal(centre_window(image, 4, 4).cut(image), image[2:6, 2:6])  # 1.5 rounds to 2


@pytest.mark.parametrize("quality", [1, 5, 7, 10, 25, 49, 50, 80, 85, 95, 100])
@pytest.mark.parametrize(
    "shape",
    [(224, 224), (33, 47), (32, 32), (100, 65), (299, 299), (1, 1), (3, 4), (16, 5), (2, 64)],
    ids=str,
)
def test_jpeg_round_trip_has_pillows_pixels(quality: int, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(quality)
    for image in (
        rng.integers(0, 256, (*shape, 3), dtype=np.uint8),
        np.where(rng.random((*shape, 3)) < 0.5, 0, 255).astype(np.uint8),  # the largest coefficients
        np.ascontiguousarray(golden_image(max(shape))[: shape[0], : shape[1]]),
    ):
        wanted = np.asarray(Image.open(io.BytesIO(encoded(image, quality=quality))).convert("RGB"))
        assert np.array_equal(jpeg_round_trip(image, quality), wanted)


def test_lossless_codecs_change_nothing() -> None:
    image = golden_image(64)
    for codec in ("none", "png"):
        assert np.array_equal(round_trip(image, codec), image)


@pytest.mark.parametrize("codec", ["jpeg", "jpeg:0", "jpeg:101", "jpeg:x", "webp:80", ""])
def test_an_unknown_codec_is_refused(codec: str) -> None:
    with pytest.raises(UserError, match="Unknown codec"):
        check_codec(codec)
