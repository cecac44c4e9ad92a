"""Estimated differences with their uncertainty: one-sided p-values and ends of confidence intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from scipy.special import ndtr, ndtri, stdtr, stdtrit

# Bisection steps on [-1, 1]: interval ends are exact far beyond the digits shown.
HALVINGS = 50


class Estimate(Protocol):
    """An estimated difference with its uncertainty."""

    @property
    def value(self) -> float:
        """The difference."""
        ...

    @property
    def test(self) -> str:
        """The name of the test."""
        ...

    def above(self, limit: float) -> float:
        """One-sided p of the claim that the true difference is above the limit."""
        ...

    def end(self, level: float) -> float:
        """The end of an interval that leaves out this share below it (over 0.5: above it)."""
        ...


@dataclass(frozen=True)
class Symmetric:
    """A difference with a standard error: value -+ t*se, Student's quantile."""

    value: float
    error: float
    freedom: int
    test: str

    def above(self, limit: float) -> float:
        """One-sided p of the claim that the true difference is above the limit."""
        if self.error == 0:
            return 0.5 if self.value == limit else float(self.value < limit)
        return _upper_tail((self.value - limit) / self.error, self.freedom)

    def end(self, level: float) -> float:
        """The end of an interval that leaves out this share below it."""
        return self.value + _quantile(level, self.freedom) * self.error if self.error else self.value


@dataclass(frozen=True)
class Shares:
    """A difference of two shares on the same images, by Tango's score method.

    `up` is the share of images that changed from correct to wrong, `down` the reverse. If an image counts
    under several conditions, both are means of fractions of images, and `size` is the effective sample size:
    size = (up + down - value^2) / variance of the mean.
    """

    up: float
    down: float
    size: float
    freedom: int
    test: str

    @property
    def value(self) -> float:
        """up - down."""
        return self.up - self.down

    def above(self, limit: float) -> float:
        """One-sided p of the claim that the true difference is above the limit."""
        return _upper_tail(self.statistic(limit), self.freedom)

    def end(self, level: float) -> float:
        """The end of an interval that leaves out this share below it: the difference just not rejected."""
        wanted = -_quantile(level, self.freedom)
        low, high = -1.0, 1.0
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.statistic(middle) > wanted else (low, middle)
        return (low + high) / 2

    def statistic(self, limit: float) -> float:
        """(value - limit) / sqrt((2q + limit - limit^2) / size).

        q is the maximum-likelihood share of repaired images if the true difference is `limit`: the root of
        2q^2 + (limit*(2 - value) - up - down)*q - down*limit*(1 - limit) = 0.
        """
        if abs(limit) >= 1:
            return -math.copysign(math.inf, limit)
        linear = limit * (2 - self.value) - self.up - self.down
        root = math.sqrt(max(0.0, linear * linear + 8 * self.down * limit * (1 - limit)))
        q = max(0.0, -limit, (root - linear) / 4)
        variance = (2 * q + limit - limit * limit) / self.size
        if variance <= 0:
            return 0.0 if self.value == limit else math.copysign(math.inf, self.value - limit)
        return (self.value - limit) / math.sqrt(variance)


@dataclass(frozen=True)
class Scaled:
    """Another estimate times a positive number."""

    of: Estimate
    by: float

    @property
    def value(self) -> float:
        """The difference."""
        return self.of.value * self.by

    @property
    def test(self) -> str:
        """The name of the test."""
        return self.of.test

    def above(self, limit: float) -> float:
        """One-sided p of the claim that the true difference is above the limit."""
        return self.of.above(limit / self.by)

    def end(self, level: float) -> float:
        """The end of an interval that leaves out this share below it."""
        return self.of.end(level) * self.by


def _upper_tail(statistic: float, freedom: int) -> float:
    return float(stdtr(freedom, -statistic) if freedom else ndtr(-statistic))


def _quantile(level: float, freedom: int) -> float:
    return float(stdtrit(freedom, level) if freedom else ndtri(level))
