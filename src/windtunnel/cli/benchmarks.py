"""windtunnel benchmarks: generate and select benchmarks from an overlap study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console

from windtunnel import api
from windtunnel.api.output_files import check_file, check_suite_file
from windtunnel.cli.categories import REPLICATES, STUDY, category_options
from windtunnel.cli.options import AS_JSON, print_json
from windtunnel.cli.printing import print_lines
from windtunnel.core.progress_bar import Bar
from windtunnel.core.wording import counted

CATEGORIES = click.option(
    "--categories",
    required=True,
    type=click.IntRange(min=1),
    help="Number of categories of a benchmark.",
)
EACH = click.option(
    "--each",
    required=True,
    type=click.IntRange(min=1),
    help="Number of corruptions of each category.",
)
COUNT = click.option(
    "--count",
    type=click.IntRange(min=1),
    show_default=f"{api.BENCHMARK_COUNT:,}, or all if fewer exist",
    help="Number of generated benchmarks.",
)


@click.group()
def command() -> None:
    """Generate benchmarks from an overlap study, or select one."""


@command.command("generate", short_help="Draw benchmarks with equally many corruptions of each category.")
@STUDY
@CATEGORIES
@EACH
@COUNT
@click.option(
    "--substitutions",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Also write the benchmarks after 1 to this many substitutions, which unbalance the categories.",
)
@click.option(
    "--draw",
    type=click.Choice(api.DRAWS),
    default=api.DRAWS[0],
    show_default=True,
    help="Draw sets of categories with equal probability, as in the paper, or all possible benchmarks.",
)
@category_options
@click.option("--out", metavar="FILE.csv", help="The file to write; default: standard output.")
@AS_JSON
def generate_command(study: str, out: str | None, as_json: bool, **options: Any) -> None:
    """Draw different benchmarks from the categories of STUDY: Algorithm 1 of Laugros et al. (2021).

    The CSV file has one line per corruption of each benchmark. After substitutions, a benchmark has its own
    name (7-2 for benchmark 7 after two), and the standard deviation of its corruptions per category.

    \b
    Examples:
      windtunnel benchmarks generate studies/cifar --categories 6 --each 2 --out benchmarks.csv
      windtunnel benchmarks generate studies/cifar --categories 6 --each 2 --substitutions 5 --json
    """
    if out is not None:
        check_file(out, ".csv")
    generated = api.generate_benchmarks(study, **options)
    if as_json:
        print_json(generated.to_json())
    written = _written(out)
    if out:
        Path(out).write_text(generated.to_csv(), encoding="utf-8")
    elif not as_json:
        click.echo(generated.to_csv(), nl=False)
    groups = ", ".join(f"{std:g}: {count:,}" for std, count in generated.by_std.items())
    lines = [
        ("benchmarks", f"{len(generated.benchmarks):,}"),
        ("drawn", f"{generated.drawn:,} of {generated.possible:,} possible without substitutions"),
        ("by std", f"{groups}   standard deviation of corruptions per category"),
    ]
    if options["count"] is None and generated.drawn < api.BENCHMARK_COUNT:
        lines.append(
            ("note", f"fewer than {api.BENCHMARK_COUNT:,} benchmarks exist; all of them are generated")
        )
    if generated.ended:
        ended = counted(generated.ended, "benchmark ends", "benchmarks end")
        lines.append(
            ("note", f"{ended} before {options['substitutions']} substitutions; no other is allowed")
        )
    print_lines(Console(stderr=True), [*lines, *written])


@command.command("select", short_help="Write a suite whose corruptions of one category overlap least.")
@STUDY
@CATEGORIES
@EACH
@click.option(
    "--rule",
    type=click.Choice(api.RULES),
    default=api.RULES[0],
    show_default=True,
    help="The least overlap of all possible benchmarks, or of --count generated ones, as in the paper.",
)
@COUNT
@category_options
@REPLICATES
@click.option("--out", metavar="SUITE.toml", help="The suite to write; default: standard output.")
@AS_JSON
def select_command(study: str, out: str | None, as_json: bool, **options: Any) -> None:
    """Select the benchmark of STUDY whose corruptions of one category overlap least, as a suite for `run`.

    \b
    Examples:
      windtunnel benchmarks select studies/cifar --categories 6 --each 3 --out my-suite.toml
      windtunnel run model.onnx ./val --suite my-suite.toml
    """
    if out is not None:
        check_suite_file(out)
    with Bar(Console(stderr=True), "selecting from replicates") as bar:
        selected = api.select_benchmark(study, progress=bar, **options)
    if as_json:
        print_json(selected.to_json())
    written = _written(out)
    if out:
        Path(out).write_text(selected.suite_text(Path(out).stem), encoding="utf-8")
    elif not as_json:
        click.echo(selected.suite_text("selected"), nl=False)
    print_lines(Console(stderr=True), [*_selection_lines(selected), *written])


def _written(out: str | None) -> list[tuple[str, str]]:
    """The line that names the file, before it is written: whether it replaces another."""
    if out is None:
        return []
    return [("replaced" if Path(out).exists() else "written", out)]


def _selection_lines(selected: api.SelectedBenchmark) -> list[tuple[str, str]]:
    lines = [
        ("overlap", "none: no two corruptions are of one category")
        if selected.overlap is None
        else ("overlap", f"{selected.overlap:.3f}   mean over pairs of one category, lower is better"),
        ("rule", f"{selected.rule}: {_rule_text(selected)}"),
    ]
    for category, names in selected.corruptions.items():
        shown = [
            f"{name} ({100 * selected.shares[name]:.0f} %)" if name in selected.shares else name
            for name in names
        ]
        lines.append((f"category {category}", ", ".join(shown)))
    if selected.shares:
        ties = "; equal ones share a replicate" if selected.overlap is None else ""
        meaning = "bootstrap replicates in which the exact rule selects the corruption"
        lines.append(("per cent", meaning + ties))
    return lines


def _rule_text(selected: api.SelectedBenchmark) -> str:
    """What was compared, in words."""
    each = len(next(iter(selected.corruptions.values())))
    compared = f"{selected.compared:,}"
    if selected.rule == "generated":
        return f"the least overlap of {compared} of {selected.possible:,} possible benchmarks"
    if each == 1:
        return f"of {compared} corruptions, the largest mean overlap with the others of each category"
    return f"the least overlap in each category, of {compared} combinations of {each} in all"
