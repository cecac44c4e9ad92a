"""Classes that overlap: one is above the other in a hierarchy, or models confuse them in both directions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from windtunnel.data.class_hierarchy import Parents
from windtunnel.data.wordnet import ancestors

# Two classes are confused with each other if at least this share of each one's candidates is predicted as
# the other, and each has at least this many candidates.
CONFUSED_SHARE = 0.25
LEAST_CANDIDATES = 4


@dataclass(frozen=True)
class Relation:
    """Where a class is: `above` or `below` another class."""

    place: str
    other: str


def relations(names: Iterable[str], known: Collection[str], parents: Parents) -> dict[str, Relation]:
    """The classes among `names` that are above or below one of the known classes, and of which.

    A class that is above several known classes is above the first of them by name; likewise below.
    """
    below: dict[str, str] = {}
    for other in sorted(known):
        for above in ancestors(other, parents) - {other}:
            below.setdefault(above, other)
    found: dict[str, Relation] = {}
    for name in names:
        if name in below:
            found[name] = Relation("above", below[name])
        elif over := sorted((ancestors(name, parents) - {name}).intersection(known)):
            found[name] = Relation("below", over[0])
    return found


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
