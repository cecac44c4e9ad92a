"""Rows of predictions for images that are in the dataset but not scored: ignored and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from windtunnel.core.wording import counted

Reason = Callable[[str], str]


@dataclass
class Ignored:
    """The ignored rows of predictions.

    Attributes:
        rows: the number of rows, by reason.
        examples: the id of one image, by reason.
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
    def note(self) -> str:
        """A note on ignored rows by reason, with an example of each; "" for none."""
        if not self.rows:
            return ""
        reasons = "; ".join(
            f"{count:,} of {reason} (such as '{self.examples[reason]}')"
            for reason, count in self.rows.items()
        )
        return (
            f"{counted(self.rows.total(), 'row')} of predictions ignored, for images not scored: {reasons}."
        )
