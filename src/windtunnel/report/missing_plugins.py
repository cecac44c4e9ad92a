"""Plug-ins that made a run's images and are not registered in this process."""

from __future__ import annotations

from collections.abc import Iterator

from windtunnel.core.conditions import Condition
from windtunnel.corruptions import REGISTRY as CORRUPTIONS
from windtunnel.data.layouts import REGISTRY as LAYOUTS
from windtunnel.imaging.clips import H264
from windtunnel.imaging.codecs import REGISTRY as CODECS
from windtunnel.imaging.decoders import REGISTRY as DECODERS
from windtunnel.imaging.resizers import resizer_names
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.sequences import REGISTRY as SEQUENCES
from windtunnel.sequences import SEQUENCE_PREFIX


def missing_layout(run: ScoredRun) -> list[str]:
    """The third-party layout of the run's data, if it is not registered."""
    layout = run.info.data.layout
    return [f"dataset layout '{layout}'"] if layout and layout not in LAYOUTS else []


def missing_for(run: ScoredRun, condition: Condition) -> list[str]:
    """The unregistered plug-ins that a condition's images need, as `corruption 'rain'`."""
    return [f"{kind} '{name}'" for kind, name, known in _needed(run, condition) if not known]


def missing_plugins_note(run: ScoredRun) -> str:
    """The note on unregistered plug-ins of a run, with the option to give; "" if there are none."""
    missing = dict.fromkeys(
        [
            *missing_layout(run),
            *(text for condition in run.conditions for text in missing_for(run, condition)),
        ]
    )
    if not missing:
        return ""
    plural = len(missing) > 1
    return (
        f"The run was made with the {', the '.join(missing)}, which {'are' if plural else 'is'} not "
        f"registered: images that need {'them' if plural else 'it'} are not shown. Give the "
        f"{'files that declare them' if plural else 'file that declares it'} with --include FILE."
    )


def _needed(run: ScoredRun, condition: Condition) -> Iterator[tuple[str, str, bool]]:
    """Kind, name and presence of the plug-ins that make a condition's images."""
    recipe = run.recipe
    if condition.is_corrupted and recipe.data.finished is not None:
        return  # read from a precomputed set
    if condition.is_sequence:
        name = condition.unit.removeprefix(SEQUENCE_PREFIX)
        yield "sequence", name, name in SEQUENCES
    elif condition.is_corrupted:
        yield "corruption", condition.unit, condition.unit in CORRUPTIONS
    geometry = recipe.model.geometry if condition.is_native else recipe.canvas.geometry
    decoder = str(condition.geometry.get("decoder", geometry.decoder))
    yield "decoder", decoder, decoder in DECODERS
    resizer = str(condition.geometry.get("resizer", geometry.resizer))
    yield "resizer", resizer, resizer in resizer_names()
    codec = condition.codec.partition(":")[0]
    yield "codec", codec, codec in CODECS or codec in (H264, "")
