"""What commands are forked with (tests/forked_commands.py): one core, and every import done."""

from __future__ import annotations

import importlib
import os

# Before any module reads it: both cores are taken by the workers of the test run.
os.cpu_count = lambda: 1

from windtunnel.cli import COMMANDS  # noqa: E402

# Not onnxruntime: it starts a thread when it is imported, and a process with threads is not safe to fork.
LATE = (
    "cv2",
    "numba",
    "plotly.graph_objects",
    "pyarrow.parquet",
    "sklearn.cluster",
    "sklearn.metrics",
    "windtunnel.report.page",
)

for name in (*(module for module, _ in COMMANDS.values()), *LATE):
    importlib.import_module(name)
