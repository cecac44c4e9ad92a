"""Planning a study of subtypes: its types, split and models, checked before any work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from windtunnel.core.conditions import digest
from windtunnel.core.errors import UserError
from windtunnel.core.labels import IMAGENET_1K, LabelSpace
from windtunnel.core.locations import Location, is_inside, local_path
from windtunnel.core.option_names import option
from windtunnel.core.records import record_of
from windtunnel.core.samples import Sample, Surveyed
from windtunnel.core.training_records import MixRecord, SettingsRecord
from windtunnel.core.wording import counted, listed
from windtunnel.data import Dataset, open_dataset
from windtunnel.data.chosen_images import ChosenImages
from windtunnel.data.class_subset import listed_classes
from windtunnel.data.class_types import NAMED, ClassTypes, read_types
from windtunnel.models.torch import state_fingerprint
from windtunnel.models.torch_layers import last_layer
from windtunnel.options.subtypes import SubtypeOptions
from windtunnel.published.imagenet import imagenet_1k
from windtunnel.studies.protocols import Protocol, load_protocol
from windtunnel.studies.subtype_split import SubtypeSplit, hold_out, split_subtypes
from windtunnel.studies.subtype_study import SubtypeRecipe, SubtypeStudy
from windtunnel.studies.subtype_training import MODULE, NETWORK, SubtypeModel, copy_features
from windtunnel.train.export import check_exporter, check_exports
from windtunnel.train.module_checks import blank_inputs, check_fits, torch_device
from windtunnel.train.networks import built, network_assets
from windtunnel.train.settings import Settings
from windtunnel.train.trained_layers import check_layers
from windtunnel.train.training_recipe import preprocess_record, training_data
from windtunnel.train.views import labelled, readable


def plan_subtypes(
    data: str | Location | Dataset, out: str | Location, options: SubtypeOptions
) -> SubtypeStudy:
    """Check the inputs of a study; the method `run` of the result trains its models.

    Raises:
        UserError: types, data, protocol and models do not fit, or the folder contains something else.
    """
    check_exporter()
    folder = local_path(out, "folder of a study")
    for name in ("seen_share", "held_out"):
        _check_share(name, getattr(options, name))
    protocol = load_protocol(options.protocol).changed(None, options.epochs)
    last = _last_settings(protocol.settings, options)
    dataset = open_dataset(data)
    if is_inside(folder, dataset.location):
        raise UserError(f"{folder} is inside {dataset.location}; give a folder outside the images.")
    samples, names = labelled(dataset), dataset.label_space.classes
    present = {names[sample.labels[0]] for sample in samples}
    classes = read_types(options.hierarchy, options.types, present, dataset.location)
    seen = _seen_classes(options.seen, classes, dataset)
    ways = protocol.mix.ways(protocol.preprocess.geometry)
    typed = [sample for sample in samples if names[sample.labels[0]] in classes.types]
    surveyed = readable(dataset, typed, ways)
    images = [image for image in surveyed if image.status == "ok"]
    counts = Counter(names[image.sample.labels[0]] for image in images)
    split = split_subtypes(classes, counts, seen, options.seen_share, options.split_seed)
    train, test, shared_notes = _train_and_test(images, names, split, options)
    items = _models(protocol, split, options)
    notes = (*classes.notes, *_lost(surveyed, dataset), *split.notes, *shared_notes, *_module_notes(items))
    subtypes = _relabelled(
        dataset, train, split.of_part("seen"), {name: name for name in split.of_part("seen")}
    )
    types = _relabelled(dataset, train, split.types, {one.name: one.type for one in split.subtypes})
    recipe = SubtypeRecipe(
        split={subtype.name: (subtype.type, subtype.part) for subtype in split.subtypes},
        train=training_data(dataset, train),
        test=training_data(dataset, test),
        preprocess=preprocess_record(protocol.preprocess),
        settings=record_of(protocol.settings, SettingsRecord),
        last=record_of(last, SettingsRecord),
        mix=msgspec.structs.replace(
            record_of(protocol.mix, MixRecord), assets=protocol.mix.assets(protocol.preprocess.geometry)
        ),
        device=str(torch_device(options.device)),
    )
    study = SubtypeStudy(
        folder, protocol, last, dataset, split, subtypes, types, tuple(test), items, recipe, options.device,
        notes,
    )  # fmt: skip
    study.check_folder()
    return study


def _check_share(name: str, value: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise UserError(f"{option(name)} is {value}; give a number between 0 and 1, such as 0.5.")


def _last_settings(settings: Settings, options: SubtypeOptions) -> Settings:
    """The protocol's settings with the last layer's epochs and rate, and a cosine to 0."""
    if not 0 < options.last_rate < float("inf"):
        raise UserError(f"{option('last_rate')} is {options.last_rate}; give a number above 0, such as 0.01.")
    return replace(
        settings,
        epochs=options.last_epochs,
        learning_rate=float(options.last_rate),
        drop_after=(),
        reset_momentum=False,
    )


def _seen_classes(given: str | Path | None, classes: ClassTypes, dataset: Dataset) -> Collection[str] | None:
    """The classes that the option `seen` names; None if it is not given."""
    if given is None:
        return None
    if classes.parts:
        raise UserError(
            f"{option('seen')} is given, but the hierarchy has a column part; leave one of them out."
        )
    if str(given) == IMAGENET_1K:
        return frozenset(imagenet_1k().classes)
    if not Path(given).is_file():
        raise UserError(
            f"{option('seen')} is '{given}', which is not a file; give {IMAGENET_1K}, or a file with a class "
            "in every line."
        )
    space = dataset.label_space
    return {space.classes[index] for index in listed_classes(space, Path(given), dataset.location)}


def _train_and_test(
    images: Sequence[Surveyed], names: Sequence[str], split: SubtypeSplit, options: SubtypeOptions
) -> tuple[list[Surveyed], list[Surveyed], list[str]]:
    """The training images, the test images, and a note on test images that are training images as well."""
    by_class: dict[str, list[Surveyed]] = {}
    for image in images:
        by_class.setdefault(names[image.sample.labels[0]], []).append(image)
    train: list[Surveyed] = []
    held_out: list[Surveyed] = []
    unseen: list[Surveyed] = []
    for subtype in split.subtypes:
        if subtype.part == "unseen":
            unseen += by_class[subtype.name]
        else:
            kept, tested = hold_out(by_class[subtype.name], options.held_out, options.split_seed)
            train += kept
            held_out += tested
    known = {image.content for image in train}
    test = [image for image in (*held_out, *unseen) if image.content not in known]
    shared = len(held_out) + len(unseen) - len(test)
    tested_classes = {names[image.sample.labels[0]] for image in test}
    if gone := [subtype.name for subtype in split.subtypes if subtype.name not in tested_classes]:
        raise UserError(
            f"All test images of {counted(len(gone), 'class', 'classes')} are training images as well: "
            f"{listed(gone, NAMED)}; remove duplicates from the data."
        )
    note = f"{counted(shared, 'test image')} with the content of training images are left out."
    train.sort(key=lambda image: image.sample.id)
    return train, test, [note] if shared else []


def _relabelled(
    dataset: Dataset, images: Sequence[Surveyed], classes: Sequence[str], class_of: dict[str, str]
) -> ChosenImages:
    """Images whose label is the place of their class among others, or that of its type."""
    place = {name: number for number, name in enumerate(classes)}
    names = dataset.label_space.classes

    def label(sample: Sample) -> Sample:
        return replace(sample, labels=(place[class_of[names[sample.labels[0]]]],))

    space = LabelSpace("names", tuple(classes), "sorted class names")
    chosen = tuple(label(image.sample) for image in images)
    return ChosenImages(dataset.name, dataset.location, space, dataset, chosen)


def _models(protocol: Protocol, split: SubtypeSplit, options: SubtypeOptions) -> tuple[SubtypeModel, ...]:
    """The models of every seed; refuses networks and modules that cannot be used."""
    networks = list(options.network) or ([] if options.module else [protocol.network])
    given = [*((NETWORK, name) for name in networks), *((MODULE, name) for name in options.module)]
    models: list[SubtypeModel] = []
    for kind, name in dict.fromkeys(given):
        content = _checked(kind, name, protocol, split, options.device)
        models.append(SubtypeModel(kind, name, content, 0))
    labels = Counter((model.kind, model.label) for model in models)
    if same := [label for (_, label), count in labels.items() if count > 1]:
        raise UserError(f"Two files have a {same[0]}; rename one of them, because tables show these names.")
    return tuple(replace(model, seed=seed) for model in models for seed in range(options.seeds))


def _checked(kind: str, name: str, protocol: Protocol, split: SubtypeSplit, device: str) -> str:
    """Build a model as its training does, and return the digest of its file and of a module's weights."""
    if kind == MODULE and ".py:" not in name:
        raise UserError(
            f"{option('module')} is '{name}'; give FILE.py:factory, a function(classes, side_px) that "
            "returns a pretrained torch module."
        )
    place, outputs = torch_device(device), len(split.types)
    module = built(name, outputs, protocol.side_px, seed=0)
    check_fits(module.to(place), protocol.preprocess, outputs, place)
    check_layers(module, "last", outputs, blank_inputs(protocol.preprocess, place))
    check_exports(module, protocol.preprocess)
    assets = network_assets(name)
    if kind == MODULE:
        assets["weights"] = state_fingerprint(module, without=last_layer(module, outputs))
    else:
        seen = len(split.of_part("seen"))
        first = built(name, seen, protocol.side_px, seed=0)
        check_fits(first.to(place), protocol.preprocess, seen, place)
        copy_features(first, module, seen, outputs)
    return digest(assets) if assets else ""


def _lost(surveyed: Sequence[Surveyed], dataset: Dataset) -> list[str]:
    lost = [f"{image.sample.id}: {image.reason}" for image in surveyed if image.status != "ok"]
    if not lost:
        return []
    return [f"{counted(len(lost), 'image')} of {dataset.location} cannot be read: {listed(lost, NAMED)}."]


def _module_notes(items: Sequence[SubtypeModel]) -> list[str]:
    modules = sorted({item.label for item in items if item.kind == MODULE})
    if not modules:
        return []
    return [
        f"What {listed(modules, NAMED)} was trained on is not known: subtypes or images of that training are "
        "not unseen, and accuracies on them are too high."
    ]
