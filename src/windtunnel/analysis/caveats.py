"""What marks a model's score on a natural set: it chose the images, or was trained on what they test."""

from __future__ import annotations

from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.published.natural_sets import natural_set


def marks(run: ScoredRun) -> list[str]:
    """What makes this model's score on a natural set no score like others: filter networks, training data."""
    if not run.natural:
        return []
    natural, model = natural_set(str(run.natural["set"])), run.info["model"]
    found = [
        f"Low by construction: {natural.title} was filtered by {network}, and this model says it is one"
        for network in natural.networks_that_filtered(str(model["name"]), str(model.get("family", "")))
    ]
    conflicts = natural.conflicts_with(model["trained_on"])
    if conflicts:
        found.append(
            f"The model was trained on {', '.join(conflicts)}: its score on {natural.title} is not what the "
            "set is meant to measure"
        )
    return found
