"""windtunnel: know how an image classifier behaves when the world is not like its test set."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from windtunnel.analysis.distance import distance
    from windtunnel.analysis.explain import explain
    from windtunnel.api import compare, gate, make_set, plan, run, run_models, score_predictions, slices
    from windtunnel.core.errors import UserError
    from windtunnel.corruptions import corrupt
    from windtunnel.data import open_dataset
    from windtunnel.models import load_model
    from windtunnel.options import MakeOptions, RunOptions, ScoreOptions, read_run_file
    from windtunnel.runs import Run, load_run
    from windtunnel.sequences import perturb
    from windtunnel.suites.inclusion import include

# Public names and where they live; each is imported on first use, so that importing the package is light.
_PUBLIC = {
    "MakeOptions": "windtunnel.options",
    "Run": "windtunnel.runs",
    "RunOptions": "windtunnel.options",
    "ScoreOptions": "windtunnel.options",
    "UserError": "windtunnel.core.errors",
    "compare": "windtunnel.api",
    "corrupt": "windtunnel.corruptions",
    "distance": "windtunnel.analysis.distance",
    "explain": "windtunnel.analysis.explain",
    "gate": "windtunnel.api",
    "include": "windtunnel.suites.inclusion",
    "load_model": "windtunnel.models",
    "load_run": "windtunnel.runs",
    "make_set": "windtunnel.api",
    "open_dataset": "windtunnel.data",
    "perturb": "windtunnel.sequences",
    "plan": "windtunnel.api",
    "read_run_file": "windtunnel.options",
    "run": "windtunnel.api",
    "run_models": "windtunnel.api",
    "score_predictions": "windtunnel.api",
    "slices": "windtunnel.api",
}

__all__ = [
    "MakeOptions",
    "Run",
    "RunOptions",
    "ScoreOptions",
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
    "read_run_file",
    "run",
    "run_models",
    "score_predictions",
    "slices",
]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'windtunnel' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
