"""The plan of a set: its images, conditions and names, and the recipe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from windtunnel.core.conditions import Condition, digest
from windtunnel.core.errors import ImageError, UserError
from windtunnel.core.labels import LabelSpace
from windtunnel.core.option_names import option
from windtunnel.core.progress import Progress, silent
from windtunnel.core.samples import Sample, Surveyed
from windtunnel.core.seeding import STREAM_VERSION
from windtunnel.core.set_records import SetClasses, SetData, SetInfo, SetRecipe
from windtunnel.core.wording import counted, listed
from windtunnel.corruptions import SEVERITIES
from windtunnel.data import Dataset, stratified_subset
from windtunnel.data.annotated import AnnotatedDataset
from windtunnel.data.class_subset import of_classes
from windtunnel.data.label_spaces import read_indices
from windtunnel.data.manifest import checksum
from windtunnel.data.precomputed_shards import WEBDATASET
from windtunnel.data.survey import survey
from windtunnel.engine.chunks import Chunk
from windtunnel.engine.images import Source
from windtunnel.engine.plan import parse_settings
from windtunnel.engine.recipe import versions_for
from windtunnel.imaging.geometry import Geometry, resized_size
from windtunnel.imaging.header import MAX_CANVAS_PIXELS, MAX_PIXELS, UNIT_PIXELS, pillow_quiet
from windtunnel.make.annotations import coco_file, moves_annotations, refuse_shuffled
from windtunnel.make.class_folders import class_folders
from windtunnel.make.image_names import image_names
from windtunnel.make.set_suite import check_split, layouts_of, settled_layout, suite_to_make, with_codec
from windtunnel.options.make import COPIES_LAYOUT, SPLITS, STEPS_LAYOUT, MakeOptions
from windtunnel.suites.canvas import WHOLE, Canvas, choose_canvas, fitting_units
from windtunnel.suites.determinism import check_deterministic
from windtunnel.suites.pipeline_steps import (
    available_units,
    overrides_of,
)
from windtunnel.suites.suite import Suite

MAX_CHUNK = 64
MIN_CHUNKS = 16
# A worker keeps a chunk of arrays in memory until it is written: every condition of every image.
MAX_CHUNK_BYTES = 8_000_000
MAX_CONDITIONS = 96
# For sequences, every frame; the limit is higher, because otherwise a chunk would be a few small images.
MAX_CLIP_CHUNK_BYTES = 32_000_000
MAX_FRAMES = 450


@dataclass(frozen=True)
class MakePlan:
    """Everything that determines a made set.

    Attributes:
        dataset: the source images.
        canvas: how they become canvases.
        conditions: clean first, then every corruption and severity, every sequence, or every step.
        layout: `folders`, `arrays` or `webdataset` for images; `frames`, `arrays` or `videos` for
            sequences; `npy` for pipeline steps.
        seed: seed of every random draw.
        images: the readable images, sorted by id.
        names: by id, the name in the set: `class/stem` in folders and shards, the row number in arrays.
        classes: by id, the class in the data.
        left_out: unreadable images, and why.
        chunks: the chunks of work.
        recipe: the settings that two `make` commands must share to use the same folder.
        info: further facts.
    """

    dataset: Dataset
    canvas: Canvas
    conditions: tuple[Condition, ...]
    layout: str
    seed: int
    images: tuple[Surveyed, ...]
    names: dict[str, str]
    classes: dict[str, str]
    left_out: dict[str, str]
    chunks: tuple[Chunk, ...]
    recipe: SetRecipe
    info: SetInfo

    @property
    def files(self) -> int:
        """The number of images in the set, counting frames."""
        return len(self.images) * count_views(self.conditions)


def count_views(conditions: Iterable[Condition]) -> int:
    """The number of images that conditions make from one."""
    return sum(condition.frames for condition in conditions)


def plan_make(
    target: str | Path | Suite,
    dataset: Dataset,
    options: MakeOptions,
    progress: Progress = silent,
) -> MakePlan:
    """Check that a set can be made from the data, and plan it; nothing is written."""
    _refuse_mistakes(dataset, options)
    suite = suite_to_make(target, options)
    layout = options.layout
    if layout == "auto" and dataset.annotations is not None:
        layout = COPIES_LAYOUT
    suite, layout = with_codec(suite, layout, options.codec)
    copies = layout == COPIES_LAYOUT
    if copies:
        suite = replace(suite, canvas=WHOLE)
    if copies and dataset.annotations is not None:
        refuse_shuffled(suite.units)
    check_split(suite, options.split)
    samples = sorted(dataset.samples(), key=lambda sample: sample.id)
    subset = suite.subset if options.subset is None else options.subset
    used = sorted({label for sample in samples for label in sample.labels})
    space, label_notes = read_indices(dataset.label_space, used, options.labels or "")
    selected = of_classes(samples, space, options.classes, dataset.location)
    chosen = stratified_subset(selected.samples, subset, options.seed)
    surveyed = survey(dataset, chosen, progress, decoded=True)
    readable = _readable(dataset, surveyed)
    canvas = choose_canvas(suite, {(image.width, image.height) for image in readable}, Geometry())
    layout = settled_layout(layout, suite, canvas)
    suite, notes = _available(suite, canvas, readable)
    conditions = _conditions(suite, canvas, options)
    if copies:  # the clean images are those of the source
        conditions = tuple(condition for condition in conditions if condition.unit)
    check_deterministic(conditions)
    left_out = _left_out(suite, dataset, surveyed, canvas)
    images = _fitting(dataset, readable, left_out)
    classes = _no_classes(images) if copies else _classes(space, images)
    made = [] if copies else sorted({image.sample.labels[0] for image in images})
    folders = class_folders(dataset.label_space, space, made)
    in_folders = layout not in ("arrays", COPIES_LAYOUT, STEPS_LAYOUT)
    notes += [*label_notes, *selected.notes, *(folders.notes if in_folders else ())]
    if layout == "arrays":
        _check_arrays(suite, images, canvas)
    names = image_names(layout, images, folders.names, conditions[-1].codec)
    content = [[image.sample.id, classes[image.sample.id], image.content] for image in images]
    if copies and isinstance(dataset, AnnotatedDataset):
        notes += [*dataset.notes, *dataset.check_content(images), *_annotation_notes(dataset, conditions)]
        content.append(["annotations", checksum(coco_file(dataset, images, names, dataset.annotations))])
    recipe = SetRecipe(
        suite=suite.citation,
        layout=layout,
        data=SetData(len(images), len(selected.samples), space.name, digest(content), selected.rule),
        canvas=canvas.record(),
        codec=conditions[-1].codec,
        seed=options.seed,
        stream=STREAM_VERSION,
        chunk=_chunk_size(images, canvas, layout, suite, options.shard_size),
        class_folders=folders.kind if in_folders else "",
        split=options.split if layout == STEPS_LAYOUT else "",
    )
    info = SetInfo(
        source=dataset.name,
        classes=SetClasses(space.name, space.order, tuple(space.classes)),
        left_out=left_out,
        notes=tuple(notes),
        settings=tuple(options.settings),
        versions=versions_for(conditions),
    )
    chunks = _chunks(images, recipe.chunk, recipe.digest)
    return MakePlan(
        dataset, canvas, conditions, layout, options.seed, images, names, classes, left_out, chunks, recipe,
        info,
    )  # fmt: skip


def _conditions(suite: Suite, canvas: Canvas, options: MakeOptions) -> tuple[Condition, ...]:
    """The conditions to make: the canvas itself and every unit, without other clean conditions."""
    conditions = suite.conditions(canvas, parse_settings(options.settings))
    return tuple(condition for condition in conditions if condition.unit or condition.name == "clean")


def _refuse_mistakes(dataset: Dataset, options: MakeOptions) -> None:
    """Refuse mistakes that can be found before anything is read."""
    if options.split not in SPLITS:
        raise UserError(f"{option('split')} is '{options.split}'; give {', '.join(SPLITS)}.")
    if options.subset is not None and options.subset < 0:
        raise UserError(f"{option('subset')} is {options.subset}; give a number of images, or 0 for all.")
    if options.shard_size < 1:
        raise UserError(f"{option('shard_size')} is {options.shard_size}; give a number of images from 1.")
    if dataset.precomputed:
        raise UserError(f"{dataset.location} is corrupted already; give the clean images.")


def _readable(dataset: Dataset, surveyed: Sequence[Surveyed]) -> list[Surveyed]:
    """The readable images; refuses a dataset without any."""
    readable = [image for image in surveyed if image.status == "ok"]
    if not readable:
        raise UserError(f"None of the {len(surveyed)} images of {dataset.location} can be read.")
    return readable


def _available(suite: Suite, canvas: Canvas, readable: Sequence[Surveyed]) -> tuple[Suite, list[str]]:
    """A suite with the units that are available here, and notes on those left out."""
    if STEPS_LAYOUT not in layouts_of(suite):
        units, notes = fitting_units(suite.units, canvas, readable)
        return replace(suite, units=units), notes
    formats = Counter(image.format for image in readable)
    units, notes = available_units(suite.units, canvas.geometry, None, formats)
    return replace(suite, units=units), notes


def _left_out(suite: Suite, dataset: Dataset, surveyed: Sequence[Surveyed], canvas: Canvas) -> dict[str, str]:
    """The images that cannot be made under every condition, and why."""
    reasons = {image.sample.id: image.reason for image in surveyed if image.status != "ok"}
    readable = [image for image in surveyed if image.status == "ok"]
    acts_on_source = any(condition.stage == "source" for condition in suite.conditions(canvas))
    most_pixels = UNIT_PIXELS["source"] if acts_on_source else MAX_PIXELS
    reasons |= {
        image.sample.id: reason for image in readable if (reason := _unfit(image, canvas, most_pixels))
    }
    return reasons | _unreadable(suite, dataset, readable, canvas)


def _fitting(
    dataset: Dataset, readable: Sequence[Surveyed], left_out: dict[str, str]
) -> tuple[Surveyed, ...]:
    """The images of the set."""
    fitting = [image for image in readable if image.sample.id not in left_out]
    if not fitting:
        reason = next(iter(left_out.values()))
        raise UserError(f"No image of {dataset.location} fits the canvas (the first: {reason}); give others.")
    # Rows of arrays keep the order of the source, as in the published ones.
    return tuple(sorted(fitting, key=lambda image: _order(image.sample)))


def _chunks(images: tuple[Surveyed, ...], size: int, identity: str) -> tuple[Chunk, ...]:
    return tuple(
        Chunk(f"{start:08d}-{digest([identity, start])[:16]}", images[start : start + size])
        for start in range(0, len(images), size)
    )


def _unfit(image: Surveyed, canvas: Canvas, most_pixels: int) -> str:
    """Why an image cannot become a canvas, or "": resizing a very narrow image can make it too large."""
    if image.width * image.height > most_pixels:
        return f"{image.width}x{image.height} pixels; at most {most_pixels:,} in all"
    width, height = resized_size(image.width, image.height, canvas.geometry)
    return f"it becomes {width}x{height} pixels" if width * height > MAX_CANVAS_PIXELS else ""


def _unreadable(suite: Suite, dataset: Dataset, images: Sequence[Surveyed], canvas: Canvas) -> dict[str, str]:
    """Images that one of the suite's decoders cannot read, with the reason: they are left out of every set.

    Every image is decoded with every decoder of the suite, because a header does not show whether a decoder
    can read the rest.
    """
    steps = overrides_of(suite.units, canvas.geometry).values()
    decoders = [str(step["decoder"]) for step in steps if "decoder" in step]
    reasons: dict[str, str] = {}
    if not decoders:
        return reasons
    with pillow_quiet():
        for image in images:
            source = Source(dataset, image)
            for decoder in decoders:
                try:
                    source.decoded(replace(canvas.geometry, decoder=decoder))
                except ImageError as error:
                    reasons[image.sample.id] = error.reason
                    break
    return reasons


def _order(sample: Sample) -> tuple[int, str]:
    return int(sample.meta.get("row", 0)), sample.id


def _chunk_size(
    images: Sequence[Surveyed], canvas: Canvas, layout: str, suite: Suite, shard_size: int
) -> int:
    """Images per chunk; independent of the number of workers and of the selected corruptions."""
    size = min(shard_size if layout == WEBDATASET else MAX_CHUNK, -(-len(images) // MIN_CHUNKS))
    if layout == "arrays":
        side = canvas.geometry.output_px or max(images[0].width, images[0].height)
        room, views = MAX_CHUNK_BYTES, MAX_CONDITIONS
        if suite.holds_sequences:
            room, views = MAX_CLIP_CHUNK_BYTES, MAX_FRAMES
        size = min(size, room // (views * side * side * 3))
    return max(1, size)


def _classes(space: LabelSpace, images: Sequence[Surveyed]) -> dict[str, str]:
    """The class of every image; refuses images without exactly one label."""
    for image in images:
        if len(image.sample.labels) != 1:
            raise UserError(
                f"{image.sample.id} has {len(image.sample.labels)} labels; every image of a set on disk "
                "needs exactly one class."
            )
    return {image.sample.id: space.classes[image.sample.labels[0]] for image in images}


def _no_classes(images: Sequence[Surveyed]) -> dict[str, str]:
    """No class for any image: copies have the names of the source, not class folders."""
    return {image.sample.id: "" for image in images}


def _annotation_notes(dataset: AnnotatedDataset, conditions: Sequence[Condition]) -> list[str]:
    """A note on the conditions that move boxes and masks."""
    units = list(dict.fromkeys(condition.unit for condition in conditions if moves_annotations(condition)))
    if not units:
        return []
    boxes = sum(thing.segmentation is None for things in dataset.annotations.values() for thing in things)
    without = f"; {counted(boxes, 'object')} without a mask as filled boxes" if boxes else ""
    return [f"{listed(units)} move boxes and masks with the pixels{without}."]


def _check_arrays(suite: Suite, images: Sequence[Surveyed], canvas: Canvas) -> None:
    if any(sorted(suite.levels_of(unit)) != list(SEVERITIES) for unit in suite.corruptions):
        raise UserError(
            f"Arrays contain all five severities; leave severities out of {option('only')}, or use "
            f"{option('layout', 'folders')}."
        )
    sizes = {(image.width, image.height) for image in images}
    if not canvas.geometry.output_px and len(sizes) > 1:
        raise UserError(
            f"The images have {len(sizes)} sizes; arrays need one. Use "
            f"{option('layout', layouts_of(suite)[0])}."
        )
