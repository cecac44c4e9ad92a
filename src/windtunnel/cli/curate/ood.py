"""windtunnel curate ood: selection of out-of-distribution candidates."""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console

from windtunnel import api
from windtunnel.cli.options import AS_JSON, print_json, record_options, with_workers
from windtunnel.cli.printing import print_lines
from windtunnel.core.progress_bar import Bar
from windtunnel.core.wording import counted, listed
from windtunnel.options import OodOptions


@click.command("ood", short_help="Shortlist confident predictions of unknown classes, as for ImageNet-O.")
@click.argument("project")
@click.option(
    "--filter",
    "models",
    multiple=True,
    required=True,
    metavar="MODEL",
    help="A filter model, in the forms that windtunnel run takes; may be repeated.",
)
@record_options(OodOptions)
@AS_JSON
def command(project: str, models: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Shortlist candidates of PROJECT whose class no filter model has, but that all are confident about.

    With a hierarchy, candidates of classes above or below an in-distribution class are dropped as well:
    such classes are not out of distribution.

    \b
    Example:
      windtunnel curate ood my-project --filter resnet50.onnx --hierarchy wordnet.is_a.txt
    """
    with Bar(Console(stderr=True), "predicting crops") as bar:
        step = api.select_ood(project, models, OodOptions(**with_workers(options)), progress=bar)
    if as_json:
        print_json({"recipe": step.recipe, "summary": step.summary})
    else:
        print_lines(Console(), _lines(project, step.summary))


def _lines(project: str, summary: dict[str, Any]) -> list[tuple[str, str]]:
    models = [f"{model['name']} ({model['fingerprint'][:12]})" for model in summary["filter_models"]]
    lines = [
        ("filter", listed(models)),
        ("candidates", f"{summary['stored']:,}"),
        ("other classes", f"{summary['outside_label_space']:,}   not a class of the filter models"),
    ]
    if summary["hierarchy_known"]:
        lines.append(
            ("unrelated", f"{summary['unrelated']:,}   neither above nor below one of their classes")
        )
    else:
        lines.append(("note", "no hierarchy is given, so broader and narrower classes are not recognised"))
    lines.append(("shortlist", f"{summary['shortlist']:,}   every model is confident"))
    if pairs := summary["near_duplicates"]:
        lines.append(("near-duplicates", f"{counted(len(pairs), 'pair')} in the shortlist"))
    return [*lines, ("audit", f"{project}/audit/ood.parquet")]
