"""A score: a number with its confidence interval, its n, its formula, and its conditions."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field


@dataclass(frozen=True)
class Score:
    """One number with its meaning.

    Attributes:
        metric: name of the metric.
        condition: name of the condition, or "" for a score over several.
        value: a fraction.
        low, high: 95 % confidence interval.
        n: number of images.
        formula: the formula in words.
        parts: the conditions it is computed from.
        recipe: digest of the run's recipe.
        corruption: name of the corruption or perturbation; "" for none, or for a score over several.
        severity: 1..5; None for none, or for a score over several.
        codec: how the images were stored before the model saw them; "" for a score over several.
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
        """The score as JSON stores it."""
        return asdict(self) | {"parts": list(self.parts)}


@dataclass(frozen=True)
class Facets:
    """The parts of a condition's name as separate values.

    Attributes:
        corruption: name of the corruption, or of a sequence's perturbation without `seq/`; "" for clean and
            native images, pipeline steps and scores over several corruptions.
        severity: 1..5; None for none, or for a score over several.
        codec: how the images were stored before the model saw them; "" for scores over several codecs.
    """

    corruption: str = ""
    severity: int | None = None
    codec: str = ""


# Facets of scores over several conditions.
NO_FACETS = Facets()
