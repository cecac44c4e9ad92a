"""The verbs of the command line, in Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

from windtunnel.analysis import comparison
from windtunnel.analysis import gate as gates
from windtunnel.core.errors import UserError
from windtunnel.data import Dataset, open_dataset
from windtunnel.data.precomputed import FinishedDataset
from windtunnel.data.survey import first_size
from windtunnel.engine.local_executor import execute
from windtunnel.engine.plan import Plan, make_plan
from windtunnel.importing import imported_run
from windtunnel.make.executor import make
from windtunnel.make.plan import plan_make
from windtunnel.metrics import slices as slicing
from windtunnel.models import ModelSource, load_model
from windtunnel.runs import Run, scored_runs
from windtunnel.suites.default_suite import held_difficulty, open_for_suite
from windtunnel.suites.determinism import check_deterministic
from windtunnel.suites.suite import Suite
from windtunnel.suites.units import include_units

P = ParamSpec("P")


def plan(
    model: Any,
    data: str | Path | Dataset,
    suite: str | Path | Suite | None = None,
    *,
    only: Sequence[str] = (),
    clean: str | Path | Dataset | None = None,
    preprocess: str | Path | None = None,
    seed: int = 0,
    subset: int | None = None,
    mask: bool = False,
    keep: str = "auto",
    chunk: int | None = None,
    labels_are_outputs: bool = False,
    labels: str | None = None,
    label_map: str | Path | None = None,
    edition: int | None = None,
    difficulty: int | None = None,
    codec: str | None = None,
    settings: Sequence[str] = (),
    group: str | None = None,
    include: Sequence[str | Path] = (),
    advance: Callable[[int, int], None] = lambda _done, _total: None,
) -> Plan:
    """Check a run's inputs and say what work it is, without doing it.

    The arguments are those of `run`; `advance` is called with (images looked at, of how many).
    """
    include_units(map(Path, include))
    dataset, chosen = open_for_suite(data, suite, clean)
    if codec is not None and isinstance(dataset, FinishedDataset):
        raise UserError(f"--codec stores images anew; those of {dataset.location} are stored already.")
    if chosen.natural and (only or settings or any(one is not None for one in (edition, difficulty, codec))):
        raise UserError(
            f"Suite {chosen.name} scores images as they are; --only, --edition, --difficulty, --codec and "
            "--set belong to suites that make them."
        )
    if only:
        chosen = chosen.only([only] if isinstance(only, str) else only)
    if edition is not None:
        chosen = chosen.at_edition(edition)
    if difficulty is None and suite is None:
        difficulty = held_difficulty(dataset)
    if difficulty is not None:
        chosen = chosen.at_difficulty(difficulty)
    if codec is not None:
        chosen = chosen.stored_as(codec)
    made = make_plan(
        load_model(model, preprocess, data_size=first_size(dataset)),
        dataset,
        chosen,
        seed=seed,
        subset=subset,
        mask=mask,
        keep=keep,
        chunk=chunk,
        labels_are_outputs=labels_are_outputs,
        labels=labels,
        label_map_file=None if label_map is None else Path(label_map),
        settings=settings,
        group=group or "",
        advance=advance,
    )
    if not isinstance(dataset, FinishedDataset):
        check_deterministic(made.conditions)
    return made


def run(
    model: Any,
    data: str | Path | Dataset,
    suite: str | Path | Suite | None = None,
    *,
    out: str | Path | None = None,
    only: Sequence[str] = (),
    clean: str | Path | Dataset | None = None,
    preprocess: str | Path | None = None,
    seed: int = 0,
    subset: int | None = None,
    mask: bool = False,
    keep: str = "auto",
    chunk: int | None = None,
    labels_are_outputs: bool = False,
    labels: str | None = None,
    label_map: str | Path | None = None,
    edition: int | None = None,
    difficulty: int | None = None,
    codec: str | None = None,
    settings: Sequence[str] = (),
    group: str | None = None,
    include: Sequence[str | Path] = (),
    workers: int = 1,
    strict: bool = False,
    progress: bool | None = None,
    advance: Callable[[int, int], None] = lambda _done, _failed: None,
) -> Run:
    """Run a suite: one model on one data set under many conditions; continue where it stopped before.

    Args:
        model: `.onnx` file, `module:factory`, `file.py:factory`, a torch module, a callable, or `demo`.
        data: folder, table, archive or array file, a Dataset, or `demo`.
        suite: a suite's name or TOML file; None for imagenet-c-quick, or what a finished or natural set is.
        out: the run folder; by default `windtunnel-runs/<model>-<data>-<suite>-<recipe>`.
        only: units of the suite to keep (`fog`, `fog:3`).
        clean: the clean images a finished set was made from, or a natural set is compared with.
        preprocess: preset or TOML file that says how the model wants its images.
        seed: of every random draw.
        subset: this many images, each class in proportion; 0 for all, None as the suite says.
        mask: count only the outputs of classes that occur in the data.
        keep: `auto` keeps full outputs for clean and native, `logits` for all, `summary` for none.
        chunk: images per shard; by default about 2,048 predictions.
        labels_are_outputs: trust the data's class indices although the model has more outputs.
        labels: what the data's class indices are: `imagenet-1k`, or `indices` of no known classes. By default
            they are ImageNet-1k's if the model declares its classes, or if it has 1,000 outputs and exactly
            0 to 999 occur.
        label_map: CSV file with the columns output,class: which of the model's outputs stand for which class
            of the data; the highest score of a class's outputs is the class's.
        edition: 32, 64, 224 or 299, if not as the suite says.
        difficulty: 1, 2 or 3, of suites of sequences: stronger noise, and frames further apart.
        codec: how images are stored before the model sees them (`none`, `png`, `jpeg:85`; sequences also
            `h264`), if not as the suite says.
        settings: texts for units, such as `frost.textures=DIR`.
        group: a column of the data's table; images with the same value (of one patient, one video) stay
            together in every interval.
        include: Python files with your own corruptions.
        workers: processes; more than one needs a model and data that can be loaded again.
        strict: stop at the first image that cannot be scored.
        progress: whether to show the expected time and a progress bar (plain lines on standard error where
            there is no terminal); None shows them in notebooks only.
        advance: called with (predictions done, images failed) as work goes on.

    Returns:
        The finished run.

    Raises:
        UserError: something given does not fit; nothing was predicted.
    """
    made = plan(
        model,
        data,
        suite,
        only=only,
        clean=clean,
        preprocess=preprocess,
        seed=seed,
        subset=subset,
        mask=mask,
        keep=keep,
        chunk=chunk,
        labels_are_outputs=labels_are_outputs,
        labels=labels,
        label_map=label_map,
        edition=edition,
        difficulty=difficulty,
        codec=codec,
        settings=settings,
        group=group,
        include=include,
    )
    from windtunnel.core.progress import shown

    with shown(made.predictions, progress) as (advance_bar, expect):

        def advance_both(done: int, failed: int) -> None:
            advance_bar(done, failed)
            advance(done, failed)

        finished = execute(
            made,
            Path(out) if out else made.default_folder(),
            workers=workers,
            source=model_source(model, preprocess, made),
            includes=tuple(map(Path, include)),
            strict=strict,
            advance=advance_both,
            expect=expect,
        )
    return Run(finished)


def compare(*runs: Run | str | Path) -> comparison.Comparison:
    """Compare finished runs with the first of them, image by image where they share images and seeds."""
    return comparison.compare(*scored_runs(runs))


def gate(
    run: Run | str | Path,
    against: Run | str | Path,
    rules: Sequence[str] = (),
    *,
    unsure: gates.Unsure = "pass",
) -> gates.Gate:
    """Check whether a run is worse than a stored one by more than the rules allow.

    Args:
        run: the new run.
        against: the run it must not be worse than, on the same images with the same seed.
        rules: such as `mce <= +1.0`; default rules by the kind of run.
        unsure: whether undecided rules `pass` or `fail`.
    """
    new, base = scored_runs([run, against])
    return gates.gate(new, base, rules, unsure=unsure)


def slices(
    run: Run | str | Path,
    by: str,
    metric: str = "top1_error",
    condition: str | None = None,
    *,
    minimum: int = slicing.MINIMUM,
) -> list[slicing.Slice]:
    """A score of every slice with at least `minimum` images, the worst (shrunk) first.

    Args:
        run: a finished run.
        by: `class`, `size` (short side in pixels), or a column of the data's table.
        metric: a metric that is a mean over images.
        condition: as `fog:3`; by default clean, or all corruptions for metrics over several conditions.
        minimum: images a slice needs.
    """
    (scored,) = scored_runs([run])
    return slicing.slices(scored, by, metric, condition, minimum=minimum)


def _as_run(stored: Callable[P, Path]) -> Callable[P, Run]:
    """The same function, returning the run whose folder it leaves."""

    @wraps(stored)
    def opened(*args: P.args, **options: P.kwargs) -> Run:
        return Run(stored(*args, **options))

    return opened


score_predictions = _as_run(imported_run.score_predictions)


def make_set(
    suite: str | Path | Suite,
    data: str | Path | Dataset,
    out: str | Path,
    *,
    layout: str = "auto",
    only: Sequence[str] = (),
    seed: int = 0,
    subset: int | None = None,
    edition: int | None = None,
    difficulty: int | None = None,
    codec: str | None = None,
    settings: Sequence[str] = (),
    split: str = "val",
    labels: str | None = None,
    include: Sequence[str | Path] = (),
    workers: int = 1,
    advance: Callable[[int, int], None] = lambda _done, _failed: None,
) -> Path:
    """Write a corrupted data set in a published layout; continue or repair what is there.

    Args:
        suite: `imagenet-c` or `imagenet-p` (with their four extra units, as published), `imagenet-s`, another
            suite, or a TOML file.
        data: the clean images.
        out: the set's folder.
        layout: of images `folders` or `arrays`; of sequences `frames` (lossless), `arrays`, or `videos` as
            ImageNet-P is published; `auto` takes arrays for 32-pixel images, else the first.
        only: units of the suite to make (`fog`, `fog:3`); others may follow into the same folder.
        seed: of every random draw.
        subset: this many images, each class in proportion; 0 for all, None as the suite says.
        edition: 32, 64, 224 or 299, if not as the images' size says.
        difficulty: 1, 2 or 3, of sequences: stronger noise, in folders of its own beside the others.
        codec: how images are stored, if not as published.
        settings: texts for units, such as `frost.textures=DIR`.
        labels: what the data's class indices are: `imagenet-1k`, whose folders are named by WordNet id, or
            `indices` of no known classes, the default.
        split: of imagenet-s, `val` for centre crops or `train` for random resized crops.
        include: Python files with your own corruptions.
        workers: processes.
        advance: called with (images written, 0) as work goes on.

    Returns:
        The set's folder; `open_dataset` and `run` take it as it is.
    """
    include_units(map(Path, include))
    made = plan_make(
        suite,
        open_dataset(data),
        layout=layout,
        only=[only] if isinstance(only, str) else only,
        seed=seed,
        subset=subset,
        edition=edition,
        difficulty=difficulty,
        codec=codec,
        settings=settings,
        split=split,
        labels=labels,
    )
    make(made, Path(out), workers=workers, includes=tuple(map(Path, include)), advance=advance)
    return Path(out)


def model_source(model: Any, preprocess: str | Path | None, planned: Plan) -> ModelSource | None:
    """How a worker loads a plan's model again, or None for a live object."""
    if not isinstance(model, str | Path):
        return None
    size = getattr(planned.model, "probe_size", None)
    return ModelSource(str(model), None if preprocess is None else str(preprocess), size)
