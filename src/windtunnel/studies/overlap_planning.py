"""Planning an overlap study: its candidates, data and protocol, checked before any work."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from windtunnel.core.conditions import Condition
from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.locations import Location, local_path
from windtunnel.core.option_names import option
from windtunnel.core.records import record_of
from windtunnel.core.training_records import MixRecord, SettingsRecord
from windtunnel.core.wording import counted
from windtunnel.corruptions import REGISTRY as CORRUPTIONS
from windtunnel.corruptions import edition_of
from windtunnel.data import Dataset
from windtunnel.options.overlap import OverlapOptions
from windtunnel.studies.condition_images import ConditionItem
from windtunnel.studies.overlap_study import OverlapStudy
from windtunnel.studies.protocols import Protocol, load_protocol
from windtunnel.studies.records import NetworkRecord, StudyRecipe
from windtunnel.studies.study_data import open_study_data
from windtunnel.studies.study_models import StudyModels
from windtunnel.suites.determinism import check_deterministic
from windtunnel.suites.suite_files import load_suite, suite_names
from windtunnel.train.augmentation import conditions_at, unit_and_severity
from windtunnel.train.export import check_exporter
from windtunnel.train.module_checks import check_fits, torch_device
from windtunnel.train.networks import built, network_assets
from windtunnel.train.training_recipe import preprocess_record

DEFAULT_CANDIDATES = ("imagenet-c",)
# The largest share of test images that may be training images as well; more is a mistake.
SHARED_LIMIT = 0.01


def plan_study(
    train: str | Location | Dataset,
    test: str | Location | Dataset,
    out: str | Location,
    options: OverlapOptions,
) -> OverlapStudy:
    """Check the inputs of a study; the method `run` of the result trains its models.

    Raises:
        UserError: candidates, data, protocol and network do not fit, or the folder contains something else.
    """
    check_exporter()
    folder = local_path(out, "folder of a study")
    protocol = load_protocol(options.protocol).changed(options.network, options.epochs)
    candidates = options.candidates or DEFAULT_CANDIDATES
    conditions, small_notes = study_conditions(candidates, options.severity, protocol.side_px)
    check_deterministic(conditions, [protocol.preprocess.geometry])
    data = open_study_data(
        train, test, folder, protocol.mix.ways(protocol.preprocess.geometry), shared_limit=SHARED_LIMIT
    )
    _check_network(protocol, data.train, options.device)
    assets = network_assets(protocol.network)
    recipe = StudyRecipe(
        network=NetworkRecord(protocol.network.rpartition("/")[2] if assets else protocol.network, assets),
        preprocess=preprocess_record(protocol.preprocess),
        settings=record_of(protocol.settings, SettingsRecord),
        mix=msgspec.structs.replace(
            record_of(protocol.mix, MixRecord), assets=protocol.mix.assets(protocol.preprocess.geometry)
        ),
        train=data.train_record(),
        test=data.test_record(),
        conditions={condition.name: condition.id for condition in conditions},
        device=str(torch_device(options.device)),
    )
    geometry = protocol.preprocess.geometry
    tested = tuple(ConditionItem(condition, geometry, condition.name) for condition in conditions)
    models = StudyModels(folder, data, geometry, tested, recipe.digest, options.device, (protocol.network,))
    notes = (*small_notes, *data.notes)
    study = OverlapStudy(folder, protocol, data, models, tuple(range(options.seeds)), recipe, notes)
    study.check_folder()
    return study


def study_conditions(
    candidates: Sequence[str], severity: int, side_px: int
) -> tuple[tuple[Condition, ...], list[str]]:
    """`clean` and the candidates on square images of that side, and notes.

    A suite gives its corruptions, except those that need larger images.
    """
    places: dict[tuple[str, int], None] = {}
    small: dict[str, int] = {}
    for written in candidates:
        for name in _names(written):
            unit, level = unit_and_severity(name, severity)
            least = CORRUPTIONS.get(unit).min_side_px
            if name != written and least > side_px:
                small[unit] = least
            else:
                places[unit, level] = None
    notes = [
        f"{unit} is left out: it needs images of {least} pixels, and the protocol's have {side_px}."
        for unit, least in small.items()
    ]
    if len(places) < 2:
        raise UserError(
            f"{option('candidates')} gives {counted(len(places), 'corruption')}; an overlap needs two "
            f"different ones.{''.join(f' {note}' for note in notes[:1])}"
        )
    clean = Condition("clean", edition=edition_of(side_px, side_px))
    return (clean, *conditions_at(places, side_px)), notes


def _names(written: str) -> Sequence[str]:
    """The corruptions of a suite, or the corruption itself."""
    if written.partition(":")[0] in CORRUPTIONS:
        return [written]
    if not written.endswith(".toml") and written.partition("@")[0] not in suite_names():
        known = [*CORRUPTIONS.names(), *suite_names()]
        raise unknown_name(
            "candidate",
            written.partition(":")[0],
            known,
            "windtunnel list corruptions, windtunnel list suites",
        )
    suite = load_suite(written)
    if not suite.corruptions or suite.stored:
        raise UserError(f"Suite {suite.name} has no corruptions that can be made; give another one.")
    return suite.corruptions


def _check_network(protocol: Protocol, train: Dataset, device: str) -> None:
    """Refuse a network that does not take the images or does not return the classes' scores."""
    classes = len(train.label_space)
    module = built(protocol.network, classes, protocol.side_px, seed=0)
    place = torch_device(device)
    check_fits(module.to(place), protocol.preprocess, classes, place)
