"""ONNX files on ONNX Runtime; on the CPU with one thread, bit-identical for any number of workers."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from windtunnel.core.errors import UserError
from windtunnel.core.file_digests import file_digest
from windtunnel.core.locations import Location, local_files
from windtunnel.core.option_names import option
from windtunnel.core.placement import AUTO, CPU, DEFAULT_PRECISION, Placement
from windtunnel.models import FeatureSource, Model, Scores, check_scores
from windtunnel.models.devices import PROVIDERS, execution_providers, refuse_fallback, warn_of_cpu
from windtunnel.models.graph_input import DYNAMIC_BATCH, DescribedModel, chosen_output, runtime_reason
from windtunnel.models.kinds import unknown_model
from windtunnel.models.preprocess import Declaration, Dtype, declared

DTYPES: dict[str, Dtype] = {
    "tensor(float)": "float32",
    "tensor(float16)": "float16",
    "tensor(uint8)": "uint8",
}
# Weights too large for one file are stored next to the graph under one of these names.
EXTERNAL_DATA = (".data", "_data")
# Field 1 of an entry, the key, and the tag of field 2, its value.
_LOCATION_KEY = rb"\x0a\x08location\x12"

_NEW_IR = re.compile(r"model IR version: (?P<found>\d+), max supported IR version: (?P<newest>\d+)")
_NEW_OPSET = re.compile(
    r"Opset (?P<found>\d+) is under development.*domain (?P<domain>\S+) is till opset (?P<newest>\d+)",
    re.DOTALL,
)


class OnnxModel(DescribedModel):
    """A classifier in an ONNX file: fixed or dynamic batch, NCHW or NHWC, float32, float16 or uint8."""

    kind = "onnx"
    kind_title = "ONNX"

    def __init__(self, path: Location, preprocess: str | Path | None = None) -> None:
        declaration = declared(preprocess, path)
        self._path = path
        self.name = path.stem
        self._session = open_session(path)
        graph_input = single_image_input(self._session, path)
        self._input_name = graph_input.name
        self._output_name = _output_name(self._session, declaration, path)
        shape = [size if isinstance(size, int) and size > 0 else None for size in graph_input.shape]
        self._describe(declaration, shape, DTYPES[graph_input.type], path)
        # Weights may be in files of any name; the model's scores distinguish them.
        self._identify(file_digest(path, *(path.with_name(path.name + suffix) for suffix in EXTERNAL_DATA)))

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
                f"{path} cannot be loaded on {placement.device}: {runtime_reason(error)} Give "
                f"{option('device', CPU)}, or another device."
            ) from error
        raise UserError(f"{path} is not a model ONNX Runtime can load: {runtime_reason(error)}") from error
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
    return chosen_output(declaration, [item.name for item in session.get_outputs()], path)
