"""Images from bytes to pixels: headers, decoders, resizers, crops, codecs.

Everything here is uint8, height x width x RGB.
"""

from __future__ import annotations
