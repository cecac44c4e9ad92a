"""The categories of an overlap study as labelled lines and as tables."""

from __future__ import annotations

from dataclasses import dataclass

from windtunnel.analysis.overlap.categories import Trial, Variant
from windtunnel.analysis.overlap.category_analysis import SAME_OPERATION, CategoryAnalysis
from windtunnel.analysis.overlap.hierarchy import METHOD
from windtunnel.analysis.overlap.row_correlations import pair_means, row_correlations
from windtunnel.analysis.overlap.validation import (
    PUBLISHED_ACROSS,
    PUBLISHED_MODELS,
    PUBLISHED_WITHIN,
    Validation,
)
from windtunnel.core.wording import counted

CATEGORY_COLUMNS = ("candidate", "category", "stability", "left_out")
MEMBER_HEADER = ("category", "corruptions", "mean overlap", "mean r", "kept together")
TRIAL_HEADER = ("categories", "mean r within", "mean r across", "pairs within", "silhouette")
VARIANT_HEADER = ("categories", "number", "mean r within", "agreement")


@dataclass(frozen=True)
class CategoryRow:
    """A candidate, its category, its stability, and why it has none; "" for what does not apply."""

    candidate: str
    category: int | str
    stability: float | str
    left_out: str


def category_rows(analysis: CategoryAnalysis) -> list[CategoryRow]:
    """Every candidate: those with a category first, by category."""
    rows = [
        CategoryRow(name, category, _known(_membership(analysis, name, members)), "")
        for category, members in analysis.categories.members.items()
        for name in members
    ]
    return rows + [CategoryRow(name, "", "", reason) for name, reason in analysis.left_out.items()]


def category_lines(analysis: CategoryAnalysis) -> list[tuple[str, str]]:
    """The categories as labelled lines for a terminal."""
    categories, matrix = analysis.categories, analysis.matrix
    seeds = f", {counted(len(matrix.seeds), 'seed')}" if matrix.seeds else ""
    seeds += f", ratio {matrix.ratio}" if matrix.ratio else ""
    lines = [
        ("candidates", f"{len(categories.candidates)} of {len(matrix.candidates)}{seeds}"),
        ("categories", rule_text(analysis)),
    ]
    for category, members in categories.members.items():
        share = None if analysis.stability is None else analysis.stability.cohesion(members)
        kept = "" if share is None else f"   kept together {100 * share:.0f} %"
        lines.append((f"category {category}", f"{', '.join(members)}{kept}"))
    lines += [("left out", f"{name}: {reason}") for name, reason in analysis.left_out.items()]
    lines.append(("stability", stability_text(analysis)))
    lines.append(("hierarchy", f"{METHOD}: {_agreement(analysis.hierarchy_agreement)}"))
    lines += [("variant", variant_text(variant)) for variant in analysis.variants]
    if analysis.validation:
        lines += validation_lines(analysis.validation)
    return lines + [("note", note) for note in category_notes(analysis)]


def rule_text(analysis: CategoryAnalysis) -> str:
    """How the number of categories was found."""
    last, categories = analysis.categories.trials[-1], analysis.categories
    diagonal = "with" if categories.diagonal else "without"
    return (
        f"{categories.k} categories by K-means on rows {diagonal} the diagonal, seed {categories.seed}; the "
        f"first K with mean r within categories above {categories.threshold:g} ({_decimal(last.within)} over "
        f"{counted(last.pairs, 'pair')})"
    )


def stability_text(analysis: CategoryAnalysis) -> str:
    """The agreement of bootstrap replicates with the categories."""
    stability = analysis.stability
    if stability is None:
        return f"unknown: {analysis.no_stability}"
    chosen = ", ".join(
        f"{k or 'none'}: {100 * count / sum(stability.k_counts.values()):.0f} %"
        for k, count in stability.k_counts.items()
    )
    return (
        f"median adjusted Rand index {stability.agreement:.2f} of "
        f"{counted(stability.replicates, 'bootstrap replicate')} with the result (middle 95 %: "
        f"{stability.agreement_low:.2f} to {stability.agreement_high:.2f}); number of categories by the "
        f"rule: {chosen}"
    )


def variant_text(variant: Variant) -> str:
    """A variant of the categories in one line."""
    if variant.k is None:
        return f"{variant.name}: no number of categories reaches the threshold"
    return (
        f"{variant.name}: {counted(variant.k, 'category', 'categories')}, mean r within "
        f"{_decimal(variant.within)}, {_agreement(variant.agreement)}"
    )


def _agreement(index: float | None) -> str:
    return f"adjusted Rand index {_decimal(index) or 'undefined'} with the categories of K-means"


def validation_lines(validation: Validation) -> list[tuple[str, str]]:
    """The validation on other models as labelled lines."""
    lines = [
        (
            "validation",
            f"{counted(len(validation.models), 'model')}, {len(validation.candidates)} corruptions: mean r "
            f"{validation.within:.2f} within categories ({validation.pairs_within} pairs), "
            f"{validation.across:.2f} across ({validation.pairs_across} pairs), p = {validation.p:.2g} "
            f"({validation.permutations:,} permutations)",
        ),
        ("published", published_text()),
    ]
    if validation.missing:
        lines.append(("note", f"without results of all models: {', '.join(validation.missing)}"))
    return lines + [("note", warning) for warning in validation.warnings]


def published_text() -> str:
    """The published reference of the validation."""
    return (
        f"{PUBLISHED_WITHIN:.2f} within and {PUBLISHED_ACROSS:.2f} across six categories, {PUBLISHED_MODELS} "
        "models (Laugros et al. 2021)"
    )


def category_notes(analysis: CategoryAnalysis) -> list[str]:
    """Notes on the rule and on candidates that are the same operation."""
    members = analysis.categories.members
    notes = [*analysis.matrix.notes]
    if alone := [names[0] for names in members.values() if len(names) == 1]:
        are = "is a category of its own" if len(alone) == 1 else "are categories of their own"
        notes.append(f"{', '.join(alone)} {are}: one corruption has no pairs and does not enter the mean r.")
    notes += [
        f"{name} is the same operation as {SAME_OPERATION[name]}, so that their overlap is close to 1."
        for name in analysis.categories.candidates
        if SAME_OPERATION.get(name) in analysis.categories.candidates
    ]
    return notes


def member_table(analysis: CategoryAnalysis) -> list[list[str]]:
    """A row per category: corruptions, mean overlap, mean r, and stability."""
    names = analysis.categories.candidates
    r = row_correlations(analysis.values, diagonal=analysis.categories.diagonal)
    rows = []
    for category, members in analysis.categories.members.items():
        places = [names.index(name) for name in members]
        part = [category] * len(places)
        share = None if analysis.stability is None else analysis.stability.cohesion(members)
        overlap = pair_means(analysis.values[places][:, places], part).within
        correlation = pair_means(r[places][:, places], part).within
        kept = "" if share is None else f"{100 * share:.0f} %"
        rows.append([str(category), ", ".join(members), _decimal(overlap), _decimal(correlation), kept])
    return rows


def trial_table(trials: tuple[Trial, ...]) -> list[list[str]]:
    """A row per number of categories that was tried."""
    return [
        [
            str(trial.k),
            _decimal(trial.within),
            _decimal(trial.across),
            str(trial.pairs),
            _decimal(trial.silhouette),
        ]
        for trial in trials
    ]


def variant_table(analysis: CategoryAnalysis) -> list[list[str]]:
    """A row for the result, for each variant, and for hierarchical clustering."""
    last = analysis.categories.trials[-1]
    result = "with the diagonal" if analysis.categories.diagonal else "without the diagonal"
    return [
        [f"result ({result})", str(analysis.categories.k), _decimal(last.within), ""],
        *(
            [
                variant.name,
                "none" if variant.k is None else str(variant.k),
                _decimal(variant.within),
                _decimal(variant.agreement),
            ]
            for variant in analysis.variants
        ),
        [METHOD, str(max(analysis.hierarchy.labels)), "", _decimal(analysis.hierarchy_agreement)],
    ]


def _membership(analysis: CategoryAnalysis, name: str, members: tuple[str, ...]) -> float | None:
    return None if analysis.stability is None else analysis.stability.membership(name, members)


def _known(value: float | None) -> float | str:
    return "" if value is None else round(value, 4)


def _decimal(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
