"""Headline scores of a report, and their titles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from windtunnel.core.metrics import headline_titles
from windtunnel.metrics.sequence_scores import TOP_FIVE

# Metric, and condition or "" for several.
Key = tuple[str, str]

# The OOD score that the ImageNet-O paper reports.
PAPERS_SCORE = "msp"
PM_0 = "pm-0"
# By metric of frame sets, its drop and what their titles add.
PM_METRICS = {
    "pm_k": ("pm_drop", ""),
    "pm_k_ap": ("pm_ap_drop", " AP"),
    "pm_k_localisation_ap": ("pm_localisation_ap_drop", " localisation AP"),
}


def head_titles(keys: Iterable[Key], parts: Sequence[str] = ()) -> dict[Key, str]:
    """The headline scores of a report, in the order given, each with its title.

    Args:
        keys: all scores of the run.
        parts: parts of a natural set whose errors are headline scores too.
    """
    every = list(keys)
    titles: dict[Key, str] = {}
    for metric, (drop, of) in PM_METRICS.items():
        farthest = farthest_pm(every, metric)
        titles |= {(metric, PM_0): f"{PM_0}{of}", (metric, farthest): f"{farthest}{of}"}
        titles[drop, farthest] = f"{PM_0} minus {farthest}{of}"
    titles |= {
        (metric, PAPERS_SCORE): f"{title} of {PAPERS_SCORE}"
        for metric, title in headline_titles(of_ood_scores=True).items()
    }
    titles |= {("top1_error", name): f"{name} error" for name in ("native", "clean", *parts)}
    titles |= {("ap", name): f"{name} AP" for name in ("native", "clean")}
    others = headline_titles()
    title_of = {key: titles.get(key, "" if key[1] else others.get(key[0], "")) for key in every}
    return {key: title for key, title in title_of.items() if title}


def headline_formula(formula: str) -> str:
    """A shorter form of a formula; the table of scores has the full one."""
    return formula.replace(TOP_FIVE.words, TOP_FIVE.short)


def farthest_pm(keys: Iterable[Key], of: str = "pm_k") -> str:
    """The condition of pm-k, or of that of detections, with the largest k; "" if there is none."""
    conditions = [condition for metric, condition in keys if metric == of]
    return max(conditions, key=lambda name: int(name.removeprefix("pm-")), default="")


def natural_head(keys: Iterable[Key], shifted: Sequence[str]) -> Key | None:
    """The score by which models are ranked on a natural set: pm-k, the paper's AUPR, or the shifted error."""
    every = list(keys)
    wanted = [
        ("pm_k", farthest_pm(every)),
        ("pm_k_ap", farthest_pm(every, "pm_k_ap")),
        ("aupr", PAPERS_SCORE),
        *(("top1_error", part) for part in shifted),
    ]
    return next((key for key in wanted if key in every), None)
