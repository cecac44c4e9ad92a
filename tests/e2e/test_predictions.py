"""Predictions made elsewhere: the same scores as a run's own, and a clear word where they do not fit."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from PIL import Image

import windtunnel
from tests.conftest import Command
from windtunnel.api import score_predictions
from windtunnel.report.sections.notes import run_notes

UserError = windtunnel.UserError

METRICS = (
    "top1_error", "top5_error", "mean_error", "family_error", "residual_robustness", "flip_share", "ece",
    "rms_calibration_error", "rms_calibration_error_compat", "aurra", "brier", "nll",
)  # fmt: skip


@pytest.fixture
def run(tmp_path: Path, digit_folder: Path) -> windtunnel.Run:
    return windtunnel.run("demo", digit_folder, "smoke", keep="logits", out=tmp_path / "own")


@pytest.fixture
def logits(run: windtunnel.Run, tmp_path: Path) -> Path:
    """The run's logits in another order, as somebody else's program would write them."""
    table = run.predictions(["condition", "logits"])
    shuffled = table.take(pa.array(np.random.default_rng(0).permutation(len(table))))
    pq.write_table(shuffled, tmp_path / "logits.parquet")
    return tmp_path / "logits.parquet"


def written(table: pa.Table, path: Path) -> Path:
    """A table of logits in the format that a file's ending says."""
    rows = table.to_pylist()
    if path.suffix == ".npz":
        np.savez(
            path,
            sample_id=np.array([row["sample_id"] for row in rows]),
            condition=np.array([row["condition"] for row in rows]),
            logits=np.array([row["logits"] for row in rows], np.float32),
        )
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(json.dumps(row) for row in rows))
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows))
    elif path.suffix == ".csv":
        scores = np.array([row["logits"] for row in rows])
        wide = {str(place): scores[:, place] for place in range(scores.shape[1])}
        pa.csv.write_csv(pa.table({"id": table["sample_id"], "condition": table["condition"], **wide}), path)
    else:
        pq.write_table(table, path)
    return path


@pytest.mark.parametrize("suffix", [".parquet", ".npz", ".csv", ".jsonl", ".json"])
def test_a_runs_logits_score_as_the_run(
    run: windtunnel.Run, logits: Path, tmp_path: Path, digit_folder: Path, suffix: str
) -> None:
    file = written(pq.read_table(logits), tmp_path / f"given{suffix}")
    options = {"outputs": "logits"} if suffix == ".csv" else {}
    given = score_predictions(file, digit_folder, "smoke", out=tmp_path / "given", **options)
    assert given.recipe.model.kind == "predictions"
    own, theirs = run.scores(METRICS), given.scores(METRICS)
    assert [(one.metric, one.condition, one.n) for one in own] == [
        (one.metric, one.condition, one.n) for one in theirs
    ]
    for one, other in zip(own, theirs, strict=True):
        assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high), abs=1e-6)
    assert given.report().exists()


def test_stored_rows_are_those_of_the_run(
    run: windtunnel.Run, logits: Path, tmp_path: Path, digit_folder: Path
) -> None:
    given = score_predictions(logits, digit_folder, "smoke", out=tmp_path / "given")
    own = run.predictions(given.predictions().column_names)
    assert own.equals(given.predictions())
    again = score_predictions(logits, digit_folder, "smoke", out=tmp_path / "given")
    assert again.scoring.digest == given.scoring.digest


def test_best_classes_give_errors_and_say_what_they_cannot_give(
    run: windtunnel.Run, tmp_path: Path, digit_folder: Path
) -> None:
    table = run.predictions(["condition", "top", "top_score"])
    pq.write_table(table, tmp_path / "top.parquet")
    suite = tmp_path / "own.toml"
    asked = ", ".join(f"'{name}'" for name in METRICS)
    suite.write_text(f"extends = 'smoke'\nname = 'own'\nversion = 1\nmetrics = [{asked}]")
    given = score_predictions(tmp_path / "top.parquet", digit_folder, suite, out=tmp_path / "given")
    found = {(one.metric, one.condition): one.value for one in given.scores()}
    assert {metric for metric, _ in found} == {
        "top1_error", "top5_error", "mean_error", "family_error", "residual_robustness", "flip_share",
    }  # fmt: skip
    for one in run.scores(["top1_error", "top5_error", "flip_share"]):
        assert found[one.metric, one.condition] == one.value
    assert any("without probabilities" in note for note in run_notes(given.scoring))
    with pytest.raises(UserError, match="cannot be masked"):
        score_predictions(tmp_path / "top.parquet", digit_folder, "smoke", mask=True)


def test_one_best_class_by_name_without_condition_is_clean(tmp_path: Path) -> None:
    from PIL import Image

    for name in ("cat", "dog"):
        (tmp_path / "pets" / name).mkdir(parents=True)
        for number in range(3):
            Image.new("RGB", (40, 40), (number, 0, 0)).save(tmp_path / "pets" / name / f"{number}.png")
    rows = [
        f"{name}/{number}.png,{guess}"
        for name, guess in (("cat", "cat"), ("dog", "fox"))
        for number in range(3)
    ]
    (tmp_path / "best.csv").write_text("id,top1\n" + "\n".join(rows))
    run = score_predictions(tmp_path / "best.csv", tmp_path / "pets", "smoke", out=tmp_path / "run")
    assert [(one.metric, one.condition, one.value) for one in run.scores()] == [("top1_error", "clean", 0.5)]
    assert len(run.scoring.missing) == 9


def test_what_does_not_fit_is_told_with_counts(logits: Path, tmp_path: Path, digit_folder: Path) -> None:
    table = pq.read_table(logits)
    file = tmp_path / "bad.parquet"

    def refused(changed: pa.Table, **options: object) -> str:
        pq.write_table(changed, file)
        with pytest.raises(UserError) as error:
            score_predictions(file, digit_folder, "smoke", out=tmp_path / "never", **options)
        assert not (tmp_path / "never").exists()
        return str(error.value)

    ids = table["sample_id"].to_pylist()
    other = table.set_column(0, "sample_id", pa.array(["nobody.png", *ids[1:]]))
    message = refused(other)
    assert "1 row with unknown ids (such as 'nobody.png')" in message
    assert f"; 1 prediction missing (such as '{ids[0]} under " in message
    assert message.endswith(". partial=True scores only the 39 of 40 images that have all of them.")
    assert ") (" not in message
    assert ids[0] in message
    assert "2 rows given twice" in refused(pa.concat_tables([table, table.slice(0, 2)]))
    mist = table.set_column(
        1, "condition", pc.replace_substring(table["condition"], "gaussian_noise", "mist")
    )
    assert "120 rows of 3 unknown conditions (such as 'mist:" in refused(mist)
    values = table["logits"].to_pylist()
    short = table.set_column(2, "logits", pa.array([*values[:-1], values[-1][:4]]))
    assert "1 row with another number of classes than 10" in refused(short)
    assert "440 rows of probabilities that do not sum to 1" in refused(
        table.rename_columns(["id", "condition", "probabilities"])
    )
    assert "has 4 outputs, the data 10 classes" in refused(
        table.set_column(2, "logits", pa.array([row[:4] for row in values]))
    )
    assert "one of them must be sample_id or id" in refused(
        table.rename_columns(["name", "condition", "logits"])
    )
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(UserError, match="cannot be read as parquet"):
        score_predictions(tmp_path / "broken.parquet", digit_folder)


def test_partial_leaves_images_out(logits: Path, tmp_path: Path, digit_folder: Path) -> None:
    table = pq.read_table(logits)
    pq.write_table(table.slice(3), tmp_path / "part.parquet")
    gone = len(set(table.slice(0, 3)["sample_id"].to_pylist()))
    with pytest.raises(UserError, match="3 predictions missing"):
        score_predictions(tmp_path / "part.parquet", digit_folder, "smoke", out=tmp_path / "run")
    run = score_predictions(
        tmp_path / "part.parquet", digit_folder, "smoke", out=tmp_path / "run", partial=True
    )
    assert {one.n for one in run.scores()} == {40 - gone}


def test_blocks_of_any_size_give_the_same(
    logits: Path, tmp_path: Path, digit_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = score_predictions(logits, digit_folder, "smoke", out=tmp_path / "whole")
    monkeypatch.setattr("windtunnel.importing.prediction_files.BLOCK_NUMBERS", 160)
    parts = score_predictions(logits, digit_folder, "smoke", out=tmp_path / "parts")
    assert whole.predictions().equals(parts.predictions())
    npz = written(pq.read_table(logits), tmp_path / "parts.npz")
    parts = score_predictions(npz, digit_folder, "smoke", out=tmp_path / "npz")
    assert whole.predictions().equals(parts.predictions())


def test_score_on_the_command_line(
    run: windtunnel.Run, logits: Path, windtunnel_command: Command, digit_folder: Path
) -> None:
    made = windtunnel_command(
        "score",
        "--predictions",
        logits,
        "--data",
        digit_folder,
        "--suite",
        "smoke",
        "--out",
        "given",
        "--json",
    )
    assert made.returncode == 0, made.stderr
    again = windtunnel_command("score", "given", "--json")
    assert json.loads(again.stdout)["scores"] == json.loads(made.stdout)["scores"]
    table = windtunnel_command("score", "given", "--metric", "brier", "--csv")
    assert len(table.stdout.splitlines()) == 1 + 11 + 1
    for wrong, words in (
        (("score",), "Give a RUN folder"),
        (("score", "given", "--metric", "beauty"), "Unknown metric 'beauty'"),
        (("score", "--predictions", logits), "give --data DATA"),
        (("score", "--predictions", "none.csv", "--data", digit_folder), "No such predictions"),
    ):
        told = windtunnel_command(*wrong)
        assert told.returncode == 2
        assert words in told.stderr
        assert len(told.stderr.splitlines()) == 1


@pytest.mark.parametrize("spelling", ["1.0", "1"])
def test_best_classes_may_be_written_as_floats_with_gaps(tmp_path: Path, spelling: str) -> None:
    """Tables with gaps write whole numbers as 1.0 and nothing for no class."""
    for number, name in enumerate(("cat", "dog", "dog")):
        (tmp_path / "data" / name).mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((40, 40, 3), 60 * number, np.uint8)).save(
            tmp_path / "data" / name / f"{number}.png"
        )
    rows = [
        "id,top1,top2",
        f"cat/0.png,0.0,{spelling}",
        f"dog/1.png,{spelling},",
        f"dog/2.png,0.0,{spelling}",
    ]
    (tmp_path / "best.csv").write_text("\n".join(rows))
    run = windtunnel.score_predictions(tmp_path / "best.csv", tmp_path / "data", out=tmp_path / "run")
    assert [one.value for one in run.scores(["top1_error"])] == [pytest.approx(1 / 3)]


def test_best_classes_that_the_data_do_not_know_are_refused(tmp_path: Path) -> None:
    (tmp_path / "data" / "cat").mkdir(parents=True)
    for number in range(2):
        pixels = np.full((40, 40, 3), 60 * number, np.uint8)
        Image.fromarray(pixels).save(tmp_path / "data" / "cat" / f"{number}.png")
    (tmp_path / "best.csv").write_text("id,top1\ncat/0.png,lion\ncat/1.png,tiger\n")
    with pytest.raises(UserError, match="none of its best classes"):
        windtunnel.score_predictions(tmp_path / "best.csv", tmp_path / "data", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_clean_predictions_alone_make_a_run_and_a_report(tmp_path: Path) -> None:
    for number, name in enumerate(("cat", "dog", "dog")):
        (tmp_path / "data" / name).mkdir(parents=True, exist_ok=True)
        pixels = np.full((40, 40, 3), 60 * number, np.uint8)
        Image.fromarray(pixels).save(tmp_path / "data" / name / f"{number}.png")
    (tmp_path / "p.csv").write_text("id,cat,dog\ncat/0.png,2,1\ndog/1.png,0,1\ndog/2.png,3,1\n")
    run = windtunnel.score_predictions(tmp_path / "p.csv", tmp_path / "data", out=tmp_path / "run")
    assert run.report().exists()
    assert [one.value for one in run.scores(["top1_error"])] == [pytest.approx(1 / 3)]


@pytest.mark.parametrize("cell", ["[2.0, -1]", "2.0 -1", "2;-1", "[ 2.   -1. ]", "[2e0,-1]"])
def test_a_cell_of_csv_may_hold_every_logit(tmp_path: Path, cell: str) -> None:
    for number, name in enumerate(("cat", "dog")):
        (tmp_path / "data" / name).mkdir(parents=True)
        pixels = np.full((40, 40, 3), 60 * number, np.uint8)
        Image.fromarray(pixels).save(tmp_path / "data" / name / f"{number}.png")
    (tmp_path / "p.csv").write_text(f'id,logits\ncat/0.png,"{cell}"\ndog/1.png,"{cell}"\n')
    run = windtunnel.score_predictions(tmp_path / "p.csv", tmp_path / "data", out=tmp_path / "run")
    assert [one.value for one in run.scores(["top1_error"])] == [0.5]
    assert run.recipe.model.outputs == "logits"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,logits\ncat/0.png," + "x" * 3000, "named 0, 1, 2"),
        ("id,logit_0,logit_1\ncat/0.png,1,2\n", "are not classes of the data"),
    ],
)
def test_a_csv_that_cannot_be_read_is_told_in_a_short_line(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "data" / "cat").mkdir(parents=True)
    Image.fromarray(np.zeros((40, 40, 3), np.uint8)).save(tmp_path / "data" / "cat" / "0.png")
    (tmp_path / "p.csv").write_text(text)
    with pytest.raises(UserError, match=words) as told:
        windtunnel.score_predictions(tmp_path / "p.csv", tmp_path / "data", out=tmp_path / "run")
    assert len(str(told.value).replace(str(tmp_path), "")) < 400


@pytest.mark.parametrize("suite", ["imagenet-p", None])
def test_sequences_are_refused_before_a_run_is_written(
    logits: Path, digit_folder: Path, tmp_path: Path, suite: str | None
) -> None:
    """A row names an image and a condition, and no frame of it; precomputed clips are no exception."""
    data = digit_folder
    if suite is None:
        data = windtunnel.make_set("imagenet-p", digit_folder, tmp_path / "clips", only=["tilt"], subset=2)
    with pytest.raises(UserError, match="contains sequences") as refused:
        score_predictions(logits, data, suite, out=tmp_path / "theirs")
    assert "\n" not in str(refused.value) and not (tmp_path / "theirs").exists()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("[0, 1, 2]", "[2, 0, 1]"),
        ("0 1 2", "2 0 1"),
        ("[0. 1. 2.]", "[2. 0. 1.]"),
        ("0;1;2", "2;0;1"),
        ("['0', '1', '2']", "['2', '0', '1']"),
        ("cat;cow, brown;red fox", "red fox;cat;cow, brown"),
        ("['cat', 'cow, brown', 'red fox']", "['red fox', 'cat', 'cow, brown']"),
        ("['cat' 'cow, brown' 'red fox']", "['red fox' 'cat' 'cow, brown']"),
        ('["cat", "cow, brown", "red fox"]', '["red fox", "cat", "cow, brown"]'),
        ("[cat, red fox, wolf's]", "[red fox, cat, wolf's]"),
        # One list of indices and one of names in the same column.
        ("[0, 1, 2]", "red fox;cat;cow, brown"),
    ],
)
def test_a_cell_of_csv_may_hold_a_list_of_best_classes(tmp_path: Path, first: str, second: str) -> None:
    """The first class is right for the cat and the fox, and wrong for the cow."""
    for number, name in enumerate(("cat", "cow, brown", "red fox")):
        (tmp_path / "data" / name).mkdir(parents=True)
        pixels = np.full((40, 40, 3), 60 * number, np.uint8)
        Image.fromarray(pixels).save(tmp_path / "data" / name / f"{number}.png")
    with (tmp_path / "best.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows(
            [
                ["id", "top"],
                ["cat/0.png", first],
                ["cow, brown/1.png", first],
                ["red fox/2.png", second],
            ]
        )
    run = windtunnel.score_predictions(tmp_path / "best.csv", tmp_path / "data", out=tmp_path / "run")
    assert [one.value for one in run.scores(["top1_error"])] == [pytest.approx(1 / 3)]
    assert run.recipe.model.top_k == 3


@pytest.mark.parametrize("suffix", [".csv", ".json"])
def test_a_row_without_a_condition_is_clean(suffix: str, tmp_path: Path) -> None:
    """Clean: one of two is right; under fog:3 none is."""
    for name in ("cat", "dog"):
        (tmp_path / "data" / name).mkdir(parents=True)
        Image.fromarray(np.full((40, 40, 3), 60, np.uint8)).save(tmp_path / "data" / name / "0.png")
    rows = [
        {"id": "cat/0.png", "condition": "", "top": "cat"},
        {"id": "dog/0.png", "condition": None, "top": "cat"},
        {"id": "cat/0.png", "condition": "fog:3", "top": "dog"},
        {"id": "dog/0.png", "condition": "fog:3", "top": "cat"},
    ]
    file = tmp_path / f"best{suffix}"
    if suffix == ".json":
        file.write_text(json.dumps([{**row, "top": [row["top"]]} for row in rows]))
    else:
        with file.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, ["id", "condition", "top"])
            writer.writeheader()
            writer.writerows(rows)
    run = windtunnel.score_predictions(file, tmp_path / "data", "imagenet-c", out=tmp_path / "run")
    assert {one.condition: one.value for one in run.scores(["top1_error"])} == {"clean": 0.5, "fog:3": 1.0}


def test_predictions_without_clean_images_name_clean_among_what_is_missing(
    logits: Path, tmp_path: Path, digit_folder: Path, windtunnel_command: Command
) -> None:
    table = pq.read_table(logits)
    corrupted = table.filter(pc.starts_with(table["condition"], "gaussian_noise"))
    pq.write_table(corrupted, tmp_path / "corrupted.parquet")
    arguments = ("--predictions", tmp_path / "corrupted.parquet", "--data", digit_folder, "--suite", "smoke")
    done = windtunnel_command("score", *arguments, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert "missing clean, defocus_blur:1, defocus_blur:3, defocus_blur:5 and 3 more" in " ".join(
        done.stdout.split()
    )
    notes = run_notes(windtunnel.load_run(tmp_path / "run").scoring)
    assert any(note.startswith("The set lacks 7 conditions of the suite: clean, defocus") for note in notes)
