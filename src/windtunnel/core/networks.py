"""Networks that studies train: the type of plug-in and its registry; the files are in `train/networks/`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from windtunnel.core.registry import Plugin, Registry

# From the number of classes and the side of the square images, in pixels, to an untrained torch module.
NetworkFunction = Callable[[int, int], Any]


@dataclass(frozen=True)
class Network(Plugin):
    """An architecture.

    Attributes:
        function: makes an untrained module, which takes float32 NCHW and returns one score per class. Its
            weights are drawn from torch's generator, which the caller seeds.
        help: a description in one line.
    """

    function: NetworkFunction
    help: str

    def __post_init__(self) -> None:
        self.refuse_incomplete(("help",))

    @property
    def name(self) -> str:
        """The network's name, which is that of its function and its file."""
        return self.function.__name__.replace("_", "-")


def network(*, help: str) -> Callable[[NetworkFunction], Network]:
    """Declare a function that makes a torch module as a network."""
    return lambda function: Network(function, help)


REGISTRY = Registry("network", "windtunnel.train.networks", Network, separator="-")
