"""Images of precomputed sets that failed earlier and are readable now: their chunks are scored again.

The survey reads one file per image, so that a clip which is repaired later changes no recipe.
"""

from __future__ import annotations

from collections import deque

from windtunnel.core.errors import ImageError
from windtunnel.engine.chunks import Chunk
from windtunnel.engine.condition_kinds import frames_under
from windtunnel.engine.images import Source
from windtunnel.engine.plan import Plan
from windtunnel.store.folder import RunFolder

# The statuses of images that could not be read; failures of the model are not tried again.
READ_FAILURES = ("unreadable", "too_small", "too_large")


def repaired_images(plan: Plan, target: RunFolder, chunk: Chunk) -> list[str]:
    """The ids of images of a stored chunk that failed under a stored condition and are readable now."""
    if plan.dataset.precomputed is None:
        return []
    conditions = {condition.name: condition for condition in plan.conditions if condition.is_corrupted}
    images = {image.sample.id: image for image in chunk.images}
    failed = dict.fromkeys(
        (row["sample_id"], row["condition"])
        for row in target.failures(chunk.name)
        if row["status"] in READ_FAILURES and row["condition"] in conditions and row["sample_id"] in images
    )
    repaired = []
    for id_, name in failed:
        source = Source(plan.dataset, images[id_])
        frames = frames_under(source, conditions[name], plan.canvas.geometry, plan.seed)
        try:
            deque(frames, maxlen=0)
        except ImageError:
            continue
        repaired.append(id_)
    return list(dict.fromkeys(repaired))
