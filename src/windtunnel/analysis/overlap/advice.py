"""What a benchmark should contain, according to an overlap study: facts, with the numbers behind them."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from windtunnel.analysis.overlap.category_analysis import CategoryAnalysis
from windtunnel.analysis.overlap.selection import least_overlapping, representatives

# Two corruptions that overlap more than this measure nearly the same.
REDUNDANT = 0.8
# A corruption that overlaps no other by as much as this is covered by none.
UNCOVERED = 0.2
# An interval wider than this leaves open whether two corruptions overlap little or much.
WIDE = 0.5
# A candidate that has its category in a smaller share of replicates may belong to another.
STABLE = 0.8
# Candidates of every category in the paper's benchmark.
EACH = 3


@dataclass(frozen=True)
class Recommendation:
    """The candidates of one category that overlap least.

    Attributes:
        category: the category.
        size: number of its candidates.
        chosen: the recommended ones: as many as asked for, as the category has, or as are not redundant.
        overlap: mean overlap of the chosen ones; None for one.
        category_overlap: mean overlap over all pairs of the category; None for one candidate.
    """

    category: int
    size: int
    chosen: tuple[str, ...]
    overlap: float | None
    category_overlap: float | None

    @property
    def combinations(self) -> int:
        """The number of combinations of as many candidates whose overlaps were compared."""
        return math.comb(self.size, len(self.chosen)) if len(self.chosen) > 1 else 1


@dataclass(frozen=True)
class Pair:
    """Two candidates with their overlap and its interval, whose ends are None if they are unknown."""

    first: str
    second: str
    overlap: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class UnstableMember:
    """A candidate whose category is uncertain.

    Attributes:
        candidate: the candidate.
        category: its category.
        share: mean share of replicates in which it has the category of each other member.
        rival: the other category with which it agrees most.
        rival_share: mean share of replicates in which it has the category of each member of the rival.
    """

    candidate: str
    category: int
    share: float
    rival: int
    rival_share: float


@dataclass(frozen=True)
class Advice:
    """What a benchmark should contain.

    Attributes:
        recommended: candidates of every category.
        redundant: pairs that overlap more than 0.8, the largest overlap first.
        uncovered: candidates that overlap no other by 0.2, each with the one that it overlaps most.
        unstable: candidates whose category is uncertain.
        perhaps_redundant: number of other pairs whose interval reaches above 0.8.
        wide: number of pairs with an interval wider than 0.5.
        pairs: number of pairs with an interval.
    """

    recommended: tuple[Recommendation, ...]
    redundant: tuple[Pair, ...]
    uncovered: tuple[Pair, ...]
    unstable: tuple[UnstableMember, ...]
    perhaps_redundant: int
    wide: int
    pairs: int

    def to_json(self) -> dict[str, Any]:
        """The advice as a JSON object."""
        return asdict(self)


def advice_of(analysis: CategoryAnalysis, each: int = EACH) -> Advice:
    """What a benchmark with up to `each` candidates per category should contain.

    Of each category, those that overlap least are recommended: as many as possible without a redundant pair,
    or else the one that overlaps most with the category.
    """
    names = analysis.categories.candidates
    pairs = [_pair(analysis, first, second) for first, second in combinations(names, 2)]
    redundant = sorted((pair for pair in pairs if pair.overlap > REDUNDANT), key=lambda pair: -pair.overlap)
    nearest = [_nearest(analysis, name) for name in names]
    widths = [pair.high - pair.low for pair in pairs if pair.low is not None and pair.high is not None]
    return Advice(
        tuple(_recommendation(analysis, category, each) for category in analysis.categories.members),
        tuple(redundant),
        tuple(pair for pair in nearest if pair.overlap < UNCOVERED),
        tuple(_unstable(analysis)),
        sum(pair.overlap <= REDUNDANT and pair.high is not None and pair.high > REDUNDANT for pair in pairs),
        sum(width > WIDE for width in widths),
        len(widths),
    )


def _pair(analysis: CategoryAnalysis, first: str, second: str) -> Pair:
    return Pair(first, second, analysis.overlap(first, second), *analysis.interval(first, second))


def _nearest(analysis: CategoryAnalysis, name: str) -> Pair:
    """A candidate with the one that it overlaps most."""
    others = (_pair(analysis, name, other) for other in analysis.categories.candidates if other != name)
    return max(others, key=lambda pair: pair.overlap)


def _recommendation(analysis: CategoryAnalysis, category: int, each: int) -> Recommendation:
    names = analysis.categories.candidates
    members = analysis.categories.members[category]
    if len(members) == 1:
        return Recommendation(category, 1, members, None, None)
    places = [names.index(name) for name in members]
    values = analysis.values
    of_category, _ = least_overlapping(values, places, len(members))
    mean: float | None = None
    chosen: tuple[int, ...] = tuple(representatives(values, places)[:1])
    for count in range(min(each, len(members)), 1, -1):
        least, candidates = least_overlapping(values, places, count)
        if all(values[pair] <= REDUNDANT for pair in combinations(candidates, 2)):
            mean, chosen = least, candidates
            break
    return Recommendation(category, len(members), tuple(names[place] for place in chosen), mean, of_category)


def _unstable(analysis: CategoryAnalysis) -> list[UnstableMember]:
    stability, members = analysis.stability, analysis.categories.members
    if stability is None:
        return []
    unstable = []
    for category, own in members.items():
        for name in own:
            share = stability.membership(name, own)
            rivals = [
                (rival_share, rival)
                for rival, others in members.items()
                if rival != category and (rival_share := stability.membership(name, others)) is not None
            ]
            if share is not None and share < STABLE and rivals:
                rival_share, rival = max(rivals)
                unstable.append(UnstableMember(name, category, share, rival, rival_share))
    return sorted(unstable, key=lambda member: member.share)
