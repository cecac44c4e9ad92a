"""The calls of imagecorruptions 1.1.2 and its maintained fork imagecorruptions-imaug 1.1.5.

    from windtunnel.compat.imagecorruptions import corrupt, corruption_dict, get_corruption_names

Same as in those packages:

- Signatures, names, their order and numbers, subsets, and the types of exceptions.
- `corruption_dict`, `corruption_tuple` and the single functions, such as `fog(x, severity)`.
- `seed`, which the fork passes on to impulse_noise and glass_blur: a number, or a NumPy generator.
- uint8 images of at least 32 pixels a side, HxWx3, HxWx1 or HxW. The result has three channels, also for grey
  images.
- The 224-pixel severity tables for every size of image (`windtunnel.corrupt` chooses by size).
- Every call draws new random numbers. Noises, glass_blur and fog have the same distribution.
- The pixels of defocus_blur, zoom_blur, brightness, contrast, jpeg_compression, gaussian_blur and saturate,
  to one grey level; for zoom_blur see below.

Different here:

- zoom_blur does not darken the border. Those packages darken the last row or column by up to 22 grey levels
  if the side has one of 34 lengths between 32 and 1,024 pixels (36, 71, 78, 136, 139, 160, ... 600), because
  SciPy's rounding puts the edge of one magnification outside the image.
- elastic_transform is the reference's: a random affine warp, then a random field of the reference's
  strengths. imagecorruptions has a field of other strengths and no affine warp.
- snow follows the reference: the zoomed layer is centred and cut to the image before it is blurred, in bytes.
  imagecorruptions blurs the whole layer and cuts it from the top left corner.
- pixelate enlarges by box averages, as the reference does; imagecorruptions uses nearest neighbours. Edges of
  blocks may differ by one pixel, but not at 224 pixels.
- motion_blur rounds to bytes, as ImageMagick did, and its weights always sum to one. imagecorruptions
  truncates, and darkens images smaller than the motion.
- frost uses windtunnel's own textures at their own size, enlarged only for images that do not fit.
  imagecorruptions enlarges its photographs by a tenth.
- spatter leaves an image without a drop unchanged, where imagecorruptions divides by zero.
- Every corruption takes `seed`. The same seed gives the same pixels, which are not the fork's.
  `numpy.random.seed` has no effect, and forked worker processes never repeat each other's noise.
- The single functions return uint8 arrays. In imagecorruptions some return floats from 0 to 255 or Pillow
  images.
- Nothing is printed, and the messages of exceptions state what was given.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.seeding import fresh_seed
from windtunnel.corruptions import MIN_SIDE_PX, REGISTRY, SEVERITIES

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["corrupt", "corruption_dict", "corruption_tuple", "get_corruption_names"]

EDITION = 224

Seed = int | np.random.Generator | None

# The groups of imagecorruptions in the order of its numbers, 0 to 18; they are independent of the suites.
GROUPS = {
    "noise": ("gaussian_noise", "shot_noise", "impulse_noise"),
    "blur": ("defocus_blur", "glass_blur", "motion_blur", "zoom_blur"),
    "weather": ("snow", "frost", "fog", "brightness"),
    "digital": ("contrast", "elastic_transform", "pixelate", "jpeg_compression"),
    "validation": ("speckle_noise", "gaussian_blur", "spatter", "saturate"),
}
ALL = tuple(name for names in GROUPS.values() for name in names)
SUBSETS = {
    "common": tuple(name for name in ALL if name not in GROUPS["validation"]),
    "all": ALL,
    **GROUPS,
}


def corrupt(
    image: NDArray[np.uint8],
    severity: int = 1,
    corruption_name: str | None = None,
    corruption_number: int = -1,
    *,
    seed: Seed = None,
) -> NDArray[np.uint8]:
    """Corrupt one image.

    Args:
        image: uint8, HxWx3 (RGB), HxWx1 or HxW; at least 32 pixels on each side.
        severity: 1 to 5.
        corruption_name: the corruption; takes precedence over the number.
        corruption_number: its index in `get_corruption_names("all")`; -1 for none, other negative numbers
            count from the end.
        seed: the same seed gives the same pixels; None draws a new one. Use a different seed for each image.
            From a NumPy generator the seed is drawn, a new one for every call.

    Returns:
        A new uint8 array, HxWx3 for grey images too.

    Raises:
        AttributeError: an image or severity that cannot be used.
        ValueError: neither name nor number.
        KeyError: no corruption of that name.
        IndexError: no corruption of that number.
    """
    colour = _as_colour(image)
    if severity not in SEVERITIES:
        raise AttributeError(f"The severity is {severity!r}; give 1, 2, 3, 4 or 5.")
    return REGISTRY.get(_name(corruption_name, corruption_number)).corrupt(
        colour,
        int(operator.index(severity)),
        seed=_seed_number(seed),
        edition=EDITION,
    )


def get_corruption_names(subset: str = "common") -> list[str]:
    """The names of a subset: common, validation, all, noise, blur, weather or digital.

    Raises:
        ValueError: another subset.
    """
    if subset not in tuple(SUBSETS):  # an unhashable subset is a ValueError too
        raise ValueError(f"The subset is {subset!r}; give one of {', '.join(SUBSETS)}.")
    return list(SUBSETS[subset])


def _seed_number(seed: Seed) -> int:
    """The seed as a number: a fresh one for None, the next one of a generator."""
    if seed is None:
        return fresh_seed()
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(np.iinfo(np.int64).max))
    return int(operator.index(seed))


def _single_function(name: str) -> Callable[..., NDArray[np.uint8]]:
    """One corruption as a function of an image (a Pillow image or an array), its severity and a seed."""

    def corruption(
        x: Image.Image | NDArray[np.uint8], severity: int = 1, seed: Seed = None
    ) -> NDArray[np.uint8]:
        return corrupt(np.asarray(x), severity, name, seed=seed)

    corruption.__name__ = corruption.__qualname__ = name
    corruption.__doc__ = f"Corrupt one image by {name}, as `corrupt` does."
    return corruption


def _name(name: str | None, number: int) -> str:
    if name is not None:
        if name not in frozenset(ALL):  # an unhashable name is a TypeError, as in imagecorruptions
            raise KeyError(f"No corruption is named {name!r}; get_corruption_names('all') lists them.")
        return name
    if number == -1:
        raise ValueError("No corruption was given; give corruption_name or corruption_number.")
    if not -len(ALL) <= operator.index(number) < len(ALL):
        raise IndexError(f"No corruption has the number {number}; give 0 to {len(ALL) - 1}.")
    return ALL[number]


def _as_colour(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The image as HxWx3; raises the exceptions of imagecorruptions."""
    if not isinstance(image, np.ndarray) or image.dtype != np.uint8:
        given = image.dtype if isinstance(image, np.ndarray) else type(image).__name__
        raise AttributeError(f"The image is {given}; give a NumPy array of uint8.")
    if image.ndim not in (2, 3):
        raise AttributeError(f"The image's shape is {image.shape}; give HxW, HxWx1 or HxWx3.")
    if min(image.shape[:2]) < MIN_SIDE_PX:
        raise AttributeError(
            f"The image's shape is {image.shape}; give at least {MIN_SIDE_PX} pixels a side."
        )
    deep = image.reshape(*image.shape[:2], -1)
    if deep.shape[2] not in (1, 3):
        raise AttributeError(f"The image has {deep.shape[2]} channels; give 1 or 3.")
    return deep if deep.shape[2] == 3 else np.repeat(deep, 3, axis=2)


corruption_tuple = tuple(map(_single_function, ALL))
corruption_dict = {function.__name__: function for function in corruption_tuple}
# Each function can be imported by its name, and therefore pickled, as in imagecorruptions.
globals().update(corruption_dict)
