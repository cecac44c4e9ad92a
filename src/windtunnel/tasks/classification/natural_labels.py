"""Predictions on natural sets: the outputs of a model that compete, and those that are correct."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from windtunnel.core.errors import UserError
from windtunnel.core.labels import LabelSpace, Projection
from windtunnel.core.option_names import option
from windtunnel.core.wording import counted
from windtunnel.data.natural_classes import counted_imagenet_classes
from windtunnel.published.imagenet import imagenet_1k
from windtunnel.published.natural_sets import (
    NaturalSet,
    collapse_map,
    folder_key,
    masked_classes,
    several_ids,
)

if TYPE_CHECKING:
    from windtunnel.models import Model

# For every class of the data the model's output, -1 for none; and the projection of outputs.
MappedClasses = tuple[tuple[int, ...], Projection]
# The assumed order of a set's own classes among the outputs of a model that does not name them.
OWN_ORDER = {
    "mask": "in the order of their WordNet ids",
    "several": "in the order of their names",
    "collapse": "in the order of its class index",
}


def map_natural_classes(natural: NaturalSet, space: LabelSpace, model: Model) -> MappedClasses:
    """Map the labels of a published natural set to outputs of a model, with the projection of its outputs.

    The model's outputs are the set's own classes, in their order or by name, or ImageNet's classes, in
    ImageNet's order or by WordNet id. Other models are refused.

    Args:
        natural: the set; its output rule is not `own`.
        space: its label space: ImageNet-1k, or the classes that outputs collapse into.
        model: the model.
    """
    own = own_classes(natural)
    outputs_are = _table_spelling(natural, model.classes)
    if model.class_count == len(own) and (not model.classes or set(outputs_are) == set(own)):
        return _as_they_are(natural, own, outputs_are or own)
    outputs = _outputs_of_imagenet(natural, model)
    if natural.output_rule == "collapse":
        return _collapsed(natural, space, outputs)
    competing: tuple[int, ...] = ()
    if natural.output_rule == "mask" or natural.masked:
        competing = tuple(sorted(outputs[index] for index in counted_imagenet_classes(natural)))
    return tuple(outputs), Projection(competing)


def own_classes(natural: NaturalSet) -> tuple[str, ...]:
    """The names of a published set's classes, in the order of a model that has only these classes."""
    if natural.output_rule == "collapse":
        return natural.classes
    if natural.output_rule == "several":
        return tuple(sorted(several_ids(natural.table)))
    names = imagenet_1k().classes
    return (
        tuple(names[index] for index in masked_classes(natural.table))
        if natural.output_rule == "mask"
        else names
    )


def taken_on_trust(natural: NaturalSet, model: Model) -> str:
    """A note for a model with as many outputs as the set has classes, but without class names; else ""."""
    if (
        natural.output_rule not in OWN_ORDER
        or model.classes
        or model.class_count != len(own_classes(natural))
    ):
        return ""
    return (
        f"{model.name} does not name its {model.class_count} outputs: they are assumed to be "
        f"{natural.title}'s classes {OWN_ORDER[natural.output_rule]}; declare `labels` in its TOML if not."
    )


def refuse_mask(natural: NaturalSet) -> None:
    """Refuse a mask for a published set that has its own: the scores would not be the set's."""
    if natural.output_rule in ("mask", "collapse") or natural.masked:
        into = f" as {len(natural.classes)} classes" if natural.output_rule == "collapse" else ""
        raise UserError(
            f"{option('mask', True)} would change the outputs that compete: {natural.title} is scored "
            f"over {len(counted_imagenet_classes(natural))} of ImageNet's classes{into}; leave out "
            f"{option('mask')}."
        )


def _table_spelling(natural: NaturalSet, names: Sequence[str]) -> tuple[str, ...]:
    """A model's class names in the spelling of the set's table: ObjectNet's T-shirt is t_shirt."""
    return tuple(map(folder_key, names) if natural.output_rule == "several" else names)


def _as_they_are(natural: NaturalSet, own: Sequence[str], outputs_are: Sequence[str]) -> MappedClasses:
    """The mapping for a model whose outputs are the set's own classes, in any order."""
    where = {name: place for place, name in enumerate(outputs_are)}
    if natural.output_rule == "collapse":
        return tuple(where[name] for name in own), Projection()
    if natural.output_rule == "several":
        of = {index: folder for folder, ids in several_ids(natural.table).items() for index in ids}
        names: list[str] = [of.get(index, "") for index in range(len(imagenet_1k()))]
    else:
        names = list(imagenet_1k().classes)
    return tuple(where.get(name, -1) for name in names), Projection()


def _outputs_of_imagenet(natural: NaturalSet, model: Model) -> list[int]:
    """For every ImageNet-1k class the model's output, -1 if it has none and the set needs none."""
    names, needed = imagenet_1k().classes, counted_imagenet_classes(natural)
    if model.classes:
        where = {name: place for place, name in enumerate(model.classes)}
        missing = [names[index] for index in needed if names[index] not in where]
        if not missing:
            return [where.get(name, -1) for name in names]
        reason = (
            f"{len(missing)} of the {len(needed):,} ImageNet classes it counts ('{missing[0]}' ...) are not "
            f"among the {model.class_count:,} outputs ('{model.classes[0]}' ...)"
        )
    elif model.class_count == len(names):
        return list(range(len(names)))
    else:
        reason = f"the model has {counted(model.class_count, 'output')}"
    raise UserError(
        f"{model.name} cannot be scored on {natural.title}: {reason}; it needs ImageNet's 1,000 outputs, "
        f"the set's {len(own_classes(natural))} classes, or `labels` with WordNet ids in its TOML."
    )


def _collapsed(natural: NaturalSet, space: LabelSpace, outputs: Sequence[int]) -> MappedClasses:
    """The mapping that gives each class its best output; a class without outputs is never predicted."""
    members: list[list[int]] = [[] for _ in space.classes]
    for index, target in collapse_map(natural.table).items():
        members[target].append(outputs[index])
    competing = tuple(place for place, outputs_of_class in enumerate(members) if outputs_of_class)
    return (
        tuple(range(len(space))),
        Projection(competing, tuple(tuple(sorted(outputs_of_class)) for outputs_of_class in members)),
    )
