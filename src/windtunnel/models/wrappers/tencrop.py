"""Averaging over ten crops."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from windtunnel.imaging.resizers import resize
from windtunnel.imaging.ten_crops import five_windows
from windtunnel.kernels.window import centre_window
from windtunnel.models.wrappers import Images, Parameter, Settings, Wrapper

RESIZER = "opencv-bilinear"


class TenCrop(Wrapper):
    """Corners and centre, each also mirrored, enlarged to the input size."""

    name = "tencrop"
    help = (
        "Average the probabilities of the corner crops, the centre crop and their mirror images, enlarged to "
        "the input size; 10 forward passes."
    )
    source = (
        "Krizhevsky et al. 2012. Their crops are 224 px of a 256 px image; benchmarks contain only the "
        "224 px, so crops of the same proportion are enlarged"
    )
    parameters = (Parameter("keep", 0.875, "side of a crop, as a share of the image's", 0.1, 0.99),)
    pointless_around = ("flip",)
    golden = "88373675368040062a63b9bae664e327"

    def views(self, images: Images, settings: Settings) -> Iterator[Images]:
        """Yield the crops of all images, each followed by its mirror image."""
        height, width = images.shape[1:3]
        keep = float(settings["keep"])
        centre = centre_window(images[0], max(1, round(keep * width)), max(1, round(keep * height)))
        for window in five_windows(images[0], centre):
            crops = np.stack([resize(window.cut(image), width, height, RESIZER) for image in images])
            yield crops
            yield np.ascontiguousarray(crops[:, :, ::-1])


tencrop = TenCrop()
