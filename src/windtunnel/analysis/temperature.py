"""Temperature scaling: the temperature that minimises the negative log-likelihood of a run's clean images.

With z the logits, y the label and b = 1/T, the mean of -ln softmax(b z)_y is convex in b. Its derivative, the
mean of E[z] - z_y under softmax(b z), increases with b; its zero is found by bisection. Its interval is a
bootstrap over images (or groups of images) of that zero, interpolated between values of b near it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.models.probabilities import log_probabilities
from windtunnel.models.temperature_file import TemperatureFit
from windtunnel.stats.bootstrap import bootstrap_interval
from windtunnel.stats.intervals import Groups, unit_count

# The range of temperatures, and the halvings that find one in it to seven digits.
LOWEST, HIGHEST = 0.01, 100.0
HALVINGS = 30
UNMODIFIED = ("clean", "native")
LEAST_IMAGES = 50
# The values of ln b at which replicates are evaluated, and how far they reach, in standard errors.
GRID, REACH = 65, 12.0
# An interval whose ends differ by this factor is wide.
WIDE = 1.25
# The share of probabilities that are exactly zero above which the temperature depends on their substitute.
MANY_ZEROS = 0.01

Numbers = NDArray[np.float64]


def fit_temperature(run: ScoredRun) -> TemperatureFit:
    """Fit the temperature of a run's model to its clean images, which must not be scored with it.

    Raises:
        UserError: the run has no full outputs of clean images, too few images, or no finite best temperature.
    """
    seen = run.observed
    condition = next((name for name in UNMODIFIED if name in seen.conditions), "")
    if condition not in run.recipe.keep:
        raise UserError(
            f"{run.path} has no outputs of all classes on clean images; run with {option('keep', 'auto')} "
            "and a suite with clean images."
        )
    column = seen.column(condition)
    known = np.isfinite(seen.label_log_probability[:, column]) & ~seen.not_finite[:, column]
    if known.sum() < LEAST_IMAGES:
        raise UserError(
            f"{run.path} has {int(known.sum())} labelled images with predictions; a temperature needs at "
            f"least {LEAST_IMAGES}."
        )
    logits = np.concatenate(list(_logits(run, condition, np.flatnonzero(seen.kept)[known])))
    label = seen.label_log_probability[known, column] + _log_sum(logits)
    temperature = best_temperature(logits, label)
    rows = np.zeros(len(seen.kept), bool)
    rows[np.flatnonzero(seen.kept)[known]] = True
    low, high = temperature_interval(logits, label, temperature, run.groups_of(rows))
    ids = [str(id_) for id_ in seen.ids[known]]
    return TemperatureFit(
        temperature=temperature,
        model=run.info.model.name,
        fingerprint=run.recipe.model.fingerprint,
        condition=condition,
        nll_before=mean_nll(logits, label, 1.0),
        nll_after=mean_nll(logits, label, temperature),
        recipe=run.digest,
        images=tuple(run.images[id_][1] for id_ in ids),
        ids=tuple(ids),
        low=low,
        high=high,
        warnings=tuple(_warnings(logits, low, high, gives_logits=seen.gives_logits)),
    )


def _warnings(logits: Numbers, low: float, high: float, *, gives_logits: bool) -> list[str]:
    """Reasons to doubt a temperature: a wide interval, or probabilities rounded to zero."""
    warnings = []
    if high > WIDE * low:
        warnings.append(
            f"The 95 % interval of the temperature is wide, {low:.3f} to {high:.3f}; fit on more images."
        )
    zeros = 0.0 if gives_logits else float(np.mean(logits == log_probabilities(np.zeros(1, np.float32))))
    if zeros > MANY_ZEROS:
        warnings.append(
            f"{zeros:.0%} of the model's probabilities are exactly 0, so their logits are unknown and the "
            "temperature depends on the number in their place; let the model return logits."
        )
    return warnings


def best_temperature(logits: Numbers, label: Numbers) -> float:
    """The temperature of the smallest mean negative log-likelihood.

    Args:
        logits: images x classes.
        label: the logit of each image's class.
    """
    low, high = np.log(1 / HIGHEST), np.log(1 / LOWEST)
    if _slope(logits, label, np.exp(low)) > 0 or _slope(logits, label, np.exp(high)) < 0:
        raise UserError(
            f"No temperature from {LOWEST:g} to {HIGHEST:g} is best: all predictions may be correct, or none "
            "better than chance. Fit on more images."
        )
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _slope(logits, label, np.exp(middle)) > 0 else (middle, high)
    return float(np.exp(-(low + high) / 2))


def temperature_interval(
    logits: Numbers, label: Numbers, temperature: float, groups: Groups = None
) -> tuple[float, float]:
    """95 % bootstrap interval of the best temperature; images, or groups of images, are resampled."""
    terms = _slopes(logits, label, 1 / temperature)
    near = _slopes(logits, label, 1.001 / temperature)
    # The error of ln b, by the delta method, for the range of the grid only.
    curvature = float(np.mean(near - terms)) / 0.001
    error = float(terms.std()) / np.sqrt(unit_count(len(terms), groups)) / max(curvature, 1e-12)
    reach = min(REACH * error, np.log(HIGHEST))
    sharpness = np.exp(-np.log(temperature) + np.linspace(-reach, reach, GRID))
    columns = np.stack([_slopes(logits, label, value) for value in sharpness], axis=1)

    def zero(means: Numbers) -> Numbers:
        return _crossing(means, 1 / sharpness)

    return bootstrap_interval(columns, zero, groups=groups)


def _crossing(slopes: Numbers, temperatures: Numbers) -> Numbers:
    """The temperature at which increasing slopes (..., grid) are zero, linear between values of ln T."""
    last = len(temperatures) - 1
    after = np.clip((slopes < 0).sum(axis=-1), 1, last)[..., None]
    high, low = (np.take_along_axis(slopes, place, axis=-1)[..., 0] for place in (after, after - 1))
    share = np.clip(-low / (high - low), 0, 1)
    logs = np.log(temperatures)
    place = after[..., 0]
    return np.asarray(np.exp(logs[place - 1] + share * (logs[place] - logs[place - 1])))


def mean_nll(logits: Numbers, label: Numbers, temperature: float) -> float:
    """The mean negative log-likelihood at a temperature, in nats."""
    return float(np.mean(_log_sum(logits / temperature) - label / temperature))


def _slope(logits: Numbers, label: Numbers, sharpness: float) -> float:
    """The derivative of the mean negative log-likelihood by 1/T."""
    return float(np.mean(_slopes(logits, label, sharpness)))


def _slopes(logits: Numbers, label: Numbers, sharpness: float) -> Numbers:
    """The derivative of the negative log-likelihood of each image by 1/T."""
    scaled = sharpness * logits
    weights = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    return np.asarray((weights * logits).sum(axis=1) / weights.sum(axis=1) - label)


def _log_sum(logits: Numbers) -> Numbers:
    largest = logits.max(axis=1)
    return np.asarray(largest + np.log(np.exp(logits - largest[:, None]).sum(axis=1)))


def _logits(run: ScoredRun, condition: str, images: NDArray[np.int64]) -> Iterator[Numbers]:
    """Logits of the competing classes of some images under a condition, shard by shard."""
    names = [item.name for item in run.conditions for _ in range(item.frames)]
    place, before = names.index(condition), 0
    competing = np.flatnonzero(run.projection.mask_for(run.recipe.model.classes))
    for shard in run.shards(["logits"]):
        column = shard["logits"].combine_chunks()
        count = len(column) // run.views
        rows = images[(images >= before) & (images < before + count)] - before
        before += count
        if len(rows):
            flat = column.take(rows * run.views + place).flatten()
            scores = np.asarray(flat, np.float32).reshape(len(rows), -1)
            projected = run.projection.apply(scores)[:, competing]
            yield projected.astype(np.float64) if run.observed.gives_logits else log_probabilities(projected)
