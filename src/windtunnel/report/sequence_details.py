"""What happens inside sequences: where answers flip, and which images are the least steady."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.metrics.sequence_scores import (
    compared,
    difficulty_of,
    flips_of,
    name,
    pairs_of,
    rivals_of,
    sequences_of,
    type_of,
)
from windtunnel.metrics.stability import farthest_top5
from windtunnel.report.source_images import label_names

# Images the document names, the least steady first.
UNSTEADY_LISTED = 20


def sequence_rows(run: ScoredRun) -> list[dict[str, Any]]:
    """Every sequence: how its frames are compared, and at each pair the share of images that flip."""
    found = []
    for one in sequences_of(run):
        earlier, later = pairs_of(run, one)
        shares = flips_of(run, one).mean(axis=0) if len(run.clips.ids) else np.empty(0)
        found.append(
            {
                "condition": name(one),
                "type": type_of(one),
                "difficulty": difficulty_of(run),
                "frames": one.frames,
                "classes": rivals_of(run),
                "farthest_top5": farthest_top5(rivals_of(run)),
                "compared": compared(run, one),
                "earlier": earlier.tolist(),
                "later": later.tolist(),
                "flip_share": shares.tolist(),
                # The frame at which most images flip, the first of several; None where none does.
                "peak": int(later[shares.argmax()]) if shares.any() else None,
            }
        )
    return found


def flip_shares(run: ScoredRun) -> NDArray[np.float64]:
    """The share of compared frames whose answer differs, images x sequences."""
    return np.stack([flips_of(run, one).mean(axis=1) for one in sequences_of(run)], axis=1)


def unsteady_images(run: ScoredRun, count: int = UNSTEADY_LISTED) -> list[dict[str, Any]]:
    """The images whose answers flip most, mean over all sequences, and under which they flip most."""
    found = sequences_of(run)
    if not found or not len(run.clips.ids):
        return []
    shares = flip_shares(run)
    means = shares.mean(axis=1)
    order = np.argsort(-means, kind="stable")[:count]
    return [
        {
            "image": str(run.clips.ids[row]),
            "label": label_of(run, str(run.clips.ids[row])),
            "flip_probability": float(means[row]),
            "worst": name(found[int(shares[row].argmax())]),
            "worst_flip_probability": float(shares[row].max()),
        }
        for row in order
        if means[row] > 0
    ]


def label_of(run: ScoredRun, image: str) -> str:
    """What people call an image's classes, "" where it has none."""
    row = run.samples["id"].to_pylist().index(image)
    return label_names(run, run.samples["labels"][row].as_py())
