"""Detectors in ONNX files: a graph on ONNX Runtime, and a detection head that reads its outputs."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.detections import Detections, joined
from windtunnel.core.errors import UserError
from windtunnel.core.file_digests import file_digest
from windtunnel.core.locations import Location
from windtunnel.core.option_names import option
from windtunnel.core.placement import AUTO, CPU, DEFAULT_PRECISION, Placement
from windtunnel.imaging.geometry import Geometry
from windtunnel.models import Model, behaviour, probe_images
from windtunnel.models.graph_input import DYNAMIC_BATCH, fit_to_graph, runtime_reason
from windtunnel.models.heads import REGISTRY, HeadSettings, decoded, texts_of
from windtunnel.models.onnx import DTYPES, EXTERNAL_DATA, open_session, single_image_input
from windtunnel.models.preprocess import Declaration

DETECTION = "detection"


class OnnxDetector(Model):
    """A detector in an ONNX file; its TOML declares `task = "detection"` and its head in `[detector]`."""

    kind = "onnx"
    kind_title = "ONNX"
    portable = True
    task = DETECTION
    outputs = "logits"
    outputs_from = "declared"

    def __init__(self, path: Location, declaration: Declaration, settings: HeadSettings) -> None:
        self._path, self._settings = path, settings
        self._head = REGISTRY.get(settings.head)
        self.name = path.stem
        self._session = open_session(path)
        graph_input = single_image_input(self._session, path)
        self._input_name = graph_input.name
        self._output_names = [item.name for item in self._session.get_outputs()]
        shape = [size if isinstance(size, int) and size > 0 else None for size in graph_input.shape]
        self._fixed_batch = shape[0]
        self.batch = self._fixed_batch or DYNAMIC_BATCH
        self.preprocess = fit_to_graph(declaration, shape, DTYPES[graph_input.type], path)
        check_whole(self.preprocess.geometry, path.name)
        self.trained_on, self.about = declaration.trained_on, declaration.about
        self.declared_wrappers = declaration.wrappers
        images = probe_images(self.preprocess, self._fixed_batch or 1)
        outputs = self._probe(images)
        self.classes = declaration.labels
        self.class_count = self._count(outputs)
        external = [path.with_name(path.name + suffix) for suffix in EXTERNAL_DATA]
        flat = np.concatenate(
            [np.asarray(value, np.float32).reshape(1, -1) for value in outputs.values()], axis=1
        )
        read = hashlib.blake2b("\0".join(texts_of(settings)).encode(), digest_size=8).hexdigest()
        self.fingerprint = f"{file_digest(path, *external)}-{behaviour(flat)}-{read}"

    def predict(self, batch: NDArray[np.uint8]) -> Detections:  # type: ignore[override]  # of another task
        """The detections of a batch of uint8 NHWC images, in pixels of these images."""
        tensor = self.preprocess.tensor.apply(batch)
        size = (int(batch.shape[1]), int(batch.shape[2]))
        parts, step = [], self._fixed_batch or len(tensor)
        for start in range(0, len(tensor), step):
            part = tensor[start : start + step]
            count = len(part)
            if count < step:
                part = np.concatenate([part, np.repeat(part[-1:], step - count, axis=0)])
            parts.append(decoded(self._head, self._run(part), size, self._settings)[:count])
        found = joined(parts)
        if len(found.classes) and int(found.classes.max()) >= self.class_count:
            raise ValueError(
                f"it returns class {found.classes.max()} and has {self.class_count} classes; correct labels "
                "or class_offset"
            )
        return found

    def placed(self, placement: Placement) -> Model:
        """The same network by another execution provider."""
        wanted = placement.completed_by(self.placement)
        if wanted.precision != DEFAULT_PRECISION:
            raise UserError(
                f"{self._path.name} computes in the types of its graph; leave {option('precision')} out."
            )
        device = CPU if wanted.device == AUTO else wanted.device
        other = self._at(
            replace(wanted, device=device, batch=wanted.batch or self._fixed_batch), DYNAMIC_BATCH
        )
        if wanted.accelerated:
            other._session = open_session(self._path, placement=wanted)
        return other

    def _run(self, tensor: NDArray[Any]) -> dict[str, NDArray[Any]]:
        values = self._session.run(self._output_names, {self._input_name: tensor})
        return dict(zip(self._output_names, values, strict=True))

    def _probe(self, images: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
        """The outputs for the probe images; refuses a graph whose head cannot read them."""
        try:
            outputs = self._run(self.preprocess.tensor.apply(images))
            decoded(self._head, outputs, (images.shape[1], images.shape[2]), self._settings)
        except UserError:
            raise
        except Exception as error:  # ONNX Runtime's exceptions have no common base class
            raise UserError(
                f"{self._path.name} cannot be read by the head {self._head.name}: {runtime_reason(error)} "
                f"Correct [detector] in {self._path.name}.toml."
            ) from error
        return outputs

    def _count(self, outputs: dict[str, NDArray[Any]]) -> int:
        """The number of classes: as declared, or by the shapes of the outputs."""
        count = self._head.class_count(outputs, self._settings)
        if count is None and not self.classes:
            raise UserError(
                f"The outputs of {self._path.name} do not tell the number of classes; declare labels in "
                f"{self._path.name}.toml."
            )
        if count is not None and self.classes and count != len(self.classes):
            raise UserError(
                f"{self._path.name} has {count} classes, but {len(self.classes)} labels are declared; "
                "correct labels."
            )
        return count or len(self.classes)


def load_detector(path: Location, declaration: Declaration) -> OnnxDetector:
    """The detector in an ONNX file, as its TOML declares it."""
    if declaration.detector is None:
        raise UserError(
            f"{path.name} is declared as a detector without a head; add [detector] with "
            f"head = {' or '.join(repr(name) for name in REGISTRY.names())} to {path.name}.toml."
        )
    return OnnxDetector(path, declaration, declaration.detector)


def check_whole(geometry: Geometry, name: str) -> None:
    """Refuse a detector's geometry that crops: objects at the margin would be lost."""
    whole = geometry.rule in ("none", "exact", "letterbox") or not geometry.crop_px
    if geometry.rule == "squash" and geometry.crop_px == geometry.resize_px:
        whole = True
    if geometry.rule == "crop-then-resize" or not whole:
        raise UserError(
            f"{name} is a detector whose preprocessing crops ({geometry.describe()}), which loses objects; "
            "declare rule = 'exact', 'letterbox' or 'short-side' with crop_px = 0 in [geometry]."
        )
