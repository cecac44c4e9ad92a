"""Published results on natural sets, and the measurement setup of runs over such sets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from windtunnel.metrics.frame_sets import judge_frames
from windtunnel.metrics.published_figures import STORED, Measured, PublishedModel, fraction, rows_of, sources

if TYPE_CHECKING:
    from windtunnel.metrics.scored_run import ScoredRun

OWN_PREPROCESSING = "the model's own preprocessing"
# By source, the columns of `testbed_rows.csv` and their metrics.
TESTBED = {
    "testbed-a": {"imagenet_a_pct": "accuracy"},
    "testbed-objectnet": {"objectnet_pct": "accuracy"},
    "testbed-vid": {"vid_pm_0_pct": "pm_0", "vid_pm_10_pct": "pm_10"},
    "testbed-ytbb": {"ytbb_pm_0_pct": "pm_0", "ytbb_pm_10_pct": "pm_10"},
}


def natural_rows() -> Iterator[PublishedModel]:
    """Results stated in papers on natural sets."""
    columns = {f"{metric}_pct": metric for metric in ("accuracy", "msp_aupr", "pm_0", "pm_10")}
    for row in rows_of("natural_rows.csv"):
        values = {metric: fraction(row[column]) for column, metric in columns.items() if row[column]}
        yield PublishedModel(row["model"], sources()[row["source"]], values, note=row["note"])


def testbed_rows() -> Iterator[PublishedModel]:
    """Results of imagenet-testbed, source by source."""
    for source, columns in TESTBED.items():
        for row in rows_of("testbed_rows.csv"):
            if any(row[column] for column in columns):
                values = {metric: fraction(row[column]) for column, metric in columns.items() if row[column]}
                note = row["note"] if source == "testbed-a" else ""
                yield PublishedModel(row["model"], sources()[source], values, note=note)


def natural_measured_on(run: ScoredRun) -> Measured:
    """The measurement setup of a run over a natural set."""
    assert run.natural is not None
    counts = {part.role: len(part.rows) for part in run.parts}
    frames = judge_frames(run)
    images = len(frames.sets.names) if frames else counts.get("out") or counts.get("shifted", 0)
    return Measured(
        benchmark=run.natural.set,
        edition=0,
        images=images,
        files=STORED,
        canvas=OWN_PREPROCESSING,
        codec="none",
        classes=run.recipe.counted_classes,
        id_images=counts.get("clean", 0) if "out" in counts else 0,
    )
