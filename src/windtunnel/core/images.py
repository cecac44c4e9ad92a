"""What an image is in memory, and where in its geometry a unit acts."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]


# The steps of a geometry a unit can act at: the decoded image, the resized one, the cropped one.
Stage = Literal["source", "resized", "canvas"]


UPRIGHT = 1
