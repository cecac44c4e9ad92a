"""Corruptions: one file each, with a pure pixel function and its severity tables.

A unit is the function `name(image, rng, **params)` in the file `name.py`, decorated with @corruption. The
units of a folder have its name as a prefix (`s2n/blur`). A unit without tables has one strength: it draws all
its parameters for every image, its level is 0, and its name is written without a severity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.conditions import Condition
from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.file_digests import named_files_digest
from windtunnel.core.images import Image, Stage
from windtunnel.core.registry import Plugin, Registry, file_of
from windtunnel.core.seeding import Draws, fresh_seed

EDITIONS = (32, 64, 224, 299)
SEVERITIES = (1, 2, 3, 4, 5)
# The level of a unit with one strength.
ONE_STRENGTH = (0,)
OTHER_KINDS = "windtunnel.transforms takes Pillow images, floats and tensors"
MIN_SIDE_PX = 32
# Module constants, because every call checks them.
WHOLE = (int, np.integer)
BYTES = np.dtype(np.uint8)
COLOURS = (1, 3)

PixelFunction = Callable[..., Image]
# What a unit does to the places of objects.
Motion = Literal["", "moves", "pieces"]


@dataclass(frozen=True)
class Corruption(Plugin):
    """An image corruption with five severities per edition, or with one strength.

    Attributes:
        function: the pure pixel function.
        params: the names of the severity parameters, in the order of the tables.
        severities: edition -> five rows of parameter values; empty for a unit with one strength.
        imitates: the real-world effect that it imitates, in one sentence.
        source: the source of its definition.
        revision: raised whenever the golden digest changes.
        golden: digest of the unit's pixels on the golden image (`windtunnel dev golden NAME`).
        stage: the stage of the geometry at which it is applied.
        random: whether it draws random numbers.
        settings: names of text arguments of the function, in addition to the severity's parameters.
        note: a note on scores with the default settings.
        check: refuses invalid settings before any work.
        met_by: applications in which it occurs, in one sentence.
        family: the kind of corruption, such as noise or blur; one word for listings.
        prefix: what the name begins with, such as `s2n/`; the name of its folder.
        drawn: the parameters that are drawn for every image, in one sentence; "" if severities set them.
        min_side_px: the shortest side of images that it changes as defined.
        motion: what it does to the places of objects: "" leaves them, `moves` moves them (boxes and masks
            must follow), `pieces` tears them apart (boxes have no meaning).
    """

    function: PixelFunction
    params: tuple[str, ...]
    severities: Mapping[int, Sequence[Sequence[float]]]
    imitates: str
    source: str
    revision: int
    golden: str
    stage: Stage
    random: bool
    settings: tuple[str, ...] = ()
    note: str = ""
    check: Callable[..., None] | None = None
    met_by: str = ""
    family: str = ""
    prefix: str = ""
    drawn: str = ""
    min_side_px: int = MIN_SIDE_PX
    motion: Motion = ""

    @cached_property
    def name(self) -> str:
        """The unit's name, which is that of its function and its file, after the prefix."""
        return self.prefix + self.function.__name__

    @property
    def has_one_strength(self) -> bool:
        """Whether it has no severities."""
        return not self.severities

    @property
    def levels(self) -> tuple[int, ...]:
        """The severities; 0 alone for a unit with one strength."""
        return SEVERITIES if self.severities else ONE_STRENGTH

    @property
    def editions(self) -> tuple[int, ...]:
        """The editions that it has parameters for; a unit with one strength has the same for all."""
        return tuple(sorted(self.severities)) or EDITIONS

    def level(self, severity: int | None) -> int:
        """The level of a severity as a user gives it; None is severity 1, or the one strength."""
        if severity is None:
            return self.levels[0]
        if self.has_one_strength:
            raise UserError(f"{self.name} has one strength; leave out the severity, which is {severity!r}.")
        check_severity(severity)
        return int(severity)

    def parameters(self, severity: int, edition: int) -> dict[str, float]:
        """The parameters of one severity in one edition; none of a unit with one strength."""
        if self.has_one_strength and severity in ONE_STRENGTH:
            return {}
        self.level(severity)
        if edition not in self.severities:
            known = ", ".join(map(str, sorted(self.severities)))
            raise UserError(f"{self.name} has no edition {edition}; it has {known}.")
        return dict(zip(self.params, self.severities[edition][severity - 1], strict=True))

    def apply(
        self,
        image: Image,
        rng: Draws,
        severity: int,
        edition: int,
        settings: Mapping[str, str] = MappingProxyType({}),
    ) -> Image:
        """Corrupt a canvas (uint8 HWC RGB, contiguous); the input is not modified.

        User-defined units get a copy, and their result is checked.
        """
        if self.is_shipped and not self.severities and not severity:
            return self.function(image, rng, **settings)
        parameters: dict[str, float | str] = {**self.parameters(severity, edition), **settings}
        if self.is_shipped:
            return self.function(image, rng, **parameters)
        try:
            out = self.function(image.copy(), rng, **parameters)
        except Exception as error:  # the user's own code
            raise UserError(f"The corruption {self.name} failed: {type(error).__name__}: {error}.") from error
        if not isinstance(out, np.ndarray) or out.dtype != np.uint8 or out.shape != image.shape:
            given = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
            raise UserError(
                f"The corruption {self.name} returned {given}; return uint8 {image.shape} as in the input."
            )
        return out

    def corrupt(
        self,
        image: NDArray[np.uint8],
        severity: int,
        *,
        seed: int,
        sample_id: str = "",
        edition: int | None = None,
        settings: Mapping[str, str] = MappingProxyType({}),
    ) -> NDArray[np.uint8]:
        """Corrupt an image as the function `corrupt` does, with options that are checked already."""
        canvas = as_canvas(image)
        height, width, _ = canvas.shape
        if height < self.min_side_px or width < self.min_side_px:
            raise UserError(
                f"The image is {width}x{height} pixels; {self.name} needs at least {self.min_side_px} on "
                "each side."
            )
        rng = Draws(seed, sample_id, self._kind, severity)
        corrupted = self.apply(canvas, rng, severity, edition or edition_of(width, height), settings)
        is_grey = canvas is not image and image.shape != canvas.shape
        return corrupted[:, :, 0].reshape(image.shape) if is_grey else corrupted

    @cached_property
    def _kind(self) -> str:
        return f"corruption/{self.name}"

    def draws(self, seed: int, sample_id: str, severity: int) -> Draws:
        """The random draws of this unit for one sample."""
        return Draws(seed, sample_id, self._kind, severity)

    def assets(self, settings: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
        """Digests of everything that the pixels depend on, except the revision.

        These are the file of a user-defined unit, and the files (or the text itself) named by settings.
        """
        digests: dict[str, str] = {}
        if not self.is_shipped:
            digests |= file_of(self.function)
        for name, value in settings.items():
            if name not in self.settings:
                raise unknown_name(f"setting of {self.name}", name, self.settings)
            path = Path(value)
            files = sorted(path.iterdir()) if path.is_dir() else [path] if path.is_file() else []
            digests[name] = named_files_digest(files) if files else value
        if self.check and settings:
            self.check(**settings)
        return digests


def corruption(
    *,
    params: Sequence[str] = (),
    severities: Mapping[int, Sequence[Sequence[float]]] = MappingProxyType({}),
    imitates: str,
    source: str,
    revision: int = 1,
    golden: str = "",
    stage: Stage = "canvas",
    random: bool = True,
    settings: Sequence[str] = (),
    note: str = "",
    check: Callable[..., None] | None = None,
    met_by: str = "",
    family: str = "",
    drawn: str = "",
    min_side_px: int = MIN_SIDE_PX,
    motion: Motion = "",
) -> Callable[[PixelFunction], Corruption]:
    """Turn a pixel function into a corruption; without `params` and `severities` it has one strength."""
    for edition, rows in severities.items():
        if len(rows) != len(SEVERITIES) or any(len(row) != len(params) for row in rows):
            raise UserError(f"Edition {edition} needs {len(SEVERITIES)} rows of {len(params)} values each.")

    def decorate(function: PixelFunction) -> Corruption:
        return Corruption(
            function,
            tuple(params),
            severities,
            imitates,
            source,
            revision,
            golden,
            stage,
            random,
            tuple(settings),
            note,
            check,
            met_by,
            family,
            drawn=drawn,
            min_side_px=min_side_px,
            motion=motion,
        )

    return decorate


REGISTRY = Registry("corruption", "windtunnel.corruptions", Corruption, nested=True)


def has_one_strength(unit: str) -> bool:
    """Whether a unit is a registered corruption without severities."""
    return unit in REGISTRY and REGISTRY.get(unit).has_one_strength


def refuse_severity(written: str) -> None:
    """Refuse a corruption with a severity (`fog:3`) where its name alone is meant."""
    unit, colon, _ = written.partition(":")
    if colon and unit in REGISTRY:
        why = f"{unit} has one strength" if has_one_strength(unit) else "only the name is meant here"
        raise UserError(f"'{written}' has a severity, but {why}; write {unit}.")


def check_severity(severity: int) -> None:
    """Refuse a severity outside 1..5."""
    if isinstance(severity, bool) or not isinstance(severity, WHOLE) or severity not in SEVERITIES:
        raise UserError(f"Severity is {severity!r}; give 1, 2, 3, 4 or 5 (an untouched image is 'clean').")


def check_seed(seed: int | None) -> None:
    """Refuse a seed that is not an integer."""
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, WHOLE)):
        raise UserError(f"The seed is {seed!r}; give an integer, or None for a random seed.")


def check_edition(edition: int | None) -> None:
    """Refuse an unknown edition."""
    if edition is not None and edition not in EDITIONS:
        raise UserError(f"The edition is {edition!r}; give {', '.join(map(str, EDITIONS))}, or None.")


def edition_of(width: int, height: int) -> int:
    """The edition for an image size by short side: 32 below 48, 64 below 144, 224 below 262, else 299."""
    short = min(width, height)
    return 32 if short < 48 else 64 if short < 144 else 224 if short < 262 else 299


def corrupt(
    image: NDArray[np.uint8],
    name: str,
    severity: int | None = None,
    *,
    seed: int | None = None,
    sample_id: str = "",
    edition: int | None = None,
    settings: Mapping[str, str] = MappingProxyType({}),
) -> NDArray[np.uint8]:
    """Corrupt one image.

    Args:
        image: uint8, HxWx3 RGB; or HxW or HxWx1 grey, which is corrupted as RGB and returned in its own
            shape. At least 32 pixels on each side.
        name: the corruption (`windtunnel list corruptions`).
        severity: 1 to 5, by default 1; not for corruptions with one strength, such as `s2n/blur`.
        seed: the same seed and sample_id give the same pixels; None uses a random seed.
        sample_id: identifies the image, so that two images never share their noise.
        edition: edition of the severity table, 32, 64, 224 or 299; None chooses it by the short side.
        settings: text settings of the corruption, such as {"textures": DIR} for frost.

    Returns:
        A new array of the input's shape.

    Raises:
        UserError: the name is unknown, or the severity or image is invalid.
    """
    unit = REGISTRY.get(name)
    level = unit.level(severity)
    check_seed(seed)
    if edition is not None:
        check_edition(edition)
    if settings:
        unit.assets(settings)
    return unit.corrupt(
        image,
        level,
        seed=fresh_seed() if seed is None else int(seed),
        sample_id=sample_id,
        edition=edition,
        settings=settings,
    )


def as_canvas(image: NDArray[np.uint8], other_kinds: str = OTHER_KINDS) -> Image:
    """An image in the form that units need: contiguous, writable uint8 HxWx3, at least 32 pixels per side.

    `other_kinds` is advice for images of another type, for the error message.
    """
    shape = image.shape if isinstance(image, np.ndarray) and image.dtype == BYTES else ()
    if not (len(shape) == 2 or (len(shape) == 3 and shape[2] in COLOURS)):
        given = f"{getattr(image, 'dtype', type(image).__name__)} {getattr(image, 'shape', '')}".strip()
        raise UserError(
            f"The image is {given}; give a uint8 array of shape HxWx3 (RGB), HxW or HxWx1 ({other_kinds})."
        )
    height, width = shape[:2]
    if height < MIN_SIDE_PX or width < MIN_SIDE_PX:
        raise UserError(
            f"The image is {width}x{height} pixels; give one of at least {MIN_SIDE_PX} on each side."
        )
    if len(shape) == 2 or shape[2] == 1:
        return np.repeat(image.reshape(height, width, 1), 3, axis=2)
    return image if image.flags.carray else np.array(image, order="C")


def corruption_condition(
    unit: str,
    level: int,
    edition: int,
    codec: str,
    geometry: Mapping[str, object] | None = None,
    settings: Mapping[str, str] | None = None,
) -> Condition:
    """The condition of a registered corruption at one severity."""
    registered = REGISTRY.get(unit)
    registered.parameters(level, edition)
    return Condition(
        "corruption",
        unit,
        level,
        edition,
        codec,
        registered.stage,
        registered.revision,
        geometry or {},
        registered.assets(settings or {}),
        settings or {},
    )
