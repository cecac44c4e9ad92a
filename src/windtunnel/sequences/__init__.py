"""Perturbation sequences: one file each, with a generator of frames and its tables.

A unit is the generator `name(image, rng, frames, **params)` in the file `name.py`, decorated with
@sequence. A generator with the argument `window` yields only that part of each frame.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.conditions import Condition
from windtunnel.core.errors import UserError
from windtunnel.core.images import Image, Stage
from windtunnel.core.registry import Plugin, Registry, file_of
from windtunnel.core.seeding import Draws, fresh_seed
from windtunnel.corruptions import (
    WHOLE,
    as_canvas,
    check_edition,
    check_seed,
    edition_of,
)
from windtunnel.kernels.window import Window, whole

DIFFICULTIES = (1, 2, 3)
USUAL_FRAMES = 31
# Prefix that distinguishes a sequence from a corruption of the same name.
SEQUENCE_PREFIX = "seq/"
# Advice for images of another type; windtunnel.transforms has no sequences.
AS_ARRAY = "numpy.asarray(image.convert('RGB')) makes one of a Pillow image"

Type = Literal["noise", "temporal"]
FrameFunction = Callable[..., Iterator[Image]]


@dataclass(frozen=True)
class Table:
    """A sequence in one edition.

    Attributes:
        rows: parameter values, one row for each difficulty (noise) or one in all (temporal).
        frames: number of frames.
        clean: index of the frame that is the unperturbed image; None if there is none.
        stage: the stage of the geometry at which it is applied.
        cropped: whether the published clips are cropped to the edition's size; otherwise their short side is.
    """

    rows: Sequence[Sequence[float]]
    frames: int = USUAL_FRAMES
    clean: int | None = None
    stage: Stage = "canvas"
    cropped: bool = True


@dataclass(frozen=True)
class Perturbation(Plugin):
    """A perturbation sequence: an image that changes gradually over frames.

    Attributes:
        function: the generator of frames.
        type: `noise` (independent noise in every frame, compared with frame 0) or `temporal` (a gradual
            change, every frame compared with the previous one).
        params: the names of the parameters, in the order of the tables' rows.
        tables: edition -> its table.
        imitates: the real-world effect that it imitates, in one sentence.
        source: the source of its definition.
        revision: raised whenever the golden digest changes.
        golden: digest of the frames of the golden image (`windtunnel dev golden seq/NAME`).
        random: whether it draws random numbers.
        met_by: applications in which it occurs, in one sentence.
        family: the kind of change, one word for listings.
    """

    function: FrameFunction
    type: Type
    params: tuple[str, ...]
    tables: Mapping[int, Table]
    imitates: str
    source: str
    revision: int
    golden: str
    random: bool
    met_by: str = ""
    family: str = ""

    @property
    def name(self) -> str:
        """The unit's name, which is that of its function and its file."""
        return self.function.__name__

    @property
    def difficulties(self) -> tuple[int, ...]:
        """The difficulties with different pixels; for temporal sequences only 1, the others are strides."""
        return DIFFICULTIES if self.type == "noise" else DIFFICULTIES[:1]

    def table(self, edition: int) -> Table:
        """The table of one edition."""
        if edition not in self.tables:
            known = ", ".join(map(str, sorted(self.tables)))
            raise UserError(f"The sequence {self.name} has no edition {edition}; it has {known}.")
        return self.tables[edition]

    def parameters(self, difficulty: int, edition: int) -> dict[str, float]:
        """The parameters of one difficulty in one edition."""
        self.check_difficulty(difficulty)
        return dict(zip(self.params, self.table(edition).rows[difficulty - 1], strict=True))

    def check_difficulty(self, difficulty: int) -> None:
        """Refuse a difficulty that does not change the pixels."""
        if (
            isinstance(difficulty, bool)
            or not isinstance(difficulty, WHOLE)
            or difficulty not in DIFFICULTIES
        ):
            raise UserError(f"The difficulty is {difficulty!r}; give 1, 2 or 3.")
        if difficulty not in self.difficulties:
            raise UserError(
                f"{self.name} has the same frames at difficulty {difficulty} as at 1: for temporal sequences "
                "the difficulty is the stride between compared frames; give 1 and compare every "
                f"{'second' if difficulty == 2 else 'third'} frame."
            )

    def apply(
        self, image: Image, rng: Draws, difficulty: int, edition: int, window: Window | None = None
    ) -> Iterator[Image]:
        """An iterator over the frames of an image (uint8 HWC RGB, contiguous), computed one by one.

        Args:
            image: the image at the stage of the edition's table; it is not modified and must not change
                while frames are computed.
            rng: the random draws, from `draws`.
            difficulty: 1, 2 or 3 for noise, 1 for temporal sequences.
            edition: the edition of the table.
            window: the part of every frame to keep; None for all of it.
        """
        parameters = self.parameters(difficulty, edition)
        count = self.table(edition).frames
        part = window or whole(image)
        if not self.is_shipped:
            image = image.copy()
        if self._takes_window:
            made = self.function(image, rng, count, window=part, **parameters)
        else:
            made = self.function(image, rng, count, **parameters)
            if part != whole(image):
                made = (np.ascontiguousarray(part.cut(frame)) for frame in made)
        return made if self.is_shipped else self._checked(made, count, (part.height, part.width, 3))

    def draws(self, seed: int, sample_id: str, difficulty: int) -> Draws:
        """The random draws of this unit for one sample."""
        return Draws(seed, sample_id, f"sequence/{self.name}", difficulty)

    def assets(self) -> dict[str, str]:
        """Digests of what the frames depend on, except the revision: the file of a user-defined unit."""
        return {} if self.is_shipped else file_of(self.function)

    @cached_property
    def _takes_window(self) -> bool:
        return "window" in inspect.signature(self.function).parameters

    def _checked(self, made: Iterator[Image], count: int, shape: tuple[int, ...]) -> Iterator[Image]:
        """The frames of a user-defined unit, each checked before it is yielded."""
        number = 0
        try:
            for frame in made:
                if not isinstance(frame, np.ndarray) or frame.dtype != np.uint8 or frame.shape != shape:
                    given = (
                        f"{frame.dtype} {frame.shape}"
                        if isinstance(frame, np.ndarray)
                        else type(frame).__name__
                    )
                    raise UserError(f"Frame {number} of {self.name} is {given}; it must be uint8 {shape}.")
                number += 1
                yield frame
        except UserError:
            raise
        except Exception as error:  # the user's own code
            raise UserError(f"The sequence {self.name} failed: {type(error).__name__}: {error}.") from error
        if number != count:
            raise UserError(f"The sequence {self.name} yields {number} frames; its table declares {count}.")


def sequence(
    *,
    type: Type,
    params: Sequence[str],
    tables: Mapping[int, Table],
    imitates: str,
    source: str,
    revision: int = 1,
    golden: str = "",
    random: bool = True,
    met_by: str = "",
    family: str = "",
) -> Callable[[FrameFunction], Perturbation]:
    """Turn a generator of frames into a perturbation sequence."""
    if type not in get_args(Type):
        raise UserError(f"The type is {type!r}; give 'noise' or 'temporal'.")
    levels = len(DIFFICULTIES) if type == "noise" else 1
    for edition, table in tables.items():
        if len(table.rows) != levels or any(len(row) != len(params) for row in table.rows):
            raise UserError(f"Edition {edition} needs {levels} rows of {len(params)} values each.")

    def decorate(function: FrameFunction) -> Perturbation:
        return Perturbation(
            function,
            type,
            tuple(params),
            tables,
            imitates,
            source,
            revision,
            golden,
            random,
            met_by,
            family,
        )

    return decorate


REGISTRY = Registry("sequence", "windtunnel.sequences", Perturbation)


def perturb(
    image: NDArray[np.uint8],
    name: str,
    *,
    seed: int | None = None,
    sample_id: str = "",
    edition: int | None = None,
    difficulty: int = 1,
) -> Iterator[NDArray[np.uint8]]:
    """Perturb one image gradually: an iterator over its frames, computed one by one.

    To get the frames of a run at edition 224, resize the image to short side 256 (bilinear), and give
    edition=224, the run's seed and the image's id. For tilt, rotate, scale, translate, shear and zoom_blur,
    center-crop every frame to 224x224, which removes most of the black border. For all others, crop the
    image first.

    Args:
        image: uint8, HxWx3 RGB; or HxW or HxWx1 grey, which is perturbed as RGB and returned in its own
            shape. At least 32 pixels on each side. It is the whole image: where content moves out of it,
            black moves in.
        name: the sequence, such as `tilt` or `seq/tilt` (`windtunnel list sequences`).
        seed: the same seed and sample_id give the same frames; None uses a random seed.
        sample_id: identifies the image, so that two images never share their noise.
        edition: edition of the tables, 32, 64, 224 or 299; None chooses it by the short side.
        difficulty: 1 to 3 for noise sequences. Temporal sequences have the same frames at every difficulty,
            which is the stride between compared frames, and accept only 1.

    Returns:
        An iterator over new arrays of the input's shape.

    Raises:
        UserError: the name is unknown, or the difficulty or image is invalid.
    """
    unit = REGISTRY.get(name.removeprefix(SEQUENCE_PREFIX) if isinstance(name, str) else name)
    unit.check_difficulty(difficulty)
    check_seed(seed)
    check_edition(edition)
    # A copy: frames are computed later, and the caller may have changed the image by then.
    canvas = np.array(as_canvas(image, AS_ARRAY), order="C")
    height, width = canvas.shape[:2]
    rng = unit.draws(fresh_seed() if seed is None else int(seed), sample_id, int(difficulty))
    frames = unit.apply(canvas, rng, int(difficulty), edition or edition_of(width, height))
    if image.ndim == 3 and image.shape[2] == 3:
        return frames
    return (np.ascontiguousarray(frame[:, :, 0]).reshape(image.shape) for frame in frames)


def sequence_condition(
    unit: str, difficulty: int, edition: int, codec: str, geometry: Mapping[str, object] | None = None
) -> Condition:
    """The condition of a registered sequence; a temporal one has the same frames at any difficulty."""
    sequence = REGISTRY.get(unit.removeprefix(SEQUENCE_PREFIX))
    table = sequence.table(edition)
    level = level_of(unit, difficulty)
    sequence.parameters(level or 1, edition)
    return Condition(
        "sequence",
        unit,
        level,
        edition,
        codec,
        table.stage,
        sequence.revision,
        geometry or {},
        sequence.assets(),
        frames=table.frames,
    )


def level_of(unit: str, level: int) -> int:
    """The level that determines the pixels; temporal sequences have the same at every difficulty."""
    if not unit.startswith(SEQUENCE_PREFIX):
        return level
    return level if REGISTRY.get(unit.removeprefix(SEQUENCE_PREFIX)).type == "noise" else 0


def published_frames(unit: str, edition: int) -> int | None:
    """Number of frames of a sequence by its table; None if it has no table of that edition."""
    table = published_table(unit, edition)
    return table.frames if table else None


def published_table(unit: str, edition: int) -> Table | None:
    """The table of a sequence in an edition; None if the sequence is not registered or has no such table."""
    name = unit.removeprefix(SEQUENCE_PREFIX)
    return REGISTRY.get(name).tables.get(edition) if name in REGISTRY.names() else None


def has_any_aspect(condition: Condition) -> bool:
    """Whether published clips of this sequence keep the aspect ratio of their image."""
    table = published_table(condition.unit, condition.edition)
    return table is not None and not table.cropped


def sequence_of(condition: Condition) -> Perturbation:
    """The registered sequence of a condition."""
    return REGISTRY.get(condition.unit.removeprefix(SEQUENCE_PREFIX))


# How frames are compared: with the first, or with the previous one.
Comparison = Literal["noise", "temporal"]


def comparison_of(level: int) -> Comparison:
    """How a sequence's frames are compared; only noise has a level, so the unit need not be registered."""
    return "noise" if level else "temporal"


def least_frames(comparison: Comparison, stride: int) -> int:
    """Minimum number of frames of a clip; the difficulty of noise is its strength, not a stride."""
    return 2 if comparison == "noise" else stride + 1
