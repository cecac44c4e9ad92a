"""Compare, gate and slice finished runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from windtunnel.analysis import comparison
from windtunnel.analysis import gate as gates
from windtunnel.metrics import slices as slicing
from windtunnel.runs import Run, scored_runs

# Images that a slice needs to be scored.
SLICE_MINIMUM = slicing.MINIMUM


def compare(*runs: Run | str | Path) -> comparison.Comparison:
    """Compare finished runs with the first one: image by image if they share images and seed."""
    return comparison.compare(*scored_runs(runs))


def gate(
    run: Run | str | Path,
    against: Run | str | Path,
    rules: Sequence[str] = (),
    *,
    unsure: gates.Unsure = "pass",
) -> gates.Gate:
    """Check whether a run is worse than a baseline run by more than the rules allow.

    Args:
        run: the new run.
        against: the baseline run, on the same images with the same seed.
        rules: such as `mce <= +1.0`; by default the rules for this kind of run.
        unsure: whether undecided rules `pass` or `fail`.
    """
    new, base = scored_runs([run, against])
    return gates.gate(new, base, rules, unsure=unsure)


def slices(
    run: Run | str | Path,
    by: str,
    metric: str = "top1_error",
    condition: str | None = None,
    *,
    minimum: int = SLICE_MINIMUM,
) -> list[slicing.Slice]:
    """The score of every slice with at least `minimum` images, the worst by shrunk value first.

    Args:
        run: a finished run.
        by: `class`, `size` (short side in pixels), or a column of the data's table.
        metric: a metric that is a mean over images.
        condition: such as `fog:3`; by default clean, or all corruptions for metrics over several conditions.
        minimum: images a slice needs.
    """
    (scored,) = scored_runs([run])
    return slicing.slices(scored, by, metric, condition, minimum=minimum)


def omitted_slices(
    run: Run | str | Path,
    by: str,
    metric: str = "top1_error",
    condition: str | None = None,
    *,
    minimum: int = SLICE_MINIMUM,
) -> slicing.Omitted:
    """The slices that `slices` omits, with the reason; the arguments are the same."""
    (scored,) = scored_runs([run])
    return slicing.omitted_slices(scored, by, metric, condition, minimum=minimum)
