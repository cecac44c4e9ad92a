"""The page of a study without categories: own gains, defined overlaps, and what is undefined."""

from __future__ import annotations

from itertools import combinations

from windtunnel.analysis.overlap.scores import OverlapMatrix
from windtunnel.core.locations import Location
from windtunnel.core.wording import counted
from windtunnel.report.page import render_page
from windtunnel.store.atomic_files import write_whole

GAIN_HEADER = ("corruption", "gain of its own training", "its overlaps")
PAIR_HEADER = ("corruption", "other", "overlap", "95 % interval")


def study_facts(matrix: OverlapMatrix) -> str:
    """The size of a study in one line."""
    facts = [counted(len(matrix.candidates), "corruption")]
    if matrix.seeds:
        facts += [counted(len(matrix.seeds), "seed"), counted(matrix.images, "test image")]
    if matrix.ratio:
        facts.append(f"ratio {matrix.ratio}")
    return ", ".join(facts)


def write_overlap_matrix(matrix: OverlapMatrix, name: str, reason: str, file: Location) -> Location:
    """Write the HTML page of a matrix without categories, with the reason; returns the file."""
    divided = "not divided by clean accuracy" if matrix.ratio == "raw" else "each divided by clean accuracy"
    page = render_page(
        "overlap_matrix.html.j2",
        {},
        name=name,
        facts=study_facts(matrix),
        reason=reason,
        notes=matrix.notes,
        gains=(GAIN_HEADER, _gain_table(matrix)),
        defined=len(matrix.defined),
        minimum_gain=matrix.minimum_gain,
        divided=divided,
        pairs=(PAIR_HEADER, _pair_table(matrix)),
    )
    write_whole(file, page.encode())
    return file


def _gain_table(matrix: OverlapMatrix) -> list[list[str]]:
    """A row per candidate, the largest gain first."""
    return [
        [
            own.candidate,
            f"{own.gain:.3f} [{own.low:.3f}, {own.high:.3f}]",
            f"undefined: {own.why_undefined}" if own.why_undefined else "defined",
        ]
        for own in sorted(matrix.own_gains, key=lambda own: -own.gain)
    ]


def _pair_table(matrix: OverlapMatrix) -> list[list[str]]:
    """A row per pair with a defined overlap, the largest first."""
    places = {name: place for place, name in enumerate(matrix.candidates)}
    rows = []
    for first, second in combinations(matrix.defined, 2):
        row, column = places[first], places[second]
        low, high = matrix.low[row][column], matrix.high[row][column]
        interval = "" if low is None or high is None else f"[{low:.2f}, {high:.2f}]"
        rows.append((float(matrix.values[row, column]), [first, second, interval]))
    rows.sort(key=lambda pair: -pair[0])
    return [[first, second, f"{value:.2f}", interval] for value, (first, second, interval) in rows]
