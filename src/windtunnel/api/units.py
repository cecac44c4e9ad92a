"""Corruptions and sequences: sample images, compilation, golden digests and the gallery."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image as PillowImage

from windtunnel.api.output_files import check_png
from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.core.progress import Progress, silent
from windtunnel.corruptions import EDITIONS
from windtunnel.corruptions import REGISTRY as CORRUPTIONS
from windtunnel.options import ShowOptions
from windtunnel.report.gallery import write_gallery
from windtunnel.report.sheet import animation, contact_sheet, frame_strip, sequence_frames
from windtunnel.sequences import REGISTRY as SEQUENCES
from windtunnel.sequences import Perturbation
from windtunnel.store.atomic_files import write_whole
from windtunnel.suites.golden_digests import golden_digest, golden_image
from windtunnel.suites.inclusion import include_files
from windtunnel.suites.units import find_unit, unit_names


def show(
    unit: str,
    out: str | Path | None = None,
    options: ShowOptions = ShowOptions(),  # noqa: B008 (frozen)
    **changes: Any,
) -> list[Path]:
    """Write sample images of a corruption or sequence and return their files.

    A corruption gives a PNG file with the clean image and all severities. A sequence gives a PNG file with a
    strip of frames, and an animated WebP file next to it.

    Args:
        unit: the name, such as `fog` or `seq/tilt`.
        out: the PNG file; by default `<unit>.png` in the current folder.
        options: image, seed, edition and difficulty; see `windtunnel.options.ShowOptions`.
        changes: single options by name; they override `options`.
    """
    chosen = options.with_changes(changes)
    include_files(chosen.include)
    plugin = find_unit(unit)
    target = Path(out or f"{plugin.name.replace('/', '-')}.png")
    check_png(target)
    if chosen.edition not in EDITIONS:
        known = ", ".join(map(str, EDITIONS))
        raise UserError(f"{option('edition')} is {chosen.edition}; give one of {known}.")
    image = Path(chosen.image) if chosen.image else None
    if isinstance(plugin, Perturbation):
        return _show_sequence(plugin, image, target, chosen)
    if chosen.difficulty is not None:
        raise UserError(f"{option('difficulty')} applies to sequences; {plugin.name} is a corruption.")
    sheet = contact_sheet(plugin, image, chosen.seed, chosen.edition)
    PillowImage.fromarray(sheet).save(target)
    return [target]


def _show_sequence(
    sequence: Perturbation, image: Path | None, target: Path, options: ShowOptions
) -> list[Path]:
    difficulty = sequence.difficulties[0] if options.difficulty is None else options.difficulty
    sequence.check_difficulty(difficulty)
    frames = sequence_frames(sequence, image, options.seed, options.edition, difficulty)
    PillowImage.fromarray(frame_strip(frames)).save(target)
    animated = target.with_suffix(".webp")
    write_whole(animated, animation(frames))
    return [target, animated]


@dataclass(frozen=True)
class WarmedUp:
    """How many units were compiled, and how long it took."""

    corruptions: int
    sequences: int
    seconds: float


def warmup(*, progress: Progress = silent) -> WarmedUp:
    """Compile every corruption and sequence and cache the result, so that no later run waits for it.

    Args:
        progress: counts compiled units.
    """
    begin = time.perf_counter()
    corruptions, sequences = CORRUPTIONS.all(), SEQUENCES.all()
    image = golden_image(EDITIONS[0])
    total = len(corruptions) + len(sequences)
    for corruption in corruptions:
        edition = corruption.editions[0]
        for level in corruption.levels:
            corruption.apply(image, corruption.draws(0, "", level), level, edition)
        progress(1, total)
    for sequence in sequences:
        edition = min(sequence.tables)
        for difficulty in sequence.difficulties:
            # Frames are made on demand: consume all of them.
            deque(sequence.apply(image, sequence.draws(0, "", difficulty), difficulty, edition), 0)
        progress(1, total)
    return WarmedUp(len(corruptions), len(sequences), time.perf_counter() - begin)


@dataclass(frozen=True)
class GoldenDigest:
    """The golden digest of a unit, and the one that its file declares ("" for none)."""

    name: str
    digest: str
    declared: str

    @property
    def changed(self) -> bool:
        """Whether the file declares another digest, or none."""
        return self.digest != self.declared


def golden_digests(units: Sequence[str] = ()) -> Iterator[GoldenDigest]:
    """Compute the golden digests of units, by default of all; the prefix of sequences is `seq/`."""
    for name in units or unit_names():
        unit = find_unit(name)
        yield GoldenDigest(name, golden_digest(unit), unit.golden)


@dataclass(frozen=True)
class Gallery:
    """The files of a gallery, the page first, and what it shows."""

    files: tuple[Path, ...]
    corruptions: int
    sequences: int

    @property
    def size_bytes(self) -> int:
        """The size of all files."""
        return sum(path.stat().st_size for path in self.files)


def make_gallery(out: str | Path) -> Gallery:
    """Write a Markdown page with every corruption at every severity and the frames of every sequence."""
    corruptions, sequences = CORRUPTIONS.all(), SEQUENCES.all()
    files = write_gallery(corruptions, Path(out), sequences)
    return Gallery(tuple(files), len(corruptions), len(sequences))
