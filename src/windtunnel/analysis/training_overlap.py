"""Corruptions that a run scores and its model was trained on, as the model's `trained_on` declares.

`trained_on` is free text. These entries are recognised, in any spelling of the words (`ImageNet_C`):

- a suite's name, or the name of a published corrupted set, possibly followed by more words;
- a corruption or a sequence: `gaussian_noise`, `fog:3`, `seq/tilt`, `s2n/random_fog`;
- a family of corruptions: `noise`, `blur`, `weather`, `digital`, `geometry`, `colour`, `lighting`,
  `occlusion`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from windtunnel.analysis.declared_names import is_data_set
from windtunnel.analysis.web_scale_training import web_scale_notes
from windtunnel.core.wording import listed
from windtunnel.corruptions import REGISTRY as CORRUPTIONS
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.sequences import REGISTRY as SEQUENCES
from windtunnel.sequences import SEQUENCE_PREFIX
from windtunnel.suites.suite_files import load_suite, suite_names
from windtunnel.suites.units import family_of

# Published sets with a suite's corruptions on other images.
SAME_CORRUPTIONS = {
    "cifar-10-c": "imagenet-c",
    "cifar-100-c": "imagenet-c",
    "tiny-imagenet-c": "imagenet-c",
    "imagenet-64x64-c": "imagenet-c",
    "imagenet-100-c": "imagenet-c",
    "cifar-10-p": "imagenet-p",
    "tiny-imagenet-p": "imagenet-p",
}
# Words after a corruption's name that do not change which one it is.
GENERIC_WORDS = ("augmentation", "augmentations", "corruption", "corruptions", "sequence", "sequences")
# More names than this are counted instead.
NAMES_SHOWN = 6


def training_notes(run: ScoredRun) -> list[str]:
    """Notes on scored corruptions that the model was trained on, on families that it has seen, and on data.

    The last is on training data that are web-scale or not declared.
    """
    scored = tuple(
        dict.fromkeys(bare_name(condition.unit) for condition in run.conditions if condition.is_corrupted)
    )
    sources = {text: corruptions_named(text, scored) for text in run.info.model.trained_on}
    seen = {name: text for text, names in sources.items() for name in names}
    same = [name for name in scored if name in seen]
    lines = []
    if same:
        lines.append(
            f"The model was trained on {_declared(seen[name] for name in same)} (trained_on): scores under "
            f"{_named_or_counted(same, scored)} are no evidence of robustness."
        )
    families = {family_of(name): text for name, text in seen.items()}
    for family in dict.fromkeys(family_of(name) for name in scored if name not in seen):
        if family and family in families:
            related = [name for name in scored if name not in seen and family_of(name) == family]
            verb = "are" if len(related) > 1 else "is"
            lines.append(
                f"The model was trained on {families[family]} (trained_on), which contains corruptions of "
                f"the family {family}. {', '.join(related)} {verb} of this family, which is therefore not "
                "unseen."
            )
    return [*lines, *web_scale_notes(run, [text for text in run.info.model.trained_on if names_data(text)])]


def seen_in_training(trained_on: Sequence[str], scored: Sequence[str]) -> tuple[str, ...]:
    """The scored corruptions that entries of `trained_on` name."""
    scored = tuple(map(bare_name, scored))
    seen = {name for text in trained_on for name in corruptions_named(text, scored)}
    return tuple(name for name in scored if name in seen)


def corruptions_named(text: str, scored: Sequence[str] = ()) -> tuple[str, ...]:
    """Bare names of the corruptions and sequences that an entry of `trained_on` names; () for none.

    `scored` are further names to recognise, of corruptions that windtunnel does not ship.
    """
    if names := _unit_names(text, scored):
        return names
    whole = "_".join(_words(text))
    sets = {**{name: name for name in suite_names()}, **SAME_CORRUPTIONS}
    # One-word suite names (demo, smoke) are ordinary words: only the whole text names them.
    matches = [name for name in sets if (is_data_set(text, name) if "-" in name else whole == name)]
    if not matches:
        return ()
    return tuple(bare_name(unit) for unit in load_suite(sets[max(matches, key=len)]).units)


def names_data(text: str) -> bool:
    """Whether an entry of `trained_on` names data, such as `imagenet-1k`, and not only a corruption."""
    return not _unit_names(text, ())


def _unit_names(text: str, scored: Sequence[str]) -> tuple[str, ...]:
    """Bare names of the corruption, the sequence or the family that a text names; () for anything else."""
    whole = "_".join(_words(text))
    units = _families_by_name()
    if whole in units or whole in scored:
        return (whole,)
    if nested := [name for name in units if name.replace("/", "_") == whole and "/" in name]:
        return (nested[0],)
    if whole in units.values():
        return tuple(name for name, family in units.items() if family == whole)
    return ()


def _words(text: str) -> list[str]:
    """The words of a text without severity, prefix and generic words at its end."""
    named = re.sub(r":\d+$", "", text.strip().lower()).removeprefix(SEQUENCE_PREFIX)
    words = re.findall(r"[a-z0-9]+", named)
    while len(words) > 1 and words[-1] in GENERIC_WORDS:
        words.pop()
    return words


def bare_name(unit: str) -> str:
    """A unit's name without the prefix of sequences."""
    return unit.removeprefix(SEQUENCE_PREFIX)


@lru_cache(maxsize=1)
def _families_by_name() -> dict[str, str]:
    """By bare name, the family of every shipped corruption and sequence."""
    return {
        name: registry.get(name).family
        for registry in (SEQUENCES, CORRUPTIONS)
        for name in registry.shipped()
    }


def _declared(texts: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(texts))


def _named_or_counted(names: Sequence[str], scored: Sequence[str]) -> str:
    """The scored corruptions as text: by name if they are few, otherwise their number."""
    if len(names) <= NAMES_SHOWN:
        return listed(names)
    return f"all {len(names)} of them" if len(names) == len(scored) else f"{len(names)} of {len(scored)}"
