"""Detection scores of a run: every out-of-distribution score, judged on the run's out and clean images."""

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

# A mean of fewer images is no template of a class.
LEAST_TEMPLATES = 2


class Outside:
    """Every out-of-distribution score of a run's out and clean images, read from its shards in blocks.

    Attributes:
        rows: which of the run's scored images these are, ascending.
        out: which of them are out.
        not_finite: which of them have outputs that are not finite, and so no score: an image that is out is
            then ranked below every other, one that is in above.
        template: which of them KL-matching's templates are made of: about half of the ID images, chosen by a
            hash of their ids, or about half of the groups, so that no group is on both sides. Of these, the
            images with finite outputs.
        values: by score, a number per image.
        few: how many classes of the in images have too few templates for KL-matching, and of how many.
    """

    def __init__(self, run: ScoredRun, rows: NDArray[np.int64], out: Truths) -> None:
        self.rows, self.out = rows, out
        self.not_finite: Truths = run.observed.not_finite[rows, 0]
        chosen, self._left_out = template_split(_template_units(run, rows), out)
        self.template: Truths = chosen & ~self.not_finite
        logits = run.observed.gives_logits
        names = [one for one in WORDS if logits or one not in OF_LOGITS]
        self.values: dict[str, Numbers] = {name: np.where(out, -np.inf, np.inf) for name in names}
        templates = self._templates(run)
        self.few = self._classes_with_few(run)
        if not templates.count or 2 * self.few[0] > self.few[1] or not self._both_sides_scored:
            del self.values[KL_MATCHING]
        for where, scores in self._blocks(run):
            shares = log_shares(scores, logits=logits)
            for name, found in self.values.items():
                if name in OF_LOGITS:
                    found[where] = OF_LOGITS[name](scores)
                elif name in OF_SHARES:
                    found[where] = OF_SHARES[name](shares)
                else:
                    found[where] = templates.distance(shares)

    def _classes_with_few(self, run: ScoredRun) -> tuple[int, int]:
        """How many classes have fewer template images than a mean needs, and how many classes there are."""
        labels = [run.observed.labels[row] for row in self.rows]
        taken = Counter(one for row, made in zip(labels, self.template, strict=True) if made for one in row)
        there = {one for row, out in zip(labels, self.out, strict=True) if not out for one in row}
        return sum(taken[one] < LEAST_TEMPLATES for one in there), len(there)

    def _templates(self, run: ScoredRun) -> Templates:
        found: Templates | None = None
        for where, scores in self._blocks(run):
            chosen = scores[self.template[where]]
            found = found or Templates(scores.shape[1])
            if len(chosen):
                found.add(log_shares(chosen, logits=run.observed.gives_logits))
        return found or Templates(0)

    def _blocks(self, run: ScoredRun) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        """Which of these images, and every class's score as the recipe counts them, shard by shard.

        Images without finite outputs are left out.
        """
        scored = np.flatnonzero(run.observed.kept)[self.rows]
        projection, before = run.projection, 0
        kept = np.flatnonzero(projection.mask_for(run.recipe.model.classes))
        for shard in run.shards(["logits"]):
            column = shard["logits"].combine_chunks()
            images = len(column) // run.views
            inside = (scored >= before) & (scored < before + images)
            where = np.flatnonzero(inside & ~self.not_finite)
            if len(where):
                told = column.take((scored[where] - before) * run.views)
                scores = np.asarray(told.flatten(), np.float32).reshape(len(where), -1)
                yield where, projection.apply(scores)[:, kept]
            before += images

    def taken_by(self, score: str) -> NDArray[np.int64]:
        """Rows a score is judged on: all, but for KL-matching none of its templates' images or groups."""
        if score == KL_MATCHING:
            return np.flatnonzero(~self._left_out)
        return np.arange(len(self.rows))

    @property
    def _both_sides_scored(self) -> bool:
        out = self.out[self.taken_by(KL_MATCHING)]
        return bool(out.any() and not out.all())

    @property
    def why_no_kl_matching(self) -> str:
        """The reason, where there is no KL-matching."""
        few, classes = self.few
        if 2 * few > classes or self._both_sides_scored:
            return (
                f"{few:,} of {classes:,} classes have fewer than {LEAST_TEMPLATES} of the clean "
                "images that its templates are made of, about half of all"
            )
        return (
            "its templates are made of about half of the groups, and without these no ID or no OOD image is "
            "left to score"
        )


def template_split(units: NDArray[np.object_], out: Truths) -> tuple[Truths, Truths]:
    """Which images are chosen for KL-matching's templates, and which ones it does not score.

    The choice depends on the units (image ids or groups) alone and not on the outputs. An image without
    finite outputs therefore leaves the scored side as often as any other, although no template uses it. OOD
    images of a chosen group are not scored either, because the templates have seen their group.
    """
    chosen: Truths = ~out & np.array([digest64(KL_MATCHING, unit) & 1 for unit in units], bool)
    seen = set(units[chosen])
    return chosen, np.array([unit in seen for unit in units], bool)


def _template_units(run: ScoredRun, rows: NDArray[np.int64]) -> NDArray[np.object_]:
    """Per row, what is drawn for templates as a whole: the image's group, or else its id."""
    ids: NDArray[np.object_] = run.observed.ids[rows]
    if run.groups_of(run.observed.kept) is None:
        return ids
    groups = np.array(run.columns[run.group], object)[run.observed.kept][rows]
    return np.where(groups == "", ids, groups)


def outside_of(run: ScoredRun) -> Outside | None:
    """The out-of-distribution scores of a run that has out and clean images; None for others."""
    out, inside = part_of_role(run, "out"), part_of_role(run, "clean")
    if out is None or inside is None or not len(out.rows) or not len(inside.rows):
        return None
    if not run.recipe.keep:
        raise UserError(
            f"{run.path} keeps no full outputs, which out-of-distribution scores need; run with "
            f"{option('keep', 'logits')}."
        )
    rows = np.sort(np.concatenate([out.rows, inside.rows]))
    return Outside(run, rows, np.isin(rows, out.rows))


def out_and_in(out: Truths) -> Truths:
    """Both sides: an area is as sure as the smaller one."""
    return np.column_stack([out, ~out])


def in_alone(out: Truths) -> Truths:
    """The side of the in images: a false positive rate is a share of them."""
    return ~out[:, None]


@dataclass(frozen=True)
class Judge:
    """One way to judge a score.

    Attributes:
        metric: its name.
        words: what it is.
        of: what makes it of a curve.
        chance: whether a score that says nothing has the share of out images.
        sides: from which images are out to the sides that it rests on, images x sides.
    """

    metric: str
    words: str
    of: Callable[[detection.Curve], detection.Gradient]
    chance: bool = False
    sides: Callable[[Truths], Truths] = out_and_in

    def measure(self, values: Numbers, out: Truths) -> Measure:
        """It, of images with these values of which these are out."""

        def remake(some: NDArray[np.int64]) -> Numbers:
            if out[some].all() or not out[some].any():
                return np.full((len(some), 1), np.nan)
            return detection.detection_values(values[some], out[some], self.of)[:, None]

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


AUROC = Judge("auroc", "area under the receiver operating curve, out against in", detection.auroc)
AUPR = Judge(
    "aupr",
    "area under the precision-recall curve as average precision, out positive",
    detection.average_precision,
    chance=True,
)
AUPR_TRAPEZOID = Judge(
    "aupr_trapezoid",
    "area under the precision-recall curve by trapezoids, out positive",
    detection.trapezoid_precision,
    chance=True,
)
FPR95 = Judge(
    "fpr95",
    "share of in images called out at the first threshold that finds 95 % of the out ones",
    detection.fpr_at_recall,
    sides=in_alone,
)
FPR95_COMPAT = Judge(
    "fpr95_compat",
    "share of in images called out at the threshold whose recall of out images is nearest to 95 %, as in "
    "ImageNet-O's code",
    detection.fpr_near_recall,
    sides=in_alone,
)


def judged(judge: Judge, run: ScoredRun, _seen: Observed, only: str = "") -> list[Measure]:
    """A detection metric of every score, or of one; none where the run has no out images."""
    found = run.detectors
    if found is None:
        return []
    if only:
        _check_asked(only, found)
    return [_measure(judge, score, found) for score in ([only] if only else found.values)]


def _check_asked(score: str, found: Outside) -> None:
    if score not in WORDS:
        raise unknown_name("out-of-distribution score", score, WORDS)
    if score in OF_LOGITS and score not in found.values:
        allowed = ", ".join(found.values)
        raise UserError(
            f"{score} needs logits, and the model gives probabilities, which have lost them; ask for "
            f"{allowed}."
        )
    if score not in found.values:
        raise UserError(
            f"There is no {score}: {found.why_no_kl_matching}; give more clean images of each class."
        )


def _measure(judge: Judge, score: str, found: Outside) -> Measure:
    taken = found.taken_by(score)
    out = found.out[taken]
    made_of = f"; templates of {found.template.sum():,} images" if score == KL_MATCHING else ""
    chance = f"; a score that says nothing has {100 * out.mean():.1f} %" if judge.chance else ""
    lost = int(found.not_finite[taken].sum())
    ranked = f"; {counted(lost, 'output is', 'outputs are')} not finite and ranked wrong" if lost else ""
    return replace(
        judge.measure(found.values[score][taken], out),
        condition=score,
        formula=f"{judge.words}; score: {WORDS[score]}",
        rows=found.rows[taken],
        detail=f"{out.sum():,} out, {(~out).sum():,} in{made_of}{chance}{ranked}",
    )


def lost_scores(run: ScoredRun) -> list[str]:
    """Which out-of-distribution scores a run does not have, and why, a sentence each."""
    if not part_of_role(run, "out") or not needing("ood scores", run.metrics):
        return []
    found = run.detectors
    if found is None:
        return []
    lacking = [one for one in OF_LOGITS if one not in found.values]
    lines = (
        [f"No {', no '.join(lacking)}: the model gives probabilities, which have lost what they measure."]
        if lacking
        else []
    )
    return lines + ([] if KL_MATCHING in found.values else [f"No {KL_MATCHING}: {found.why_no_kl_matching}."])


def detection_notes(run: ScoredRun) -> list[str]:
    """What a reader of detection scores must know."""
    if not part_of_role(run, "out") or not needing("ood scores", run.metrics):
        return []
    found = run.detectors
    lines = ["AUPR depends on how many images are out: compare it only at the same numbers of both."]
    if found and KL_MATCHING in found.values:
        scored = found.out[found.taken_by(KL_MATCHING)]
        fewer = int((~found.out).sum() - (~scored).sum())
        lines.append(
            f"{KL_MATCHING} is judged on {fewer:,} fewer ID images, those chosen for its templates: its AUPR "
            "has a different chance level and must not be ranked with the others."
        )
        unused = fewer - int(found.template.sum())
        if unused:
            lines.append(
                f"The templates of {KL_MATCHING} do not use {unused:,} of these ID images: their outputs are "
                "not finite."
            )
        shared = int(found.out.sum() - scored.sum())
        if shared:
            lines.append(
                f"{KL_MATCHING} leaves out {counted(shared, 'OOD image')}: their groups also have images "
                "that its templates are made of."
            )
    return lines + lost_scores(run)
