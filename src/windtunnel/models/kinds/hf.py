"""Image classifiers of Hugging Face transformers."""

from __future__ import annotations

from pathlib import Path

from windtunnel.core.calls import Parameter
from windtunnel.models import Model, Size
from windtunnel.models.kinds import ModelKind, Origin, after_prefix, folder_or_title

PREFIX = "hf:"


class Hf(ModelKind):
    """`hf:FOLDER` or `hf:NAME`."""

    name = "hf"
    help = "an image classifier of Hugging Face transformers, with the preprocessing of its image processor"
    form = "hf:FOLDER or hf:NAME"
    extra = "transformers"
    priority = 60
    parameters = (Parameter("revision", "", "branch, tag or commit of a name on the Hub"),)

    def recognises(self, source: object) -> bool:
        """Whether a text begins with `hf:`."""
        return bool(after_prefix(source, PREFIX))

    def files(self, source: str) -> tuple[str, ...]:
        """The folder, or the last part of a name on the Hub."""
        return (folder_or_title(after_prefix(self.split(source)[0], PREFIX)),)

    def load(self, source: object, preprocess: str | Path | None, data_size: Size | None) -> Model:
        """The network with the declaration of its image processor and its labels."""
        from windtunnel.models.torch import TorchModel
        from windtunnel.models.transformers import Pretrained, labels_of

        text, given = self.split(source)
        pretrained = Pretrained(after_prefix(text, PREFIX), str(given["revision"]))
        module = pretrained.classifier()
        own = pretrained.declaration(preprocess, labels_of(module))
        origin = Origin(pretrained.title, pretrained.folder, preprocess, data_size, portable=True, own=own)
        return TorchModel(module, origin, self.name)


hf = Hf()
