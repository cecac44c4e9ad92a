"""How often a gate errs, and what it can see: python benchmarks/gate_errors.py [--simulations 2000]

Two different models with equal true errors disagree on 5, 10 or 20 % of single answers. A false alarm is any
rule of the gate called worse. Then one model is made worse under every condition, until the rule is called
worse in nine of ten simulations.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator

import numpy as np
from worlds import Array, answers, kinship_for

from windtunnel.analysis.gate import DEFAULT_RULES, Trial, worse
from windtunnel.analysis.gate_rules import parse_rule
from windtunnel.stats.measure import Measure
from windtunnel.stats.paired import estimate_difference

ERROR, WITHIN, UNITS, LEVELS = 0.3, 0.75, 15, 5
DISCORDANCES = (0.05, 0.10, 0.20)
# Column 0 is clean, the others are corruptions, the severities of one side by side.
CLEAN, CORRUPTED = [0], list(range(1, 1 + UNITS * LEVELS))
UNIT_COLUMNS = [CORRUPTED[LEVELS * unit : LEVELS * (unit + 1)] for unit in range(UNITS)]
GATES: dict[str, list[tuple[str, list[int]]]] = {
    "default rules": [(DEFAULT_RULES[0], CORRUPTED), (DEFAULT_RULES[1], CLEAN)],
    "one rule, limit 0": [("mean_error <= +0", CORRUPTED)],
    "two rules, limit 0": [("mean_error <= +0", CORRUPTED), ("clean error <= +0", CLEAN)],
    "15 patterns, limit 0": [
        (f"unit{unit}:* error <= +0", columns) for unit, columns in enumerate(UNIT_COLUMNS)
    ],
    "each of 75, limit 0": [("each * error <= +0", [column]) for column in CORRUPTED],
}


def differing(
    rng: np.random.Generator, n: int, discordance: float, worse_by: float = 0.0
) -> tuple[Array, Array]:
    """Answers of two models, the second one's errors higher by `worse_by` under every condition."""
    kinship = kinship_for(discordance, ERROR)
    errors = [np.full(1 + UNITS * LEVELS, ERROR + more) for more in (0.0, worse_by)]
    old, new = answers(rng, n, errors, within=WITHIN, kinship=kinship, noise_kinship=kinship)
    return old, new


def alarms(rules: list[tuple[str, list[int]]], old: Array, new: Array) -> list[bool]:
    """Which rules of a gate call the second of two models worse."""
    return worse([_test(*rule, old, new) for rule in rules])


def false_alarms(
    discordance: float, n: int, simulations: int, seed: int = 0, *, gates: Iterable[str] = GATES
) -> dict[str, float]:
    """By gate, how often models with equal true errors raise an alarm."""
    rng = np.random.default_rng(seed)
    counts = dict.fromkeys(gates, 0)
    for _ in range(simulations):
        old, new = differing(rng, n, discordance)
        for name in counts:
            counts[name] += any(alarms(GATES[name], old, new))
    return {name: count / simulations for name, count in counts.items()}


def called_worse(place: int, change: float, discordance: float, n: int, simulations: int) -> float:
    """How often the default gate calls one of its rules worse when all errors grew by `change`."""
    rng = np.random.default_rng(place)
    rules = GATES["default rules"]
    found = [alarms(rules, *differing(rng, n, discordance, change))[place] for _ in range(simulations)]
    return found.count(True) / simulations


def smallest_seen(place: int, discordance: float, n: int, simulations: int) -> float:
    """The smallest true change that the rule calls worse in nine of ten cases."""
    low, high = 0.0, 0.15
    for _ in range(6):
        middle = (low + high) / 2
        seen = called_worse(place, middle, discordance, n, simulations) >= 0.9
        low, high = (low, middle) if seen else (middle, high)
    return high


def lines(simulations: int, n: int = 1000) -> Iterator[str]:
    """The tables, line by line."""
    yield f"False alarms per gate, equal true errors of {ERROR:.0%}, n = {n:,}, {simulations:,} simulations"
    yield "| discordance | " + " | ".join(GATES) + " |"
    yield "|---|" + "---|" * len(GATES)
    for discordance in DISCORDANCES:
        found = false_alarms(discordance, n, simulations)
        yield f"| {discordance:.0%} | " + " | ".join(f"{share:.1%}" for share in found.values()) + " |"
    yield ""
    yield f"Smallest true change called worse in 9 of 10 cases, default rules, n = {n:,}"
    yield "| discordance | " + " | ".join(DEFAULT_RULES) + " |"
    yield "|---|---|---|"
    for discordance in DISCORDANCES:
        seen = [smallest_seen(place, discordance, n, simulations // 8) for place in range(len(DEFAULT_RULES))]
        yield f"| {discordance:.0%} | " + " | ".join(f"+{100 * one:.1f} points" for one in seen) + " |"


def _test(text: str, columns: list[int], old: Array, new: Array) -> Trial:
    weights = None if len(columns) == 1 else np.full(len(columns), 1 / len(columns))
    first, second = (Measure("", "", "", (), one[:, columns], weights) for one in (old, new))
    estimate = estimate_difference(first, second)
    return Trial(parse_rule(text), text, first.value, second.value, estimate, len(first.columns))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=2000)
    for line in lines(parser.parse_args().simulations):
        print(line, flush=True)


if __name__ == "__main__":
    main()
