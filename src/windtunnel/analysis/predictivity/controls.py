"""One correlation with its controls: what clean accuracy explains, and how sure the rest is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from windtunnel.analysis.model_tables.table import Classes, Floats
from windtunnel.analysis.predictivity.vectors import Vector
from windtunnel.stats.correlation import (
    SAME_CORRELATION,
    correlation_interval,
    correlation_replicates,
    correlation_without_partial,
    partial_correlation,
    pearson,
    permuted_correlations,
    shared_term_correlation,
    spearman,
)
from windtunnel.stats.intervals import Groups

# Models that remain when a family is left out.
FEWEST_LEFT = 4
# What is held constant: one column of clean accuracies, or those of predictor and target if they differ.
CLEAN_ACCURACY = "clean accuracy"
BOTH_CLEAN_ACCURACIES = "the two clean accuracies"


@dataclass(frozen=True)
class Pair:
    """How well one benchmark predicts another over models. Numbers are None where they are undefined.

    Attributes:
        predictor, target: the benchmarks.
        models: number of models.
        kind: what is correlated, such as `drops` or `errors`.
        r, p: Pearson's correlation and its p-value for independent models.
        low, high: 95 % interval: bootstrap over models or families; Fisher's for fewer than 10 models.
        spearman: Spearman's rank correlation.
        given: what the partial correlation holds constant: `clean accuracy`, `the two clean accuracies` or
            `accuracy on fog:1`.
        held_constant: its columns: the target's clean accuracy, and the predictor's if it is another one.
        partial, partial_p: partial correlation and its p-value.
        partial_low, partial_high: its interval.
        from_clean: r expected if the two shared nothing but what `given` explains.
        from_clean_low, from_clean_high: the middle 95 % of r when the rest is shuffled.
        from_clean_p: two-sided permutation p-value of r: twice the share of shuffles beyond it.
        from_subtraction: r expected if the accuracies were independent and only the subtracted clean
            accuracies were shared.
        family_low, family_high: smallest and largest r with one family left out.
        family_left_out: the family whose absence changes r most.
        families: number of families.
        families_left_out: number of them without which r is defined, for at least 4 other models.
        classes: whether clean and shifted accuracies are over the same classes.
    """

    predictor: str
    target: str
    models: int
    kind: str
    r: float | None
    p: float | None
    low: float | None
    high: float | None
    spearman: float | None
    given: str
    held_constant: tuple[str, ...]
    partial: float | None
    partial_p: float | None
    partial_low: float | None
    partial_high: float | None
    from_clean: float | None
    from_clean_low: float | None
    from_clean_high: float | None
    from_clean_p: float | None
    from_subtraction: float | None
    family_low: float | None
    family_high: float | None
    family_left_out: str
    families: int
    families_left_out: int
    classes: Classes

    def to_json(self) -> dict[str, Any]:
        """The pair as a JSON object."""
        return asdict(self)


def measure_pair(
    predictor: str,
    target: str,
    x: Vector,
    y: Vector,
    *,
    families: Sequence[str],
    classes: Classes,
    stand_in: tuple[str, Floats] | None = None,
    groups: Groups = None,
    seed: int = 0,
) -> Pair:
    """The correlation of two vectors with every control.

    Args:
        predictor, target: names of the benchmarks.
        x, y: their vectors over the same models.
        families: the family of every model, for leaving one out.
        classes: whether clean and shifted accuracies are over the same classes.
        stand_in: name and accuracies of the setting that is held constant if no clean accuracy is known.
        groups: family numbers, to resample families instead of models.
        seed: of bootstrap and permutations.
    """
    models = len(x.values)
    found = pearson(x.values, y.values)
    # Values that differ by rounding alone have no other correlations either.
    ranks = spearman(x.values, y.values) if found else None
    given_name, held_constant, given = _given(x, y, stand_in)
    partial = None if given is None or not found else partial_correlation(x.values, y.values, given)
    low = high = partial_low = partial_high = expected = None
    spread: tuple[float | None, float | None, float | None] = (None, None, None)
    if found:
        low, high = correlation_interval(found.r, _replicates(x, y, None, groups, seed), models, groups)
    if found and partial and given is not None:
        replicates = _replicates(x, y, given, groups, seed)
        partial_low, partial_high = correlation_interval(
            partial.r, replicates, models, groups, given.shape[1]
        )
        expected = correlation_without_partial(x.values, y.values, given)
        spread = _permuted(x, y, given, found.r, seed)
    without = _without_each_family(x.values, y.values, families)
    r = found.r if found else 0.0
    return Pair(
        predictor=predictor,
        target=target,
        models=models,
        kind=f"{x.kind}s" if x.kind == y.kind else f"{x.kind} and {y.kind}",
        r=found.r if found else None,
        p=found.p if found else None,
        low=low,
        high=high,
        spearman=ranks.r if ranks else None,
        given=given_name,
        held_constant=held_constant,
        partial=partial.r if partial else None,
        partial_p=partial.p if partial else None,
        partial_low=partial_low,
        partial_high=partial_high,
        from_clean=expected,
        from_clean_low=spread[0],
        from_clean_high=spread[1],
        from_clean_p=spread[2],
        from_subtraction=_from_subtraction(x, y),
        family_low=min(without.values(), default=None),
        family_high=max(without.values(), default=None),
        family_left_out=max(without, key=lambda family: abs(without[family] - r), default=""),
        families=len(set(families)),
        families_left_out=len(without),
        classes=classes,
    )


def _given(
    x: Vector, y: Vector, stand_in: tuple[str, Floats] | None
) -> tuple[str, tuple[str, ...], Floats | None]:
    """What is held constant, its columns and values: the clean accuracies of both, or their stand-in."""
    cleans = {vector.clean_name: vector.clean for vector in (y, x) if vector.clean is not None}
    if cleans:
        name = CLEAN_ACCURACY if len(cleans) == 1 else BOTH_CLEAN_ACCURACIES
        return name, tuple(cleans), np.stack(list(cleans.values()), axis=1)
    if stand_in is not None and stand_in[0]:
        return f"accuracy on {stand_in[0]}", (stand_in[0],), stand_in[1][:, None]
    return "", (), None


def _replicates(x: Vector, y: Vector, given: Floats | None, groups: Groups, seed: int) -> Floats:
    ((_, replicates),) = correlation_replicates(
        x.values[:, None], y.values[:, None], given=given, groups=groups, seed=seed
    )
    return replicates[:, 0, 0]


def _permuted(
    x: Vector, y: Vector, given: Floats, r: float, seed: int
) -> tuple[float | None, float | None, float | None]:
    """The middle 95 % of correlations that clean accuracy alone gives, and the permutation p-value of r."""
    shuffled = permuted_correlations(x.values, y.values, given, seed=seed)
    shuffled = shuffled[np.isfinite(shuffled)]
    if not len(shuffled):
        return None, None, None
    low, high = np.quantile(shuffled, (0.025, 0.975))
    # A shuffle that changes nothing gives r, up to rounding.
    above, below = shuffled >= r - SAME_CORRELATION, shuffled <= r + SAME_CORRELATION
    beyond = min(int(above.sum()), int(below.sum()))
    return float(low), float(high), min(1.0, 2 * (1 + beyond) / (1 + len(shuffled)))


def _from_subtraction(x: Vector, y: Vector) -> float | None:
    if x.clean is None or y.clean is None or x.shifted is None or y.shifted is None:
        return None
    return shared_term_correlation(x.clean, x.shifted, y.clean, y.shifted)


def _without_each_family(x: Floats, y: Floats, families: Sequence[str]) -> dict[str, float]:
    """r without each family, for families without which enough models remain and vary."""
    names = np.array(families)
    without: dict[str, float] = {}
    for family in np.unique(names):
        kept = names != family
        if kept.sum() >= FEWEST_LEFT and (rest := pearson(x[kept], y[kept])):
            without[str(family)] = rest.r
    return without
