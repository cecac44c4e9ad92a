"""The import graph of windtunnel's packages as an SVG, one row per layer of the import contract."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[2]
PACKAGE = "windtunnel"
BOX_W, BOX_H, GAP_X, GAP_Y = 112, 30, 30, 40
WIDTH, MARGIN = 1000, 24
STYLE = """\
<style>
text { font: 13px system-ui, sans-serif; text-anchor: middle; dominant-baseline: central; fill: #1b1b1b }
rect { fill: #eef3fb; stroke: #4a6fa5; rx: 4px }
path { fill: none; stroke: #8a9bb5; stroke-width: 1.1 }
path.up { stroke: #c62828; stroke-width: 2 }
.ground { fill: #ffffff; stroke: none }
</style>"""

Edges = dict[str, set[str]]


def layers() -> list[list[str]]:
    """The layers of the import contract in pyproject.toml, highest first."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    contract = next(row for row in contracts if row["type"] == "layers")
    names = [[name.strip(" ()") for name in row.split(":")] for row in contract["layers"]]
    return [[name.removeprefix(f"{PACKAGE}.") for name in row] for row in names]


@cache
def imports() -> Edges:
    """Which package imports which, imports inside functions included."""
    graph = grimp.build_graph(PACKAGE, cache_dir=None)
    edges: Edges = {}
    for module in graph.modules:
        importer = _top(module)
        for imported in graph.find_modules_directly_imported_by(module):
            edges.setdefault(importer, set()).add(_top(imported))
    for importer, targets in edges.items():
        targets -= {importer, ""}
    return {importer: targets for importer, targets in edges.items() if importer and targets}


def _top(module: str) -> str:
    """`metrics` of `windtunnel.metrics.error`; empty for the package itself."""
    return module.split(".")[1] if "." in module else ""


def reachable(edges: Edges, start: str) -> set[str]:
    """Every package that `start` imports directly or through others."""
    seen: set[str] = set()
    pending = list(edges.get(start, ()))
    while pending:
        name = pending.pop()
        if name not in seen:
            seen.add(name)
            pending.extend(edges.get(name, ()))
    return seen


def cyclic_packages() -> list[str]:
    """Packages that import themselves through others."""
    edges = imports()
    return sorted(name for name in edges if name in reachable(edges, name))


def downward(edges: Edges) -> Edges:
    """The edges that point to a lower layer."""
    order = {name: number for number, row in enumerate(layers()) for name in row}
    return {
        name: {target for target in targets if order.get(target, 0) > order.get(name, 0)}
        for name, targets in edges.items()
    }


def reduced(edges: Edges) -> Edges:
    """The edges that no longer path implies (transitive reduction of an acyclic graph)."""
    return {
        name: {
            target
            for target in targets
            if not any(target in reachable(edges, other) for other in targets - {target})
        }
        for name, targets in edges.items()
    }


def rows_by_depth(edges: Edges) -> list[list[str]]:
    """Packages in rows: each one below everything that imports it, in the order of the layers."""
    depth: dict[str, int] = {}
    for name in (name for layer in layers() for name in layer):
        importers = [depth[other] for other, targets in edges.items() if name in targets and other in depth]
        depth[name] = 1 + max(importers, default=-1)
    return [[name for name in depth if depth[name] == row] for row in range(max(depth.values()) + 1)]


def _places(rows: list[list[str]], edges: Edges) -> dict[str, tuple[float, float]]:
    """The centre of every box; packages whose arrow skips rows are at the side, where it crosses no box."""
    places = {}
    row_of = {name: number for number, row in enumerate(rows) for name in row}
    # Lanes at both sides, the outer ones first, and the row down to which each is in use.
    lanes = {side: -1 for depth in range(3) for side in _lane_pair(depth)}
    for number, row in enumerate(rows):
        y = MARGIN + BOX_H / 2 + number * (BOX_H + GAP_Y)
        beside = [
            name for name in row if edges.get(name) and min(map(row_of.__getitem__, edges[name])) > number + 1
        ]
        for name in beside:
            lane = next(x for x, until in lanes.items() if until <= number)
            lanes[lane] = max(map(row_of.__getitem__, edges[name]))
            places[name] = (lane, y)
        middle = [name for name in row if name not in beside]
        left = WIDTH / 2 - (len(middle) - 1) * (BOX_W + GAP_X) / 2
        for column, name in enumerate(middle):
            places[name] = (left + column * (BOX_W + GAP_X), y)
    return places


def _lane_pair(depth: int) -> tuple[float, float]:
    """The right and the left lane, so many lanes from the edge of the drawing."""
    inset = MARGIN + BOX_W / 2 + depth * (BOX_W + 12)
    return WIDTH - inset, inset


def package_graph_svg() -> str:
    """Boxes by depth; arrows from an importing package to the imported one."""
    edges = imports()
    down = reduced(downward(edges))
    rows = rows_by_depth(down)
    places = _places(rows, down)
    height = 2 * MARGIN + len(rows) * (BOX_H + GAP_Y) - GAP_Y
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}">',
        STYLE,
        '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" '
        'markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" style="fill:#8a9bb5;stroke:none"/></marker></defs>',
        f'<rect class="ground" width="{WIDTH}" height="{height}"/>',
    ]
    for name in places:
        upward = edges.get(name, set()) - downward(edges).get(name, set())
        for target in sorted(upward & set(places)):
            parts.append(_edge(places[name], places[target], "up"))
        for target in sorted(down.get(name, ())):
            parts.append(_edge(places[name], places[target], "down"))
    for name, (x, y) in places.items():
        parts.append(
            f'<rect x="{x - BOX_W / 2}" y="{y - BOX_H / 2}" width="{BOX_W}" height="{BOX_H}"/>'
            f'<text x="{x}" y="{y}">{name}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _edge(start: tuple[float, float], end: tuple[float, float], kind: str) -> str:
    """A curve that leaves and arrives vertically."""
    (x1, y1), (x2, y2) = start, end
    y1, y2 = (y1 + BOX_H / 2, y2 - BOX_H / 2) if y2 > y1 else (y1 - BOX_H / 2, y2 + BOX_H / 2)
    step = BOX_H + GAP_Y
    if y2 - y1 > step:
        # Down its own column as far as the row above its target.
        path = f"M{x1} {y1}V{y2 - step:.0f}C{x1} {y2 - 20:.0f} {x2} {y2 - step + 20:.0f} {x2} {y2}"
    else:
        bend = (y2 - y1) / 2
        path = f"M{x1} {y1}C{x1} {y1 + bend:.0f} {x2} {y2 - bend:.0f} {x2} {y2}"
    return f'<path class="{kind}" d="{path}" marker-end="url(#head)"/>'


def graph_page() -> str:
    """The drawing and every import it leaves out."""
    edges = imports()
    cyclic = cyclic_packages()
    verdict = (
        f"These packages import each other in a cycle (red arrows point up): {', '.join(cyclic)}."
        if cyclic
        else "The graph has no cycle."
    )
    rows = [
        f"| `{name}` | {', '.join(f'`{target}`' for target in sorted(edges.get(name, ()))) or 'none'} |"
        for layer in layers()
        for name in layer
    ]
    return (
        "# Package graph\n\n"
        "Drawn from the imports of the source code when this page was built, "
        "imports inside functions included. "
        "An arrow points from the importing package to the imported one. An arrow is left out if a path of "
        f"other arrows implies it; the table below lists all imports. {verdict}\n\n"
        "![Packages by layer, with arrows from importing to imported package](package-graph.svg)\n\n"
        "| package | imports |\n|---|---|\n" + "\n".join(rows) + "\n"
    )
