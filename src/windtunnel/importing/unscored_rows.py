"""Images that a data set has and a run does not score: predictions of them are ignored, and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from windtunnel.core.wording import counted

Reason = Callable[[str], str]


@dataclass
class Ignored:
    """Rows of predictions that are ignored.

    Attributes:
        rows: how many, by reason.
        examples: an id, by reason.
    """

    rows: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def add(self, rows: Mapping[str, int], reasons: Mapping[str, str]) -> None:
        """Count the rows of ids that are left out for these reasons."""
        for sample_id, count in rows.items():
            reason = reasons[sample_id]
            self.rows[reason] += count
            self.examples.setdefault(reason, sample_id)

    @property
    def remark(self) -> str:
        """How many rows are ignored and why, with an example of each; "" for none."""
        if not self.rows:
            return ""
        told = "; ".join(
            f"{count:,} of {reason} (such as '{self.examples[reason]}')"
            for reason, count in self.rows.items()
        )
        return f"{counted(self.rows.total(), 'row')} of predictions ignored, of images not scored: {told}."
