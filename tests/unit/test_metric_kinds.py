"""Every metric belongs to one kind of run, so that a missing score can be explained."""

from __future__ import annotations

from windtunnel.analysis.missing_scores import written
from windtunnel.core.metric_names import (
    MEASURES,
    OF_CORRUPTIONS,
    OF_DETECTION,
    OF_FRAMES,
    OF_NATURAL_SETS,
    OF_PROBABILITIES,
    OF_SEQUENCES,
    OF_STEPS,
)

# Every run has these, if its model gives enough classes or probabilities.
OF_EVERY_RUN = ("top1_error", "top5_error", *OF_PROBABILITIES)


def test_every_metric_has_one_kind_of_run() -> None:
    kinds = (OF_CORRUPTIONS, OF_DETECTION, OF_EVERY_RUN, OF_FRAMES, OF_NATURAL_SETS, OF_SEQUENCES, OF_STEPS)
    assert sorted(metric for kind in kinds for metric in kind) == sorted(MEASURES)


def test_metrics_are_written_as_in_reports() -> None:
    assert [written(metric) for metric in ("mce", "auroc", "fpr95", "top1_error", "brier")] == [
        "mCE", "AUROC", "FPR95", "error", "brier",
    ]  # fmt: skip
