"""Contrast-limited adaptive histogram equalisation."""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import numpy as np

from windtunnel.models.wrappers import Images, Parameter, Settings, Wrapper


class Clahe(Wrapper):
    """CLAHE of the lightness; colours stay."""

    name = "clahe"
    help = "Equalise local contrast: CLAHE of the lightness L of CIELAB, by OpenCV."
    source = (
        "Hendrycks & Dietterich 2019, who fine-tuned on such images; the parameters are OpenCV's tutorial's"
    )
    parameters = (
        Parameter("clip", 2.0, "limit of contrast, in multiples of a flat histogram", 0.1, 100.0),
        Parameter("tiles", 8, "tiles per side", 1, 64),
    )
    changes_images = True
    golden = "7ac34aefdec600677fa54e9f66399f92"

    def views(self, images: Images, settings: Settings) -> Iterator[Images]:
        """Yield the equalised images."""
        tiles = int(settings["tiles"])
        equaliser = cv2.createCLAHE(float(settings["clip"]), (tiles, tiles))
        equalised = np.empty(images.shape, np.uint8)
        for image, out in zip(np.ascontiguousarray(images), equalised, strict=True):
            lab = cv2.cvtColor(image, cv2.COLOR_RGB2LAB)
            lab[..., 0] = equaliser.apply(lab[..., 0])
            cv2.cvtColor(lab, cv2.COLOR_LAB2RGB, dst=out)
        yield equalised


clahe = Clahe()
