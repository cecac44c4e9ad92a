"""Classes that overlap: one is above the other in a hierarchy, or models confuse them in both directions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from windtunnel.data.wordnet import ancestors

# Two classes are confused with each other if at least this share of each one's candidates is predicted as
# the other, and each has at least this many candidates.
CONFUSED_SHARE = 0.25
LEAST_CANDIDATES = 4

Parents = Mapping[str, frozenset[str]]


def related(name: str, others: Iterable[str], parents: Parents) -> str:
    """A class among others that is the class itself, above it or below it; "" for none."""
    above = ancestors(name, parents)
    for other in sorted(others):
        if other in above or name in ancestors(other, parents):
            return other
    return ""


def hierarchy_overlaps(classes: Sequence[str], parents: Parents) -> list[tuple[str, str]]:
    """The pairs of classes of which the second is above the first."""
    chosen = set(classes)
    return sorted((name, other) for name in chosen for other in ancestors(name, parents) & chosen - {name})


def confusion_overlaps(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pairs of classes that are confused in both directions, from (true class, predicted class)."""
    counts = Counter(pairs)
    total: Counter[str] = Counter()
    for (true, _), number in counts.items():
        total[true] += number

    def frequent(true: str, predicted: str) -> bool:
        enough = total[true] >= LEAST_CANDIDATES
        return enough and counts[true, predicted] >= CONFUSED_SHARE * total[true]

    return sorted(
        (true, predicted)
        for true, predicted in counts
        if true < predicted and frequent(true, predicted) and frequent(predicted, true)
    )
