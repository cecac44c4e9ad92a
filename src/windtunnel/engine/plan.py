"""The plan: which pictures under which conditions, in which chunks, and the recipe that says so."""

from __future__ import annotations

import importlib.metadata
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from windtunnel.answers import count_answers, refuse_mask, taken_on_trust
from windtunnel.conditions import Condition, digest
from windtunnel.data import Dataset, Sample, refuse_duplicates, stratified_subset
from windtunnel.data.finished import AS_STORED, CLEAN, FinishedDataset
from windtunnel.data.frame_sets import ONE_VIDEO, VIDEO, FrameRow
from windtunnel.data.natural import NaturalDataset, refuse_same_pictures
from windtunnel.data.survey import Surveyed, survey
from windtunnel.engine.pool import Chunk
from windtunnel.errors import UserError, unknown_name
from windtunnel.imaging.clips import H264
from windtunnel.label_maps import read_map, without_pictures
from windtunnel.labels import IMAGENET_1K, LabelSpace, Projection, mask_to
from windtunnel.metrics.names import OF_DETECTION
from windtunnel.models import Model
from windtunnel.pipeline import available_units, refuse_nothing_swapped
from windtunnel.seeding import STREAM_VERSION
from windtunnel.store.folder import groups_table, samples_table
from windtunnel.suites.canvas import Canvas, choose_canvas, finished_canvas
from windtunnel.suites.suite import Suite
from windtunnel.wording import counted

# A shard of about this many predictions is seconds of work to lose and a small file to keep.
PREDICTIONS_PER_SHARD = 2048
# Flips ask whether answers change, not whether they are right.
NO_LABELS_NEEDED = "; flips need no labels: for them alone put the pictures into one folder without classes"
MAX_CHUNK = 512
# Few pictures are cut finer, so that workers share them evenly.
MIN_SHARDS = 16

KEEP = ("auto", "logits", "summary")
# Conditions whose full outputs later scores need; the rest keep summaries.
KEPT_BY_AUTO = ("clean", "native")

# What helps where the data's classes are wider than a model's outputs, or called otherwise.
MAP_THEM = "say with --map FILE.csv (columns output,class) which outputs stand for a class"

RUNS_FOLDER = "windtunnel-runs"
LIBRARIES = ("numpy", "opencv-python-headless", "pillow", "simplejpeg", "numba", "onnxruntime", "pyarrow")
# The libraries of extras that steps of the pipeline use.
STEP_LIBRARIES = {"av": "decode=ffmpeg", "torch": "resize=torch", "onnx": "numerics="}


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
    recipe: dict[str, Any]
    info: dict[str, Any]
    sources: Mapping[str, str]
    frames: tuple[FrameRow, ...] = ()

    @property
    def predictions(self) -> int:
        """How many predictions the whole run makes."""
        return len(self.surveyed) * self.views

    @property
    def views(self) -> int:
        """How many pictures the model is shown of each: every condition's frames."""
        return sum(condition.frames for condition in self.conditions)

    @property
    def samples_table(self) -> pa.Table:
        """The pictures as the run folder keeps them."""
        return samples_table(self.surveyed, self.sources)

    @property
    def groups_table(self) -> pa.Table | None:
        """The frame sets as the run folder keeps them, if there are any."""
        return groups_table(self.frames) if self.frames else None

    def default_folder(self) -> Path:
        """`./windtunnel-runs/<model>-<data>-<suite>-<recipe8>`."""
        parts = (self.model.name, self.dataset.name, self.suite.name, digest(self.recipe)[:8])
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
    label_map_file: Path | None = None,
    settings: Sequence[str] = (),
    group: str = "",
    present: Callable[[Sequence[Condition]], Sequence[Condition]] = lambda conditions: conditions,
    advance: Callable[[int, int], None] = lambda _done, _total: None,
) -> Plan:
    """Check that model, data and suite fit, look at every picture, and cut the work.

    Everything that can be refused is refused here, before any prediction. `present` chooses which of the
    suite's conditions there are predictions of.
    """
    if keep not in KEEP:
        raise UserError(f"--keep is '{keep}'; give {', '.join(KEEP)}.")
    if keep == "summary" and set(OF_DETECTION) & set(suite.metrics):
        raise UserError(
            f"Suite {suite.name} needs every class's score of a picture, which --keep summary drops; give "
            "--keep auto."
        )
    if subset is not None and subset < 0:
        raise UserError(f"subset is {subset}; give a number of pictures, or 0 for all.")
    if chunk is not None and chunk < 1:
        raise UserError(f"--chunk is {chunk}; give at least 1 picture per shard.")
    total = sorted(dataset.samples(), key=lambda sample: sample.id)
    refuse_duplicates(total, dataset.location)
    columns = {name for sample in total for name in sample.meta}
    if group and group not in columns:
        raise unknown_name("column to group by", group, columns, "other columns of the data's table")
    used = sorted({label for sample in total for label in sample.labels})
    collapsed: Projection | None = None
    remarks: list[str] = []
    natural = dataset if isinstance(dataset, NaturalDataset) else None
    space = dataset.label_space
    if label_map_file is not None:
        space, collapsed = read_map(label_map_file, space, used, model.classes, model.class_count)
        label_map = tuple(range(len(space)))
    elif natural and natural.natural.answers != "own":
        label_map, collapsed = count_answers(natural.natural, dataset.label_space, model)
        remarks += filter(None, [taken_on_trust(natural.natural, model)])
    else:
        way_out = NO_LABELS_NEEDED if suite.holds_sequences else ""
        label_map = map_labels(dataset.label_space, used, model, trust=labels_are_outputs, way_out=way_out)
    draw = natural.subset if natural else stratified_subset
    chosen = draw(total, suite.subset if subset is None else subset, seed)
    frames = _frames_of(natural, chosen)
    remarks += natural.without_clean(chosen) if natural else []
    remarks += without_pictures(dataset.label_space, space)
    surveyed = tuple(survey(dataset, chosen, lambda done: advance(done, len(chosen))))
    readable = [one for one in surveyed if one.status == "ok"]
    if not readable:
        first = surveyed[0]
        raise UserError(
            f"None of the {len(surveyed)} pictures of {dataset.location} can be read "
            f"(the first, {first.sample.id}: {first.reason})."
        )
    videos = _videos([one.sample for one in readable]) if frames and not group else Counter[str]()
    by_video = 1 < len(videos) < videos.total()
    grouped = VIDEO if by_video else group
    remarks += _on_both_sides(natural, readable) if natural else []
    missing: list[str] = []
    remarks += [ONE_VIDEO] if len(videos) == 1 < videos.total() else []
    finished = dataset if isinstance(dataset, FinishedDataset) else None
    made = finished.manifest if finished else None
    sizes = {(one.width, one.height) for one in readable}
    if isinstance(dataset, FinishedDataset):
        if settings:
            raise UserError(
                f"--set makes pictures differently; those of {dataset.location} are made already."
            )
        canvas = finished_canvas(dataset, suite, sizes)
        found, missing = suite.of_finished(dataset, canvas)
        conditions = tuple(found)
    else:
        canvas = choose_canvas(suite, sizes, model.preprocess.geometry)
        formats = Counter(one.format for one in readable)
        units, left_out = available_units(suite.units, canvas.geometry, model, formats)
        refuse_nothing_swapped(units, canvas.geometry, left_out)
        remarks += left_out
        suite = replace(suite, units=units)
        conditions = tuple(suite.conditions(canvas, parse_settings(settings)))
    chosen_conditions = tuple(present(conditions))
    missing += [one.name for one in conditions if one.unit and one not in chosen_conditions]
    conditions = chosen_conditions
    if natural:
        refuse_same_pictures(dataset.location, readable)
    masked = mask or suite.mask
    if natural and masked:
        refuse_mask(natural.natural)
    mapped = [[label_map[label] for label in one.sample.labels if label_map[label] >= 0] for one in surveyed]
    projection = mask_to(mapped) if masked else collapsed or Projection()
    if masked and collapsed:
        projection = replace(collapsed, kept=projection.kept)
    logits_for = _logits_for(keep, conditions)
    size = chunk or chunk_size(len(surveyed), sum(condition.frames for condition in conditions))
    recipe: dict[str, Any] = {
        "model": {
            "kind": model.kind,
            "fingerprint": model.fingerprint,
            "classes": model.class_count,
            "outputs": model.outputs,
            **model.preprocess.to_json(),
            **getattr(model, "facts", {}),
        },
        "data": {
            "count": len(surveyed),
            "of": len(total),
            "subset_seed": seed,
            "label_space": dataset.label_space.name,
            "digest": digest([[one.sample.id, one.sample.labels, one.content] for one in surveyed]),
            # The survey hashes one file a picture; this tells apart what else lies in a finished set.
            "finished": finished.identity if finished else None,
            **({"natural": _natural_recipe(natural, total, surveyed, frames)} if natural else {}),
        },
        "suite": suite.recipe(),
        "canvas": {"edition": canvas.edition, "geometry": asdict(canvas.geometry), "note": canvas.note},
        "conditions": [condition.to_json() for condition in conditions],
        "projection": {**projection.to_json(), "labels": list(label_map)},
        # A made set was drawn with the seed it was made with.
        "seed": made.recipe["seed"] if made else seed,
        "stream": made.recipe["stream"] if made else STREAM_VERSION,
        "keep": sorted(logits_for),
        "batch": model.batch,
        "chunk": size,
    }
    recipe = json.loads(json.dumps(recipe))  # as it will be read again: lists for tuples
    identity = digest(recipe)
    chunks = tuple(
        Chunk(digest([identity, start]), surveyed[start : start + size])
        for start in range(0, len(surveyed), size)
    )
    given_clean = natural.clean.dataset if natural and natural.clean else None
    if finished and finished.clean_is_given:
        given_clean = finished.clean
    info: dict[str, Any] = {
        "model": {
            "name": model.name,
            "preprocess_from": model.preprocess.origin,
            "preprocess_assumed": model.preprocess.assumed,
            "outputs_from": model.outputs_from,
            "trained_on": list(model.trained_on),
            **model.about.to_json(),
        },
        "data": {
            "name": dataset.name,
            "location": dataset.location,
            "order": dataset.label_space.order,
            "classes": list(space.classes),
            **({"clean": given_clean.location} if given_clean else {}),
        },
        "suite": suite.citation,
        "scoring": {
            **suite.scoring(),
            **({"group": grouped} if grouped else {}),
            **({"group_found": True} if by_video else {}),
        },
        "settings": made.info["settings"] if made else list(settings),
        "missing": missing,
        "remarks": [*getattr(dataset, "remarks", ()), *_also_there(finished, conditions), *remarks],
        "versions": versions_for(conditions),
    }
    info = json.loads(json.dumps(info))
    return Plan(
        model, dataset, suite, seed, canvas, conditions, label_map, projection, logits_for, surveyed, chunks,
        recipe, info, _sources(dataset, surveyed), frames,
    )  # fmt: skip


def _sources(dataset: Dataset, surveyed: Sequence[Surveyed]) -> dict[str, str]:
    """What the pictures of a made set were made of; a user's own clean pictures are their own sources."""
    if not isinstance(dataset, FinishedDataset) or dataset.manifest is None or dataset.clean_is_given:
        return {}
    return dataset.manifest.sources({one.sample.id: one.content for one in surveyed})


def _frames_of(natural: NaturalDataset | None, chosen: Sequence[Sample]) -> tuple[FrameRow, ...]:
    """The frame sets all of whose pictures are among those chosen."""
    if natural is None or not natural.frames:
        return ()
    ids = {sample.id for sample in chosen}
    lacking = {one.group for one in natural.frames if one.sample_id not in ids}
    return tuple(one for one in natural.frames if one.group not in lacking)


def _videos(samples: Sequence[Sample]) -> Counter[str]:
    """How many frames there are of every video."""
    return Counter(one.meta[VIDEO] for one in samples if VIDEO in one.meta)


def _on_both_sides(natural: NaturalDataset, readable: Sequence[Surveyed]) -> list[str]:
    """What to say where pictures of a natural set are among the clean ones too, by their content."""
    clean = {one.content for one in readable if one.sample.meta["part"] == CLEAN}
    own = [one for one in readable if one.sample.meta["part"] != CLEAN]
    both = [one.sample.id for one in own if one.content in clean]
    if not both:
        return []
    return [
        f"{len(both):,} of {len(own):,} pictures of {natural.location} ('{both[0]}' ...) are among the clean "
        "ones too, the same files: take them out of one side."
    ]


def _natural_recipe(
    natural: NaturalDataset, total: Sequence[Sample], surveyed: Sequence[Surveyed], frames: Sequence[FrameRow]
) -> dict[str, Any]:
    """What a run over a natural set is of: its parts with their counts, and its frame sets."""
    of = Counter(one.meta["part"] for one in total)
    count = Counter(one.sample.meta["part"] for one in surveyed)
    parts = [
        {"name": name, "role": role, "count": count[name], "of": of[name]} for name, role in natural.parts
    ]
    found: dict[str, Any] = {"set": natural.natural.name, "parts": parts}
    if not frames:
        return found
    rows = [[one.group, one.sample_id, one.offset, one.role] for one in frames]
    sets = len({one.group for one in frames})
    return found | {"frames": len(frames), "frame_sets": sets, "frame_digest": digest(rows)}


def _also_there(finished: FinishedDataset | None, conditions: Sequence[Condition]) -> list[str]:
    """What a finished set holds beside the suite."""
    if finished is None:
        return []
    used = {condition.unit for condition in conditions}
    others = sorted({condition.unit for condition in finished.stored} - used)
    return [f"Also there, and not in this suite: {', '.join(others)}."] if others else []


def versions_for(conditions: Sequence[Condition]) -> dict[str, str]:
    """The versions of what decides pixels and predictions: ours, and the libraries'."""
    videos = any(one.kind == "sequence" and one.codec in (H264, AS_STORED) for one in conditions)
    steps = [one.unit for one in conditions if one.kind == "pipeline"]
    brought = [name for name, step in STEP_LIBRARIES.items() if any(one.startswith(step) for one in steps)]
    names = dict.fromkeys(("windtunnel", *LIBRARIES, *(["av"] if videos else []), *brought))
    return {name: importlib.metadata.version(name) for name in names}


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


def chunk_size(pictures: int, views: int) -> int:
    """Pictures per shard; never a matter of how many workers there are."""
    return max(1, min(MAX_CHUNK, PREDICTIONS_PER_SHARD // views, -(-pictures // MIN_SHARDS)))


def map_labels(
    space: LabelSpace, used: Sequence[int], model: Model, *, trust: bool, way_out: str = ""
) -> tuple[int, ...]:
    """For every class of the data, the model's output (-1 where the class has no picture and no output).

    What cannot be matched is refused; `way_out` says what else can be done.
    """
    count = model.class_count
    if not used:
        return (-1,) * len(space)
    if space.name != "indices" and model.classes:
        where = {name: index for index, name in enumerate(model.classes)}
        missing = [space.classes[label] for label in used if space.classes[label] not in where]
        if missing:
            raise UserError(
                f"{len(missing)} of the data's {len(used)} classes ('{missing[0]}' ...) are not among the "
                f"{count} outputs of {model.name} ('{model.classes[0]}' ...); correct `labels` in its TOML, "
                f"{MAP_THEM}, or give other data{way_out}."
            )
        return tuple(where.get(name, -1) for name in space.classes)
    if len(space) == count or (trust and space.name == "indices" and len(space) <= count):
        return tuple(range(len(space)))
    what = (
        "ImageNet-1k, 1000 classes" if space.name == IMAGENET_1K else counted(len(space), "class", "classes")
    )
    cure = (
        "pass --labels-are-outputs if the data's class indices are the model's"
        if len(space) < count and space.name == "indices"
        else f"declare `labels` in the model's TOML, {MAP_THEM}, or give other data"
    )
    raise UserError(
        f"{model.name} has {counted(count, 'output')}, the data {what} ({space.order}); {cure}{way_out}."
    )


def _logits_for(keep: str, conditions: Sequence[Condition]) -> frozenset[str]:
    if keep == "summary":
        return frozenset()
    return frozenset(
        condition.name for condition in conditions if keep == "logits" or condition.kind in KEPT_BY_AUTO
    )


def _for_path(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text).strip("._-") or "run"
