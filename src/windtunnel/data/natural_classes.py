"""Which ImageNet-1k classes a natural set counts, and how they become its labels."""

from __future__ import annotations

from windtunnel.published.imagenet import imagenet_1k
from windtunnel.published.natural_sets import NaturalSet, collapse_map, masked_classes, several_ids


def counted_imagenet_classes(natural: NaturalSet) -> tuple[int, ...]:
    """The ImageNet-1k classes that count as predictions for a set."""
    if natural.output_rule == "mask":
        return masked_classes(natural.table)
    if natural.output_rule == "collapse":
        return tuple(sorted(collapse_map(natural.table)))
    if natural.output_rule == "several":
        return tuple(sorted(index for ids in several_ids(natural.table).values() for index in ids))
    return tuple(range(len(imagenet_1k())))


def labels_of_imagenet_class(natural: NaturalSet, index: int) -> tuple[int, ...]:
    """The labels of a clean image of an ImageNet-1k class in a set's label space; () for none."""
    if natural.output_rule == "collapse":
        label = collapse_map(natural.table).get(index)
        return () if label is None else (label,)
    if natural.output_rule == "several":
        return next((ids for ids in several_ids(natural.table).values() if index in ids), ())
    return (index,) if index in counted_imagenet_classes(natural) else ()
