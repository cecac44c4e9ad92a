"""Networks, one file each; `built` makes one with seeded weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from windtunnel.core.errors import UserError
from windtunnel.core.file_digests import named_files_digest
from windtunnel.core.networks import REGISTRY, NetworkFunction
from windtunnel.core.registry import file_of, import_file
from windtunnel.core.seeding import digest64


def network_function(name: str) -> NetworkFunction:
    """The function of a network's name, or of `FILE.py:factory`."""
    file, colon, factory = name.rpartition(":")
    if not colon or not file.endswith(".py"):
        return REGISTRY.get(name).function
    made = getattr(import_file(Path(file)), factory, None)
    if not callable(made):
        raise UserError(f"{file} has no function {factory}; give a function(classes, side_px).")
    function: NetworkFunction = made
    return function


def network_assets(name: str) -> dict[str, str]:
    """The digest of the file of a third-party network; empty for one that comes with windtunnel."""
    file, colon, _ = name.rpartition(":")
    if colon and file.endswith(".py"):
        return {Path(file).name: named_files_digest([Path(file)])}
    plugin = REGISTRY.get(name)
    return {} if plugin.is_shipped else file_of(plugin.function)


def built(name: str, classes: int, side_px: int, seed: int) -> Any:
    """A network with random weights: the same for the same seed; torch's generator is left as it was."""
    function = network_function(name)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(digest64("train/weights", seed) >> 1)
        try:
            module = function(classes, side_px)
        except Exception as error:  # of the user's code
            raise UserError(
                f"The network {name} failed: {type(error).__name__}: {error}. Networks are called with the "
                "number of classes and the side of the images in pixels."
            ) from error
    if not isinstance(module, torch.nn.Module):
        raise UserError(f"The network {name} returned a {type(module).__name__}; return a torch module.")
    return module
