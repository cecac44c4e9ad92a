"""What tables are taken for: units, errors, missing values, misspelt names, filter networks."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import rankdata

import windtunnel
from tests.conftest import Command
from windtunnel.core.errors import UserError

HEADER = ["model", "clean", "fog:3", "snow:3", "ImageNet-V2", "ImageNet-Sketch"]
# Thousandths. Some drops of different models are the same: 761 - 461 and 774 - 474.
THOUSANDTHS = {
    "resnet18": (761, 461, 431, 601, 361),
    "resnet34": (774, 474, 454, 614, 384),
    "vit_b": (811, 571, 561, 671, 501),
    "vit_l": (833, 593, 592, 693, 562),
    "mixer": (721, 411, 381, 561, 301),
    "conv": (790, 520, 500, 640, 450),
    "dense": (703, 433, 352, 543, 273),
}


def write(path: Path, rows: list[list[object]], header: list[str] = HEADER) -> Path:
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])
    return path


def fractions(path: Path) -> Path:
    return write(path, [[name, *(f"{cell / 1000:.3f}" for cell in row)] for name, row in THOUSANDTHS.items()])


def errors(path: Path) -> Path:
    rows = [[name, *(f"{(1000 - cell) / 1000:.3f}" for cell in row)] for name, row in THOUSANDTHS.items()]
    return write(path, rows)


def test_the_unit_changes_no_number(tmp_path: Path) -> None:
    """Drops are multiples of 0.001: equal ones are ties, in fractions and in per cent."""
    percent = [[name, *(f"{cell / 10:.1f}" for cell in row)] for name, row in THOUSANDTHS.items()]
    tables = fractions(tmp_path / "a.csv"), write(tmp_path / "b.csv", percent)
    asked = {"synthetic": ["fog:3"], "natural": ["ImageNet-V2", "ImageNet-Sketch"]}
    plain = windtunnel.predictivity(tables[0], **asked)
    declared = windtunnel.predictivity(tables[1], unit=["percent"], **asked)
    assert [pair.to_json() for pair in plain.pairs] == [pair.to_json() for pair in declared.pairs]
    exact = np.array(list(THOUSANDTHS.values()))
    drops = exact[:, [0]] - exact
    assert len(set(drops[:, 1])) < len(drops)
    for pair, column in zip(plain.pairs, (3, 4), strict=True):
        ranks = rankdata(drops[:, 1]), rankdata(drops[:, column])
        assert pair.spearman == pytest.approx(np.corrcoef(*ranks)[0, 1])


def test_errors_given_as_accuracies_are_questioned(tmp_path: Path, windtunnel_command: Command) -> None:
    table = errors(tmp_path / "errors.csv")
    done = windtunnel_command("predictivity", table)
    assert done.returncode == 0
    assert "warning   All models are better on ImageNet-Sketch, ImageNet-V2, fog:3 and 1 more" in done.stdout
    assert done.stdout.index("Are these errors?") < done.stdout.index("answer")
    page = tmp_path / "page.html"
    (found,) = windtunnel.effective_robustness(table, shifted=["ImageNet-V2"], out=page)
    assert "Are these errors?" in found.warnings[0] and "Are these errors?" in page.read_text()
    right = fractions(tmp_path / "accuracies.csv")
    assert windtunnel.predictivity(right).warnings == ()
    assert windtunnel.effective_robustness(right)[0].warnings == ()


def test_one_easier_set_is_not_questioned(tmp_path: Path) -> None:
    """A set of fewer classes may be easier than the clean images for every model."""
    easier = [
        [name, *(f"{cell / 1000:.3f}" for cell in row[:-1]), f"{min(row[0] + 50, 999) / 1000:.3f}"]
        for name, row in THOUSANDTHS.items()
    ]
    assert windtunnel.predictivity(write(tmp_path / "a.csv", easier)).warnings == ()


def test_a_list_of_tables_is_refused_with_the_cure(tmp_path: Path) -> None:
    table = fractions(tmp_path / "a.csv")
    for verb in (windtunnel.predictivity, windtunnel.effective_robustness):
        with pytest.raises(UserError, match=r"given as list; give each .* or a list of them as \*tables"):
            verb([table])


def test_a_metric_of_runs_needs_runs(tmp_path: Path, windtunnel_command: Command) -> None:
    done = windtunnel_command("predictivity", fractions(tmp_path / "a.csv"), "--score", "mfr")
    assert done.returncode == 2
    assert "--score mfr is a metric of runs, and no run is given" in done.stderr
    assert "--score COLUMN:lower" in done.stderr


def test_families_that_leave_too_few_models_are_counted(tmp_path: Path, windtunnel_command: Command) -> None:
    """Without the family of four, three models remain, which are too few."""
    rows = [[f"big{place}", *(cell / 1000 for cell in row)] for place, row in enumerate(THOUSANDTHS.values())]
    for place, name in ((4, "small"), (5, "tiny"), (6, "little")):
        rows[place][0] = name
    table = write(tmp_path / "a.csv", rows)
    found = windtunnel.predictivity(table, natural=["ImageNet-Sketch"])
    assert (found.pairs[0].families, found.pairs[0].families_left_out) == (4, 3)
    assert "(3 of 4 families)" in windtunnel_command("predictivity", table).stdout


def test_models_without_a_value_are_named_with_the_column(tmp_path: Path) -> None:
    rows = [[name, *(cell / 1000 for cell in row)] for name, row in THOUSANDTHS.items()]
    rows[2][4] = ""
    found = windtunnel.predictivity(write(tmp_path / "a.csv", rows))
    note = "Left out because an accuracy is missing, 1 model: vit_b (no value of ImageNet-V2)."
    assert note in found.notes


def test_a_column_that_is_nearly_a_corruption_is_named(tmp_path: Path) -> None:
    rows = [[name, *(cell / 1000 for cell in row)] for name, row in THOUSANDTHS.items()]
    header = ["model", "clean", "fog:3", "snoww:3", "ImageNet-V2", "ImageNet-Sketch"]
    found = windtunnel.predictivity(write(tmp_path / "a.csv", rows, header))
    assert "Not a corruption of windtunnel, and not used: snoww:3 (similar: snow)." in found.notes


def test_all_columns_to_leave_out_are_named(tmp_path: Path) -> None:
    rows = [[name, *(cell / 1000 for cell in row), 512, 900] for name, row in THOUSANDTHS.items()]
    table = write(tmp_path / "a.csv", rows, [*HEADER, "gflop_sum", "run_time"])
    with pytest.raises(UserError) as refused:
        windtunnel.predictivity(table)
    assert 'ignore=["gflop_sum"] ignore=["run_time"]' in str(refused.value)


def test_a_binary_file_is_no_table(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", images=np.arange(1000))
    with pytest.raises(UserError, match="is not a CSV file, or not in UTF-8; give a table of text"):
        windtunnel.predictivity(tmp_path / "data.npz")


def test_both_missing_columns_of_a_benchmark_file_are_named(tmp_path: Path) -> None:
    wrong = write(tmp_path / "bench.csv", [["b1", "fog:3"]], ["name", "unit"])
    with pytest.raises(UserError, match="lacks the columns benchmark and corruption"):
        windtunnel.predictivity(fractions(tmp_path / "a.csv"), synthetic=[str(wrong)])


def test_filter_networks_and_missing_models_add_up(tmp_path: Path) -> None:
    """Every model is fitted, a filter network, or without one of the accuracies."""
    header = ["model", "clean", "imagenet-a"]
    rows = [[name, row[0] / 1000, row[4] / 2000] for name, row in THOUSANDTHS.items()]
    rows += [["resnet50", 0.76, 0.01], ["resnet50.tv", 0.76, ""], ["other", "", 0.2]]
    (found,) = windtunnel.effective_robustness(write(tmp_path / "a.csv", rows, header), pieces=1)
    fitted = sum(model.reference for model in found.models)
    filters = sum(model.is_filter for model in found.models)
    assert (fitted, filters) == (7, 1) and len(found.models) == 8
    notes = " ".join(found.notes)
    assert "Not fitted because ImageNet-A was filtered by ResNet-50, 1 model: resnet50." in notes
    assert "an accuracy is missing, 2 models: resnet50.tv (no value of imagenet-a), other" in notes
