"""Checkpoints: files with the weights of a torch module, loaded strictly."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from windtunnel.core.errors import UserError, first_line
from windtunnel.core.extras import load_extra
from windtunnel.core.locations import Location, local_file

# Keys under which training scripts store the weights, in the order in which they are tried.
NESTED_KEYS = ("state_dict", "model", "model_state_dict")
# Prefixes of every key that DataParallel and torch.compile add.
PREFIXES = ("module.", "_orig_mod.")
MOST_SHOWN = 3
SAVE_WEIGHTS = "save the weights alone, torch.save(module.state_dict(), FILE)"


def load_weights(module: Any, file: Location) -> None:
    """Load a checkpoint into a module; refuses missing and unexpected keys, and other shapes."""
    own = module.state_dict()
    given = read_state(file)
    differences = [
        _listed("missing", [key for key in own if key not in given]),
        _listed("unexpected", [key for key in given if key not in own]),
        _listed(
            "of another shape",
            [
                f"{key} {tuple(given[key].shape)} instead of {tuple(own[key].shape)}"
                for key in own
                if key in given and given[key].shape != own[key].shape
            ],
        ),
    ]
    if any(differences):
        raise UserError(
            f"{file} does not fit the {type(module).__name__}: {'; '.join(filter(None, differences))}. Give "
            "the checkpoint of this network, or the network of this checkpoint."
        )
    module.load_state_dict(given, strict=True)


def read_state(file: Location) -> dict[str, torch.Tensor]:
    """The tensors of a checkpoint by name, without nesting and without the prefixes of wrappers.

    Only tensors and plain values are unpickled, never other Python objects.
    """
    if not file.is_file():
        raise UserError(f"No such checkpoint: {file}. Give a .pt, .pth or .safetensors file with weights.")
    state = _unnested(_content(file))
    tensors = {str(key): value for key, value in state.items() if isinstance(value, torch.Tensor)}
    if not tensors or len(tensors) < len(state):
        raise UserError(
            f"{file} contains {_keys(state)}, not the weights of a module by name or under "
            f"{', '.join(NESTED_KEYS)}; {SAVE_WEIGHTS}."
        )
    for prefix in PREFIXES:
        if all(key.startswith(prefix) for key in tensors):
            tensors = {key.removeprefix(prefix): value for key, value in tensors.items()}
    return tensors


def _content(file: Location) -> Any:
    path = local_file(file)
    try:
        if path.suffix == ".safetensors":
            return load_extra("safetensors.torch", f"The checkpoint {file}").load_file(path)
        return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise UserError(
            f"{file} contains Python objects other than weights, or is damaged, and is not loaded: they "
            f"could run any code. {SAVE_WEIGHTS.capitalize()}."
        ) from error
    except UserError:
        raise
    except Exception as error:  # of a damaged archive
        raise UserError(f"{file} is not a checkpoint that torch can load: {first_line(error)}.") from error


def _unnested(content: Any) -> Mapping[Any, Any]:
    """The innermost state; a checkpoint may have it under one of `NESTED_KEYS`."""
    while isinstance(content, Mapping):
        inner = next((content[key] for key in NESTED_KEYS if isinstance(content.get(key), Mapping)), None)
        if inner is None:
            return content
        content = inner
    return {type(content).__name__: content}


def _keys(state: Mapping[Any, Any]) -> str:
    return ", ".join(map(str, list(state)[:MOST_SHOWN])) or "nothing"


def _listed(what: str, keys: Sequence[str]) -> str:
    more = f" and {len(keys) - MOST_SHOWN} more" if len(keys) > MOST_SHOWN else ""
    return f"{len(keys)} {what} ({', '.join(keys[:MOST_SHOWN])}{more})" if keys else ""
