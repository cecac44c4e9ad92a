"""windtunnel: know how an image classifier behaves when the world is not like its test set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windtunnel.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from windtunnel.api import (
        compare,
        distance,
        doctor,
        effective_robustness,
        expected_time,
        explain,
        find_categories,
        gate,
        generate_benchmarks,
        inspect_dataset,
        make_set,
        map_imagenet_classes,
        overlap,
        overlap_of_accuracies,
        plan,
        predictivity,
        run,
        run_models,
        score_predictions,
        select_benchmark,
        slices,
        verify_set,
        warmup,
    )
    from windtunnel.core.errors import ImplausibleScores, UserError
    from windtunnel.corruptions import corrupt
    from windtunnel.data import open_dataset
    from windtunnel.models import load_model
    from windtunnel.options import (
        DistanceOptions,
        DoctorOptions,
        EffectiveRobustnessOptions,
        ExplainOptions,
        MakeOptions,
        OverlapOptions,
        PredictivityOptions,
        RunOptions,
        ScoreOptions,
        read_run_file,
    )
    from windtunnel.runs import Run, load_run
    from windtunnel.sequences import perturb
    from windtunnel.suites.inclusion import include

# The module of every public name.
_PUBLIC = {
    "DistanceOptions": "windtunnel.options",
    "DoctorOptions": "windtunnel.options",
    "EffectiveRobustnessOptions": "windtunnel.options",
    "ExplainOptions": "windtunnel.options",
    "ImplausibleScores": "windtunnel.core.errors",
    "MakeOptions": "windtunnel.options",
    "OverlapOptions": "windtunnel.options",
    "PredictivityOptions": "windtunnel.options",
    "Run": "windtunnel.runs",
    "RunOptions": "windtunnel.options",
    "ScoreOptions": "windtunnel.options",
    "UserError": "windtunnel.core.errors",
    "compare": "windtunnel.api",
    "corrupt": "windtunnel.corruptions",
    "distance": "windtunnel.api",
    "doctor": "windtunnel.api",
    "effective_robustness": "windtunnel.api",
    "expected_time": "windtunnel.api",
    "explain": "windtunnel.api",
    "find_categories": "windtunnel.api",
    "gate": "windtunnel.api",
    "generate_benchmarks": "windtunnel.api",
    "include": "windtunnel.suites.inclusion",
    "inspect_dataset": "windtunnel.api",
    "load_model": "windtunnel.models",
    "load_run": "windtunnel.runs",
    "make_set": "windtunnel.api",
    "map_imagenet_classes": "windtunnel.api",
    "open_dataset": "windtunnel.data",
    "overlap": "windtunnel.api",
    "overlap_of_accuracies": "windtunnel.api",
    "perturb": "windtunnel.sequences",
    "plan": "windtunnel.api",
    "predictivity": "windtunnel.api",
    "read_run_file": "windtunnel.options",
    "run": "windtunnel.api",
    "run_models": "windtunnel.api",
    "score_predictions": "windtunnel.api",
    "select_benchmark": "windtunnel.api",
    "slices": "windtunnel.api",
    "verify_set": "windtunnel.api",
    "warmup": "windtunnel.api",
}

__all__ = [
    "DistanceOptions",
    "DoctorOptions",
    "EffectiveRobustnessOptions",
    "ExplainOptions",
    "ImplausibleScores",
    "MakeOptions",
    "OverlapOptions",
    "PredictivityOptions",
    "Run",
    "RunOptions",
    "ScoreOptions",
    "UserError",
    "compare",
    "corrupt",
    "distance",
    "doctor",
    "effective_robustness",
    "expected_time",
    "explain",
    "find_categories",
    "gate",
    "generate_benchmarks",
    "include",
    "inspect_dataset",
    "load_model",
    "load_run",
    "make_set",
    "map_imagenet_classes",
    "open_dataset",
    "overlap",
    "overlap_of_accuracies",
    "perturb",
    "plan",
    "predictivity",
    "read_run_file",
    "run",
    "run_models",
    "score_predictions",
    "select_benchmark",
    "slices",
    "verify_set",
    "warmup",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, _PUBLIC)
