"""The images that a part of a model was fitted on, and that the model must not be scored on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FittedImages:
    """Images as hashes and ids.

    Attributes:
        contents: content hashes of the files, or of arrays.
        pixels: content hashes of the decoded images; they are also those of a lossless copy.
        ids: the ids; a corrupted copy in a published set has the same.
    """

    contents: frozenset[str] = frozenset()
    pixels: frozenset[str] = frozenset()
    ids: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.contents)

    def __or__(self, other: FittedImages) -> FittedImages:
        return FittedImages(self.contents | other.contents, self.pixels | other.pixels, self.ids | other.ids)
