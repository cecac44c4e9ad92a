"""The result of an experiment: how variants of a training differ from a baseline, with verdicts.

A pure function of predictions: which test images the models of every variant and seed classify correctly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from windtunnel.analysis.experiment_results import (
    CLEAN,
    HELPS,
    HURTS,
    UNCLEAR,
    Choice,
    DifferenceResult,
    ExperimentResults,
    ScoreKey,
    ScoreResult,
    SuiteConditions,
    VariantFacts,
    VariantResult,
)
from windtunnel.analysis.training_overlap import seen_in_training
from windtunnel.core.wording import counted, listed
from windtunnel.stats.multiple_tests import SIGNIFICANT, holm
from windtunnel.stats.seed_differences import SeedVariance, seed_difference, seed_variance

SAME_WEIGHTS, PAIRED, UNPAIRED = "same weights", "paired", "unpaired"

# By condition, whether each prediction is correct: (seeds, images).
Correct = Mapping[str, NDArray[np.bool_]]
# By score, its conditions, and the corruption of each.
Members = Mapping[ScoreKey, tuple[list[str], dict[str, str]]]


@dataclass(frozen=True)
class Tested:
    """A variant with its predictions.

    Attributes:
        facts: what distinguishes it.
        correct: by condition, whether each prediction is correct; empty if it failed. The conditions of the
            suite for choosing have other images than those of reported suites.
        failed: why it has none.
    """

    facts: VariantFacts
    correct: Correct
    failed: str = ""

    @property
    def name(self) -> str:
        """The name of the variant."""
        return self.facts.name

    @property
    def weights(self) -> str:
        """The variant that its weights were trained in: itself, or the one that it wraps."""
        return self.facts.of or self.facts.name

    @property
    def seeds(self) -> int:
        """The number of its trainings."""
        return len(next(iter(self.correct.values())))


def experiment_results(
    name: str,
    baseline: str,
    variants: Sequence[Tested],
    suites: Sequence[SuiteConditions],
    choosing: SuiteConditions | None = None,
    notes: Sequence[str] = (),
) -> ExperimentResults:
    """Errors, differences to the baseline and verdicts of all variants.

    Args:
        name: the title.
        baseline: the variant to compare with.
        variants: the variants.
        suites: the suites to report.
        choosing: the suite on which the best variant is chosen.
        notes: notes for the reader.
    """
    finished = [variant for variant in variants if not variant.failed]
    seeds, images = finished[0].correct[suites[0].clean].shape if finished else (0, 0)
    comparisons = _Comparisons(finished)
    base = next((variant for variant in finished if variant.name == baseline), None)
    members = _members(suites)
    results = [_result(variant, base, members, suites, comparisons) for variant in variants]
    judged = [
        difference.p
        for result in results
        for score in result.scores
        if (difference := score.difference) is not None and difference.p is not None
    ]
    adjusted = iter(holm(judged))
    choice = _choice(choosing, finished, comparisons) if choosing and finished else None
    return ExperimentResults(
        name=name,
        baseline=baseline,
        seeds=seeds,
        images=images,
        suites=tuple(suites),
        variants=tuple(_with_verdicts(result, adjusted) for result in results),
        comparisons=len(judged),
        choice=choice,
        notes=(*notes, *_notes(baseline, variants, suites, seeds, choosing if choice is None else None)),
    )


def _members(suites: Sequence[SuiteConditions]) -> Members:
    """By score, its conditions and their corruptions; `clean` once if all suites share it."""
    members: dict[ScoreKey, tuple[list[str], dict[str, str]]] = {}
    shared = len({suite.clean for suite in suites}) == 1
    for suite in suites:
        members["" if shared else suite.name, CLEAN] = [suite.clean], {}
    for suite in suites:
        for score, conditions in suite.members().items():
            members[suite.name, score] = conditions, {name: suite.units[name] for name in conditions}
    return members


@dataclass(frozen=True)
class _Comparisons:
    """Compares variants with each other; pools the variance between seeds over all that finished."""

    finished: Sequence[Tested]

    def difference(self, new: Tested, old: Tested, conditions: Sequence[str]) -> DifferenceResult:
        """The difference of two variants in their mean error over conditions; without verdict.

        The p-value is None if the variance between trainings is not known.
        """
        variance = self._variance(new, old, conditions)
        found = seed_difference(
            errors_of(new.correct, conditions), errors_of(old.correct, conditions), variance
        )
        judged = new.seeds > 1 or pairing(new, old) == SAME_WEIGHTS
        return DifferenceResult(
            found.value, found.low, found.high, found.p if judged else None, own_variance=found.own_variance
        )

    def _variance(self, new: Tested, old: Tested, conditions: Sequence[str]) -> SeedVariance:
        """The variance between seeds, pooled over the variants that are comparable in this respect."""
        paired = pairing(new, old)
        if paired == SAME_WEIGHTS:
            group = [variant for variant in self.finished if variant.weights == new.weights]
        else:
            group = [variant for variant in self.finished if not variant.facts.of]
            if paired == PAIRED:
                group = [variant for variant in group if variant.facts.order == new.facts.order]
        scores = np.array([errors_of(variant.correct, conditions).mean(axis=1) for variant in group])
        return seed_variance(scores, paired=paired != UNPAIRED)


def pairing(new: Tested, old: Tested) -> str:
    """How the seeds of two variants belong together."""
    if new.weights == old.weights:
        return SAME_WEIGHTS
    return PAIRED if new.facts.order == old.facts.order else UNPAIRED


def errors_of(correct: Correct, conditions: Sequence[str]) -> NDArray[np.float64]:
    """The share of conditions under which each image is classified wrongly, (seeds, images)."""
    total = sum((~correct[name]).astype(np.float64) for name in conditions)
    return np.asarray(total / len(conditions), np.float64)


def _result(
    variant: Tested,
    base: Tested | None,
    members: Members,
    suites: Sequence[SuiteConditions],
    comparisons: _Comparisons,
) -> VariantResult:
    if variant.failed:
        return VariantResult(variant.facts, failed=variant.failed)
    other = None if base is None or variant.name == base.name else base
    scores = []
    for (suite, score), (conditions, units) in members.items():
        by_seed = errors_of(variant.correct, conditions).mean(axis=1)
        scores.append(
            ScoreResult(
                suite=suite,
                score=score,
                error=float(by_seed.mean()),
                by_seed=tuple(map(float, by_seed)),
                difference=comparisons.difference(variant, other, conditions) if other else None,
                seen=seen_in_training(variant.facts.trained_on, tuple(dict.fromkeys(units.values()))),
            )
        )
    spread = {
        suite.name: tuple(
            float(value)
            for value in np.std([variant.correct[name].mean(axis=1) for name in suite.units], axis=0)
        )
        for suite in suites
    }
    return VariantResult(variant.facts, tuple(scores), spread, pairing(variant, other) if other else "")


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


def _choice(suite: SuiteConditions, finished: Sequence[Tested], comparisons: _Comparisons) -> Choice | None:
    """The best variant on corruptions that no variant was trained on; None if there are none."""
    units = tuple(dict.fromkeys(suite.units.values()))
    seen = {unit for variant in finished for unit in seen_in_training(variant.facts.trained_on, units)}
    conditions = [name for name, unit in suite.units.items() if unit not in seen]
    if not conditions:
        return None
    errors = {variant.name: float(errors_of(variant.correct, conditions).mean()) for variant in finished}
    best = min(finished, key=lambda variant: (errors[variant.name], variant.name))
    compared = {
        variant.name: comparisons.difference(variant, best, conditions).p
        for variant in finished
        if variant is not best
    }
    judged = [name for name, p in compared.items() if p is not None]
    adjusted = dict(zip(judged, holm([compared[name] or 0.0 for name in judged]), strict=True))
    return Choice(
        suite=suite.name,
        best=best.name,
        errors=errors,
        images=best.correct[conditions[0]].shape[1],
        near=tuple(name for name in compared if adjusted.get(name, 1.0) > SIGNIFICANT),
        left_out=tuple(unit for unit in units if unit in seen),
    )


def _notes(
    baseline: str,
    variants: Sequence[Tested],
    suites: Sequence[SuiteConditions],
    seeds: int,
    not_chosen_on: SuiteConditions | None,
) -> Iterator[str]:
    failed = [variant.name for variant in variants if variant.failed]
    if failed:
        yield f"{counted(len(failed), 'variant')} failed: {listed(failed)}."
    if baseline in failed:
        yield f"The baseline {baseline} failed, so that nothing is compared with it."
    if seeds == 1:
        yield (
            "One seed: the intervals do not include the variance between trainings, and trained variants get "
            "no verdict. Give seeds = 3 or more."
        )
    if not_chosen_on is not None and seeds:
        yield (
            f"No variant is chosen: variants were trained on every corruption of {not_chosen_on.name}. Give "
            "another suite as select_on."
        )
    base = next(variant.facts for variant in variants if variant.name == baseline)
    trained = [variant for variant in variants if not variant.facts.of]
    for variant in trained:
        if variant.facts.exposures != base.exposures:
            yield (
                f"{variant.name} uses each training image {variant.facts.exposures} times, and {baseline} "
                f"{base.exposures} times: a part of the difference may come from longer or shorter training."
            )
    scored = tuple(dict.fromkeys(unit for suite in suites for unit in suite.units.values()))
    by_seen: dict[tuple[str, ...], list[str]] = {}
    for variant in trained:
        if not variant.failed:
            by_seen.setdefault(seen_in_training(variant.facts.trained_on, scored), []).append(variant.name)
    for seen, names in by_seen.items():
        if seen:
            was, its = ("were", "their") if len(names) > 1 else ("was", "its")
            yield (
                f"{listed(names)} {was} trained on {listed(seen)}: {its} scores under these corruptions are "
                "no evidence of robustness to others."
            )
