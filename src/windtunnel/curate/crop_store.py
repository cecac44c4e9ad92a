"""Stored predictions of candidates' crops: predict what is missing, read all as arrays.

PROJECT/predictions/MODEL-CROPS/recipe.json   the model, the outputs that compete and the crops
PROJECT/predictions/MODEL-CROPS/SHARD.parquet rows of some candidates, named by what they contain
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windtunnel.core.conditions import digest
from windtunnel.core.interruption import finishing_items
from windtunnel.core.progress import Progress, silent
from windtunnel.core.registry import included_files
from windtunnel.core.samples import Sample
from windtunnel.curate.candidate_images import CandidateImages
from windtunnel.curate.crop_predictions import CROP_SETS, CandidatePrediction, CropScoring
from windtunnel.curate.filter_models import FilterModel
from windtunnel.curate.project import Project
from windtunnel.engine.chunks import Chunk, chunk_size
from windtunnel.engine.executors import Workers
from windtunnel.engine.jobs import Needs, local_paths
from windtunnel.store.atomic_files import write_whole
from windtunnel.store.parquet import parquet_bytes, read_parquet

PREDICTIONS_FOLDER = "predictions"
# The output of a candidate without class.
NO_OUTPUT = -1


@dataclass(frozen=True)
class StoredPredictions:
    """Predictions of candidates by one model, one row each; crops are columns.

    Attributes:
        status: `ok`, or why a candidate has none.
        reason: the same in words.
        predicted: the predicted output of each crop.
        confidence, true_confidence: the confidence in it, and in the candidate's class (NaN without class).
    """

    status: list[str]
    reason: list[str]
    predicted: NDArray[np.int64]
    confidence: NDArray[np.float32]
    true_confidence: NDArray[np.float32]


class CropStore:
    """The predictions of one model on one set of crops, in a project."""

    def __init__(self, project: Project, model: FilterModel, crops: str = "ten-crop") -> None:
        self._model = model
        self._crops = crops
        self._count = len(CROP_SETS[crops])
        self.folder: Path = project.folder / PREDICTIONS_FOLDER / f"{model.key[:16]}-{crops}"
        self._schema = pa.schema(
            [
                ("id", pa.string()),
                ("output", pa.int32()),
                ("status", pa.string()),
                ("reason", pa.string()),
                ("predicted", pa.list_(pa.int32(), self._count)),
                ("confidence", pa.list_(pa.float32(), self._count)),
                ("true_confidence", pa.list_(pa.float32(), self._count)),
            ]
        )

    def predict(
        self,
        images: CandidateImages,
        samples: Sequence[Sample],
        workers: Workers = Workers(),  # noqa: B008 (frozen)
        progress: Progress = silent,
    ) -> StoredPredictions:
        """Predict the candidates that have no stored prediction, and return the predictions of all of them.

        Failed predictions are tried again: a file may be back, or there is more memory.

        The caller holds the project's lock. Each shard is stored when it is finished, so the same call
        continues after a stop.
        """
        outputs = self._outputs(images, samples)
        stored = self._read()
        usable = {key for key, row in stored.items() if row.status == "ok"}
        missing = [sample for sample in samples if (sample.id, outputs[sample.id]) not in usable]
        progress(len(samples) - len(missing), len(samples))
        if missing:
            self._predict_missing(images, missing, outputs, workers, progress, len(samples))
            stored = self._read()
        rows = [stored[sample.id, outputs[sample.id]] for sample in samples]
        return self._arrays(rows)

    def _outputs(self, images: CandidateImages, samples: Sequence[Sample]) -> dict[str, int]:
        """The model's output for the class of each candidate."""
        names = images.label_space.classes
        return {
            sample.id: self._model.output_of.get(names[sample.labels[0]], NO_OUTPUT)
            if sample.labels
            else NO_OUTPUT
            for sample in samples
        }

    def _predict_missing(
        self,
        images: CandidateImages,
        missing: Sequence[Sample],
        outputs: Mapping[str, int],
        workers: Workers,
        progress: Progress,
        total: int,
    ) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        recipe = {**msgspec.to_builtins(self._model.record), "crops": list(CROP_SETS[self._crops])}
        write_whole(self.folder / "recipe.json", (json.dumps(recipe, indent=2) + "\n").encode())
        chunks = self._chunks(images, missing, outputs)
        if self._model.stays_here:  # one worker, this process, unless another executor is asked for
            workers = Workers(1, workers.executor, workers.address)
        workers.check(portable=not self._model.stays_here, live="A live Python model")
        executor = workers.executor_for(len(chunks))
        source = self._model.source if executor.separate else None
        known = {id_: output for id_, output in outputs.items() if output != NO_OUTPUT}
        job = CropScoring(
            images.reader(), source or self._model.model, self._model.model.fingerprint, self._model.mask,
            known, self._crops == "ten-crop", self._needs(images),
        )  # fmt: skip
        with finishing_items():
            for chunk, predictions in executor.work(
                job,
                chunks,
                workers.count,
                lambda done, failed: progress(done, total, failed),
                workers.address,
            ):
                write_whole(
                    self.folder / f"{chunk.name}.parquet", parquet_bytes(self._table(predictions, outputs))
                )

    def _chunks(
        self, images: CandidateImages, missing: Sequence[Sample], outputs: Mapping[str, int]
    ) -> list[Chunk]:
        surveyed = images.surveyed(missing)
        size = chunk_size(len(surveyed), self._count)
        parts = [tuple(surveyed[start : start + size]) for start in range(0, len(surveyed), size)]
        return [
            Chunk(digest([[image.sample.id, outputs[image.sample.id]] for image in part])[:16], part)
            for part in parts
        ]

    def _needs(self, images: CandidateImages) -> Needs:
        paths = [images.location, *(self._model.source.files if self._model.source else ())]
        return Needs(included_files(), local_paths(paths))

    def _table(self, predictions: Sequence[CandidatePrediction], outputs: Mapping[str, int]) -> pa.Table:
        columns = {
            "id": [row.id for row in predictions],
            "output": [outputs[row.id] for row in predictions],
            "status": [row.status for row in predictions],
            "reason": [row.reason for row in predictions],
            "predicted": [row.predicted or None for row in predictions],
            "confidence": [row.confidence or None for row in predictions],
            "true_confidence": [row.true_confidence or None for row in predictions],
        }
        return pa.table(columns, self._schema)

    def _read(self) -> dict[tuple[str, int], CandidatePrediction]:
        """The stored rows by candidate and output of its class, predictions rather than failures.

        A damaged shard is removed.
        """
        rows: dict[tuple[str, int], CandidatePrediction] = {}
        for file in sorted(self.folder.glob("*.parquet")):
            try:
                table = read_parquet(file, self._schema.names)
            except (pa.ArrowException, OSError):
                file.unlink()
                continue
            for row in table.to_pylist():
                if row["status"] != "ok" and (row["id"], row["output"]) in rows:
                    continue
                rows[row["id"], row["output"]] = CandidatePrediction(
                    row["id"],
                    row["status"],
                    row["reason"],
                    tuple(row["predicted"] or ()),
                    tuple(row["confidence"] or ()),
                    tuple(row["true_confidence"] or ()),
                )
        return rows

    def _arrays(self, rows: Sequence[CandidatePrediction]) -> StoredPredictions:
        none = (float("nan"),) * self._count
        shape = len(rows), self._count
        return StoredPredictions(
            [row.status for row in rows],
            [row.reason for row in rows],
            np.array([row.predicted or (NO_OUTPUT,) * self._count for row in rows], np.int64).reshape(shape),
            np.array([row.confidence or none for row in rows], np.float32).reshape(shape),
            np.array([row.true_confidence or none for row in rows], np.float32).reshape(shape),
        )
