"""Networks of timm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from windtunnel.core.calls import Parameter, Settings
from windtunnel.core.errors import UserError, first_line, unknown_name
from windtunnel.core.locations import location_of
from windtunnel.models import Model, Size
from windtunnel.models.kinds import ModelKind, Origin, after_prefix, folder_or_title

PREFIX = "timm:"
# Random weights are the same in every process.
SEED = 0


class Timm(ModelKind):
    """`timm:NAME`, `timm:FOLDER` or `timm:hf-hub:NAME`."""

    name = "timm"
    help = "a network of timm, with the preprocessing of its pretrained configuration"
    form = "timm:NAME or timm:NAME(weights=FILE.pth)"
    extra = "timm"
    priority = 60
    parameters = (
        Parameter("weights", "", "a checkpoint that is loaded instead of pretrained weights", path=True),
        Parameter("classes", 0, "the number of outputs, if it is not the network's own", 0),
        Parameter("pretrained", "yes", "no for random weights", choices=("yes", "no")),
    )

    def recognises(self, source: object) -> bool:
        """Whether a text begins with `timm:`."""
        return bool(after_prefix(source, PREFIX))

    def files(self, source: str) -> tuple[str, ...]:
        """The folder, or the name as the name of a file, and the checkpoint."""
        text, *weights = super().files(source)
        return (folder_or_title(after_prefix(text, PREFIX)).rpartition(":")[2], *weights)

    def load(self, source: object, preprocess: str | Path | None, data_size: Size | None) -> Model:
        """The network with the declaration of its pretrained configuration."""
        from windtunnel.models.timm import declaration_of
        from windtunnel.models.torch import TorchModel

        text, given = self.split(source)
        name = after_prefix(text, PREFIX)
        module = _created(name, given)
        folder = Path(name) if Path(name).is_dir() else None
        title = (folder.resolve().name if folder else folder_or_title(name)).rpartition(":")[2]
        if given["weights"]:
            title = f"{title}-{location_of(str(given['weights'])).stem}"
        own = declaration_of(module, title, preprocess, folder)
        return TorchModel(
            module, Origin(title, folder, preprocess, data_size, portable=True, own=own), self.name
        )


def _created(name: str, given: Settings) -> Any:
    """The network with its weights; refuses one without a classifier."""
    import timm
    import torch

    if ":" not in name and not Path(name).is_dir() and not timm.is_model(name):
        raise unknown_name("timm model", name, timm.list_models(), "or give a folder or hf-hub:NAME")
    pretrained = given["pretrained"] == "yes" and not given["weights"]
    try:
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(SEED)
            module = timm.create_model(
                f"local-dir:{name}" if Path(name).is_dir() else name,
                pretrained=pretrained,
                num_classes=given["classes"] or None,
            )
    except Exception as error:  # of the network, of a damaged file, or of a name without weights
        raise UserError(
            f"{name} cannot be loaded by timm: {first_line(error)}. Give {Timm.form}; without a network, a "
            "name that is in the cache of the Hugging Face Hub."
        ) from error
    if not getattr(module, "num_classes", 1):
        raise UserError(f"{name} has no classifier, only features; give a network with classes.")
    if given["weights"]:
        from windtunnel.models.state_dicts import load_weights

        load_weights(module, location_of(str(given["weights"])))
    return module


timm = Timm()
