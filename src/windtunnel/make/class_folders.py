"""Names of class folders in a made set: sorted as text, they have the order of the classes.

Readers such as torchvision's ImageFolder sort folder names as text and count: of `0`, `1`, `10`, `2` the
third is class 10. So class indices are written with leading zeros, and those of ImageNet-1k as WordNet ids,
whose text order is the order of the indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from windtunnel.core.labels import INDICES, LabelSpace
from windtunnel.core.wording import counted

READERS = "readers that sort folder names as text (torchvision's ImageFolder)"


@dataclass(frozen=True)
class ClassFolders:
    """The folder of every class.

    Attributes:
        names: by class index.
        kind: how they differ from the source's class names, for the recipe: `wordnet-ids`, `zero-padded`, or
            "" for no difference.
        notes: notes for the user.
    """

    names: tuple[str, ...]
    kind: str
    notes: tuple[str, ...]


def class_folders(source: LabelSpace, space: LabelSpace, used: Sequence[int]) -> ClassFolders:
    """Folder names for the classes of a set.

    Args:
        source: the data's label space as its folders or labels name it.
        space: the same with class indices resolved to ImageNet-1k, if they are known to be its indices.
        used: the class indices that occur in the set, sorted.
    """
    if source.name != INDICES:
        return ClassFolders(space.classes, "", ())
    if space.name != INDICES:
        first = f"{used[0]} is {space.classes[used[0]]}"
        note = (
            f"Class folders are named by WordNet id ({first}), not by class index: {READERS} keep the order."
        )
        return ClassFolders(space.classes, "wordnet-ids", (note,))
    width = len(str(len(space) - 1))
    names = tuple(f"{index:0{width}d}" for index in range(len(space)))
    notes = []
    if width > 1:
        notes.append(f"Class folders have leading zeros ({names[used[0]]}): {READERS} keep the order.")
    if len(used) < len(space):
        have = counted(len(space) - len(used), "class index has", "class indices have")
        notes.append(
            f"{have} no image. Readers that number the existing folders from 0 assign other labels than this "
            "set's; windtunnel reads the numbers."
        )
    return ClassFolders(names, "zero-padded" if width > 1 else "", tuple(notes))
