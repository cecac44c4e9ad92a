"""OOD detection metrics of a run: every OOD score, evaluated on the run's OOD and clean (ID) images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.metrics import needing
from windtunnel.core.option_names import option
from windtunnel.core.seeding import digest64
from windtunnel.core.wording import counted
from windtunnel.metrics import binary_ranking as detection
from windtunnel.metrics.ood_scores import (
    KL_MATCHING,
    OF_LOGITS,
    OF_SHARES,
    WORDS,
    Numbers,
    Templates,
    Truths,
    log_shares,
)
from windtunnel.metrics.parts import part_of_role
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.stats.measure import Measure, log_odds_interval

if TYPE_CHECKING:
    from windtunnel.metrics.scored_run import ScoredRun

# Images that a class template needs.
LEAST_TEMPLATES = 2


class OodScores:
    """Every OOD score of a run's OOD and clean (ID) images, computed from its shards in blocks.

    Attributes:
        rows: which of the run's scored images these are, ascending.
        out: which of them are OOD.
        not_finite: which of them have outputs that are not finite and therefore no score. Such an OOD image
            is ranked below all others, such an ID image above.
        template: images that KL-matching's templates are computed from: about half of the ID images, chosen
            by a hash of their ids, or about half of the groups, so that no group is on both sides. Only
            images with finite outputs.
        values: by OOD score, a number per image.
        few: number of ID classes with too few template images for KL-matching, and number of ID classes.
    """

    def __init__(self, run: ScoredRun, rows: NDArray[np.int64], out: Truths) -> None:
        self.rows, self.out = rows, out
        self.not_finite: Truths = run.observed.not_finite[rows, 0]
        chosen, self._left_out = template_split(_template_units(run, rows), out)
        self.template: Truths = chosen & ~self.not_finite
        logits = run.observed.gives_logits
        names = [name for name in WORDS if logits or name not in OF_LOGITS]
        self.values: dict[str, Numbers] = {name: np.where(out, -np.inf, np.inf) for name in names}
        templates = self._templates(run)
        self.few = self._classes_with_few(run)
        if not templates.count or 2 * self.few[0] > self.few[1] or not self._both_sides_scored:
            del self.values[KL_MATCHING]
        for where, scores in self._blocks(run):
            shares = log_shares(scores, logits=logits)
            for name, values in self.values.items():
                if name in OF_LOGITS:
                    values[where] = OF_LOGITS[name](scores)
                elif name in OF_SHARES:
                    values[where] = OF_SHARES[name](shares)
                else:
                    values[where] = templates.distance(shares)

    def _classes_with_few(self, run: ScoredRun) -> tuple[int, int]:
        """Number of classes with fewer than LEAST_TEMPLATES template images, and number of classes."""
        labels = [run.observed.labels[row] for row in self.rows]
        template_images = Counter(
            label for row, made in zip(labels, self.template, strict=True) if made for label in row
        )
        id_classes = {label for row, out in zip(labels, self.out, strict=True) if not out for label in row}
        return sum(template_images[label] < LEAST_TEMPLATES for label in id_classes), len(id_classes)

    def _templates(self, run: ScoredRun) -> Templates:
        templates: Templates | None = None
        for where, scores in self._blocks(run):
            chosen = scores[self.template[where]]
            templates = templates or Templates(scores.shape[1])
            if len(chosen):
                templates.add(log_shares(chosen, logits=run.observed.gives_logits))
        return templates or Templates(0)

    def _blocks(self, run: ScoredRun) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        """Places of images and their scores of all competing classes, shard by shard.

        Images without finite outputs are left out.
        """
        scored = np.flatnonzero(run.observed.kept)[self.rows]
        projection, before = run.projection, 0
        competing = np.flatnonzero(projection.mask_for(run.recipe.model.classes))
        for shard in run.shards(["logits"]):
            column = shard["logits"].combine_chunks()
            images = len(column) // run.views
            inside = (scored >= before) & (scored < before + images)
            where = np.flatnonzero(inside & ~self.not_finite)
            if len(where):
                rows = column.take((scored[where] - before) * run.views)
                scores = np.asarray(rows.flatten(), np.float32).reshape(len(where), -1)
                yield where, projection.apply(scores)[:, competing]
            before += images

    def taken_by(self, score: str) -> NDArray[np.int64]:
        """Images that a score is evaluated on: all, or for KL-matching those outside its templates."""
        if score == KL_MATCHING:
            return np.flatnonzero(~self._left_out)
        return np.arange(len(self.rows))

    @property
    def _both_sides_scored(self) -> bool:
        out = self.out[self.taken_by(KL_MATCHING)]
        return bool(out.any() and not out.all())

    @property
    def why_no_kl_matching(self) -> str:
        """Why there is no KL-matching."""
        few, classes = self.few
        if 2 * few > classes or self._both_sides_scored:
            return (
                f"{few:,} of {classes:,} classes have fewer than {LEAST_TEMPLATES} template images; "
                "about half of the clean images are template images"
            )
        return "its templates use about half of the groups, and the rest have no ID or no OOD image to score"


def template_split(units: NDArray[np.object_], out: Truths) -> tuple[Truths, Truths]:
    """Images chosen for KL-matching's templates, and images that it does not score.

    The choice depends on the units (image ids or groups) alone and not on the outputs. An image without
    finite outputs therefore leaves the scored side as often as any other, although no template uses it. OOD
    images of a chosen group are not scored either, because the templates have seen their group.
    """
    chosen: Truths = ~out & np.array([digest64(KL_MATCHING, unit) & 1 for unit in units], bool)
    seen = set(units[chosen])
    return chosen, np.array([unit in seen for unit in units], bool)


def _template_units(run: ScoredRun, rows: NDArray[np.int64]) -> NDArray[np.object_]:
    """The sampling unit of each row for templates: the image's group, or its id without groups."""
    ids: NDArray[np.object_] = run.observed.ids[rows]
    if run.groups_of(run.observed.kept) is None:
        return ids
    groups = np.array(run.columns[run.group], object)[run.observed.kept][rows]
    return np.where(groups == "", ids, groups)


def ood_scores_of(run: ScoredRun) -> OodScores | None:
    """The OOD scores of a run that has OOD and clean images; None for others."""
    out, inside = part_of_role(run, "out"), part_of_role(run, "clean")
    if out is None or inside is None or not len(out.rows) or not len(inside.rows):
        return None
    if not run.recipe.keep:
        raise UserError(
            f"{run.path} keeps no full outputs, which out-of-distribution scores need; run with "
            f"{option('keep', 'logits')}."
        )
    rows = np.sort(np.concatenate([out.rows, inside.rows]))
    return OodScores(run, rows, np.isin(rows, out.rows))


def ood_and_id(out: Truths) -> Truths:
    """Both sides: the smaller one limits the precision of an area."""
    return np.column_stack([out, ~out])


def id_only(out: Truths) -> Truths:
    """The ID images alone: a false positive rate is a share of them."""
    return ~out[:, None]


@dataclass(frozen=True)
class DetectionMetric:
    """A metric that evaluates an OOD score.

    Attributes:
        metric: its name.
        words: its formula in words.
        of: computes it from a curve.
        chance: whether its value for a random score is the share of OOD images.
        sides: from OOD labels to the sides that the metric depends on, images x sides.
    """

    metric: str
    words: str
    of: Callable[[detection.Curve], detection.Gradient]
    chance: bool = False
    sides: Callable[[Truths], Truths] = ood_and_id

    def measure(self, values: Numbers, out: Truths) -> Measure:
        """The metric of an OOD score, given scores and OOD labels."""

        def remake(rows: NDArray[np.int64]) -> Numbers:
            if out[rows].all() or not out[rows].any():
                return np.full((len(rows), 1), np.nan)
            return detection.detection_values(values[rows], out[rows], self.of)[:, None]

        return Measure(
            self.metric,
            "",
            self.words,
            (),
            remake(np.arange(len(out))),
            limits=(0, 1),
            remake=remake,
            interval_of=log_odds_interval,
            sides=self.sides(out),
        )


AUROC = DetectionMetric("auroc", "area under the ROC curve, OOD against ID images", detection.auroc)
AUPR = DetectionMetric(
    "aupr",
    "area under the precision-recall curve (average precision), OOD images positive",
    detection.average_precision,
    chance=True,
)
AUPR_TRAPEZOID = DetectionMetric(
    "aupr_trapezoid",
    "area under the precision-recall curve by trapezoids, OOD images positive",
    detection.trapezoid_precision,
    chance=True,
)
FPR95 = DetectionMetric(
    "fpr95",
    "false positive rate on ID images at the first threshold with a recall of 95 % of OOD images",
    detection.fpr_at_recall,
    sides=id_only,
)
FPR95_COMPAT = DetectionMetric(
    "fpr95_compat",
    "false positive rate on ID images at the threshold whose recall of OOD images is nearest to 95 %, as in "
    "ImageNet-O's code",
    detection.fpr_near_recall,
    sides=id_only,
)


def measure_detection(
    metric: DetectionMetric, run: ScoredRun, _seen: Observed, only: str = ""
) -> list[Measure]:
    """A detection metric of every OOD score, or only of one; empty if the run has no OOD images."""
    scores = run.detectors
    if scores is None:
        return []
    if only:
        _check_asked(only, scores)
    return [_measure(metric, score, scores) for score in ([only] if only else scores.values)]


def _check_asked(score: str, scores: OodScores) -> None:
    if score not in WORDS:
        raise unknown_name("out-of-distribution score", score, WORDS)
    if score in OF_LOGITS and score not in scores.values:
        allowed = ", ".join(scores.values)
        raise UserError(f"{score} needs logits, and this model outputs probabilities; use one of {allowed}.")
    if score not in scores.values:
        raise UserError(
            f"The run has no {score}: {scores.why_no_kl_matching}; give more clean images of each class."
        )


def _measure(metric: DetectionMetric, score: str, scores: OodScores) -> Measure:
    taken = scores.taken_by(score)
    out = scores.out[taken]
    made_of = f"; templates of {scores.template.sum():,} images" if score == KL_MATCHING else ""
    chance = f"; a random score has {100 * out.mean():.1f} %" if metric.chance else ""
    lost = int(scores.not_finite[taken].sum())
    ranked = f"; {counted(lost, 'output is', 'outputs are')} not finite and ranked as wrong" if lost else ""
    return replace(
        metric.measure(scores.values[score][taken], out),
        condition=score,
        formula=f"{metric.words}; OOD score: {WORDS[score]}",
        rows=scores.rows[taken],
        detail=f"{out.sum():,} OOD, {(~out).sum():,} ID{made_of}{chance}{ranked}",
    )


def lost_scores(run: ScoredRun) -> list[str]:
    """The OOD scores that a run does not have, a sentence with the reason for each."""
    if not part_of_role(run, "out") or not needing("ood scores", run.metrics):
        return []
    scores = run.detectors
    if scores is None:
        return []
    lacking = [score for score in OF_LOGITS if score not in scores.values]
    lines = (
        [f"No {', no '.join(lacking)}: they need logits, and the model outputs probabilities."]
        if lacking
        else []
    )
    return lines + (
        [] if KL_MATCHING in scores.values else [f"No {KL_MATCHING}: {scores.why_no_kl_matching}."]
    )


def detection_notes(run: ScoredRun) -> list[str]:
    """Notes on OOD detection metrics."""
    if not part_of_role(run, "out") or not needing("ood scores", run.metrics):
        return []
    scores = run.detectors
    lines = [
        "AUPR depends on the share of OOD images: compare it only at the same numbers of OOD and ID images."
    ]
    if scores and KL_MATCHING in scores.values:
        scored = scores.out[scores.taken_by(KL_MATCHING)]
        fewer = int((~scores.out).sum() - (~scored).sum())
        lines.append(
            f"{KL_MATCHING} is evaluated on {fewer:,} fewer ID images, those chosen for its templates: its "
            "AUPR has a different chance level and must not be ranked with the others."
        )
        unused = fewer - int(scores.template.sum())
        if unused:
            lines.append(
                f"The templates of {KL_MATCHING} do not use {unused:,} of these ID images: their outputs are "
                "not finite."
            )
        shared = int(scores.out.sum() - scored.sum())
        if shared:
            lines.append(
                f"{KL_MATCHING} leaves out {counted(shared, 'OOD image')}: their groups also have images "
                "that its templates use."
            )
    return lines + lost_scores(run)
