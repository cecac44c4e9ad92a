"""The columns of a shard: one row per image, condition and frame."""

from __future__ import annotations

import pyarrow as pa

TOP = 5

# Statuses of rows that are scored: a prediction that is not finite is a wrong one, not a missing one.
ANSWERED = ("ok", "not_finite")
NOT_FINITE_REASON = "the model's output is not finite"

COLUMNS: list[tuple[str, pa.DataType]] = [
    ("sample_id", pa.string()),
    ("condition", pa.string()),
    ("frame", pa.int16()),
    ("top", pa.list_(pa.int32(), TOP)),
    ("top_score", pa.list_(pa.float32(), TOP)),
    ("label_score", pa.float32()),
    ("label_rank", pa.int32()),
    ("logsumexp", pa.float32()),
    ("entropy", pa.float32()),
    ("sum_p2", pa.float32()),
    ("status", pa.string()),
    ("reason", pa.string()),
]
LOGITS = ("logits", pa.list_(pa.float32()))
# How far an image's pixels are from the canvas: mean and largest difference in grey levels.
PIXELS = [("pixel_change", pa.float32()), ("pixel_change_max", pa.int16())]


def schema(*, with_logits: bool, with_pixels: bool = False) -> pa.Schema:
    """The schema of a run's shards: `logits` only where the run keeps any, pixels where steps are swapped."""
    return pa.schema([*COLUMNS, *([LOGITS] if with_logits else []), *(PIXELS if with_pixels else [])])
