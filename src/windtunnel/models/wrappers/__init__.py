"""Wrappers: one file each, which changes what a model sees or returns at test time.

A wrapper is written before a model, `clahe(clip=3)|tencrop|model.onnx`. Images pass from left to right,
scores from right to left.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.file_digests import file_digest
from windtunnel.core.registry import Plugin, Registry

if TYPE_CHECKING:
    from windtunnel.models import Model, Outputs, Scores

Images = NDArray[np.uint8]
Value = int | float | str
Settings = Mapping[str, Value]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a wrapper; the type of its default is its type.

    Attributes:
        name: what users write.
        default: the value if none is given.
        help: a description in one line.
        low, high: the range of a number.
    """

    name: str
    default: Value
    help: str
    low: float = -math.inf
    high: float = math.inf

    def checked(self, value: object, wrapper: str) -> Value:
        """A value as given in a text or in TOML; refuses another type and numbers out of range."""
        if isinstance(self.default, str):
            return str(value)
        whole = isinstance(self.default, int)
        number = _number(value)
        in_range = number is not None and self.low <= number <= self.high
        if number is None or not in_range or (whole and number != int(number)):
            kind = "a whole number" if whole else "a number"
            raise UserError(f"{wrapper}: {self.name} is {value!r}; give {kind} {self._range}.")
        return int(number) if whole else number

    @property
    def _range(self) -> str:
        if math.isinf(self.high):
            return f"from {self.low:g}"
        return f"from {self.low:g} to {self.high:g}"

    @property
    def written(self) -> str:
        """The parameter with its default, as users write it; `file=FILE` if it has none."""
        return f"{self.name}={self.default or self.name.upper()}"


class Wrapper(Plugin):
    """A change at test time. A subclass declares facts and overrides `views` or `adjusted`.

    Attributes:
        name: what users write.
        help: a description in one line.
        source: where the method comes from, and who chose the default parameters.
        parameters: its parameters.
        changes_images: whether the model predicts changed images instead of the given ones; such a wrapper
            is labelled `test time only`, because papers fine-tune models on the changed images.
    """

    name: str = ""
    help: str = ""
    source: str = ""
    parameters: tuple[Parameter, ...] = ()
    changes_images: bool = False

    def __init__(self) -> None:
        own = type(self)
        missing = (
            ["views(images, settings) or adjusted(scores, outputs, settings)"]
            if own.views is Wrapper.views and own.adjusted is Wrapper.adjusted
            else []
        )
        self.refuse_incomplete(("name", "help", "source"), missing)

    def views(self, images: Images, settings: Settings) -> Iterator[Images]:
        """Yield the batches that the model predicts; the probabilities of several are averaged.

        Args:
            images: uint8 NHWC images of the model's input size; not to be modified.
            settings: all parameters.
        """
        del settings
        yield images

    def adjusted(self, scores: Scores, outputs: Outputs, settings: Settings) -> Scores:
        """The scores after a change; `outputs` says whether they are logits or probabilities."""
        del outputs, settings
        return scores

    def resolved(self, settings: Settings, model: Model) -> tuple[Settings, frozenset[str]]:
        """The settings for a model, with the content of files, and the hashes of images they were fitted on.

        Raises:
            UserError: the settings do not fit together, or do not fit the model.
        """
        del model
        return settings, frozenset()

    def settings(self, given: Mapping[str, object]) -> dict[str, Value]:
        """All parameters, checked; those that are not given have their defaults."""
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in given:
            if name not in known:
                if not known:
                    raise UserError(f"{self.name} has no parameters, and {name} is given; write {self.name}.")
                raise unknown_name(f"parameter of {self.name}", name, known)
        return {
            name: parameter.checked(given[name], self.name) if name in given else parameter.default
            for name, parameter in known.items()
        }

    @property
    def written(self) -> str:
        """The wrapper with its parameters and their defaults, as users write it."""
        arguments = ", ".join(parameter.written for parameter in self.parameters)
        return f"{self.name}({arguments})" if arguments else self.name

    def assets(self) -> dict[str, str]:
        """The digest of the file of a third-party wrapper, by the file's name; empty for shipped ones."""
        if self.is_shipped:
            return {}
        file = Path(str(sys.modules[type(self).__module__].__file__))
        return {f"wrapper {self.name}": file_digest(file)}


REGISTRY: Registry[Wrapper] = Registry("wrapper", __name__, Wrapper)


def _number(value: object) -> float | None:
    """A finite number, or the number that a text contains; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
