"""Notes: what a reader must know before comparing a run's numbers with others."""

from __future__ import annotations

from typing import Any

from windtunnel.analysis.caveats import caveats
from windtunnel.analysis.training_overlap import training_notes
from windtunnel.core.metrics import needing
from windtunnel.core.wording import counted
from windtunnel.corruptions import REGISTRY
from windtunnel.data.precomputed import AS_STORED
from windtunnel.metrics.accuracy_drop import drop_notes
from windtunnel.metrics.baseline import baseline_notes
from windtunnel.metrics.calibration import calibration_notes
from windtunnel.metrics.clean_comparison import clean_with_codec_of
from windtunnel.metrics.corruption_error import THE_FIFTEEN, misfit, whole_units
from windtunnel.metrics.flip_rates import sequence_notes
from windtunnel.metrics.frame_sets import frame_notes
from windtunnel.metrics.not_finite import not_finite_note
from windtunnel.metrics.ood_detection import detection_notes
from windtunnel.metrics.published_results import PUBLISHED_IMAGES
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.metrics.sequence_scores import sequences_of
from windtunnel.options.command_line import for_command_line
from windtunnel.report.natural_sets import counted_text, parts_text
from windtunnel.report.sections import Document, ReportInput, Section

MISSING_SHOWN = 8


class Notes(Section):
    """The notes, and the marks of the scores they concern."""

    name = "notes"
    title = "Read before comparing"
    help = "Notes to read before comparing: images left out, subsets, masks, scores that are missing."
    order = 300
    json_order = 20

    def data(self, given: ReportInput) -> dict[str, Any]:
        return {"notes": run_notes(given.run), "marks": caveats(given.run)}

    def applies(self, document: Document) -> bool:
        return bool(document["notes"])

    def markdown(self, document: Document) -> list[str]:
        return [f"- {note}" for note in document["notes"]]


def run_notes(run: ScoredRun) -> list[str]:
    """What a reader must know before comparing this run's numbers with others."""
    lines = []
    seen = run.observed
    canvas, suite = run.recipe.canvas, run.recipe.suite
    if seen.left_out:
        lines.append(
            f"{counted(seen.left_out, 'image')} could not be scored under some condition: left out of all "
            "of them, so that every number rests on the same images."
        )
    if not_finite := not_finite_note(run):
        lines.append(not_finite)
    if run.groups is not None:
        lines.append(
            f"{len(run.groups):,} images in {run.groups.max() + 1:,} groups by {run.group}: intervals "
            "draw whole groups, since images of one group are not independent."
        )
    lines += run.info.remarks
    if run.missing:
        shown = ", ".join(run.missing[:MISSING_SHOWN]) + (" ..." if len(run.missing) > MISSING_SHOWN else "")
        lines.append(f"The set lacks {len(run.missing)} conditions of the suite: {shown}.")
    if seen.unlabelled:
        lines.append(unlabelled_note(seen.unlabelled))
    if run.recipe.data.count != run.recipe.data.of:
        lines.append(
            f"A subset: {run.recipe.data.count:,} of {run.recipe.data.of:,} images, "
            f"each class in proportion, seed {run.recipe.data.subset_seed}."
        )
    lines += _natural_notes(run)
    if run.projection.is_masked and not run.natural:
        lines.append(
            f"Only {len(run.recipe.projection.kept)} of the model's "
            f"{run.recipe.model.classes} outputs count (mask before softmax): "
            "errors are lower than without it."
        )
    if run.projection.is_collapsed and not run.natural:
        used = sum(map(len, run.recipe.projection.outputs))
        lines.append(
            f"{used} of the model's {run.recipe.model.classes} outputs stand for "
            f"{len(run.recipe.projection.kept)} classes (--map, the best of a class's outputs before "
            "softmax); the others do not count."
        )
    made = [condition.unit for condition in run.conditions if condition.codec != AS_STORED]
    for unit in (unit for unit in suite.units if unit in made):
        own = [setting for setting in run.info.settings if setting.startswith(f"{unit}.")]
        found = REGISTRY.get(unit).note if unit in REGISTRY.names() else ""
        if own or found:
            lines.append(f"Given by --set: {', '.join(own)}." if own else found)
    lines += _score_notes(run)
    if canvas.note:
        lines.append(f"Canvas: {canvas.note}.")
    return lines + training_notes(run)


def unlabelled_note(images: int) -> str:
    """What a reader of error rates must know where some images have no label."""
    return f"{counted(images, 'image has', 'images have')} no label and no part in error rates."


def _score_notes(run: ScoredRun) -> list[str]:
    """Which scores the suite asks for and this run cannot have."""
    lines = []
    asked, seen = set(run.metrics), run.observed
    if run.baseline and whole_units(run):
        lines += baseline_notes(run, whole_units(run))
    lines += normaliser_notes(run)
    lines += [*drop_notes(run), *calibration_notes(run), *detection_notes(run), *frame_notes(run)]
    lacking = sorted(needing("probabilities", run.metrics))
    if lacking and not seen.gives_probabilities:
        lines.append(f"No {', '.join(lacking)}: the predictions are the best classes, without probabilities.")
    corrupted = run.corruptions
    if "flip_share" in asked and corrupted and not all(clean_with_codec_of(run, one) for one in corrupted):
        lines.append(
            "No flip share: there are no clean images stored as the corrupted ones are, so that the "
            "codec's flips would count as the corruption's."
        )
    if "residual_robustness" in asked and corrupted and "clean" not in seen.conditions:
        lines.append("No residual robustness: it needs the clean images.")
    return lines


def normaliser_notes(run: ScoredRun) -> list[str]:
    """Why there is no CE, mCE or FR, or what limits them; options as the command line spells them."""
    return [for_command_line(note) for note in _normaliser_notes(run)]


def _normaliser_notes(run: ScoredRun) -> list[str]:
    if sequences_of(run):
        return sequence_notes(run)
    if "ce" not in run.metrics or run.baseline:
        return []
    lines = []
    units = set(whole_units(run))
    wrong = misfit(run)
    if wrong:
        lines.append(
            f"No CE, no mCE: AlexNet's published errors do not fit, {wrong.reason}. {wrong.advice} Otherwise "
            "read the mean error."
        )
    if "mce" in run.metrics and units != set(THE_FIFTEEN) and (wrong is None or wrong.cure):
        lines.append(
            "No mCE: it is defined over 15 corruptions at 5 severities, and this run has "
            f"{counted(len(units), 'such corruption')}. Run suite imagenet-c."
        )
    if wrong:
        return lines
    if units == set(THE_FIFTEEN) and "relative_mce" in run.metrics and "clean" not in run.observed.conditions:
        lines.append("No relative mCE: it needs the clean images; give them with --clean.")
    if len(run.observed.ids) != PUBLISHED_IMAGES:
        what = "CE and mCE divide" if units == set(THE_FIFTEEN) else "CE divides"
        lines.append(
            f"{what} by AlexNet's errors on all 50,000 published images; these are other "
            "images, so that they are only near what the same model would get there."
        )
    return lines


def _natural_notes(run: ScoredRun) -> list[str]:
    """What a reader must know of a natural set's scores before comparing them."""
    if not run.natural:
        return []
    lines = [f"Images: {parts_text(run.natural)}. {counted_text(run.recipe).capitalize()}."]
    lines += [f"{mark}." for mark in caveats(run)]
    unanswerable = _without_output(run)
    if unanswerable:
        lines.append(
            f"{counted(unanswerable, 'image is', 'images are')} of classes that no output of the model "
            "stands for, and counted as wrong."
        )
    return lines


def _without_output(run: ScoredRun) -> int:
    """How many scored images have only labels that no output stands for."""
    projection = run.projection
    kept = set(projection.kept) or set(range(len(projection.outputs) or run.recipe.model.classes))
    possible = {label for label, output in enumerate(run.recipe.projection.labels) if output in kept}
    return sum(bool(labels) and not possible & set(labels) for labels in run.observed.labels)


notes = Notes()
