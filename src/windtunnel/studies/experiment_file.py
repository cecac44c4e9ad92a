"""The TOML file of an experiment; an unknown key is an error."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windtunnel.core.errors import UserError, first_line, unknown_name
from windtunnel.corruptions import SEVERITIES
from windtunnel.options.run_file import resolved_path
from windtunnel.studies.experiment_variants import Variant, changed_settings, read_variants
from windtunnel.train.settings import Settings
from windtunnel.train.training_sets import TrainingSource

KEYS = (
    "name", "network", "weights", "preprocess", "baseline", "seeds", "suites", "select_on", "subset",
    "severities", "data", "settings", "variants",
)  # fmt: skip
DATA_KEYS = ("train", "test")
SEEDS = 3
# Suites for choosing end so; all others are for reporting.
CHOOSING_SUFFIX = "-extra"


@dataclass(frozen=True)
class ExperimentFile:
    """An experiment as described by a file.

    Attributes:
        name: its title.
        network: a network's name, or `FILE.py:factory`.
        weights: a file of initial weights; "" for random ones.
        preprocess: a preset's name or a TOML file.
        train, test: the images; training images may be pairs of a set and its share.
        settings: the settings of the trainings.
        seeds: the number of trainings of each variant.
        suites: the suites that are reported.
        select_on: the suite on which the best variant is chosen; "" for none.
        subset: the number of test images; 0 for all.
        severities: the severities of all corruptions; () for those of the suites.
        baseline: the variant that others are compared with.
        variants: the variants.
    """

    name: str
    network: str
    weights: str
    preprocess: str
    train: TrainingSource
    test: str
    settings: Settings
    seeds: int
    suites: tuple[str, ...]
    select_on: str
    subset: int
    severities: tuple[int, ...]
    baseline: str
    variants: tuple[Variant, ...]

    def variant(self, name: str) -> Variant:
        """The variant of that name."""
        (found,) = (variant for variant in self.variants if variant.name == name)
        return found


def read_experiment_file(path: str | Path) -> ExperimentFile:
    """Read an experiment; relative paths are relative to the file."""
    file = Path(path)
    keys = _Keys(file, _table(file))
    keys.refuse_unknown(keys.table, KEYS, f"key in {file}:")
    data = keys.part("data")
    keys.refuse_unknown(data, DATA_KEYS, f"key in {file}: data:")
    try:
        settings = changed_settings(Settings(), keys.part("settings", {}), str(file))
    except UserError as error:
        if str(file) in str(error):
            raise
        raise UserError(f"{file}: settings: {error}") from error
    variants = read_variants(keys.part("variants"), settings, str(file))
    baseline = keys.text("baseline")
    if baseline not in {variant.name for variant in variants}:
        raise unknown_name(f"variant in {file}: baseline =", baseline, [one.name for one in variants])
    suites = tuple(keys.path(suite, bare=False) for suite in keys.texts("suites"))
    select_on = keys.path(keys.text("select_on", ""), bare=False)
    return ExperimentFile(
        name=keys.text("name"),
        network=keys.path(keys.text("network"), bare=False),
        weights=keys.path(keys.text("weights", ""), bare=False),
        preprocess=keys.path(keys.text("preprocess"), bare=False),
        train=_train(keys, data.get("train")),
        test=keys.path(keys.text("test", table=data, where="data: "), bare=True),
        settings=settings,
        seeds=keys.whole("seeds", SEEDS, 1),
        suites=suites,
        select_on=select_on,
        subset=keys.whole("subset", 0, 1) if "subset" in keys.table else 0,
        severities=_severities(keys),
        baseline=baseline,
        variants=variants,
    )


@dataclass(frozen=True)
class _Keys:
    """The keys of a file, checked as they are read."""

    file: Path
    table: Mapping[str, Any]

    def refuse_unknown(self, table: Mapping[str, Any], known: tuple[str, ...], kind: str) -> None:
        for key in table:
            if key not in known:
                raise unknown_name(kind, key, known)

    def text(
        self, key: str, default: str | None = None, table: Mapping[str, Any] | None = None, where: str = ""
    ) -> str:
        value = (self.table if table is None else table).get(key, default)
        if value is None:
            raise UserError(f"{self.file} has no {where}{key}; add a line such as {_EXAMPLES[key]}.")
        if not isinstance(value, str):
            raise UserError(f"{self.file}: {where}{key} is {value!r}; write a text, as in {_EXAMPLES[key]}.")
        return value

    def texts(self, key: str) -> list[str]:
        value = self.table.get(key)
        if not isinstance(value, list) or not value or not all(isinstance(text, str) for text in value):
            given = "is missing" if value is None else f"is {value!r}"
            raise UserError(f"{self.file}: {key} {given}; write a list of texts, as in {_EXAMPLES[key]}.")
        return value

    def whole(self, key: str, default: int, least: int) -> int:
        value = self.table.get(key, default)
        if type(value) is not int or value < least:
            raise UserError(f"{self.file}: {key} is {value!r}; give a whole number of at least {least}.")
        return value

    def part(self, key: str, default: Mapping[str, Any] | None = None) -> dict[str, Any]:
        value = self.table.get(key, default)
        if not isinstance(value, dict):
            given = "is missing" if value is None else f"is {value!r}"
            raise UserError(f"{self.file}: {key} {given}; write it as a table, [{key}].")
        return value

    def path(self, text: str, *, bare: bool) -> str:
        return resolved_path(self.file.parent, text, bare=bare) if text else ""


_EXAMPLES = {
    "name": 'name = "remedies"',
    "network": 'network = "small"',
    "weights": 'weights = "pretrained.pt"',
    "preprocess": 'preprocess = "cifar"',
    "baseline": 'baseline = "standard"',
    "suites": 'suites = ["imagenet-c"]',
    "select_on": 'select_on = "imagenet-c-extra"',
    "test": 'test = "photos/test"',
    "train": 'train = "photos/train"',
}


def _table(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UserError(f"There is no file {file}; give the TOML file of an experiment.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, IsADirectoryError) as error:
        raise UserError(f"{file} is not valid TOML: {first_line(error)}.") from error


def _train(keys: _Keys, value: Any) -> TrainingSource:
    """One training set, or pairs of a set and its share."""
    if isinstance(value, list) and all(
        isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str) for pair in value
    ):
        return [(keys.path(source, bare=True), share) for source, share in value]
    return keys.path(keys.text("train", table={"train": value}, where="data: "), bare=True)


def _severities(keys: _Keys) -> tuple[int, ...]:
    if "severities" not in keys.table:
        return ()
    value = keys.table["severities"]
    valid = isinstance(value, list) and all(type(level) is int and level in SEVERITIES for level in value)
    if not valid or not value:
        known = ", ".join(map(str, SEVERITIES))
        raise UserError(
            f"{keys.file}: severities is {value!r}; give a list of some of {known}, or leave it out."
        )
    return tuple(sorted(set(value)))
