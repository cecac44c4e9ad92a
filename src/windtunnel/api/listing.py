"""List plug-ins of every kind, presets, published results and natural sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from windtunnel.core.calls import CalledPlugin
from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.metrics import REGISTRY as METRIC_REGISTRY
from windtunnel.core.networks import REGISTRY as NETWORKS
from windtunnel.corruptions import REGISTRY, SEVERITIES
from windtunnel.data.layouts import by_priority
from windtunnel.data.own_sets import find_own_sets
from windtunnel.engine.executors import REGISTRY as EXECUTORS
from windtunnel.imaging.codecs import REGISTRY as CODECS
from windtunnel.imaging.decoders import decoders
from windtunnel.imaging.resizers import libraries
from windtunnel.integrations.destinations import REGISTRY as DESTINATIONS
from windtunnel.metrics.published_figures import Source, published_models, sources
from windtunnel.metrics.published_results import METRICS
from windtunnel.models.kinds import by_priority as kinds_by_priority
from windtunnel.models.preprocess import presets
from windtunnel.models.wrappers import REGISTRY as WRAPPERS
from windtunnel.published.natural_sets import NaturalSet, natural_sets
from windtunnel.report.sections import by_order
from windtunnel.sequences import REGISTRY as SEQUENCES
from windtunnel.sequences import SEQUENCE_PREFIX
from windtunnel.suites.registry import SUITES
from windtunnel.suites.suite_files import load_suite

# Metrics of published results, with their titles.
PUBLISHED_METRICS = METRICS
BETTER = {"lower": "less", "higher": "more", "none": ""}


def _corruptions() -> list[dict[str, Any]]:
    units = [REGISTRY.get(name) for name in REGISTRY.names()]
    return [
        {
            "name": unit.name,
            "family": unit.family,
            "random": unit.random,
            "severities": len(SEVERITIES) if unit.severities else 0,
            "imitates": unit.imitates,
            "drawn": unit.drawn,
            "note": unit.note,
            "min_side_px": unit.min_side_px,
            "met_by": unit.met_by,
            "source": unit.source,
        }
        for unit in units
    ]


def _sequences() -> list[dict[str, Any]]:
    units = [SEQUENCES.get(name) for name in SEQUENCES.names()]
    return [
        {
            "name": f"{SEQUENCE_PREFIX}{unit.name}",
            "family": unit.family,
            "type": unit.type,
            "random": unit.random,
            "imitates": unit.imitates,
            "met_by": unit.met_by,
            "source": unit.source,
            "frames": {str(edition): table.frames for edition, table in sorted(unit.tables.items())},
        }
        for unit in units
    ]


def _decoders() -> list[dict[str, Any]]:
    return [
        {
            "name": decoder.name,
            "library": decoder.library,
            "formats": decoder.formats_text or "all",
            "help": decoder.help,
            "needs": decoder.needs,
            "scales": decoder.scales,
        }
        for decoder in decoders()
    ]


def _resizers() -> list[dict[str, Any]]:
    return [
        {"name": name, "library": library.library, "help": library.help, "needs": library.needs}
        for library in libraries()
        for name in library.resizers
    ]


def _codecs() -> list[dict[str, Any]]:
    return [
        {
            "name": codec.written,
            "suffix": codec.suffix,
            "lossless": codec.lossless,
            "help": codec.help,
        }
        for codec in CODECS.all()
    ]


def _suites() -> list[dict[str, Any]]:
    return [
        {
            "name": suite.citation,
            "units": len(suite.units),
            "about": suite.about,
            "source": SUITES.source(suite.name),
        }
        for suite in map(load_suite, SUITES.names())
    ]


def _presets() -> list[dict[str, Any]]:
    return [{"name": name, "about": row["about"], "source": row["source"]} for name, row in presets().items()]


def _metrics() -> list[dict[str, Any]]:
    return [
        {
            "name": metric.name,
            "written": metric.title,
            "better": BETTER[metric.direction],
            "unit": metric.unit.name,
            "about": metric.help,
        }
        for metric in METRIC_REGISTRY.all()
    ]


def _published() -> list[dict[str, Any]]:
    return [model.to_json() for model in published_models()]


def _model_kinds() -> list[dict[str, Any]]:
    """Model kinds in the order in which they are tried."""
    return [
        {"name": plugin.name, "about": plugin.help, "form": plugin.form, "extra": plugin.extra}
        for plugin in kinds_by_priority()
    ]


def _called(plugins: Sequence[CalledPlugin]) -> list[dict[str, Any]]:
    """Plug-ins with parameters."""
    return [
        {
            "name": plugin.name,
            "written": plugin.written,
            "about": plugin.help,
            "parameters": {parameter.name: parameter.help for parameter in plugin.parameters},
            "source": plugin.source,
        }
        for plugin in plugins
    ]


def _destinations() -> list[dict[str, Any]]:
    return _called(DESTINATIONS.all())


def _wrappers() -> list[dict[str, Any]]:
    return _called(WRAPPERS.all())


def _image_steps() -> list[dict[str, Any]]:
    from windtunnel.train.image_steps import REGISTRY  # loads torch

    return _called(REGISTRY.all())


def _batch_steps() -> list[dict[str, Any]]:
    from windtunnel.train.batch_steps import REGISTRY  # loads torch

    return _called(REGISTRY.all())


def _losses() -> list[dict[str, Any]]:
    from windtunnel.train.losses import REGISTRY  # loads torch

    return _called(REGISTRY.all())


def _layouts() -> list[dict[str, Any]]:
    """Dataset layouts in the order in which they are tried."""
    return [
        {"name": layout.name, "about": layout.help, "form": layout.form, "corrupted": layout.corrupted}
        for layout in by_priority()
    ]


def _sections() -> list[dict[str, Any]]:
    """Report sections in the order of the page."""
    return [
        {"name": section.name, "order": section.order, "title": section.title, "about": section.help}
        for section in by_order()
    ]


def _executors() -> list[dict[str, Any]]:
    return [{"name": one.name, "about": one.help, "extra": one.extra} for one in EXECUTORS.all()]


def _networks() -> list[dict[str, Any]]:
    return [{"name": network.name, "about": network.help} for network in NETWORKS.all()]


def _natural_sets(folders: Sequence[str | Path] = (".",)) -> list[dict[str, Any]]:
    """The published natural sets, and those that folders declare."""
    rows = [
        _natural_row(natural.name, natural, "")
        for natural in natural_sets().values()
        if natural.output_rule != "own"  # the bases of own sets
    ]
    found = {path: declared for folder in folders for path, declared in find_own_sets(Path(folder)).items()}
    for path, declared in found.items():
        if isinstance(declared, str):
            blank = dict.fromkeys(rows[0], "")
            rows.append(blank | {"name": "unusable", "folder": str(path), "title": declared})
        else:
            rows.append(_natural_row(declared.part, declared, str(path)))
    return rows


def _natural_row(name: str, natural: NaturalSet, folder: str) -> dict[str, Any]:
    return {
        "name": name,
        "folder": folder,
        "title": natural.title,
        "role": natural.role,
        "own": natural.own is not None,
        "filtered_by": ", ".join(natural.filtered_by),
        "source": natural.source,
    }


KINDS: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "corruptions": _corruptions,
    "sequences": _sequences,
    "decoders": _decoders,
    "resizers": _resizers,
    "codecs": _codecs,
    "suites": _suites,
    "presets": _presets,
    "metrics": _metrics,
    "published": _published,
    "layouts": _layouts,
    "model-kinds": _model_kinds,
    "wrappers": _wrappers,
    "sections": _sections,
    "executors": _executors,
    "networks": _networks,
    "image-steps": _image_steps,
    "batch-steps": _batch_steps,
    "losses": _losses,
    "destinations": _destinations,
    "natural-sets": _natural_sets,
}


def published_sources() -> dict[str, Source]:
    """The sources of published results, and the data they were measured on."""
    return sources()


def list_plugins(kind: str, folders: Sequence[str | Path] = ()) -> list[dict[str, Any]]:
    """Every plug-in of a kind (one of KINDS) as a row of facts.

    Args:
        kind: one of KINDS.
        folders: for `natural-sets`, where to look for your own: each folder and the folders in it. Default:
            the current folder.
    """
    if kind not in KINDS:
        raise unknown_name("kind of plug-in", kind, KINDS)
    if folders and KINDS[kind] is not _natural_sets:
        raise UserError(f"Folders are given ({folders[0]} ...), but only natural-sets are found in folders.")
    return _natural_sets(folders) if folders else KINDS[kind]()
