"""Protocols of overlap studies: how their models are trained, as data."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from windtunnel import published
from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.records import Record, RecordError, read_record
from windtunnel.imaging.geometry import Geometry
from windtunnel.models.preprocess import Preprocess, Tensor
from windtunnel.train.mixing import Mix
from windtunnel.train.settings import Settings


class ProtocolTable(Record, frozen=True):
    """A protocol as a TOML file declares it; see `published/overlap_protocols.toml`."""

    network: str
    geometry: dict[str, Any]
    tensor: dict[str, Any]
    settings: dict[str, Any]
    training_resizer: str = ""
    about: str = ""
    source: str = ""


@dataclass(frozen=True)
class Protocol:
    """How the models of a study are trained.

    Attributes:
        name: a protocol's name, or its file.
        network: the architecture: a network's name, or `FILE.py:factory`.
        preprocess: from files to the network's input.
        settings: the settings of the training; the seed is that of each model.
        mix: the resizer of training images, if it is another one.
    """

    name: str
    network: str
    preprocess: Preprocess
    settings: Settings
    mix: Mix

    @property
    def side_px(self) -> int:
        """The side of the network's square images."""
        side_px = self.preprocess.geometry.output_px
        if side_px is None:
            raise UserError(
                f"The geometry of protocol {self.name} gives images of any size; give crop_px, such as 32."
            )
        return side_px

    def changed(self, network: str | None, epochs: int | None) -> Protocol:
        """The protocol with another network or number of epochs."""
        settings = self.settings if epochs is None else _with_epochs(self.settings, epochs)
        return replace(self, network=network or self.network, settings=settings)


def load_protocol(name_or_file: str) -> Protocol:
    """The protocol of that name, or of a TOML file."""
    if name_or_file.endswith(".toml"):
        path = Path(name_or_file)
        if not path.is_file():
            raise UserError(f"No such protocol file: {path}.")
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UserError(f"{path} is not valid TOML: {error}.") from error
        return _protocol(content, name_or_file)
    if name_or_file not in protocols():
        raise unknown_name("protocol", name_or_file, protocols(), "or give a .toml file")
    return _protocol(protocols()[name_or_file], name_or_file)


@lru_cache(maxsize=1)
def protocols() -> dict[str, dict[str, Any]]:
    """The shipped protocols, by name."""
    return tomllib.loads(published.read_text("overlap_protocols.toml"))


def _protocol(content: Mapping[str, Any], name: str) -> Protocol:
    try:
        table = read_record(content, ProtocolTable)
        # Strict types, as in other TOML files; lists become tuples.
        geometry = Geometry(**table.geometry)
        tensor = Tensor(**{key: _value(value) for key, value in table.tensor.items()})
        settings = Settings(**{key: _value(value) for key, value in table.settings.items()})
    except (RecordError, TypeError, UserError) as error:
        raise UserError(f"The protocol {name} cannot be used: {str(error).rstrip('.')}.") from error
    mix = Mix(resizers=(table.training_resizer,)) if table.training_resizer else Mix()
    return Protocol(name, table.network, Preprocess(geometry, tensor, f"protocol {name}"), settings, mix)


def _value(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _with_epochs(settings: Settings, epochs: int) -> Settings:
    """The settings with the learning rate divided after the same shares of the epochs."""
    drops = tuple(max(1, round(drop * epochs / settings.epochs)) for drop in settings.drop_after)
    return replace(settings, epochs=epochs, drop_after=drops)
