"""From a table of accuracies to a suite: categories, generated and selected benchmarks, the page."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import windtunnel
from tests.conftest import Command
from tests.overlap_tables import ALONE, BLOCKS, NAMES, SAME, USELESS, block_accuracies
from windtunnel.analysis.overlap.accuracies import Accuracies
from windtunnel.analysis.overlap.scores import OverlapMatrix
from windtunnel.studies.model_predictions import ModelPredictions
from windtunnel.studies.overlap_files import write_overlaps
from windtunnel.studies.stored_accuracies import read_study
from windtunnel.suites.suite_files import load_suite


@pytest.fixture(scope="module")
def accuracies() -> Accuracies:
    return block_accuracies()


@pytest.fixture(scope="module")
def table(accuracies: Accuracies, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study") / "accuracies.csv"
    path.write_text(accuracies.to_csv())
    return path


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight models whose drops share a part within each block."""
    path = tmp_path_factory.mktemp("models") / "models.csv"
    generator = np.random.default_rng(1)
    lines = [["model", "clean", *NAMES[:-1]]]
    for number in range(8):
        shared = dict(zip(BLOCKS, generator.normal(0, 0.05, len(BLOCKS)), strict=True))
        drops = [
            0.2 + next((drop for block, drop in shared.items() if name in block), 0.0) for name in NAMES[:-1]
        ]
        noise = generator.normal(0, 0.01, len(drops))
        cells = [f"{0.8 - drop - wobble:.4f}" for drop, wobble in zip(drops, noise, strict=True)]
        lines.append([f"net-{number}", "0.8", *cells])
    path.write_text("\n".join(map(",".join, lines)) + "\n")
    return path


def test_categories_are_the_blocks_and_the_undefined_corruption_is_listed(table: Path) -> None:
    found = windtunnel.find_categories(table, threshold=0.6, replicates=20)
    members = {frozenset(names) for names in found.categories.members.values()}
    assert {frozenset(block) for block in BLOCKS} <= members | {names - {ALONE} for names in members}
    assert list(found.left_out) == [USELESS]
    assert "its own gain" in found.left_out[USELESS]
    assert found.stability is not None
    assert found.stability.replicates == 20


def test_a_table_a_folder_and_a_matrix_give_the_same_categories(table: Path, tmp_path: Path) -> None:
    of_table = windtunnel.find_categories(table, replicates=0)
    assert windtunnel.find_categories(table.parent, replicates=0) == of_table
    (tmp_path / "overlap.json").write_text(of_table.matrix.to_json_text())
    (tmp_path / "overlap.csv").write_text(of_table.matrix.to_csv())
    for name in ("overlap.json", "overlap.csv"):
        of_matrix = windtunnel.find_categories(tmp_path / name)
        assert of_matrix.categories == of_table.categories
        assert of_matrix.stability is None


def test_the_page_of_a_matrix_alone_has_no_map_of_replicates(
    table: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    matrix = tmp_path / "overlap.csv"
    matrix.write_text(windtunnel.find_categories(table, replicates=0).matrix.to_csv())
    done = windtunnel_command("categories", matrix, "--report", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text()
    assert 'id="overlaps"' in page and 'id="together"' not in page


def test_the_predictions_of_a_study_are_used_and_missing_ones_are_not(tmp_path: Path) -> None:
    """Images are drawn for all models together only if the study's predictions are complete."""
    generator = np.random.default_rng(0)
    names, images = ("clean", *NAMES[:5]), 300
    chances = np.where(np.eye(6, dtype=bool) | (np.arange(6) == 0), 0.9, 0.6)
    drawn = generator.random((2, 1, 1, images)) * 0.5 + generator.random((2, 6, 6, images)) * 0.5
    correct = drawn < chances[None, :, :, None]
    accuracies = Accuracies.of_predictions(names[1:], (0, 1), correct)
    write_overlaps(accuracies, tmp_path, "raw")
    (tmp_path / "predictions").mkdir()
    for seed in (0, 1):
        for row, name in enumerate(names):
            predicted = dict(zip(names, correct[seed, row], strict=True))
            file = tmp_path / "predictions" / f"{row}-{seed}.json"
            ModelPredictions.of("recipe", name, seed, predicted).write(file)
    matrix, stored = read_study(tmp_path)
    assert matrix.ratio == "raw"
    assert stored.correct is not None
    assert (stored.correct == correct).all()
    file.write_text(file.read_text().replace('"seed": 1', '"seed": 2'))
    assert read_study(tmp_path)[1].correct is None


def test_the_command_prints_lines_json_and_csv(table: Path, windtunnel_command: Command) -> None:
    lines = windtunnel_command("categories", table, "--replicates", 10)
    assert lines.returncode == 0, lines.stderr
    assert f"left out    {USELESS}: " in lines.stdout
    assert "categories by K-means on rows with the diagonal, seed 0" in lines.stdout
    document = json.loads(windtunnel_command("categories", table, "--replicates", 10, "--json").stdout)
    assert document["categories"]["k"] == len(document["categories"]["members"])
    assert [pair["first"] for pair in document["advice"]["redundant"]] == [SAME[0]]
    assert [pair["first"] for pair in document["advice"]["uncovered"]] == [ALONE]
    text = windtunnel_command("categories", table, "--replicates", 10, "--csv").stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    assert {row["candidate"] for row in rows} == set(NAMES)
    assert [row["candidate"] for row in rows if row["left_out"]] == [USELESS]


def test_scores_of_plain_accuracies_are_called_raw_everywhere(
    table: Path, windtunnel_command: Command, tmp_path: Path
) -> None:
    made = windtunnel_command("overlap", table, "--ratio", "raw", "--out", "matrix")
    assert "ratio    raw   plain accuracies" in made.stdout
    found = windtunnel_command("categories", "matrix", "--replicates", 0)
    assert "11 of 12, 3 seeds, ratio raw" in found.stdout
    assert windtunnel_command("report", "matrix").returncode == 0
    assert "4,000 test images, ratio raw" in (tmp_path / "matrix" / "report.html").read_text()
    refused = windtunnel_command("categories", "matrix", "--threshold", 0.999)
    assert refused.returncode == 2
    assert "The scores are those of plain accuracies" in refused.stderr
    assert "--ratio clean" in refused.stderr


def test_categories_are_validated_on_other_models(
    table: Path, models: Path, windtunnel_command: Command
) -> None:
    found = windtunnel.find_categories(table, validate=[models], replicates=0)
    assert found.validation is not None
    assert found.validation.within > 0.7 > 0.4 > found.validation.across
    assert found.validation.p < 0.01
    assert len(found.validation.models) == 8
    printed = windtunnel_command("categories", table, "--validate", models, "--replicates", 0).stdout
    assert "0.67 within and 0.10 across six categories, 21 models (Laugros et al. 2021)" in printed
    assert "All residuals of a model contain its clean accuracy" in printed


def test_stored_runs_validate_with_their_residual_robustness(tmp_path: Path, digit_folder: Path) -> None:
    names = ("gaussian_noise:3", "brightness:3", "contrast:3")
    suite = tmp_path / "three.toml"
    units = [name.partition(":")[0] for name in names]
    suite.write_text(f'name = "three"\nversion = 1\nlevels = [3]\nunits = {json.dumps(units)}\n')
    runs = []
    for number in range(4):
        weights = np.random.default_rng(number).normal(size=(32 * 32 * 3, 10))

        def scores(images: np.ndarray, weights: np.ndarray = weights) -> np.ndarray:
            """Sensitive to every change of an image."""
            return np.sin(images.reshape(len(images), -1) / 255 @ weights).astype(np.float32)

        scores.__name__ = f"net_{number}"
        runs.append(
            windtunnel.run(scores, digit_folder, suite, out=tmp_path / f"run-{number}", preprocess="cifar")
        )
    matrix = np.array([[1.0, 0.7, 0.1], [0.7, 1.0, 0.1], [0.1, 0.1, 1.0]])
    rows = tuple(map(tuple, matrix.tolist()))
    found = windtunnel.find_categories(OverlapMatrix(names, rows, rows, rows), validate=runs, threshold=0.2)
    residuals = np.array(
        [[score.value for score in run.scores(["residual_robustness"]) if score.condition] for run in runs]
    )
    assert found.validation is not None
    assert found.validation.within == pytest.approx(np.corrcoef(residuals[:, 0], residuals[:, 1])[0, 1])
    assert any("4 models are few" in warning for warning in found.validation.warnings)


def test_generated_benchmarks_have_a_line_per_corruption(
    table: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    out = tmp_path / "benchmarks.csv"
    done = windtunnel_command(
        "benchmarks", "generate", table, "--categories", 2, "--each", 2, "--count", 30,
        "--substitutions", 2, "--out", out,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert str(out) in done.stderr
    rows = list(csv.DictReader(out.open()))
    by_name: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        by_name.setdefault(row["benchmark"], []).append(row)
    drawn = [lines for name, lines in by_name.items() if "-" not in name]
    assert len(drawn) == 30
    assert all(
        {(line["n"], line["k"], line["std"]) for line in lines} == {("2", "2", "0.0")} for lines in drawn
    )
    later = {name: lines for name, lines in by_name.items() if "-" in name}
    assert later
    assert all((line["n"], line["k"]) == ("", "") for lines in later.values() for line in lines)
    assert {line["std"] for lines in later.values() for line in lines} == {"1.0"}
    assert all(len({line["corruption"] for line in lines}) == 4 for lines in by_name.values())


def test_without_a_count_all_of_fewer_benchmarks_are_generated(
    table: Path, windtunnel_command: Command
) -> None:
    done = windtunnel_command("benchmarks", "generate", table, "--categories", 1, "--each", 3, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert len(document["benchmarks"]) == document["possible"] < 1000
    assert "fewer than 1,000 benchmarks exist; all of them are generated" in done.stderr
    assert len(windtunnel.generate_benchmarks(table, 1, 3).benchmarks) == document["possible"]


def test_the_same_seed_generates_the_same_benchmarks(table: Path) -> None:
    first, again, other = (
        windtunnel.generate_benchmarks(table, 2, 2, 10, substitutions=3, seed=seed) for seed in (0, 0, 1)
    )
    assert first == again
    assert first.benchmarks != other.benchmarks


def test_a_selected_benchmark_is_a_suite_that_runs(
    table: Path, tmp_path: Path, digit_folder: Path, windtunnel_command: Command
) -> None:
    out = tmp_path / "least-overlap.toml"
    options = ("--categories", 3, "--each", 2, "--replicates", 10, "--out", out)
    done = windtunnel_command("benchmarks", "select", table, *options)
    assert done.returncode == 0, done.stderr
    suite = load_suite(out)
    assert suite.name == "least-overlap"
    assert len(suite.units) == 6
    assert {suite.levels_of(unit) for unit in suite.units} == {(3,)}
    # Gaussian and shot noise overlap fully, so one of them at most is taken.
    assert len({"gaussian_noise", "shot_noise"} & set(suite.units)) <= 1
    ran = windtunnel_command("run", "demo", digit_folder, "--suite", out, "--subset", 20, "--out", "run")
    assert ran.returncode == 0, ran.stderr


def test_the_least_of_all_generated_benchmarks_is_the_exact_one(table: Path) -> None:
    exact = windtunnel.select_benchmark(table, 3, 2, replicates=0)
    every = windtunnel.select_benchmark(table, 3, 2, rule="generated", count=10**6, replicates=0)
    assert every.compared == every.possible
    assert every.overlap == pytest.approx(exact.overlap)


def test_without_a_file_the_suite_is_printed(table: Path, windtunnel_command: Command) -> None:
    done = windtunnel_command("benchmarks", "select", table, "--categories", 2, "--each", 1)
    suite = tomllib.loads(done.stdout)
    assert len(suite["units"]) == 2
    assert suite["about"].endswith(
        "1 of each of 2 categories, with the largest mean overlap with its category"
    )
    assert "none: no two corruptions are of one category" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("categories", "nowhere"), "No such study: nowhere."),
        (("categories", "{folder}"), "has no accuracies.csv"),
        (("categories", "{unfinished}"), "is an overlap study that is not finished; repeat the command"),
        (("report", "{unfinished}"), "is an overlap study that is not finished; repeat the command"),
        (("report", "{folder}"), "windtunnel report takes the folder of an overlap study, a training or"),
        (("categories", "{other}"), "lacks the columns candidate, other, overlap, low, high; give"),
        (("categories", "{table}", "--threshold", "2"), "--threshold is 2; give a correlation"),
        (("categories", "{table}", "--seed", "-1"), "--seed is -1; give a whole number from 0"),
        (("categories", "{table}", "--replicates", "3000"), "--replicates is 3000; give 0 to 1,000"),
        (("categories", "{table}", "--without", "frog:3"), "Unknown candidate 'frog:3'. Did you mean fog:3?"),
        (("categories", "{table}", "--json", "--csv"), "--json and --csv exclude each other"),
        (("categories", "{table}", "--validate", "{other}"), "no results on the candidates"),
        (("categories", "{table}", "--validate", "none.csv"), "No such table: none.csv"),
        (("categories", "{table}", "--report", "page.pdf"), "--report is page.pdf; give a file ending in"),
        (("benchmarks", "generate", "{table}", "--categories", "9", "--each", "2"), "--categories is 9"),
        (("benchmarks", "generate", "{table}", "--categories", "1", "--each", "3", "--count", "999"),
         "--count is 999, but exactly"),
        (("benchmarks", "generate", "{table}", "--categories", "1"), "Missing option '--each'"),
        (("benchmarks", "select", "{table}", "--categories", "1", "--each", "0"), "0 is not in the range"),
        (("benchmarks", "select", "{table}", "--categories", "1", "--each", "2", "--out", "suite.yaml"),
         "--out is suite.yaml; give a file ending in .toml"),
        (("benchmarks", "select", "{table}", "--categories", "1", "--each", "2", "--out", "imagenet-c.toml"),
         "The suite's name is 'imagenet-c', which windtunnel has already; give another name."),
        (("benchmarks", "select", "{table}", "--categories", "1", "--each", "1", "--rule", "generated"),
         "give --each of 2 or more, or --rule exact"),
        (("report", "{study}", "--markdown"), "is an overlap study; leave out"),
    ],
)  # fmt: skip
def test_wrong_input_is_one_line(
    arguments: tuple[str, ...], message: str, table: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    other = tmp_path / "other.csv"
    other.write_text("model,clean,frost:1\n" + "".join(f"net-{n},0.8,0.5\n" for n in range(5)))
    unfinished = tmp_path / "unfinished"
    unfinished.mkdir()
    (unfinished / "study.json").write_text("{}")
    places = {
        "unfinished": unfinished,
        "table": table,
        "folder": tmp_path,
        "study": table.parent,
        "other": other,
    }
    done = windtunnel_command(*(argument.format(**places) for argument in arguments))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert message in done.stderr


@pytest.mark.parametrize(
    "wrong",
    [{"each": -1}, {"categories": 0}, {"count": 0}, {"seed": -1}, {"replicates": -5}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_wrong_numbers_in_python_name_the_argument(wrong: dict[str, int], accuracies: Accuracies) -> None:
    arguments = {"categories": 2, "each": 2, "replicates": 0, "rule": "generated", **wrong}
    with pytest.raises(
        windtunnel.UserError, match=f"{next(iter(wrong))} is {next(iter(wrong.values()))}; give"
    ):
        windtunnel.select_benchmark(accuracies, **arguments)


def test_files_of_two_studies_in_one_folder_are_refused(accuracies: Accuracies, tmp_path: Path) -> None:
    write_overlaps(accuracies, tmp_path, "clean")
    other = Accuracies(NAMES, (4, 5, 6), accuracies.accuracy, accuracies.images)
    (tmp_path / "accuracies.csv").write_text(other.to_csv())
    with pytest.raises(windtunnel.UserError, match="other candidates or seeds"):
        read_study(tmp_path)


def test_corruptions_that_windtunnel_does_not_have_are_refused_in_suites(
    accuracies: Accuracies, tmp_path: Path
) -> None:
    names = tuple(f"my_{name}" for name in NAMES)
    renamed = Accuracies(names, accuracies.seeds, accuracies.accuracy, accuracies.images)
    with pytest.raises(windtunnel.UserError, match="Unknown corruption 'my_"):
        windtunnel.select_benchmark(renamed, 2, 3).suite_text("mine")


def test_without_scikit_learn_the_cure_is_named(table: Path) -> None:
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import windtunnel\n"
        "try:\n    windtunnel.find_categories(sys.argv[1])\n"
        "except windtunnel.UserError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code, table], capture_output=True, text=True, check=True)
    assert (
        done.stdout == "Clustering needs sklearn, which is not installed: pip install 'scikit-learn>=1.5'.\n"
    )


def test_the_page_answers_what_a_benchmark_should_contain(
    table: Path, models: Path, tmp_path: Path, windtunnel_command: Command
) -> None:
    page = tmp_path / "page.html"
    options = ("--replicates", 10, "--validate", models, "--report", page)
    done = windtunnel_command("categories", table, *options)
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert "What should my benchmark contain?" in text
    assert "1 pair overlaps by more than 0.8; one corruption of each is nearly enough." in text
    assert re.search(rf">{SAME[0]}</td>\s*<td[^>]*>{SAME[1]}</td>", text)
    assert f"Nothing else covers {ALONE} (at most 0.0" in text
    assert f"Nothing can be said about {USELESS}:" in text
    assert "The intervals are over 3 seeds and 4,000 images." in text
    assert "Validation on other models" in text


def test_the_report_of_a_study_is_in_its_folder(table: Path, windtunnel_command: Command) -> None:
    done = windtunnel_command("report", table.parent)
    assert done.returncode == 0, done.stderr
    page = Path(done.stdout.strip())
    assert page == table.parent / "report.html"
    text = page.read_text()
    assert "Whether the categories hold for other models was not checked" in text
    page.unlink()


def test_a_study_without_categories_still_has_a_report(tmp_path: Path, windtunnel_command: Command) -> None:
    """Two of three corruptions gain nothing from their own training."""
    names = ("clean", "fog:3", "snow:3", "frost:3")
    lines = ["trained_on,seed,tested_on,accuracy,images"]
    for trained in names:
        for tested in names:
            share = 0.9 if tested == "clean" else 0.8 if trained == tested == "fog:3" else 0.5
            lines.append(f"{trained},0,{tested},{share},4000")
    table = tmp_path / "accuracies.csv"
    table.write_text("\n".join(lines))
    assert windtunnel_command("overlap", table, "--out", tmp_path / "study").returncode == 0
    done = windtunnel_command("report", tmp_path / "study")
    assert done.returncode == 0
    assert "No categories: 1 candidate has defined overlaps" in done.stderr
    page = (tmp_path / "study" / "report.html").read_text()
    assert "1 of 3 corruptions have defined overlaps" in page
    assert "undefined: the interval of its own gain" in page and "0.333 [" in page
    assert windtunnel_command("report", tmp_path / "study", "--json").returncode == 2


def test_a_replaced_file_is_called_so(table: Path, tmp_path: Path, windtunnel_command: Command) -> None:
    for command, file in (("generate", "bench.csv"), ("select", "mine.toml")):
        asked = ("benchmarks", command, table, "--categories", "2", "--each", "2", "--out", tmp_path / file)
        assert "written" in windtunnel_command(*asked).stderr
        again = windtunnel_command(*asked).stderr
        assert "replaced" in again and "written" not in again


def test_a_name_that_is_no_corruption_is_noted(tmp_path: Path) -> None:
    lines = ["trained_on,seed,tested_on,accuracy,images"]
    names = ("clean", "fogg:3", "snow:3")
    lines += [f"{first},0,{second},0.5,100" for first in names for second in names]
    (tmp_path / "accuracies.csv").write_text("\n".join(lines))
    matrix = windtunnel.overlap_of_accuracies(tmp_path / "accuracies.csv")
    assert matrix.notes[0].startswith("Not a corruption of windtunnel: fogg:3.")


@pytest.mark.parametrize(
    ("content", "said"), [(b"", "is empty"), (b"PK\x03\x04\xff\xfe", "is not a text file")]
)
def test_an_empty_or_binary_file_is_no_study(
    content: bytes, said: str, tmp_path: Path, windtunnel_command: Command
) -> None:
    (tmp_path / "study.csv").write_bytes(content)
    done = windtunnel_command("categories", tmp_path / "study.csv")
    assert done.returncode == 2 and f"study.csv {said}; give" in done.stderr


def test_the_reason_why_stability_is_unknown_is_given(table: Path, tmp_path: Path) -> None:
    asked = windtunnel.find_categories(table, replicates=0)
    assert asked.no_stability == "no bootstrap replicates were asked for"
    matrix = tmp_path / "overlap.csv"
    matrix.write_text(windtunnel.overlap_of_accuracies(table).to_csv())
    alone = windtunnel.find_categories(matrix, replicates=5)
    assert alone.no_stability == "only the matrix is known, not the accuracies behind it"
    assert windtunnel.find_categories(table, replicates=5).no_stability == ""
