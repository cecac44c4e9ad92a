"""Images from bytes to pixels: headers, decoders, resizers, crops, codecs.

Everything here is uint8, height x width x RGB.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]

# The steps of a geometry a unit can act at: the decoded image, the resized one, the cropped one.
Stage = Literal["source", "resized", "canvas"]
