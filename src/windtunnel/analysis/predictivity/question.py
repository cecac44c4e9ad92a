"""What is asked of a table: which benchmarks are to predict which, if the user does not name all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from windtunnel.analysis.model_tables.table import ModelTable
from windtunnel.analysis.predictivity.benchmarks import (
    Benchmark,
    each_alone,
    read_benchmarks,
    select_settings,
)
from windtunnel.core.errors import UserError
from windtunnel.core.option_names import option
from windtunnel.core.wording import listed
from windtunnel.suites.suite_files import suite_names

Mode = Literal["benchmarks", "leave-one-out", "table against table"]


@dataclass(frozen=True)
class Question:
    """The benchmarks that predict and the ones that are predicted.

    Attributes:
        mode: `benchmarks` if every one predicts every target; `leave-one-out` if each target is predicted by
            the mean of all others; `table against table` if the last table has the targets.
        predictors: the predicting benchmarks; in leave-one-out, one per target in the same order.
        targets: the predicted ones.
        text: the question in words.
    """

    mode: Mode
    predictors: tuple[Benchmark, ...]
    targets: tuple[Benchmark, ...]
    text: str


def question_of(table: ModelTable, synthetic: Sequence[str], natural: Sequence[str]) -> Question:
    """The question for a table.

    Named benchmarks predict the named or recognised natural sets. Without benchmarks, natural sets predict
    each other, and so do the corruptions of one table; of several tables of corruptions, the last has the
    targets.
    """
    targets = _targets(table, natural)
    predictors = _predictors(table, synthetic, targets)
    if predictors and targets:
        return _named_question(predictors, targets)
    if targets:
        return _leave_one_out(targets, "set")
    if synthetic:
        raise UserError(
            f"No column is recognised as a natural set for {option('synthetic')} to predict; name columns, "
            f"corruptions or a table with {option('natural', ['COLUMN'])}."
        )
    by_table = _tables_of_corruptions(table)
    if predictors and len(by_table) < 2:
        corruptions = each_alone(table, [name for names in by_table.values() for name in names])
        return _leave_one_out(corruptions, "corruption")
    if len(by_table) > 1:
        *earlier, (last, names) = by_table.items()
        return Question(
            "table against table",
            tuple(Benchmark(name, members) for name, members in earlier),
            (*each_alone(table, names), Benchmark(f"all of {last}", names)),
            f"{'Do' if len(earlier) > 1 else 'Does'} {' and '.join(name for name, _ in earlier)} predict "
            f"{last}?",
        )
    raise UserError(
        "No column is recognised as a natural set or a corruption; name the benchmarks with "
        f"{option('synthetic', ['COLUMNS'])} and the natural sets with {option('natural', ['COLUMNS'])}."
    )


def _targets(table: ModelTable, natural: Sequence[str]) -> list[Benchmark]:
    """The benchmarks to predict: a setting or a corruption each."""
    if natural:
        names = [name for text in natural for name in select_settings(table, text)]
    else:
        names = [setting.name for setting in table.of_role("natural")]
    return each_alone(table, list(dict.fromkeys(names)))


def _predictors(table: ModelTable, synthetic: Sequence[str], targets: Sequence[Benchmark]) -> list[Benchmark]:
    """The benchmarks that predict: the named ones, or one per table, suite and score."""
    if synthetic:
        return [benchmark for text in synthetic for benchmark in _named_benchmarks(table, text)]
    predicted = {name for target in targets for name in target.settings}
    found: dict[str, list[str]] = {}
    for setting in table.of_role("synthetic"):
        if setting.name not in predicted:
            found.setdefault(setting.table if setting.is_accuracy else setting.name, []).append(setting.name)
    return [Benchmark(_benchmark_name(table, name, names), tuple(names)) for name, names in found.items()]


def _benchmark_name(table: ModelTable, name: str, settings: Sequence[str]) -> str:
    """The suite or table of a benchmark; a plain table is called by its corruptions, not by its file."""
    is_file = any(Path(source).suffix and Path(source).stem == name for source in table.sources)
    if name in table.names or name in suite_names() or not is_file or len(table.sources) > 1:
        return name or "corruptions"
    corruptions = list(dict.fromkeys(table.setting(each).corruption or each for each in settings))
    return corruptions[0] if len(corruptions) == 1 else f"the mean of {len(corruptions)} corruptions"


def _named_benchmarks(table: ModelTable, text: str) -> list[Benchmark]:
    if text.endswith(".csv") and text not in table.names:
        if not Path(text).is_file():
            raise UserError(
                f"No such file: {text}. Give a CSV file with the columns benchmark and corruption."
            )
        return read_benchmarks(Path(text), table)
    return [Benchmark(text, select_settings(table, text))]


def _named_question(predictors: Sequence[Benchmark], targets: Sequence[Benchmark]) -> Question:
    for predictor in predictors:
        for target in targets:
            shared = set(predictor.settings) & set(target.settings)
            if shared:
                raise UserError(
                    f"{predictor.name} contains {sorted(shared)[0]}, which is also to be predicted; leave it "
                    f"out of {option('synthetic')} or of {option('natural')}."
                )
    several = len(predictors) > 3
    names = f"{len(predictors):,} benchmarks" if several else " and ".join(one.name for one in predictors)
    return Question(
        "benchmarks",
        tuple(predictors),
        tuple(targets),
        f"{'Do' if len(predictors) > 1 else 'Does'} {names} predict "
        f"{listed([target.name for target in targets], 6)}?",
    )


def _leave_one_out(members: Sequence[Benchmark], noun: str) -> Question:
    if len(members) < 2:
        raise UserError(
            f"{members[0].name} is the only {noun} of this table, and nothing can predict it; name "
            f"benchmarks with {option('synthetic', ['COLUMNS'])}."
        )
    predictors = [
        Benchmark(
            f"other {noun}s",
            tuple(name for other in members if other is not member for name in other.settings),
        )
        for member in members
    ]
    return Question(
        "leave-one-out",
        tuple(predictors),
        tuple(members),
        f"How well does the mean of the other {len(members) - 1} {noun}s predict each {noun}?"
        if len(members) > 2
        else f"How well does each of the two {noun}s predict the other?",
    )


def _tables_of_corruptions(table: ModelTable) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for setting in table.of_role("synthetic"):
        found.setdefault(setting.table, []).append(setting.name)
    return {name: tuple(names) for name, names in found.items()}
