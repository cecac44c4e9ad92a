"""The gate: whether a run is worse than a base run by more than the rules allow.

For a rule `score <= limit` with d the paired difference run - base:

worse       the interval of d lies above the limit
not worse   the interval of d does not reach above the limit
unsure      anything else: there are too few images to decide

The lower end of the interval, which decides "worse", uses Holm's procedure: rules are sorted by their
one-sided p, and the j-th of m (from 0) is tested at level 4 %/(m - j) until the first that is not worse; the
rest use that rule's level. All rules together raise a false alarm at most 5 % of the time; 4 % leaves room
for the tests being approximations (`benchmarks/gate_errors.py`). The other end excludes 5 %: a model that is
truly worse than a limit is called "not worse" by that rule at most 5 % of the time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from scipy.special import ndtri

from windtunnel.analysis.gate_rules import Rule, matching, parse_rule, pooled
from windtunnel.analysis.missing_scores import has_score, why_no_score
from windtunnel.analysis.pairing import Joined, Key, join_runs, open_runs, why_different_benchmarks
from windtunnel.analysis.plausibility import implausible, implausible_runs
from windtunnel.core.errors import UserError
from windtunnel.core.metrics import metric_of, title_of
from windtunnel.core.option_names import option
from windtunnel.core.records import DEFAULT_TASK
from windtunnel.metrics.comparability import arithmetic_note, why_outputs_differ
from windtunnel.metrics.headlines import natural_head
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.metrics.sequence_scores import sequences_of
from windtunnel.stats.estimates import Estimate
from windtunnel.stats.measure import Measure
from windtunnel.stats.multiple_tests import holm_levels
from windtunnel.stats.paired import estimate_difference, no_difference

# All rules together may raise 5 % false alarms; tests at 4 % guarantee that despite approximations.
ALARM_LEVEL = 0.04
# Rate of wrong "not worse" outcomes of one rule.
MISS_LEVEL = 0.05
# If more images than this would be needed, the number is not reported.
MOST_IMAGES_TO_DECIDE = 1_000_000
# Default rules. The clean error has one prediction per image and a wider interval, so its limit is larger.
DEFAULT_RULES = ("mean_error <= +1", "clean error <= +2")
DEFAULT_DETECTION_RULES = ("mpc >= -1", "clean ap >= -2")
DEFAULT_SEQUENCE_RULES = ("mfp <= +1", "clean error <= +2")

Outcome = Literal["worse", "not worse", "unsure"]
Unsure = Literal["pass", "fail"]
Verdict = Literal["passed", "undecided", "failed"]


@dataclass(frozen=True)
class Trial:
    """One difference tested against one limit."""

    rule: Rule
    name: str
    base: float
    run: float
    estimate: Estimate
    images: int


@dataclass(frozen=True)
class Check:
    """The outcome of a rule, or of one condition of a rule with `each`.

    Attributes:
        rule: the rule as written.
        score: the score, with its condition.
        metric: the name of the metric.
        base, run: its value in both runs, as a fraction or in the metric's own unit.
        difference: run - base.
        low, high: the interval that decides the outcome.
        limit: the change that the rule allows.
        level: the tail probability at the end that decides "worse".
        test: the statistical test of the interval.
        outcome: worse, not worse or unsure.
        images: how many images the difference is based on.
        images_to_decide: for an unsure check, about how many images would decide it if the difference
            stayed the same; None if that is more than MOST_IMAGES_TO_DECIDE.
    """

    rule: str
    score: str
    metric: str
    base: float
    run: float
    difference: float
    low: float
    high: float
    limit: float
    level: float
    test: str
    outcome: Outcome
    images: int
    images_to_decide: int | None


@dataclass(frozen=True)
class Unchecked:
    """A default rule whose score cannot be compared between the runs, and why."""

    rule: str
    why: str


@dataclass(frozen=True)
class Gate:
    """The result of a gate.

    Attributes:
        run, base: the run folders.
        images: number of images that both runs scored.
        checks: one per rule and condition.
        unchecked: default rules that are undecided because their scores cannot be compared.
        unsure: whether undecided rules pass or fail.
        warnings: warnings for the reader.
        implausible: the run folders whose numbers may be wrong; `warnings` gives the reasons.
    """

    run: str
    base: str
    images: int
    checks: tuple[Check, ...]
    unchecked: tuple[Unchecked, ...]
    unsure: Unsure
    warnings: tuple[str, ...]
    implausible: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether the run fails the gate."""
        return bool(self.count("worse") or (self.unsure == "fail" and self.count("unsure")))

    @property
    def verdict(self) -> Verdict:
        """`passed` only if every rule is known to hold; unsure rules that do not fail are undecided."""
        if self.failed:
            return "failed"
        return "undecided" if self.count("unsure") else "passed"

    def count(self, outcome: Outcome) -> int:
        """Number of rules by outcome."""
        count = sum(check.outcome == outcome for check in self.checks)
        return count + (len(self.unchecked) if outcome == "unsure" else 0)

    def to_json(self) -> dict[str, object]:
        """The gate as one JSON document."""
        return {"schema": 1, "failed": self.failed, "verdict": self.verdict, **asdict(self)}


def gate(
    run: ScoredRun | str | Path,
    against: ScoredRun | str | Path,
    rules: Sequence[str] = (),
    *,
    unsure: Unsure = "pass",
) -> Gate:
    """Check that a run is not worse than a base run.

    Args:
        run: the new run.
        against: the run it must not be worse than, on the same images with the same seed.
        rules: such as `mce <= +1.0`. By default the mean error (mFP for sequences) may increase by 1 point
            and the clean error by 2. On natural sets the error of each part may increase by 2 points, and
            pm-k at the largest k, or the AUPR of msp, may decrease by 2.
        unsure: whether undecided rules `pass` or `fail`.

    Raises:
        UserError: a rule is invalid, or the runs cannot be compared image by image.
    """
    if unsure not in ("pass", "fail"):
        raise UserError(f"unsure is '{unsure}'; give pass or fail.")
    parsed = [parse_rule(text) for text in ([rules] if isinstance(rules, str) else rules)]
    new, base = open_runs([run, against])
    if why := why_different_benchmarks([new, base]):
        raise UserError(
            f"{new.path} cannot be checked against {base.path}: {why}; give two runs of one benchmark."
        )
    if why := why_outputs_differ([base, new]):
        raise UserError(
            f"{new.path} cannot be checked against {base.path}: {why}; run both with equal "
            f"{option('mask')} and {option('label_map')}."
        )
    joined = join_runs([base, new], [rule.metric for rule in parsed if metric_of(rule.metric)])
    if not joined.paired:
        raise UserError(
            f"{new.path} cannot be checked against {base.path} image by image: {joined.unpaired_because}; "
            "run both on the same data with the same seed, or use windtunnel compare."
        )
    chosen = parsed or default_rules(joined)
    checks = judge([test for rule in chosen for test in tests_of(rule, joined)])
    asked = {rule.text for rule in chosen}
    dropped = [] if parsed else [parse_rule(text) for text in usual_rules(joined) if text not in asked]
    unchecked = tuple(
        Unchecked(rule.text, f"the runs' {rule.metric} cannot be compared: {why}")
        for rule in dropped
        if (why := joined.not_shared.get((rule.metric, rule.pattern), ""))
    )
    undecided = {check.rule for check in unchecked}
    warnings = _warnings(joined, [rule.text for rule in dropped if rule.text not in undecided])
    return Gate(
        str(new.path),
        str(base.path),
        len(joined.images),
        tuple(checks),
        unchecked,
        unsure,
        warnings=(*implausible_runs((new, base)), *warnings),
        implausible=tuple(str(run.path) for run in (new, base) if implausible(run)),
    )


def _warnings(joined: Joined, absent: Sequence[str]) -> tuple[str, ...]:
    """Warnings on images left out, other arithmetic, and default rules whose score neither run has."""
    lost = max(run.recipe.data.count for run in joined.runs) - len(joined.images)
    left_out = f"{lost:,} images are left out: they are not in both runs, or not scored by both."
    unavailable = (f"The default rule {rule} is not checked: neither run has this score." for rule in absent)
    note = arithmetic_note(joined.runs)
    return (*([left_out] if lost else []), *([note] if note else []), *unavailable)


def usual_rules(joined: Joined) -> tuple[str, ...]:
    """The default rules: mean error for corruptions, flips for sequences, mPC for detectors.

    For a natural set: pm-k of frame sets or AUPR of OOD images, and the error of each part, which has one
    prediction per image.
    """
    first = joined.runs[0]
    if first.parts:
        errors = [f"{part.name} error <= +2" for part in first.parts if part.labelled]
        head = natural_head(joined.measures[0], ())
        return (*([f"{head[1]} {head[0]} >= -2"] if head else []), *errors)
    if first.recipe.task != DEFAULT_TASK:
        return DEFAULT_DETECTION_RULES
    return DEFAULT_SEQUENCE_RULES if sequences_of(first) else DEFAULT_RULES


def default_rules(joined: Joined) -> list[Rule]:
    """The default rules whose scores both runs have."""
    rules = [parse_rule(text) for text in usual_rules(joined)]
    keys = joined.measures[0]
    shared = [rule for rule in rules if (rule.metric, rule.pattern) in keys]
    if not shared:
        metrics = " nor ".join(rule.metric for rule in rules)
        raise UserError(f"The runs share neither {metrics}; give {option('rules')}.")
    return shared


def tests_of(rule: Rule, joined: Joined) -> list[Trial]:
    """The differences that a rule tests: one, or with `each` one per condition."""
    unmodified = {condition.name for condition in joined.runs[0].conditions if condition.is_unmodified}
    unmodified |= {part.name for part in joined.runs[0].parts}
    if metric_of(rule.metric) and not any(metric == rule.metric for metric, _ in joined.measures[0]):
        raise _no_score(rule, joined)
    keys = matching(rule, list(joined.measures[0]), unmodified)
    key_groups: list[list[Key]] = [[key] for key in keys] if rule.each else [keys]
    return [_test(rule, group, joined) for group in key_groups]


def _no_score(rule: Rule, joined: Joined) -> UserError:
    """The error for a rule on a known metric that the runs do not share."""
    metric = title_of(rule.metric)
    lacking = [run for run in joined.runs if not has_score(run, rule.metric)]
    if not lacking:
        why = next(why for (name, _), why in joined.not_shared.items() if name == rule.metric)
        return UserError(f"Rule '{rule.text}': {metric} cannot be compared: {why}.")
    which = "neither run has" if len(lacking) > 1 else f"{lacking[0].path} has no"
    missing = why_no_score(lacking[0], rule.metric)
    shared = sorted({name for name, condition in joined.measures[0] if not condition})
    others = f", or write a rule on {' or '.join(shared)}" if shared else ""
    cure = f"{missing.cure[0].upper()}{missing.cure[1:]}"
    return UserError(f"Rule '{rule.text}': {which} {metric}: {missing.reason}. {cure}{others}.")


def judge(tests: Sequence[Trial]) -> list[Check]:
    """The outcome of every test; all together raise a false alarm at most 5 % of the time."""
    alarms = [_alarm(test) for test in tests]
    levels = holm_levels(alarms, ALARM_LEVEL)
    return [_check(*each) for each in zip(tests, alarms, levels, strict=True)]


def worse(tests: Sequence[Trial]) -> list[bool]:
    """Which tests are worse than their limit, without computing intervals."""
    alarms = [_alarm(test) for test in tests]
    return [alarm <= level for alarm, level in zip(alarms, holm_levels(alarms, ALARM_LEVEL), strict=True)]


def _test(rule: Rule, keys: Sequence[Key], joined: Joined) -> Trial:
    single = keys[0][1] if len(keys) == 1 else f"{rule.pattern} (mean of {len(keys)})"
    name = " ".join(filter(None, (single, rule.metric)))
    old, new = (pooled([measures[key] for key in keys], single) for measures in joined.measures)
    return Trial(rule, name, old.value, new.value, _estimate(old, new, joined), len(old.columns))


def _estimate(old: Measure, new: Measure, joined: Joined) -> Estimate:
    if joined.same_model(1) and np.array_equal(old.columns, new.columns):
        return no_difference()
    return estimate_difference(old, new)


def _alarm(test: Trial) -> float:
    above = test.estimate.above(test.rule.limit)
    return above if test.rule.sign == "<=" else 1 - above


def _check(test: Trial, alarm: float, level: float) -> Check:
    rule, estimate = test.rule, test.estimate
    if rule.sign == "<=":
        low, high = estimate.end(level), estimate.end(1 - MISS_LEVEL)
        fine = high <= rule.limit
    else:
        low, high = estimate.end(MISS_LEVEL), estimate.end(1 - level)
        fine = low >= rule.limit
    outcome: Outcome = "worse" if alarm <= level else "not worse" if fine else "unsure"
    return Check(
        rule.text,
        test.name,
        rule.metric,
        test.base,
        test.run,
        estimate.value,
        low,
        high,
        rule.limit,
        level,
        estimate.test,
        outcome,
        test.images,
        images_to_decide(test.images, alarm, level) if outcome == "unsure" else None,
    )


def images_to_decide(images: int, alarm: float, level: float) -> int | None:
    """About how many images would decide an unsure check if the difference stayed the same.

    A test statistic grows with the square root of the number of images. With z(p) the normal quantile, p the
    one-sided p-value towards the side of the limit that the difference lies on, and a the level asked there:
    images * (z(a) / z(p))^2. None where that is more than MOST_IMAGES_TO_DECIDE.
    """
    p, asked = (alarm, level) if alarm < 0.5 else (1 - alarm, MISS_LEVEL)
    statistic = abs(float(ndtri(p)))
    wanted = abs(float(ndtri(asked)))
    if images * wanted**2 > MOST_IMAGES_TO_DECIDE * statistic**2:
        return None
    return math.ceil(images * (wanted / statistic) ** 2)
