"""Benchmarks of named corruptions, generated and selected from the categories of a study."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict, dataclass
from typing import Any, Literal

from windtunnel.analysis.overlap.categories import members_of
from windtunnel.analysis.overlap.category_analysis import CategoryAnalysis
from windtunnel.analysis.overlap.generation import (
    DRAWS,
    Benchmark,
    Draw,
    Generated,
    by_std,
    eligible_members,
    generate_benchmarks,
    possible_benchmarks,
    substitution_chains,
)
from windtunnel.analysis.overlap.row_correlations import Matrix
from windtunnel.analysis.overlap.selection import (
    Selection,
    same_category_overlap,
    select_exactly,
    select_generated,
    selection_shares,
)
from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.core.progress import Progress, silent
from windtunnel.core.wording import counted
from windtunnel.suites.suite_text import suite_text

COUNT = 1000  # benchmarks that the paper generates
Rule = Literal["exact", "generated"]
RULES: tuple[Rule, ...] = ("exact", "generated")
COLUMNS = ("benchmark", "n", "k", "category", "corruption")
# Columns of benchmarks after substitutions, before the category.
UNBALANCED_COLUMNS = ("substitutions", "std")


@dataclass(frozen=True)
class GeneratedBenchmark:
    """One generated benchmark.

    Attributes:
        name: the number of the drawn benchmark, from 1; `7-2` after two substitutions in benchmark 7.
        substitutions: the number of substitutions.
        std: standard deviation of its corruptions per category.
        overlap: mean overlap over pairs of one category; None without such a pair.
        corruptions: its corruptions, by category.
    """

    name: str
    substitutions: int
    std: float
    overlap: float | None
    corruptions: dict[int, tuple[str, ...]]


@dataclass(frozen=True)
class GeneratedBenchmarks:
    """Benchmarks of Algorithm 1, and those after substitutions.

    Attributes:
        categories: number of categories of each benchmark.
        each: corruptions of each of them.
        possible: the exact number of different benchmarks without substitutions.
        seed: seed of the draws.
        draw: what is drawn with equal probability.
        benchmarks: the benchmarks.
        by_std: their number for every standard deviation of corruptions per category.
        ended: number of chains in which a substitution was not possible any more.
    """

    categories: int
    each: int
    possible: int
    seed: int
    draw: str
    benchmarks: tuple[GeneratedBenchmark, ...]
    by_std: dict[float, int]
    ended: int

    @property
    def drawn(self) -> int:
        """The number of benchmarks without substitutions."""
        return sum(not each.substitutions for each in self.benchmarks)

    def to_json(self) -> dict[str, Any]:
        """The benchmarks as a JSON object."""
        counts = {str(std): count for std, count in self.by_std.items()}
        return {"schema": 1, **asdict(self), "by_std": counts}

    def to_csv(self) -> str:
        """The benchmarks as CSV, one line per corruption; n and k are empty after a substitution."""
        unbalanced = any(each.substitutions for each in self.benchmarks)
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow((*COLUMNS[:3], *(UNBALANCED_COLUMNS if unbalanced else ()), *COLUMNS[3:]))
        for each in self.benchmarks:
            balanced = (self.categories, self.each) if not each.substitutions else ("", "")
            facts = (each.substitutions, each.std) if unbalanced else ()
            for category, names in each.corruptions.items():
                for name in names:
                    writer.writerow((each.name, *balanced, *facts, category, name))
        return text.getvalue()


@dataclass(frozen=True)
class SelectedBenchmark:
    """The benchmark whose corruptions of one category overlap least.

    With one corruption each, those with the largest mean overlap with the others of their category.

    Attributes:
        corruptions: its corruptions, by category.
        overlap: mean overlap over pairs of one category; None with one corruption each.
        rule: `exact` for the least of all possible benchmarks, `generated` for the least of generated ones.
        compared: number of combinations or benchmarks that were compared.
        possible: the exact number of possible benchmarks.
        shares: share of bootstrap replicates in which the exact rule selects each corruption; empty if there
            are no replicates.
    """

    corruptions: dict[int, tuple[str, ...]]
    overlap: float | None
    rule: str
    compared: int
    possible: int
    shares: dict[str, float]

    def to_json(self) -> dict[str, Any]:
        """The benchmark as a JSON object."""
        by_category = {str(category): names for category, names in self.corruptions.items()}
        return {"schema": 1, **asdict(self), "corruptions": by_category}

    def suite_text(self, name: str) -> str:
        """The TOML text of a suite for `run`; refuses corruptions that windtunnel does not have."""
        sizes = [len(names) for names in self.corruptions.values()]
        chosen = "with least overlap" if sizes[0] > 1 else "with the largest mean overlap with its category"
        about = (
            f"{counted(sum(sizes), 'corruption')}: {sizes[0]} of each of {len(sizes)} categories, {chosen}"
        )
        overlap = "" if self.overlap is None else f"; mean overlap within categories {self.overlap:.3f}"
        note = f"Selected from an overlap study by the {self.rule} rule{overlap}."
        groups = {f"category {category}": names for category, names in self.corruptions.items()}
        return suite_text(name, about, groups, note)


def generate_from(
    analysis: CategoryAnalysis,
    categories: int,
    each: int,
    count: int | None = None,
    *,
    substitutions: int = 0,
    draw: Draw = "categories",
    seed: int = 0,
) -> GeneratedBenchmarks:
    """Benchmarks by Algorithm 1, each followed by those after up to `substitutions` substitutions.

    `count` None generates 1,000, or all if fewer exist.
    """
    if draw not in DRAWS:
        raise UserError(f"{option('draw')} is '{draw}'; give {' or '.join(DRAWS)}.")
    for name, value, least in (("count", count, 1), ("substitutions", substitutions, 0)):
        if value is not None and value < least:
            raise UserError(f"{option(name)} is {value}; give at least {least}.")
    labels, values = analysis.categories.labels, analysis.values
    possible = possible_benchmarks(labels, categories, each)
    if count is None:
        eligible_members(labels, categories, each)  # refuses numbers that do not fit
        count = min(COUNT, possible)
    drawn = generate_benchmarks(labels, categories, each, count, seed=seed, draw=draw)
    chains = substitution_chains(drawn, labels, substitutions, seed=seed)
    return GeneratedBenchmarks(
        categories,
        each,
        possible,
        seed,
        draw,
        tuple(_named(analysis, values, generated) for generated in chains),
        by_std(chains),
        count - sum(generated.substitutions == substitutions for generated in chains),
    )


def _named(analysis: CategoryAnalysis, values: Matrix, generated: Generated) -> GeneratedBenchmark:
    after = f"-{generated.substitutions}" if generated.substitutions else ""
    return GeneratedBenchmark(
        f"{generated.start}{after}",
        generated.substitutions,
        generated.std,
        same_category_overlap(values, analysis.categories.labels, generated.benchmark),
        _by_category(analysis, generated.benchmark),
    )


def _by_category(analysis: CategoryAnalysis, benchmark: Benchmark) -> dict[int, tuple[str, ...]]:
    """The names of a benchmark's corruptions, by category."""
    names, labels = analysis.categories.candidates, analysis.categories.labels
    return members_of([names[place] for place in benchmark], [labels[place] for place in benchmark])


def select_from(
    analysis: CategoryAnalysis,
    categories: int,
    each: int,
    *,
    rule: Rule = "exact",
    count: int = COUNT,
    seed: int = 0,
    replicates: Matrix | None = None,
    progress: Progress = silent,
) -> SelectedBenchmark:
    """The benchmark of `each` corruptions in `categories` categories with the least overlap.

    Args:
        analysis: the categories.
        categories: number of categories.
        each: corruptions of each category.
        rule: `exact`, or `generated` for the paper's least of `count` generated benchmarks.
        count: number of generated benchmarks; at most as many as exist.
        seed: seed of the generated benchmarks.
        replicates: bootstrap replicates of the matrix, for the shares of the selected corruptions.
        progress: counts replicates.
    """
    if rule not in RULES:
        raise UserError(f"{option('rule')} is '{rule}'; give {' or '.join(RULES)}.")
    if count < 1:
        raise UserError(f"{option('count')} is {count}; give at least 1.")
    labels, values, names = analysis.categories.labels, analysis.values, analysis.categories.candidates
    eligible_members(labels, categories, each)  # refuses numbers that do not fit
    possible = possible_benchmarks(labels, categories, each)
    selection: Selection
    if rule == "exact":
        selection = select_exactly(values, labels, categories, each)
    else:
        drawn = generate_benchmarks(labels, categories, each, min(count, possible), seed=seed)
        selection = select_generated(values, labels, drawn)
    chosen = selection.benchmark
    shares: dict[int, float] | None = None
    if replicates is not None and len(replicates):
        shares = selection_shares(analysis.part(replicates), labels, categories, each, chosen, progress)
    return SelectedBenchmark(
        _by_category(analysis, chosen),
        selection.overlap,
        rule,
        selection.compared,
        possible,
        {} if shares is None else {names[place]: share for place, share in shares.items()},
    )
