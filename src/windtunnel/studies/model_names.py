"""Names in the folder of a study; known without torch."""

from __future__ import annotations

import re

# Parts of the folder.
MODELS, PREDICTIONS, TEST_IMAGES = "models", "predictions", "test-images"

_NOT_IN_PATHS = re.compile(r"[^\w.=-]+")


def model_name(model: str, seed: int) -> str:
    """The name of the folder and of the file of a model."""
    return f"{_NOT_IN_PATHS.sub('-', model).strip('-')}-seed{seed}"
