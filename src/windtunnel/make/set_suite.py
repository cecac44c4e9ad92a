"""The suite and the layout of a made set, and the combinations that cannot be stored on disk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.corruptions import has_one_strength
from windtunnel.imaging.clips import H264
from windtunnel.imaging.crops import refuse_scaling
from windtunnel.make.imagenet_s import NAMED_AXES
from windtunnel.options.make import (
    CLIP_LAYOUTS,
    COPIES_LAYOUT,
    IMAGE_LAYOUTS,
    ONE_STRENGTH_LAYOUTS,
    SPLITS,
    STEPS_LAYOUT,
    MakeOptions,
)
from windtunnel.suites.canvas import Canvas
from windtunnel.suites.pipeline_steps import axis_of, is_step, spelt_out, value_of
from windtunnel.suites.suite import Suite
from windtunnel.suites.suite_files import load_suite

# The published sets contain four extra corruptions and sequences in addition to the fifteen and the ten.
COMPANIONS = {"imagenet-c": "imagenet-c-extra", "imagenet-p": "imagenet-p-extra"}


def suite_to_make(target: str | Path | Suite, options: MakeOptions) -> Suite:
    """The suite of a set with its companion and the options; refuses suites that make no images."""
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


def layouts_of(suite: Suite) -> tuple[str, ...]:
    """The layouts in which a suite can be stored, the default first."""
    if suite.holds_sequences:
        return CLIP_LAYOUTS
    if any(map(has_one_strength, suite.corruptions)):  # arrays have five severities of each corruption
        return (*ONE_STRENGTH_LAYOUTS, COPIES_LAYOUT)
    return (*IMAGE_LAYOUTS, COPIES_LAYOUT) if suite.corruptions else (STEPS_LAYOUT,)


def with_codec(suite: Suite, layout: str, codec: str | None) -> tuple[Suite, str]:
    """The suite with the requested codec, and the layout: videos are H.264, and H.264 is only for videos."""
    if layout not in ("auto", *layouts_of(suite)):
        what = "sequences are" if suite.holds_sequences else "corrupted images are"
        what = what if suite.corruptions or suite.holds_sequences else "pipeline steps are"
        if any(map(has_one_strength, suite.corruptions)):
            what = "corruptions with one strength are"
        raise UserError(f"{option('layout')} is '{layout}'; {what} stored as {', '.join(layouts_of(suite))}.")
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


def settled_layout(layout: str, suite: Suite, canvas: Canvas) -> str:
    """The requested layout, or the default for the images' size."""
    if layout != "auto":
        return layout
    return "arrays" if canvas.edition == 32 and "arrays" in layouts_of(suite) else layouts_of(suite)[0]


def check_split(suite: Suite, split: str) -> None:
    """Refuse training crops for sets without them, and decoders that cannot be used for them."""
    if split == SPLITS[0]:
        return
    if STEPS_LAYOUT not in layouts_of(suite):
        raise UserError(
            f"{option('split', 'train')} makes random crops for sets of decoders and resizes, such as "
            "imagenet-s."
        )
    steps = [step for unit in suite.units for step in spelt_out(unit)]
    refuse_scaling(value_of(step) for step in steps if axis_of(step) == "decode")
