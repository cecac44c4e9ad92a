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
from windtunnel.core.labels import IMAGENET_1K, INDICES, LabelSpace, Projection, mask_to
from windtunnel.core.metrics import needing
from windtunnel.core.records import ProjectionRecipe, Recipe, RunInfo, ScoringInfo
from windtunnel.core.samples import FrameRow, Sample, Surveyed
from windtunnel.core.seeding import STREAM_VERSION
from windtunnel.core.wording import counted
from windtunnel.data import Dataset, group_sizes, refuse_duplicates, require_column
from windtunnel.data.frame_sets import ONE_VIDEO, VIDEO
from windtunnel.data.label_maps import odd_labels, read_map, refuse_unlabelled, without_images
from windtunnel.data.label_spaces import model_space
from windtunnel.data.survey import survey
from windtunnel.engine.data_labels import LABELS_ARE_IMAGENET, NOT_PLAIN_INDICES, data_space
from windtunnel.engine.label_mapping import count_answers, refuse_mask, taken_on_trust
from windtunnel.engine.pool import Chunk
from windtunnel.engine.recipe import data_info, data_recipe, model_info, model_recipe, versions_for
from windtunnel.models import Model
from windtunnel.published.imagenet import imagenet_1k
from windtunnel.sequences import published_frames
from windtunnel.store.folder import groups_table, samples_table
from windtunnel.suites.canvas import Canvas, choose_canvas, finished_canvas
from windtunnel.suites.pipeline_steps import available_units, refuse_nothing_swapped
from windtunnel.suites.suite import Suite

# A shard of about this many predictions is seconds of work to lose and a small file to keep.
PREDICTIONS_PER_SHARD = 2048
# Flips ask whether answers change, not whether they are right.
NO_LABELS_NEEDED = "; flips need no labels: for them alone put the images into one folder without classes"
MAX_CHUNK = 512
# Few images are cut finer, so that workers share them evenly.
MIN_SHARDS = 16

KEEP = ("auto", "logits", "summary")
# Conditions whose full outputs later scores need; the rest keep summaries.
KEPT_BY_AUTO = ("clean", "native")

# What helps where the data's classes are wider than a model's outputs, or called otherwise.
MAP_THEM = "say with --map FILE.csv (columns output,class) which outputs stand for a class"

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
    label_map: tuple[int, ...]
    projection: Projection
    logits_for: frozenset[str]
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
    *,
    seed: int = 0,
    subset: int | None = None,
    mask: bool = False,
    keep: str = "auto",
    chunk: int | None = None,
    labels_are_outputs: bool = False,
    labels: str | None = None,
    label_map_file: Path | None = None,
    settings: Sequence[str] = (),
    group: str = "",
    present: Callable[[Sequence[Condition]], Sequence[Condition]] = lambda conditions: conditions,
    advance: Callable[[int, int], None] = lambda _done, _total: None,
) -> Plan:
    """Check that model, data and suite fit, look at every image, and cut the work.

    Everything that can be refused is refused here, before any prediction. `present` chooses which of the
    suite's conditions there are predictions of.
    """
    _refuse_mistakes(dataset, suite, subset, keep, chunk, settings)
    total = sorted(dataset.samples(), key=lambda sample: sample.id)
    refuse_duplicates(total, dataset.location)
    if group:
        require_column(total, group)
    finished = dataset.precomputed
    made = finished.manifest if finished else None
    own_space, remarks = data_space(
        dataset, total, model, labels, mapped=label_map_file is not None, trust=labels_are_outputs
    )
    space, label_map, collapsed, more = _labels(
        model, dataset, suite, own_space, total, label_map_file, trust=labels_are_outputs, labels=labels
    )
    remarks += more
    # Images without labels are named by the model's classes.
    called = own_space if any(sample.labels for sample in total) else space
    detects = dataset.natural is not None and bool(needing("ood scores", suite.metrics))
    if not (finished or detects):  # out-of-distribution scores need no labels
        refuse_unlabelled(dataset.location, suite.name, suite.metrics, total)
    chosen = dataset.subset(total, suite.subset if subset is None else subset, seed)
    frames = _frames_of(dataset, chosen)
    remarks += dataset.subset_remarks(chosen)
    remarks += without_images(own_space, space) if label_map_file else []
    surveyed = tuple(survey(dataset, chosen, lambda done: advance(done, len(chosen))))
    readable = _readable(dataset, surveyed)
    grouping, one_video = _grouping(group, frames, readable)
    canvas = _canvas(suite, model, dataset, readable)
    suite, left_out = _available(suite, model, dataset, canvas, readable)
    conditions, missing = _conditions(suite, dataset, canvas, settings, present)
    suite.check_frames(conditions)
    if finished:  # that it holds nothing of the suite is the better reason
        refuse_unlabelled(dataset.location, suite.name, suite.metrics, total)
    masked = mask or suite.mask
    remarks += dataset.check_content(readable)
    if dataset.natural and masked:
        refuse_mask(dataset.natural)
    remarks += [*one_video, *left_out]
    projection = _projection(label_map, collapsed, surveyed, masked=masked)
    logits_for = _logits_for(keep, conditions)
    size = chunk or chunk_size(len(surveyed), sum(condition.frames for condition in conditions))
    recipe = Recipe(
        model=model_recipe(model),
        data=data_recipe(dataset, called, total, surveyed, frames, seed),
        suite=suite.recipe(),
        canvas=canvas.record(),
        conditions=conditions,
        projection=ProjectionRecipe(projection.kind, projection.kept, label_map, projection.outputs),
        # A made set was drawn with the seed it was made with.
        seed=made.recipe.seed if made else seed,
        stream=made.recipe.stream if made else STREAM_VERSION,
        keep=tuple(sorted(logits_for)),
        batch=model.batch,
        chunk=size,
    )
    info = RunInfo(
        model=model_info(model),
        data=data_info(dataset, called, space),
        suite=suite.citation,
        scoring=ScoringInfo(suite.metrics, dict(suite.weights), **grouping),
        settings=made.info.settings if made else tuple(settings),
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
        model, dataset, suite, seed, canvas, conditions, label_map, projection, logits_for, surveyed, chunks,
        recipe, info, finished.sources(surveyed) if finished else {}, frames,
    )  # fmt: skip


def _refuse_mistakes(
    dataset: Dataset, suite: Suite, subset: int | None, keep: str, chunk: int | None, settings: Sequence[str]
) -> None:
    """Refuse what can be told wrong before anything is read."""
    if keep not in KEEP:
        raise UserError(f"--keep is '{keep}'; give {', '.join(KEEP)}.")
    if keep == "summary" and needing("ood scores", suite.metrics):
        raise UserError(
            f"Suite {suite.name} needs every class's score of an image, which --keep summary drops; give "
            "--keep auto."
        )
    if subset is not None and subset < 0:
        raise UserError(f"subset is {subset}; give a number of images, or 0 for all.")
    if chunk is not None and chunk < 1:
        raise UserError(f"--chunk is {chunk}; give at least 1 image per shard.")
    if settings and dataset.precomputed:
        raise UserError(f"--set makes images differently; those of {dataset.location} are made already.")


def _labels(
    model: Model,
    dataset: Dataset,
    suite: Suite,
    space: LabelSpace,
    samples: Sequence[Sample],
    file: Path | None,
    *,
    trust: bool,
    labels: str | None,
) -> tuple[LabelSpace, tuple[int, ...], Projection | None, list[str]]:
    """The classes that are scored, the output of each, how outputs collapse if they do, and what to say."""
    used = sorted({label for sample in samples for label in sample.labels})
    if file is not None:
        mapped, collapsed = read_map(file, space, used, model.classes, model.class_count)
        return mapped, tuple(range(len(mapped))), collapsed, []
    if rules := dataset.counting_rules:
        label_map, counted = count_answers(rules, space, model)
        return space, label_map, counted, list(filter(None, [taken_on_trust(rules, model)]))
    if not used and model.classes and not dataset.natural:
        # Flips are of the model's classes, whatever the images are.
        declared = model_space(model.classes)
        return declared, tuple(range(len(declared))), None, []
    way_out = NO_LABELS_NEEDED if suite.holds_sequences else ""
    odd = odd_labels(space, used, samples, model.class_count)
    try:
        label_map = map_labels(space, used, model, trust=trust, way_out=way_out, labels=labels)
    except UserError as error:
        if odd and space.name != INDICES:
            odd = f"{odd} Correct such a label; if all labels are right:"
            raise UserError(f"{odd} {error}") from error
        raise UserError(" ".join(filter(None, (str(error), odd)))) from error
    # Where the model names its classes they are matched by name, whatever they are.
    return space, label_map, None, [] if model.classes or not odd else [odd]


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


def _projection(
    label_map: Sequence[int], collapsed: Projection | None, surveyed: Sequence[Surveyed], *, masked: bool
) -> Projection:
    """How a model's outputs become answers."""
    if not masked:
        return collapsed or Projection()
    mapped = [[label_map[label] for label in one.sample.labels if label_map[label] >= 0] for one in surveyed]
    mask = mask_to(mapped)
    return replace(collapsed, kept=mask.kept) if collapsed else mask


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
    clips = [one for one in conditions if one.kind == "sequence"]
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
            raise UserError(f"--set is '{item}'; write UNIT.SETTING=VALUE, such as frost.textures=DIR.")
        found.setdefault(unit, {})[name] = value
    return found


def chunk_size(images: int, views: int) -> int:
    """Images per shard; never a matter of how many workers there are."""
    return max(1, min(MAX_CHUNK, PREDICTIONS_PER_SHARD // views, -(-images // MIN_SHARDS)))


def map_labels(
    space: LabelSpace,
    used: Sequence[int],
    model: Model,
    *,
    trust: bool,
    way_out: str = "",
    labels: str | None = None,
) -> tuple[int, ...]:
    """For every class of the data, the model's output (-1 where the class has no image and no output).

    What cannot be matched is refused; `way_out` says what else can be done. `labels` is what the user
    declares class indices to be.
    """
    count = model.class_count
    if not used:
        return (-1,) * len(space)
    if space.name != "indices" and model.classes:
        where = {name: index for index, name in enumerate(model.classes)}
        missing = [space.classes[label] for label in used if space.classes[label] not in where]
        if missing:
            raise UserError(
                f"{len(missing)} of the data's {len(used)} classes ({_first_of(missing)} not among the "
                f"{count} outputs of {model.name} ('{model.classes[0]}' ...); correct `labels` in its TOML, "
                f"{MAP_THEM}, or give other data{way_out}."
            )
        return tuple(where.get(name, -1) for name in space.classes)
    if len(space) == count or (trust and space.name == "indices" and len(space) <= count):
        return tuple(range(len(space)))
    what = (
        "ImageNet-1k, 1000 classes" if space.name == IMAGENET_1K else counted(len(space), "class", "classes")
    )
    cure = f"declare `labels` in the model's TOML, {MAP_THEM}, or give other data"
    if space.name == INDICES and len(space) < count:
        cure = "pass --labels-are-outputs if the data's class indices are the model's"
        if count == len(imagenet_1k()):
            cure = f"{NOT_PLAIN_INDICES if labels == INDICES else LABELS_ARE_IMAGENET}, or {cure}"
    if space.name == INDICES and len(space) == count + 1 and used[0] == 1:
        cure = f"the labels count from 1: subtract 1 from each, or {MAP_THEM}"
    raise UserError(
        f"{model.name} has {counted(count, 'output')}, the data {what} ({space.order}); {cure}{way_out}."
    )


def _first_of(missing: Sequence[str]) -> str:
    return f"'{missing[0]}') is" if len(missing) == 1 else f"'{missing[0]}' ...) are"


def _logits_for(keep: str, conditions: Sequence[Condition]) -> frozenset[str]:
    if keep == "summary":
        return frozenset()
    return frozenset(
        condition.name for condition in conditions if keep == "logits" or condition.kind in KEPT_BY_AUTO
    )


def _for_path(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text).strip("._-") or "run"
