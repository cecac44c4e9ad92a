"""The files that correct a wrong declaration: the model's TOML file, or a label map."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from windtunnel.analysis.diagnosis import Diagnosis
from windtunnel.core.calls import split_wrapped
from windtunnel.core.errors import UserError
from windtunnel.core.labels import INDICES
from windtunnel.core.locations import Location, local_path, location_of
from windtunnel.core.option_names import option
from windtunnel.data.demo import demo_model_path
from windtunnel.models import Model, load_model
from windtunnel.models.declaration import declaration_text, declared_before
from windtunnel.models.kinds import kind_of
from windtunnel.models.preprocess import Preprocess

# What a URL is refused as.
WRITTEN = "model next to which files are written"


@dataclass(frozen=True)
class Correction:
    """A file that corrects a model's declaration.

    Attributes:
        path: where it belongs, next to the model.
        text: its content.
        source: the model as it was given: a file, `file.py:factory` or `demo`.
        preprocess: the preprocessing that the file declares.
    """

    path: Location
    text: str
    source: str
    preprocess: Preprocess

    @property
    def is_label_map(self) -> bool:
        """Whether the file is a label map, which `run` takes as its option `label_map`."""
        return self.path.suffix == ".csv"

    def write(self) -> None:
        """Write the file; an existing one is renamed to `NAME.before`.

        A declaration is written only if the model loads with it and has the expected preprocessing.
        """
        if not self.is_label_map:
            self._check_declaration()
        path = local_path(self.path, WRITTEN)
        if path.is_file():
            path.replace(path.with_name(f"{path.name}.before"))
        path.write_text(self.text, encoding="utf-8")

    def _check_declaration(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / self.path.name
            file.write_text(self.text, encoding="utf-8")
            loaded = load_model(self.source, file).preprocess
        if (loaded.geometry, loaded.tensor) != (self.preprocess.geometry, self.preprocess.tensor):
            raise UserError(
                f"The preprocessing cannot be declared in {self.path}; declare it by hand:\n{self.text}"
            )


def corrections(
    diagnosis: Diagnosis, model: Model, source: str, preprocess: str | Path | None, comment: str
) -> tuple[Correction, ...]:
    """The files that correct a declaration; none if it is right.

    Args:
        diagnosis: the doctor's diagnosis of the model.
        model: the model with its declaration.
        source: the model as it was given.
        preprocess: the preset or TOML file that was given, or None.
        comment: a comment for the top of the declaration.
    """
    if not diagnosis.declaration_is_wrong:
        return ()
    file = model_file(source)
    best, space = diagnosis.best, diagnosis.space
    reordered = best.order.name in best.changed
    by_output = dict(sorted(zip(best.order.outputs, space.classes, strict=True)))
    texts: dict[Location, str] = {}
    labels: list[str] = []
    if reordered and space.name == INDICES:
        rows = [f"{output},{name}" for output, name in by_output.items()]
        texts[file.with_name(f"{file.name}.labels.csv")] = "\n".join(["output,class", *rows]) + "\n"
    elif reordered:
        labels = _output_names(diagnosis, model, by_output)
    if labels or diagnosis.outputs or len(best.changed) > reordered:
        target = file.with_name(f"{file.name}.toml")
        given = location_of(preprocess) if preprocess and str(preprocess).endswith(".toml") else target
        texts[target] = declaration_text(
            best.preprocess,
            declared_before(given),
            labels=labels,
            outputs=diagnosis.outputs,
            comment=comment,
        )
    return tuple(Correction(path, text, source, best.preprocess) for path, text in texts.items())


def model_file(source: str) -> Location:
    """The file of a model, next to which its declaration belongs; wrappers before it are left out."""
    source = split_wrapped(source)[1]
    if source == "demo":
        return demo_model_path()
    kind = kind_of(source)
    return location_of(kind.files(source)[0] if kind else source)


def check_writable(source: str) -> None:
    """Refuse a model next to which no file can be written."""
    write = option("write")
    if split_wrapped(source)[1] == "demo":
        raise UserError(f"{write} needs a model file of your own; copy the demo model, and give the copy.")
    file = local_path(model_file(source), WRITTEN)
    if not file.exists():
        raise UserError(
            f"{write} needs a model file, and {source} is not one; leave it out to print the corrections "
            "only."
        )
    if not os.access(file.parent, os.W_OK):
        raise UserError(f"{file.parent} is not writable; leave {write} out to print the corrections only.")


def _output_names(diagnosis: Diagnosis, model: Model, by_output: Mapping[int, str]) -> list[str]:
    """A name for every output in the new order: the model's own names, if all move by the same step."""
    count = model.class_count
    pairs = zip(diagnosis.declared.order.outputs, diagnosis.best.order.outputs, strict=True)
    steps = {(new - old) % count for old, new in pairs if old >= 0}
    if model.classes and len(steps) == 1:
        (step,) = steps
        return [model.classes[(output - step) % count] for output in range(count)]
    return [by_output.get(output, f"no class {output}") for output in range(count)]
