"""Notes to read before comparing a run's numbers with others."""

from __future__ import annotations

from typing import Any

from windtunnel.analysis.caveats import caveats
from windtunnel.analysis.training_overlap import training_notes
from windtunnel.core.metrics import needing
from windtunnel.core.records import DEFAULT_TASK
from windtunnel.core.wording import counted
from windtunnel.corruptions import REGISTRY
from windtunnel.data.precomputed import AS_STORED
from windtunnel.metrics.accuracy_drop import drop_notes
from windtunnel.metrics.baseline import baseline_notes
from windtunnel.metrics.calibration import calibration_notes
from windtunnel.metrics.clean_comparison import clean_with_codec_of
from windtunnel.metrics.corruption_error import THE_FIFTEEN, misfit, whole_units
from windtunnel.metrics.detections.frame_sets import detection_frame_notes
from windtunnel.metrics.flip_rates import sequence_notes
from windtunnel.metrics.frame_sets import frame_notes
from windtunnel.metrics.not_finite import not_finite_note
from windtunnel.metrics.ood_detection import detection_notes
from windtunnel.metrics.published_results import PUBLISHED_IMAGES
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.metrics.sequence_scores import sequences_of
from windtunnel.options.command_line import for_command_line
from windtunnel.report.natural_sets import competing_outputs_text, parts_text
from windtunnel.report.sections import ANY_TASK, Document, ReportInput, Section

MISSING_SHOWN = 8


class Notes(Section):
    """The notes, and the caveats of scores on natural sets."""

    name = "notes"
    title = "Read before comparing"
    help = "Notes to read before comparing: images left out, subsets, masks, missing scores."
    order = 300
    json_order = 20
    tasks = ANY_TASK

    def data(self, inputs: ReportInput) -> dict[str, Any]:
        return {"notes": run_notes(inputs.run), "caveats": caveats(inputs.run)}

    def applies(self, document: Document) -> bool:
        return bool(document["notes"])

    def markdown(self, document: Document) -> list[str]:
        return [f"- {note}" for note in document["notes"]]


def run_notes(run: ScoredRun) -> list[str]:
    """Notes on images, outputs, corruptions and scores to read before comparing the run with others."""
    canvas = run.recipe.canvas
    return [
        *_image_notes(run),
        *_natural_notes(run),
        *_output_notes(run),
        *_unit_notes(run),
        *_score_notes(run),
        *([f"Canvas: {canvas.note}."] if canvas.note else []),
        *training_notes(run),
    ]


def _image_notes(run: ScoredRun) -> list[str]:
    """Notes on images and conditions: those left out, groups, remarks on the data, subsets."""
    lines = []
    observed, data = run.predicted, run.recipe.data
    if observed.left_out:
        lines.append(
            f"{counted(observed.left_out, 'image')} could not be scored under some condition and "
            f"{'is' if observed.left_out == 1 else 'are'} left out of all conditions, so that every number "
            "is over the same images."
        )
    if not_finite := not_finite_note(run):
        lines.append(not_finite)
    if run.groups is not None:
        lines.append(
            f"{len(run.groups):,} images in {run.groups.max() + 1:,} groups by {run.group}: intervals are "
            "over whole groups, because images of one group are not independent."
        )
    lines += map(for_command_line, run.info.notes)
    if missing := missing_conditions(run):
        shown = ", ".join(missing[:MISSING_SHOWN]) + (" ..." if len(missing) > MISSING_SHOWN else "")
        lines.append(f"The set lacks {counted(len(missing), 'condition')} of the suite: {shown}.")
    if observed.unlabelled:
        lines.append(unlabelled_note(observed.unlabelled))
    if data.count != data.of:
        lines.append(
            f"A stratified subset: {data.count:,} of {data.of:,} images, sampled by class with seed "
            f"{data.subset_seed}."
        )
    return lines


def missing_conditions(run: ScoredRun) -> list[str]:
    """The conditions of the suite that a run lacks, `clean` first if there are no clean images either."""
    has_clean = not run.corruptions or any(condition.is_unmodified for condition in run.conditions)
    return [*([] if has_clean else ["clean"]), *run.missing]


def _output_notes(run: ScoredRun) -> list[str]:
    """Notes on masked or mapped outputs; natural sets describe theirs themselves."""
    if run.natural:
        return []
    projection, outputs = run.recipe.projection, run.recipe.model.classes
    lines = []
    if run.projection.is_masked:
        lines.append(
            f"Only {len(projection.kept)} of the model's {outputs} outputs compete (masked before softmax). "
            "Errors are lower than without the mask."
        )
    if run.projection.is_collapsed:
        used = sum(map(len, projection.outputs))
        lines.append(
            f"{used} of the model's {outputs} outputs are mapped to {len(projection.kept)} classes (--map: "
            "the largest output of a class, before softmax). The other outputs are ignored."
        )
    return lines


def _unit_notes(run: ScoredRun) -> list[str]:
    """Notes of the corruptions that windtunnel applied, or the settings given for them."""
    applied = [condition.unit for condition in run.conditions if condition.codec != AS_STORED]
    lines = []
    for unit in (unit for unit in run.recipe.suite.units if unit in applied):
        settings = [setting for setting in run.info.settings if setting.startswith(f"{unit}.")]
        note = REGISTRY.get(unit).note if unit in REGISTRY.names() else ""
        if settings or note:
            lines.append(f"Given by --set: {', '.join(settings)}." if settings else note)
    return lines


def unlabelled_note(images: int, task: str = DEFAULT_TASK) -> str:
    """The note on images without a label, or without an annotated object."""
    if task != DEFAULT_TASK:
        return (
            f"{counted(images, 'image has', 'images have')} no annotated object; detections in "
            f"{'it' if images == 1 else 'them'} count as false positives."
        )
    return f"{counted(images, 'image without a label is', 'images without a label are')} not in error rates."


def _score_notes(run: ScoredRun) -> list[str]:
    """The scores of the suite that this run does not have, with reasons."""
    lines = []
    asked, observed = set(run.metrics), run.predicted
    if run.baseline and whole_units(run):
        lines += baseline_notes(run, whole_units(run))
    lines += normaliser_notes(run)
    lines += [*drop_notes(run), *calibration_notes(run), *detection_notes(run)]
    of_classes = run.recipe.task == DEFAULT_TASK
    lines += frame_notes(run) if of_classes else detection_frame_notes(run)
    lacking = sorted(needing("probabilities", run.metrics))
    if lacking and not observed.gives_probabilities:
        lines.append(f"No {', '.join(lacking)}: the predictions are top classes without probabilities.")
    corrupted = run.corruptions
    if (
        "flip_share" in asked
        and corrupted
        and not all(clean_with_codec_of(run, condition) for condition in corrupted)
    ):
        lines.append(
            "No flip share: there are no clean images with the codec of the corrupted ones, so flips due to "
            "the codec would count as flips due to the corruption."
        )
    if "residual_robustness" in asked and corrupted and "clean" not in observed.conditions:
        lines.append("No residual robustness: it needs the clean images.")
    return lines


def normaliser_notes(run: ScoredRun) -> list[str]:
    """Notes on missing or limited CE, mCE and FR, with options as spelt on the command line."""
    return [for_command_line(note) for note in _normaliser_notes(run)]


def _normaliser_notes(run: ScoredRun) -> list[str]:
    if sequences_of(run):
        return sequence_notes(run)
    if "ce" not in run.metrics or run.baseline:
        return []
    lines = []
    units = set(whole_units(run))
    wrong = misfit(run)
    incomplete = (
        "is defined over 15 corruptions at 5 severities, and this run has "
        f"{counted(len(units), 'such corruption')}. Run suite imagenet-c."
    )
    lacks_units = "mce" in run.metrics and units != set(THE_FIFTEEN)
    if wrong:
        further = f" Moreover, mCE {incomplete}" if lacks_units and wrong.cure else ""
        return [
            f"No CE and no mCE: AlexNet's published errors do not apply, {wrong.reason}. {wrong.advice} "
            f"Otherwise use the mean error.{further}"
        ]
    if lacks_units:
        lines.append(f"No mCE: it {incomplete}")
    if units == set(THE_FIFTEEN) and "relative_mce" in run.metrics and "clean" not in run.observed.conditions:
        lines.append("No relative mCE: it needs the clean images; give them with --clean.")
    if len(run.observed.ids) != PUBLISHED_IMAGES:
        scores = "CE and mCE are" if units == set(THE_FIFTEEN) else "CE is"
        lines.append(
            f"{scores} normalised by AlexNet's errors on all 50,000 published images. This run has other "
            "images, so the values are only approximately those on the published images."
        )
    return lines


def _natural_notes(run: ScoredRun) -> list[str]:
    """Notes on a natural set: its parts, the outputs that compete, and caveats."""
    if not run.natural:
        return []
    of_classes = run.recipe.task == DEFAULT_TASK
    lines = [f"Images: {parts_text(run.natural)}. {competing_outputs_text(run.recipe).capitalize()}."]
    lines += [f"{caveat}." for caveat in caveats(run)]
    without_output = _images_without_output(run) if of_classes else 0
    if without_output:
        lines.append(
            f"{counted(without_output, 'image is', 'images are')} of classes for which the model has no "
            "output, and counted as incorrect."
        )
    return lines


def _images_without_output(run: ScoredRun) -> int:
    """The number of scored images whose labels all have no output."""
    projection = run.projection
    competing = set(projection.kept) or set(range(len(projection.outputs) or run.recipe.model.classes))
    possible = {label for label, output in enumerate(run.recipe.projection.labels) if output in competing}
    return sum(bool(labels) and not possible & set(labels) for labels in run.observed.labels)


notes = Notes()
