"""Maps from ImageNet's classes to wider ones, by WordNet's hierarchy: who is below whom."""

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
    """Which ImageNet classes stand for which target.

    Attributes:
        classes: by ImageNet class (WordNet id), the target's name.
        between: ImageNet classes below several targets, with the names of those targets, the taken one first.
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
    """Every ImageNet-1k class that is a target or below one, by the nearest target above it.

    Args:
        targets: names by WordNet id, in the order that decides between targets equally near.
        parents: by WordNet id what it is a kind of.
    """
    classes, between = {}, {}
    for leaf in imagenet_1k().classes:
        steps = _above(leaf, parents)
        found = sorted((one for one in targets if one in steps), key=lambda one: steps[one])
        if found:
            classes[leaf] = targets[found[0]]
        if len(found) > 1:
            between[leaf] = tuple(targets[one] for one in found)
    taken = set(classes.values())
    return LeafMap(classes, between, tuple(name for name in targets.values() if name not in taken))


def _above(leaf: str, parents: Mapping[str, frozenset[str]]) -> dict[str, int]:
    """Everything a class is a kind of, itself included, with the fewest steps to it."""
    steps, level, far = {leaf: 0}, {leaf}, 0
    while level:
        far += 1
        level = {one for child in level for one in parents.get(child, ()) if one not in steps}
        steps |= dict.fromkeys(level, far)
    return steps


def read_is_a(file: Path) -> dict[str, frozenset[str]]:
    """WordNet's published table of who is a kind of whom: "parent child" on every line."""
    found: dict[str, set[str]] = {}
    for number, line in enumerate(_lines(file), 1):
        words = line.split()
        if not words:
            continue
        if len(words) != 2 or not all(WNID.fullmatch(one) for one in words):
            raise UserError(
                f"{file}: line {number} is '{line.strip()[:60]}'; it needs two WordNet ids, parent and child."
            )
        found.setdefault(words[1], set()).add(words[0])
    if not found:
        raise UserError(f"{file} is empty; it needs two WordNet ids on every line, parent and child.")
    return {child: frozenset(above) for child, above in found.items()}


def read_targets(file: Path) -> dict[str, str]:
    """Target classes, a WordNet id and perhaps a name on every line: wnid[,name]."""
    found: dict[str, str] = {}
    for number, row in enumerate(csv.reader(_lines(file)), 1):
        cells = [cell.strip() for cell in row]
        if not any(cells) or (number == 1 and cells[0].lower() == "wnid"):
            continue
        if not WNID.fullmatch(cells[0]):
            raise UserError(
                f"{file}: line {number} begins with '{cells[0]}'; write a WordNet id (n02084071)."
            )
        name = cells[1] if len(cells) > 1 and cells[1] else cells[0]
        again = cells[0] if cells[0] in found else name if name in found.values() else ""
        if again:
            raise UserError(
                f"{file}: line {number} has '{again}' a second time; every id and every name stands once."
            )
        found[cells[0]] = name
    if not found:
        raise UserError(f"{file} names no target; write a WordNet id and a name on every line.")
    return found


def _lines(file: Path) -> list[str]:
    if not file.is_file():
        raise UserError(f"No such file: {file}.")
    try:
        return file.read_bytes().decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise UserError(f"{file} is not UTF-8 text ({error.reason}); save it as UTF-8.") from error
