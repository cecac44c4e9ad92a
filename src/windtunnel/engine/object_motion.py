"""Conditions that move objects, in runs whose annotations stay where they are."""

from __future__ import annotations

from collections.abc import Sequence

from windtunnel.core.conditions import Condition
from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.core.wording import listed
from windtunnel.corruptions import REGISTRY

# COCO-C scores these against the annotations of the clean images.
SCORED_UNMOVED = ("elastic_transform",)


def check_motion(conditions: Sequence[Condition]) -> list[str]:
    """Refuse conditions that move objects away from their annotations; returns a note on published ones."""
    units = dict.fromkeys(condition.unit for condition in conditions if condition.is_corruption)
    moving = [unit for unit in units if REGISTRY.get(unit).motion]
    refused = [unit for unit in moving if unit not in SCORED_UNMOVED]
    if refused:
        raise UserError(
            f"{listed(refused, 5)} would move objects away from their annotations; leave out with "
            f"{option('only')}, or write the images with windtunnel make, which moves boxes and masks too."
        )
    return [
        f"{unit} moves objects by some pixels; as in COCO-C, the annotations stay where they are."
        for unit in moving
    ]
