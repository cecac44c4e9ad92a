"""Mix training: the decoder and the resizer of training images are drawn at random.

As in the paper of ImageNet-S, one pair is drawn for every batch; `per="image"` draws one for every image
instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from windtunnel.core.errors import UserError
from windtunnel.core.seeding import Draws
from windtunnel.imaging.decoders import require_decoder
from windtunnel.imaging.geometry import Geometry
from windtunnel.imaging.resizers import require_resizer


@dataclass(frozen=True)
class Mix:
    """The decoders and resizers to draw from, uniformly; an empty list keeps the model's own.

    Attributes:
        decoders: names such as `pillow`, `opencv`, `ffmpeg`.
        resizers: names such as `pillow-bilinear`, `opencv-nearest`.
        per: `batch`, as in the paper, or `image`.
    """

    decoders: tuple[str, ...] = ()
    resizers: tuple[str, ...] = ()
    per: Literal["batch", "image"] = "batch"

    def __post_init__(self) -> None:
        for name in ("decoders", "resizers"):
            given = getattr(self, name)
            if not isinstance(given, list | tuple) or not all(isinstance(item, str) for item in given):
                such = given if isinstance(given, str) else "opencv" + "-nearest" * (name == "resizers")
                raise UserError(f"{name} is {given!r}; give a tuple of names, such as ({such!r},).")
        if self.per not in ("batch", "image"):
            raise UserError(f"per is {self.per!r}; give 'batch' or 'image'.")
        for decoder in self.decoders:
            require_decoder(decoder)
        for resizer in self.resizers:
            require_resizer(resizer)

    def ways(self, own: Geometry) -> list[Geometry]:
        """The geometry with every decoder that may be drawn."""
        return [replace(own, decoder=decoder) for decoder in self.decoders or (own.decoder,)]

    def variants(self, own: Geometry) -> list[Geometry]:
        """The geometry with every decoder, and with every resizer, that may be drawn."""
        return [
            *(replace(own, decoder=decoder) for decoder in self.decoders),
            *(replace(own, resizer=resizer) for resizer in self.resizers),
        ]

    def assets(self, own: Geometry) -> dict[str, str]:
        """Digests of the files of third-party decoders and resizers that may be drawn."""
        variants = self.variants(own)
        return {name: digest for geometry in variants for name, digest in geometry.assets().items()}

    def geometry(self, own: Geometry, seed: int, epoch: int, batch: int, image: str) -> Geometry:
        """The geometry of one training image: the model's own with the drawn decoder and resizer."""
        which = f"batch {batch}" if self.per == "batch" else image
        draws = Draws(seed, which, "train/mix", epoch)
        geometry = own
        if self.decoders:
            geometry = replace(
                geometry, decoder=self.decoders[draws.integer("decoder", 0, len(self.decoders))]
            )
        if self.resizers:
            geometry = replace(
                geometry, resizer=self.resizers[draws.integer("resizer", 0, len(self.resizers))]
            )
        return geometry
