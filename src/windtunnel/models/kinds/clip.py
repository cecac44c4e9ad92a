"""Zero-shot classifiers of the CLIP family."""

from __future__ import annotations

from pathlib import Path

from windtunnel.core.calls import Parameter
from windtunnel.core.locations import location_of
from windtunnel.models import Model, Size
from windtunnel.models.kinds import ModelKind, Origin, after_prefix, folder_or_title

PREFIX = "clip:"
# The file of prompts in a model's folder.
OWN_PROMPTS = "prompts.toml"


class Clip(ModelKind):
    """`clip:FOLDER(prompts=FILE.toml)` or `clip:NAME(prompts=FILE.toml)`."""

    name = "clip"
    help = "a CLIP model of Hugging Face transformers as a zero-shot classifier, with class prompts"
    form = "clip:FOLDER(prompts=FILE.toml)"
    extra = "transformers"
    priority = 60
    parameters = (
        Parameter("prompts", "", "templates and classes; prompts.toml in the model's folder", path=True),
        Parameter("revision", "", "branch, tag or commit of a name on the Hub"),
    )

    def recognises(self, source: object) -> bool:
        """Whether a text begins with `clip:`."""
        return bool(after_prefix(source, PREFIX))

    def files(self, source: str) -> tuple[str, ...]:
        """The folder, or the last part of a name on the Hub, and the prompts."""
        text, *prompts = super().files(source)
        return (folder_or_title(after_prefix(text, PREFIX)), *prompts)

    def load(self, source: object, preprocess: str | Path | None, data_size: Size | None) -> Model:
        """The classifier with the declaration of its image processor."""
        from windtunnel.models.clip import zero_shot
        from windtunnel.models.prompts import read_prompts
        from windtunnel.models.torch import TorchModel, state_fingerprint
        from windtunnel.models.transformers import Pretrained

        text, given = self.split(source)
        name = after_prefix(text, PREFIX)
        prompts = read_prompts(location_of(str(given["prompts"] or Path(name) / OWN_PROMPTS)))
        pretrained = Pretrained(name, str(given["revision"]))
        module = zero_shot(pretrained, prompts)
        own = pretrained.declaration(preprocess, prompts.labels)
        origin = Origin(pretrained.title, pretrained.folder, preprocess, data_size, portable=True, own=own)
        fingerprint = f"{state_fingerprint(module)}-{prompts.digest}"
        return TorchModel(module, origin, self.name, fingerprint)


clip = Clip()
