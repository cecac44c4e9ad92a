"""Hue, saturation and value: one picture's saturation and value changed, its hue kept.

The arithmetic is float64 in the textbook's order, so that truncation to bytes falls where the
reference's does.
"""

from __future__ import annotations

import numpy as np

from windtunnel.imaging import Image
from windtunnel.kernels.jit import jit


@jit
def shift_saturation_and_value(
    image: Image, saturation_factor: float, saturation_shift: float, value_shift: float
) -> Image:
    """clip(S*factor + shift) and clip(V + shift) in HSV, back to RGB, truncated."""
    height, width = image.shape[:2]
    out = np.empty((height, width, 3), np.uint8)
    unit = np.empty(256, np.float64)
    for level in range(256):
        unit[level] = level / 255.0
    for y in range(height):
        for x in range(width):
            red, green, blue = unit[image[y, x, 0]], unit[image[y, x, 1]], unit[image[y, x, 2]]
            value = max(red, green, blue)
            spread = value - min(red, green, blue)
            hue = 0.0
            saturation = 0.0
            if spread > 0.0:
                saturation = spread / value
                # Where two channels share the maximum, the later one decides, as in the reference.
                if blue == value:
                    hue = 4.0 + (red - green) / spread
                elif green == value:
                    hue = 2.0 + (blue - red) / spread
                else:
                    hue = (green - blue) / spread
                hue = hue / 6.0
                if hue < 0.0:
                    hue += 1.0
            saturation = min(max(saturation * saturation_factor + saturation_shift, 0.0), 1.0)
            value = min(max(value + value_shift, 0.0), 1.0)
            which = int(hue * 6.0)
            part = hue * 6.0 - which
            low = value * (1.0 - saturation)
            falling = value * (1.0 - part * saturation)
            rising = value * (1.0 - (1.0 - part) * saturation)
            if which == 0 or which == 6:
                red, green, blue = value, rising, low
            elif which == 1:
                red, green, blue = falling, value, low
            elif which == 2:
                red, green, blue = low, value, rising
            elif which == 3:
                red, green, blue = low, falling, value
            elif which == 4:
                red, green, blue = rising, low, value
            else:
                red, green, blue = value, low, falling
            out[y, x, 0] = np.uint8(red * 255.0)
            out[y, x, 1] = np.uint8(green * 255.0)
            out[y, x, 2] = np.uint8(blue * 255.0)
    return out
