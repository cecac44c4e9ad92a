"""Share of flips under corruptions."""

from __future__ import annotations

import numpy as np

from windtunnel.core.metrics import metric
from windtunnel.metrics.clean_comparison import clean_with_codec_of, flipped, why_no_clean_codec
from windtunnel.metrics.error import corruption_columns
from windtunnel.metrics.prediction_matrix import Observed
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.stats.measure import Measure


@metric(direction="lower", needs=("labels", "corruptions"), sliceable=True, why_missing=why_no_clean_codec)
def flip_share(run: ScoredRun, seen: Observed) -> list[Measure]:
    """Share of images whose predicted class differs from that on clean with the same codec; and the mean."""
    columns = corruption_columns(run)
    pairs = {column: clean_with_codec_of(run, run.conditions[column]) for column in columns}
    if not pairs or not all(pairs.values()):
        return []
    flips = {
        column: flipped(seen.chosen[:, column], seen.chosen[:, seen.column(clean)])
        for column, clean in pairs.items()
    }
    formula = "share of images whose predicted class differs from that under {}"
    measures = [
        Measure(
            "flip_share",
            seen.conditions[column],
            formula.format(pairs[column]),
            (seen.conditions[column], pairs[column]),
            flips[column][:, None],
        )
        for column in columns
    ]
    references = tuple(dict.fromkeys(pairs.values()))
    what = f"{formula.format(' and '.join(references))}; mean over {len(columns)} corrupted conditions"
    parts = (*(seen.conditions[column] for column in columns), *references)
    weights = np.full(len(columns), 1 / len(columns))
    stacked = np.stack(list(flips.values()), axis=1)
    return [*measures, Measure("flip_share", "", what, parts, stacked, weights)]
