"""Why AlexNet's published errors do not apply to a run, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from windtunnel.core.labels import IMAGENET_1K, INDICES
from windtunnel.core.metrics import Missing
from windtunnel.core.option_names import option

if TYPE_CHECKING:
    from windtunnel.metrics.scored_run import ScoredRun

# The action that is always possible.
OTHER_BASELINE = "normalise by a stored run on the same images: windtunnel score RUN --baseline OTHER_RUN"


@dataclass(frozen=True)
class Misfit:
    """A reason why the published errors do not apply, and an action; "" if no option can change that."""

    reason: str
    cure: str = ""

    @property
    def advice(self) -> str:
        """The action as a sentence."""
        ways = [*([self.cure] if self.cure else []), OTHER_BASELINE]
        text = "; or ".join(ways)
        return f"{text[0].upper()}{text[1:]}."


def joined_misfit(misfits: Sequence[Misfit]) -> Misfit | None:
    """Several misfits joined into one with every reason and every action; None if there are none.

    If one of them has no action, the actions of the others are omitted: they would not help.
    """
    if not misfits:
        return None
    cures = dict.fromkeys(misfit.cure for misfit in misfits)
    return Misfit("; ".join(misfit.reason for misfit in misfits), "; and ".join(cures) if all(cures) else "")


def not_normalised(misfits: Sequence[Misfit], others: Sequence[Misfit] = ()) -> Missing | None:
    """Why a score normalised by AlexNet's errors is missing; None if it is not.

    Args:
        misfits: why AlexNet's published errors do not apply to the run.
        others: other reasons why the score is missing.
    """
    prefix = "AlexNet's published errors do not apply, "
    first = [replace(misfit, reason=prefix + misfit.reason) for misfit in misfits[:1]]
    joined = joined_misfit([*first, *misfits[1:], *others])
    return Missing(joined.reason, joined.cure or "use a metric that is not normalised") if joined else None


def other_classes(run: ScoredRun) -> Misfit | None:
    """Why a run's predictions are not over all of ImageNet's 1,000 classes; None if they are."""
    reason = "they hold for ImageNet's 1,000 classes"
    projection, space = run.projection, run.recipe.data.label_space
    if not projection.counts_all:
        name = "mask" if projection.is_masked else "label_map"
        return Misfit(f"{reason}, without restriction", f"run without {option(name)}")
    if space == IMAGENET_1K:
        return None
    if space == INDICES and len(run.info.data.classes) <= 1000 <= run.recipe.model.classes:
        return Misfit(
            f"{reason}, and this run has unnamed class indices",
            f"if these are ImageNet-1k's, run with {option('labels', 'imagenet-1k')}",
        )
    return Misfit(reason)
