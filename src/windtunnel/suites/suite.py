"""Suites: conditions over images, and the variants that command-line options select."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType

from windtunnel.core.conditions import Condition
from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.metrics import metric_of
from windtunnel.core.option_names import option
from windtunnel.core.records import SuiteRecipe
from windtunnel.core.task import Task
from windtunnel.core.wording import counted, listed
from windtunnel.corruptions import (
    EDITIONS,
    ONE_STRENGTH,
    SEVERITIES,
    corruption_condition,
    has_one_strength,
)
from windtunnel.data.precomputed import PrecomputedDataset
from windtunnel.data.shelf import place_text
from windtunnel.imaging.clips import H264, load_av
from windtunnel.imaging.codecs import check_codec, codec_assets
from windtunnel.published.set_codecs import published_codecs
from windtunnel.sequences import (
    DIFFICULTIES,
    SEQUENCE_PREFIX,
    comparison_of,
    least_frames,
    level_of,
    sequence_condition,
)
from windtunnel.suites.canvas import WHOLE, Canvas
from windtunnel.suites.pipeline_steps import REVISIONS, is_step, overrides_of
from windtunnel.suites.units import check_unit, image_unit_named, sequence_named

# The codec of a suite whose images are stored like those of the published set of the same edition.
PUBLISHED = "published"


@dataclass(frozen=True)
class Suite:
    """A versioned list of conditions and how to score them.

    Attributes:
        name: kebab-case; cited as `name@version`.
        version: raised when the list or its meaning changes.
        about: one line for listings.
        canvas: the rule that makes the image that is corrupted.
        edition: 32, 64, 224, 299, or `auto` by the images' sizes.
        codec: how corrupted images are stored before the model sees them; `published` for the codec of the
            edition's published set.
        units: corruptions and pipeline steps (`axis=value`, `axis=*` for all values), or only sequences
            (`seq/tilt`).
        levels: severities; for sequences the single difficulty; empty if every unit has one strength.
        unit_levels: the severities of corruptions that differ from `levels`.
        metrics: the metrics that are scored.
        weights: weights of corruptions, for the score `weighted_error`; empty for no such score.
        subset: the number of images, stratified by class with the run's seed; 0 for all.
        mask: whether only the outputs of the data's classes count.
        stored: whether the units are read from a precomputed set and cannot be made; no units means all
            units of the set.
        families: by unit, its family, if the unit itself declares none or another one.
        natural: the natural set (`published/natural.toml`) whose layout and rules for predictions apply; ""
            for ordinary images.
    """

    name: str
    version: int
    about: str = ""
    canvas: str = "imagenet-c"
    edition: int | str = "auto"
    codec: str = "none"
    units: tuple[str, ...] = ()
    levels: tuple[int, ...] = SEVERITIES
    unit_levels: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    metrics: tuple[str, ...] = ("top1_error", "top5_error", "mean_error")
    weights: Mapping[str, float] = field(default_factory=dict)
    subset: int = 0
    mask: bool = False
    stored: bool = False
    natural: str = ""
    families: Mapping[str, str] = field(default_factory=dict)

    @property
    def citation(self) -> str:
        """`name@version`."""
        return f"{self.name}@{self.version}"

    @property
    def corruptions(self) -> tuple[str, ...]:
        """The units that are corruptions."""
        return tuple(
            unit for unit in self.units if not is_step(unit) and not unit.startswith(SEQUENCE_PREFIX)
        )

    def conditions(
        self, canvas: Canvas, settings: Mapping[str, Mapping[str, str]] = MappingProxyType({})
    ) -> list[Condition]:
        """Every condition: native and clean first, the codec alone if there is one, then the units.

        `settings` are texts for units, by unit and name.
        """
        if self.stored:
            raise UserError(
                f"Suite {self.name} only reads sets that contain its images; it cannot make them. "
                f"Give such a folder as data, or another {option('suite')}."
            )
        for unit in settings:
            if unit not in self.units:
                raise unknown_name(f"unit of suite {self.name} in {option('settings')}", unit, self.units)
        edition, overrides = canvas.edition, canvas.overrides()
        codec = published_codecs()[edition] if self.codec == PUBLISHED else self.codec
        # A model that sees whole images sees the same under both conditions.
        conditions = [Condition("native")] if self.canvas != WHOLE else []
        # If only pipeline steps change on the model's own canvas, native is the clean condition.
        if self.corrupts_images or self.canvas != "native":
            conditions.append(Condition("clean", edition=edition, geometry=overrides))
        if self.corruptions and codec != "none":
            conditions.append(Condition("clean", edition=edition, codec=codec, geometry=overrides))
        for unit in self.units:
            if unit.startswith(SEQUENCE_PREFIX):
                conditions += [
                    sequence_condition(unit, level, edition, codec, overrides) for level in self.levels
                ]
        for unit in self.corruptions:
            texts = settings.get(unit)
            conditions += [
                corruption_condition(unit, level, edition, codec, overrides, texts)
                for level in self.levels_of(unit)
            ]
        conditions += [
            Condition(
                "pipeline",
                step,
                edition=edition,
                revision=REVISIONS.get(step, 0),
                geometry={**overrides, **change},
            )
            for step, change in overrides_of(self.units, canvas.geometry).items()
        ]
        return [_with_assets(condition, canvas) for condition in conditions]

    def levels_of(self, unit: str) -> tuple[int, ...]:
        """The severities of a corruption, 0 alone for one strength; or the difficulty of a sequence."""
        return ONE_STRENGTH if has_one_strength(unit) else self.unit_levels.get(unit, self.levels)

    @property
    def corrupts_images(self) -> bool:
        """Whether units are corruptions or sequences, or may be such in a precomputed set."""
        return bool(self.corruptions or self.holds_sequences or self.stored)

    @property
    def holds_sequences(self) -> bool:
        """Whether the units are sequences."""
        return any(unit.startswith(SEQUENCE_PREFIX) for unit in self.units)

    def stored_conditions(
        self, dataset: PrecomputedDataset, canvas: Canvas
    ) -> tuple[list[Condition], list[str]]:
        """The conditions of this suite in a precomputed set, and the names of those it lacks."""
        if self.canvas == "native":
            raise UserError(
                f"Suite {self.name} corrupts at the model's size; {dataset.location} is corrupted already. "
                f"Give another {option('suite')}."
            )
        stored = dataset.stored
        has_clips = any(condition.is_sequence for condition in stored)
        cure = f"{option('suite', 'as-stored')} scores all conditions"
        if has_clips:
            cure = f"Leave out {option('suite')} and {option('only')}"
        if has_clips and not self.units:
            raise UserError(
                f"Suite {self.name} scores single images, but {dataset.location} contains sequences. {cure}."
            )
        units = self.units or tuple(dict.fromkeys(condition.unit for condition in stored))
        held = {(condition.unit, condition.level): condition for condition in stored}
        wanted = list(
            dict.fromkeys((unit, level_of(unit, level)) for unit in units for level in self.levels_of(unit))
        )
        clean: list[Condition] = []
        if dataset.clean is not None:
            if dataset.clean_is_given:
                clean.append(Condition("native"))
            usual = Condition("clean", edition=canvas.edition, geometry=canvas.overrides())
            clean.append(dataset.made_clean or usual)
        corrupted = [held[place] for place in wanted if place in held]
        if not corrupted:
            raise UserError(
                f"{dataset.location} contains no condition of suite {self.name}; it contains "
                f"{', '.join(dict.fromkeys(condition.unit for condition in stored))}. {cure}."
                f"{''.join(f' {note}' for note in dataset.shelf.notes)}"
            )
        missing = [place_text(place) for place in wanted if place not in held]
        return clean + corrupted, missing

    def check_frames(self, conditions: Sequence[Condition]) -> None:
        """Refuse sequences that are too short to be compared at the suite's difficulty."""
        for condition in conditions:
            if not condition.is_sequence:
                continue
            least = least_frames(comparison_of(condition.level), self.levels[0])
            if condition.frames < least:
                easier = f", or give a smaller {option('difficulty')}" if condition.frames > 1 else ""
                raise UserError(
                    f"{condition.name} has {counted(condition.frames, 'frame')}; difficulty {self.levels[0]} "
                    f"compares {least} or more. Leave it out with {option('only')}{easier}."
                )

    def for_task(self, task: Task) -> Suite:
        """The same suite for models of a task, with that task's metrics; on whole images if it needs them."""
        declared = {name: metric_of(name) for name in self.metrics}
        # A user's metric that is not registered is refused later, by name.
        own = tuple(name for name, metric in declared.items() if metric is None or metric.task == task.name)
        suite = replace(self, metrics=own or task.metrics)
        if not task.whole_images or self.canvas == WHOLE:
            return suite
        if self.natural and own:  # images unchanged, as the model takes them
            return suite
        if self.natural or self.stored or self.holds_sequences:
            raise UserError(
                f"Suite {self.name} is for classifiers; give a suite of corruptions for a model of the task "
                f"{task.name}, such as {option('suite', 'coco-c')}."
            )
        # On whole images it is another benchmark, and no published set has its files.
        codec = "none" if self.codec == PUBLISHED else self.codec
        return replace(suite, name=f"{self.name}-whole", canvas=WHOLE, codec=codec)

    def only(self, selected: Sequence[str]) -> Suite:
        """The same suite with selected units or levels, in any mix (`fog:3`, `snow`), under its own name."""
        units: dict[str, set[int]] = {}
        for item in selected:
            if "," in item and item not in self.units:
                parts = [part.strip() for part in item.split(",") if part.strip()]
                raise UserError(
                    f"{option('only')} is '{item}'; give each unit apart: {option('only', [*parts])}."
                )
            bare, plus, codec = item.partition("+")
            if plus:
                raise UserError(
                    f"{option('only')} is '{item}'; leave out the codec, which is the same for all "
                    f"conditions: {option('only', [bare])}, with {option('codec', codec)} unless the suite "
                    "has it."
                )
            written, colon, level = item.partition(":")
            unit = self._unit(written)
            if colon and is_step(unit):
                raise UserError(
                    f"{option('only')} is '{item}'; a pipeline step has no severity. Write {unit}."
                )
            if colon and has_one_strength(unit):
                raise UserError(f"{option('only')} is '{item}'; {unit} has one strength. Write {unit}.")
            allowed = DIFFICULTIES if unit.startswith(SEQUENCE_PREFIX) else SEVERITIES
            if colon and (not level.isdecimal() or int(level) not in allowed):
                raise UserError(
                    f"{option('only')} is '{item}', which has no such level; give one of {listed(allowed)}."
                )
            units.setdefault(unit, set()).update({int(level)} if colon else self.levels_of(unit))
        levelled = {
            unit: tuple(sorted(levels))
            for unit, levels in units.items()
            if not is_step(unit) and not has_one_strength(unit)
        }
        levels = tuple(sorted({level for each in levelled.values() for level in each}) or sorted(self.levels))
        order = [unit for unit in self.units if unit in units] + sorted(set(units) - set(self.units))
        part = replace(
            self,
            name=f"{self.name}-part",
            units=tuple(order),
            levels=levels,
            unit_levels={unit: each for unit, each in levelled.items() if each != levels},
            weights={unit: weight for unit, weight in self.weights.items() if unit in order},
        ).without_unused_levels()
        check_levels(part, option("only"))
        # The names of temporal sequences do not contain their difficulty; the suite's name does.
        return replace(part, levels=self.levels).at_difficulty(levels[0]) if part.holds_sequences else part

    def _unit(self, written: str) -> str:
        """The unit for a name given with `only`; in a suite of sequences the prefix may be omitted."""
        if written in self.units:
            return written
        named = sequence_named if self.holds_sequences else image_unit_named
        unit = named(written, self.name)
        if not self.stored:
            check_unit(unit)
        return unit

    @property
    def has_one_strength(self) -> bool:
        """Whether it has corruptions, all of them without severities."""
        return bool(self.corruptions) and all(map(has_one_strength, self.corruptions))

    def without_unused_levels(self) -> Suite:
        """The same suite without severities if none of its corruptions has any."""
        return replace(self, levels=()) if self.has_one_strength else self

    def at_difficulty(self, difficulty: int) -> Suite:
        """The same suite of sequences at another difficulty, under its own name."""
        if not self.holds_sequences:
            raise UserError(f"Suite {self.name} contains no sequences; leave {option('difficulty')} out.")
        if difficulty not in DIFFICULTIES:
            raise UserError(f"The difficulty is {difficulty!r}; give {listed(DIFFICULTIES)}.")
        if self.levels == (difficulty,):
            return self
        return replace(self, name=f"{self.name}-difficulty-{difficulty}", levels=(difficulty,))

    def at_edition(self, edition: int) -> Suite:
        """The same suite in one edition, under its own name."""
        if edition not in EDITIONS:
            raise UserError(f"The edition is {edition!r}; give {listed(EDITIONS)}.")
        if self.canvas == "imagenet-s" or (self.canvas == "native" and not self.corrupts_images):
            raise UserError(
                f"Suite {self.name} has its own canvas for every edition; leave {option('edition')} out."
            )
        if edition == self.edition:
            return self
        return replace(self, name=f"{self.name}-{edition}", edition=edition)

    def stored_as(self, codec: str) -> Suite:
        """The same suite with another codec, under its own name."""
        checked = check_stored_as(self, codec, option("codec"))
        if not self.corrupts_images:
            raise UserError(
                f"Suite {self.name} stores no image before the model sees it; leave {option('codec')} out."
            )
        if checked == self.codec:
            return self
        return replace(self, name=f"{self.name}-{checked.replace(':', '')}", codec=checked)

    def to_json(self) -> dict[str, object]:
        """All keys of the suite."""
        return asdict(self)

    def recipe(self) -> SuiteRecipe:
        """The facts of the suite that determine predictions: without description and metrics."""
        return SuiteRecipe(
            name=self.name,
            version=self.version,
            canvas=self.canvas,
            edition=self.edition,
            codec=self.codec,
            units=self.units,
            levels=self.levels,
            subset=self.subset,
            mask=self.mask,
            stored=self.stored,
            unit_levels=dict(self.unit_levels),
            natural=self.natural,
        )


def _with_assets(condition: Condition, canvas: Canvas) -> Condition:
    """A condition with the digests of third-party decoders, resizers and codecs.

    `native` uses each model's own geometry, whose digests are part of the model.
    """
    if condition.is_native:
        return condition
    digests = replace(canvas.geometry, **condition.geometry_changes).assets() | codec_assets(condition.codec)
    return replace(condition, assets={**condition.assets, **digests}) if digests else condition


def check_levels(suite: Suite, where: str) -> None:
    """Refuse invalid severities, several difficulties, and sequences mixed with other units."""
    kinds = {unit.startswith(SEQUENCE_PREFIX) for unit in suite.units}
    if len(kinds) > 1:
        raise UserError(f"{where} mixes sequences with other units; write a suite for each.")
    if suite.holds_sequences:
        if len(suite.levels) != 1 or suite.levels[0] not in DIFFICULTIES:
            raise UserError(
                f"{where}: levels are {listed(suite.levels)}; sequences have one difficulty, "
                f"of {listed(DIFFICULTIES)}."
            )
    elif not suite.has_one_strength and (
        not suite.levels or any(level not in SEVERITIES for level in suite.levels)
    ):
        raise UserError(f"{where}: levels are {listed(suite.levels)}; give some of {listed(SEVERITIES)}.")
    for unit, levels in suite.unit_levels.items():
        if has_one_strength(unit):
            raise UserError(f"{where}: {unit} has one strength; leave it out of unit_levels.")
        if suite.holds_sequences or (suite.units and unit not in suite.corruptions):
            raise unknown_name(f"corruption in the unit_levels of {where}", unit, suite.corruptions)
        if not levels or len(set(levels)) < len(levels) or not set(levels) <= set(SEVERITIES):
            raise UserError(
                f"{where}: the levels of {unit} are {listed(levels)}; give some of {listed(SEVERITIES)}."
            )


def check_stored_as(suite: Suite, codec: str, where: str) -> str:
    """A codec's canonical name; refuses video for suites without sequences."""
    if codec != H264:
        return check_codec(codec, (H264,) if suite.holds_sequences else ())
    if not suite.holds_sequences:
        raise UserError(f"{where} is {H264}, which stores sequences; suite {suite.name} has none.")
    load_av()
    return codec
