"""The source images of a run, regenerated under its conditions, and the names of its classes."""

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
from windtunnel.core.wording import counted
from windtunnel.data import Dataset, content_hash
from windtunnel.data.annotated_frames import EVERY_FRAME
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


class SourceImages:
    """The source images of a run that are still available and unchanged.

    Attributes:
        missing: number of requested images that are missing or have changed.
        needs_plugins: whether an image was requested that an unregistered plug-in makes.
    """

    def __init__(self, run: ScoredRun) -> None:
        """Open the run's dataset; raises a UserError if it is missing."""
        self._run = run
        self._dataset = open_run_data(run)
        self._samples = {sample.id: sample for sample in self._dataset.samples()}
        hashes = zip(run.samples["id"].to_pylist(), run.samples["content"].to_pylist(), strict=True)
        self._hashes = dict(hashes)
        self.missing = 0
        self.needs_plugins = False

    def frames_under(self, image: str, *conditions: str) -> list[list[Image]] | None:
        """All frames of an image under each condition; None if the image is missing or has changed."""
        if any(missing_for(self._run, condition_named(self._run, name)) for name in conditions):
            self.needs_plugins = True
            return None
        frames = self._regenerate(image, conditions)
        self.missing += frames is None
        return frames

    def _regenerate(self, image: str, conditions: tuple[str, ...]) -> list[list[Image]] | None:
        sample, expected = self._samples.get(image), self._hashes[image]
        if sample is None:
            return None
        seed = int(self._run.recipe.seed)
        try:
            if content_hash(self._dataset.read(sample)) != expected:
                return None
            source = Source(self._dataset, Surveyed(sample, expected, orientation=UPRIGHT))
            return [
                list(frames_under(source, condition, self._geometry_of(condition), seed))
                for condition in (condition_named(self._run, name) for name in conditions)
            ]
        except (ImageError, RunFailed, UserError):
            return None

    def _geometry_of(self, condition: Condition) -> Geometry:
        """The geometry of a condition: the model's for `native`, else the suite's with its changes."""
        recipe = self._run.recipe
        geometry = Geometry.of(recipe.model.geometry if condition.is_native else recipe.canvas.geometry)
        return replace(geometry, **condition.geometry_changes)

    @property
    def note(self) -> str:
        """A note on images that are not shown; "" if all are available."""
        plugins = missing_plugins_note(self._run) if self.needs_plugins else ""
        images = counted(self.missing, "image is", "images are")
        missing = f"{images} not shown: missing or changed since the run." if self.missing else ""
        return " ".join(filter(None, (plugins, missing)))


def open_run_data(run: ScoredRun) -> Dataset:
    """The dataset of a run, opened like in the run; raises a UserError if it is missing."""
    data = run.info.data
    if missing_layout(run):
        raise UserError(missing_plugins_note(run))
    if run.natural:
        frames = EVERY_FRAME if run.natural.choices else ""
        return open_natural(data.location, run.natural.set, data.clean or None, frame_sets=frames)
    return open_with_clean(data.location, data.clean or None)


def open_source_images(run: ScoredRun) -> SourceImages | None:
    """The source images of a run; None if its dataset is missing."""
    try:
        return SourceImages(run)
    except UserError:
        return None


def missing_data_note(run: ScoredRun) -> str:
    """The note for a run whose dataset is missing, or cannot be opened without a plug-in."""
    if missing_layout(run):
        return missing_plugins_note(run)
    return f"No images are shown: {run.info.data.location} no longer contains them."


def condition_named(run: ScoredRun, name: str) -> Condition:
    """The condition of a run with this name, with its settings."""
    stored = next(condition for condition in run.conditions if condition.name == name)
    return replace(stored, settings=parse_settings(run.info.settings).get(stored.unit, {}))


def class_names(run: ScoredRun) -> dict[int, str]:
    """The class names of the model's outputs that correspond to classes of the dataset."""
    classes = run.info.data.classes
    names = imagenet_names() if run.recipe.data.label_space == IMAGENET_1K else {}
    return {
        output_of(run, label): names.get(name, name)
        for label, name in enumerate(classes)
        if output_of(run, label) >= 0
    }


def prediction_name(names: Mapping[int, str], output: int) -> str:
    """The name of a predicted class; `not finite` for a prediction that is not finite."""
    return "not finite" if output < 0 else names.get(output, f"class {output}")


def output_of(run: ScoredRun, label: int) -> int:
    """The index of the model's output for a class of the dataset."""
    return int(run.recipe.projection.labels[label])


def label_names(run: ScoredRun, labels: Sequence[int]) -> str:
    """The names of an image's classes."""
    names = class_names(run)
    return ", ".join(names.get(output_of(run, label), str(label)) for label in labels)


def thumbnail(image: Image, side_px: int) -> str:
    """An image as a small JPEG in a data URI; small images are enlarged by a whole factor."""
    small = PillowImage.fromarray(np.ascontiguousarray(image))
    grow = side_px // max(small.size)
    if grow > 1:
        small = small.resize((small.width * grow, small.height * grow), PillowImage.Resampling.NEAREST)
    small.thumbnail((side_px, side_px))
    out = io.BytesIO()
    small.save(out, "JPEG", quality=THUMBNAIL_QUALITY)
    return "data:image/jpeg;base64," + base64.b64encode(out.getvalue()).decode()


def label_of(run: ScoredRun, image: str) -> str:
    """The names of the classes of the image with this id; "" if it has no label."""
    row = run.samples["id"].to_pylist().index(image)
    return label_names(run, run.samples["labels"][row].as_py())


def unmodified_condition(run: ScoredRun) -> str:
    """The condition that does not modify images: `native`, else `clean`; "" if the run has neither."""
    return next((name for name in ("native", "clean") if name in run.predicted.conditions), "")


def evaluated_part(run: ScoredRun) -> Part | None:
    """The part of a natural run whose errors are shown: shifted images, else clean ones; None for others."""
    return part_of_role(run, "shifted") or part_of_role(run, "clean")


def evaluated_rows(run: ScoredRun) -> NDArray[np.int64]:
    """Rows of the scored images whose errors are shown: all images, or the evaluated part."""
    part = evaluated_part(run)
    return np.arange(len(run.observed.ids)) if part is None else part.rows
