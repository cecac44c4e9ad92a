"""The page of an overlap study: what a benchmark should contain, overlaps, categories, validation."""

from __future__ import annotations

from typing import Any

from windtunnel.analysis.overlap.advice import advice_of
from windtunnel.analysis.overlap.category_analysis import CategoryAnalysis
from windtunnel.analysis.overlap.hierarchy import METHOD
from windtunnel.core.locations import Location
from windtunnel.report.category_tables import (
    MEMBER_HEADER,
    TRIAL_HEADER,
    VARIANT_HEADER,
    category_notes,
    member_table,
    published_text,
    rule_text,
    stability_text,
    trial_table,
    variant_table,
)
from windtunnel.report.overlap_advice import (
    RECOMMENDED_HEADER,
    REDUNDANT_HEADER,
    contents_sentence,
    coverage_sentences,
    open_questions,
    recommended_table,
    redundancy_sentence,
    redundancy_table,
)
from windtunnel.report.overlap_figures import dendrogram_figure, overlap_map, together_map
from windtunnel.report.overlap_matrix import study_facts
from windtunnel.report.page import render_page
from windtunnel.store.atomic_files import write_whole

UNDEFINED_HEADER = ("corruption", "reason", "gain of its own training")
VALIDATION_HEADER = ("category", "mean r within", "pairs")


def render_overlap_study(analysis: CategoryAnalysis, name: str) -> str:
    """The HTML page of a study."""
    advice, matrix = advice_of(analysis), analysis.matrix
    figures = {"overlaps": overlap_map(analysis), "dendrogram": dendrogram_figure(analysis)}
    if analysis.stability is not None:
        figures["together"] = together_map(analysis)
    return render_page(
        "overlap_study.html.j2",
        figures,
        name=name,
        facts=study_facts(matrix),
        notes=category_notes(analysis),
        contents=contents_sentence(advice),
        recommended=(RECOMMENDED_HEADER, recommended_table(advice)),
        each=max(len(recommendation.chosen) for recommendation in advice.recommended),
        same_number=len({len(recommendation.chosen) for recommendation in advice.recommended}) == 1,
        compared=any(recommendation.combinations > 1 for recommendation in advice.recommended),
        k=analysis.categories.k,
        redundancy=redundancy_sentence(advice),
        redundant=(REDUNDANT_HEADER, redundancy_table(advice)),
        coverage=coverage_sentences(advice),
        open_questions=open_questions(analysis, advice),
        members=(MEMBER_HEADER, member_table(analysis)),
        rule=rule_text(analysis),
        stability=stability_text(analysis),
        trials=(TRIAL_HEADER, trial_table(analysis.categories.trials)),
        variants=(VARIANT_HEADER, variant_table(analysis)),
        method=METHOD,
        undefined=(UNDEFINED_HEADER, _undefined_table(analysis)),
        validation=analysis.validation,
        validation_table=(VALIDATION_HEADER, _validation_table(analysis)),
        published=published_text(),
    )


def study_document(analysis: CategoryAnalysis) -> dict[str, Any]:
    """The categories of a study and what a benchmark should contain, as one JSON document."""
    return {**analysis.to_json(), "advice": advice_of(analysis).to_json()}


def write_overlap_study(analysis: CategoryAnalysis, name: str, file: Location) -> Location:
    """Write the HTML page of a study; returns the file."""
    write_whole(file, render_overlap_study(analysis, name).encode())
    return file


def _undefined_table(analysis: CategoryAnalysis) -> list[list[str]]:
    gains = {own.candidate: own for own in analysis.matrix.own_gains}
    rows = []
    for name, reason in analysis.left_out.items():
        own = gains.get(name)
        gain = "" if own is None else f"{own.gain:.3f} [{own.low:.3f}, {own.high:.3f}]"
        rows.append([name, reason, gain])
    return rows


def _validation_table(analysis: CategoryAnalysis) -> list[list[str]]:
    if analysis.validation is None:
        return []
    return [
        [str(each.category), "" if each.within is None else f"{each.within:.2f}", str(each.pairs)]
        for each in analysis.validation.by_category
    ]
