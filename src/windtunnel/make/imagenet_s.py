"""ImageNet-S on disk: one `.npy` per image, by decoder and resize, under the paper's names.

    pil/pil-bilinear/<name in the source, with extension>.npy   uint8, height x width x 3
    pil_pil-bilinear.txt                                        that name and the class index on every line

Images for validation are squashed to 8/7 of the size and cropped in the centre; those for training are
random resized crops whose position depends only on the seed and the image's name, so that two sets differ
only by decoder and resize.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from windtunnel.core.conditions import Condition
from windtunnel.core.images import Image
from windtunnel.core.locations import Location
from windtunnel.core.records import GeometryRecord
from windtunnel.core.seeding import Draws
from windtunnel.data.manifest import checksum
from windtunnel.imaging.crops import training_view
from windtunnel.imaging.geometry import Geometry
from windtunnel.make.layouts import Fixed, Made, Piece, is_intact, write_image
from windtunnel.store.atomic_files import write_whole

# The axes that name the folders: only these steps have folders.
NAMED_AXES = ("decode", "resize")
# The paper's names of decoders, and of libraries and filters for resizing.
DECODERS = {"pil": "pillow", "opencv": "opencv", "ffmpeg": "ffmpeg"}
RESIZES = {
    "pil-bilinear": "pillow-bilinear",
    "pil-nearest": "pillow-nearest",
    "pil-box": "pillow-box",
    "pil-hamming": "pillow-hamming",
    "pil-cubic": "pillow-bicubic",
    "pil-lanczos": "pillow-lanczos",
    "opencv-nearest": "opencv-nearest",
    "opencv-bilinear": "opencv-bilinear",
    "opencv-area": "opencv-area",
    "opencv-cubic": "opencv-bicubic",
    "opencv-lanczos": "opencv-lanczos",
}
_PAPER_DECODERS = {own_name: paper_name for paper_name, own_name in DECODERS.items()}
_PAPER_RESIZES = {own_name: paper_name for paper_name, own_name in RESIZES.items()}


def training_draws(sample_id: str, seed: int) -> Draws:
    """The random draws for an image's training crop, independent of decoder and resize."""
    return Draws(seed, sample_id, "make/training-crop", 0)


def training_image(decoded: Image, geometry: Geometry, sample_id: str, seed: int) -> Image:
    """A decoded image's random resized crop."""
    draws = training_draws(sample_id, seed)
    return training_view(decoded, geometry.crop_px, geometry.resizer, draws, mirror=False)


def paper_names(canvas: GeometryRecord, condition: Condition) -> tuple[str, str]:
    """Decoder and resize of a condition by the paper's names; by windtunnel's if the paper has none.

    `canvas` is the canvas's geometry in a recipe; its plug-ins need not be installed.
    """
    swapped = condition.geometry_changes
    decoder = str(swapped.get("decoder", canvas.decoder))
    resizer = str(swapped.get("resizer", canvas.resizer))
    return _PAPER_DECODERS.get(decoder, decoder), _PAPER_RESIZES.get(resizer, resizer)


def npy_bytes(image: Image) -> bytes:
    """An image as the content of an `.npy` file."""
    out = io.BytesIO()
    np.save(out, np.ascontiguousarray(image))
    return out.getvalue()


def meta_text(names: Sequence[str], labels: Sequence[int]) -> str:
    """The text of a meta file: a name and a class index per line."""
    return "".join(f"{name}.npy {label}\n" for name, label in zip(names, labels, strict=True))


@dataclass(frozen=True)
class ImageArrays:
    """`<decoder>/<resize>/<name>.npy`, and a meta file for each pair.

    Attributes:
        places: by name of a condition, the paper's names of decoder and resize.
        names: names of the images, in order.
        labels: their class indices.
    """

    places: dict[str, tuple[str, str]]
    names: tuple[str, ...]
    labels: tuple[int, ...]

    def fixed(self) -> dict[str, Fixed]:
        """The meta files."""
        text = meta_text(self.names, self.labels).encode()
        return {f"{'_'.join(place)}.txt": Fixed(text, len(text)) for place in self.places.values()}

    def prepare(self, root: Location) -> None:
        """Write the meta files, or repair them."""
        for name, fixed in self.fixed().items():
            if not is_intact(root / name, fixed):
                write_whole(root / name, fixed.head)

    def write(self, root: Location, made: Iterable[Made]) -> list[Piece]:
        """One file per image."""
        pieces = []
        for name, condition, canvases in made:
            path = "/".join((*self.places[condition.name], f"{name}.npy"))
            for image in canvases:
                content = npy_bytes(image)
                write_image(root / path, content)
                pieces.append(Piece(path, condition.name, 0, len(content), checksum(content)))
        return pieces
