"""The result of an experiment: how variants of a training differ from a baseline, with verdicts.

A pure function of predictions: which test images the models of every variant and seed classify correctly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from windtunnel.analysis.training_overlap import seen_in_training
from windtunnel.core.records import Number, Record
from windtunnel.core.wording import counted, listed
from windtunnel.stats.intervals import CONFIDENCE
from windtunnel.stats.multiple_tests import SIGNIFICANT, holm
from windtunnel.stats.seed_differences import (
    SeedDifference,
    SeedVariance,
    seed_difference,
    seed_variance,
)

CLEAN, MEAN = "clean", "mean"
HELPS, HURTS, UNCLEAR = "helps", "hurts", "no clear difference"
SAME_WEIGHTS, PAIRED, UNPAIRED = "same weights", "paired", "unpaired"

# By condition, whether each prediction is correct: (seeds, images).
Correct = Mapping[str, NDArray[np.bool_]]
ScoreKey = tuple[str, str]


class SuiteConditions(Record, frozen=True):
    """A suite and its conditions, by the names under which predictions are stored.

    Attributes:
        name: the suite, as `name@version`.
        clean: the clean condition.
        units: by corrupted condition, its corruption.
        families: by corrupted condition, the family of its corruption; "" for none.
    """

    name: str
    clean: str
    units: dict[str, str]
    families: dict[str, str]

    def members(self) -> dict[str, list[str]]:
        """By score, its conditions: all for the mean, then those of each family."""
        found = {MEAN: list(self.units)}
        for condition, family in self.families.items():
            if family:
                found.setdefault(family, []).append(condition)
        return found


class VariantFacts(Record, frozen=True):
    """What distinguishes a variant.

    Attributes:
        name: its name.
        group: its name in the file, without the parameters of a grid.
        parameters: the parameters of its grid.
        of: the variant whose trained models it wraps; "" for a training.
        remedies: what is done in training and at test time, as texts.
        trained_on: corruptions that its models have seen in training.
        order: variants of the same order see training images in the same order.
        exposures: how often a training uses each training image: epochs times copies in an epoch.
    """

    name: str
    group: str
    parameters: dict[str, Number | str] = msgspec.field(default_factory=dict)
    of: str = ""
    remedies: tuple[str, ...] = ()
    trained_on: tuple[str, ...] = ()
    order: str = ""
    exposures: int = 0


class DifferenceResult(Record, frozen=True):
    """The difference of a score to that of the baseline: a fraction, negative is better.

    Attributes:
        value, low, high: the difference and its 95 % interval.
        p: two-sided p-value of no difference; None if it is not judged.
        adjusted_p: after Holm's procedure over all judged differences.
        verdict: `helps`, `hurts`, `no clear difference`; "" if it is not judged.
        own_variance: whether the variance between seeds is that of the two variants alone.
    """

    value: float
    low: float
    high: float
    p: float | None = None
    adjusted_p: float | None = None
    verdict: str = ""
    own_variance: bool = False


class ScoreResult(Record, frozen=True):
    """A top-1 error of a variant.

    Attributes:
        suite: the suite; "" if all suites share it.
        score: `clean`, `mean` or a family.
        error: the mean over seeds, images and conditions, a fraction.
        by_seed: the error of each training.
        difference: to the baseline; None for the baseline itself, and if the baseline failed.
        seen: the score's corruptions that the models were trained on.
    """

    suite: str
    score: str
    error: float
    by_seed: tuple[float, ...]
    difference: DifferenceResult | None = None
    seen: tuple[str, ...] = ()


class VariantResult(Record, frozen=True):
    """The scores of a variant.

    Attributes:
        facts: what distinguishes it.
        scores: its errors; empty if it failed.
        spread: by suite, the standard deviation of the accuracy over conditions, for each seed.
        pairing: how it is compared with the baseline: `same weights`, `paired` or `unpaired` seeds; "" for
            the baseline.
        failed: why there is no result.
    """

    facts: VariantFacts
    scores: tuple[ScoreResult, ...] = ()
    spread: dict[str, tuple[float, ...]] = msgspec.field(default_factory=dict)
    pairing: str = ""
    failed: str = ""

    def score(self, suite: str, score: str) -> ScoreResult | None:
        """A score; None if it has none."""
        return next((one for one in self.scores if (one.suite, one.score) == (suite, score)), None)


class Choice(Record, frozen=True):
    """The variant that is best on a suite for choosing.

    Attributes:
        suite: the suite.
        best: the variant with the lowest mean error.
        errors: the mean error of every variant.
        not_worse: variants whose 95 % interval of the difference to the best includes 0.
        seen: the suite's corruptions that the best was trained on.
    """

    suite: str
    best: str
    errors: dict[str, float]
    not_worse: tuple[str, ...]
    seen: tuple[str, ...] = ()


class ExperimentResults(Record, frozen=True):
    """The result of an experiment.

    Attributes:
        name: its title.
        baseline: the variant that others are compared with.
        seeds, images: numbers of trainings of each variant and of test images.
        suites: the reported suites.
        variants: the variants, in the order of the file.
        comparisons: the number of judged differences, which Holm's procedure corrects for.
        choice: the best variant; None without a suite for choosing.
        confidence: confidence level of the intervals.
        notes: notes for the reader.
    """

    name: str
    baseline: str
    seeds: int
    images: int
    suites: tuple[SuiteConditions, ...]
    variants: tuple[VariantResult, ...]
    comparisons: int = 0
    choice: Choice | None = None
    confidence: float = CONFIDENCE
    notes: tuple[str, ...] = ()

    @property
    def scores(self) -> list[ScoreKey]:
        """Suite and name of every score, in the order of the table."""
        finished = next((one for one in self.variants if one.scores), None)
        return [(score.suite, score.score) for score in finished.scores] if finished else []

    def variant(self, name: str) -> VariantResult:
        """The variant of that name."""
        return next(one for one in self.variants if one.facts.name == name)


@dataclass(frozen=True)
class Tested:
    """A variant with its predictions.

    Attributes:
        facts: what distinguishes it.
        correct: by condition, whether each prediction is correct; empty if it failed.
        failed: why it has none.
    """

    facts: VariantFacts
    correct: Correct
    failed: str = ""


def experiment_results(
    name: str,
    baseline: str,
    tested: Sequence[Tested],
    suites: Sequence[SuiteConditions],
    choosing: SuiteConditions | None = None,
    notes: Sequence[str] = (),
) -> ExperimentResults:
    """Errors, differences to the baseline and verdicts of all variants.

    Args:
        name: the title.
        baseline: the variant to compare with.
        tested: the variants.
        suites: the suites to report.
        choosing: the suite on which the best variant is chosen.
        notes: notes for the reader.
    """
    finished = {one.facts.name: one for one in tested if not one.failed}
    shape = next((values.shape for one in finished.values() for values in one.correct.values()), (0, 0))
    judge = _Judge(baseline, finished)
    members = _members(suites)
    results = [_result(one, members, suites, judge) for one in tested]
    judged = [
        difference.p
        for result in results
        for score in result.scores
        if (difference := score.difference) is not None and difference.p is not None
    ]
    adjusted = iter(holm(judged))
    return ExperimentResults(
        name=name,
        baseline=baseline,
        seeds=shape[0],
        images=shape[1],
        suites=tuple(suites),
        variants=tuple(_with_verdicts(result, adjusted) for result in results),
        comparisons=len(judged),
        choice=_choice(choosing, finished, judge) if choosing and finished else None,
        notes=(*notes, *_notes(baseline, tested, suites, shape[0])),
    )


def _members(suites: Sequence[SuiteConditions]) -> dict[ScoreKey, tuple[list[str], dict[str, str]]]:
    """By score, its conditions and their corruptions; `clean` once if all suites share it."""
    members: dict[ScoreKey, tuple[list[str], dict[str, str]]] = {}
    shared = len({suite.clean for suite in suites}) == 1
    for suite in suites:
        members["" if shared else suite.name, CLEAN] = [suite.clean], {}
    for suite in suites:
        for score, conditions in suite.members().items():
            members[suite.name, score] = conditions, {name: suite.units[name] for name in conditions}
    return members


class _Judge:
    """Compares variants with the baseline; pools the variance between seeds."""

    def __init__(self, baseline: str, finished: Mapping[str, Tested]) -> None:
        self._baseline = finished.get(baseline)
        self._finished = finished

    def pairing(self, facts: VariantFacts) -> str:
        """How the seeds of a variant and the baseline belong together."""
        base = self._baseline
        if base is None or facts.name == base.facts.name:
            return ""
        return self._pairing(facts, base.facts)

    def _pairing(self, facts: VariantFacts, other: VariantFacts) -> str:
        if (facts.of or facts.name) == (other.of or other.name):
            return SAME_WEIGHTS
        return PAIRED if facts.order == other.order else UNPAIRED

    def difference(self, one: Tested, conditions: Sequence[str]) -> DifferenceResult | None:
        """The difference of a variant to the baseline; without verdict."""
        base = self._baseline
        if base is None or one.facts.name == base.facts.name:
            return None
        found = self.compared(one, base, conditions)
        seeds = next(iter(one.correct.values())).shape[0]
        judged = seeds > 1 or self.pairing(one.facts) == SAME_WEIGHTS
        return DifferenceResult(
            found.value, found.low, found.high, found.p if judged else None, own_variance=found.own_variance
        )

    def compared(self, new: Tested, old: Tested, conditions: Sequence[str]) -> SeedDifference:
        """The difference of two variants in their mean error over conditions."""
        variance = self._variance(new.facts, old.facts, conditions)
        return seed_difference(
            errors_of(new.correct, conditions), errors_of(old.correct, conditions), variance
        )

    def _variance(self, new: VariantFacts, old: VariantFacts, conditions: Sequence[str]) -> SeedVariance:
        """The variance between seeds, pooled over the variants that are comparable in this respect."""
        pairing = self._pairing(new, old)
        if pairing == SAME_WEIGHTS:
            trained = new.of or new.name
            group = [one for one in self._finished.values() if trained in (one.facts.of, one.facts.name)]
        else:
            group = [one for one in self._finished.values() if not one.facts.of]
            if pairing == PAIRED:
                group = [one for one in group if one.facts.order == new.order]
        scores = np.array([errors_of(one.correct, conditions).mean(axis=1) for one in group])
        return seed_variance(scores, paired=pairing != UNPAIRED)


def errors_of(correct: Correct, conditions: Sequence[str]) -> NDArray[np.float64]:
    """The share of conditions under which each image is classified wrongly, (seeds, images)."""
    total = sum((~correct[name]).astype(np.float64) for name in conditions)
    return np.asarray(total / len(conditions), np.float64)


def _result(
    one: Tested,
    members: Mapping[ScoreKey, tuple[list[str], dict[str, str]]],
    suites: Sequence[SuiteConditions],
    judge: _Judge,
) -> VariantResult:
    if one.failed:
        return VariantResult(one.facts, failed=one.failed)
    scores = []
    for (suite, score), (conditions, units) in members.items():
        by_seed = errors_of(one.correct, conditions).mean(axis=1)
        scores.append(
            ScoreResult(
                suite=suite,
                score=score,
                error=float(by_seed.mean()),
                by_seed=tuple(map(float, by_seed)),
                difference=judge.difference(one, conditions),
                seen=seen_in_training(one.facts.trained_on, tuple(dict.fromkeys(units.values()))),
            )
        )
    spread = {
        suite.name: tuple(
            float(value) for value in np.std([one.correct[name].mean(axis=1) for name in suite.units], axis=0)
        )
        for suite in suites
    }
    return VariantResult(one.facts, tuple(scores), spread, judge.pairing(one.facts))


def _with_verdicts(result: VariantResult, adjusted: Iterator[float]) -> VariantResult:
    """The result with the adjusted p-values, taken in order, and the verdicts that follow from them."""
    scores = []
    for score in result.scores:
        difference = score.difference
        if difference is not None and difference.p is not None:
            p = next(adjusted)
            verdict = UNCLEAR
            if p <= SIGNIFICANT:
                verdict = HELPS if difference.value < 0 else HURTS
            difference = msgspec.structs.replace(difference, adjusted_p=p, verdict=verdict)
        scores.append(msgspec.structs.replace(score, difference=difference))
    return msgspec.structs.replace(result, scores=tuple(scores))


def _choice(suite: SuiteConditions, finished: Mapping[str, Tested], judge: _Judge) -> Choice:
    conditions = list(suite.units)
    errors = {name: float(errors_of(one.correct, conditions).mean()) for name, one in finished.items()}
    best = min(errors, key=lambda name: (errors[name], name))
    not_worse = tuple(
        name
        for name, one in finished.items()
        if name != best and judge.compared(one, finished[best], conditions).low <= 0
    )
    units = tuple(dict.fromkeys(suite.units.values()))
    seen = seen_in_training(finished[best].facts.trained_on, units)
    return Choice(suite.name, best, errors, not_worse, seen)


def _notes(
    baseline: str, tested: Sequence[Tested], suites: Sequence[SuiteConditions], seeds: int
) -> Iterator[str]:
    failed = [one.facts.name for one in tested if one.failed]
    if failed:
        yield f"{counted(len(failed), 'variant')} failed: {listed(failed)}."
    if baseline in failed:
        yield f"The baseline {baseline} failed, so that nothing is compared with it."
    if seeds == 1:
        yield (
            "One seed: the intervals do not include the variance between trainings, and trained variants get "
            "no verdict. Give seeds = 3 or more."
        )
    base = next(one.facts for one in tested if one.facts.name == baseline)
    for one in tested:
        if one.facts.exposures != base.exposures and not one.facts.of:
            yield (
                f"{one.facts.name} uses each training image {one.facts.exposures} times, and {baseline} "
                f"{base.exposures} times: a part of the difference may come from longer or shorter training."
            )
    scored = tuple(dict.fromkeys(unit for suite in suites for unit in suite.units.values()))
    for one in tested:
        seen = seen_in_training(one.facts.trained_on, scored)
        if seen and not one.failed and not one.facts.of:
            yield (
                f"{one.facts.name} was trained on {listed(seen)}: its scores under these corruptions are no "
                "evidence of robustness to others."
            )
