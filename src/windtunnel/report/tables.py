"""A run's scores as data: one JSON document, one CSV table."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from windtunnel.analysis.caveats import marks
from windtunnel.analysis.plausibility import implausible
from windtunnel.analysis.public_placement import Placed
from windtunnel.analysis.training_overlap import training_notes
from windtunnel.core.metrics import needing
from windtunnel.core.scores import Score
from windtunnel.core.wording import counted
from windtunnel.corruptions import REGISTRY
from windtunnel.data.precomputed import AS_STORED
from windtunnel.metrics.accuracy_drop import drop_notes
from windtunnel.metrics.baseline import baseline_notes
from windtunnel.metrics.calibration import calibration_notes, ece_by_chance, reliability
from windtunnel.metrics.clean_comparison import clean_with_codec_of
from windtunnel.metrics.corruption_error import THE_FIFTEEN, misfit, whole_units
from windtunnel.metrics.error import corruption_columns
from windtunnel.metrics.flip_rates import sequence_notes
from windtunnel.metrics.frame_sets import frame_notes
from windtunnel.metrics.not_finite import not_finite_note, not_finite_section
from windtunnel.metrics.ood_detection import detection_notes
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.published_results import PUBLISHED_IMAGES
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.metrics.sequence_scores import sequences_of
from windtunnel.report import deployment
from windtunnel.report.confusions import confusions
from windtunnel.report.footguns import traps
from windtunnel.report.frame_sets import frame_section
from windtunnel.report.multi_suite import placed_content
from windtunnel.report.natural_sets import natural_notes
from windtunnel.report.ood_detection import detection_section
from windtunnel.report.published_figures import published_field
from windtunnel.report.sequence_details import sequence_rows, unsteady_images
from windtunnel.report.worst_slices import worst_slices

FAILURES_KEPT = 1000
MISSING_SHOWN = 8


def failures(run: ScoredRun) -> list[dict[str, Any]]:
    """Images that could not be scored: id, how many conditions, status and reason of the first."""
    return [asdict(one) for one in run.observed.unscored]


def notes(run: ScoredRun) -> list[str]:
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
    lines += natural_notes(run)
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
    return f"{counted(images, 'image has', 'images have')} no label: no error rate counts them."


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
    """Why there is no CE, mCE or FR, or what those there are rest on."""
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


def run_document(run: ScoredRun, scores: list[Score], placed: Sequence[Placed] = ()) -> dict[str, Any]:
    """Everything a reader of the HTML page sees, as one JSON document.

    `placed` is the run among public models, where tables of those were given.
    """
    failed = failures(run)
    return {
        "schema": 1,
        "run": str(run.path),
        "recipe_digest": run.digest,
        "info": run.info.to_json(),
        "recipe": run.recipe.to_json(),
        # Whose scores divide CE, FR and their like; "" for AlexNet's published ones.
        "baseline": str(run.baseline.info.model.name) if run.baseline else "",
        # What must be read before any number.
        "warnings": implausible(run),
        "notes": notes(run),
        "marks": marks(run),
        "traps": [asdict(trap) for trap in traps(run, scores)],
        "scores": [score.to_json() for score in scores],
        "sequences": sequence_rows(run),
        "unsteady": unsteady_images(run),
        "published": published_field(run, scores),
        "public": [placed_content(one, [run]) for one in placed],
        "deployment": deployment.section(run),
        "detection": detection_section(run),
        "frames": frame_section(run),
        "slices": worst_slices(run),
        "confusions": confusions(run),
        "reliability": reliability_bins(run),
        "calibration_by_chance": calibration_by_chance(run),
        "tie_share": run.observed.tie_share,
        "unlabelled": run.observed.unlabelled,
        "not_finite": not_finite_section(run),
        "failed_images": len(failed),
        "failed_by_status": dict(Counter(entry["status"] for entry in failed)),
        "failures": failed[:FAILURES_KEPT],
    }


def reliability_bins(run: ScoredRun) -> dict[str, list[dict[str, Any]]]:
    """Confidence beside share of right answers, for clean images and for all corrupted ones together."""
    seen = run.observed
    if not seen.gives_probabilities or not len(seen.ids):
        return {}
    return {
        name: [asdict(one) for one in reliability(some.confidence[:, chosen], some.rank[:, chosen] == 0)]
        for name, (some, chosen) in _judged(run).items()
    }


def calibration_by_chance(run: ScoredRun) -> dict[str, float]:
    """The ECE of a perfectly calibrated model as sure as this one, for the same images."""
    seen = run.observed
    if not seen.gives_probabilities or not len(seen.ids):
        return {}
    return {name: ece_by_chance(some.confidence[:, chosen]) for name, (some, chosen) in _judged(run).items()}


def _judged(run: ScoredRun) -> dict[str, tuple[Observed, list[int]]]:
    """Images and columns whose calibration is shown: clean and corrupted, or a natural set's parts."""
    seen = run.observed
    if run.parts:
        return {one.name: (seen.over(one.rows), [0]) for one in run.parts if one.labelled and len(one.rows)}
    clean = [place for place, name in enumerate(seen.conditions) if name == "clean"]
    found = {"clean": clean, "corrupted": corruption_columns(run)}
    return {name: (seen, columns) for name, columns in found.items() if columns}


CSV_COLUMNS = (
    "metric", "condition", "corruption", "severity", "codec", "value", "low", "high", "n", "recipe",
    "formula",
)  # fmt: skip


def scores_csv(scores: list[Score]) -> str:
    """The scores as CSV, fractions, one line each."""
    return csv_text(CSV_COLUMNS, scores)


def csv_text(columns: Sequence[str], rows: Sequence[object]) -> str:
    """Objects as CSV: a line each, an attribute per column."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([getattr(row, column) for column in columns])
    return out.getvalue()
