"""The gallery: a Markdown page with a strip of images for every corruption and sequence."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from PIL import Image as PillowImage

from windtunnel.core.images import Image
from windtunnel.corruptions import MIN_SIDE_PX, SEVERITIES, Corruption
from windtunnel.report.demo_scene import scene
from windtunnel.report.sheet import FRAME_CELL_PX, frame_strip, sequence_frames, strip
from windtunnel.sequences import SEQUENCE_PREFIX, Perturbation
from windtunnel.suites.suite_files import load_suite
from windtunnel.suites.units import Unit

PAGE = "gallery.md"
STRIPS = "gallery"
TEST_SUITE = "imagenet-c"
VALIDATION_SUITE = "imagenet-c-extra"
CANDIDATE_SUITE = "syn2nat-candidates"
# Further suites, by the heading of their corruptions.
OTHER_SUITES = {
    "ImageNet-C-bar": "imagenet-c-bar",
    "CIFAR-10-C-bar": "cifar-10-c-bar",
    "LAION-C": "laion-c",
    "Syn2Nat candidates": CANDIDATE_SUITE,
}
SEQUENCE_SUITE = "imagenet-p"
SEQUENCE_VALIDATION_SUITE = "imagenet-p-extra"
EDITION = 224

# A strip is stored at the first of these JPEG qualities that meets its size limit, or at the last.
QUALITIES = range(90, 35, -5)
STRIP_BYTES = 60_000
FRAMES_BYTES = 30_000
DRAWS_BYTES = 26_000
SMALL_BYTES = 32_000
# Units with more parameters than this have no table.
TABLE_ROWS = 3

HEAD = """\
# Gallery

<!-- Written by `windtunnel dev gallery`; change the units, not this page. -->

Every corruption at every severity: the clean image, then severities 1 to 5. Corruptions with one strength \
show five draws. The scene is drawn by \
windtunnel, corrupted at {edition} pixels with the parameters of edition {edition}, and shown at three \
quarters of its size, or smaller. Fog at severity 3 is written `fog:3`. To see one on an image of your own:

```console
$ windtunnel show fog --image photo.jpg
fog.png
```

**{test} corruptions are ImageNet-C's test set** (suite `{test_suite}`): report scores on them, and never \
train or choose a model with them. **{validation} more are for validation** (suite `{validation_suite}`): \
use them to choose models. The two are never mixed into one score. \
Suites `imagenet-c-bar` and `cifar-10-c-bar` have ten corruptions each that are unlike those of ImageNet-C, \
and suite `laion-c` has six that are rare even in web-scale training data. \
**{candidates} are the candidates of Syn2Nat** (suite `{candidate_suite}`), with the prefix `s2n/`.
"""

SEQUENCES_HEAD = """\
## Sequences

A sequence changes an image gradually and measures how often the prediction changes. Each strip shows eight \
frames, including the first and the last, as suite `{test_suite}` makes them at {edition} pixels. \
**Noise** is drawn independently in every frame, and each frame is compared with the clean first one. \
**Temporal** frames follow from each other, and each is compared with the previous one. To see one move:

```console
$ windtunnel show seq/tilt --image photo.jpg
tilt.png
```

This also writes an animation, `tilt.webp`.

**{test} sequences are ImageNet-P's test set** (suite `{test_suite}`); **{validation} more are for \
validation** (suite `{validation_suite}`).
"""


def write_gallery(units: Sequence[Corruption], out: Path, clips: Sequence[Perturbation] = ()) -> list[Path]:
    """Write the page and one strip per corruption and sequence into a folder; returns the files."""
    folder = out / STRIPS
    folder.mkdir(parents=True, exist_ok=True)
    page = out / PAGE
    page.write_text(gallery_page(units, clips), encoding="utf-8")
    written = [page]
    shown: list[Unit] = [*units, *clips]
    for unit in shown:
        target = folder / strip_name(unit)
        target.write_bytes(gallery_strip(unit))
        written.append(target)
    return written


def strip_name(unit: Unit) -> str:
    """The file name of a unit's strip; sequences have a prefix because corruptions may share their names."""
    return f"seq-{unit.name}.jpg" if isinstance(unit, Perturbation) else f"{unit.name.replace('/', '-')}.jpg"


def strip_bytes(unit: Unit) -> int:
    """The size limit of a unit's strip."""
    if isinstance(unit, Perturbation):
        return FRAMES_BYTES
    if unit.has_one_strength:
        return DRAWS_BYTES
    return SMALL_BYTES if _is_small(unit) else STRIP_BYTES


def _is_small(unit: Corruption) -> bool:
    """Whether a corruption has a small strip: those of the further suites."""
    return any(unit.name in load_suite(suite).units for suite in OTHER_SUITES.values())


def gallery_page(units: Sequence[Corruption], clips: Sequence[Perturbation] = ()) -> str:
    """The text of the page; computes no images."""
    groups = grouped(units)
    test, validation = load_suite(TEST_SUITE), load_suite(VALIDATION_SUITE)
    head = HEAD.format(
        edition=EDITION,
        test=len(test.units),
        test_suite=test.name,
        validation=len(validation.units),
        validation_suite=validation.name,
        candidates=len(load_suite(CANDIDATE_SUITE).units),
        candidate_suite=CANDIDATE_SUITE,
    )
    contents = [
        f"- {title}: {', '.join(f'[{unit.name}](#{_anchor(unit.name)})' for unit in members)}"
        for title, members in groups.items()
    ]
    sections = [line for title, members in groups.items() for line in _group(title, members)]
    return "\n".join([head, *contents, "", *sections, *_sequences(clips)]).rstrip() + "\n"


def grouped(units: Sequence[Corruption]) -> dict[str, list[Corruption]]:
    """Units by heading: families of the test suite, the validation suite, further suites, and all others."""
    by_name = {unit.name: unit for unit in units}
    test, validation = load_suite(TEST_SUITE).units, load_suite(VALIDATION_SUITE).units
    headings = {name: by_name[name].family.capitalize() for name in test if name in by_name}
    headings |= {name: "Extra, for validation" for name in validation if name in by_name}
    for heading, suite in OTHER_SUITES.items():
        members = [name for name in load_suite(suite).units if name in by_name and name not in headings]
        headings |= dict.fromkeys(members, heading)
    headings |= {name: "In none of these suites" for name in by_name if name not in headings}
    groups: dict[str, list[Corruption]] = {}
    for name, heading in headings.items():
        groups.setdefault(heading, []).append(by_name[name])
    return groups


def gallery_strip(unit: Unit) -> bytes:
    """The strip of a unit as a JPEG file."""
    edition = _edition(unit)
    if isinstance(unit, Perturbation):
        image = frame_strip(sequence_frames(unit, None, 0, edition), FRAME_CELL_PX)
    elif unit.has_one_strength or _is_small(unit):
        image = strip(unit, _scene(edition), edition, FRAME_CELL_PX)
    else:
        image = strip(unit, _scene(edition), edition)
    return encode_strip(image, strip_bytes(unit))


def encode_strip(image: Image, most_bytes: int) -> bytes:
    """A strip as a JPEG file, at the highest quality that meets the size limit."""
    for quality in QUALITIES:
        file = io.BytesIO()
        PillowImage.fromarray(image).save(file, "JPEG", quality=quality, optimize=True)
        if file.tell() <= most_bytes:
            break
    return file.getvalue()


@cache
def _scene(edition: int) -> Image:
    return scene(edition)


def _edition(unit: Unit) -> int:
    """The edition of the page, or the largest edition of a unit that lacks it."""
    editions = unit.tables if isinstance(unit, Perturbation) else unit.editions
    return EDITION if EDITION in editions else max(editions)


def _anchor(name: str) -> str:
    """The link target of a heading."""
    return name.replace("/", "")


def _group(title: str, units: Sequence[Corruption]) -> Iterator[str]:
    yield f"## {title}\n"
    for unit in units:
        yield f"### {unit.name}\n"
        yield f"{unit.imitates}\n"
        shown = "severities 1 to 5" if unit.severities else "five draws" if unit.random else "corrupted"
        yield f"![{unit.name}: clean and {shown}]({STRIPS}/{strip_name(unit)})\n"
        yield from (f"- {label}: {text}" for label, text in _facts(unit))
        yield ""
        if unit.severities and len(unit.params) <= TABLE_ROWS:
            yield from _table(unit)


def _sequences(clips: Sequence[Perturbation]) -> Iterator[str]:
    if not clips:
        return
    test, validation = load_suite(SEQUENCE_SUITE).units, load_suite(SEQUENCE_VALIDATION_SUITE).units
    yield SEQUENCES_HEAD.format(
        edition=EDITION,
        test=len(test),
        test_suite=SEQUENCE_SUITE,
        validation=len(validation),
        validation_suite=SEQUENCE_VALIDATION_SUITE,
    )
    order = {name: position for position, name in enumerate((*test, *validation))}
    named = {SEQUENCE_PREFIX + unit.name: unit for unit in clips}
    names = sorted(named, key=lambda name: order.get(name, len(order)))
    yield ", ".join(f"[{name}](#{_anchor(name)})" for name in names) + "\n"
    for name in names:
        unit, table = named[name], named[name].table(_edition(named[name]))
        yield f"### {name}\n"
        yield f"{unit.imitates}\n"
        yield f"![{name}: frames of the sequence]({STRIPS}/{strip_name(unit)})\n"
        if unit.met_by:
            yield f"- Who meets it: {unit.met_by}"
        clean = "none is the untouched image" if table.clean is None else f"frame {table.clean} is clean"
        yield f"- Frames: {table.frames}, {unit.type}; {clean}."
        yield f"- Random: {'yes, every image gets a draw of its own.' if unit.random else 'no.'}"
        yield f"- Source: {unit.source}."
        yield ""


def _facts(unit: Corruption) -> Iterator[tuple[str, str]]:
    if unit.met_by:
        yield "Who meets it", unit.met_by
    if unit.drawn:
        yield "Drawn for every image", unit.drawn
    else:
        yield "Random", "yes, every image gets a draw of its own." if unit.random else "no."
    if unit.min_side_px > MIN_SIDE_PX:
        yield "Images", f"at least {unit.min_side_px} pixels on each side."
    if _edition(unit) != EDITION:
        yield "Edition", f"{_edition(unit)}, at that size."
    if len(unit.params) > TABLE_ROWS:
        yield "A severity sets", f"{', '.join(unit.params)}."
    if unit.note:
        yield "Note", unit.note
    yield "Source", f"{unit.source}."


def _table(unit: Corruption) -> Iterator[str]:
    yield f"| severity | {' | '.join(map(str, SEVERITIES))} |"
    yield "|---" * (1 + len(SEVERITIES)) + "|"
    columns = zip(*unit.severities[_edition(unit)], strict=True)
    for name, values in zip(unit.params, columns, strict=True):
        yield f"| {name} | {' | '.join(f'{value:g}' for value in values)} |"
    yield ""
