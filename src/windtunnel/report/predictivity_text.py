"""Predictivity in words, table rows and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import fields

from windtunnel.analysis.predictivity.controls import BOTH_CLEAN_ACCURACIES, CLEAN_ACCURACY, Pair
from windtunnel.analysis.predictivity.groups import MEAN, GroupCell, GroupTable
from windtunnel.analysis.predictivity.measurement import Predictivity
from windtunnel.core.wording import counted

PREDICTED_BY = "predicted by"
PAIR_HEADER = (
    "target", PREDICTED_BY, "r [95 %], p", "partial r [95 %], p", "r from clean alone [95 %]",
    "r from subtraction", "Spearman", "one family left out", "classes",
)  # fmt: skip
FROM_CLEAN = PAIR_HEADER[4]
# Its name if another accuracy stands in for the clean one.
FROM_CONTROL = "r from easiest condition alone [95 %]"
GROUP_FACTS = (
    "mean r", "95 % interval", "r from clean alone", "partial r", "mean p-value", "permutation p",
)  # fmt: skip
# A p-value below this is written as such.
SMALLEST_P = 0.001


def correlation_text(value: float | None, low: float | None = None, high: float | None = None) -> str:
    """A correlation with its interval: `0.87 [0.85, 0.88]`; `undefined` for None."""
    if value is None:
        return "undefined"
    ends = f" [{low:.2f}, {high:.2f}]" if low is not None and high is not None else ""
    return f"{value:.2f}{ends}"


def p_text(p: float | None) -> str:
    """A p-value: `p 0.02`, `p < 0.001`."""
    if p is None:
        return ""
    return f"p < {SMALLEST_P}" if p < SMALLEST_P else f"p {p:.2g}"


def pair_header(pairs: Sequence[Pair]) -> list[str]:
    """The columns of `pair_rows`; the predictor has one only if there are several."""
    has_clean = any(pair.given in (CLEAN_ACCURACY, BOTH_CLEAN_ACCURACIES) for pair in pairs)
    return [
        FROM_CONTROL if name == FROM_CLEAN and not has_clean else name
        for name in PAIR_HEADER
        if name != PREDICTED_BY or _several_predictors(pairs)
    ]


def pair_rows(pairs: Sequence[Pair]) -> list[list[str]]:
    """A table row per pair, with the columns of `pair_header`."""
    return [
        [
            pair.target,
            *([pair.predictor] if _several_predictors(pairs) else []),
            f"{correlation_text(pair.r, pair.low, pair.high)} {p_text(pair.p)}".strip(),
            f"{_partial_text(pair)} {p_text(pair.partial_p)}".strip(),
            correlation_text(pair.from_clean, pair.from_clean_low, pair.from_clean_high),
            "none" if pair.from_subtraction is None else f"{pair.from_subtraction:.2f}",
            correlation_text(pair.spearman),
            _family_text(pair),
            pair.classes if "drop" in pair.kind else "no clean",
        ]
        for pair in pairs
    ]


def _several_predictors(pairs: Sequence[Pair]) -> bool:
    return len({pair.predictor for pair in pairs}) > 1


def _partial_text(pair: Pair) -> str:
    return correlation_text(pair.partial, pair.partial_low, pair.partial_high)


def _family_text(pair: Pair) -> str:
    if pair.r is None:
        return "undefined"
    if pair.family_low is None or pair.family_high is None:
        return "one family only" if pair.families == 1 else "too few models without a family"
    ends = [f"{end:.2f}" for end in (pair.family_low, pair.family_high)]
    # The family that changes r most gives the end that is farther from r.
    farther = 0 if pair.r - pair.family_low > pair.family_high - pair.r else 1
    ends[farther] += f" (without {pair.family_left_out})"
    tried = (
        f" ({pair.families_left_out} of {pair.families} families)"
        if pair.families_left_out < pair.families
        else ""
    )
    return " to ".join(ends) + tried


def summary_lines(found: Predictivity) -> list[tuple[str, str]]:
    """The question, the models and the answer, as labelled lines."""
    models = counted(len(found.table.models), "model")
    resampled = f", {counted(found.families, 'family', 'families')} resampled" if found.families else ""
    lines = [("question", found.question.text), ("models", f"{models}{resampled}")]
    if found.clean[0] and found.clean_range:
        low, high = (100 * end for end in found.clean_range)
        overlap = {
            True: "comparable: all their intervals overlap",
            False: "not comparable: intervals do not overlap",
            None: "the number of images is unknown, so it is not known whether they are comparable",
        }[found.clean_comparable]
        lines.append(("clean", f"{found.clean[0]}, {low:.1f} to {high:.1f} %; {overlap}"))
    lines += [("warning", text) for text in found.warnings]
    lines += [("answer", text) for text in answers(found)]
    return lines


def answers(found: Predictivity) -> list[str]:
    """The result in plain sentences: one per pair, at most eight; or the extreme groups or pairs.

    With groups, no single generated benchmark is named: selecting it by these models would overstate it.
    """
    if found.pairs and len(found.pairs) <= 8:
        return [pair_sentence(pair) for pair in found.pairs]
    if found.pairs and not found.groups:
        known = sorted((pair for pair in found.pairs if pair.r is not None), key=lambda pair: pair.r or 0.0)
        if not known:
            return ["No correlation is defined: the values do not vary between models."]
        return [
            f"{len(found.pairs)} pairs. The most predictable: {pair_sentence(known[-1])}",
            f"The least predictable: {pair_sentence(known[0])}",
        ]
    return [sentence for table in found.groups for sentence in _group_sentences(table)]


def pair_sentence(pair: Pair) -> str:
    """One pair in words: r, what clean accuracy explains of it, and what remains."""
    if pair.r is None:
        return (
            f"{pair.predictor} and {pair.target}: undefined, because the values do not vary between models."
        )
    text = (
        f"{pair.kind} on {pair.target}: r = {correlation_text(pair.r, pair.low, pair.high)} with "
        f"{pair.predictor}."
    )
    if pair.partial is None or pair.from_clean is None:
        return text[:1].upper() + text[1:]
    remains = _partial_text(pair)
    beyond = (
        pair.partial_low is not None
        and pair.partial_high is not None
        and pair.partial_low * pair.partial_high > 0
    )
    if not beyond:
        verdict = f"so no relation beyond {pair.given} is shown"
    elif pair.partial > 0:
        verdict = f"so it predicts something beyond {pair.given}"
    else:
        verdict = f"so that beyond {pair.given} the relation is reversed"
    pronoun = "them" if pair.given == BOTH_CLEAN_ACCURACIES else "it"
    return (
        f"{text[:1].upper()}{text[1:]} {pair.given[:1].upper()}{pair.given[1:]} alone would give "
        f"{pair.from_clean:.2f}; with {pronoun} held constant r = {remains}, {verdict}."
    )


def _group_sentences(table: GroupTable) -> list[str]:
    means = [table.cell(group, MEAN) for group in table.groups]
    if len(means) < 2:
        return [f"{means[0].group}: mean r = {correlation_text(means[0].r, means[0].low, means[0].high)}."]
    best, worst = max(means, key=lambda cell: cell.r), min(means, key=lambda cell: cell.r)
    return [
        f"By {' and '.join(table.by)}: mean r is highest at {best.group}, "
        f"{correlation_text(best.r, best.low, best.high)}, and lowest at {worst.group}, "
        f"{correlation_text(worst.r, worst.low, worst.high)}."
    ]


def group_rows(table: GroupTable, targets: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Header and rows shaped as the paper's tables: natural sets x groups, the mean correlation."""
    header = ["natural set", *table.groups]
    rows = [
        [target, *(f"{table.cell(group, target).r:.3f}" for group in table.groups)]
        for target in (*targets, MEAN)
    ]
    return header, rows


def group_fact_rows(table: GroupTable) -> tuple[list[str], list[list[str]]]:
    """Header and rows of each group's mean over natural sets, with its interval, controls and tests."""
    return ["group", "benchmarks", *GROUP_FACTS], [
        _fact_row(table.cell(group, MEAN)) for group in table.groups
    ]


def _fact_row(cell: GroupCell) -> list[str]:
    return [
        cell.group,
        f"{cell.benchmarks:,}",
        f"{cell.r:.3f}",
        f"[{cell.low:.2f}, {cell.high:.2f}]",
        correlation_text(cell.from_clean),
        correlation_text(cell.partial, cell.partial_low, cell.partial_high),
        f"{cell.mean_p_value:.2g}",
        p_text(cell.p),
    ]


def predictivity_csv(found: Predictivity) -> str:
    """Every pair as CSV, a line each; for generated benchmarks, every cell of the group tables."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    if found.pairs:
        names = [field.name for field in fields(Pair)]
        writer.writerow(names)
        writer.writerows([[_cell(getattr(pair, name)) for name in names] for pair in found.pairs])
        return out.getvalue()
    names = [field.name for field in fields(GroupCell)]
    writer.writerow(["by", *names])
    for table in found.groups:
        writer.writerows(
            [["+".join(table.by), *(_cell(getattr(cell, name)) for name in names)] for cell in table.cells]
        )
    return out.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, tuple):
        return "; ".join(value)
    return "" if value is None else value
