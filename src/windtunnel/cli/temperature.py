"""windtunnel temperature: fit the temperature of a run's model."""

from __future__ import annotations

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, print_json
from windtunnel.cli.printing import print_lines
from windtunnel.core.progress_bar import Bar


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
    with Bar(Console(stderr=True), "decoding images") as bar:
        fit = api.fit_temperature(run_folder, progress=bar)
    api.write_temperature(fit, out)
    if as_json:
        print_json(fit.to_json())
        return
    fitted_on = f"95 % interval, fitted on {len(fit.images):,} {fit.condition} images"
    change = f"{fit.nll_before:.4f} at temperature 1, {fit.nll_after:.4f} after"
    print_lines(
        Console(),
        [
            ("model", fit.model),
            ("temperature", f"{fit.temperature:.4f} [{fit.low:.4f}, {fit.high:.4f}]   {fitted_on}"),
            ("nll", f"{change}   nats, on the same images"),
            ("written", out),
            *(("warning", warning) for warning in fit.warnings),
            ("use", f"'temperature(file={out})|MODEL'"),
        ],
    )
