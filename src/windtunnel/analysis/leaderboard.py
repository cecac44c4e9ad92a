"""A leaderboard of own models: a row per model, columns of scores per suite, and what is not comparable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from windtunnel.analysis.caveats import caveats
from windtunnel.analysis.comparison import HEADLINES
from windtunnel.analysis.plausibility import implausible
from windtunnel.core.errors import UserError
from windtunnel.core.metrics import metric_of, title_of
from windtunnel.core.progress import Progress, silent
from windtunnel.core.scores import Score
from windtunnel.metrics.comparability import why_conditions_differ, why_outputs_differ, why_pixels_differ
from windtunnel.metrics.families import FAMILY_ERROR
from windtunnel.metrics.headlines import Key, natural_head
from windtunnel.metrics.score import score_run
from windtunnel.metrics.scored_run import ScoredRun

CLEAN: tuple[Key, ...] = (("top1_error", "clean"), ("top1_error", "native"))


@dataclass(frozen=True)
class BoardColumn:
    """A score of a suite.

    Attributes:
        suite: `name@version`.
        metric, condition: which score.
        title: its title without the suite.
        is_family: whether it is the mean error of a family of corruptions.
    """

    suite: str
    metric: str
    condition: str
    title: str
    is_family: bool


@dataclass(frozen=True)
class BoardCell:
    """A score of one model.

    Attributes:
        score: the score.
        not_comparable: why it cannot be compared with most scores of its column, or "".
    """

    score: Score
    not_comparable: str


@dataclass(frozen=True)
class BoardRun:
    """A run of a row.

    Attributes:
        run: its folder.
        suite: `name@version`.
        images: number of images.
        recipe: digest of the recipe.
        has_report: whether report.html is in the folder.
        not_comparable: why its scores cannot be compared with most runs of the suite, or "".
        warnings: reasons to doubt its scores.
    """

    run: str
    suite: str
    images: int
    recipe: str
    has_report: bool
    not_comparable: str
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class BoardRow:
    """A model: its scores by column (None where it has none) and its runs."""

    model: str
    family: str
    parameters: int
    tags: tuple[str, ...]
    cells: tuple[BoardCell | None, ...]
    runs: tuple[BoardRun, ...]


@dataclass(frozen=True)
class Leaderboard:
    """Models and their scores; the best of the first column come first."""

    columns: tuple[BoardColumn, ...]
    rows: tuple[BoardRow, ...]


@dataclass(frozen=True)
class _Scored:
    run: ScoredRun
    scores: dict[Key, Score]
    not_comparable: str


def leaderboard(runs: Sequence[ScoredRun], progress: Progress = silent) -> Leaderboard:
    """The scores of finished runs, a row per model.

    The runs of a suite are compared with its most frequent recipe: same images, seed, conditions and
    competing classes. The scores of other runs are marked as not comparable.

    Args:
        runs: finished runs of any suites.
        progress: counts scored runs.

    Raises:
        UserError: no run is given, one is given twice, or one is not finished.
    """
    if not runs:
        raise UserError("No runs given; give one or more run folders.")
    repeated = [path for path, count in Counter(str(run.path) for run in runs).items() if count > 1]
    if repeated:
        raise UserError(f"{repeated[0]} is given twice; give every run once.")
    references = _references(runs)
    scored = []
    for run in runs:
        scores = {(score.metric, score.condition): score for score in score_run(run)}
        scored.append(_Scored(run, scores, _why_not_comparable(run, references[run.info.suite])))
        progress(1, len(runs))
    columns = _columns(scored)
    return Leaderboard(columns, tuple(sorted(_rows(scored, columns), key=lambda row: _order(row, columns))))


def _references(runs: Sequence[ScoredRun]) -> dict[str, ScoredRun]:
    """By suite, the first run with the most frequent recipe."""
    chosen: dict[str, ScoredRun] = {}
    for suite in dict.fromkeys(run.info.suite for run in runs):
        of_suite = [run for run in runs if run.info.suite == suite]
        counts = Counter(map(_setting, of_suite))
        chosen[suite] = max(of_suite, key=lambda run: counts[_setting(run)])
    return chosen


def _setting(run: ScoredRun) -> Hashable:
    """What runs must share to be comparable."""
    recipe = run.recipe
    conditions = tuple(condition.id for condition in run.conditions)
    return recipe.data.digest, recipe.seed, recipe.stream, conditions, recipe.projection.kind


def _why_not_comparable(run: ScoredRun, reference: ScoredRun) -> str:
    reasons = ["scores depend on the batch"] if run.recipe.model.batch_dependent else []
    if run is reference:
        return "; ".join(reasons)
    pair = [reference, run]
    if run.recipe.data.digest != reference.recipe.data.digest:
        own, others = run.recipe.data.count, reference.recipe.data.count
        counts = f" ({own:,}, most have {others:,})" if own != others else ""
        reasons.append(f"other images{counts}")
    reasons += [why for why in (why_pixels_differ(pair), why_conditions_differ(pair)) if why]
    if {condition.id for condition in run.conditions} != {condition.id for condition in reference.conditions}:
        reasons.append("other conditions")
    if why := why_outputs_differ(pair):
        reasons.append(why)
    return "; ".join(reasons)


def _columns(scored: Sequence[_Scored]) -> tuple[BoardColumn, ...]:
    """For every suite its headline score, the clean error and the families of corruptions."""
    columns: dict[BoardColumn, None] = {}
    for suite in dict.fromkeys(item.run.info.suite for item in scored):
        of_suite = [item for item in scored if item.run.info.suite == suite]
        heads = [key for item in of_suite for key in _headlines(item)]
        families = [key for item in of_suite for key in item.scores if key[0] == FAMILY_ERROR]
        for metric, condition in dict.fromkeys([*heads, *families]):
            is_family = metric == FAMILY_ERROR
            title = condition if is_family else " ".join(filter(None, (condition, title_of(metric))))
            columns[BoardColumn(suite, metric, condition, title, is_family)] = None
    return tuple(columns)


def _headlines(item: _Scored) -> list[Key]:
    head = headline_of(item.run, list(item.scores.values()))
    clean = next((key for key in CLEAN if key in item.scores), None)
    return [key for key in ((head.metric, head.condition), clean) if key]


def headline_of(run: ScoredRun, scores: Sequence[Score]) -> Score:
    """The score by which models are ranked on a run's benchmark."""
    if not scores:
        raise UserError(
            f"{run.path} has no scores: its images have no labels; give runs over labelled images."
        )
    by_key = {(score.metric, score.condition): score for score in scores}
    shifted = [part.name for part in run.parts if part.role == "shifted"]
    usual = next((key for key in HEADLINES if key in by_key), next(iter(by_key)))
    return by_key[natural_head(by_key, shifted) or usual]


def _rows(scored: Sequence[_Scored], columns: Sequence[BoardColumn]) -> list[BoardRow]:
    """A row per model; a second run of the same model and suite begins another row."""
    groups: list[list[_Scored]] = []
    for item in scored:
        for group in groups:
            first = group[0].run
            same = (first.info.model.name, first.recipe.model.fingerprint) == (
                item.run.info.model.name,
                item.run.recipe.model.fingerprint,
            )
            if same and item.run.info.suite not in {other.run.info.suite for other in group}:
                group.append(item)
                break
        else:
            groups.append([item])
    return [_row(group, columns) for group in groups]


def _row(group: Sequence[_Scored], columns: Sequence[BoardColumn]) -> BoardRow:
    by_suite = {item.run.info.suite: item for item in group}
    model = group[0].run.info.model
    return BoardRow(
        model.name,
        model.family,
        model.parameters,
        model.tags,
        tuple(_cell(by_suite.get(column.suite), column) for column in columns),
        tuple(_board_run(item) for item in group),
    )


def _cell(item: _Scored | None, column: BoardColumn) -> BoardCell | None:
    score = item.scores.get((column.metric, column.condition)) if item else None
    return BoardCell(score, item.not_comparable) if item and score else None


def _board_run(item: _Scored) -> BoardRun:
    run = item.run
    return BoardRun(
        str(run.path),
        run.info.suite,
        run.recipe.data.count,
        run.digest,
        (run.path / "report.html").is_file(),
        item.not_comparable,
        (*implausible(run), *caveats(run)),
    )


def _order(row: BoardRow, columns: Sequence[BoardColumn]) -> tuple[int, float]:
    """Comparable scores of the first column first, the best first; then others; then models without one."""
    cell = row.cells[0] if columns else None
    if cell is None:
        return 2, 0.0
    return int(bool(cell.not_comparable)), sign_of(columns[0].metric) * cell.score.value


def sign_of(metric: str) -> int:
    """1 if lower is better, -1 if higher is better."""
    declared = metric_of(metric)
    return -1 if declared is not None and declared.direction == "higher" else 1
