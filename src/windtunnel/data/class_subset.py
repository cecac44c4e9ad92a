"""Images of some classes: every tenth class, or the classes that a file lists."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.core.conditions import digest
from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.labels import IMAGENET_1K, LabelSpace
from windtunnel.core.option_names import option
from windtunnel.core.samples import Sample
from windtunnel.data.label_spaces import WNID
from windtunnel.published.imagenet import imagenet_names

_EVERY = re.compile(r"every:(\d+)", re.ASCII)


@dataclass(frozen=True)
class ClassSubset:
    """The images of some classes.

    Attributes:
        samples: the images that have one of the classes as a label.
        rule: which classes, for recipes: `every:10`, or `listed:` and a digest of the classes; "" for all.
        notes: notes for the user.
    """

    samples: list[Sample]
    rule: str = ""
    notes: tuple[str, ...] = ()


def of_classes(
    samples: Sequence[Sample], space: LabelSpace, given: str | Path | None, where: str
) -> ClassSubset:
    """The images of the classes that the option `classes` selects; all of them for None.

    Args:
        samples: the images of a dataset.
        space: the classes of their labels.
        given: `every:N`, or a file with a class name or WordNet id in every line.
        where: the dataset, for messages.
    """
    if given is None:
        return ClassSubset(list(samples))
    every = _EVERY.fullmatch(str(given))
    if every:
        step = int(every[1])
        chosen, rule = _every(space, step), f"every:{step}"
    else:
        chosen = listed_classes(space, Path(given), where)
        rule = f"listed:{digest(sorted(space.classes[index] for index in chosen))[:16]}"
    selected = [sample for sample in samples if not chosen.isdisjoint(sample.labels)]
    if not selected:
        raise UserError(
            f"{option('classes', str(given))} selects {len(chosen):,} of {len(space):,} classes, and {where} "
            "has no image of them; give other classes."
        )
    note = (
        f"Images of {len(chosen):,} of {len(space):,} classes are used ({option('classes', str(given))}): "
        f"{len(selected):,} of {len(samples):,}."
    )
    notes = [note]
    if len(chosen & {label for sample in selected for label in sample.labels}) == 1:
        notes.append("These images are of one class: scores say little about telling classes apart.")
    return ClassSubset(selected, rule, tuple(notes))


def _every(space: LabelSpace, step: int) -> frozenset[int]:
    """Every class of that step, from the first on, in the order of WordNet ids or else of indices."""
    if step < 1:
        raise UserError(f"{option('classes')} is 'every:{step}'; give a step from 1, such as every:10.")
    order = list(range(len(space)))
    if all(WNID.fullmatch(name) for name in space.classes):
        order.sort(key=space.classes.__getitem__)
    return frozenset(order[::step])


def listed_classes(space: LabelSpace, file: Path, where: str) -> frozenset[int]:
    """The classes that a file lists."""
    try:
        lines = [line.strip() for line in file.read_text(encoding="utf-8-sig").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not a text file"
        raise UserError(
            f"{option('classes')} is '{file}', which cannot be read: {reason}. Give every:10, or a file with "
            "a class name or WordNet id in every line."
        ) from error
    index = {name: place for place, name in enumerate(space.classes)}
    places = {name: [place] for name, place in index.items()}
    if space.name == IMAGENET_1K:
        for wnid, name in imagenet_names().items():
            if name not in index:
                places.setdefault(name, []).append(index[wnid])
    chosen: set[int] = set()
    for line in filter(None, lines):
        if line not in places:
            raise unknown_name(f"class of {where} in {file}:", line, places)
        if len(places[line]) > 1:
            wnids = " and ".join(space.classes[place] for place in places[line])
            raise UserError(f"{file}: '{line}' is the name of several classes; give the WordNet id: {wnids}.")
        chosen.add(places[line][0])
    if not chosen:
        raise UserError(f"{file} lists no class; write a class name or WordNet id in every line.")
    return frozenset(chosen)
