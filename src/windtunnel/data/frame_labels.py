"""The label space of video frames: a published set's classes, a class index file, or the given labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from windtunnel.core.errors import UserError
from windtunnel.core.labels import LabelSpace, index_space
from windtunnel.core.locations import Location, matching
from windtunnel.data.frame_json import JSON_FOLDERS, read_json
from windtunnel.data.label_spaces import label_space_of
from windtunnel.published.natural_sets import NaturalSet

# The file with the labels of frames.
LABELS = "labels.json"


def frame_label_space(
    natural: NaturalSet, root: Location, given: Mapping[str, Sequence[int | str]]
) -> tuple[LabelSpace, dict[str, int]]:
    """The label space of the frames' labels, and the index of every label as it is written."""
    if natural.classes:
        space = class_space(natural)
        names = {str(place): place for place in range(len(space))}
        names |= {name: place for place, name in enumerate(space.classes)}
        _check_labels(root, given, names, f"{natural.title} has the classes 0 to {len(space) - 1}")
        return space, names
    labels = [label for row in given.values() for label in row]
    if not all(isinstance(label, int) for label in labels):
        return label_space_of(map(str, labels))
    listed = _class_index(root)
    space = (
        LabelSpace("names", tuple(listed), "the set's class index")
        if listed
        else index_space(max(map(int, labels), default=0) + 1)
    )
    names = {str(place): place for place in range(len(space))}
    most = f" to {len(listed) - 1}, as the class index has them" if listed else " upwards"
    _check_labels(root, given, names, f"classes are 0{most}")
    return space, names


def _check_labels(
    root: Location, given: Mapping[str, Sequence[int | str]], names: Mapping[str, int], allowed: str
) -> None:
    """Refuse a label that names no class, and name the frame that has it."""
    for frame, row in given.items():
        wrong = next((label for label in row if str(label) not in names), None)
        if wrong is not None:
            raise UserError(f"{root}: {LABELS} has the label {wrong} for the frame {frame}; {allowed}.")


def class_space(natural: NaturalSet) -> LabelSpace:
    """The label space of a published set's own classes."""
    return LabelSpace(natural.name, natural.classes, f"the classes of {natural.title}")


def _class_index(root: Location) -> list[str]:
    """The names of a set's classes in the order of their indices; empty without a class index file."""
    for folder in JSON_FOLDERS:
        for file in matching(root / folder, "*class_index.json"):
            content = read_json(root, file.name, dict)
            # A value is a name, or a WordNet id and a name.
            named = {
                int(key): value[-1] if isinstance(value, list) else value for key, value in content.items()
            }
            if sorted(named) != list(range(len(named))):
                raise UserError(f"{file} lacks a class between 0 and {max(named)}; add it.")
            return [str(named[place]) for place in range(len(named))]
    return []
