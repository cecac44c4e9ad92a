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
from windtunnel.core.records import SetClasses, SetData, SetInfo, SetRecipe
from windtunnel.core.samples import Sample, Surveyed
from windtunnel.core.seeding import STREAM_VERSION
from windtunnel.corruptions import SEVERITIES
from windtunnel.data import Dataset, is_image_name, stratified_subset
from windtunnel.data.label_spaces import read_indices
from windtunnel.data.survey import survey
from windtunnel.engine.chunks import Chunk
from windtunnel.engine.images import Source
from windtunnel.engine.plan import parse_settings
from windtunnel.engine.recipe import versions_for
from windtunnel.imaging.clips import H264
from windtunnel.imaging.crops import refuse_scaling
from windtunnel.imaging.geometry import Geometry, resized_size
from windtunnel.imaging.header import MAX_CANVAS_PIXELS, MAX_PIXELS, UNIT_PIXELS, pillow_quiet
from windtunnel.make.class_folders import class_folders
from windtunnel.make.imagenet_s import NAMED_AXES
from windtunnel.options.make import CLIP_LAYOUTS, IMAGE_LAYOUTS, SPLITS, STEPS_LAYOUT, MakeOptions
from windtunnel.suites.canvas import Canvas, choose_canvas
from windtunnel.suites.determinism import check_deterministic
from windtunnel.suites.pipeline_steps import (
    available_units,
    axis_of,
    is_step,
    overrides_of,
    spelt_out,
    value_of,
)
from windtunnel.suites.suite import Suite
from windtunnel.suites.suite_files import load_suite

# The published sets contain four extra corruptions and sequences in addition to the fifteen and the ten.
COMPANIONS = {"imagenet-c": "imagenet-c-extra", "imagenet-p": "imagenet-p-extra"}
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
        layout: `folders` or `arrays` for images; `frames`, `arrays` or `videos` for sequences; `npy` for
            pipeline steps.
        seed: seed of every random draw.
        images: the readable images, sorted by id.
        names: by id, the name in the set: `class/stem` in folders, the row number in arrays.
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
    suite, layout = _stored_as(_suite(target, options), options.layout, options.codec)
    _check_split(suite, options.split)
    samples = sorted(dataset.samples(), key=lambda sample: sample.id)
    subset = suite.subset if options.subset is None else options.subset
    chosen = stratified_subset(samples, subset, options.seed)
    surveyed = survey(dataset, chosen, progress, decoded=True)
    readable = _readable(dataset, surveyed)
    canvas = choose_canvas(suite, {(image.width, image.height) for image in readable}, Geometry())
    layout = _settled(layout, suite, canvas)
    suite, remarks = _available(suite, canvas, readable)
    left_out = _left_out(suite, dataset, surveyed, canvas)
    images = _fitting(dataset, readable, left_out)
    used = sorted({label for sample in samples for label in sample.labels})
    space, label_remarks = read_indices(dataset.label_space, used, options.labels or "")
    classes = _classes(space, images)
    made = sorted({image.sample.labels[0] for image in images})
    folders = class_folders(dataset.label_space, space, made)
    in_folders = layout not in ("arrays", STEPS_LAYOUT)
    remarks += [*label_remarks, *(folders.remarks if in_folders else ())]
    conditions = tuple(
        condition
        for condition in suite.conditions(canvas, parse_settings(options.settings))
        if condition.unit or condition.name == "clean"
    )
    check_deterministic(conditions)
    if layout == "arrays":
        _check_arrays(suite, images, canvas)
    names = _names(layout, images, folders.names)
    size = _chunk_size(images, canvas, layout, suite)
    recipe = SetRecipe(
        suite=suite.citation,
        layout=layout,
        data=SetData(
            count=len(images),
            of=len(samples),
            label_space=space.name,
            digest=digest([[image.sample.id, classes[image.sample.id], image.content] for image in images]),
        ),
        canvas=canvas.record(),
        codec=conditions[-1].codec,
        seed=options.seed,
        stream=STREAM_VERSION,
        chunk=size,
        class_folders=folders.kind if in_folders else "",
        split=options.split if layout == STEPS_LAYOUT else "",
    )
    info = SetInfo(
        source=dataset.name,
        classes=SetClasses(space.name, space.order, tuple(space.classes)),
        left_out=left_out,
        remarks=tuple(remarks),
        settings=tuple(options.settings),
        versions=versions_for(conditions),
    )
    chunks = _chunks(images, size, recipe.digest)
    return MakePlan(
        dataset, canvas, conditions, layout, options.seed, images, names, classes, left_out, chunks, recipe,
        info,
    )  # fmt: skip


def _refuse_mistakes(dataset: Dataset, options: MakeOptions) -> None:
    """Refuse mistakes that can be found before anything is read."""
    if options.split not in SPLITS:
        raise UserError(f"{option('split')} is '{options.split}'; give {', '.join(SPLITS)}.")
    if options.subset is not None and options.subset < 0:
        raise UserError(f"{option('subset')} is {options.subset}; give a number of images, or 0 for all.")
    if dataset.precomputed:
        raise UserError(f"{dataset.location} is corrupted already; give the clean images.")


def _check_split(suite: Suite, split: str) -> None:
    """Refuse training crops for sets without them, and decoders that cannot be used for them."""
    if split == SPLITS[0]:
        return
    if STEPS_LAYOUT not in _layouts(suite):
        raise UserError(
            f"{option('split', 'train')} makes random crops for sets of decoders and resizes, such as "
            "imagenet-s."
        )
    steps = [step for unit in suite.units for step in spelt_out(unit)]
    refuse_scaling(value_of(step) for step in steps if axis_of(step) == "decode")


def _readable(dataset: Dataset, surveyed: Sequence[Surveyed]) -> list[Surveyed]:
    """The readable images; refuses a dataset without any."""
    readable = [image for image in surveyed if image.status == "ok"]
    if not readable:
        raise UserError(f"None of the {len(surveyed)} images of {dataset.location} can be read.")
    return readable


def _settled(layout: str, suite: Suite, canvas: Canvas) -> str:
    """The requested layout, or the default for the images' size."""
    if layout != "auto":
        return layout
    return "arrays" if canvas.edition == 32 and "arrays" in _layouts(suite) else _layouts(suite)[0]


def _available(suite: Suite, canvas: Canvas, readable: Sequence[Surveyed]) -> tuple[Suite, list[str]]:
    """A suite with the pipeline steps that are available here, and notes on those left out."""
    if STEPS_LAYOUT not in _layouts(suite):
        return suite, []
    formats = Counter(image.format for image in readable)
    units, remarks = available_units(suite.units, canvas.geometry, None, formats)
    return replace(suite, units=units), remarks


def _left_out(suite: Suite, dataset: Dataset, surveyed: Sequence[Surveyed], canvas: Canvas) -> dict[str, str]:
    """The images that cannot be made under every condition, and why."""
    reasons = {image.sample.id: image.reason for image in surveyed if image.status != "ok"}
    readable = [image for image in surveyed if image.status == "ok"]
    acts_on_source = any(condition.stage == "source" for condition in suite.conditions(canvas))
    most = UNIT_PIXELS["source"] if acts_on_source else MAX_PIXELS
    reasons |= {image.sample.id: reason for image in readable if (reason := _unfit(image, canvas, most))}
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


def _names(layout: str, images: Sequence[Surveyed], folders: Sequence[str]) -> dict[str, str]:
    """The name of each image in a layout."""
    if layout == "arrays":
        return _row_names(images)
    return _own_names(images) if layout == STEPS_LAYOUT else _file_names(images, folders)


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


def _chunk_size(images: Sequence[Surveyed], canvas: Canvas, layout: str, suite: Suite) -> int:
    """Images per chunk; independent of the number of workers and of the selected corruptions."""
    size = min(MAX_CHUNK, -(-len(images) // MIN_CHUNKS))
    if layout == "arrays":
        side = canvas.geometry.output_px or max(images[0].width, images[0].height)
        room, views = MAX_CHUNK_BYTES, MAX_CONDITIONS
        if suite.holds_sequences:
            room, views = MAX_CLIP_CHUNK_BYTES, MAX_FRAMES
        size = min(size, room // (views * side * side * 3))
    return max(1, size)


def _suite(target: str | Path | Suite, options: MakeOptions) -> Suite:
    suite = target if isinstance(target, Suite) else load_suite(target)
    if suite.natural:
        raise UserError(f"Suite {suite.name} scores images without changes; there is nothing to make.")
    if suite.canvas == "native":
        raise UserError(f"Suite {suite.name} corrupts at a model's own size; a set on disk has no model.")
    if not suite.units:
        raise UserError(f"Suite {suite.name} has no corruptions; give one that has, such as imagenet-c.")
    if companion := COMPANIONS.get(suite.name):
        suite = replace(suite, units=(*suite.units, *load_suite(companion).units))
    if options.only:
        # The selection of corruptions is not part of the recipe: the others may follow.
        suite = replace(suite.only(options.only), name=suite.name)
    _check_steps(suite)
    if options.difficulty is not None:
        # Nor is the difficulty: noise has a folder per difficulty, and the others have the same frames.
        suite = replace(suite.at_difficulty(options.difficulty), name=suite.name)
    return suite if options.edition is None else suite.at_edition(options.edition)


def _check_steps(suite: Suite) -> None:
    """Refuse pipeline steps that no layout can store."""
    steps = [unit for unit in suite.units if is_step(unit)]
    if steps and suite.corruptions:
        raise UserError(
            f"{steps[0]} is a pipeline step and the suite also has corruptions; a set on disk contains only "
            "one of them. Make a set of each."
        )
    for step in steps:
        if axis_of(step) not in NAMED_AXES:
            raise UserError(
                f"{step} cannot be stored on disk: sets of pipeline steps are stored by "
                f"{' and '.join(NAMED_AXES)}. Leave it out; windtunnel run takes every step."
            )


def _layouts(suite: Suite) -> tuple[str, ...]:
    if suite.holds_sequences:
        return CLIP_LAYOUTS
    return IMAGE_LAYOUTS if suite.corruptions else (STEPS_LAYOUT,)


def _stored_as(suite: Suite, layout: str, codec: str | None) -> tuple[Suite, str]:
    """The suite with the requested codec, and the layout: videos are H.264, and H.264 is only for videos."""
    if layout not in ("auto", *_layouts(suite)):
        what = "sequences are" if suite.holds_sequences else "corrupted images are"
        what = what if suite.corruptions or suite.holds_sequences else "pipeline steps are"
        raise UserError(f"{option('layout')} is '{layout}'; {what} stored as {', '.join(_layouts(suite))}.")
    if layout == "videos" and codec is None:
        codec = H264
    if codec is not None:
        suite = suite.stored_as(codec)
    if layout == "auto" and suite.codec == H264:
        layout = "videos"
    if (layout == "videos") != (suite.codec == H264):
        raise UserError(
            f"{option('layout')} is '{layout}' and the codec {suite.codec}; videos are stored as {H264}, "
            "and nothing else is."
        )
    return suite, layout


def _classes(space: LabelSpace, images: Sequence[Surveyed]) -> dict[str, str]:
    """The class of every image; refuses images without exactly one label."""
    for image in images:
        if len(image.sample.labels) != 1:
            raise UserError(
                f"{image.sample.id} has {len(image.sample.labels)} labels; every image of a set on disk "
                "needs exactly one class."
            )
    return {image.sample.id: space.classes[image.sample.labels[0]] for image in images}


def _file_names(images: Sequence[Surveyed], folders: Sequence[str]) -> dict[str, str]:
    """`class/stem` of every image; if two would be equal, the whole id is the stem."""
    folder_of = {image.sample.id: folders[image.sample.labels[0]] for image in images}
    short = {id_: f"{folder}/{_stem(id_)}" for id_, folder in folder_of.items()}
    taken = Counter(short.values())
    names = {
        id_: name if taken[name] == 1 else f"{folder_of[id_]}/{id_.replace('/', '_')}"
        for id_, name in short.items()
    }
    if len({name.casefold() for name in names.values()}) < len(names):
        raise UserError("Two images would get the same name on disk; give them ids that differ.")
    for id_, name in names.items():
        folder, _, stem = name.partition("/")
        if not (_may_name_a_file(folder) and _may_name_a_file(stem)):
            raise UserError(
                f"{id_} would be written as {name!r}; a class and a name on disk must not be empty, contain "
                f"a slash or begin with a dot. Rename it, or use {option('layout', 'arrays')}."
            )
    return names


def _may_name_a_file(text: str) -> bool:
    return bool(text) and not text.startswith(".") and not set(text) & set("/\\\0")


def _stem(id_: str) -> str:
    base = id_.rsplit("/", 1)[-1]
    return base.rsplit(".", 1)[0] if is_image_name(base) else base


def _own_names(images: Sequence[Surveyed]) -> dict[str, str]:
    """Every image under its name in the source."""
    for image in images:
        if any(not _may_name_a_file(part) for part in image.sample.id.split("/")):
            raise UserError(f"{image.sample.id!r} cannot be a file's name; rename the image.")
    return {image.sample.id: image.sample.id for image in images}


def _row_names(images: Sequence[Surveyed]) -> dict[str, str]:
    return {image.sample.id: f"{row:08d}" for row, image in enumerate(images)}


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
            f"{option('layout', _layouts(suite)[0])}."
        )
