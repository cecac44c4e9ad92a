"""What a benchmark should contain, in sentences with the numbers behind them."""

from __future__ import annotations

from windtunnel.analysis.overlap.advice import EACH, REDUNDANT, STABLE, UNCOVERED, WIDE, Advice, Pair
from windtunnel.analysis.overlap.category_analysis import CategoryAnalysis
from windtunnel.core.wording import counted, listed

RECOMMENDED_HEADER = ("category", "recommended", "their mean overlap", "whole category", "corruptions")
REDUNDANT_HEADER = ("corruption", "other", "overlap", "95 % interval")
SHOWN = 12


def recommended_table(advice: Advice) -> list[list[str]]:
    """A row per category: recommended corruptions, their mean overlap, that of the category, its size."""
    return [
        [
            str(each.category),
            ", ".join(each.chosen),
            "" if each.overlap is None else f"{each.overlap:.2f}",
            "" if each.category_overlap is None else f"{each.category_overlap:.2f}",
            f"{each.size} (all)" if len(each.chosen) == each.size else str(each.size),
        ]
        for each in advice.recommended
    ]


def contents_sentence(advice: Advice) -> str:
    """How many corruptions of how many categories, and how much they overlap."""
    total = sum(len(each.chosen) for each in advice.recommended)
    pairs = [
        (len(each.chosen) * (len(each.chosen) - 1) // 2, each.overlap)
        for each in advice.recommended
        if each.overlap is not None
    ]
    sentence = (
        f"Take the {total} corruptions of the table below: of each of the "
        f"{counted(len(advice.recommended), 'category', 'categories')}, up to {EACH} that overlap least, as "
        "many as in the paper's benchmark."
    )
    whole = [str(each.category) for each in advice.recommended if len(each.chosen) == each.size]
    if whole:
        are = "Category" if len(whole) == 1 else "Categories"
        sentence += (
            f" {are} {', '.join(whole)} {'is' if len(whole) == 1 else 'are'} taken whole: with {EACH} or "
            "fewer corruptions there is nothing to choose."
        )
    if any(len(each.chosen) < min(EACH, each.size) for each in advice.recommended):
        sentence += f" A category gives fewer than {EACH} if more would be redundant."
    if pairs:
        mean = sum(count * overlap for count, overlap in pairs) / sum(count for count, _ in pairs)
        sentence += f" Within categories they overlap by {mean:.2f} on average."
    return sentence


def redundancy_sentence(advice: Advice) -> str:
    """How many pairs measure nearly the same, and how many of them surely."""
    count = len(advice.redundant)
    perhaps = (
        f" {counted(advice.perhaps_redundant, 'further pair')} may: the estimate is not above "
        f"{REDUNDANT:g}, but the interval reaches above it."
        if advice.perhaps_redundant
        else ""
    )
    if not count:
        text = f"No two corruptions overlap by more than {REDUNDANT:g} by their estimates."
        return text + (perhaps.replace("further ", "") or " None is redundant by that measure.")
    overlap = "overlaps" if count == 1 else "overlap"
    sentence = (
        f"{counted(count, 'pair')} {overlap} by more than {REDUNDANT:g}; one corruption of each is nearly "
        "enough."
    )
    if any(pair.low is not None for pair in advice.redundant):
        sure = sum(pair.low is not None and pair.low > REDUNDANT for pair in advice.redundant)
        sentence += f" The whole interval is above {REDUNDANT:g} for {sure} of {count}."
    return sentence + perhaps


def redundancy_table(advice: Advice) -> list[list[str]]:
    """A row per redundant pair, the largest overlap first."""
    return [
        [pair.first, pair.second, f"{pair.overlap:.2f}", _interval(pair).strip()] for pair in advice.redundant
    ]


def coverage_sentences(advice: Advice) -> list[str]:
    """Corruptions that no other covers."""
    if not advice.uncovered:
        return [f"Every corruption overlaps with another by {UNCOVERED:g} or more."]
    nearest = [
        f"{pair.first} (at most {pair.overlap:.2f}{_interval(pair)}, with {pair.second})"
        for pair in advice.uncovered
    ]
    return [
        f"Nothing else covers {listed(nearest, SHOWN)}. A benchmark without "
        f"{'it' if len(nearest) == 1 else 'them'} does not measure the effect."
    ]


def open_questions(analysis: CategoryAnalysis, advice: Advice) -> list[str]:
    """What the study cannot tell, with the reason."""
    return [
        *_seed_sentences(analysis),
        *_width_sentences(advice),
        *_stability_sentences(analysis),
        *_member_sentences(advice),
        *_undefined_sentences(analysis),
        *_validation_sentences(analysis),
    ]


def _seed_sentences(analysis: CategoryAnalysis) -> list[str]:
    seeds = len(analysis.matrix.seeds)
    if seeds == 1:
        return [
            "With one seed, how much an overlap varies between trainings is unknown; the intervals are too "
            "narrow."
        ]
    if seeds:
        return [f"The intervals are over {seeds} seeds and {analysis.matrix.images:,} images."]
    return ["The number of seeds is unknown, because only the matrix was given."]


def _width_sentences(advice: Advice) -> list[str]:
    if not advice.pairs:
        return ["The matrix has no intervals, so that no overlap can be called certain."]
    if not advice.wide:
        return [f"No pair of {advice.pairs:,} has an interval wider than {WIDE:g}."]
    return [
        f"{advice.wide:,} of {advice.pairs:,} pairs have an interval wider than {WIDE:g}: whether they "
        "overlap little or much cannot be told. More seeds make intervals narrower."
    ]


def _stability_sentences(analysis: CategoryAnalysis) -> list[str]:
    stability = analysis.stability
    if stability is None:
        return [f"How stable the categories are is unknown: {analysis.no_stability}."]
    total = sum(stability.k_counts.values())
    chosen = {k: count / total for k, count in stability.k_counts.items() if count / total >= 0.05}
    numbers = listed([f"{k or 'no number'} in {100 * share:.0f} %" for k, share in chosen.items()])
    return [
        f"In {counted(total, 'bootstrap replicate')} the rule chooses these numbers of categories: {numbers}."
    ]


def _member_sentences(advice: Advice) -> list[str]:
    unsure = [
        f"{member.candidate} ({100 * member.share:.0f} % with members of category {member.category}, "
        f"{100 * member.rival_share:.0f} % with those of {member.rival})"
        for member in advice.unstable
    ]
    if not unsure:
        return []
    return [
        f"The category of {counted(len(unsure), 'corruption')} is uncertain: it is that of the other members "
        f"in fewer than {100 * STABLE:.0f} % of replicates, averaged over members: {listed(unsure, SHOWN)}."
    ]


def _undefined_sentences(analysis: CategoryAnalysis) -> list[str]:
    if not (undefined := analysis.matrix.undefined):
        return []
    return [
        f"Nothing can be said about {listed(undefined)}: a model trained on the corruption gains too little "
        "on it, or not measurably, so that its overlaps are undefined."
    ]


def _validation_sentences(analysis: CategoryAnalysis) -> list[str]:
    validation = analysis.validation
    if validation is None:
        return [
            "Whether the categories hold for other models was not checked; give their runs or results with "
            "--validate."
        ]
    if validation.p > 0.05:
        return [
            f"On {counted(len(validation.models), 'other model')} the categories could not be confirmed: "
            f"mean r {validation.within:.2f} within and {validation.across:.2f} across, "
            f"p = {validation.p:.2g}."
        ]
    return []


def _interval(pair: Pair) -> str:
    return "" if pair.low is None or pair.high is None else f" [{pair.low:.2f}, {pair.high:.2f}]"
