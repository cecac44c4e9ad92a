"""Plotly figures of an overlap study: heat maps and a dendrogram."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from windtunnel.analysis.overlap.category_analysis import CategoryAnalysis
from windtunnel.report.figures import COLOURS

CELL_PX = 20
PHONE_CELL_PX = 20
# A map of few corruptions has taller cells, up to this, so that all of them together have this height.
TALLEST_CELL_PX = 56
MAP_PX = 440
# Room for the colour bar, and for a character of the names below the map.
COLOUR_BAR_PX = 90
CHARACTER_PX = 7
PHONE_FONT_PX = 11
LINE = {"color": "#ffffff", "width": 2}


def ordered_candidates(analysis: CategoryAnalysis) -> list[str]:
    """The candidates by category, and within one in the order of the dendrogram."""
    leaves = analysis.hierarchy.order
    return [
        name for members in analysis.categories.members.values() for name in sorted(members, key=leaves.index)
    ]


def short_names(names: Sequence[str]) -> list[str]:
    """The names without a prefix that all of them have, such as `s2n/`."""
    folders = {name.rpartition("/")[0] for name in names}
    return [name.rpartition("/")[2] for name in names] if len(folders) == 1 else list(names)


def overlap_map(analysis: CategoryAnalysis) -> dict[str, Any]:
    """Heat map of overlaps, ordered by category; hovering shows the interval."""

    def hover(first: str, second: str) -> str:
        low, high = analysis.interval(first, second)
        interval = "" if low is None or high is None else f" [{low:.2f}, {high:.2f}]"
        return f"{first} and {second}<br>overlap {analysis.overlap(first, second):.2f}{interval}"

    return _category_map(analysis, analysis.overlap, hover, "overlap")


def together_map(analysis: CategoryAnalysis) -> dict[str, Any]:
    """Heat map of the share of replicates in which two candidates have the same category."""
    stability = analysis.stability
    if stability is None:
        return {}
    place = {name: number for number, name in enumerate(stability.candidates)}

    def share(first: str, second: str) -> float | None:
        return stability.together[place[first]][place[second]]

    def hover(first: str, second: str) -> str:
        value = share(first, second)
        known = "never in one replicate" if value is None else f"{100 * value:.0f} % of replicates"
        return f"{first} and {second}<br>same category: {known}"

    return _category_map(analysis, share, hover, "share")


def _category_map(
    analysis: CategoryAnalysis,
    value: Callable[[str, str], float | None],
    hover: Callable[[str, str], str],
    title: str,
) -> dict[str, Any]:
    """Heat map of all pairs of candidates, with lines between categories."""
    names = ordered_candidates(analysis)
    shown = short_names(names)
    count = len(names)
    sizes = [len(members) for members in analysis.categories.members.values()]
    edges = [sum(sizes[:number]) - 0.5 for number in range(1, len(sizes))]
    middles = [sum(sizes[:number]) + size / 2 - 0.5 for number, size in enumerate(sizes)]
    axis = {"tickvals": list(range(count)), "ticktext": shown, "showgrid": False, "zeroline": False,
            "range": [-0.5, count - 0.5], "ticks": ""}  # fmt: skip
    x_axis = {**axis, "tickangle": -90, "title": {"text": ""}}
    y_axis = {**axis, "range": [count - 0.5, -0.5]}
    small = {"tickfont": {"size": PHONE_FONT_PX}}
    cell_px = max(CELL_PX, min(TALLEST_CELL_PX, MAP_PX // count))
    names_px = CHARACTER_PX * max(map(len, shown))
    return {
        "data": [
            {
                "type": "heatmap",
                "z": [[value(first, second) for second in names] for first in names],
                "text": [[hover(first, second) for second in names] for first in names],
                "hovertemplate": "%{text}<extra></extra>",
                "zmin": 0,
                "zmax": 1,
                "colorscale": "Cividis",
                "colorbar": {"title": {"text": title, "side": "top"}, "thickness": 12, "orientation": "h",
                             "y": 1.0, "yanchor": "bottom", "len": 0.6},
            }
        ],
        "layout": {
            "xaxis": x_axis,
            "yaxis": y_axis,
            "height": COLOUR_BAR_PX + names_px + cell_px * count,
            # The number of the category, at the right of its rows.
            "annotations": [
                {"xref": "paper", "x": 1, "xanchor": "left", "y": middle, "text": f" {number}",
                 "showarrow": False}
                for number, middle in zip(analysis.categories.members, middles, strict=True)
            ],
            "shapes": [
                shape
                for edge in edges
                for shape in (
                    {"type": "line", "x0": edge, "x1": edge, "y0": -0.5, "y1": count - 0.5, "line": LINE},
                    {"type": "line", "y0": edge, "y1": edge, "x0": -0.5, "x1": count - 0.5, "line": LINE},
                )
            ],
        },
        # On a phone the names of the rows suffice, which the columns repeat.
        "phone": {
            "xaxis": {**x_axis, "showticklabels": False},
            "yaxis": {**y_axis, **small},
            "height": COLOUR_BAR_PX + 80 + max(PHONE_CELL_PX, cell_px // 2) * count,
        },
    }  # fmt: skip


def dendrogram_figure(analysis: CategoryAnalysis) -> dict[str, Any]:
    """The tree of candidates; the colour of a leaf is its category by K-means."""
    tree = analysis.hierarchy
    shown = short_names(tree.order)
    category = dict(zip(analysis.categories.candidates, analysis.categories.labels, strict=True))
    x: list[float | None] = []
    y: list[float | None] = []
    for across, up in tree.lines:
        x += [*up, None]
        y += [*across, None]
    leaves = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": f"category {number}",
            "x": [0.0] * len(places),
            "y": places,
            "text": [tree.order[place] for place in places],
            "marker": {"size": 9, "color": COLOURS[(number - 1) % len(COLOURS)],
                       "symbol": "circle" if number <= len(COLOURS) else "diamond"},
            "hovertemplate": f"%{{text}}<br>category {number}<extra></extra>",
            "cliponaxis": False,
        }
        for number in analysis.categories.members
        if (places := [place for place, name in enumerate(tree.order) if category[name] == number])
    ]  # fmt: skip
    widest = max(distance for _, up in tree.lines for distance in up) or 1.0
    axis = {
        "ticks": "",
        "tickvals": list(range(len(shown))),
        "ticktext": shown,
        "showgrid": False,
        "zeroline": False,
        "range": [len(shown) - 0.5, -0.5],
    }
    return {
        "data": [
            {
                "type": "scatter",
                "mode": "lines",
                "x": x,
                "y": y,
                "line": {"color": COLOURS[-1], "width": 1.5},
                "hoverinfo": "skip",
                "showlegend": False,
            },
            *leaves,
        ],
        "layout": {
            "xaxis": {"title": {"text": "1 - mean overlap"}, "range": [-0.03 * widest, 1.02 * widest]},
            "yaxis": axis,
            "height": 140 + CELL_PX * len(shown),
        },
        "phone": {
            "yaxis": {**axis, "tickfont": {"size": PHONE_FONT_PX}},
            "height": 200 + PHONE_CELL_PX * len(shown),
        },
    }
