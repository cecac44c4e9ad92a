"""Writes the generated reference pages before Sphinx reads its sources.

Suites, units, metrics, presets, model kinds, wrappers, training remedies and dataset layouts come from
`windtunnel list KIND --json`, the API page from `windtunnel.__all__`, and the package graph from the imports
of the package itself.
"""

from __future__ import annotations

import inspect
import json
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.testing import CliRunner
from package_graph import graph_page, package_graph_svg

import windtunnel
from windtunnel import cli

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# Modules users import besides `windtunnel` itself.
MODULES = {
    "windtunnel.transforms": "Corruptions as steps of an image pipeline",
    "windtunnel.train": "Training (extra `torch`)",
    "windtunnel.compat.imagecorruptions": "Drop-in replacement for imagecorruptions",
    "windtunnel.compat.imagenet_s": "Drop-in replacement for the generator of ImageNet-S",
}
SUITE_KEYS = (
    "extends",
    "canvas",
    "edition",
    "codec",
    "natural",
    "units",
    "levels",
    "unit_levels",
    "families",
    "metrics",
    "subset",
    "mask",
)
DIRECTIONS = {"less": "lower is better", "more": "higher is better"}


def listed(kind: str) -> list[dict[str, Any]]:
    """The rows of `windtunnel list KIND --json`."""
    done = CliRunner().invoke(cli.cli, ["list", kind, "--json"], catch_exceptions=False)
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


def table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines)


def bullets(facts: list[tuple[str, str]]) -> str:
    """A Markdown list of facts; tables would be too wide for a phone."""
    return "\n".join(f"- {name}: {value}" for name, value in facts)


def suites_page() -> str:
    """Every suite with the facts of its TOML file."""
    parts = [
        "# Suites\n\nA suite is a versioned list of conditions and of the metrics that score them. "
        "Pass its name or a TOML file with `--suite`. "
        "[Add a suite](../../howto/plugins.md#a-suite) describes the keys."
    ]
    for row in listed("suites"):
        name = row["name"].partition("@")[0]
        facts = tomllib.loads((files("windtunnel.suites") / f"{name}.toml").read_text(encoding="utf-8"))
        known = [(f"`{key}`", f"`{json.dumps(facts[key])}`") for key in SUITE_KEYS if facts.get(key)]
        cited = ("cited as", f"`{row['name']}`")
        parts.append(f"## {name}\n\n{row['about']}.\n\n{bullets([cited, *known])}")
    return "\n\n".join(parts) + "\n"


def units_page(kind: str, title: str, lead: str) -> str:
    """Every corruption or sequence with its strip of the gallery."""
    parts = [
        f"# {title}\n\n{lead} The [gallery](../../gallery.md) also lists the parameters of each severity."
    ]
    for row in listed(kind):
        strip = row["name"].replace("/", "-")
        frames = ", ".join(f"{count} at {edition} px" for edition, count in row.get("frames", {}).items())
        facts = [
            ("family", row["family"]),
            *([("type", row["type"])] if "type" in row else []),
            *([("frames", frames)] if frames else []),
            ("random", "yes" if row["random"] else "no"),
            *([("drawn for every image", row["drawn"])] if row.get("drawn") else []),
            *([("note", row["note"])] if row.get("note") else []),
            ("where it occurs", row["met_by"]),
            ("source", row["source"]),
        ]
        parts.append(
            f"## {row['name']}\n\n{row['imitates']}\n\n"
            f"![{row['name']}](../../gallery/{strip}.jpg)\n\n{bullets(facts)}"
        )
    return "\n\n".join(parts) + "\n"


def metrics_page() -> str:
    """Every metric with unit and direction."""
    parts = [
        "# Metrics\n\nPass a name with `--metric` to `windtunnel score`, or use it in a gate rule. "
        "[Statistics](../../explanation/statistics.md) describes the confidence intervals."
    ]
    for row in listed("metrics"):
        facts = filter(None, (row["written"], row["unit"], DIRECTIONS.get(row["better"], "")))
        parts.append(f"## {row['name']}\n\n*{', '.join(facts)}*\n\n{row['about']}")
    return "\n\n".join(parts) + "\n"


def presets_page() -> str:
    """Every preprocessing preset."""
    rows = [(f"`{row['name']}`", row["about"], row["source"]) for row in listed("presets")]
    return (
        "# Preprocessing presets\n\nPass a name with `--preprocess`, or set `preset` in the "
        "[model file](../model-file.md).\n\n" + table(("name", "models", "source"), rows) + "\n"
    )


def forms_page(kind: str, title: str, lead: str) -> str:
    """Every model kind or dataset layout with the form that users give."""
    parts = [f"# {title}\n\n{lead}"]
    for row in listed(kind):
        facts = [("form", f"`{row['form']}`"), *([("needs", row["extra"])] if row.get("extra") else [])]
        parts.append(f"## {row['name']}\n\n{_sentence(row['about'])}\n\n{bullets(facts)}")
    return "\n\n".join(parts) + "\n"


def wrappers_page() -> str:
    """Every wrapper with its parameters."""
    lead = (
        "# Wrappers\n\nChanges of images or scores at test time, written before a model: "
        "`clahe(clip=3)|model.onnx`. [Wrap a model](../../howto/wrappers.md) describes their use."
    )
    return "\n\n".join([lead, *called("wrappers", "##")]) + "\n"


def destinations_page() -> str:
    """Every destination of results with its parameters."""
    lead = (
        "# Destinations\n\nWhere `windtunnel log` sends results: `mlflow(experiment=nets)`. "
        "[Log results](../../howto/log-results.md) describes their use."
    )
    return "\n\n".join([lead, *called("destinations", "##")]) + "\n"


def remedies_page() -> str:
    """Every image step, batch step and loss with its parameters."""
    parts = [
        "# Training remedies\n\nWhat `windtunnel.train.Remedies` accepts. "
        "[Train a more robust model](../../howto/training-remedies.md) describes their use."
    ]
    titles = {"image-steps": "Image steps", "batch-steps": "Batch steps", "losses": "Losses"}
    for kind, title in titles.items():
        parts += [f"## {title}", *called(kind, "###")]
    return "\n\n".join(parts) + "\n"


def called(kind: str, heading: str) -> list[str]:
    """A part of a page for each plug-in with parameters."""
    parts = []
    for row in listed(kind):
        facts = [
            ("written", f"`{row['written']}`"),
            *((f"`{name}`", about) for name, about in row["parameters"].items()),
            ("source", row["source"]),
        ]
        parts.append(f"{heading} {row['name']}\n\n{row['about']}\n\n{bullets(facts)}")
    return parts


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:].rstrip('.')}."


def api_page() -> str:
    """Autodoc directives for every public name."""
    parts = [
        "# Python API\n\nEverything in `windtunnel` is imported on first use, so `import windtunnel` is fast."
    ]
    for name in windtunnel.__all__:
        thing = getattr(windtunnel, name)
        directive = "autoclass" if inspect.isclass(thing) else "autofunction"
        members = "   :members:\n" if directive == "autoclass" else ""
        parts.append(f"```{{eval-rst}}\n.. {directive}:: windtunnel.{name}\n{members}```")
    for module, title in MODULES.items():
        parts.append(f"## {title}\n\n```{{eval-rst}}\n.. automodule:: {module}\n   :members:\n```")
    return "\n\n".join(parts) + "\n"


def write_pages(app: Sphinx) -> None:
    """Write every generated page; files that did not change keep their time, so rebuilds stay quick."""
    out = Path(app.srcdir) / "reference" / "generated"
    out.mkdir(exist_ok=True)
    pages = {
        "suites.md": suites_page(),
        "corruptions.md": units_page(
            "corruptions",
            "Corruptions",
            "Each strip shows the clean image, then severities 1 to 5, or five draws.",
        ),
        "sequences.md": units_page(
            "sequences",
            "Perturbation sequences",
            "Each strip shows eight frames, including the first and the last.",
        ),
        "metrics.md": metrics_page(),
        "presets.md": presets_page(),
        "model-kinds.md": forms_page(
            "model-kinds",
            "Model kinds",
            "What `MODEL` may be, in the order in which the kinds are tried. The "
            "[model file](../model-file.md) describes preprocessing.",
        ),
        "wrappers.md": wrappers_page(),
        "training-remedies.md": remedies_page(),
        "destinations.md": destinations_page(),
        "layouts.md": forms_page(
            "layouts",
            "Dataset layouts",
            "What `DATA` may be, in the order in which the layouts are tried. "
            "[Dataset formats](../datasets.md) describes labels and classes.",
        ),
        "api.md": api_page(),
        "package-graph.svg": package_graph_svg(),
        "package-graph.md": graph_page(),
    }
    for name, text in pages.items():
        path = out / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in out.iterdir():
        if path.name not in pages:
            path.unlink()


def escape_help(_app: Sphinx, _context: click.Context, lines: list[str]) -> None:
    """Keep stars of help texts (`fog:*`) from being read as emphasis."""
    lines[:] = [line.replace("*", "\\*") for line in lines]


def name_commands(group: click.Group) -> None:
    """Give every command the name it is called by; sphinx-click prints the command's own."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None:
            command.name = name
            if isinstance(command, click.Group):
                name_commands(command)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the generator with Sphinx."""
    app.setup_extension("sphinx_click")
    name_commands(cli.cli)
    app.connect("builder-inited", write_pages)
    for part in ("description", "options", "arguments", "epilog"):
        app.connect(f"sphinx-click-process-{part}", escape_help)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
