"""The plan: which images under which conditions, in which chunks, and the recipe that says so."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from windtunnel.core.conditions import Condition, digest
from windtunnel.core.errors import UserError
from windtunnel.core.metrics import needing
from windtunnel.core.option_names import option
from windtunnel.core.progress import Progress, silent
from windtunnel.core.records import Recipe, RunInfo, ScoringInfo
from windtunnel.core.samples import FrameRow, Sample, Surveyed
from windtunnel.core.seeding import STREAM_VERSION
from windtunnel.core.task import REGISTRY as TASKS
from windtunnel.core.task import LabelOptions, Postprocessor, Task
from windtunnel.data import Dataset, group_sizes, refuse_duplicates, require_column
from windtunnel.data.frame_sets import ONE_VIDEO, VIDEO
from windtunnel.data.survey import survey
from windtunnel.engine.chunks import Chunk
from windtunnel.engine.recipe import data_info, data_recipe, model_info, model_recipe, versions_for
from windtunnel.models import Model
from windtunnel.options.run import KEEP, RunOptions
from windtunnel.sequences import published_frames
from windtunnel.store.folder import groups_table, samples_table
from windtunnel.suites.canvas import Canvas, choose_canvas, finished_canvas
from windtunnel.suites.pipeline_steps import available_units, refuse_nothing_swapped
from windtunnel.suites.suite import Suite

# A shard of about this many predictions is seconds of work to lose and a small file to keep.
PREDICTIONS_PER_SHARD = 2048
MAX_CHUNK = 512
# Few images are cut finer, so that workers share them evenly.
MIN_SHARDS = 16


RUNS_FOLDER = "windtunnel-runs"


@dataclass(frozen=True)
class Plan:
    """Everything that decides a run's predictions, and the work cut into chunks."""

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

    @property
    def predictions(self) -> int:
        """How many predictions the whole run makes."""
        return len(self.surveyed) * self.views

    @property
    def views(self) -> int:
        """How many images the model is shown of each: every condition's frames."""
        return sum(condition.frames for condition in self.conditions)

    @property
    def postprocessor(self) -> Postprocessor:
        """How the model's outputs become rows."""
        return self.task.postprocessor(self.recipe)

    @property
    def samples_table(self) -> pa.Table:
        """The images as the run folder keeps them."""
        return samples_table(self.surveyed, self.sources)

    @property
    def groups_table(self) -> pa.Table | None:
        """The frame sets as the run folder keeps them, if there are any."""
        return groups_table(self.frames) if self.frames else None

    def default_folder(self) -> Path:
        """`./windtunnel-runs/<model>-<data>-<suite>-<recipe8>`."""
        parts = (self.model.name, self.dataset.name, self.suite.name, self.recipe.digest[:8])
        return Path(RUNS_FOLDER) / "-".join(_for_path(part) for part in parts)


def make_plan(
    model: Model,
    dataset: Dataset,
    suite: Suite,
    options: RunOptions = RunOptions(),  # noqa: B008 (frozen)
    *,
    present: Callable[[Sequence[Condition]], Sequence[Condition]] = lambda conditions: conditions,
    progress: Progress = silent,
) -> Plan:
    """Check that model, data and suite fit, survey every image, and divide the work into chunks.

    Everything that can be refused is refused here, before any prediction. `present` chooses which of the
    suite's conditions there are predictions of.
    """
    _refuse_mistakes(dataset, suite, options)
    seed, group, trust = options.seed, options.group or "", options.labels_are_outputs
    total = sorted(dataset.samples(), key=lambda sample: sample.id)
    refuse_duplicates(total, dataset.location)
    if group:
        require_column(total, group)
    finished = dataset.precomputed
    made = finished.manifest if finished else None
    task = TASKS.get(model.task)
    file = None if options.label_map is None else Path(options.label_map)
    asked = LabelOptions(options.labels, file, trust, suite.holds_sequences)
    mapping = task.map_labels(model, dataset, total, asked)
    remarks = [*mapping.remarks]
    if not finished:
        mapping.check_metrics(suite.name, suite.metrics)
    subset = suite.subset if options.subset is None else options.subset
    chosen = dataset.subset(total, subset, seed)
    frames = _frames_of(dataset, chosen)
    remarks += dataset.subset_remarks(chosen)
    remarks += mapping.unused_remarks
    surveyed = tuple(survey(dataset, chosen, progress))
    readable = _readable(dataset, surveyed)
    grouping, one_video = _grouping(group, frames, readable)
    canvas = _canvas(suite, model, dataset, readable)
    suite, left_out = _available(suite, model, dataset, canvas, readable)
    conditions, missing = _conditions(suite, dataset, canvas, options.settings, present)
    suite.check_frames(conditions)
    if finished:  # that it holds nothing of the suite is the better reason
        mapping.check_metrics(suite.name, suite.metrics)
    remarks += [*dataset.check_content(readable), *one_video, *left_out]
    size = options.chunk or chunk_size(len(surveyed), sum(condition.frames for condition in conditions))
    recipe = Recipe(
        model=model_recipe(model),
        data=data_recipe(dataset, mapping.data_space, total, surveyed, frames, seed),
        suite=suite.recipe(),
        canvas=canvas.record(),
        conditions=conditions,
        projection=mapping.projection(surveyed, masked=options.mask or suite.mask),
        # A made set was drawn with the seed it was made with.
        seed=made.recipe.seed if made else seed,
        stream=made.recipe.stream if made else STREAM_VERSION,
        keep=_kept_conditions(options.keep, conditions),
        batch=model.batch,
        chunk=size,
        task=task.name,
    )
    info = RunInfo(
        model=model_info(model),
        data=data_info(dataset, mapping.data_space, mapping.space),
        suite=suite.citation,
        scoring=ScoringInfo(suite.metrics, dict(suite.weights), **grouping),
        settings=made.info.settings if made else tuple(options.settings),
        missing=tuple(missing),
        remarks=(
            *dataset.remarks,
            *_also_there(dataset, conditions),
            *_other_lengths(conditions),
            *remarks,
        ),
        versions=versions_for(conditions),
    )
    chunks = _chunks(surveyed, size, recipe.digest)
    return Plan(
        model, dataset, suite, seed, canvas, conditions, task, surveyed, chunks, recipe, info,
        finished.sources(surveyed) if finished else {}, frames,
    )  # fmt: skip


def _refuse_mistakes(dataset: Dataset, suite: Suite, options: RunOptions) -> None:
    """Refuse wrong options before anything is read."""
    if options.keep not in KEEP:
        raise UserError(f"{option('keep')} is '{options.keep}'; give {', '.join(KEEP)}.")
    if options.keep == "summary" and needing("ood scores", suite.metrics):
        raise UserError(
            f"Suite {suite.name} needs every class's score of an image, which {option('keep', 'summary')} "
            f"drops; give {option('keep', 'auto')}."
        )
    if options.subset is not None and options.subset < 0:
        raise UserError(f"{option('subset')} is {options.subset}; give a number of images, or 0 for all.")
    if options.chunk is not None and options.chunk < 1:
        raise UserError(f"{option('chunk')} is {options.chunk}; give at least 1 image per shard.")
    if options.settings and dataset.precomputed:
        raise UserError(
            f"{option('settings')} makes images differently; those of {dataset.location} are made already."
        )


def _readable(dataset: Dataset, surveyed: Sequence[Surveyed]) -> list[Surveyed]:
    """The images that can be read; without any there is nothing to run."""
    found = [one for one in surveyed if one.status == "ok"]
    if not found:
        first = surveyed[0]
        raise UserError(
            f"None of the {len(surveyed)} images of {dataset.location} can be read "
            f"(the first, {first.sample.id}: {first.reason})."
        )
    return found


def _grouping(
    group: str, frames: Sequence[FrameRow], readable: Sequence[Surveyed]
) -> tuple[dict[str, Any], list[str]]:
    """Which images stay together in intervals, as scoring notes it, and what to say; videos unasked."""
    if group or not frames:
        return {"group": group} if group else {}, []
    videos = group_sizes([one.sample for one in readable], VIDEO)
    if 1 < len(videos) < videos.total():
        return {"group": VIDEO, "group_found": True}, []
    return {}, [ONE_VIDEO] if len(videos) == 1 < videos.total() else []


def _canvas(suite: Suite, model: Model, dataset: Dataset, readable: Sequence[Surveyed]) -> Canvas:
    """How images become what is corrupted, or what they are where somebody has corrupted them."""
    sizes = {(one.width, one.height) for one in readable}
    if dataset.precomputed:
        return finished_canvas(dataset.precomputed, suite, sizes)
    return choose_canvas(suite, sizes, model.preprocess.geometry)


def _available(
    suite: Suite, model: Model, dataset: Dataset, canvas: Canvas, readable: Sequence[Surveyed]
) -> tuple[Suite, list[str]]:
    """A suite with the units that can be made here, and what was left out of them and why."""
    if dataset.precomputed:
        return suite, []
    formats = Counter(one.format for one in readable)
    units, left_out = available_units(suite.units, canvas.geometry, model, formats)
    refuse_nothing_swapped(units, canvas.geometry, left_out)
    return replace(suite, units=units), left_out


def _conditions(
    suite: Suite,
    dataset: Dataset,
    canvas: Canvas,
    settings: Sequence[str],
    present: Callable[[Sequence[Condition]], Sequence[Condition]],
) -> tuple[tuple[Condition, ...], list[str]]:
    """The conditions there are predictions of, and the names of those the suite has beside them."""
    missing: list[str] = []
    if dataset.precomputed:
        found, missing = suite.of_finished(dataset.precomputed, canvas)
    else:
        found = suite.conditions(canvas, parse_settings(settings))
    chosen = tuple(present(tuple(found)))
    return chosen, missing + [one.name for one in found if one.unit and one not in chosen]


def _chunks(surveyed: tuple[Surveyed, ...], size: int, identity: str) -> tuple[Chunk, ...]:
    return tuple(
        Chunk(digest([identity, start]), surveyed[start : start + size])
        for start in range(0, len(surveyed), size)
    )


def _frames_of(dataset: Dataset, chosen: Sequence[Sample]) -> tuple[FrameRow, ...]:
    """The frame sets all of whose images are among those chosen."""
    ids = {sample.id for sample in chosen} if dataset.frames else set()
    lacking = {one.group for one in dataset.frames if one.sample_id not in ids}
    return tuple(one for one in dataset.frames if one.group not in lacking)


def _also_there(dataset: Dataset, conditions: Sequence[Condition]) -> list[str]:
    """What a finished set contains that the suite does not use."""
    if dataset.precomputed is None:
        return []
    used = {condition.unit for condition in conditions}
    others = sorted({condition.unit for condition in dataset.precomputed.stored} - used)
    return [f"Also there, and not in this suite: {', '.join(others)}."] if others else []


def _other_lengths(conditions: Sequence[Condition]) -> list[str]:
    """What to say where stored sequences have another number of frames than the published ones."""
    clips = [one for one in conditions if one.is_sequence]
    usual = {one.name: published_frames(one.unit, one.edition) for one in clips}
    found = [
        f"{one.name} {one.frames} of {usual[one.name]}"
        for one in clips
        if usual[one.name] not in (None, one.frames)
    ]
    return [f"Other numbers of frames than in the published clips: {', '.join(found)}."] if found else []


def parse_settings(given: Sequence[str]) -> dict[str, dict[str, str]]:
    """`frost.textures=DIR` as {"frost": {"textures": DIR}}."""
    found: dict[str, dict[str, str]] = {}
    for item in given:
        place, equals, value = item.partition("=")
        unit, dot, name = place.partition(".")
        if not (equals and dot and unit and name and value):
            raise UserError(
                f"{option('settings')} is '{item}'; write UNIT.SETTING=VALUE, such as frost.textures=DIR."
            )
        found.setdefault(unit, {})[name] = value
    return found


def chunk_size(images: int, views: int) -> int:
    """Images per shard; never a matter of how many workers there are."""
    return max(1, min(MAX_CHUNK, PREDICTIONS_PER_SHARD // views, -(-images // MIN_SHARDS)))


def _for_path(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text).strip("._-") or "run"


def _kept_conditions(keep: str, conditions: Sequence[Condition]) -> tuple[str, ...]:
    """The conditions whose outputs are stored; `auto` stores those that later scores need."""
    kept = [one.name for one in conditions if keep == "logits" or (keep == "auto" and one.is_unmodified)]
    return tuple(sorted(set(kept)))
