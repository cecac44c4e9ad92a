"""windtunnel score: the scores of a run again, or of predictions made elsewhere."""

from __future__ import annotations

import click
from rich.console import Console

from windtunnel.analysis.missing_scores import needed_run
from windtunnel.cli.options import AS_JSON, GROUP, INCLUDE, LABELS, print_json
from windtunnel.cli.run import finish
from windtunnel.cli.summary import print_asked, print_lines, score_lines
from windtunnel.core.errors import UserError
from windtunnel.core.metrics import headline_titles, metric_named, metric_of
from windtunnel.core.progress import Bar
from windtunnel.metrics.score import score_run
from windtunnel.metrics.scored_run import ScoredRun
from windtunnel.report.tables import run_document, scores_csv


@click.command()
@click.argument("run_folder", metavar="[RUN]", required=False)
@click.option("--metric", "metrics", multiple=True, help="Only this metric; may be repeated.")
@click.option(
    "--baseline",
    metavar="RUN",
    help="A run on the same images to divide CE, mCE, FR, T5D and their like by.",
)
@click.option(
    "--predictions", metavar="FILE", help="Parquet, npz, CSV, JSON or JSONL of predictions made elsewhere."
)
@click.option("--data", help="With --predictions: the images they are of.")
@click.option("--suite", help="With --predictions: whose conditions they are of, and what is scored.")
@click.option(
    "--clean", metavar="DATA", help="With --predictions: the clean images of a finished or natural set."
)
@click.option(
    "--outputs",
    type=click.Choice(["logits", "probabilities", "top-k"]),
    help="With --predictions: what they are, if their columns do not say.",
)
@click.option("--map", "label_map", metavar="FILE.csv", help="With --predictions: columns output,class.")
@click.option("--mask", is_flag=True, help="With --predictions: count only classes that occur in the data.")
@click.option(
    "--labels-are-outputs", is_flag=True, help="With --predictions: trust the data's class indices."
)
@LABELS
@click.option(
    "--seed", default=0, show_default=True, help="With --predictions: the seed the images were made with."
)
@click.option(
    "--partial",
    is_flag=True,
    help="With --predictions: score only images that have a prediction under every condition.",
)
@click.option("--out", metavar="FOLDER", help="With --predictions: the run folder to write.")
@GROUP
@INCLUDE
@AS_JSON
@click.option("--csv", "as_csv", is_flag=True, help="Print the scores as CSV.")
def command(
    run_folder: str | None,
    metrics: tuple[str, ...],
    baseline: str | None,
    predictions: str | None,
    data: str | None,
    suite: str | None,
    clean: str | None,
    outputs: str | None,
    label_map: str | None,
    mask: bool,
    labels_are_outputs: bool,
    labels: str | None,
    seed: int,
    partial: bool,
    out: str | None,
    group: str | None,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Print the scores of RUN again, or make a run of predictions that come from elsewhere.

    \b
    Examples:
      windtunnel score windtunnel-runs/my-run --csv
      windtunnel score --predictions logits.parquet --data ./val --suite imagenet-c
    """
    if as_json and as_csv:
        raise UserError("--json and --csv exclude each other; give one.")
    if (run_folder is None) == (predictions is None):
        raise UserError("Give a RUN folder, or --predictions FILE with --data DATA.")
    console = Console(stderr=True)
    if predictions is None:
        run = ScoredRun(str(run_folder)).scored_as(baseline, group)
        _print(run, metrics, as_json=as_json, as_csv=as_csv)
        return
    if data is None:
        raise UserError("--predictions needs --data: the images they are of.")
    from windtunnel.importing import score_predictions

    with Bar(console, "looking at the images") as bar:
        folder = score_predictions(
            predictions,
            data,
            suite,
            clean=clean,
            outputs=outputs,
            label_map=label_map,
            mask=mask,
            labels_are_outputs=labels_are_outputs,
            labels=labels,
            seed=seed,
            partial=partial,
            out=out,
            group=group,
            advance=bar.look,
        )
    run = ScoredRun(folder).scored_as(baseline)
    if remarks := run.info.remarks:
        print_lines(console, [("note", remark) for remark in remarks])
    if metrics or as_csv:
        _print(run, metrics, as_json=as_json, as_csv=as_csv)
    else:
        finish(console, run, as_json=as_json)


def _refuse_other_tests(run: ScoredRun, metrics: tuple[str, ...]) -> None:
    """Refuse metrics that are of another kind of run."""
    for metric in metrics:
        name = metric.partition(":")[0]
        known = metric_of(name)
        other = known is not None and {"ood scores", "frame sets"} & set(known.needs)
        if other and (needed := needed_run(run, name)):
            raise UserError(f"{metric} needs {needed}; {run.path} is none.")


def _print(run: ScoredRun, metrics: tuple[str, ...], *, as_json: bool, as_csv: bool) -> None:
    metrics = tuple(map(metric_named, metrics))
    _refuse_other_tests(run, metrics)
    scores = score_run(run, metrics or None)
    if as_json:
        print_json(run_document(run, scores))
    elif as_csv:
        click.echo(scores_csv(scores), nl=False)
    elif metrics:
        print_asked(Console(), run, metrics, scores)
    else:
        heads = headline_titles()
        beside = [
            (score.metric, f"{score.value:.4f}  [{score.low:.4f}, {score.high:.4f}]   {score.formula}")
            for score in scores
            if not score.condition and score.metric not in heads
        ]
        print_lines(Console(), [*score_lines(run, scores), *beside])
