"""Choose the corruptions of a benchmark: categories, generated benchmarks, selection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from windtunnel.analysis.model_tables.reading import read_tables
from windtunnel.analysis.model_tables.table import ModelTable
from windtunnel.analysis.overlap.benchmarks import (
    COUNT,
    GeneratedBenchmarks,
    Rule,
    SelectedBenchmark,
    generate_from,
    select_from,
)
from windtunnel.analysis.overlap.categories import THRESHOLD, check_rule
from windtunnel.analysis.overlap.category_analysis import (
    CategoryAnalysis,
    analyse_categories,
    with_stability,
)
from windtunnel.analysis.overlap.generation import Draw
from windtunnel.analysis.overlap.residuals import residuals_of
from windtunnel.analysis.overlap.validation import Validation, validate_categories
from windtunnel.api.overlap_sources import Source, read_overlaps, source_name
from windtunnel.core.locations import Location, location_of
from windtunnel.core.progress import Progress, silent
from windtunnel.report.overlap_matrix import write_overlap_matrix
from windtunnel.report.overlap_study import write_overlap_study
from windtunnel.runs import Run

CATEGORY_THRESHOLD = THRESHOLD
BENCHMARK_COUNT = COUNT
# Bootstrap replicates that are clustered; more take longer and change little.
CATEGORY_REPLICATES = 200


def find_categories(
    study: Source,
    *,
    threshold: float = THRESHOLD,
    diagonal: bool = True,
    without: Sequence[str] = (),
    replicates: int = CATEGORY_REPLICATES,
    validate: Sequence[str | Path | Run] = (),
    unit: Sequence[str] = (),
    seed: int = 0,
    progress: Progress = silent,
) -> CategoryAnalysis:
    """Group the corruptions of a study by their overlaps.

    K-means on the rows of the overlap matrix, with the first K from 2 whose mean correlation of rows within
    categories exceeds the threshold (Laugros et al. 2021).

    Args:
        study: the folder of an overlap study; `overlap.json` or `overlap.csv`; or a table of accuracies with
            the columns trained_on, seed, tested_on, accuracy and images.
        threshold: the mean correlation to exceed.
        diagonal: whether rows include the overlap of a corruption with itself, as in the paper.
        without: corruptions to leave out.
        replicates: bootstrap replicates that measure stability, up to 1,000; 0 for none. A matrix alone has
            none.
        validate: runs of other models on the corruptions, or tables of models and settings, with which the
            categories are validated.
        unit: `percent` if these tables are in per cent, or `COLUMN=percent` for single columns.
        seed: seed of K-means and of the permutations.
        progress: counts replicates.

    Raises:
        UserError: an invalid file, too few corruptions, or no number of categories fits.
    """
    check_rule(threshold, seed)
    overlaps = read_overlaps(study, replicates)
    analysis = analyse_categories(
        overlaps.matrix, threshold=threshold, diagonal=diagonal, without=without, seed=seed
    )
    # A table that does not fit is refused before replicates are clustered.
    if validate:
        tables = [each.scoring if isinstance(each, Run) else each for each in validate]
        analysis = replace(analysis, validation=_validation(analysis, read_tables(tables, units=unit), seed))
    return with_stability(analysis, overlaps.replicates, progress) if replicates else analysis


def _validation(analysis: CategoryAnalysis, table: ModelTable, seed: int) -> Validation:
    residuals = residuals_of(table, analysis.categories.candidates)
    return validate_categories(
        residuals.values,
        residuals.models,
        residuals.candidates,
        dict(zip(analysis.categories.candidates, analysis.categories.labels, strict=True)),
        seed=seed,
        warnings=residuals.warnings,
    )


def write_study_page(analysis: CategoryAnalysis, study: Source, file: str | Location) -> Location:
    """Write the HTML page of a study: what a benchmark should contain, overlaps, categories, validation.

    Args:
        analysis: its categories.
        study: the study, for the title.
        file: the page to write.
    """
    return write_overlap_study(analysis, source_name(study), location_of(file))


def write_matrix_page(study: Source, reason: str, file: str | Location) -> Location:
    """Write the HTML page of a study without categories: own gains, overlaps, and what is undefined.

    Args:
        study: a study, as `find_categories` takes it.
        reason: why it has no categories.
        file: the page to write.
    """
    return write_overlap_matrix(read_overlaps(study, 0).matrix, source_name(study), reason, location_of(file))


def generate_benchmarks(
    study: Source,
    categories: int,
    each: int,
    count: int | None = None,
    *,
    substitutions: int = 0,
    draw: Draw = "categories",
    threshold: float = THRESHOLD,
    diagonal: bool = True,
    without: Sequence[str] = (),
    seed: int = 0,
) -> GeneratedBenchmarks:
    """Generate different benchmarks with the same number of corruptions of each category (Algorithm 1).

    Args:
        study: a study, as `find_categories` takes it.
        categories: number of categories of a benchmark.
        each: number of corruptions of each of these categories.
        count: number of benchmarks; None for 1,000, or all if fewer exist.
        substitutions: substitutions that follow each benchmark; each makes the categories less balanced, and
            its result is one more benchmark.
        draw: `categories` draws sets of categories with equal probability, as in the paper; `benchmarks`
            draws all possible benchmarks with equal probability.
        threshold: of the categories.
        diagonal: of the categories.
        without: corruptions to leave out.
        seed: seed of the categories and of the draws.

    Raises:
        UserError: fewer benchmarks exist than asked for; the message says how many.
    """
    analysis = find_categories(
        study, threshold=threshold, diagonal=diagonal, without=without, replicates=0, seed=seed
    )
    return generate_from(analysis, categories, each, count, substitutions=substitutions, draw=draw, seed=seed)


def select_benchmark(
    study: Source,
    categories: int,
    each: int,
    *,
    rule: Rule = "exact",
    count: int | None = None,
    threshold: float = THRESHOLD,
    diagonal: bool = True,
    without: Sequence[str] = (),
    replicates: int = CATEGORY_REPLICATES,
    seed: int = 0,
    progress: Progress = silent,
) -> SelectedBenchmark:
    """Select the benchmark whose corruptions of one category overlap least.

    Args:
        study: a study, as `find_categories` takes it.
        categories: number of categories.
        each: number of corruptions of each category.
        rule: `exact` for the least of all possible benchmarks; `generated` for the least of `count` generated
            ones, as in the paper.
        count: number of generated benchmarks; None for 1,000.
        threshold: of the categories.
        diagonal: of the categories.
        without: corruptions to leave out.
        replicates: bootstrap replicates for the share in which each corruption is selected, up to 1,000; 0
            for none.
        seed: seed of the categories and of generated benchmarks.
        progress: counts replicates.
    """
    check_rule(threshold, seed)
    overlaps = read_overlaps(study, replicates)
    analysis = analyse_categories(
        overlaps.matrix, threshold=threshold, diagonal=diagonal, without=without, seed=seed
    )
    return select_from(
        analysis,
        categories,
        each,
        rule=rule,
        count=COUNT if count is None else count,
        seed=seed,
        replicates=overlaps.replicates,
        progress=progress,
    )
