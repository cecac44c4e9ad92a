"""Zero-shot classifiers: an image encoder, and one text embedding for each class."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import torch

from windtunnel.core.errors import UserError
from windtunnel.core.locations.cache import cache_folder
from windtunnel.models.prompts import Prompts
from windtunnel.models.torch import state_fingerprint
from windtunnel.models.transformers import Pretrained
from windtunnel.store.atomic_files import write_whole

MODEL_TYPE = "clip"
# Prompts that are encoded at once.
TEXT_BATCH = 256


class ZeroShotClassifier(torch.nn.Module):  # type: ignore[misc]  # torch is not checked
    """The logits of CLIP: exp(logit scale) times the cosine of image embedding and class embeddings."""

    def __init__(self, network: Any, classes: torch.Tensor) -> None:
        super().__init__()
        self.encoder = network.vision_model
        self.projection = network.visual_projection
        self.register_buffer("classes", classes)
        self.register_buffer("scale", network.logit_scale.detach().exp())

    def forward(self, pixel_values: torch.Tensor) -> torch.Tensor:
        """The logits of a batch."""
        images = self.projection(self.encoder(pixel_values=pixel_values).pooler_output)
        scores: torch.Tensor = self.scale * _unit(images) @ self.classes.T
        return scores


def zero_shot(pretrained: Pretrained, prompts: Prompts) -> ZeroShotClassifier:
    """The classifier of a CLIP model for class prompts."""
    model_type = pretrained.config().model_type
    if model_type != MODEL_TYPE:
        raise UserError(
            f"{pretrained.name} is a model of type {model_type}; give a CLIP model (model_type "
            f"'{MODEL_TYPE}'), or hf:{pretrained.name} for an image classifier."
        )
    network = pretrained.network(pretrained.type_of("CLIPModel"))
    return ZeroShotClassifier(network, class_embeddings(pretrained, network, prompts))


def class_embeddings(pretrained: Pretrained, network: Any, prompts: Prompts) -> torch.Tensor:
    """Embeddings (classes, width) of length 1: the mean over templates of embeddings of length 1.

    Those of many prompts are stored in the cache, since every worker needs them.
    """
    texts = [text for place in range(len(prompts.names)) for text in prompts.of_class(place)]
    if len(texts) <= TEXT_BATCH:
        return _encoded(pretrained, network, prompts, texts)
    name = f"{state_fingerprint(network)}-{prompts.digest}.npy"
    file = cache_folder() / "text" / name
    with suppress(OSError, ValueError):  # not stored yet, or damaged
        return torch.from_numpy(np.load(file, allow_pickle=False))
    embeddings = _encoded(pretrained, network, prompts, texts)
    content = io.BytesIO()
    np.save(content, embeddings.numpy())
    with suppress(OSError):  # a cache that cannot be written
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, content.getvalue())
    return embeddings


def _encoded(pretrained: Pretrained, network: Any, prompts: Prompts, texts: Sequence[str]) -> torch.Tensor:
    tokens = pretrained.tokenizer()
    parts = []
    with torch.no_grad():
        for start in range(0, len(texts), TEXT_BATCH):
            features = network.get_text_features(**tokens(texts[start : start + TEXT_BATCH]))
            parts.append(_unit(getattr(features, "pooler_output", features)))
    by_class = torch.cat(parts).reshape(len(prompts.names), len(prompts.templates), -1)
    return _unit(by_class.mean(dim=1))


def _unit(values: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.normalize(values, dim=-1)
