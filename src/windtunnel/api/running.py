"""Plan and run: one or several models on one dataset under many conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windtunnel.core.errors import UserError
from windtunnel.core.locations import Location, location_of
from windtunnel.core.option_names import option
from windtunnel.core.progress import Progress, silent
from windtunnel.core.registry import included_files
from windtunnel.core.wording import seconds_in
from windtunnel.data import Dataset
from windtunnel.data.survey import first_size
from windtunnel.engine.cost import affordable_images
from windtunnel.engine.estimate import PROBED_IMAGES, Expected
from windtunnel.engine.execution import (
    PlannedRun,
    execute,
    probe_time,
    refuse_unshareable,
)
from windtunnel.engine.execution import expected_time as time_expected
from windtunnel.engine.executors import Workers, checked_executor, python_workers, usable_workers
from windtunnel.engine.plan import Plan, for_path, make_plan
from windtunnel.models import Model, ModelSource, load_model
from windtunnel.models.batch_dependence import checked_for_batches
from windtunnel.options import RunOptions
from windtunnel.runs import Run
from windtunnel.store.folder import RECIPE_FILE, RunFolder, stored_subset
from windtunnel.suites.default_suite import held_difficulty, open_for_suite
from windtunnel.suites.determinism import check_deterministic
from windtunnel.suites.inclusion import include_files
from windtunnel.suites.suite import Suite

# Options that apply to suites of corrupted images only; so does `settings`.
MAKING = ("only", "edition", "difficulty", "codec")


def plan(
    model: Any,
    data: str | Path | Dataset,
    suite: str | Path | Suite | None = None,
    options: RunOptions = RunOptions(),  # noqa: B008 (frozen)
    *,
    progress: Progress = silent,
    **changes: Any,
) -> Plan:
    """Check a run's inputs and return its plan: images, conditions, chunks and recipe. Nothing is predicted.

    The arguments are those of `run`; `progress` counts surveyed images.
    """
    return prepare([model], data, suite, options.with_changes(changes), progress).runs[0].plan


def expected_time(
    model: Any,
    data: str | Path | Dataset,
    suite: str | Path | Suite | None = None,
    options: RunOptions = RunOptions(),  # noqa: B008 (frozen)
    **changes: Any,
) -> Expected | None:
    """Time a few images and return the expected time of `run` with the same arguments; nothing is stored.

    Returns:
        The expected time: `seconds`, `workers`, and as text `about 20 min on 2 workers; an estimate from 138
        predictions timed on this machine`. None if the run folder is complete, or no image can be timed.
    """
    prepared = prepare([model], data, suite, options.with_changes(changes))
    return prepared.expected_time(prepared.default_workers)


def run(
    model: Any,
    data: str | Path | Dataset,
    suite: str | Path | Suite | None = None,
    options: RunOptions = RunOptions(),  # noqa: B008 (frozen)
    *,
    progress: bool | Progress | None = None,
    **changes: Any,
) -> Run:
    """Run a suite: one model on one dataset under many conditions; a stopped run is continued.

    Args:
        model: `FILE.onnx`, `demo` or another text of the forms that `windtunnel list model-kinds` lists, a
            torch module, or a callable.
        data: folder, table, archive or array file, a Dataset, or `demo`.
        suite: a suite's name or TOML file; None for imagenet-c-quick, or the suite of a precomputed or
            natural set.
        options: units, images, seed and other options; see `windtunnel.options.RunOptions`.
        progress: True shows the expected time and a progress bar (plain lines on standard error without a
            terminal). None shows them in notebooks only. A function is called repeatedly with
            (predictions since the last call, all predictions, images failed since the last call).
        changes: single options by name, such as `seed=3` or `only=["fog"]`; they override `options`.

    Returns:
        The finished run.

    Raises:
        UserError: an argument is invalid; nothing was predicted.

    Warns:
        ImplausibleScores: the numbers cannot be right or may be wrong; `Run.warnings` has the same texts.
    """
    from windtunnel.core.progress_bar import shown

    prepared = prepare([model], data, suite, options.with_changes(changes))
    with shown(progress) as (watched, expect):
        (finished,) = prepared.execute(prepared.default_workers, watched, expect)
    finished.warn()
    return finished


def run_models(
    models: Sequence[Any],
    data: str | Path | Dataset,
    suite: str | Path | Suite | None = None,
    options: RunOptions = RunOptions(),  # noqa: B008 (frozen)
    *,
    progress: bool | Progress | None = None,
    **changes: Any,
) -> tuple[Run, ...]:
    """Run a suite with several models over the same images, which are made once.

    Every model has a run folder of its own, as if it had been run alone. The arguments are those of `run`;
    `out` is the folder that contains the run folders, which have the models' names.

    Returns:
        The finished runs, in the order of the models.
    """
    from windtunnel.core.progress_bar import shown

    prepared = prepare(models, data, suite, options.with_changes(changes))
    with shown(progress) as (watched, expect):
        finished = prepared.execute(prepared.default_workers, watched, expect)
    for run_ in finished:
        run_.warn()
    return finished


@dataclass(frozen=True)
class PreparedRuns:
    """Plans over the same images, one for each model, and the options to execute them with."""

    runs: tuple[PlannedRun, ...]
    options: RunOptions

    @property
    def workers(self) -> int:
        """The number of workers: as requested, or one per processor core; at most one per shard."""
        plan = self.runs[0].plan
        return usable_workers(len(plan.chunks), self.options, portable=plan.dataset.portable)

    @property
    def default_workers(self) -> int:
        """The number of workers in Python: as requested, else one, or all of a named executor."""
        plan = self.runs[0].plan
        return python_workers(len(plan.chunks), self.options, portable=plan.dataset.portable)

    def expected_time(self, workers: int | None = None) -> Expected | None:
        """The expected time of the remaining work on so many workers, measured on a few images.

        None for `self.workers`.
        """
        return time_expected(self.runs, self._workers(workers or self.workers), included_files())

    def execute(
        self,
        workers: int,
        progress: Progress = silent,
        expect: Callable[[Expected], None] | None = None,
    ) -> tuple[Run, ...]:
        """Make the missing predictions; `expect` receives the expected time as soon as it is known."""
        execute(
            self.runs,
            workers=self._workers(workers),
            includes=included_files(),
            strict=self.options.strict,
            progress=progress,
            expect=expect,
        )
        return tuple(Run(run.folder) for run in self.runs)

    def _workers(self, count: int) -> Workers:
        return Workers(count, self.options.executor, self.options.address)


def prepare(
    models: Sequence[Any],
    data: str | Path | Dataset,
    suite: str | Path | Suite | None,
    options: RunOptions,
    progress: Progress = silent,
    *,
    all_workers: bool = False,
) -> PreparedRuns:
    """Check the inputs of one or several models and plan them; the method `execute` of the result runs them.

    With `all_workers`, a time budget assumes all workers unless a number is given.
    """
    if options.out == "":
        raise UserError(f"{option('out')} is empty; give a folder, or leave it out for the default.")
    if not models:
        raise UserError("There is no model; give at least one.")
    include_files(options.include)
    checked_executor(options.executor, options.address)
    dataset, chosen = open_for_suite(data, suite, options.clean, frame_sets=options.frame_sets or "")
    chosen = _changed(chosen, dataset, options, default=suite is None)
    loaded = [_load(model, dataset, options) for model in models]
    if options.budget is not None:
        options = _within_budget(models, loaded, dataset, chosen, options, all_workers=all_workers)
    return _prepared(models, loaded, dataset, chosen, options, progress)


def _load(model: Any, dataset: Dataset, options: RunOptions) -> Model:
    loaded = load_model(
        model,
        options.preprocess,
        data_size=first_size(dataset),
        device=options.device,
        precision=options.precision,
        batch=options.batch,
    )
    return checked_for_batches(loaded, allowed=options.allow_batch_dependence)


def _prepared(
    models: Sequence[Any],
    loaded: Sequence[Model],
    dataset: Dataset,
    suite: Suite,
    options: RunOptions,
    progress: Progress = silent,
) -> PreparedRuns:
    plans: list[Plan] = []
    for model in loaded:
        surveyed = plans[0].surveyed if plans else ()
        plans.append(make_plan(model, dataset, suite, options, surveyed=surveyed, progress=progress))
    if dataset.precomputed is None:
        check_deterministic(plans[0].conditions, [plan.model.preprocess.geometry for plan in plans])
    runs = tuple(
        PlannedRun(planned, folder, _source(model, options.preprocess, planned))
        for model, planned, folder in zip(models, plans, _folders(plans, options.out), strict=True)
    )
    refuse_unshareable(runs)
    return PreparedRuns(runs, options)


def _within_budget(
    models: Sequence[Any],
    loaded: Sequence[Model],
    dataset: Dataset,
    suite: Suite,
    options: RunOptions,
    *,
    all_workers: bool,
) -> RunOptions:
    """The options with the subset that the time budget allows, or that a started run has."""
    seconds = seconds_in(options.budget or "")
    if seconds is None:
        raise UserError(f"{option('budget')} is '{options.budget}'; give a time such as 90s, 10m or 2h.")
    if options.subset is not None:
        raise UserError(f"{option('budget')} chooses the subset; leave out {option('subset')}.")
    total = len(dataset.samples())
    probing = options.with_changes({"subset": min(PROBED_IMAGES, total), "out": None})
    probed = _prepared(models, loaded, dataset, suite, probing)
    if options.out:
        for folder in _folders([run.plan for run in probed.runs], options.out):
            started = stored_subset(folder)
            if started is not None:
                return options.with_changes({"subset": started})
    choose = usable_workers if all_workers else python_workers
    count = choose(total, options, portable=dataset.portable)
    probe, fed = probe_time(probed.runs, Workers(count, options.executor, options.address), included_files())
    if probe is None:
        raise UserError(
            f"{option('budget')} cannot choose a subset: the first images cannot be made or predicted. Give "
            f"{option('subset', 20)} to see why."
        )
    return options.with_changes({"subset": affordable_images(probe, seconds, count, total, fed=fed)})


def _folders(plans: Sequence[Plan], out: str | Location | None) -> list[Location]:
    """The run folder of each plan."""
    folders: list[Location]
    if not out:
        folders = [planned.default_folder() for planned in plans]
    elif len(plans) == 1:
        folders = [location_of(out)]
    else:
        folders = [location_of(out) / for_path(planned.model.name) for planned in plans]
    for folder in folders:
        if folders.count(folder) > 1:
            raise UserError(
                f"Two models have the run folder {folder}; give different models, or run them separately, "
                f"each with its own {option('out')}."
            )
    if out and len(plans) > 1 and (location_of(out) / RECIPE_FILE).is_file():
        raise UserError(
            f"{out} is the folder of one run; several models need a folder that contains their run folders. "
            f"Give another {option('out')}."
        )
    return folders


def include_plugins(files: Iterable[str | Path]) -> None:
    """Register the plug-ins of the user's own files, also in worker processes."""
    include_files(files)


def check_free(folder: str | Location) -> None:
    """Refuse a run folder that cannot be written or contains other files than a run."""
    RunFolder(location_of(folder)).check_free()


def _changed(suite: Suite, dataset: Dataset, options: RunOptions, *, default: bool) -> Suite:
    """The suite with the requested units, edition, difficulty and codec."""
    edition, difficulty, codec = options.edition, options.difficulty, options.codec
    if codec is not None and dataset.precomputed:
        raise UserError(
            f"{option('codec')} applies to images that windtunnel makes; those of {dataset.location} are "
            "already stored. Leave it out."
        )
    changed = any(value is not None for value in (edition, difficulty, codec))
    if suite.natural and (options.only or options.settings or changed):
        raise UserError(
            f"Suite {suite.name} scores images unchanged; {', '.join(map(option, MAKING))} and "
            f"{option('settings')} apply to suites of corrupted images only. Leave them out."
        )
    if options.only:
        suite = suite.only(options.only)
    if edition is not None:
        suite = suite.at_edition(edition)
    if difficulty is None and default:
        difficulty = held_difficulty(dataset)
    if difficulty is not None:
        suite = suite.at_difficulty(difficulty)
    return suite if codec is None else suite.stored_as(codec)


def _source(model: Any, preprocess: str | Path | None, planned: Plan) -> ModelSource | None:
    """How a worker loads a plan's model again, or None for a live object."""
    if not isinstance(model, str | Location):
        return None
    declared = None if preprocess is None else str(preprocess)
    return ModelSource(str(model), declared, planned.model.probe_size, planned.model.placement)
