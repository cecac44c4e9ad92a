"""Plan and run: one model on one dataset under many conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.core.progress import Progress, silent
from windtunnel.core.registry import included_files
from windtunnel.data import Dataset
from windtunnel.data.survey import first_size
from windtunnel.engine.estimate import Expected
from windtunnel.engine.local_executor import (
    execute,
    expected_time,
    finished_predictions,
    repaired_count,
    usable_workers,
)
from windtunnel.engine.plan import Plan, make_plan
from windtunnel.models import ModelSource, load_model
from windtunnel.options import RunOptions
from windtunnel.runs import Run
from windtunnel.store.folder import RunFolder
from windtunnel.suites.default_suite import held_difficulty, open_for_suite
from windtunnel.suites.determinism import check_deterministic
from windtunnel.suites.suite import Suite
from windtunnel.suites.units import include_units

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
    return prepare(model, data, suite, options.with_changes(changes), progress).plan


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
        model: `.onnx` file, `module:factory`, `file.py:factory`, a torch module, a callable, or `demo`.
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
    """
    from windtunnel.core.progress_bar import shown

    prepared = prepare(model, data, suite, options.with_changes(changes))
    with shown(progress) as (watched, expect):
        return prepared.execute(
            1 if prepared.options.workers is None else prepared.options.workers, watched, expect
        )


@dataclass(frozen=True)
class PreparedRun:
    """A plan, the folder it writes to, and what is needed to execute it."""

    plan: Plan
    folder: Path
    options: RunOptions
    source: ModelSource | None

    @property
    def done(self) -> int:
        """The number of predictions that are already stored."""
        return finished_predictions(self.plan, self.folder)

    @property
    def readable_again(self) -> int:
        """The number of images that failed earlier, are readable now, and will be scored again."""
        return repaired_count(self.plan, self.folder)

    @property
    def workers(self) -> int:
        """The number of worker processes: as requested, or one per processor core; at most one per shard."""
        return usable_workers(self.plan, self.options.workers)

    def expected_time(self) -> Expected | None:
        """The expected time of the remaining work, measured on a few images."""
        return expected_time(self.plan, self.folder, self.workers, self.source, included_files())

    def execute(
        self,
        workers: int,
        progress: Progress = silent,
        expect: Callable[[Expected], None] | None = None,
    ) -> Run:
        """Make the missing predictions; `expect` receives the expected time as soon as it is known."""
        finished = execute(
            self.plan,
            self.folder,
            workers=workers,
            source=self.source,
            includes=included_files(),
            strict=self.options.strict,
            progress=progress,
            expect=expect,
        )
        return Run(finished)


def prepare(
    model: Any,
    data: str | Path | Dataset,
    suite: str | Path | Suite | None,
    options: RunOptions,
    progress: Progress = silent,
) -> PreparedRun:
    """Check a run's inputs and plan it; the method `execute` of the result runs it."""
    if options.out == "":
        raise UserError(f"{option('out')} is empty; give a folder, or leave it out for the default.")
    include_units(map(Path, options.include))
    planned = _planned(model, data, suite, options, progress)
    folder = Path(options.out) if options.out else planned.default_folder()
    return PreparedRun(planned, folder, options, _source(model, options.preprocess, planned))


def include_plugins(files: Iterable[str | Path]) -> None:
    """Register the plug-ins of the user's own files, also in worker processes."""
    include_units(map(Path, files))


def check_free(folder: str | Path) -> None:
    """Refuse a run folder that another process is writing to."""
    RunFolder(Path(folder)).check_free()


def _planned(
    model: Any,
    data: str | Path | Dataset,
    suite: str | Path | Suite | None,
    options: RunOptions,
    progress: Progress,
) -> Plan:
    dataset, chosen = open_for_suite(data, suite, options.clean)
    chosen = _changed(chosen, dataset, options, default=suite is None)
    loaded = load_model(model, options.preprocess, data_size=first_size(dataset))
    made = make_plan(loaded, dataset, chosen, options, progress=progress)
    if dataset.precomputed is None:
        check_deterministic(made.conditions, made.model.preprocess.geometry)
    return made


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
    if not isinstance(model, str | Path):
        return None
    return ModelSource(str(model), None if preprocess is None else str(preprocess), planned.model.probe_size)
