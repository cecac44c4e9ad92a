"""What a run costs before it is done: storage, and the number of images that a time budget allows."""

from __future__ import annotations

from bisect import bisect_right

from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.core.wording import counted, duration
from windtunnel.engine.estimate import Probe
from windtunnel.engine.plan import Plan

# Measured on runs of 10 to 1,000 classes: Parquet's own part of a shard, a row without outputs, an output.
SHARD_BYTES = 6_000
ROW_BYTES = 60
OUTPUT_BYTES = 4
# Subsets that a budget chooses from: coarse, so that the same command chooses the same subset again.
SIZES: tuple[int, ...] = tuple(digit * 10**power for power in range(1, 7) for digit in (1, 2, 5))


def storage_bytes(plan: Plan) -> int:
    """The approximate size of the finished run folder, without reports."""
    outputs = len(plan.recipe.keep) * len(plan.surveyed) * plan.recipe.model.classes
    return len(plan.chunks) * SHARD_BYTES + plan.predictions * ROW_BYTES + outputs * OUTPUT_BYTES


def affordable_images(probe: Probe, seconds: float, workers: int, total: int, *, fed: bool) -> int:
    """The size of the subset that takes at most so many seconds; 0 for all images.

    Args:
        probe: the time per image.
        seconds: the budget.
        workers: the number of workers.
        total: the number of images of the dataset.
        fed: whether workers only make images, for one process that predicts.
    """
    making, predicting = probe.making, probe.predicting
    per_image = max(making / workers, predicting) if fed else (making + predicting) / workers
    affordable = int(max(0.0, seconds - probe.starting) / per_image)
    if affordable >= total:
        return 0
    fitting = bisect_right(SIZES, affordable)
    if not fitting:
        raise UserError(
            f"{option('budget')} is {duration(seconds)}; {counted(min(SIZES), 'image')} take about "
            f"{duration(probe.starting + min(SIZES) * per_image)} here. Give a larger budget, or fewer "
            f"conditions with {option('only')}."
        )
    return SIZES[fitting - 1]
