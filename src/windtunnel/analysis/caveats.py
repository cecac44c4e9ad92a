"""Caveats of scores on natural sets: the model filtered the images, or was trained on related data."""

from __future__ import annotations

from collections.abc import Iterable

from windtunnel.analysis.declared_names import is_data_set, names_network
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.published.natural_sets import NaturalSet, extended_by, natural_set


def caveats(run: ScoredRun) -> list[str]:
    """Reasons why this model's score on a natural set is not comparable: filter networks, training data."""
    if not run.natural:
        return []
    natural, model = _set_of(run), run.info.model
    filters = natural.own.filter_models if natural.own else ()
    low = f"{'Accuracy' if natural.role == 'shifted' else 'AUPR'} low by construction: {natural.title}"
    if run.recipe.model.weights in [filtering.weights for filtering in filters]:
        exact = run.recipe.model.fingerprint in [filtering.fingerprint for filtering in filters]
        return [f"{low} was filtered by this model{'' if exact else ' in other wrappers'}"]
    sentences = [
        f"{low} was filtered by {network}, and this model is declared as one"
        for network in networks_that_filtered(natural, model.name, model.family)
    ]
    conflicts = training_conflicts(natural, model.trained_on)
    if conflicts:
        sentences.append(
            f"The model was trained on {', '.join(conflicts)}: its score on {natural.title} does not measure "
            "what the set is meant to measure"
        )
    return sentences


def _set_of(run: ScoredRun) -> NaturalSet:
    """The natural set of a run, with the facts that a user's own set declared."""
    assert run.natural is not None
    own = run.info.data.own_set
    return extended_by(own) if own else natural_set(run.natural.set)


def networks_that_filtered(natural: NaturalSet, *texts: str) -> tuple[str, ...]:
    """The networks that filtered a set's images and that occur in a model's name or family."""
    return tuple(
        network for network in natural.filtered_by if any(names_network(text, network) for text in texts)
    )


def training_conflicts(natural: NaturalSet, trained_on: Iterable[str]) -> tuple[str, ...]:
    """The datasets in `trained_on` that models scored on this set must not have been trained on."""
    return tuple(
        name for name in trained_on if any(is_data_set(name, excluded) for excluded in natural.not_trained_on)
    )
