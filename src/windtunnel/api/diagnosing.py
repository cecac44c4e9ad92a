"""Check a model's declared preprocessing with the doctor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from windtunnel.analysis import doctor_corrections
from windtunnel.analysis.diagnosis import Diagnosis
from windtunnel.analysis.doctor import diagnose
from windtunnel.analysis.doctor_corrections import Correction, corrections
from windtunnel.core.locations import Location
from windtunnel.core.option_names import spelled
from windtunnel.core.progress import Progress, silent
from windtunnel.data import Dataset
from windtunnel.data.single_condition import open_as_run_reads
from windtunnel.models import Model, load_model
from windtunnel.options import DoctorOptions
from windtunnel.suites.inclusion import include_files


@dataclass(frozen=True)
class DoctorResult:
    """The doctor's diagnosis of a model, and the files that correct its declaration.

    Attributes:
        model: the model with its declaration.
        diagnosis: the declared and the best preprocessing, and their comparison.
        corrections: the files that correct the declaration; none if it is right, or if the model is a live
            object and has no file.
    """

    model: Model
    diagnosis: Diagnosis
    corrections: tuple[Correction, ...]

    def write(self) -> list[Location]:
        """Write the corrections next to the model and return their paths.

        A file that is replaced is renamed to `NAME.before`.

        Raises:
            UserError: the model has no file of its own, or its folder is not writable.
        """
        for correction in self.corrections:
            check_writable(correction.source)
            correction.write()
        return [correction.path for correction in self.corrections]

    def to_json(self) -> dict[str, Any]:
        """The diagnosis and the content of every correction as a JSON object."""
        files = {str(correction.path): correction.text for correction in self.corrections}
        return {**self.diagnosis.to_json(), "files": files}


def doctor(
    model: Any,
    data: str | Path | Dataset,
    options: DoctorOptions = DoctorOptions(),  # noqa: B008 (frozen)
    *,
    progress: Progress = silent,
    **changes: Any,
) -> DoctorResult:
    """Try other preprocessing and label orders, and report if one is significantly better than declared.

    A model in wrappers is checked without them: its preprocessing does not depend on wrappers.

    Args:
        model: a model as `run` accepts it.
        data: labelled images.
        options: which images are used, and how labels relate to outputs; see
            `windtunnel.options.DoctorOptions`.
        progress: counts predicted images.
        changes: single options by name, such as `subset=500`; they override `options`.

    Raises:
        UserError: the data has no labels, or too few images.
    """
    chosen = options.with_changes(changes)
    include_files(chosen.include)
    dataset, remarks = open_as_run_reads(data)
    loaded = load_model(model, chosen.preprocess, device=chosen.device).unwrapped
    diagnosis = diagnose(loaded, dataset, chosen, progress)
    diagnosis = replace(diagnosis, remarks=[*map(spelled, (*remarks, *diagnosis.remarks))])
    if not isinstance(model, str | Location):
        return DoctorResult(loaded, diagnosis, ())
    comment = (
        f"chosen by windtunnel doctor on {len(diagnosis.declared.right)} images of {dataset.name}, "
        f"seed {chosen.seed}"
    )
    return DoctorResult(
        loaded, diagnosis, corrections(diagnosis, loaded, str(model), chosen.preprocess, comment)
    )


def check_writable(model: str | Path) -> None:
    """Refuse a model next to which no correction can be written."""
    doctor_corrections.check_writable(str(model))
