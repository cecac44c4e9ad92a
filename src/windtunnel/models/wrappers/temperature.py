"""Temperature scaling."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from windtunnel.core.errors import UserError
from windtunnel.models.probabilities import log_probabilities, softmax
from windtunnel.models.temperature_file import read_temperature
from windtunnel.models.wrappers import FittedImages, Parameter, Settings, Wrapper

if TYPE_CHECKING:
    from windtunnel.models import Model, Outputs, Scores


class Temperature(Wrapper):
    """Softmax of the logits divided by T; predicted classes stay."""

    name = "temperature"
    help = "Divide logits by a temperature, fitted on other images or given; predicted classes stay."
    source = "Guo et al. 2017"
    parameters = (
        Parameter("t", 0.0, "the temperature; 0 for that of the file", 0.0, 1000.0),
        Parameter("file", "", "the file that `windtunnel temperature` writes", path=True),
    )

    pointless_around = ("temperature",)

    def resolved(self, settings: Settings, model: Model) -> tuple[Settings, FittedImages]:
        """The temperature, given or in the file of a fit to the same model."""
        file, given = str(settings["file"]), float(settings["t"])
        if bool(file) == bool(given):
            raise UserError(
                "temperature needs either t=NUMBER above 0 or file=FILE.json; fit a file with `windtunnel "
                "temperature RUN`."
            )
        if given:
            return {"t": given}, FittedImages()
        fit = read_temperature(file)
        if fit.fingerprint != model.fingerprint:
            raise UserError(
                f"{file} has the temperature of {fit.model}, fingerprint {fit.fingerprint}, and this model "
                f"is {model.name}, fingerprint {model.fingerprint}; fit its own with `windtunnel "
                "temperature RUN`."
            )
        return {"t": fit.temperature, "fitted_on": fit.recipe}, fit.fitted_images

    def adjusted(self, scores: Scores, outputs: Outputs, settings: Settings) -> Scores:
        """Logits divided by T, or the probabilities of logits divided by T."""
        temperature = float(settings["t"])
        if outputs == "logits":
            return np.asarray(scores / np.float32(temperature), np.float32)
        return softmax(log_probabilities(scores) / temperature)


temperature = Temperature()
