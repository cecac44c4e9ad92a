"""Maps from ImageNet's classes to broader classes, by WordNet's hierarchy."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from windtunnel.core.errors import UserError
from windtunnel.data.label_spaces import WNID
from windtunnel.published.imagenet import imagenet_1k


@dataclass(frozen=True)
class LeafMap:
    """The ImageNet classes of each target class.

    Attributes:
        classes: by ImageNet class (WordNet id), the name of its target.
        between: ImageNet classes below several targets, with the names of those, the chosen one first.
        empty: names of targets without any ImageNet class.
    """

    classes: dict[str, str]
    between: dict[str, tuple[str, ...]]
    empty: tuple[str, ...]

    def to_csv(self) -> str:
        """The map as `--map` takes it: columns output,class."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["output", "class"])
        writer.writerows(self.classes.items())
        return out.getvalue()


def map_leaves(targets: Mapping[str, str], parents: Mapping[str, frozenset[str]]) -> LeafMap:
    """The nearest target above every ImageNet-1k class that is a target or below one.

    Args:
        targets: names by WordNet id; the order decides between equally near targets.
        parents: the parents (hypernyms) of each WordNet id.
    """
    classes, between = {}, {}
    for leaf in imagenet_1k().classes:
        steps = _above(leaf, parents)
        nearest = sorted((target for target in targets if target in steps), key=lambda target: steps[target])
        if nearest:
            classes[leaf] = targets[nearest[0]]
        if len(nearest) > 1:
            between[leaf] = tuple(targets[target] for target in nearest)
    taken = set(classes.values())
    return LeafMap(classes, between, tuple(name for name in targets.values() if name not in taken))


def _above(leaf: str, parents: Mapping[str, frozenset[str]]) -> dict[str, int]:
    """The ancestors of a class and the class itself, with the least number of steps to each."""
    steps, level, far = {leaf: 0}, {leaf}, 0
    while level:
        far += 1
        level = {parent for child in level for parent in parents.get(child, ()) if parent not in steps}
        steps |= dict.fromkeys(level, far)
    return steps


def ancestors(name: str, parents: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The classes above a class, and the class itself."""
    return frozenset(_above(name, parents))


def read_is_a(file: Path) -> dict[str, frozenset[str]]:
    """The parents of each WordNet id, from WordNet's published table: "parent child" on every line."""
    parents: dict[str, set[str]] = {}
    for number, line in enumerate(text_lines(file), 1):
        words = line.split()
        if not words:
            continue
        if len(words) != 2 or not all(WNID.fullmatch(word) for word in words):
            raise UserError(
                f"{file}: line {number} is '{line.strip()[:60]}'; it needs two WordNet ids, parent and child."
            )
        parents.setdefault(words[1], set()).add(words[0])
    if not parents:
        raise UserError(f"{file} is empty; it needs two WordNet ids on every line, parent and child.")
    return {child: frozenset(above) for child, above in parents.items()}


def read_targets(file: Path) -> dict[str, str]:
    """Target classes from a file with a WordNet id and an optional name per line: wnid[,name]."""
    targets: dict[str, str] = {}
    for number, row in enumerate(csv.reader(text_lines(file)), 1):
        cells = [cell.strip() for cell in row]
        if not any(cells) or (number == 1 and cells[0].lower() == "wnid"):
            continue
        if not WNID.fullmatch(cells[0]):
            raise UserError(
                f"{file}: line {number} begins with '{cells[0]}'; write a WordNet id (n02084071)."
            )
        name = cells[1] if len(cells) > 1 and cells[1] else cells[0]
        again = cells[0] if cells[0] in targets else name if name in targets.values() else ""
        if again:
            raise UserError(f"{file}: line {number} repeats '{again}'; list every id and every name once.")
        targets[cells[0]] = name
    if not targets:
        raise UserError(f"{file} names no target; write a WordNet id and a name on every line.")
    return targets


def text_lines(file: Path) -> list[str]:
    """The lines of a UTF-8 text file; refuses other files."""
    if not file.is_file():
        raise UserError(f"No such file: {file}.")
    try:
        return file.read_bytes().decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise UserError(f"{file} is not UTF-8 text ({error.reason}); save it as UTF-8.") from error
