"""windtunnel: know how an image classifier behaves when the world is not like its test set."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from windtunnel.analysis.comparison import compare
    from windtunnel.analysis.distance import distance
    from windtunnel.analysis.explain import explain
    from windtunnel.analysis.gate import gate
    from windtunnel.api import make_set, plan, run
    from windtunnel.core.errors import UserError
    from windtunnel.core.registry import include
    from windtunnel.corruptions import corrupt
    from windtunnel.data import open_dataset
    from windtunnel.importing.imported_run import score_predictions
    from windtunnel.metrics.slices import slices
    from windtunnel.models import load_model
    from windtunnel.sequences import perturb
    from windtunnel.store.run import Run, load_run

# Public names and where they live; each is imported on first use, so that importing the package is light.
_PUBLIC = {
    "Run": "windtunnel.store.run",
    "UserError": "windtunnel.core.errors",
    "compare": "windtunnel.analysis.comparison",
    "corrupt": "windtunnel.corruptions",
    "distance": "windtunnel.analysis.distance",
    "explain": "windtunnel.analysis.explain",
    "gate": "windtunnel.analysis.gate",
    "include": "windtunnel.core.registry",
    "load_model": "windtunnel.models",
    "load_run": "windtunnel.store.run",
    "make_set": "windtunnel.api",
    "open_dataset": "windtunnel.data",
    "perturb": "windtunnel.sequences",
    "plan": "windtunnel.api",
    "run": "windtunnel.api",
    "score_predictions": "windtunnel.importing.imported_run",
    "slices": "windtunnel.metrics.slices",
}

__all__ = [
    "Run",
    "UserError",
    "compare",
    "corrupt",
    "distance",
    "explain",
    "gate",
    "include",
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
