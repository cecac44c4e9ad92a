"""What marks a model's score on a natural set: it chose the images, or was trained on what they test."""

from __future__ import annotations

from collections.abc import Iterable

from windtunnel.analysis.declared_names import is_data_set, names_network
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.published.natural_sets import NaturalSet, natural_set


def marks(run: ScoredRun) -> list[str]:
    """What makes this model's score on a natural set no score like others: filter networks, training data."""
    if not run.natural:
        return []
    natural, model = natural_set(run.natural.set), run.info.model
    found = [
        f"Low by construction: {natural.title} was filtered by {network}, and this model says it is one"
        for network in networks_that_filtered(natural, model.name, model.family)
    ]
    conflicts = training_conflicts(natural, model.trained_on)
    if conflicts:
        found.append(
            f"The model was trained on {', '.join(conflicts)}: its score on {natural.title} is not what the "
            "set is meant to measure"
        )
    return found


def networks_that_filtered(natural: NaturalSet, *texts: str) -> tuple[str, ...]:
    """The networks that chose a set's images and that a model's name or family says it is."""
    return tuple(
        network for network in natural.filtered_by if any(names_network(text, network) for text in texts)
    )


def training_conflicts(natural: NaturalSet, trained_on: Iterable[str]) -> tuple[str, ...]:
    """The data sets a model was trained on that models scored on this set must not have seen."""
    return tuple(
        name for name in trained_on if any(is_data_set(name, excluded) for excluded in natural.not_trained_on)
    )
