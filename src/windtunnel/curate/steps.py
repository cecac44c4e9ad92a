"""Steps of curation projects: their kinds, their stored records, and the rows of their audits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import msgspec

from windtunnel.core.records import Record

STEP_SCHEMA = 2
# Every audit has these columns; a step may add others.
AUDIT_COLUMNS = ("id", "stage", "reason")

R = TypeVar("R", bound=Record)
S = TypeVar("S", bound=Record)


class StepRecord(Record, frozen=True):
    """A finished step of any kind, as its file stores it.

    Attributes:
        step: its name.
        recipe: the options and inputs that determine its outputs.
        summary: counts and other facts for the reader.
    """

    schema: int
    step: str
    recipe: dict[str, Any]
    summary: dict[str, Any] = msgspec.field(default_factory=dict)


@dataclass(frozen=True)
class StepKind(Generic[R, S]):
    """A step: its name, and the types of its recipe and summary."""

    name: str
    recipe: type[R]
    summary: type[S]

    def of(self, part: str) -> StepKind[R, S]:
        """The step for one part of a project, such as a batch of candidates."""
        return replace(self, name=f"{self.name}-{part}")


@dataclass(frozen=True)
class FinishedStep(Generic[R, S]):
    """A finished step: its name, what determines its outputs, and its result for the reader."""

    step: str
    recipe: R
    summary: S

    def to_json(self) -> dict[str, Any]:
        """The step as a dictionary."""
        return {"step": self.step, "recipe": self.recipe.to_json(), "summary": self.summary.to_json()}


@dataclass(frozen=True)
class AuditRow:
    """The stage at which a candidate left a step, or `shortlisted`, and why."""

    stage: str
    reason: str
