"""Class names that mean the same: in other letters, or a WordNet id of ImageNet-1k and one of its names."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from windtunnel.core.errors import UserError
from windtunnel.core.labels import INDICES
from windtunnel.core.wording import counted, listed
from windtunnel.data.label_spaces import WNID, label_space_of
from windtunnel.published.imagenet import imagenet_synonyms

# Classes that a warning names.
CLASSES_NAMED = 5


class ClassNames:
    """Class names in which other spellings are found."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)
        # WordNet ids by the names of their class, and other names.
        self._ids: dict[str, set[str]] = {}
        self._plain: dict[str, set[str]] = {}
        for name in self._names:
            if WNID.fullmatch(name):
                for synonym in imagenet_synonyms().get(name, ()):
                    self._ids.setdefault(_folded(synonym), set()).add(name)
            else:
                self._plain.setdefault(_folded(name), set()).add(name)

    def find(self, name: str) -> list[str]:
        """The names of the same class: the name itself, else all that may mean it, sorted."""
        if name in self._names:
            return [name]
        if WNID.fullmatch(name):
            synonyms = imagenet_synonyms().get(name, ())
            return sorted({found for word in synonyms for found in self._plain.get(_folded(word), ())})
        key = _folded(name)
        return sorted(self._plain.get(key, set()) | self._ids.get(key, set()))


def check_comparable(labels: Collection[str], known: Collection[str]) -> None:
    """Refuse class indices on one side and names on the other: nothing says which index is which name."""
    if not labels or not known:
        return
    numbered, models_numbered = (label_space_of(names)[0].name == INDICES for names in (labels, known))
    if numbered == models_numbered:
        return
    if numbered:
        raise UserError(
            f"The candidates' labels are class indices, such as '{min(labels)}', but the filter models have "
            f"names, such as '{min(known)}'; collect the candidates with names or WordNet ids as labels."
        )
    raise UserError(
        f"A filter model does not declare its classes, so they are only numbers, and the candidates have "
        f"names, such as '{min(labels)}'; list the names as labels in the model's .toml file."
    )


def doubtful_classes(labels: Collection[str], known: Collection[str], *, hierarchy: bool) -> list[str]:
    """Warnings on classes of candidates that may be classes of the models under other names."""
    warnings = []
    names = imagenet_synonyms()
    ids = sorted(label for label in labels if WNID.fullmatch(label) and label not in names)
    if ids and not any(WNID.fullmatch(name) for name in known):
        quoted = listed([f"'{name}'" for name in ids], CLASSES_NAMED)
        warnings.append(
            f"{counted(len(ids), 'class', 'classes')} of candidates ({quoted}) have WordNet ids outside "
            "ImageNet-1k, and the filter models have names: whether they are the same is not known."
        )
    found = ClassNames(known)
    if labels and not hierarchy and not any(found.find(label) for label in labels):
        warnings.append(
            f"No candidate has a class of the filter models (candidates: '{min(labels)}' ..., models: "
            f"'{min(known)}' ...). That is right if none is in distribution; if both name the same classes "
            "differently, in-distribution images are shortlisted."
        )
    return warnings


def _folded(name: str) -> str:
    return " ".join(name.casefold().replace("_", " ").split())
