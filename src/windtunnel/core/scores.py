"""A score: a number with its interval, its n, its formula in words, and the conditions it is made of."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field


@dataclass(frozen=True)
class Score:
    """One number and what it means.

    Attributes:
        metric: its name.
        condition: under which condition, or "" for a score over several.
        value: a fraction.
        low, high: 95 % interval.
        n: images it rests on.
        formula: in words.
        parts: the conditions it is made of.
        recipe: digest of the run's recipe.
        corruption: name of the corruption or perturbation; "" where it has none, or is over several.
        severity: 1..5; None where it has none, or is over several.
        codec: how the images were stored before the model saw them; "" where it is over several.
    """

    metric: str
    condition: str
    value: float
    low: float
    high: float
    n: int
    formula: str
    parts: tuple[str, ...] = field(default=())
    recipe: str = ""
    corruption: str = ""
    severity: int | None = None
    codec: str = ""

    def to_json(self) -> dict[str, object]:
        """The score as JSON keeps it."""
        return asdict(self) | {"parts": list(self.parts)}


@dataclass(frozen=True)
class Facets:
    """The parts of a condition's name as values of their own.

    Attributes:
        corruption: name of the corruption, or of a sequence's perturbation without `seq/`; "" for clean and
            native images, pipeline steps and scores over several corruptions.
        severity: 1..5; None where there is none, or the score is over several.
        codec: how the images were stored before the model saw them; "" for scores over several codecs.
    """

    corruption: str = ""
    severity: int | None = None
    codec: str = ""


# Of scores that are of no single condition.
NO_FACETS = Facets()
