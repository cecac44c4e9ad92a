"""Overlapping scores from accuracies: worked examples, undefined cells, intervals, files."""

from pathlib import Path

import numpy as np
import pytest

from windtunnel.analysis.overlap.accuracies import Accuracies, read_accuracies
from windtunnel.analysis.overlap.scores import overlap_matrix, read_overlap, replicated_overlaps
from windtunnel.core.errors import UserError

HEADER = "trained_on,seed,tested_on,accuracy,images\n"
# Clean accuracy, accuracy on fog, accuracy on snow, by model.
WORKED = {"clean": (0.8, 0.4, 0.2), "fog": (0.8, 0.6, 0.28), "snow": (0.5, 0.3, 0.4)}


def table(path: Path, accuracies=WORKED, images=1000, seeds=(0,)) -> Path:
    names = list(accuracies)
    rows = [
        f"{trained},{seed},{tested},{value},{images}\n"
        for trained, values in accuracies.items()
        for seed in seeds
        for tested, value in zip(names, values, strict=True)
    ]
    path.write_text(HEADER + "".join(rows))
    return path


def test_worked_example_divides_by_the_clean_accuracy_of_the_same_model(tmp_path):
    # R: clean (0.5, 0.25), fog (0.75, 0.35), snow (0.6, 0.8).
    # Gains: fog on fog 0.25, fog on snow 0.1, snow on fog 0.1, snow on snow 0.55.
    matrix = overlap_matrix(read_accuracies(table(tmp_path / "a.csv")))
    expected = (0.1 / 0.55 + 0.1 / 0.25) / 2
    np.testing.assert_allclose(matrix.values, [[1, expected], [expected, 1]])
    assert [own.gain for own in matrix.own_gains] == pytest.approx([0.25, 0.55])


def test_raw_ratio_uses_plain_accuracies(tmp_path):
    # Gains: fog on fog 0.2, fog on snow 0.08, snow on fog -0.1, snow on snow 0.2: (0.4 - 0.5) / 2 < 0.
    matrix = overlap_matrix(read_accuracies(table(tmp_path / "a.csv")), ratio="raw")
    np.testing.assert_allclose(matrix.values, [[1, 0], [0, 1]])


def test_values_above_one_are_kept_and_said(tmp_path):
    worked = {"clean": (0.8, 0.4, 0.2), "fog": (0.8, 0.6, 0.7), "snow": (0.8, 0.6, 0.4)}
    matrix = overlap_matrix(read_accuracies(table(tmp_path / "a.csv", worked)))
    # Gains, times 0.8: fog on fog 0.2, fog on snow 0.5, snow on fog 0.2, snow on snow 0.2.
    assert matrix.values[0, 1] == pytest.approx((0.5 / 0.2 + 0.2 / 0.2) / 2)
    assert any("above 1" in note and "fog and snow (1.75)" in note for note in matrix.notes)


@pytest.mark.parametrize(
    ("own", "images", "why"),
    [(0.21, 1000, "includes 0"), (0.21, 10**7, "is below 0.02"), (0.1, 1000, "is below 0")],
)
def test_a_candidate_that_its_own_training_does_not_help_is_undefined(tmp_path, own, images, why):
    worked = {
        "clean": (0.8, 0.4, 0.2, 0.2),
        "fog": (0.8, 0.6, 0.28, 0.4),
        "snow": (0.8, 0.4, own, 0.3),
        "frost": (0.8, 0.5, 0.3, 0.5),
    }
    matrix = overlap_matrix(read_accuracies(table(tmp_path / "a.csv", worked, images)))
    assert matrix.undefined == ("snow",) and matrix.defined == ("fog", "frost")
    assert np.isnan(matrix.values[1]).all() and np.isnan(matrix.values[:, 1]).all()
    assert np.isfinite(matrix.values[np.ix_([0, 2], [0, 2])]).all()
    assert why in matrix.own_gains[1].why_undefined
    assert any("snow" in note for note in matrix.notes)
    (tmp_path / "overlap.json").write_text(matrix.to_json_text())
    (tmp_path / "overlap.csv").write_text(matrix.to_csv())
    assert "null" in matrix.to_json_text() and "Infinity" not in matrix.to_json_text()
    assert "fog,snow,,,\n" in matrix.to_csv()
    assert read_overlap(tmp_path / "overlap.json") == matrix
    again = read_overlap(tmp_path / "overlap.csv")
    assert (again.scores, again.low, again.high) == (matrix.scores, matrix.low, matrix.high)


def test_accuracies_survive_a_file(tmp_path):
    first = read_accuracies(table(tmp_path / "a.csv", seeds=(3, 7)))
    (tmp_path / "b.csv").write_text(first.to_csv())
    second = read_accuracies(tmp_path / "b.csv")
    assert second.candidates == ("fog", "snow") and second.seeds == (3, 7)
    np.testing.assert_array_equal(first.accuracy, second.accuracy)


def simulated(rng, seeds, images=600, between=0.06):
    """Correct predictions of two candidates: shared image difficulty, and models that differ by seed."""
    means = np.array([[1.4, 0.0, 0.0], [1.4, 1.2, 0.5], [1.4, 0.4, 1.2]])
    difficulty = rng.normal(0, 1, images)
    strengths = means + rng.normal(0, between, (seeds, 3, 3))
    return rng.random((seeds, 3, 3, images)) < 1 / (1 + np.exp(-(strengths[..., None] + difficulty)))


def test_replicates_are_those_of_the_matrix():
    correct = simulated(np.random.default_rng(0), 3)
    accuracies = Accuracies.of_predictions(["fog", "snow"], [0, 1, 2], correct)
    matrix, drawn = overlap_matrix(accuracies), replicated_overlaps(accuracies)
    assert drawn.shape == (1000, 2, 2)
    np.testing.assert_allclose(drawn, drawn.swapaxes(1, 2))
    assert matrix.low[0][1] <= matrix.scores[0][1] <= matrix.high[0][1]
    assert abs(np.median(drawn[:, 0, 1]) - matrix.values[0, 1]) < 0.1


def test_shared_images_and_seed_variance_matter():
    wide = simulated(np.random.default_rng(1), 3, between=0.5)
    several = overlap_matrix(Accuracies.of_predictions(["fog", "snow"], [0, 1, 2], wide))
    single = overlap_matrix(Accuracies.of_predictions(["fog", "snow"], [0], wide[:1]))
    assert any("do not include the variance between trainings" in note for note in single.notes)
    assert not any("variance between" in note for note in several.notes)
    gain = several.own_gains[0]
    # Three models that differ by 0.5 in log-odds: an interval of images alone would be far narrower.
    same = overlap_matrix(Accuracies.of_predictions(["fog", "snow"], [0, 1, 2], np.repeat(wide[:1], 3, 0)))
    assert gain.high - gain.low > 1.5 * (same.own_gains[0].high - same.own_gains[0].low)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", "lacks the columns trained_on, seed, tested_on, accuracy, images"),
        (HEADER + "clean,0,clean,71.5,100\n", "per cent"),
        (HEADER + "clean,0,clean,71%,100\n", "per cent"),
        (HEADER + "clean,0,clean,nan,100\n", "fraction"),
        (HEADER + "clean,0,clean,0.5,0\n", "images is '0'"),
        (HEADER + "clean,x,clean,0.5,10\n", "seed is 'x'"),
        (HEADER + "clean,0,,0.5,10\n", "tested_on is empty"),
        (HEADER + "clean,0,clean,0.5,10\nclean,0,clean,0.5,10\n", "listed twice"),
        (HEADER + "clean,0,clean,0.5,10\n", "0 candidates"),
        (HEADER + "fog,0,fog,0.5,10\n", "no row with trained_on clean"),
        (HEADER + "clean,0,clean,0.5,10\nfog,0,clean,0.5,10\nsnow,0,fogg,0.5,10\n", "Did you mean fog?"),
        (HEADER + "clean,0,clean,0.5,10\nfog,0,clean,0.5,10\nsnow,0,fog,0.5,10\n", "lacks 6 cells"),
    ],
)
def test_wrong_tables_are_one_line(tmp_path, text, said):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(UserError) as error:
        read_accuracies(tmp_path / "a.csv")
    assert said in str(error.value) and "\n" not in str(error.value)


def test_a_model_without_clean_accuracy_needs_the_raw_ratio(tmp_path):
    worked = {**WORKED, "snow": (0.0, 0.3, 0.4)}
    accuracies = read_accuracies(table(tmp_path / "a.csv", worked))
    with pytest.raises(UserError, match=r'trained on snow with seed 0.*ratio="raw"'):
        overlap_matrix(accuracies)
    assert overlap_matrix(accuracies, ratio="raw").defined == ("fog", "snow")


@pytest.mark.parametrize(
    "text", ["{}", "[]", "no json", '{"schema": 9}', '{"schema": 1, "candidates": ["a"]}']
)
def test_wrong_matrices_are_one_line(tmp_path, text):
    (tmp_path / "overlap.json").write_text(text)
    with pytest.raises(UserError, match="not a matrix of overlapping scores"):
        read_overlap(tmp_path / "overlap.json")


@pytest.mark.parametrize("cell", ["", "nan", "inf", "-0.2", "0.9"])
def test_a_score_that_is_missing_or_differs_by_order_is_named(tmp_path, cell):
    rows = [("a", "a", "1"), ("a", "b", cell), ("b", "a", "0.3"), ("b", "b", "1")]
    lines = ["candidate,other,overlap,low,high", *(f"{','.join(row)},," for row in rows)]
    (tmp_path / "overlap.csv").write_text("\n".join(lines))
    with pytest.raises(UserError, match="score of a and b is"):
        read_overlap(tmp_path / "overlap.csv")
