"""The columns of a shard: one row per image, condition and frame, with the columns of the run's task."""

from __future__ import annotations

import pyarrow as pa

from windtunnel.core.task import Task

KEYS = (
    pa.field("sample_id", pa.string()),
    pa.field("condition", pa.string()),
    pa.field("frame", pa.int16()),
)
STATUS = (pa.field("status", pa.string()), pa.field("reason", pa.string()))
# Mean and largest absolute difference of an image from the canvas, in grey levels.
PIXELS = (pa.field("pixel_change", pa.float32()), pa.field("pixel_change_max", pa.int16()))


def schema(task: Task, *, with_outputs: bool = False, with_pixels: bool = False) -> pa.Schema:
    """The schema of a run's shards, with outputs if the run keeps any, and pixels if it swaps steps."""
    return pa.schema(
        [
            *KEYS,
            *task.columns,
            *STATUS,
            *([task.outputs] if with_outputs and task.outputs is not None else []),
            *(PIXELS if with_pixels else []),
        ]
    )
