"""The records of an experiment's result: errors, differences to a baseline, verdicts, the chosen variant."""

from __future__ import annotations

import msgspec

from windtunnel.core.records import Number, Record
from windtunnel.stats.intervals import CONFIDENCE

CLEAN, MEAN = "clean", "mean"
HELPS, HURTS, UNCLEAR = "helps", "hurts", "no clear difference"

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
        members = {MEAN: list(self.units)}
        for condition, family in self.families.items():
            if family:
                members.setdefault(family, []).append(condition)
        return members


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
        return next((found for found in self.scores if (found.suite, found.score) == (suite, score)), None)


class Choice(Record, frozen=True):
    """The variant that is best on a suite for choosing.

    Attributes:
        suite: the suite.
        best: the variant with the lowest mean error.
        errors: the mean error of every variant.
        images: the number of test images; no reported score is computed from them.
        near: variants that the best is not clearly better than: an adjusted p above 0.05 (Holm's procedure),
            or a training of which there is only one.
        left_out: the suite's corruptions that a variant was trained on, which would favour it.
    """

    suite: str
    best: str
    errors: dict[str, float]
    images: int
    near: tuple[str, ...]
    left_out: tuple[str, ...] = ()


class ExperimentResults(Record, frozen=True):
    """The result of an experiment.

    Attributes:
        name: its title.
        baseline: the variant that others are compared with.
        seeds: the number of trainings of each variant.
        images: the number of test images that scores are computed from.
        suites: the reported suites.
        variants: the variants, in the order of the file.
        comparisons: the number of judged differences, which Holm's procedure corrects for.
        choice: the best variant; None if none is chosen.
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
        finished = next((variant for variant in self.variants if variant.scores), None)
        return [(score.suite, score.score) for score in finished.scores] if finished else []

    def variant(self, name: str) -> VariantResult:
        """The variant of that name."""
        return next(variant for variant in self.variants if variant.facts.name == name)
