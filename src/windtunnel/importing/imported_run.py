"""Imported predictions become a run: checked, summarised and stored like windtunnel's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec
import numpy as np

from windtunnel.core.conditions import Condition
from windtunnel.core.errors import UserError
from windtunnel.core.file_digests import file_digest
from windtunnel.core.labels import IMAGENET_1K, INDICES, LabelSpace
from windtunnel.core.locations import Location, local_path, location_of
from windtunnel.core.option_names import option
from windtunnel.core.progress import Progress, silent
from windtunnel.core.run_info import RunInfo
from windtunnel.data import Dataset
from windtunnel.data.annotated import AnnotatedDataset
from windtunnel.data.label_spaces import MAX_CLASS_INDEX
from windtunnel.data.precomputed import CLEAN
from windtunnel.engine.plan import Plan, make_plan
from windtunnel.importing.detection_results import score_detections
from windtunnel.importing.given_models import GivenModel
from windtunnel.importing.prediction_files import Block, PredictionFile
from windtunnel.importing.prediction_rows import Rows
from windtunnel.importing.unscored_rows import Ignored
from windtunnel.models import probe_outputs
from windtunnel.options import RunOptions, ScoreOptions
from windtunnel.published.imagenet import imagenet_1k
from windtunnel.published.natural_sets import natural_set
from windtunnel.store.folder import RunFolder
from windtunnel.suites.default_suite import open_for_suite
from windtunnel.suites.inclusion import include_files
from windtunnel.suites.suite import Suite
from windtunnel.suites.suite_files import load_suite
from windtunnel.tasks.classification.postprocessing import TOP_K


@dataclass
class FileSummary:
    """Facts from a first pass over a file: its conditions, and the classes among the best."""

    rows: int = 0
    conditions: Counter[str] = field(default_factory=Counter)
    names: dict[str, None] = field(default_factory=dict)
    highest: int = -1


def score_predictions(
    predictions: str | Path,
    data: str | Location | Dataset,
    suite: str | Path | Suite | None = None,
    options: ScoreOptions = ScoreOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Location:
    """Make a run from imported predictions and return its folder; see `api.score_predictions`."""
    include_files(options.include)
    outputs, labels, out = options.outputs, options.labels, options.out
    dataset, chosen = open_for_suite(data, suite, options.clean, usual="imagenet-c")
    if isinstance(dataset, AnnotatedDataset) and _are_detections(predictions):
        chosen = load_suite("coco-c") if suite is None else chosen
        return score_detections(predictions, dataset, chosen, options, progress)
    natural = natural_set(chosen.natural) if chosen.natural else None
    if chosen.canvas == "native" and natural is None:
        raise UserError(
            f"Suite {chosen.name} corrupts at the model's own size, which predictions do not contain; give "
            f"another {option('suite')}."
        )
    if chosen.holds_sequences:
        raise UserError(
            f"Suite {chosen.name} contains sequences, whose frames predictions cannot name; give a suite of "
            "corruptions, or run the model with windtunnel run."
        )
    if out:
        RunFolder(location_of(out)).check_free()
    file = PredictionFile(local_path(predictions, "predictions"), outputs, "native" if natural else CLEAN)
    best_only = file.layout.outputs == TOP_K
    masked = natural is not None and (natural.role == "out" or natural.output_rule in ("mask", "collapse"))
    if best_only and (options.mask or chosen.mask or options.label_map is not None or masked):
        raise UserError("Best classes alone cannot be masked or mapped; give the scores of every class.")
    summary = summarise_file(file)
    space = imagenet_1k() if labels == IMAGENET_1K else dataset.label_space
    # Columns may be named by WordNet id although the data's labels are class indices.
    numbered = dataset.label_space.name == INDICES and labels != INDICES
    plan = make_plan(
        _model(file, summary, space, outputs, imagenet_1k().classes if natural or numbered else ()),
        dataset,
        chosen,
        RunOptions(
            seed=options.seed,
            subset=0,
            mask=options.mask,
            # Masks and out-of-distribution scores of natural sets need every output.
            keep="auto" if natural and not best_only else "summary",
            labels_are_outputs=options.labels_are_outputs,
            labels=labels,
            label_map=options.label_map,
            group=options.group,
        ),
        present=lambda conditions: _present(conditions, summary, file.path),
        progress=progress,
    )
    rows = Rows(plan, resolve(plan.conditions), file.path, plan.dataset.reason_left_out())
    for block in file.blocks():
        rows.add(block)
    rows.check(partial=options.partial)
    plan = replace(plan, info=_with_ignored(plan.info, rows.ignored))
    folder = RunFolder(location_of(out) if out else plan.default_folder())
    return _stored(plan, rows, folder)


def _are_detections(predictions: str | Path) -> bool:
    """Whether predictions are COCO results: a folder of files, or a JSON file whose rows have boxes."""
    path = local_path(predictions, "predictions")
    if not path.is_file():
        return True
    with path.open("rb") as file:
        return path.suffix == ".json" and any(key in file.read(4096) for key in (b'"bbox"', b"[]"))


def summarise_file(file: PredictionFile) -> FileSummary:
    """Read a file once for the facts that are needed before its rows can be assigned."""
    summary = FileSummary()
    for rows, conditions in file.conditions():
        summary.rows += rows
        if conditions is None:
            summary.conditions[file.unnamed] += rows
        else:
            for pair in conditions.value_counts().to_pylist():
                summary.conditions[str(pair["values"])] += pair["counts"]
    if file.layout.outputs == TOP_K:
        for block in file.blocks():
            _add_best_classes(summary, block)
    return summary


def _add_best_classes(summary: FileSummary, block: Block) -> None:
    if block.values.dtype.kind in "iu":
        summary.highest = max(summary.highest, int(block.values.max(initial=-1)))
        return
    for name in {str(value) for value in np.unique(block.values.astype(str))}:
        if name.lstrip("-").isdecimal():
            summary.highest = max(summary.highest, int(name))
        else:
            summary.names[name] = None


def _model(
    file: PredictionFile,
    summary: FileSummary,
    space: LabelSpace,
    outputs: str | None,
    known: Sequence[str] = (),
) -> GivenModel:
    fingerprint = file_digest(file.path)
    if file.layout.outputs == TOP_K:
        # Names that the data does not have are further classes, without images.
        extra = sorted(set(summary.names) - set(space.classes))
        if summary.names and len(extra) == len(summary.names):
            raise UserError(
                f"{file.path}: none of its best classes ('{extra[0]}' ...) is a class of the data "
                f"('{space.classes[0]}' ...); write the data's class names, or indices of outputs."
            )
        if summary.highest > MAX_CLASS_INDEX:
            raise UserError(
                f"{file.path}: the highest of its best classes is {summary.highest}; give indices of outputs "
                f"from 0 to {MAX_CLASS_INDEX:,}, or the data's class names."
            )
        classes = (*space.classes, *extra) if summary.names else ()
        count = len(classes) or max(summary.highest + 1, len(space))
        return GivenModel(file.path.name, fingerprint, classes, count, TOP_K, "declared", file.width)
    named = file.layout.classes
    if named and not set(named) & {*space.classes, *known}:
        raise UserError(
            f"{file.path}: its columns ('{named[0]}' ...) are not classes of the data ('{space.classes[0]}' "
            "...); name them by the data's classes, or 0, 1, 2 ... for outputs in order."
        )
    kind, how = outputs or file.layout.outputs, "declared"
    if not kind:
        kind, how = probe_outputs(next(file.blocks()).values), "probed"
    return GivenModel(file.path.name, fingerprint, file.layout.classes, file.width, kind, how)


def resolve(conditions: Sequence[Condition]) -> dict[str, int]:
    """The index of each condition by its full name, and by its name without codec if that is unique."""
    bare = Counter(condition.name.split("+")[0] for condition in conditions)
    places = {
        condition.name.split("+")[0]: place
        for place, condition in enumerate(conditions)
        if bare[condition.name.split("+")[0]] == 1
    }
    return places | {condition.name: place for place, condition in enumerate(conditions)}


def _present(conditions: Sequence[Condition], summary: FileSummary, path: Path) -> list[Condition]:
    where = resolve(conditions)
    unknown = [name for name in summary.conditions if name not in where]
    if unknown:
        rows = sum(summary.conditions[name] for name in unknown)
        raise UserError(
            f"{path}: {rows:,} rows of {len(unknown)} unknown conditions (such as '{unknown[0]}'); the suite "
            f"has {', '.join(condition.name for condition in conditions[:4])} ..."
        )
    places = {where[name] for name in summary.conditions}
    return [condition for place, condition in enumerate(conditions) if place in places]


def _with_ignored(info: RunInfo, ignored: Ignored) -> RunInfo:
    """The facts about a run, with the count of ignored rows."""
    notes = [ignored.note] if ignored.note else []
    return msgspec.structs.replace(info, notes=(*info.notes, *notes), ignored_rows=dict(ignored.rows))


def _stored(plan: Plan, rows: Rows, folder: RunFolder) -> Location:
    folder.check_free()
    with folder.locked():
        folder.open_for(plan.recipe, plan.info, plan.samples_table, plan.groups_table)
        start = 0
        for chunk in plan.chunks:
            count = len(chunk.images)
            if not folder.has_shard(chunk.name, count * plan.views, plan.task):
                folder.write_shard(chunk.name, rows.table(start, start + count))
            start += count
    return folder.path
