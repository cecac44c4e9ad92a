"""Models of an inference server that speaks the Open Inference Protocol (KServe v2)."""

from __future__ import annotations

import hashlib
import itertools
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import RunFailed, UserError
from windtunnel.core.option_names import option
from windtunnel.models import Scores, check_scores, finite_rows, probe_images
from windtunnel.models.batch_dependence import noise_of
from windtunnel.models.graph_input import (
    DYNAMIC_BATCH,
    PROBED_IMAGES,
    DescribedModel,
    chosen_output,
    in_batches,
)
from windtunnel.models.http_requests import TOKEN, Refused, Requests, Response, Unusable
from windtunnel.models.inference_protocol import (
    BINARY_EXTENSION,
    BINARY_ONLY,
    HALF_PRECISION,
    INPUT_TYPES,
    OUTPUT_TYPES,
    Inferred,
    ModelMetadata,
    TensorMetadata,
    extensions_in,
    infer_request,
    inferred_in,
    metadata_in,
)
from windtunnel.models.preprocess import declared
from windtunnel.models.served_address import ServedAddress

# Requests under way at a time: the server computes one while others are sent and received.
IN_FLIGHT = 4
# Requests of a batch. Small ones keep the server busy while the first is sent and the last received.
REQUESTS = 16
_NUMBERS = itertools.count(1)


class KserveModel(DescribedModel):
    """A classifier of an inference server.

    A batch is sent as 16 requests, at most four at a time. A transport error is
    never a prediction: `predict` returns the server's scores of all images, or raises RunFailed.
    """

    kind = "kserve"
    kind_title = "served"
    owns_device = True

    def __init__(self, address: ServedAddress, preprocess: str | Path | None = None) -> None:
        declaration = declared(preprocess, None)
        self.name = address.name
        self._address = address
        self._requests = Requests(address)
        self._pool = ThreadPoolExecutor(IN_FLIGHT)
        self._metadata = self._asked_metadata()
        self._binary = self._offers_binary()
        self._input = self._image_input()
        where = PurePosixPath(address.name)
        outputs = {item.name: item for item in self._metadata.outputs}
        if not outputs:
            raise UserError(f"{address.server} declares no output of the model {address.name}.")
        self._output = outputs[chosen_output(declaration, list(outputs), where)]
        if self._output.datatype not in OUTPUT_TYPES:
            raise UserError(
                f"The output {self._output.name} of {address.name} is {self._output.datatype}; scores are "
                f"{', '.join(OUTPUT_TYPES)}. Declare another output with output = NAME in the model's file."
            )
        self.half_precision = self._output.datatype == HALF_PRECISION
        shape = [size if size > 0 else None for size in self._input.shape]
        self._describe(declaration, shape, INPUT_TYPES[self._input.datatype], where)
        self.batch = IN_FLIGHT * (self._fixed_batch or DYNAMIC_BATCH)
        self._version: str | None = None
        self._probe_tensor = self.preprocess.tensor.apply(probe_images(self.preprocess, PROBED_IMAGES))
        self._reference = self._probe_scores()
        self._verified: int | None = None
        self._identify(_digest(self._metadata, self._version or ""))
        self._verified = self._requests.connections

    def predict(self, batch: NDArray[np.uint8]) -> Scores:
        """Scores (n, k) of a batch of uint8 NHWC images; a new connection lets the model be checked again."""
        size = self._fixed_batch or max(1, self.batch // REQUESTS)
        stop = threading.Event()
        futures = [
            self._pool.submit(self._part_scores, batch[start : start + size], stop)
            for start in range(0, len(batch), size)
        ]
        try:
            scores = np.concatenate([future.result() for future in futures])
        except BaseException:
            stop.set()
            for future in futures:
                future.cancel()
            raise
        connections = self._requests.connections
        if self._verified not in (None, connections):
            self._verify()
            self._verified = connections
        return scores

    def _part_scores(self, images: NDArray[np.uint8], stop: threading.Event) -> Scores:
        """The scores of the images of one request."""
        ask = partial(self._scores, stop=stop)
        return in_batches(ask, self.preprocess.tensor.apply(images), self._fixed_batch)

    def _probe_scores(self) -> Scores:
        """The server's scores of fixed inputs, whatever the preprocessing."""
        return in_batches(partial(self._scores, counted=False), self._probe_tensor, self._fixed_batch)

    def _scores(
        self, tensor: NDArray[Any], *, counted: bool = True, stop: threading.Event | None = None
    ) -> Scores:
        """The scores that the server returns; those that are not finite must be so again."""
        scores = self._asked_scores(tensor, counted, stop)
        if not finite_rows(scores).all():
            # What the model computes is the same again; what is damaged on the way is not.
            again = self._asked_scores(tensor, counted, stop)
            if not np.array_equal(np.isfinite(scores), np.isfinite(again)):
                raise RunFailed(
                    f"{self._address.server} returns non-finite scores, and in other places when it is asked "
                    "again"
                )
        return scores

    def _asked_scores(self, tensor: NDArray[Any], counted: bool, stop: threading.Event | None) -> Scores:
        """The scores that the server returns for its input."""
        id_, count = f"{os.getpid()}-{next(_NUMBERS)}", len(tensor)
        body, headers = infer_request(id_, self._input, tensor, self._output.name, binary=self._binary)
        # Known after the first trial.
        classes: int | None = getattr(self, "class_count", None)

        def read(response: Response) -> Inferred:
            inferred = inferred_in(response, id_, self._address.name, self._output, count)
            if classes is not None and inferred.values.size != count * classes:
                raise Unusable(f"the output has {inferred.values.size:,} values for {count} image(s)")
            return inferred

        path = f"{self._address.model_path}/infer"
        try:
            inferred = self._requests.ask(path, read, body, headers, counted=counted, stop=stop)
        except Refused as error:
            reason = (
                f"{self._address.server} refuses a request with {count} image(s): {error}. A request has a "
                f"sixteenth of the batch size; if that is too large, give a smaller {option('batch')}"
            )
            raise (UserError(f"{reason}.") if classes is None else RunFailed(reason)) from error
        if self._version is None:
            self._version = inferred.version
        if inferred.version != self._version:
            raise RunFailed(
                f"{self._address.server} serves version '{inferred.version}' of {self._address.name}, and "
                f"the run began with version '{self._version}'; give one version in the URL"
            )
        return check_scores(inferred.values, count, self._address.name)

    def _verify(self) -> None:
        """Stop unless the server still has the model that was loaded."""
        metadata = self._asked_metadata(counted=False)
        scores = self._probe_scores()
        scale = float(np.abs(self._reference).max()) or 1.0
        same = np.allclose(scores, self._reference, rtol=0, atol=noise_of(self) * scale)
        if metadata != self._metadata or not same:
            raise RunFailed(
                f"{self._address.server} has another model under the name {self._address.name} than at the "
                "beginning; serve the earlier model again, or start another run"
            )

    def _asked_metadata(self, *, counted: bool = True) -> ModelMetadata:
        address = self._address
        try:
            return self._requests.ask(address.model_path, metadata_in, counted=counted)
        except Refused as error:
            advice = f"{address.server} does not describe the model {address.name}: {error}."
            if error.status in (401, 403):
                advice = f"{address.server} refuses access ({error}); put a valid token into {TOKEN}."
            elif error.status == 404:
                version = f" in version {address.version}" if address.version else ""
                advice = f"{address.server} has no model {address.name}{version}; check the URL."
            raise UserError(advice) from error

    def _offers_binary(self) -> bool:
        """Whether the server takes and returns tensors as bytes."""
        try:
            return BINARY_EXTENSION in self._requests.ask(f"{self._address.prefix}/v2", extensions_in)
        except Refused:  # a server need not describe itself
            return False

    def _image_input(self) -> TensorMetadata:
        """The input for the images; refuses a model with other inputs."""
        inputs = self._metadata.inputs
        if len(inputs) != 1 or len(inputs[0].shape) != 4 or inputs[0].datatype not in INPUT_TYPES:
            given = "; ".join(f"{item.name} {item.datatype} {list(item.shape)}" for item in inputs)
            raise UserError(
                f"{self._address.name} takes {given or 'no declared input'}; a classifier takes one batch of "
                f"images (4 axes, {', '.join(INPUT_TYPES)})."
            )
        if inputs[0].datatype in BINARY_ONLY and not self._binary:
            raise UserError(
                f"{self._address.name} takes {inputs[0].datatype}, and {self._address.server} does not offer "
                f"the extension {BINARY_EXTENSION}, which that type needs; serve a model that takes FP32."
            )
        return inputs[0]


def _digest(metadata: ModelMetadata, version: str) -> str:
    """A digest of what the server declares about the model."""
    return hashlib.blake2b(msgspec.json.encode([metadata, version]), digest_size=16).hexdigest()
