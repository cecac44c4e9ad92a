"""The type of an image in memory, and the stages of its geometry at which a unit acts."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]


# The stages of a geometry at which a unit can act: the decoded image, the resized one, the cropped one.
Stage = Literal["source", "resized", "canvas"]


UPRIGHT = 1
