"""A plan as labelled lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from windtunnel.core.conditions import grid_text, is_uneven
from windtunnel.core.placement import DEFAULT_PRECISION
from windtunnel.core.wording import byte_size, counted
from windtunnel.corruptions import SEVERITIES
from windtunnel.engine.cost import storage_bytes
from windtunnel.engine.estimate import Expected
from windtunnel.engine.plan import Plan
from windtunnel.models import Model
from windtunnel.report.natural_sets import counted_text, parts_text
from windtunnel.report.sections.notes import unlabelled_note
from windtunnel.report.sections.recipe import classes_text
from windtunnel.stats.intervals import wilson
from windtunnel.suites.pipeline_steps import axis_of

# How a plan counts images that fail: a damaged file with a good header is found when it is decoded.
HEADERS_ONLY = "judging by headers alone (windtunnel data inspect decodes every image)"


def describe_model(model: Model) -> str:
    """A model in one line: kind, input, outputs, classes, preprocess and where that is declared."""
    side = model.preprocess.geometry.output_px
    size = f"{side}x{side}" if side else "any size"
    return (
        f"{model.kind_title or model.kind}{_arithmetic(model)}, {size}, "
        f"{model.outputs} ({model.outputs_from}), {model.class_count} classes; "
        f"preprocess {model.preprocess.geometry.describe()}, {model.preprocess.tensor.channels.upper()} "
        f"({model.preprocess.origin})"
    )


def _arithmetic(model: Model) -> str:
    """Device and precision of a model, if they are not the CPU and the model's own; else ""."""
    placement = model.placement
    device = f" on {placement.device}" if placement.accelerated else ""
    hardware = f" ({model.hardware})" if model.hardware else ""
    precision = placement.precision or DEFAULT_PRECISION
    return device + hardware + (f" in {precision}" if precision != DEFAULT_PRECISION else "")


def plan_lines(
    plan: Plan, folder: Path, workers: int, done: int, time: Expected | None = None
) -> list[tuple[str, str]]:
    """A plan as labelled lines; `done` predictions are already in the folder, the rest takes `time`."""
    total, count = plan.recipe.data.of, len(plan.surveyed)
    amount = (
        counted(count, "image")
        if count == total
        else f"{count:,} of {total:,} images (by class, seed {plan.seed})"
    )
    failed = sum(one.status != "ok" for one in plan.surveyed)
    unlabelled = unlabelled_images(plan)
    unmodified = " and ".join(
        one.name for one in plan.conditions if one.codec == "none" and one.is_unmodified
    )
    missing, remarks = plan.info.missing, plan.info.remarks
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
        *([("lacking", f"{counted(len(missing), 'condition')}: {_by_unit(missing)}")] if missing else []),
        *(("note", remark) for remark in remarks),
        *([("note", unlabelled_note(unlabelled))] if unlabelled else []),
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
    """Half the width of the 95 % interval of one condition's error at 50 %, where it is widest."""
    images = sum(image.status == "ok" and bool(image.sample.labels) for image in plan.surveyed)
    if not images:
        return None
    low, high = wilson(round(images / 2), images)
    return (high - low) / 2


def interval_text(plan: Plan) -> str:
    """How precise the error of one condition will be."""
    width = largest_half_width(plan)
    if width is None:
        return "none of the images has a label"
    return f"at most +-{100 * width:.1f} points for the error of one condition (95 %)"


def unlabelled_images(plan: Plan) -> int:
    """How many images have no label; those of natural sets may have none by design."""
    return 0 if plan.suite.natural else sum(not one.sample.labels for one in plan.surveyed)


def _contents(plan: Plan) -> str:
    """A suite's corruptions and severities, sequences and difficulty, or swapped steps, in a few words."""
    if plan.recipe.data.natural:
        return f"{parts_text(plan.recipe.data.natural)}; {counted_text(plan.recipe)}"
    corrupted = [one for one in plan.conditions if one.is_corrupted]
    steps = Counter(axis_of(one.unit) for one in plan.conditions if one.is_pipeline_step)
    units = len({one.unit for one in corrupted})
    parts = []
    if plan.suite.holds_sequences:
        frames = sum(one.frames for one in corrupted)
        parts.append(
            f"{counted(units, 'sequence')} of {frames:,} frames in all, difficulty {plan.suite.levels[0]}"
        )
    elif corrupted:
        found = sorted({one.level for one in corrupted})
        levels = ", ".join(map(str, found))
        severities = "severity" if len(found) == 1 else "severities"
        places = [(one.unit, one.level) for one in corrupted]
        uneven = is_uneven(places) and not plan.info.missing
        parts.append(
            f"{len(places)} conditions: {grid_text(places)}"
            if uneven
            else f"{counted(units, 'corruption')} x {severities} {levels}"
        )
    if corrupted:
        parts[0] += f", codec {corrupted[-1].codec}"
    if steps:
        shown = ", ".join(f"{axis} {count}" for axis, count in steps.items())
        parts.append(f"{steps.total()} swapped steps ({shown})")
    return "; ".join(parts) or "nothing corrupted"


def _by_unit(names: Sequence[str]) -> str:
    """Conditions by unit: those that lack all five severities, or have no levels, by their name alone."""
    units: dict[str, list[str]] = {}
    for name in names:
        unit, _, level = name.partition(":")
        units.setdefault(unit, []).append(level)
    return "; ".join(
        unit if len(levels) == len(SEVERITIES) else f"{unit} {', '.join(levels)}".strip()
        for unit, levels in units.items()
    )
