"""What of a finished set could not be read when it was scored, and can be now: those chunks are scored again.

The survey looks at one file of every image; a clip made anew beside it changes no recipe.
"""

from __future__ import annotations

from collections import deque

from windtunnel.core.errors import ImageError
from windtunnel.engine.chunks import Chunk
from windtunnel.engine.condition_kinds import frames_under
from windtunnel.engine.images import Source
from windtunnel.engine.plan import Plan
from windtunnel.store.folder import RunFolder

# Of failures of the model a look at the images says nothing.
OF_READING = ("unreadable", "too_small", "too_large")


def mended_images(plan: Plan, target: RunFolder, chunk: Chunk) -> list[str]:
    """The images of a stored chunk that failed under a condition of a finished set, and would no longer."""
    if plan.dataset.precomputed is None:
        return []
    conditions = {one.name: one for one in plan.conditions if one.is_corrupted}
    images = {image.sample.id: image for image in chunk.images}
    failed = dict.fromkeys(
        (row["sample_id"], row["condition"])
        for row in target.failures(chunk.name)
        if row["status"] in OF_READING and row["condition"] in conditions and row["sample_id"] in images
    )
    found = []
    for id_, name in failed:
        source = Source(plan.dataset, images[id_])
        frames = frames_under(source, conditions[name], plan.canvas.geometry, plan.seed)
        try:
            deque(frames, maxlen=0)
        except ImageError:
            continue
        found.append(id_)
    return list(dict.fromkeys(found))
