"""A summary of a plan, for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from windtunnel.core.conditions import grid_text, is_uneven, levels_text
from windtunnel.core.locations import Location
from windtunnel.core.placement import DEFAULT_PRECISION
from windtunnel.core.records import DEFAULT_TASK
from windtunnel.core.wording import byte_size, counted
from windtunnel.corruptions import SEVERITIES
from windtunnel.engine.cost import storage_bytes
from windtunnel.engine.estimate import Expected
from windtunnel.engine.plan import Plan
from windtunnel.models import Model
from windtunnel.models.wrapping import describe_wrappers
from windtunnel.report.natural_sets import competing_outputs_text, parts_text
from windtunnel.report.sections.notes import unlabelled_note
from windtunnel.report.sections.recipe import classes_text
from windtunnel.stats.intervals import wilson
from windtunnel.suites.pipeline_steps import axis_of

# A plan reads headers only, so it does not find damaged files with intact headers.
HEADERS_ONLY = "judged by headers only (windtunnel data inspect decodes every image)"


def describe_model(model: Model) -> str:
    """A model in one line: kind, input size, outputs, classes, preprocessing and its source."""
    side = model.preprocess.geometry.output_px
    size = f"{side}x{side}" if side else "any size"
    own = "conversion to a tensor by the model itself"
    tensor = own if model.own_arithmetic else model.preprocess.tensor.channels.upper()
    return (
        f"{model.kind_title or model.kind}{_arithmetic(model)}, {size}, "
        f"{model.outputs} ({model.outputs_from}), {model.class_count} classes; "
        f"preprocessing {model.preprocess.geometry.describe()}, {tensor} "
        f"({model.preprocess.origin})" + (f"; wrappers {_wrappers(model)}" if model.wrappers else "")
    )


def _wrappers(model: Model) -> str:
    return describe_wrappers(model.wrappers, model.passes, trained_with=model.about.trained_with)


def _arithmetic(model: Model) -> str:
    """Device and precision of a model, if they are not the CPU and the model's own; else ""."""
    placement = model.placement
    device = f" on {placement.device}" if placement.accelerated else ""
    hardware = f" ({model.hardware})" if model.hardware else ""
    precision = placement.precision or DEFAULT_PRECISION
    return device + hardware + (f" in {precision}" if precision != DEFAULT_PRECISION else "")


def plan_lines(
    plan: Plan, folder: Location, workers: int, done: int, time: Expected | None = None
) -> list[tuple[str, str]]:
    """A plan as labelled lines.

    Args:
        plan: the plan.
        folder: the run folder.
        workers: number of worker processes.
        done: number of predictions that the folder already contains.
        time: expected time for the remaining predictions.
    """
    total, count = plan.recipe.data.of, len(plan.surveyed)
    amount = (
        counted(count, "image")
        if count == total
        else f"{count:,} of {total:,} images (stratified by class, seed {plan.seed})"
    )
    failed = sum(surveyed.status != "ok" for surveyed in plan.surveyed)
    unlabelled = unlabelled_images(plan)
    unmodified = " and ".join(
        condition.name
        for condition in plan.conditions
        if condition.codec == "none" and condition.is_unmodified
    )
    missing, notes = plan.info.missing, plan.info.remarks
    canvas = plan.canvas.geometry.describe() + (f"; {plan.canvas.note}" if plan.canvas.note else "")
    return [
        ("model", f"{plan.model.name}   {describe_model(plan.model)}"),
        (
            "data",
            f"{plan.dataset.location}   {amount}; {classes_text(plan.info.data)}"
            + (
                f"; at least {counted(failed, 'image fails', 'images fail')}, {HEADERS_ONLY}"
                if failed
                else ""
            ),
        ),
        (
            "suite",
            f"{plan.suite.citation}   {_contents(plan)}"
            + ("" if plan.suite.natural else f", with {unmodified}" if unmodified else ", without clean"),
        ),
        *([("missing", f"{counted(len(missing), 'condition')}: {_by_unit(missing)}")] if missing else []),
        *(("note", note) for note in notes),
        *([("note", unlabelled_note(unlabelled, plan.task.name))] if unlabelled else []),
        *([] if plan.suite.natural else [("canvas", f"edition {plan.canvas.edition}, {canvas}")]),
        (
            "work",
            f"{counted(plan.predictions, 'prediction')} in {counted(len(plan.chunks), 'shard')} on "
            f"{counted(workers, 'worker')}" + (f"; {done:,} already done" if done else ""),
        ),
        *([("time", str(time))] if time else []),
        ("storage", f"about {byte_size(storage_bytes(plan))}"),
        ("interval", interval_text(plan)),
        ("run", str(folder)),
    ]


def largest_half_width(plan: Plan) -> float | None:
    """Half the width of the 95 % interval of one condition's error at 50 %, where it is widest.

    None for images without labels, and for tasks whose scores are not shares of images.
    """
    images = _labelled_images(plan)
    if not images or plan.task.name != DEFAULT_TASK:
        return None
    low, high = wilson(round(images / 2), images)
    return (high - low) / 2


def interval_text(plan: Plan) -> str:
    """The largest half-width of the 95 % interval of one condition's error, or its method, as text."""
    if plan.task.name != DEFAULT_TASK:
        images = counted(sum(image.status == "ok" for image in plan.surveyed), "image")
        return f"by bootstrap over {images}, {_labelled_images(plan):,} of them with annotated objects (95 %)"
    width = largest_half_width(plan)
    if width is None:
        return "none of the images has a label"
    return f"at most +-{100 * width:.1f} points for the error of one condition (95 %)"


def _labelled_images(plan: Plan) -> int:
    return sum(image.status == "ok" and bool(image.sample.labels) for image in plan.surveyed)


def unlabelled_images(plan: Plan) -> int:
    """The number of images without a label; 0 for natural sets, which may have none by design."""
    return 0 if plan.suite.natural else sum(not surveyed.sample.labels for surveyed in plan.surveyed)


def _contents(plan: Plan) -> str:
    """The corruptions and severities, sequences and difficulty, or pipeline steps of a suite."""
    if plan.recipe.data.natural:
        return f"{parts_text(plan.recipe.data.natural)}; {competing_outputs_text(plan.recipe)}"
    corrupted = [condition for condition in plan.conditions if condition.is_corrupted]
    steps = Counter(axis_of(condition.unit) for condition in plan.conditions if condition.is_pipeline_step)
    units = len({condition.unit for condition in corrupted})
    parts = []
    if plan.suite.holds_sequences:
        frames = sum(condition.frames for condition in corrupted)
        parts.append(
            f"{counted(units, 'sequence')} of {frames:,} frames in all, difficulty {plan.suite.levels[0]}"
        )
    elif corrupted:
        severities = levels_text(condition.level for condition in corrupted)
        grid = [(condition.unit, condition.level) for condition in corrupted]
        uneven = is_uneven(grid) and not plan.info.missing
        parts.append(
            f"{len(grid)} conditions: {grid_text(grid)}"
            if uneven
            else counted(units, "corruption") + (f" x {severities}" if severities else "")
        )
    if corrupted:
        parts[0] += f", codec {corrupted[-1].codec}"
    if steps:
        shown = ", ".join(f"{axis} {count}" for axis, count in steps.items())
        parts.append(f"{counted(steps.total(), 'replaced pipeline step')} ({shown})")
    return "; ".join(parts) or "nothing corrupted"


def _by_unit(names: Sequence[str]) -> str:
    """Conditions grouped by unit; a unit with all five severities, or without levels, by name only."""
    units: dict[str, list[str]] = {}
    for name in names:
        unit, _, level = name.partition(":")
        units.setdefault(unit, []).append(level)
    return "; ".join(
        unit if len(levels) == len(SEVERITIES) else f"{unit} {', '.join(levels)}".strip()
        for unit, levels in units.items()
    )
