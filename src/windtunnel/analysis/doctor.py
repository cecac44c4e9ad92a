"""The doctor: is a model's declared preprocessing correct, or is another one significantly better?

One setting is changed at a time on the same images: arithmetic and label order together, then geometry, then
resizer. `analysis/doctor_trials.py` defines when a change is accepted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from windtunnel.analysis.diagnosis import Diagnosis
from windtunnel.analysis.doctor_bench import usable
from windtunnel.analysis.doctor_search import Search
from windtunnel.analysis.label_order_warnings import label_order_warnings
from windtunnel.analysis.preprocess_grid import (
    DECLARED,
    Order,
    label_orders,
    orders_not_tried,
    other_geometries,
)
from windtunnel.core.errors import UserError
from windtunnel.core.labels import LabelSpace, Projection
from windtunnel.core.progress import Progress, silent
from windtunnel.core.samples import Sample, Surveyed
from windtunnel.data import Dataset, group_sizes, one_per_group, require_column, stratified_subset
from windtunnel.data.frame_sets import ONE_VIDEO, video_column
from windtunnel.data.label_maps import read_map, without_images
from windtunnel.data.survey import survey
from windtunnel.engine.process_start import opencv_on_one_thread
from windtunnel.imaging.header import pillow_quiet
from windtunnel.models import Model
from windtunnel.options.doctor import DoctorOptions
from windtunnel.tasks.classification.data_labels import data_space
from windtunnel.tasks.classification.label_mapping import map_labels
from windtunnel.tasks.classification.natural_labels import map_natural_classes


def diagnose(
    model: Model,
    dataset: Dataset,
    options: DoctorOptions = DoctorOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Diagnosis:
    """Try other preprocessing on labelled images and report if one is significantly better than declared.

    Args:
        model: the model with its declaration.
        dataset: labelled images.
        options: which images are used, and how labels relate to outputs. The tests treat images as
            independent, so one image of each group is used, and one frame of each video.
        progress: counts predicted images.
    """
    samples = [sample for sample in sorted(dataset.samples(), key=lambda sample: sample.id) if sample.labels]
    if not samples:
        raise UserError(f"{dataset.location} has no labels; give labelled images, which the doctor needs.")
    used = sorted({label for sample in samples for label in sample.labels})
    space, remarks = data_space(
        dataset,
        samples,
        model,
        options.labels,
        mapped=options.label_map is not None,
        trust=options.labels_are_outputs,
    )
    orders, projection, order_notes = _label_orders(model, dataset, space, used, options)
    chosen, choice_notes = _independent(samples, options, dataset.location)
    remarks = [*remarks, *order_notes, *choice_notes]
    with pillow_quiet(), opencv_on_one_thread():
        images, notes = _usable(model, dataset, chosen)
        remarks += notes
        diagnosis = Search(model, dataset, space, images, orders, projection, remarks, progress).run()
    order = diagnosis.best.order.name
    if order not in diagnosis.best.changed:
        return diagnosis
    warnings = label_order_warnings(order, dataset.label_space, space, model.classes)
    return replace(diagnosis, warnings=[*diagnosis.warnings, *warnings])


def _usable(model: Model, dataset: Dataset, samples: Sequence[Sample]) -> tuple[list[Surveyed], list[str]]:
    """The images that every geometry accepts, shuffled, and a note on those left out."""
    declared = model.preprocess
    if declared.geometry.output_px is None:
        raise UserError(f"{model.name} declares no input size; give rule and crop_px under [geometry].")
    others = other_geometries(declared, sizes=not model.fixed_size).values()
    geometries = [preprocess.geometry for preprocess in (declared, *others)]
    images, left_out = usable(dataset, survey(dataset, samples), geometries)
    if not images:
        raise UserError(
            f"None of the {len(samples)} images of {dataset.location} can be read ({left_out[0]})."
        )
    if not left_out:
        return _shuffled(images), []
    more = " ..." if len(left_out) > 1 else ""
    note = f"{len(left_out)} of {len(samples)} images are left out of every trial ({left_out[0]}{more})."
    return _shuffled(images), [note]


def _independent(
    samples: Sequence[Sample], options: DoctorOptions, location: str
) -> tuple[list[Sample], list[str]]:
    """The images to use, one of each group (by the user's column, or by video), and notes on the choice."""
    group, images, seed = options.group, options.subset, options.seed
    if group:
        require_column(samples, group)
    column = group or video_column(samples)
    sizes = group_sizes(samples, column)
    groups = len(sizes) + len(samples) - sizes.total()
    if groups == 1 < len(samples):
        if group:
            raise UserError(
                f"All images of {location} have the same {group}; the doctor uses one image per group and "
                "needs at least two groups."
            )
        return stratified_subset(samples, images, seed), [ONE_VIDEO]
    if groups == len(samples):
        return stratified_subset(samples, images, seed), []
    chosen = stratified_subset(one_per_group(samples, column, seed), images, seed)
    note = (
        f"{len(chosen):,} images are used, one of each {column}: the data has {len(samples):,} images in "
        f"{groups:,} groups."
    )
    return chosen, [note]


def _label_orders(
    model: Model, dataset: Dataset, space: LabelSpace, used: Sequence[int], options: DoctorOptions
) -> tuple[list[Order], Projection, list[str]]:
    """Label orders to try, the declared one first; the projection of outputs to classes; notes on both."""
    own = tuple(range(len(space)))
    if options.label_map is not None:
        wider, projection = read_map(Path(options.label_map), space, used, model.classes, model.class_count)
        lines = [
            "Outputs are mapped to classes by the label map. Not tried: other label orders.",
            *without_images(space, wider),
        ]
        return [Order(DECLARED, own)], projection, lines
    if rules := dataset.counting_rules:
        outputs, projection = map_natural_classes(rules, space, model)
        note = f"Predictions are counted as in a run over {rules.title}. Not tried: other label orders."
        return [Order(DECLARED, outputs)], projection, [note]
    not_tried = orders_not_tried(space, model.class_count)
    lines = [f"Not tried: {not_tried}."] if not_tried else []
    if model.class_count == len(space) + 1 and not model.classes:
        # The extra output is not declared: networks with a background class have it first.
        note = (
            f"The model has {model.class_count} outputs for {len(space)} classes and declares no labels: "
            "the first or the last output is assumed to be no class."
        )
        return label_orders(space, own, model.class_count), Projection(), [note, *lines]
    declared = map_labels(space, used, model, trust=options.labels_are_outputs)
    return label_orders(space, declared, model.class_count), Projection(), lines


def _shuffled(images: Sequence[Surveyed]) -> list[Surveyed]:
    """The images shuffled, so that the first ones are not all of one class."""
    return sorted(images, key=lambda image: image.content)
