"""The result of the doctor."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from windtunnel.analysis.doctor_trials import Gain, Trial, gain, test_name
from windtunnel.core.labels import LabelSpace
from windtunnel.stats.intervals import wilson


@dataclass(frozen=True)
class Diagnosis:
    """The doctor's diagnosis.

    Attributes:
        declared: the trial of the declared preprocessing.
        best: the last trial that was significantly better; the declared one if none was.
        p: p-value of best against declared, times the number tried.
        tried: number of changes that were or might have been tried.
        runner_up: the best trial that is better, but not significantly; None if there is none.
        indistinguishable: other arithmetics and label orders that are significantly better than the declared
            one and not significantly worse than the one accepted.
        undecided: geometries and resizers that are neither significantly better nor worse than `best`.
        outputs: the kind of the outputs, if it is not the declared one.
        space: the data's classes, with class indices resolved to ImageNet-1k if that is known.
        remarks: notes on what was not tried, and on the images used.
        warnings: reasons to doubt the diagnosis: accuracy is still at chance, or a check to make before
            another label order is written.
    """

    declared: Trial
    best: Trial
    p: float
    tried: int
    runner_up: Trial | None
    indistinguishable: tuple[Trial, ...]
    undecided: tuple[Trial, ...]
    outputs: str
    space: LabelSpace
    remarks: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def declaration_is_wrong(self) -> bool:
        """Whether the declared preprocessing, label order or kind of outputs is wrong."""
        return self.best is not self.declared or bool(self.outputs)

    @property
    def test(self) -> str:
        """The name of the significance test of `p`."""
        return test_name(self.declared, self.best)

    @property
    def gain(self) -> Gain:
        """The gain in accuracy of `best` over `declared`."""
        return gain(self.declared, self.best)

    def undecided_gains(self) -> list[tuple[str, Gain]]:
        """Name and gain over `best` of every undecided trial, those that change most predictions first."""
        changed = sorted(self.undecided, key=lambda trial: -int((trial.right != self.best.right).sum()))
        return [(trial.changed[-1], gain(self.best, trial)) for trial in changed]

    def to_json(self) -> dict[str, Any]:
        """The diagnosis as a JSON object; gains are relative to `best`, and best's relative to `declared`."""
        return {
            "declaration_is_wrong": self.declaration_is_wrong,
            "images": len(self.declared.right),
            "tried": self.tried,
            "p": self.p,
            "test": self.test,
            "declared": _trial_json(self.declared, self.best),
            "best": _trial_json(self.best, self.declared),
            "runner_up": _trial_json(self.runner_up, self.best) if self.runner_up else None,
            "indistinguishable": [_trial_json(trial, self.best) for trial in self.indistinguishable],
            "undecided": [_trial_json(trial, self.best) for trial in self.undecided],
            "outputs": self.outputs,
            "remarks": self.remarks,
            "warnings": self.warnings,
        }


def _trial_json(trial: Trial, reference: Trial) -> dict[str, Any]:
    low, high = wilson(int(trial.right.sum()), len(trial.right))
    return {
        "changed": list(trial.changed),
        "accuracy": trial.accuracy,
        "low": low,
        "high": high,
        "gain": gain(reference, trial)._asdict(),
        "labels": trial.order.name,
        "geometry": asdict(trial.preprocess.geometry),
        "tensor": asdict(trial.preprocess.tensor),
    }
