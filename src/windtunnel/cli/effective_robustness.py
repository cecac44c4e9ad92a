"""windtunnel effective-robustness: models against the usual relation of clean and shifted accuracy."""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, print_json, record_options
from windtunnel.cli.printing import print_lines, print_table
from windtunnel.core.errors import UserError
from windtunnel.core.wording import counted
from windtunnel.options import EffectiveRobustnessOptions
from windtunnel.report.effective_robustness import (
    MODEL_HEADER,
    effective_csv,
    lines_of,
    model_rows,
    shown_models,
)


@click.command()
@click.argument("tables", metavar="TABLE...", nargs=-1, required=True)
@record_options(EffectiveRobustnessOptions)
@AS_JSON
@click.option("--csv", "as_csv", is_flag=True, help="Print every model as CSV.")
def command(tables: tuple[str, ...], as_json: bool, as_csv: bool, **options: Any) -> None:
    """Compare models with the usual relation of clean and shifted accuracy.

    Effective robustness is a model's shifted accuracy minus the fit of reference models at its clean
    accuracy. TABLE is as in `windtunnel predictivity`.

    \b
    Examples:
      windtunnel effective-robustness timm-results --shifted imagenet-a
      windtunnel effective-robustness accuracies.csv --clean val --shifted night --axis probit
      windtunnel effective-robustness videos.csv --unit percent --clean pm-0 --shifted pm-10
    """
    if as_json and as_csv:
        raise UserError("--json and --csv exclude each other; give one.")
    results = api.effective_robustness(*tables, options=EffectiveRobustnessOptions(**options))
    if as_json:
        print_json([result.to_json() for result in results])
    elif as_csv:
        click.echo(effective_csv(results), nl=False)
    else:
        console = Console()
        for result in results:
            print_lines(console, lines_of(result))
            shown = shown_models(result)
            print_table(console, MODEL_HEADER, model_rows(shown))
            if len(shown) < len(result.models):
                between = [model for model in result.models if model not in shown]
                filters = sum(model.is_filter for model in between)
                included = f", {counted(filters, 'filter network')} included" if filters else ""
                console.print(f"and {len(between):,} models between them{included} (--csv)")
    if options["out"]:
        click.echo(options["out"], err=as_json or as_csv)
