"""ONNX files on ONNX Runtime; on the CPU with one thread, bit-identical for any number of workers."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.file_digests import file_digest
from windtunnel.core.locations import Location, local_files
from windtunnel.core.option_names import option
from windtunnel.core.placement import AUTO, CPU, DEFAULT_PRECISION, Placement
from windtunnel.models import (
    FeatureSource,
    Model,
    Scores,
    behaviour,
    check_scores,
    output_facts,
    probe_images,
)
from windtunnel.models.devices import PROVIDERS, execution_providers, refuse_fallback, warn_of_cpu
from windtunnel.models.kinds import unknown_model
from windtunnel.models.preprocess import Declaration, Dtype, Layout, Preprocess, declared

# Larger batches take longer per image on one thread, and more memory for activations.
DYNAMIC_BATCH = 16
DTYPES: dict[str, Dtype] = {
    "tensor(float)": "float32",
    "tensor(float16)": "float16",
    "tensor(uint8)": "uint8",
}
# Weights too large for one file are stored next to the graph under one of these names.
EXTERNAL_DATA = (".data", "_data")
CHANNEL_COUNTS = (1, 3)
# Field 1 of an entry, the key, and the tag of field 2, its value.
_LOCATION_KEY = rb"\x0a\x08location\x12"

_NEW_IR = re.compile(r"model IR version: (?P<found>\d+), max supported IR version: (?P<newest>\d+)")
_NEW_OPSET = re.compile(
    r"Opset (?P<found>\d+) is under development.*domain (?P<domain>\S+) is till opset (?P<newest>\d+)",
    re.DOTALL,
)


class OnnxModel(Model):
    """A classifier in an ONNX file: fixed or dynamic batch, NCHW or NHWC, float32, float16 or uint8."""

    kind = "onnx"
    kind_title = "ONNX"
    portable = True

    def __init__(self, path: Location, preprocess: str | Path | None = None) -> None:
        self._declaration = declared(preprocess, path)
        self._path = path
        self.name = path.stem
        self._session = open_session(path)
        graph_input = single_image_input(self._session, path)
        self._input_name = graph_input.name
        self._output_name = _output_name(self._session, self._declaration, path)
        shape = [size if isinstance(size, int) and size > 0 else None for size in graph_input.shape]
        self._fixed_batch = shape[0]
        self.fixed_size = None not in (shape[2], shape[1] if shape[3] in CHANNEL_COUNTS else shape[3])
        self.batch = self._fixed_batch if self._fixed_batch and self._fixed_batch > 1 else DYNAMIC_BATCH
        self.preprocess = fit_to_graph(self._declaration, shape, DTYPES[graph_input.type], path)
        self.trained_on = self._declaration.trained_on
        self.about = self._declaration.about
        self.declared_wrappers = self._declaration.wrappers
        probe = self._probe()
        facts = output_facts(self._declaration, probe, path.name)
        # Weights may be in files of any name; the model's scores distinguish them.
        external = [path.with_name(path.name + suffix) for suffix in EXTERNAL_DATA]
        self.fingerprint = f"{file_digest(path, *external)}-{behaviour(probe)}"
        self.class_count, self.classes = facts.class_count, facts.classes
        self.outputs, self.outputs_from = facts.outputs, facts.outputs_from

    def predict(self, batch: NDArray[np.uint8]) -> Scores:
        """Scores (n, k) of a batch of uint8 NHWC images."""
        tensor = self.preprocess.tensor.apply(batch)
        return in_batches(self._scores, tensor, self._fixed_batch)

    @property
    def path(self) -> Path:
        """The model's file on this machine."""
        return local_model(self._path)

    def with_graph(self, graph: bytes, name: str, batch: int) -> OnnxModel:
        """The same model with another graph of the same inputs and outputs."""
        other = copy.copy(self)
        other.name = name
        other.batch = batch
        other._session = open_session(self._path, graph, self.placement)
        return other

    def placed(self, placement: Placement) -> Model:
        """The same network by another execution provider."""
        wanted = placement.completed_by(self.placement)
        if wanted.precision != DEFAULT_PRECISION:
            raise UserError(
                f"{self._path.name} computes in the types of its graph, and {option('precision')} is "
                f"'{wanted.precision}'; export the network in that precision, or measure what half precision "
                f"costs with {option('only', ['numerics=float16'])}."
            )
        if wanted.device == AUTO:
            device, session = self._automatic()
        elif wanted.device == self.placement.device or not (wanted.accelerated or self.owns_device):
            device, session = wanted.device, self._session
        else:
            device, session = wanted.device, open_session(self._path, placement=wanted)
        fixed = self._fixed_batch if self._fixed_batch and self._fixed_batch > 1 else None
        other = self._at(replace(wanted, device=device, batch=wanted.batch or fixed), DYNAMIC_BATCH)
        other._session = session
        return other

    def _automatic(self) -> tuple[str, Any]:
        """CUDA if ONNX Runtime has it and can load it, else the CPU; with a session there."""
        import onnxruntime

        if PROVIDERS["cuda"] in onnxruntime.get_available_providers():
            try:
                return "cuda", open_session(self._path, placement=Placement("cuda"))
            except UserError:
                warn_of_cpu()
        return CPU, self._session

    def variant(self, name: str) -> Model:
        """The same network in other arithmetic (`float16`, `int8`), cached."""
        from windtunnel.models.numerics import onnx_variant

        return onnx_variant(self, name)

    def penultimate_features(self) -> FeatureSource | None:
        """What the last layer with weights receives; None without the package onnx."""
        from windtunnel.models.features import FeatureNetwork, penultimate_tensor

        tensor = penultimate_tensor(self._path, self._input_name, self._output_name)
        if not tensor:
            return None
        network = FeatureNetwork(self._path, tensor)
        network.preprocess = self.preprocess
        return network

    def _scores(self, tensor: NDArray[Any]) -> Scores:
        scores = self._session.run([self._output_name], {self._input_name: tensor})[0]
        return check_scores(scores, len(tensor), self._path.name)

    def _probe(self) -> Scores:
        images = probe_images(self.preprocess, 2)
        try:
            return self.predict(images)
        except UserError:
            raise
        except Exception as error:  # ONNX Runtime's exceptions have no common base class
            side = images.shape[1]
            raise UserError(
                f"{self._path} cannot be run on {side}x{side} images: {first_line(error)} "
                f"Declare its preprocessing in {self._path.name}.toml."
            ) from error


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


def local_model(path: Location) -> Path:
    """The local file of a model; a remote one is put into the cache with the files of its weights."""
    return local_files(path, external_files)


def external_files(path: Path) -> list[str]:
    """The paths of the files that contain weights of an ONNX file, relative to its folder.

    They are in entries of the protobuf's type StringStringEntryProto with the key `location`; a whole parser
    is not needed to find them.
    """
    content = path.read_bytes()
    named = {content[at : at + size].decode("utf-8", "replace") for at, size in _locations(content)}
    return sorted(name for name in named if name and not {"..", ""} & set(name.split("/")))


def _locations(content: bytes) -> Iterator[tuple[int, int]]:
    """Offset and length of every text that follows the key `location`."""
    for match in re.finditer(_LOCATION_KEY, content):
        size, at, shift = 0, match.end(), 0
        while at < len(content):
            byte = content[at]
            size, at, shift = size | (byte & 0x7F) << shift, at + 1, shift + 7
            if not byte & 0x80:
                yield at, size
                break


def open_session(path: Location, graph: bytes | None = None, placement: Placement = Placement(CPU)) -> Any:  # noqa: B008 (frozen)
    """A session on one thread of the CPU or on another device, for a file or for a graph made from it."""
    if not path.is_file():
        raise unknown_model(str(path))
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    providers = execution_providers(placement)
    try:
        # By default ONNX Runtime continues on the CPU where a provider fails, in the middle of a run too.
        session = onnxruntime.InferenceSession(
            str(local_model(path)) if graph is None else graph,
            options,
            providers=providers,
            enable_fallback=False,
        )
    except Exception as error:  # ONNX Runtime's exceptions have no common base class
        reason = _newer_than_supported(str(error), onnxruntime.__version__)
        if reason:
            raise UserError(f"{path} {reason}") from error
        if placement.accelerated:
            raise UserError(
                f"{path} cannot be loaded on {placement.device}: {first_line(error)} Give "
                f"{option('device', CPU)}, or another device."
            ) from error
        raise UserError(f"{path} is not a model ONNX Runtime can load: {first_line(error)}") from error
    refuse_fallback(session, placement, providers)
    return session


def _newer_than_supported(message: str, runtime: str) -> str:
    """Which version of a file is newer than ONNX Runtime supports, and what to do; "" for none."""
    # Only its messages contain the newest versions that ONNX Runtime supports.
    if ir := _NEW_IR.search(message):
        version, newest = ir["found"], ir["newest"]
        return (
            f"has ONNX IR version {version}; ONNX Runtime {runtime} supports IR versions up to {newest}. "
            f"Export the model with an older onnx package or set its ir_version to {newest}, or upgrade "
            "onnxruntime."
        )
    if opset := _NEW_OPSET.search(message):
        version, newest, domain = opset["found"], opset["newest"], opset["domain"]
        of = "" if domain == "ai.onnx" else f" of domain {domain}"
        return (
            f"has ONNX opset {version}{of}; ONNX Runtime {runtime} supports opsets up to {newest}. Export "
            f"the model with opset {newest} or older, or upgrade onnxruntime."
        )
    return ""


def first_line(error: Exception) -> str:
    """The first line of an ONNX Runtime error, shortened for a message."""
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return text.rstrip(".")[:300] + "."


def single_image_input(session: Any, path: Location) -> Any:
    """The input for the images; refuses a network with other inputs."""
    inputs = session.get_inputs()
    if len(inputs) != 1 or len(inputs[0].shape) != 4 or inputs[0].type not in DTYPES:
        given = "; ".join(f"{item.name} {item.type} {item.shape}" for item in inputs)
        raise UserError(
            f"{path} takes {given}; a classifier takes one batch of images (4 axes, {', '.join(DTYPES)})."
        )
    return inputs[0]


def _output_name(session: Any, declaration: Declaration, path: Location) -> str:
    names = [item.name for item in session.get_outputs()]
    if declaration.output is None:
        return str(names[0])
    if declaration.output not in names:
        raise unknown_name(f"output of {path.name}", declaration.output, names)
    return declaration.output


def fit_to_graph(
    declaration: Declaration, shape: list[int | None], dtype: Dtype, path: Location
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


def _layout(shape: list[int | None]) -> Layout:
    return "nhwc" if shape[3] in CHANNEL_COUNTS and shape[1] not in CHANNEL_COUNTS else "nchw"
