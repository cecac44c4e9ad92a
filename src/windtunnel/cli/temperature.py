"""windtunnel temperature: fit the temperature of a run's model."""

from __future__ import annotations

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, print_json
from windtunnel.cli.printing import print_lines
from windtunnel.core.locations import location_of
from windtunnel.runs import load_run


@click.command()
@click.argument("run_folder", metavar="RUN")
@click.option(
    "--out", metavar="FILE.json", default="temperature.json", show_default=True, help="The file to write."
)
@AS_JSON
def command(run_folder: str, out: str, as_json: bool) -> None:
    """Fit the temperature of RUN's model to the clean images of RUN.

    The temperature minimises the negative log-likelihood. Put the file around the model; runs over the
    images that it was fitted on are refused.

    \b
    Example:
      windtunnel run model.onnx other-images --suite smoke --out fitting
      windtunnel temperature fitting --out t.json
      windtunnel run 'temperature(file=t.json)|model.onnx' images
    """
    fit = api.fit_temperature(load_run(run_folder))
    path = location_of(out)
    api.write_temperature(fit, path)
    if as_json:
        print_json(fit.to_json())
        return
    change = f"{fit.nll_before:.4f} at temperature 1, {fit.nll_after:.4f} after"
    print_lines(
        Console(),
        [
            ("model", fit.model),
            ("temperature", f"{fit.temperature:.4f}   fitted on {len(fit.images):,} {fit.condition} images"),
            ("nll", f"{change}   nats, on the same images"),
            ("written", str(path)),
            ("use", f"'temperature(file={out})|MODEL'"),
        ],
    )
