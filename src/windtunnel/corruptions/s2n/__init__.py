"""The candidate corruptions of Syn2Nat (Laugros, Caplier and Ospici, 2021): one file each.

A candidate has one strength and draws its parameters for every image. Its file has the name of the paper in
snake_case, and its pixels are those of the published code (albumentations 0.5.2, imgaug 0.4.0) with the
installed OpenCV. The draws are windtunnel's own, with the published distributions. Lengths in pixels are the
same for every image size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

from windtunnel.corruptions import MIN_SIDE_PX, Corruption, Motion, PixelFunction

PREFIX = "s2n/"


@dataclass(frozen=True)
class Candidate(Corruption):
    """A candidate corruption.

    Attributes:
        paper_name: its name in the paper, such as `RandomFog`.
    """

    paper_name: str = ""


def candidate(
    paper_name: str,
    *,
    imitates: str,
    met_by: str,
    family: str,
    drawn: str = "",
    note: str = "",
    revision: int = 1,
    golden: str = "",
    min_side_px: int = MIN_SIDE_PX,
    motion: Motion = "",
) -> Callable[[PixelFunction], Candidate]:
    """Turn a pixel function into a candidate corruption; without `drawn` it is the same for every image."""

    def decorate(function: PixelFunction) -> Candidate:
        return Candidate(
            function,
            params=(),
            severities=MappingProxyType({}),
            imitates=imitates,
            source=f"Laugros et al. 2021, Syn2Nat candidate {paper_name}",
            revision=revision,
            golden=golden,
            stage="canvas",
            random=bool(drawn),
            note=note,
            met_by=met_by,
            family=family,
            prefix=PREFIX,
            drawn=drawn,
            min_side_px=min_side_px,
            motion=motion,
            paper_name=paper_name,
        )

    return decorate
