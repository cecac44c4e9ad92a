"""The rules of a gate: a score, a comparison, and how much it may change, as one line of text."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from windtunnel.analysis.pairing import Key
from windtunnel.core.errors import UserError, unknown_name
from windtunnel.core.metrics import REGISTRY, metric_named, metric_of, unit_of
from windtunnel.metrics.ood_scores import KL_MATCHING, OF_LOGITS
from windtunnel.sequences import SEQUENCE_PREFIX
from windtunnel.stats.measure import Measure
from windtunnel.suites.pipeline_steps import is_step

ALLOWED = (
    "write [each] [CONDITION] METRIC <= +POINTS or >= -POINTS, such as 'mce <= +1.0', 'clean error <= +2' or "
    "'each fog:* error <= +3', 'decode=* error <= +1' or 'seq/tilt flip_probability <= +1'; POINTS is the "
    "change from the base run in percentage points (brier, nll and top-5 distances: in their own "
    "units), with its sign"
)
RULE = re.compile(r"(?P<left>[^<>]+?)\s*(?P<sign><=|>=)\s*(?P<limit>[+-]\d+(?:\.\d+)?|0(?:\.0+)?)\s*")

Sign = Literal["<=", ">="]


@dataclass(frozen=True)
class Rule:
    """A rule of a gate.

    Attributes:
        text: the rule as written.
        each: check every matching condition separately instead of their mean.
        pattern: pattern of conditions, or "" for scores over several conditions.
        metric: name of the metric.
        sign: `<=` if lower is better, `>=` if higher is better.
        limit: allowed change as a fraction, or in the metric's own unit.
    """

    text: str
    each: bool
    pattern: str
    metric: str
    sign: Sign
    limit: float


def parse_rule(text: str) -> Rule:
    """Parse a rule; raises a UserError of one line if it is invalid."""
    match = RULE.fullmatch(text.strip())
    if match is None:
        raise UserError(f"Rule '{text}' is not understood; {ALLOWED}.")
    words = match["left"].split()
    each = words[0] == "each"
    words = words[each:]
    # Some metric names have two words; a condition followed by a metric never matches one of them.
    if metric_of(metric_named(" ".join(words))):
        words = [metric_named(" ".join(words))]
    if not 1 <= len(words) <= 2 or (each and len(words) == 1):
        raise UserError(f"Rule '{text}' is not understood; {ALLOWED}.")
    metric = metric_named(words[-1])
    pattern = words[0] if len(words) == 2 else ""
    # `auroc:energy` means `energy auroc`.
    detection, _, score = metric.partition(":")
    if score and not pattern and _of_ood_scores(detection):
        metric, pattern = detection, score
    sign: Sign = "<=" if match["sign"] == "<=" else ">="
    known = metric_of(metric)
    wanted = ">=" if known and known.direction == "higher" else "<="
    if known and sign != wanted:
        worse, such = ("less", "-1") if wanted == ">=" else ("more", "+1")
        raise UserError(f"Rule '{text}': {worse} {metric} is worse; write for example {wanted} {such}.")
    limit = float(match["limit"]) / unit_of(metric).scale
    return Rule(text.strip(), each, pattern, metric, sign, limit)


def _of_ood_scores(name: str) -> bool:
    metric = metric_of(name)
    return metric is not None and metric.of_ood_scores


def matching(rule: Rule, keys: Sequence[Key], unmodified: Collection[str]) -> list[Key]:
    """The scores that a rule applies to.

    A condition is named in full, without its codec, or by its unit alone. `*` and `?` are wildcards in the
    names of corruptions and sequences and never match `unmodified` conditions. Pipeline steps need a pattern
    with `=` (`decode=*`, `*=*`), so that no mean mixes both kinds.
    """
    metrics = {metric for metric, _ in keys}
    if rule.metric not in metrics:
        known = sorted(metrics | {"error"} if "top1_error" in metrics else metrics)
        raise unknown_name(
            f"metric in rule '{rule.text}': no score both runs share is called",
            rule.metric,
            known,
            REGISTRY.command,
        )
    conditions = [condition for metric, condition in keys if metric == rule.metric]
    if not rule.pattern:
        if "" in conditions:
            return [(rule.metric, "")]
        raise UserError(
            f"Rule '{rule.text}': {rule.metric} needs a condition; write one, such as "
            f"'{conditions[0]} {rule.metric} {rule.sign} +1', or a pattern such as '*'."
        )
    matches = [condition for condition in conditions if condition == rule.pattern]
    if not matches:
        matches = [
            condition
            for condition in conditions
            if _fits(rule.pattern, condition, modified=condition not in unmodified)
        ]
    if not matches:
        raise _no_match(rule, conditions)
    return [(rule.metric, condition) for condition in matches]


def _no_match(rule: Rule, conditions: Sequence[str]) -> UserError:
    """The error for a rule whose pattern matches no condition of its metric."""
    named = [condition for condition in conditions if condition]
    if not named:
        return UserError(
            f"Rule '{rule.text}': {rule.metric} is over all conditions and takes no condition; write "
            f"'{rule.metric} {rule.sign} +1'."
        )
    if _of_ood_scores(rule.metric) and rule.pattern in OF_LOGITS:
        return UserError(
            f"Rule '{rule.text}': {rule.pattern} needs logits in both runs, and a model outputs "
            f"probabilities; use one of {', '.join(named)}."
        )
    if _of_ood_scores(rule.metric) and rule.pattern == KL_MATCHING:
        return UserError(
            f"Rule '{rule.text}': {rule.pattern} cannot be compared: a run has too few clean images of "
            f"each class for it; use one of {', '.join(named)}."
        )
    units: dict[str, list[str]] = {}
    for condition in named:
        unit, _, level = condition.partition("+")[0].partition(":")
        units.setdefault(unit, []).append(level)
    unit, colon, level = rule.pattern.partition(":")
    unit = unit if unit in units else f"{SEQUENCE_PREFIX}{unit}"
    if colon and unit in units:
        levels = [level for level in units[unit] if level]
        has = f"has level {', '.join(levels)}" if levels else "has no levels"
        example = f"{unit}:{levels[0]}" if levels else unit
        return UserError(
            f"Rule '{rule.text}': {unit} {has}, not '{level}'; write '{example} "
            f"{rule.metric} {rule.sign} ...'."
        )
    return unknown_name(f"condition in rule '{rule.text}':", rule.pattern.partition(":")[0], units)


def pooled(measures: Sequence[Measure], name: str) -> Measure:
    """The mean of several measures over the same images, as one measure."""
    first = measures[0]
    if len(measures) == 1:
        return first
    parts = tuple(dict.fromkeys(part for measure in measures for part in measure.parts))
    formula = f"mean over {len(measures)} conditions of: {first.formula}"
    columns = np.hstack([measure.columns for measure in measures])
    by_weights = [measure.of_weights for measure in measures if measure.of_weights is not None]
    if len(by_weights) == len(measures):

        def of_weights(weights: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.asarray(np.mean([values(weights) for values in by_weights], axis=0), np.float64)

        return Measure(
            first.metric, name, formula, parts, columns, of_weights=of_weights, limits=first.limits,
            groups=first.groups,
        )  # fmt: skip
    if all(measure.combine is None for measure in measures):
        weights = np.concatenate([measure.linear_weights for measure in measures]) / len(measures)
        low, high = np.mean([measure.limits for measure in measures], axis=0)
        limits = (float(low), float(high))
        return Measure(
            first.metric, name, formula, parts, columns, weights, limits=limits, groups=first.groups
        )
    cuts = np.cumsum([measure.columns.shape[1] for measure in measures])[:-1]

    def combine(means: NDArray[np.float64]) -> NDArray[np.float64]:
        pieces = np.split(means, cuts, axis=-1)
        values = [measure.of_means(piece) for measure, piece in zip(measures, pieces, strict=True)]
        return np.asarray(np.mean(values, axis=0), np.float64)

    return Measure(first.metric, name, formula, parts, columns, combine=combine, groups=first.groups)


def _fits(pattern: str, condition: str, *, modified: bool) -> bool:
    bare = condition.partition("+")[0]
    if any(character in pattern for character in "*?["):
        same_kind = ("=" in pattern) == is_step(bare)
        return modified and same_kind and (fnmatchcase(condition, pattern) or fnmatchcase(bare, pattern))
    unit = bare.partition(":")[0]
    return pattern in (bare, unit, unit.removeprefix(SEQUENCE_PREFIX)) and (modified or pattern == condition)
