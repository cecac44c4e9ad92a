"""The page of an experiment: verdicts, table, differences by family, grids, learning curves, costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from windtunnel.analysis.experiment_results import ExperimentResults, VariantResult
from windtunnel.core.locations import Location
from windtunnel.core.wording import listed
from windtunnel.report.experiment_figures import curve_figures, difference_figure, grid_figures
from windtunnel.report.experiment_tables import (
    NOTHING,
    choice_text,
    cost_cells,
    facts_line,
    legend,
    main_table,
    score_title,
    verdict_lines,
)
from windtunnel.report.page import render_page
from windtunnel.store.atomic_files import write_whole
from windtunnel.store.training_folder import StoredTraining
from windtunnel.studies.experiment_records import Costs, VariantCosts

DETAIL_HEADER = ("variant", "score", "verdict", "error, %", "difference, points", "95 % interval", "p, Holm")
COST_HEADER = ("variant", "what", "seeds", "training", "latency", "passes", "latency, ms")


def render_experiment(
    results: ExperimentResults, costs: Costs, trainings: Mapping[str, Sequence[StoredTraining]]
) -> str:
    """The HTML page of an experiment."""
    figures: dict[str, Any] = {}
    differences = []
    for number, (suite, score) in enumerate(results.scores):
        if figure := difference_figure(results, suite, score):
            figures[f"difference_{number}"] = figure
            differences.append((f"difference_{number}", score_title(results, suite, score)))
    grids: dict[str, list[tuple[str, str]]] = {}
    for place, (group, curves) in enumerate(grid_figures(results).items()):
        for number, (title, figure) in enumerate(curves):
            figures[f"grid_{place}_{number}"] = figure
            grids.setdefault(group, []).append((f"grid_{place}_{number}", title))
    curves_drawn = curve_figures(trainings)
    figures |= curves_drawn
    return render_page(
        "experiment.html.j2",
        figures,
        name=results.name,
        facts=facts_line(results),
        seeds=results.seeds,
        baseline=results.baseline,
        notes=results.notes,
        verdicts=verdict_lines(results),
        choice=choice_text(results),
        main=main_table(results, costs),
        legend=legend(results),
        differences=differences,
        grids=grids,
        curves=list(curves_drawn),
        details=(DETAIL_HEADER, _details(results)),
        costs=(COST_HEADER, _costs(results, costs)),
        comparisons=results.comparisons,
        own_variance=listed(_own_variance(results)),
    )


def write_experiment(
    results: ExperimentResults,
    costs: Costs,
    trainings: Mapping[str, Sequence[StoredTraining]],
    file: Location,
) -> Location:
    """Write the HTML page of an experiment; returns the file."""
    write_whole(file, render_experiment(results, costs, trainings).encode())
    return file


def _details(results: ExperimentResults) -> list[list[str]]:
    rows = []
    for variant in results.variants:
        for score in variant.scores:
            difference = score.difference
            if difference is None:
                continue
            seen = f" (trained on {listed(score.seen, 3)})" if score.seen else ""
            rows.append(
                [
                    variant.facts.name,
                    score_title(results, score.suite, score.score),
                    (difference.verdict or "not judged") + seen,
                    f"{100 * score.error:.1f}",
                    f"{100 * difference.value:+.1f}",
                    f"{100 * difference.low:+.1f} to {100 * difference.high:+.1f}",
                    NOTHING if difference.adjusted_p is None else f"{difference.adjusted_p:.2g}",
                ]
            )
    return rows


def _costs(results: ExperimentResults, costs: Costs) -> list[list[str]]:
    rows = []
    for variant in results.variants:
        spent = costs.variants.get(variant.facts.name, VariantCosts())
        milliseconds = NOTHING if spent.latency_ms is None else f"{spent.latency_ms:.2f}"
        rows.append(
            [variant.facts.name, _what(variant), variant.pairing or NOTHING, *cost_cells(spent), milliseconds]
        )
    return rows


def _what(variant: VariantResult) -> str:
    """What distinguishes a variant, in words."""
    facts = variant.facts
    done = listed(facts.remedies) if facts.remedies else "no remedy"
    return f"{done}; models of {facts.of}" if facts.of else done


def _own_variance(results: ExperimentResults) -> list[str]:
    return [
        variant.facts.name
        for variant in results.variants
        if any(score.difference and score.difference.own_variance for score in variant.scores)
    ]
