"""windtunnel: know how an image classifier behaves when the world is not like its test set."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from windtunnel.analysis.distance import distance
    from windtunnel.analysis.explain import explain
    from windtunnel.api import compare, gate, make_set, plan, run, score_predictions, slices
    from windtunnel.core.errors import UserError
    from windtunnel.corruptions import corrupt
    from windtunnel.data import open_dataset
    from windtunnel.models import load_model
    from windtunnel.runs import Run, load_run
    from windtunnel.sequences import perturb

# Public names and where they live; each is imported on first use, so that importing the package is light.
_PUBLIC = {
    "Run": "windtunnel.runs",
    "UserError": "windtunnel.core.errors",
    "compare": "windtunnel.api",
    "corrupt": "windtunnel.corruptions",
    "distance": "windtunnel.analysis.distance",
    "explain": "windtunnel.analysis.explain",
    "gate": "windtunnel.api",
    "load_model": "windtunnel.models",
    "load_run": "windtunnel.runs",
    "make_set": "windtunnel.api",
    "open_dataset": "windtunnel.data",
    "perturb": "windtunnel.sequences",
    "plan": "windtunnel.api",
    "run": "windtunnel.api",
    "score_predictions": "windtunnel.api",
    "slices": "windtunnel.api",
}

__all__ = [
    "Run",
    "UserError",
    "compare",
    "corrupt",
    "distance",
    "explain",
    "gate",
    "load_model",
    "load_run",
    "make_set",
    "open_dataset",
    "perturb",
    "plan",
    "run",
    "score_predictions",
    "slices",
]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'windtunnel' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
