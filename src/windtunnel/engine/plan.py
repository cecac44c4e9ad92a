"""The plan of a run: its images, conditions and chunks, and the recipe."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from windtunnel.core.annotations import Objects
from windtunnel.core.conditions import Condition, digest
from windtunnel.core.errors import UserError
from windtunnel.core.metrics import needing
from windtunnel.core.option_names import option
from windtunnel.core.placement import DEFAULT_PRECISION
from windtunnel.core.progress import Progress, silent
from windtunnel.core.records import DataRecipe, ProjectionRecipe, Recipe
from windtunnel.core.run_info import RunInfo, ScoringInfo
from windtunnel.core.samples import FrameRow, Sample, Surveyed
from windtunnel.core.seeding import STREAM_VERSION
from windtunnel.core.task import REGISTRY as TASKS
from windtunnel.core.task import LabelOptions, Postprocessor, Task
from windtunnel.core.wording import counted
from windtunnel.data import Dataset, group_sizes, refuse_duplicates, require_column
from windtunnel.data.class_subset import of_classes
from windtunnel.data.frame_sets import ONE_VIDEO, VIDEO
from windtunnel.data.manifest import Manifest
from windtunnel.data.survey import survey
from windtunnel.engine.chunks import Chunk, chunk_size
from windtunnel.engine.leaked_images import refuse_fitted_images
from windtunnel.engine.object_motion import check_motion
from windtunnel.engine.recipe import data_info, data_recipe, model_info, model_recipe, versions_for
from windtunnel.models import Model
from windtunnel.models.wrapping import training_notes
from windtunnel.options.doctor import options_for_doctor
from windtunnel.options.run import KEEP, RunOptions
from windtunnel.sequences import published_frames
from windtunnel.store.folder import annotations_table, groups_table, samples_table
from windtunnel.suites.canvas import Canvas, choose_canvas, fitting_units, precomputed_canvas
from windtunnel.suites.pipeline_steps import available_units, refuse_nothing_swapped
from windtunnel.suites.suite import Suite
from windtunnel.suites.units import families_of

RUNS_FOLDER = "windtunnel-runs"


@dataclass(frozen=True, repr=False)
class Plan:
    """Everything that determines a run's predictions, and its chunks of work."""

    model: Model
    dataset: Dataset
    suite: Suite
    seed: int
    canvas: Canvas
    conditions: tuple[Condition, ...]
    task: Task
    surveyed: tuple[Surveyed, ...]
    chunks: tuple[Chunk, ...]
    recipe: Recipe
    info: RunInfo
    sources: Mapping[str, str]
    frames: tuple[FrameRow, ...] = ()
    annotations: Mapping[str, Objects] | None = None

    def __repr__(self) -> str:
        images, conditions = counted(len(self.surveyed), "image"), counted(len(self.conditions), "condition")
        return (
            f"Plan({self.model.name} on {self.dataset.name}, {self.suite.citation}: {images}, {conditions}, "
            f"{counted(self.predictions, 'prediction')} in {counted(len(self.chunks), 'shard')}, recipe "
            f"{self.recipe.digest[:8]})"
        )

    @property
    def predictions(self) -> int:
        """The number of predictions of the whole run."""
        return len(self.surveyed) * self.views

    @property
    def views(self) -> int:
        """The number of predictions per image: the frames of all conditions."""
        return sum(condition.frames for condition in self.conditions)

    @property
    def postprocessor(self) -> Postprocessor:
        """How the model's outputs become rows."""
        return self.task.postprocessor(self.recipe)

    @property
    def samples_table(self) -> pa.Table:
        """The images as the run folder stores them."""
        return samples_table(self.surveyed, self.sources)

    @property
    def groups_table(self) -> pa.Table | None:
        """The frame sets as the run folder stores them, or None."""
        return groups_table(self.frames) if self.frames else None

    @property
    def annotations_table(self) -> pa.Table | None:
        """The annotated objects as the run folder stores them, or None."""
        return None if self.annotations is None else annotations_table(self.annotations)

    def default_folder(self) -> Path:
        """`./windtunnel-runs/<model>-<data>-<suite>-<recipe8>`."""
        parts = (self.model.name, self.dataset.name, self.suite.name, self.recipe.digest[:8])
        return Path(RUNS_FOLDER) / "-".join(for_path(part) for part in parts)


def make_plan(
    model: Model,
    dataset: Dataset,
    suite: Suite,
    options: RunOptions = RunOptions(),  # noqa: B008 (frozen)
    *,
    present: Callable[[Sequence[Condition]], Sequence[Condition]] = lambda conditions: conditions,
    surveyed: Sequence[Surveyed] = (),
    progress: Progress = silent,
) -> Plan:
    """Check that model, data and suite fit, survey every image, and divide the work into chunks.

    Everything that can be refused is refused here, before any prediction. `present` selects the suite's
    conditions that have predictions; `surveyed` are the images, if the plan of another model has them.
    """
    _refuse_mistakes(dataset, suite, options)
    samples = sorted(dataset.samples(), key=lambda sample: sample.id)
    refuse_duplicates(samples, dataset.location)
    if options.group:
        require_column(samples, options.group)
    task, precomputed = TASKS.get(model.task), dataset.precomputed
    suite = suite.for_task(task)
    manifest = precomputed.manifest if precomputed else None
    mapping = task.map_labels(model, dataset, samples, _label_options(options, suite))
    if not precomputed:
        mapping.check_metrics(suite.name, suite.metrics)
    subset = suite.subset if options.subset is None else options.subset
    selected = of_classes(samples, mapping.data_space, options.classes, dataset.location)
    chosen = dataset.subset(selected.samples, subset, options.seed)
    frames = _frames_of(dataset, chosen)
    notes = [*mapping.notes, *selected.notes, *dataset.subset_notes(chosen), *mapping.unused_notes]
    surveyed = tuple(surveyed or survey(dataset, chosen, progress))
    readable = _readable(dataset, surveyed)
    sources = precomputed.sources(surveyed) if precomputed else {}
    notes += [*training_notes(model), *refuse_fitted_images(model, dataset, surveyed, sources, progress)]
    grouping, video_notes = _grouping(options.group or "", bool(frames) or task.whole_images, readable)
    canvas = _canvas(suite, model, dataset, readable)
    suite, step_notes = _available(suite, model, dataset, canvas, readable)
    conditions, missing = _conditions(suite, dataset, canvas, options.settings, present)
    suite.check_frames(conditions)
    if task.whole_images and not precomputed:
        notes += check_motion(conditions)
    if precomputed:  # after the conditions: a set without any condition of the suite is refused first
        mapping.check_metrics(suite.name, suite.metrics)
    notes += [*dataset.check_content(readable), *video_notes, *step_notes]
    data = data_recipe(dataset, mapping.data_space, selected, surveyed, frames, options.seed)
    projection = mapping.projection(surveyed, masked=options.mask or suite.mask)
    recipe = _recipe(model, suite, canvas, conditions, data, projection, manifest, options)
    info = RunInfo(
        model=model_info(model),
        data=data_info(dataset, mapping.data_space, mapping.space),
        suite=suite.citation,
        scoring=ScoringInfo(
            suite.metrics,
            dict(suite.weights),
            **grouping,
            families=families_of((condition.unit for condition in conditions), suite.families),
        ),
        settings=manifest.info.settings if manifest else tuple(options.settings),
        missing=tuple(missing),
        notes=(*dataset.notes, *_unused_units(dataset, conditions), *_other_lengths(conditions), *notes),
        versions=versions_for(conditions),
        hardware=model.hardware,
        subset=subset,
        options=options_for_doctor(options),
    )
    chunks = _chunks(surveyed, recipe.chunk, recipe.digest)
    return Plan(
        model, dataset, suite, options.seed, canvas, conditions, task, surveyed, chunks, recipe, info,
        sources, frames, _annotations_of(dataset, surveyed) if task.whole_images else None,
    )  # fmt: skip


def _label_options(options: RunOptions, suite: Suite) -> LabelOptions:
    file = None if options.label_map is None else Path(options.label_map)
    return LabelOptions(options.labels, file, options.labels_are_outputs, suite.holds_sequences)


def _recipe(
    model: Model,
    suite: Suite,
    canvas: Canvas,
    conditions: tuple[Condition, ...],
    data: DataRecipe,
    projection: ProjectionRecipe,
    manifest: Manifest | None,
    options: RunOptions,
) -> Recipe:
    """The recipe of a run; the seed of a made set is the one that it was made with."""
    views = sum(condition.frames for condition in conditions)
    return Recipe(
        model=model_recipe(model),
        data=data,
        suite=suite.recipe(),
        canvas=canvas.record(),
        conditions=conditions,
        projection=projection,
        seed=manifest.recipe.seed if manifest else options.seed,
        stream=manifest.recipe.stream if manifest else STREAM_VERSION,
        keep=_kept_conditions(options.keep, conditions) if TASKS.get(model.task).outputs is not None else (),
        batch=model.batch,
        chunk=options.chunk or chunk_size(data.count, views),
        task=TASKS.get(model.task).name,
        device=model.placement.kind,
        precision=model.placement.precision or DEFAULT_PRECISION,
    )


def _refuse_mistakes(dataset: Dataset, suite: Suite, options: RunOptions) -> None:
    """Refuse invalid options before anything is read."""
    if options.keep not in KEEP:
        raise UserError(f"{option('keep')} is '{options.keep}'; give {', '.join(KEEP)}.")
    if options.keep == "summary" and needing("ood scores", suite.metrics):
        raise UserError(
            f"Suite {suite.name} needs the scores of all classes, which {option('keep', 'summary')} does not "
            f"store; give {option('keep', 'auto')}."
        )
    if options.subset is not None and options.subset < 0:
        raise UserError(f"{option('subset')} is {options.subset}; give a number of images, or 0 for all.")
    if options.classes is not None and suite.natural:
        raise UserError(
            f"{option('classes')} selects classes of ordinary images; suite {suite.name} scores a natural "
            f"set, which has its own classes. Leave {option('classes')} out."
        )
    if options.chunk is not None and options.chunk < 1:
        raise UserError(f"{option('chunk')} is {options.chunk}; give at least 1 image per shard.")
    if options.settings and dataset.precomputed:
        raise UserError(
            f"{option('settings')} changes how images are made, but {dataset.location} contains corrupted "
            f"images already; leave {option('settings')} out."
        )


def _readable(dataset: Dataset, surveyed: Sequence[Surveyed]) -> list[Surveyed]:
    """The readable images; refuses a dataset without any."""
    readable = [image for image in surveyed if image.status == "ok"]
    if not readable:
        first = surveyed[0]
        raise UserError(
            f"None of the {len(surveyed)} images of {dataset.location} can be read "
            f"(the first, {first.sample.id}: {first.reason})."
        )
    return readable


def _grouping(group: str, by_video: bool, readable: Sequence[Surveyed]) -> tuple[dict[str, Any], list[str]]:
    """The column that confidence intervals are clustered by, as `ScoringInfo` stores it, and notes.

    Frames, and images with boxes, are clustered by video unless the user gives a column.
    """
    if group or not by_video:
        return {"group": group} if group else {}, []
    videos = group_sizes([image.sample for image in readable], VIDEO)
    if 1 < len(videos) < videos.total():
        return {"group": VIDEO, "group_found": True}, []
    return {}, [ONE_VIDEO] if len(videos) == 1 < videos.total() else []


def _canvas(suite: Suite, model: Model, dataset: Dataset, readable: Sequence[Surveyed]) -> Canvas:
    """The canvas of the run; for a precomputed set, that of the stored images."""
    sizes = {(image.width, image.height) for image in readable}
    if dataset.precomputed:
        return precomputed_canvas(dataset.precomputed, suite, sizes)
    return choose_canvas(suite, sizes, model.preprocess.geometry)


def _available(
    suite: Suite, model: Model, dataset: Dataset, canvas: Canvas, readable: Sequence[Surveyed]
) -> tuple[Suite, list[str]]:
    """The suite with the units that are available here, and notes on those left out."""
    if dataset.precomputed:
        return suite, []
    formats = Counter(image.format for image in readable)
    units, left_out = available_units(suite.units, canvas.geometry, model, formats)
    refuse_nothing_swapped(units, canvas.geometry, left_out)
    units, too_large = fitting_units(units, canvas, readable)
    return replace(suite, units=units), [*left_out, *too_large]


def _conditions(
    suite: Suite,
    dataset: Dataset,
    canvas: Canvas,
    settings: Sequence[str],
    present: Callable[[Sequence[Condition]], Sequence[Condition]],
) -> tuple[tuple[Condition, ...], list[str]]:
    """The conditions to score, and the names of the suite's other conditions."""
    missing: list[str] = []
    if dataset.precomputed:
        conditions, missing = suite.stored_conditions(dataset.precomputed, canvas)
    else:
        conditions = suite.conditions(canvas, parse_settings(settings))
    chosen = tuple(present(tuple(conditions)))
    return chosen, missing + [
        condition.name for condition in conditions if condition.unit and condition not in chosen
    ]


def _chunks(surveyed: tuple[Surveyed, ...], size: int, identity: str) -> tuple[Chunk, ...]:
    return tuple(
        Chunk(digest([identity, start]), surveyed[start : start + size])
        for start in range(0, len(surveyed), size)
    )


def _annotations_of(dataset: Dataset, surveyed: Sequence[Surveyed]) -> dict[str, Objects] | None:
    """The objects of the chosen images; None for data without annotated objects."""
    if dataset.annotations is None:
        return None
    return {image.sample.id: dataset.annotations.get(image.sample.id, ()) for image in surveyed}


def _frames_of(dataset: Dataset, chosen: Sequence[Sample]) -> tuple[FrameRow, ...]:
    """The frames of sets whose images were all chosen."""
    ids = {sample.id for sample in chosen} if dataset.frames else set()
    incomplete = {frame.group for frame in dataset.frames if frame.sample_id not in ids}
    return tuple(frame for frame in dataset.frames if frame.group not in incomplete)


def _unused_units(dataset: Dataset, conditions: Sequence[Condition]) -> list[str]:
    """A note on units of a precomputed set that the suite does not use."""
    if dataset.precomputed is None:
        return []
    used = {condition.unit for condition in conditions}
    others = sorted({condition.unit for condition in dataset.precomputed.stored} - used)
    return [f"The dataset also contains, not in this suite: {', '.join(others)}."] if others else []


def _other_lengths(conditions: Sequence[Condition]) -> list[str]:
    """A note on stored sequences with another number of frames than the published ones."""
    sequences = [condition for condition in conditions if condition.is_sequence]
    usual = {condition.name: published_frames(condition.unit, condition.edition) for condition in sequences}
    differing = [
        f"{condition.name} {condition.frames} of {usual[condition.name]}"
        for condition in sequences
        if usual[condition.name] not in (None, condition.frames)
    ]
    return (
        [f"Other numbers of frames than in the published clips: {', '.join(differing)}."] if differing else []
    )


def parse_settings(given: Sequence[str]) -> dict[str, dict[str, str]]:
    """`frost.textures=DIR` as {"frost": {"textures": DIR}}."""
    settings: dict[str, dict[str, str]] = {}
    for item in given:
        place, equals, value = item.partition("=")
        unit, dot, name = place.partition(".")
        if not (equals and dot and unit and name and value):
            raise UserError(
                f"{option('settings')} is '{item}'; write UNIT.SETTING=VALUE, such as frost.textures=DIR."
            )
        settings.setdefault(unit, {})[name] = value
    return settings


def for_path(text: str) -> str:
    """A name as part of a path."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text).strip("._-") or "run"


def _kept_conditions(keep: str, conditions: Sequence[Condition]) -> tuple[str, ...]:
    """The conditions whose outputs are stored; `auto` stores those that later scores need."""
    names = [
        condition.name
        for condition in conditions
        if keep == "logits" or (keep == "auto" and condition.is_unmodified)
    ]
    return tuple(sorted(set(names)))
