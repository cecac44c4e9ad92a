"""The file of a fitted temperature, with the images that it was fitted on."""

from __future__ import annotations

import msgspec

from windtunnel.core.errors import UserError
from windtunnel.core.locations import location_of
from windtunnel.core.records import Record, RecordError, read_record
from windtunnel.models.fitted_images import FittedImages


class TemperatureFit(Record, frozen=True):
    """A temperature that minimises the negative log-likelihood of a model on some images.

    Attributes:
        temperature: T; above 1, the model was overconfident.
        model: the model's name.
        fingerprint: what the model must be.
        condition: `clean` or `native`.
        nll_before, nll_after: mean negative log-likelihood, nats, at temperature 1 and at T.
        recipe: digest of the recipe of the run that it was fitted on.
        images: content hashes of the images; a run that contains one of them is refused.
        ids: the ids of the images.
        pixels: content hashes of the decoded images; empty if they could not be read again.
        low, high: 95 % bootstrap interval of T, over images or groups of images; 0 in older files.
        warnings: reasons to doubt the temperature.
    """

    temperature: float
    model: str
    fingerprint: str
    condition: str
    nll_before: float
    nll_after: float
    recipe: str
    images: tuple[str, ...]
    ids: tuple[str, ...] = ()
    pixels: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 0.0
    warnings: tuple[str, ...] = ()

    @property
    def fitted_images(self) -> FittedImages:
        """The images that it was fitted on."""
        return FittedImages(frozenset(self.images), frozenset(self.pixels), frozenset(self.ids))


def read_temperature(file: str) -> TemperatureFit:
    """The content of a file that `windtunnel temperature` wrote."""
    location = location_of(file)
    if not location.is_file():
        raise UserError(
            f"There is no file {file} with a temperature; write it with `windtunnel temperature`."
        )
    try:
        content = msgspec.json.decode(location.read_bytes())
        fit = read_record(content, TemperatureFit)
    except (msgspec.DecodeError, RecordError) as error:
        raise UserError(
            f"{file} is not a file that `windtunnel temperature` wrote: {str(error).rstrip('.')}."
        ) from error
    if not fit.temperature > 0:
        raise UserError(f"{file} has the temperature {fit.temperature}; fit it again.")
    return fit
