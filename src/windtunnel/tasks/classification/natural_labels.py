"""How answers to a natural set are counted: which outputs of a model may win, and which of them are right."""

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

# For every class of the data the model's output, -1 for none; and what of the outputs counts.
Counted = tuple[tuple[int, ...], Projection]
# In which order a model without names is taken to have a set's own classes as outputs.
OWN_ORDER = {
    "mask": "in the order of their WordNet ids",
    "several": "in the order of their names",
    "collapse": "in the order of its class index",
}


def count_answers(natural: NaturalSet, space: LabelSpace, model: Model) -> Counted:
    """The labels of a published natural set as outputs of a model, and the projection of its outputs.

    A model has the set's own classes as outputs, in their order or by name; or ImageNet's, in ImageNet's
    order or by WordNet id. Anything else is refused.

    Args:
        natural: the set; its answers are not `own`.
        space: its label space: ImageNet-1k, or the classes that outputs collapse into.
        model: the model.
    """
    own = own_classes(natural)
    outputs_are = _spelt_alike(natural, model.classes)
    if model.class_count == len(own) and (not model.classes or set(outputs_are) == set(own)):
        return _as_they_are(natural, own, outputs_are or own)
    outputs = _outputs_of_imagenet(natural, model)
    if natural.answers == "collapse":
        return _collapsed(natural, space, outputs)
    kept: tuple[int, ...] = ()
    if natural.answers == "mask" or natural.masked:
        kept = tuple(sorted(outputs[index] for index in counted_imagenet_classes(natural)))
    return tuple(outputs), Projection(kept)


def own_classes(natural: NaturalSet) -> tuple[str, ...]:
    """What a published set's classes are called, in the order of a model that was made for them alone."""
    if natural.answers == "collapse":
        return natural.classes
    if natural.answers == "several":
        return tuple(sorted(several_ids(natural.table)))
    names = imagenet_1k().classes
    return (
        tuple(names[index] for index in masked_classes(natural.table)) if natural.answers == "mask" else names
    )


def taken_on_trust(natural: NaturalSet, model: Model) -> str:
    """What to tell a user whose model has as many outputs as the set has classes, but no names, or ""."""
    if natural.answers not in OWN_ORDER or model.classes or model.class_count != len(own_classes(natural)):
        return ""
    return (
        f"{model.name} does not name its {model.class_count} outputs: they are taken for {natural.title}'s "
        f"classes {OWN_ORDER[natural.answers]}; declare `labels` in its TOML to be sure."
    )


def refuse_mask(natural: NaturalSet) -> None:
    """Refuse another mask than a published set's own, under whose name the scores would stand."""
    if natural.answers in ("mask", "collapse") or natural.masked:
        into = f" as {len(natural.classes)} classes" if natural.answers == "collapse" else ""
        raise UserError(
            f"{option('mask', True)} would count other outputs than {natural.title} does, which counts "
            f"{len(counted_imagenet_classes(natural))} of ImageNet's{into} already; leave out "
            f"{option('mask')}."
        )


def _spelt_alike(natural: NaturalSet, names: Sequence[str]) -> tuple[str, ...]:
    """A model's classes as the set's table spells its own: ObjectNet's T-shirt is t_shirt."""
    return tuple(map(folder_key, names) if natural.answers == "several" else names)


def _as_they_are(natural: NaturalSet, own: Sequence[str], outputs_are: Sequence[str]) -> Counted:
    """A model whose outputs are the set's classes already, in some order."""
    where = {name: place for place, name in enumerate(outputs_are)}
    if natural.answers == "collapse":
        return tuple(where[name] for name in own), Projection()
    if natural.answers == "several":
        of = {index: folder for folder, ids in several_ids(natural.table).items() for index in ids}
        names: list[str] = [of.get(index, "") for index in range(len(imagenet_1k()))]
    else:
        names = list(imagenet_1k().classes)
    return tuple(where.get(name, -1) for name in names), Projection()


def _outputs_of_imagenet(natural: NaturalSet, model: Model) -> list[int]:
    """For every ImageNet-1k class the model's output, -1 where it has none and the set needs none."""
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


def _collapsed(natural: NaturalSet, space: LabelSpace, outputs: Sequence[int]) -> Counted:
    """Every class has the best of its outputs; one without any can neither win nor be right."""
    members: list[list[int]] = [[] for _ in space.classes]
    for index, target in collapse_map(natural.table).items():
        members[target].append(outputs[index])
    kept = tuple(place for place, found in enumerate(members) if found)
    return (
        tuple(range(len(space))),
        Projection(kept, tuple(tuple(sorted(found)) for found in members)),
    )
