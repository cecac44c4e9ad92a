"""Planning an experiment: data, suites, network and variants, checked before any work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from windtunnel.analysis.experiment_results import SuiteConditions
from windtunnel.core.errors import UserError
from windtunnel.core.file_digests import file_digest
from windtunnel.core.locations import Location, local_path
from windtunnel.core.records import record_of
from windtunnel.core.training_records import MixRecord, SettingsRecord
from windtunnel.core.wording import counted, listed
from windtunnel.corruptions import has_one_strength
from windtunnel.imaging.crops import refuse_scaling
from windtunnel.models.preprocess import Preprocess, wanted
from windtunnel.options.experiment import ExperimentOptions
from windtunnel.studies.condition_images import ConditionItem
from windtunnel.studies.experiment import Experiment, training_plan
from windtunnel.studies.experiment_file import CHOOSING_SUFFIX, ExperimentFile, read_experiment_file
from windtunnel.studies.experiment_records import ExperimentRecipe, VariantRecord
from windtunnel.studies.experiment_variants import Variant
from windtunnel.studies.model_names import model_name
from windtunnel.studies.records import NetworkRecord
from windtunnel.studies.study_data import StudyData, open_study_data
from windtunnel.studies.study_models import StudyModels
from windtunnel.suites.canvas import choose_canvas, fitting_units
from windtunnel.suites.determinism import check_deterministic
from windtunnel.suites.suite import Suite
from windtunnel.suites.suite_files import load_suite
from windtunnel.suites.units import family_of
from windtunnel.train.export import check_exporter, check_exports
from windtunnel.train.module_checks import blank_inputs, check_fits, torch_device
from windtunnel.train.networks import network_assets, network_function
from windtunnel.train.trained_layers import check_layers
from windtunnel.train.training_recipe import augmentation_record, preprocess_record
from windtunnel.train.views import training_side

# Test images of an experiment that chooses a variant: two for choosing, and the others to report.
LEAST_IMAGES = 8


def plan_experiment(
    file: str | Path,
    out: str | Location,
    options: ExperimentOptions = ExperimentOptions(),  # noqa: B008
) -> Experiment:
    """Check an experiment; the method `run` of the result trains its models.

    Raises:
        UserError: the file is not valid, or data, suites, network and variants do not fit.
    """
    check_exporter()
    content = read_experiment_file(file)
    folder = local_path(out, "folder of an experiment")
    preprocess = wanted(content.preprocess)
    network_function(content.network)
    side_px = training_side(preprocess.geometry)
    suites = [_suite(name, content.severities) for name in content.suites]
    choosing = _choosing(content, suites)
    trainings = [variant for variant in content.variants if not variant.of]
    ways = list({way: None for variant in trainings for way in variant.mix.ways(preprocess.geometry)})
    refuse_scaling(way.decoder for way in ways)
    for variant in trainings:
        _check_images(variant, preprocess, side_px)
    _refuse_same_folders(content)
    data = open_study_data(content.train, content.test, folder, ways, subset=content.subset)
    if choosing:
        _check_choosing_images(data)
    conditions = _Conditions(data, preprocess)
    tested_suites = [conditions.add(suite) for suite in suites]
    chosen = conditions.add(choosing) if choosing else None
    check_deterministic([item.condition for item in conditions.items.values()], ways)
    _check_modules(content, preprocess, trainings, len(data.train.label_space), options.device)
    recipe = _recipe(content, preprocess, data, [*tested_suites, *([chosen] if chosen else [])], conditions,
                     options.device)  # fmt: skip
    models = StudyModels(
        folder, data, preprocess.geometry, tuple(conditions.items.values()), recipe.digest, options.device,
        (content.network, content.weights),
    )  # fmt: skip
    notes = (*dict.fromkeys(conditions.notes), *data.notes)
    experiment = Experiment(
        folder, content, preprocess, data, models, recipe, tuple(tested_suites), chosen, notes
    )
    experiment.check_folder()
    return experiment


def _suite(name: str, severities: Sequence[int]) -> Suite:
    """A suite of corruptions, at the given severities if there are any."""
    suite = load_suite(name)
    if not suite.corruptions or suite.stored or len(suite.corruptions) < len(suite.units):
        raise UserError(
            f"Suite {suite.name} has {'other units than' if suite.corruptions else 'no'} corruptions that "
            "can be made; an experiment needs suites of corruptions, such as imagenet-c."
        )
    if not severities:
        return suite
    return suite.only(
        [
            written
            for unit in suite.corruptions
            for written in ([unit] if has_one_strength(unit) else [f"{unit}:{level}" for level in severities])
        ]
    )


def _choosing(content: ExperimentFile, suites: Sequence[Suite]) -> Suite | None:
    """The suite for choosing; refuses one that is for reporting."""
    if not content.select_on:
        return None
    name = load_suite(content.select_on).name
    if not name.endswith(CHOOSING_SUFFIX):
        raise UserError(
            f"select_on is {name}, which is a test suite: a variant that is chosen on it looks better than "
            f"it is. Give a suite whose name ends in {CHOOSING_SUFFIX}, such as imagenet-c-extra, or leave "
            "select_on out."
        )
    choosing = _suite(content.select_on, content.severities)
    for suite in suites:
        if shared := [unit for unit in choosing.corruptions if unit in suite.corruptions]:
            raise UserError(
                f"select_on is {name}, which shares {listed(shared, 3)} with the reported suite "
                f"{suite.name}; choose on other corruptions than those that are reported."
            )
    return choosing


def _check_choosing_images(data: StudyData) -> None:
    """Refuse so few test images that they cannot be divided into those for choosing and those to report."""
    distinct = len({image.content for image in data.images})
    if distinct < LEAST_IMAGES:
        raise UserError(
            f"{data.test.location} has {counted(distinct, 'different test image')}; select_on needs "
            f"{LEAST_IMAGES} or more, because a part of them is only for choosing. Give more, or leave "
            "select_on out."
        )


@dataclass
class _Conditions:
    """The conditions of several suites, each once, with the names under which predictions are stored."""

    data: StudyData
    preprocess: Preprocess

    def __post_init__(self) -> None:
        self.items: dict[str, ConditionItem] = {}
        self.notes: list[str] = []

    def add(self, suite: Suite) -> SuiteConditions:
        """Add a suite's conditions; returns their names."""
        geometry, images = self.preprocess.geometry, self.data.images
        canvas = choose_canvas(suite, {(image.width, image.height) for image in images}, geometry)
        units, notes = fitting_units(suite.units, canvas, images)
        self.notes += notes
        fitting = replace(suite, units=units)
        clean, names, families = "", {}, {}
        for condition in fitting.conditions(canvas):
            if condition.is_clean and condition.codec == "none":
                clean = self._name(ConditionItem(condition, canvas.geometry, condition.name), suite)
            elif condition.is_corruption:
                name = self._name(ConditionItem(condition, canvas.geometry, condition.name), suite)
                names[name] = condition.unit
                families[name] = suite.families.get(condition.unit) or family_of(condition.unit)
        return SuiteConditions(suite.citation, clean, names, families)

    def _name(self, item: ConditionItem, suite: Suite) -> str:
        """The name of a condition, which is added unless another suite has the same."""
        known = self.items.get(item.condition.id)
        if known is None:
            taken = any(other.name == item.name for other in self.items.values())
            known = replace(item, name=f"{item.name} of {suite.name}") if taken else item
            self.items[item.condition.id] = known
        return known.name


def _check_images(variant: Variant, preprocess: Preprocess, side_px: int) -> None:
    """Refuse steps and corruptions that do not fit the network's images."""
    try:
        variant.remedies.check_tensor(preprocess.tensor)
        variant.remedies.check_images(side_px)
        corruptions = variant.augmentation.conditions(side_px)
        check_deterministic(corruptions, variant.mix.variants(preprocess.geometry) or [preprocess.geometry])
    except UserError as error:
        raise UserError(f"Variant {variant.name}: {error}") from error


def _check_modules(
    content: ExperimentFile,
    preprocess: Preprocess,
    trainings: Sequence[Variant],
    classes: int,
    device: str,
) -> None:
    """Refuse a network that does not fit the images and classes, or that a remedy cannot change."""
    place = torch_device(device)
    module = training_plan(content, preprocess, trainings[0], 0).module(classes).to(place)
    check_fits(module, preprocess, classes, place)
    check_exports(module, preprocess)
    blank = blank_inputs(preprocess, place)
    for variant in trainings:
        try:
            check_layers(module, variant.remedies.layers, classes, blank)
            variant.remedies.check_module(module, blank)
        except UserError as error:
            raise UserError(f"Variant {variant.name}: {error}") from error


def _refuse_same_folders(content: ExperimentFile) -> None:
    folders: dict[str, str] = {}
    for variant in content.variants:
        folder = model_name(variant.name, 0).lower()
        if folder in folders:
            raise UserError(
                f"The variants {folders[folder]} and {variant.name} would have the same folder; rename one."
            )
        folders[folder] = variant.name


def _recipe(
    content: ExperimentFile,
    preprocess: Preprocess,
    data: StudyData,
    suites: Sequence[SuiteConditions],
    conditions: _Conditions,
    device: str,
) -> ExperimentRecipe:
    ids = {item.name: condition for condition, item in conditions.items.items()}
    assets = network_assets(content.network)
    return ExperimentRecipe(
        network=NetworkRecord(content.network.rpartition("/")[2] if assets else content.network, assets),
        weights=file_digest(Path(content.weights)) if content.weights else "",
        preprocess=preprocess_record(preprocess),
        train=data.train_record(),
        test=data.test_record(),
        suites={suite.name: {name: ids[name] for name in (suite.clean, *suite.units)} for suite in suites},
        variants={variant.name: _variant_record(variant, preprocess) for variant in content.variants},
        device=str(torch_device(device)),
    )


def _variant_record(variant: Variant, preprocess: Preprocess) -> VariantRecord:
    geometry = preprocess.geometry
    return VariantRecord(
        settings=record_of(variant.settings, SettingsRecord),
        mix=msgspec.structs.replace(record_of(variant.mix, MixRecord), assets=variant.mix.assets(geometry)),
        augmentation=augmentation_record(variant.augmentation, training_side(geometry)),
        remedies=variant.remedies.record(),
        of=variant.of,
        wrappers=variant.wrappers,
    )
