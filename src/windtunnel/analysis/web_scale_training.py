"""A note on ImageNet-C scores of models whose training data are web-scale or not declared.

Web-scale data contain blur, noise, weather and compression, so that most corruptions of ImageNet-C are no
longer out of distribution for models trained on them (Li et al. 2025, LAION-C).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from functools import lru_cache

from windtunnel import published
from windtunnel.analysis.declared_names import is_data_set
from windtunnel.metrics.corruption_error import THE_FIFTEEN, whole_units
from windtunnel.metrics.scored_run import ScoredRun

SOURCE = "Li et al. 2025, LAION-C"
ADVICE = "Also run suite laion-c."


def web_scale_notes(run: ScoredRun, trained_on: Sequence[str]) -> list[str]:
    """The note on training data, at most one.

    Declared web-scale data give it with every run that has corruptions of ImageNet-C; data that are not
    declared only with the 15 of mCE.

    Args:
        run: the run.
        trained_on: the entries of the model's `trained_on` that name data.
    """
    seen = {condition.unit for condition in run.corruptions} & set(THE_FIFTEEN)
    if not seen:
        return []
    if web_scale := [text for text in trained_on if is_web_scale(text)]:
        return [
            f"The model was trained on {', '.join(web_scale)} (trained_on), which is web-scale: most "
            f"corruptions of ImageNet-C are not out of distribution for it ({SOURCE}). {ADVICE}"
        ]
    if not trained_on and set(whole_units(run)) >= set(THE_FIFTEEN):
        return [
            "The training data are not declared (trained_on). If they are web-scale, most corruptions of "
            f"ImageNet-C are not out of distribution ({SOURCE}). {ADVICE}"
        ]
    return []


def is_web_scale(text: str) -> bool:
    """Whether an entry of `trained_on` names data collected from the web at scale, such as `laion-2b`."""
    return any(is_data_set(text, name) or _begins(text, name) for name in _web_scale_names())


def _begins(text: str, name: str) -> bool:
    """Whether a text is a name with a size right after it: `jft300m`, `laion2b-en`."""
    words = "".join(text.lower().replace("_", "-").split("-")[:1])
    return words.startswith(name) and words[len(name) : len(name) + 1].isdigit()


@lru_cache(maxsize=1)
def _web_scale_names() -> tuple[str, ...]:
    rows = csv.DictReader(io.StringIO(published.read_text("web_scale_data.csv")))
    return tuple(row["name"] for row in rows)
