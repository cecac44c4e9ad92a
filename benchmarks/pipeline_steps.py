"""What swapped decoders and resizers cost beside direct calls of their libraries, as ratios.

    python benchmarks/pipeline_steps.py [FOLDER_OF_JPEGS]

Each image above 100,000 pixels goes both ways, either first by turns, and must have the same pixels; a row
gives the medians of processor time per image and their ratio. Without a folder, soft noise is drawn.
"""

from __future__ import annotations

import io
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import simplejpeg
from PIL import Image as PillowImage

from windtunnel.core.conditions import Condition
from windtunnel.core.labels import index_space
from windtunnel.core.samples import Sample
from windtunnel.data.survey import survey
from windtunnel.engine.condition_kinds import frames_under
from windtunnel.engine.images import Source
from windtunnel.imaging.decoders.ffmpeg import FFMPEG_CODECS
from windtunnel.imaging.geometry import Geometry
from windtunnel.imaging.resizers.opencv import OPENCV_FILTERS
from windtunnel.imaging.resizers.pillow import PILLOW_FILTERS

ROUNDS = 7
LEAST_PIXELS = 100_000
MOST_IMAGES = 24


class Memory:
    """A data set of files in memory, so that only decoding and resizing are timed."""

    name = location = "memory"
    portable = False
    label_space = index_space(1)

    def __init__(self, files: list[bytes]) -> None:
        self.files = files

    def samples(self) -> list[Sample]:
        """Every file."""
        return [Sample(str(number)) for number in range(len(self.files))]

    def read(self, sample: Sample) -> bytes:
        """A file's bytes."""
        return self.files[int(sample.id)]


def pillow(data: bytes) -> np.ndarray[Any, Any]:
    """Pillow's pixels."""
    return np.asarray(PillowImage.open(io.BytesIO(data)).convert("RGB"))


def opencv(data: bytes) -> np.ndarray[Any, Any]:
    """OpenCV's pixels."""
    flags = cv2.IMREAD_COLOR_RGB | cv2.IMREAD_IGNORE_ORIENTATION
    return np.asarray(cv2.imdecode(np.frombuffer(data, np.uint8), flags))


def ffmpeg(data: bytes) -> np.ndarray[Any, Any]:
    """FFmpeg's pixels."""
    import av

    codec: Any = av.CodecContext.create(FFMPEG_CODECS["JPEG"], "r")
    codec.thread_count = 1
    frames = codec.decode(av.Packet(data)) or codec.decode(None)
    return np.asarray(frames[0].to_ndarray(format="rgb24"))


def turbo(**switches: bool) -> Callable[[bytes], np.ndarray[Any, Any]]:
    """libjpeg-turbo's pixels with its switches."""
    chosen = {"fastdct": False, "fastupsample": False} | switches
    return lambda data: np.asarray(simplejpeg.decode_jpeg(data, colorspace="RGB", **chosen))


DIRECT_DECODERS = {
    "pillow": pillow,
    "opencv": opencv,
    "ffmpeg": ffmpeg,
    "simplejpeg": turbo(),
    "simplejpeg-fastdct": turbo(fastdct=True),
    "simplejpeg-fastupsample": turbo(fastupsample=True),
}


def resized(pixels: np.ndarray[Any, Any], resizer: str) -> np.ndarray[Any, Any]:
    """256x256 by a direct call, then the middle 224."""
    library, name = resizer.split("-", 1)
    if library == "pillow":
        whole = np.asarray(PillowImage.fromarray(pixels).resize((256, 256), PILLOW_FILTERS[name]))
    else:
        whole = cv2.resize(pixels, (256, 256), interpolation=OPENCV_FILTERS[name])
    return np.ascontiguousarray(whole[16:240, 16:240])


def main() -> None:
    """Time every decoder with Pillow bilinear, and every resizer behind Pillow."""
    cv2.setNumThreads(1)
    files = load(Path(sys.argv[1])) if len(sys.argv) > 1 else drawn()
    cases = [(decoder, "pillow-bilinear") for decoder in DIRECT_DECODERS]
    cases += [("pillow", f"pillow-{name}") for name in PILLOW_FILTERS if name != "bilinear"]
    cases += [("pillow", f"opencv-{name}") for name in OPENCV_FILTERS]
    print(f"{len(files)} images, {ROUNDS} rounds, interleaved; milliseconds per image")
    print(f"{'decoder':24} {'resizer':22} {'direct':>8} {'ours':>8} {'ratio':>6}")
    ratios = []
    for decoder, resizer in cases:
        direct, ours = timed(files, decoder, resizer)
        ratios.append(ours / direct)
        print(f"{decoder:24} {resizer:22} {1e3 * direct:8.2f} {1e3 * ours:8.2f} {ours / direct:6.3f}")
    print(f"largest ratio {max(ratios):.3f}, median {statistics.median(ratios):.3f}")


def timed(files: list[bytes], decoder: str, resizer: str) -> tuple[float, float]:
    """Medians over images and rounds of the direct way and of ours."""
    dataset = Memory(files)
    geometry = Geometry(decoder=decoder, resizer=resizer, rule="squash", resize_px=256, crop_px=224)
    condition = Condition("pipeline", "decode=x")
    images = survey(dataset, dataset.samples())
    seconds: dict[str, list[float]] = {"direct": [], "ours": []}

    def direct(number: int) -> np.ndarray[Any, Any]:
        return resized(DIRECT_DECODERS[decoder](files[number]), resizer)

    # A run has read and hashed an image when it comes to a swapped step, and decoded it another way.
    before = Geometry(decoder="pillow" if decoder == "opencv" else "opencv")

    def ours(source: Source) -> Callable[[int], np.ndarray[Any, Any]]:
        return lambda _number: next(frames_under(source, condition, geometry, 0))

    for turn in range(ROUNDS):
        for number in range(len(files)):
            source = Source(dataset, images[number])
            source.canvas(before)
            ways = {"direct": direct, "ours": ours(source)}
            made = {}
            for name in sorted(ways, reverse=bool((turn + number) % 2)):
                start = time.process_time()
                made[name] = ways[name](number)
                seconds[name].append(time.process_time() - start)
            if not np.array_equal(made["direct"], made["ours"]):
                raise SystemExit(f"{decoder}, {resizer}: other pixels than the library's")
    return statistics.median(seconds["direct"]), statistics.median(seconds["ours"])


def load(folder: Path) -> list[bytes]:
    """JPEG files above 100,000 pixels."""
    found = []
    for path in sorted(folder.rglob("*.[jJ]*[gG]")):
        with PillowImage.open(path) as image:
            if image.width * image.height > LEAST_PIXELS:
                found.append(path.read_bytes())
        if len(found) == MOST_IMAGES:
            break
    return found


def drawn() -> list[bytes]:
    """Images of 500x375 as JPEG 90."""
    files = []
    for number in range(MOST_IMAGES):
        coarse = np.random.default_rng(number).integers(0, 256, (47, 63, 3), dtype=np.uint8)
        image = PillowImage.fromarray(coarse).resize((500, 375), PillowImage.Resampling.BICUBIC)
        out = io.BytesIO()
        image.save(out, "JPEG", quality=90)
        files.append(out.getvalue())
    return files


if __name__ == "__main__":
    main()
