"""Messages of the Open Inference Protocol (KServe v2): metadata, requests and responses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from windtunnel.models.http_requests import Body, Response, Unusable
from windtunnel.models.preprocess import Dtype

S = TypeVar("S", bound=msgspec.Struct)

BINARY_EXTENSION = "binary_tensor_data"
HEADER_LENGTH = "Inference-Header-Content-Length"
INPUT_TYPES: dict[str, Dtype] = {"FP32": "float32", "FP16": "float16", "UINT8": "uint8"}
OUTPUT_TYPES = {"FP16": "<f2", "FP32": "<f4", "FP64": "<f8"}
HALF_PRECISION = "FP16"
# The protocol has no JSON form of these types.
BINARY_ONLY = (HALF_PRECISION,)


class TensorMetadata(msgspec.Struct, frozen=True):
    """An input or output of a model; -1 in the shape is a free axis."""

    name: str
    datatype: str
    shape: tuple[int, ...]


class ModelMetadata(msgspec.Struct, frozen=True):
    """What a server declares about a model."""

    name: str
    inputs: tuple[TensorMetadata, ...] = ()
    outputs: tuple[TensorMetadata, ...] = ()
    versions: tuple[str, ...] | None = None
    platform: str = ""


class _ServerMetadata(msgspec.Struct, frozen=True):
    extensions: tuple[str, ...] = ()


class _Output(msgspec.Struct, frozen=True):
    name: str
    shape: tuple[int, ...]
    datatype: str
    parameters: dict[str, Any] = msgspec.field(default_factory=dict)
    data: Any = None


class _InferenceResponse(msgspec.Struct, frozen=True):
    outputs: tuple[_Output, ...]
    model_name: str = ""
    model_version: str | None = None
    id: str | None = None


class Inferred(msgspec.Struct, frozen=True):
    """The values of an output, and the version of the model that computed them; "" for unknown."""

    values: NDArray[np.float32]
    version: str


def metadata_in(response: Response) -> ModelMetadata:
    """The metadata of a model."""
    return _decoded(response.body, ModelMetadata)


def extensions_in(response: Response) -> tuple[str, ...]:
    """The extensions that a server offers."""
    return _decoded(response.body, _ServerMetadata).extensions


def infer_request(
    id_: str, taken: TensorMetadata, tensor: NDArray[Any], output: str, *, binary: bool
) -> tuple[Body, dict[str, str]]:
    """The body and the headers of an inference request."""
    described: dict[str, Any] = {"name": taken.name, "shape": tensor.shape, "datatype": taken.datatype}
    asked: dict[str, Any] = {"name": output}
    message = {"id": id_, "inputs": [described], "outputs": [asked]}
    if not binary:
        described["data"] = tensor.ravel().tolist()
        return (msgspec.json.encode(message),), {"Content-Type": "application/json"}
    stored = np.ascontiguousarray(tensor, tensor.dtype.newbyteorder("<"))
    described["parameters"] = {"binary_data_size": stored.nbytes}
    asked["parameters"] = {"binary_data": True}
    header = msgspec.json.encode(message)
    headers = {"Content-Type": "application/octet-stream", HEADER_LENGTH: str(len(header))}
    return (header, stored.reshape(-1).view(np.uint8).data), headers


def inferred_in(response: Response, id_: str, model: str, output: TensorMetadata, count: int) -> Inferred:
    """The values of an output for `count` images; Unusable unless everything about them is as declared."""
    length = response.headers.get(HEADER_LENGTH.lower(), str(len(response.body)))
    if not length.isdecimal() or int(length) > len(response.body):
        raise Unusable(f"the response has {len(response.body):,} bytes and {HEADER_LENGTH} '{length}'")
    end = int(length)
    message = _decoded(response.body[:end], _InferenceResponse)
    if message.id not in (None, "", id_):
        raise Unusable(f"the response has the id '{message.id}' and not '{id_}'")
    if message.model_name not in ("", model):
        raise Unusable(f"the response is of the model '{message.model_name}'")
    places = [place for place, item in enumerate(message.outputs) if item.name == output.name]
    if len(places) != 1:
        raise Unusable(f"the response has {len(places)} outputs '{output.name}'")
    item = message.outputs[places[0]]
    if item.datatype != output.datatype:
        raise Unusable(f"the output is {item.datatype}, and the metadata declare {output.datatype}")
    if not _fits(item.shape, output.shape, count):
        raise Unusable(f"the output has the shape {list(item.shape)} for {count} image(s)")
    values = _values(message.outputs, places[0], response.body[end:])
    if values.size != math.prod(item.shape):
        raise Unusable(f"the output has {values.size:,} values and the shape {list(item.shape)}")
    return Inferred(values.reshape(item.shape).astype(np.float32), message.model_version or "")


def _fits(shape: Sequence[int], declared: Sequence[int], count: int) -> bool:
    """Whether a shape is the declared one, with so many images; a server may declare no batch axis size."""
    if len(shape) != len(declared) or not shape or shape[0] != count:
        return False
    return all(
        size == expected or (expected < 0 and size > 0)
        for size, expected in zip(shape[1:], declared[1:], strict=True)
    )


def _values(outputs: Sequence[_Output], place: int, data: bytes) -> NDArray[Any]:
    """The values of an output in JSON, or in the bytes that follow it."""
    sizes = [output.parameters.get("binary_data_size", 0) for output in outputs]
    if not all(isinstance(size, int) and size >= 0 for size in sizes) or sum(sizes) != len(data):
        raise Unusable(f"the response has {len(data):,} bytes of tensors, and declares {sizes}")
    item = outputs[place]
    dtype = np.dtype(OUTPUT_TYPES[item.datatype])
    if "binary_data_size" in item.parameters:
        if sizes[place] % dtype.itemsize:
            raise Unusable(f"the output has {sizes[place]:,} bytes, not a whole number of values")
        return np.frombuffer(data, dtype, sizes[place] // dtype.itemsize, sum(sizes[:place]))
    try:
        values = np.asarray(item.data)
    except ValueError:  # lists of different lengths
        values = np.asarray(None)
    if values.dtype.kind not in "iuf":
        raise Unusable("the output's data are not numbers")
    with np.errstate(over="ignore"):
        return np.asarray(values.astype(dtype).ravel())


def _decoded(content: bytes, type_: type[S]) -> S:
    try:
        return msgspec.json.decode(content, type=type_)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unusable(f"the response does not follow the protocol: {error}") from error
