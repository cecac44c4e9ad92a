"""A run's images again: opened where they lay, and shown only if they are what they were."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image as PillowImage

from windtunnel.core.conditions import Condition
from windtunnel.core.errors import ImageError, RunFailed, UserError
from windtunnel.core.images import UPRIGHT, Image
from windtunnel.core.labels import IMAGENET_1K
from windtunnel.core.samples import Surveyed
from windtunnel.data import Dataset, content_hash
from windtunnel.data.natural_layouts import open_natural
from windtunnel.data.precomputed import open_with_clean
from windtunnel.engine.condition_kinds import frames_under
from windtunnel.engine.images import Source
from windtunnel.engine.plan import parse_settings
from windtunnel.imaging.geometry import Geometry
from windtunnel.metrics.parts import Part, part_of_role
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.published.imagenet import imagenet_names
from windtunnel.report.missing_plugins import missing_for, missing_layout, missing_plugins_note

THUMBNAIL_QUALITY = 80
THUMBNAIL_PX = 160


class Originals:
    """The images of a run, as far as they are still there.

    Attributes:
        gone: how many that were asked for have changed or gone.
        needs_plugins: whether an image was asked for that an unregistered plug-in makes.
    """

    def __init__(self, run: ScoredRun) -> None:
        """Open the run's data; a UserError says that it is no longer there."""
        self._run = run
        self._dataset = _reopened(run)
        self._samples = {sample.id: sample for sample in self._dataset.samples()}
        hashes = zip(run.samples["id"].to_pylist(), run.samples["content"].to_pylist(), strict=True)
        self._hashes = dict(hashes)
        self.gone = 0
        self.needs_plugins = False

    def under(self, image: str, *conditions: str) -> list[list[Image]] | None:
        """All frames of an image under each condition, or None where the image is not what it was."""
        if any(missing_for(self._run, stored_condition(self._run, name)) for name in conditions):
            self.needs_plugins = True
            return None
        found = self._remade(image, conditions)
        self.gone += found is None
        return found

    def _remade(self, image: str, conditions: tuple[str, ...]) -> list[list[Image]] | None:
        sample, expected = self._samples.get(image), self._hashes[image]
        if sample is None:
            return None
        seed = int(self._run.recipe.seed)
        try:
            if content_hash(self._dataset.read(sample)) != expected:
                return None
            source = Source(self._dataset, Surveyed(sample, expected, orientation=UPRIGHT))
            made = [stored_condition(self._run, name) for name in conditions]
            return [
                list(frames_under(source, condition, self._geometry_of(condition), seed))
                for condition in made
            ]
        except (ImageError, RunFailed, UserError):
            return None

    def _geometry_of(self, condition: Condition) -> Geometry:
        """How a condition's image was made: the model's way for `native`, else the suite's or near it."""
        recipe = self._run.recipe
        geometry = Geometry.of(recipe.model.geometry if condition.is_native else recipe.canvas.geometry)
        return replace(geometry, **condition.geometry_changes)

    @property
    def note(self) -> str:
        """What to say of images that are not shown."""
        gone = f"{self.gone} images have changed or gone since the run and are not shown."
        missing = missing_plugins_note(self._run) if self.needs_plugins else ""
        return " ".join(filter(None, (missing, gone if self.gone else "")))


def _reopened(run: ScoredRun) -> Dataset:
    """The data a run was of, as it was opened then."""
    data = run.info.data
    if missing_layout(run):
        raise UserError(missing_plugins_note(run))
    if run.natural:
        return open_natural(data.location, run.natural.set, data.clean or None)
    return open_with_clean(data.location, data.clean or None)


def open_originals(run: ScoredRun) -> Originals | None:
    """The run's images, or None where its data is gone."""
    try:
        return Originals(run)
    except UserError:
        return None


def no_originals(run: ScoredRun) -> str:
    """What to say where the run's data is gone, or cannot be opened without a plug-in."""
    if missing_layout(run):
        return missing_plugins_note(run)
    return f"The images are no longer at {run.info.data.location}: none can be shown."


def stored_condition(run: ScoredRun, name: str) -> Condition:
    """A condition of a run, by its name."""
    stored = next(condition for condition in run.conditions if condition.name == name)
    return replace(stored, settings=parse_settings(run.info.settings).get(stored.unit, {}))


def class_names(run: ScoredRun) -> dict[int, str]:
    """What people call the model's outputs, as far as the data's classes tell."""
    classes = run.info.data.classes
    words = imagenet_names() if run.recipe.data.label_space == IMAGENET_1K else {}
    return {
        output_of(run, label): words.get(name, name)
        for label, name in enumerate(classes)
        if output_of(run, label) >= 0
    }


def prediction_name(names: Mapping[int, str], output: int) -> str:
    """What people call a predicted class; a prediction that is not finite has none."""
    return "not finite" if output < 0 else names.get(output, f"class {output}")


def output_of(run: ScoredRun, label: int) -> int:
    """The model's output that a class of the data is."""
    return int(run.recipe.projection.labels[label])


def label_names(run: ScoredRun, labels: Sequence[int]) -> str:
    """What people call an image's classes."""
    names = class_names(run)
    return ", ".join(names.get(output_of(run, label), str(label)) for label in labels)


def thumbnail(image: Image, side_px: int) -> str:
    """A small JPEG as a data address; images smaller than that are enlarged by whole pixels."""
    small = PillowImage.fromarray(np.ascontiguousarray(image))
    grow = side_px // max(small.size)
    if grow > 1:
        small = small.resize((small.width * grow, small.height * grow), PillowImage.Resampling.NEAREST)
    small.thumbnail((side_px, side_px))
    out = io.BytesIO()
    small.save(out, "JPEG", quality=THUMBNAIL_QUALITY)
    return "data:image/jpeg;base64," + base64.b64encode(out.getvalue()).decode()


def label_of(run: ScoredRun, image: str) -> str:
    """What people call an image's classes, "" where it has none."""
    row = run.samples["id"].to_pylist().index(image)
    return label_names(run, run.samples["labels"][row].as_py())


def plain_condition(run: ScoredRun) -> str:
    """The condition that does nothing to images: the model's own way, or the canvas; "" for none."""
    return next((name for name in ("native", "clean") if name in run.observed.conditions), "")


def part_in_question(run: ScoredRun) -> Part | None:
    """The part of a natural run whose failures are shown: the shifted images, else the clean ones."""
    return part_of_role(run, "shifted") or part_of_role(run, "clean")


def rows_in_question(run: ScoredRun) -> NDArray[np.int64]:
    """The scored images whose failures are shown: all, or a natural run's part."""
    part = part_in_question(run)
    return np.arange(len(run.observed.ids)) if part is None else part.rows
