"""Names of plug-ins for shell completion: nothing but the registry of the kind is imported."""

from __future__ import annotations

import importlib

from windtunnel.core.errors import unknown_name

# The module and the registry of each kind whose names users type.
REGISTRIES = {
    "corruptions": ("windtunnel.corruptions", "REGISTRY"),
    "executors": ("windtunnel.engine.executors", "REGISTRY"),
    "metrics": ("windtunnel.core.metrics", "REGISTRY"),
    "sequences": ("windtunnel.sequences", "REGISTRY"),
    "suites": ("windtunnel.suites.registry", "SUITES"),
}
# The module and the function that lists what is not a plug-in.
TABLES = {"presets": ("windtunnel.models.preprocess", "presets")}


def plugin_names(kind: str) -> list[str]:
    """The names of a kind's plug-ins as commands take them, sorted; plug-ins are not imported."""
    if kind in TABLES:
        module, table = TABLES[kind]
        return sorted(getattr(importlib.import_module(module), table)())
    if kind not in REGISTRIES:
        raise unknown_name("kind of plug-in", kind, [*REGISTRIES, *TABLES])
    module, registry = REGISTRIES[kind]
    imported = importlib.import_module(module)
    prefix = imported.SEQUENCE_PREFIX if kind == "sequences" else ""
    return [f"{prefix}{name}" for name in getattr(imported, registry).names()]
