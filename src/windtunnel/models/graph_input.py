"""Networks whose file or server describes their input: its shape, layout and type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import RunFailed, UserError, first_line, unknown_name
from windtunnel.core.locations import Location
from windtunnel.models import Model, Scores, behaviour, output_facts, probe_images
from windtunnel.models.preprocess import Declaration, Dtype, Layout, Preprocess

CHANNEL_COUNTS = (1, 3)
# On one thread, larger batches take longer per image, and more memory for activations.
DYNAMIC_BATCH = 16
PROBED_IMAGES = 2


class DescribedModel(Model):
    """A classifier with one input that its file or server describes. A subclass defines `_scores`.

    `_describe` is called first, then `_identify`, which predicts.
    """

    portable = True

    def _describe(
        self,
        declaration: Declaration,
        shape: Sequence[int | None],
        dtype: Dtype,
        where: Location | PurePath,
    ) -> None:
        """Combine the declaration with the shape of the input, with None for free axes, and its type."""
        self._where = where
        self._declaration = declaration
        self._fixed_batch = shape[0]
        self.fixed_size = None not in (shape[2], shape[1] if shape[3] in CHANNEL_COUNTS else shape[3])
        self.batch = self._fixed_batch if self._fixed_batch and self._fixed_batch > 1 else DYNAMIC_BATCH
        self.preprocess = fit_to_graph(declaration, shape, dtype, where)
        self.trained_on = declaration.trained_on
        self.about = declaration.about
        self.declared_wrappers = declaration.wrappers

    def _identify(self, digest: str) -> None:
        """Set the fingerprint and the facts of the outputs by a trial; `digest` is that of the weights."""
        probe = self._probe()
        facts = output_facts(self._declaration, probe, self._where.name)
        self.fingerprint = f"{digest}-{behaviour(probe)}"
        self.class_count, self.classes = facts.class_count, facts.classes
        self.outputs, self.outputs_from = facts.outputs, facts.outputs_from

    def predict(self, batch: NDArray[np.uint8]) -> Scores:
        """Scores (n, k) of a batch of uint8 NHWC images."""
        return in_batches(self._scores, self.preprocess.tensor.apply(batch), self._fixed_batch)

    def _scores(self, tensor: NDArray[Any]) -> Scores:
        """The network's scores for its input; of exactly the fixed batch size, if there is one."""
        raise NotImplementedError

    def _probe(self) -> Scores:
        images = probe_images(self.preprocess, PROBED_IMAGES)
        try:
            return self.predict(images)
        except (UserError, RunFailed):
            raise
        except Exception as error:  # exceptions of runtimes have no common base class
            side = images.shape[1]
            raise UserError(
                f"{self._where} cannot be run on {side}x{side} images: {runtime_reason(error)} "
                f"Declare its preprocessing in {self._where.name}.toml."
            ) from error


def chosen_output(declaration: Declaration, names: Sequence[str], where: Location | PurePath) -> str:
    """The name of the declared output, else of the first one."""
    if declaration.output is None:
        return names[0]
    if declaration.output not in names:
        raise unknown_name(f"output of {where.name}", declaration.output, names)
    return declaration.output


def runtime_reason(error: Exception) -> str:
    """The first line of a runtime's error as a sentence, shortened for a message."""
    return f"{first_line(error)}."


def in_batches(
    run: Callable[[NDArray[Any]], Scores], tensor: NDArray[Any], fixed_batch: int | None
) -> Scores:
    """A network's results for any number of inputs, although its graph may have a fixed batch size."""
    if fixed_batch is None:
        return run(tensor)
    parts = []
    for start in range(0, len(tensor), fixed_batch):
        part = tensor[start : start + fixed_batch]
        missing = fixed_batch - len(part)
        if missing:
            part = np.concatenate([part, np.repeat(part[-1:], missing, axis=0)])
        parts.append(run(part)[: fixed_batch - missing])
    return np.concatenate(parts)


def fit_to_graph(
    declaration: Declaration, shape: Sequence[int | None], dtype: Dtype, path: Location | PurePath
) -> Preprocess:
    """Combine the declaration with the graph's shape and type; refuses contradictions."""
    layout = declaration.layout or _layout(shape)
    channels = shape[1] if layout == "nchw" else shape[3]
    sides = (shape[2], shape[3]) if layout == "nchw" else (shape[1], shape[2])
    preprocess = declaration.preprocess
    tensor = preprocess.tensor
    count = tensor.channel_count
    if dtype == "uint8" and not declaration.fixed_tensor:
        tensor = replace(tensor, divisor=1.0, mean=(0.0,) * count, std=(1.0,) * count)
    if dtype == "uint8" and not tensor.is_raw:
        raise UserError(f"{path} takes uint8, so its bytes are not converted; remove mean, std and divisor.")
    if channels is not None and channels != count:
        raise UserError(
            f"{path} takes {channels} channel(s), its preprocessing gives {count}; "
            f"declare [tensor] channels in {path.name}.toml."
        )
    preprocess = replace(preprocess, tensor=replace(tensor, layout=layout, dtype=dtype))
    if sides[0] is None or sides[1] is None:
        return preprocess
    if sides[0] != sides[1]:
        raise UserError(f"{path} takes {sides[1]}x{sides[0]} images; windtunnel feeds square images.")
    if preprocess.geometry.output_px == sides[0]:
        return preprocess
    if declaration.fixed_size:
        raise UserError(
            f"{path} takes {sides[0]}x{sides[0]} images, its declared preprocessing gives "
            f"{preprocess.geometry.describe()}; correct crop_px in [geometry]."
        )
    return preprocess.scaled_to(sides[0])


def _layout(shape: Sequence[int | None]) -> Layout:
    return "nhwc" if shape[3] in CHANNEL_COUNTS and shape[1] not in CHANNEL_COUNTS else "nchw"
