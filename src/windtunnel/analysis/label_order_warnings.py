"""Warnings on a label order that fits better than the declared one."""

from __future__ import annotations

from collections.abc import Sequence

from windtunnel.core.labels import INDICES, LabelSpace
from windtunnel.published.imagenet import imagenet_1k, imagenet_names

# The names of label orders that move every class by one output.
SHIFTS = ("outputs one later", "outputs one earlier")
# Suffix of the names of label orders in which one output is no class.
BACKGROUND = "being no class"


def label_order_warnings(
    order: str, data_space: LabelSpace, space: LabelSpace, classes: Sequence[str]
) -> list[str]:
    """Warnings on a label order that is better than the declared one.

    Args:
        order: the name of that order.
        data_space: the data's label space as it was opened.
        space: the same with class indices resolved to ImageNet-1k where that is known.
        classes: the classes that the model declares.
    """
    warnings = []
    if data_space.name == INDICES and not order.endswith(BACKGROUND):
        wrong = "shifted by one" if order in SHIFTS else "in another order than declared"
        warnings.append(
            f"Either the model's outputs or the data's class indices are {wrong}; this test cannot decide "
            "which."
        )
    known = imagenet_1k().classes
    if space.name != INDICES and tuple(classes[: len(known)]) == known:
        warnings.append(
            "The model declares the labels of imagenet-1k, and the correction replaces them. Check the "
            f"data's labels first: in imagenet-1k class 0 is {known[0]} ({imagenet_names()[known[0]]}) and "
            f"class {len(known) - 1} is {known[-1]} ({imagenet_names()[known[-1]]})."
        )
    return warnings
