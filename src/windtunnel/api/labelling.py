"""Make maps from a model's outputs to the classes of a dataset."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from windtunnel.core.errors import UserError
from windtunnel.data.wordnet import LeafMap, map_leaves, read_is_a, read_targets
from windtunnel.published.imagenet import imagenet_names
from windtunnel.store.atomic_files import write_whole


@dataclass(frozen=True)
class ImagenetMap:
    """A map from ImageNet's classes to broader target classes.

    Attributes:
        targets: the name of every target by WordNet id.
        mapping: the target of every ImageNet class, by WordNet id.
    """

    targets: dict[str, str]
    mapping: LeafMap

    @property
    def ambiguous(self) -> dict[str, tuple[str, ...]]:
        """ImageNet classes below several targets, by name, with those targets, the nearest first."""
        names = imagenet_names()
        return {names[wnid]: targets for wnid, targets in self.mapping.between.items()}

    def write(self, path: str | Path) -> None:
        """Write a CSV file with the columns output,class, which `run` takes as its option `label_map`."""
        write_whole(Path(path), self.mapping.to_csv().encode())


def map_imagenet_classes(targets: str | Path, is_a: str | Path) -> ImagenetMap:
    """Map ImageNet's 1,000 classes to broader classes; a class below two targets maps to the nearest.

    Args:
        targets: a file with a WordNet id and an optional name on every line: wnid[,name].
        is_a: WordNet's published table wordnet.is_a.txt, with "parent child" on every line.

    Raises:
        UserError: a file cannot be read, or no ImageNet class is below a target.
    """
    wanted = read_targets(Path(targets))
    mapping = map_leaves(wanted, read_is_a(Path(is_a)))
    if not mapping.classes:
        raise UserError(f"None of ImageNet's classes is below a target of {targets}; check the WordNet ids.")
    return ImagenetMap(wanted, mapping)
