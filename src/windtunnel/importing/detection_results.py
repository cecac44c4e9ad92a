"""Detections made elsewhere: COCO result files become a run, one file for every condition."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from windtunnel.core.conditions import Condition
from windtunnel.core.detections import Detections, detections_of
from windtunnel.core.errors import UserError
from windtunnel.core.file_digests import file_digest
from windtunnel.core.locations import Location, local_path, location_of
from windtunnel.core.option_names import option
from windtunnel.core.progress import Progress
from windtunnel.core.wording import counted, listed
from windtunnel.data.annotated import AnnotatedDataset
from windtunnel.data.precomputed import CLEAN
from windtunnel.engine.plan import Plan, make_plan
from windtunnel.engine.shard_rows import ShardRows
from windtunnel.imaging.geometry import Geometry
from windtunnel.importing.given_models import GivenModel
from windtunnel.models.preprocess import Preprocess
from windtunnel.options import RunOptions, ScoreOptions
from windtunnel.store.folder import RunFolder
from windtunnel.suites.suite import Suite

Id = int | str
DETECTION = "detection"


class CocoResult(msgspec.Struct):
    """One detection of a result file."""

    image_id: Id
    category_id: Id
    bbox: tuple[float | None, float | None, float | None, float | None]
    score: float | None


def score_detections(
    predictions: str | Path,
    dataset: AnnotatedDataset,
    suite: Suite,
    options: ScoreOptions,
    progress: Progress,
) -> Location:
    """Make a run from COCO result files and return its folder.

    `predictions` is a file of the clean images, or a folder with a file per condition: `clean.json`,
    `fog/3.json` or `fog-3.json`.
    """
    _refuse_options(options)
    path = local_path(predictions, "predictions")
    files = result_files(path)
    plan = make_plan(
        _model(path, files, dataset),
        dataset,
        suite,
        RunOptions(seed=options.seed, subset=0, group=options.group),
        present=lambda conditions: _present(conditions, files, path),
        progress=progress,
    )
    rows = ShardRows(plan.task, plan.postprocessor, plan.surveyed, plan.conditions, plan.recipe.keep)
    for place, condition in enumerate(plan.conditions):
        found = _detections(files[_written(condition)], plan, dataset)
        rows.add(np.arange(len(plan.surveyed)) * len(plan.conditions) + place, found)
    folder = RunFolder(location_of(options.out) if options.out else plan.default_folder())
    folder.check_free()
    with folder.locked():
        folder.open_for(plan.recipe, plan.info, plan.samples_table, plan.groups_table, plan.annotations_table)
        start = 0
        for chunk in plan.chunks:
            count = len(chunk.images)
            if not folder.has_shard(chunk.name, count * plan.views, plan.task):
                folder.write_shard(chunk.name, rows.table(start, start + count))
            start += count
    return folder.path


def result_files(path: Path) -> dict[str, Path]:
    """The result files by condition as users write it (`clean`, `fog:3`); refuses two of one condition."""
    if path.is_file():
        return {CLEAN: path}
    if not path.is_dir():
        raise UserError(f"No such predictions: {path}. Give a COCO result file, or a folder of them.")
    files: dict[str, Path] = {}
    for file in sorted(path.rglob("*.json")):
        parts = file.relative_to(path).with_suffix("").as_posix()
        unit, mark, level = parts.rpartition("/") if "/" in parts else parts.rpartition("-")
        name = f"{unit}:{level}" if mark and level.isdecimal() else parts
        if name in files:
            raise UserError(f"{file} and {files[name]} are both results under {name}; delete one.")
        files[name] = file
    if not files:
        raise UserError(f"{path} contains no result files; name them clean.json, fog/3.json and so on.")
    return files


def _refuse_options(options: ScoreOptions) -> None:
    """Refuse options for predictions of classes."""
    given = {
        name: getattr(options, name)
        for name in ("clean", "outputs", "label_map", "mask", "labels_are_outputs", "labels", "partial")
    }
    for name, value in given.items():
        if value:
            raise UserError(f"{option(name)} is for predictions of classes; leave it out for detections.")


def _model(path: Path, files: Mapping[str, Path], dataset: AnnotatedDataset) -> GivenModel:
    classes = tuple(dataset.label_space.classes)
    # Boxes are in pixels of the image, so there is no geometry to undo.
    preprocess = Preprocess(Geometry(rule="none"), origin="predictions made elsewhere")
    return GivenModel(
        path.name, file_digest(*files.values()), classes, len(classes), "logits", "declared",
        preprocess=preprocess, task=DETECTION,
    )  # fmt: skip


def _written(condition: Condition) -> str:
    """A condition as result files are named."""
    return condition.name.split("+")[0]


def _present(conditions: Sequence[Condition], files: Mapping[str, Path], path: Path) -> Sequence[Condition]:
    known = {_written(condition) for condition in conditions}
    unknown = [name for name in files if name not in known]
    if unknown:
        raise UserError(
            f"{path}: {counted(len(unknown), 'file')} of unknown conditions ({listed(unknown, 3)}); the "
            f"suite has {listed(sorted(known), 4)}. Rename the files, or give another {option('suite')}."
        )
    return [condition for condition in conditions if _written(condition) in files]


def _detections(file: Path, plan: Plan, dataset: AnnotatedDataset) -> Detections:
    """The detections of every image of a plan; an image without results has none."""
    results = read_results(file)
    places = {_image_id(image.sample.id, image.sample.meta): n for n, image in enumerate(plan.surveyed)}
    categories = {str(id_): place for place, id_ in enumerate(dataset.category_ids)}
    for what, known in (("image_id", places), ("category_id", categories)):
        unknown = [result for result in results if str(getattr(result, what)) not in known]
        if unknown:
            raise UserError(
                f"{file}: {counted(len(unknown), 'result')} of {len(results):,} with an unknown {what} "
                f"(the first: {getattr(unknown[0], what)!r}); the data has {listed(list(known), 3)}. Give "
                "the data of these results."
            )
    images: list[tuple[list[list[float]], list[float], list[int]]] = [([], [], []) for _ in plan.surveyed]
    for result in results:
        boxes, scores, classes = images[places[str(result.image_id)]]
        left, top, width, height = (math.nan if value is None else value for value in result.bbox)
        boxes.append([left, top, left + width, top + height])
        scores.append(math.nan if result.score is None else result.score)
        classes.append(categories[str(result.category_id)])
    return detections_of(
        [
            (np.array(boxes), np.array(scores), np.array(classes, np.int32))
            for boxes, scores, classes in images
        ]
    )


def _image_id(id_: str, meta: Mapping[str, str]) -> str:
    """An image's id in result files: that of its COCO file, or its file name without the suffix."""
    return meta["coco_id"] if "coco_id" in meta else id_.rsplit("/", 1)[-1].rsplit(".", 1)[0]


def read_results(file: Path) -> list[CocoResult]:
    """The results of a file; refuses other content in one line."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=list[CocoResult])
    except msgspec.ValidationError as error:
        raise UserError(
            f"{file} is not a COCO result file: {error}. Give a list of objects with image_id, category_id, "
            "bbox and score."
        ) from error
    except msgspec.DecodeError as error:
        raise UserError(
            f"{file} is not valid JSON ({error}); write it again. JSON has no NaN, and a truncated file ends "
            "early."
        ) from error
