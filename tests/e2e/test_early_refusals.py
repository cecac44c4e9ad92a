"""What cannot be scored is refused before the work, by name; what was done is told truly when it stops."""

from __future__ import annotations

import csv
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from PIL import Image

import windtunnel
from tests.conftest import Command
from tests.onnx_models import write_colour_model
from windtunnel.cli import cli
from windtunnel.data.arrays import ArrayDataset
from windtunnel.engine.chunks import Chunk
from windtunnel.engine.executors.processes import processes
from windtunnel.engine.jobs import ItemFunction, Needs

UserError = windtunnel.UserError


@pytest.fixture
def flat(tmp_path: Path, digits: tuple[np.ndarray, np.ndarray]) -> Path:
    """Six digits in one folder, without classes."""
    (tmp_path / "flat").mkdir()
    for row in range(6):
        Image.fromarray(digits[0][row]).save(tmp_path / "flat" / f"{row}.png")
    return tmp_path / "flat"


def table(flat: Path, labels: list[object]) -> Path:
    file = flat.parent / "table.csv"
    with file.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["path", "label"])
        writer.writerows((f"flat/{row}.png", label) for row, label in enumerate(labels))
    return file


def test_images_without_labels_are_refused_where_every_score_needs_them(flat: Path) -> None:
    with pytest.raises(UserError, match=r"None of the 6 images.*suite smoke needs labels.*folder per class"):
        windtunnel.plan("demo", flat, "smoke")
    with pytest.raises(UserError, match="needs labels"):
        windtunnel.plan("demo", table(flat, [""] * 6), "imagenet-c")
    assert windtunnel.plan("demo", flat, "imagenet-p", only=["tilt"]).predictions
    assert windtunnel.plan("demo", flat, "systematic").predictions
    assert windtunnel.plan("demo", table(flat, ["9", *[""] * 5]), "smoke").predictions


def test_a_table_without_a_label_column_has_no_labels(flat: Path) -> None:
    file = flat.parent / "table.csv"
    file.write_text("path,colour\n" + "".join(f"flat/{row}.png,red\n" for row in range(6)))
    for suite in ("smoke", "natural"):
        with pytest.raises(UserError, match=rf"None of the 6 images.*suite {suite} needs labels"):
            windtunnel.plan("demo", file, suite)
    model = write_colour_model(flat.parent / "m.onnx", classes=1000)
    Path(f"{model}.toml").write_text('labels = "imagenet-1k"\n')
    plan = windtunnel.plan(model, file, "systematic")
    assert plan.predictions
    assert not any("of the map" in remark for remark in plan.info.remarks)  # none was given
    assert any("has no column labels or label" in remark for remark in plan.info.remarks)


def test_frames_of_a_table_without_a_label_column_are_refused(flat: Path) -> None:
    file = flat.parent / "frames.csv"
    file.write_text("file,set,offset\nflat/0.png,a,0\nflat/1.png,a,1\n")
    with pytest.raises(UserError, match=r"no column labels or label.*Frames need labels"):
        windtunnel.plan("demo", file, "pm-k")


@pytest.mark.parametrize("command", ["plan", "run"])
def test_images_without_a_label_are_counted_in_the_terminal(flat: Path, command: str) -> None:
    some = [
        command,
        "demo",
        str(table(flat, [0, 1, 2, 3, 4, ""])),
        "--suite",
        "smoke",
        "--only",
        "contrast:1",
    ]
    options = ["--labels-are-outputs", "--out", str(flat.parent / "run")]
    done = CliRunner().invoke(cli, [*some, *options])
    assert done.exit_code == 0, done.output
    note = "1 image without a label is not in error rates."
    assert note in done.output
    if command == "run":
        assert note in done.stdout
        assert note in CliRunner().invoke(cli, ["score", str(flat.parent / "run")]).stdout
    else:
        counts = json.loads(CliRunner().invoke(cli, [*some, *options, "--json"]).stdout)
        assert counts["unlabelled"] == 1


def test_a_negative_label_is_named_with_its_image(flat: Path) -> None:
    with pytest.raises(UserError, match=r"label -3 \(image 'flat/5.png'\) is negative.*count from 0"):
        windtunnel.plan("demo", table(flat, [0, 1, 2, 3, 4, -3]), "smoke")


@pytest.mark.parametrize("label", [10**12, 100_000, -1])
def test_a_label_of_an_array_that_is_no_class_is_named(label: int) -> None:
    labels = np.array([3, 1, label, 0])
    with pytest.raises(UserError, match=rf"label of row 2 is {label} \(1 such row\).*0 to 99,999"):
        ArrayDataset(np.zeros((4, 32, 32, 3), np.uint8), labels)


def test_a_label_beyond_the_outputs_is_named_with_its_image(flat: Path) -> None:
    with pytest.raises(
        UserError, match=r"1 of 6 labels.*not among the model's 10 outputs.*99999 \(image 'flat/5"
    ):
        windtunnel.plan("demo", table(flat, [0, 1, 2, 3, 4, 99999]), "smoke")


@pytest.mark.parametrize("stray", ["extra", 10**12])
def test_a_class_name_unlike_all_others_is_named_with_its_image(flat: Path, stray: object) -> None:
    mixed = table(flat, [0, 1, 2, 3, 4, stray])
    with pytest.raises(UserError, match=rf"class names are class indices, '{stray}' is not \(image 'flat/5"):
        windtunnel.plan("demo", mixed, "smoke")
    unnamed = windtunnel.plan(lambda batch: np.eye(6)[batch[:, 0, 0, 0] % 6], mixed, "smoke")
    assert any(f"'{stray}' is not" in remark for remark in unnamed.info.remarks)


@pytest.mark.parametrize("stray", ["cat", "3.5", 99999999999])
def test_a_stray_label_is_named_first_and_to_be_corrected(flat: Path, stray: object) -> None:
    model = write_colour_model(flat.parent / "m.onnx", classes=1000)
    Path(f"{model}.toml").write_text('labels = "imagenet-1k"\n')
    with pytest.raises(UserError) as refused:
        windtunnel.plan(model, table(flat, [0, 1, 2, 3, 4, stray]), "smoke")
    said = str(refused.value)
    assert said.startswith(f"5 of 6 class names are class indices, '{stray}' is not (image 'flat/5.png')")
    assert said.index("Correct such a label") < said.index("6 of the data's 6 classes")


def test_one_class_without_an_output_is_written_in_the_singular(flat: Path) -> None:
    model = write_colour_model(flat.parent / "m.onnx", classes=3)
    Path(f"{model}.toml").write_text('labels = ["cat", "dog", "cow"]\n')
    with pytest.raises(UserError, match=r"1 of the data's 3 classes \('elk'\) is not among the 3 outputs"):
        windtunnel.plan(model, table(flat, ["cat", "dog", "elk", "cat", "dog", "elk"]), "smoke")


def test_a_stray_folder_among_wordnet_ids_is_named(tmp_path: Path, flat: Path) -> None:
    for name in ("n01440764", "n01443537", "n01484850", "notes"):
        (tmp_path / "set" / name).mkdir(parents=True)
        Image.new("RGB", (32, 32)).save(tmp_path / "set" / name / "0.png")
    model = write_colour_model(tmp_path / "m.onnx", classes=1000)
    with pytest.raises(
        UserError, match=r"3 of 4 class names are WordNet ids.*'notes' is not \(image 'notes/0"
    ):
        windtunnel.plan(model, tmp_path / "set", "smoke")


@pytest.fixture
def predicted(tmp_path: Path, digit_folder: Path) -> Path:
    """Predictions of forty digits under three conditions."""
    rng = np.random.default_rng(0)
    with (tmp_path / "all.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["sample_id", "condition", *range(10)])
        for file in sorted(digit_folder.glob("*/*.png")):
            for condition in ("clean", "fog:1", "fog:2"):
                writer.writerow([file.relative_to(digit_folder), condition, *rng.normal(size=10)])
    return tmp_path / "all.csv"


def test_partial_says_what_is_left_and_refuses_nothing_at_all(predicted: Path, digit_folder: Path) -> None:
    lines = predicted.read_text().splitlines(keepends=True)
    part = predicted.with_name("part.csv")
    part.write_text("".join([*lines[:2], *lines[3:]]))  # the first image under fog:1
    with pytest.raises(
        UserError,
        match=r"1 prediction missing \(such as [^)]*\)\. partial=True scores only the 39 of 40 images",
    ):
        windtunnel.score_predictions(part, digit_folder, "imagenet-c")
    part.write_text("".join(line for line in lines if "fog:2" not in line or line == lines[3]))
    found = windtunnel.score_predictions(
        part, digit_folder, "imagenet-c", partial=True, out=part.with_name("run")
    )
    assert {score.n for score in found.scores()} == {1}
    # Every image lacks one of the three: nothing would be left.
    part.write_text(
        "".join([lines[0], *(line for row, line in enumerate(lines[1:]) if row // 3 % 3 != row % 3)])
    )
    for partial in (False, True):
        with pytest.raises(
            UserError,
            match=r"No image has a prediction under every condition; clean lacks the most, 14 of 40",
        ):
            windtunnel.score_predictions(part, digit_folder, "imagenet-c", partial=partial)


def test_a_huge_class_among_predictions_is_refused(tmp_path: Path, digit_folder: Path) -> None:
    ids = [file.relative_to(digit_folder) for file in sorted(digit_folder.glob("*/*.png"))]
    rows = "".join(f"{id_},{10**12 if not row else 1},2\n" for row, id_ in enumerate(ids))
    (tmp_path / "top.csv").write_text("sample_id,top1,top2\n" + rows)
    with pytest.raises(UserError, match=r"highest of its best classes is 1000000000000.*0 to 99,999"):
        windtunnel.score_predictions(tmp_path / "top.csv", digit_folder, "smoke", labels_are_outputs=True)


def test_slices_say_why_some_are_not_shown(
    tmp_path: Path, digit_folder: Path, windtunnel_command: Command
) -> None:
    windtunnel.run("demo", digit_folder, "smoke", only=["fog:1"], out=tmp_path / "run")
    sizes = {folder.name: len(list(folder.iterdir())) for folder in digit_folder.iterdir()}
    largest = max(sizes.values())
    out = windtunnel_command("slices", "run", "--by", "class", "--minimum", largest + 1)
    assert f"10 slices have fewer than {largest + 1} images" in out.stdout
    assert f"with {largest}; --minimum {largest} shows it" in out.stdout
    shown = windtunnel_command("slices", "run", "--by", "class", "--minimum", largest)
    assert f"n = {largest}" in shown.stdout
    empty = windtunnel_command("slices", "run", "--by", "class", "--minimum", largest + 1, "--json")
    assert empty.stdout.strip() == "[]" and "10 slices have fewer" in empty.stderr
    for bad in ("--minimum", "0"), ("--minimum", "-5"), ("--top", "0"):
        assert windtunnel_command("slices", "run", "--by", "class", *bad).returncode == 2
    alone = [name for name, size in sizes.items() if size == 1]
    every = windtunnel_command("slices", "run", "--by", "class", "--minimum", 1).stdout
    assert ("one image or one group only" in every) == bool(alone)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("ir", r"m\.onnx has ONNX IR version 99; ONNX Runtime \S+ supports IR versions up to \d+\. Export"),
        ("opset", r"m\.onnx has ONNX opset 99; ONNX Runtime \S+ supports opsets up to \d+\. Export"),
        ("domain", r"m\.onnx has ONNX opset 99 of domain ai\.onnx\.ml; .* supports opsets up to \d\. Export"),
    ],
)
def test_a_newer_onnx_file_names_its_version_and_the_newest_supported(
    tmp_path: Path, change: str, words: str
) -> None:
    path = write_colour_model(tmp_path / "m.onnx")
    model = onnx.load(path)
    if change == "ir":
        model.ir_version = 99
    elif change == "opset":
        model.opset_import[0].version = 99
    else:
        model.opset_import.append(onnx.helper.make_opsetid("ai.onnx.ml", 99))
    path.write_bytes(model.SerializeToString())
    with pytest.raises(UserError, match=words):
        windtunnel.load_model(path)


@pytest.mark.parametrize(
    ("workers", "number", "times"),
    [(1, signal.SIGINT, 1), (2, signal.SIGTERM, 1), (2, signal.SIGINT, 2)],
)
def test_an_interruption_finishes_shards_and_says_how_much_is_stored(
    tmp_path: Path, digit_folder: Path, workers: int, number: signal.Signals, times: int
) -> None:
    (tmp_path / "slow.py").write_text(
        "import time, numpy as np\n"
        "def make():\n"
        "    def predict(batch):\n"
        "        time.sleep(0.03 * len(batch))\n"
        "        return np.tile(np.arange(10.0), (len(batch), 1))\n"
        "    return predict\n"
    )
    options = ["--suite", "smoke", "--chunk", "2", "--workers", str(workers), "--out", "run"]
    process = subprocess.Popen(
        [sys.executable, "-m", "windtunnel", "run", "slow.py:make", str(digit_folder), *options],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        # A test run in the background of a shell ignores interruptions, and its processes would, too.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    shards = tmp_path / "run" / "shards"
    until = time.monotonic() + 60
    while time.monotonic() < until and len(list(shards.glob("*.parquet"))) < 3:
        time.sleep(0.05)
    for _ in range(times):
        process.send_signal(number)
        time.sleep(0.1)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert "Finishing the work in progress; Ctrl-C again stops at once." in said
    stored = len(list(shards.glob("*.parquet"))) * 22
    last = said.splitlines()[-1]
    assert stored < 440 and last.startswith(f"stopped. {stored} of 440 predictions are stored in run"), said
    assert re.search(r"\. To continue: windtunnel run slow\.py:make", last)
    lost = re.search(r"; (\d+) of unfinished shards are lost", last)
    if times == 1:
        assert lost is None
    assert lost is None or 0 < int(lost[1]) <= 22 * workers


class Echo:
    """A job that returns the name of every chunk."""

    needs = Needs()

    def begin(self) -> ItemFunction[Chunk]:
        return lambda chunk, _advance: chunk.name


def test_a_worker_that_is_still_starting_survives_an_interruption(capfd: pytest.CaptureFixture[str]) -> None:
    """A terminal sends Ctrl-C to every process; the parent reports it, workers print nothing."""
    interrupted: list[int] = []

    def interrupt() -> None:
        until = time.monotonic() + 30
        while not interrupted and time.monotonic() < until:
            for worker in multiprocessing.active_children():
                if worker.pid is not None:
                    interrupted.append(worker.pid)
                    os.kill(worker.pid, signal.SIGINT)
            time.sleep(0.001)

    thread = threading.Thread(target=interrupt)
    thread.start()
    found = []
    for chunk, content in processes.work(Echo(), [Chunk("a", ())], 1, lambda _done, _failed: None, None):
        found.append((chunk.name, content))
        # The first worker's chunk is not the work of another one.
        assert [worker.pid for worker in multiprocessing.active_children()] == interrupted
    thread.join()
    assert found == [("a", "a")]
    assert "Traceback" not in capfd.readouterr().err
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_a_run_of_which_nothing_is_stored_says_so(tmp_path: Path, digit_folder: Path) -> None:
    run = tmp_path / "run"
    windtunnel.run("demo", digit_folder, "smoke", only=["contrast:1"], out=run)
    for shard in (run / "shards").iterdir():
        shard.unlink()
    done = CliRunner().invoke(cli, ["score", str(run)])
    assert "(0 of 120 predictions) and has no stored predictions yet" in str(done.exception)


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        (["--partial"], "--partial applies"),
        (["--suite", "smoke", "--data", "demo"], "--data, --suite apply"),
        (["--seed", "0"], "--seed applies"),
        (["--map", "a.csv", "--csv"], "--map applies"),
    ],
)
def test_options_of_predictions_are_refused_for_a_run_folder(given: list[str], refused: str) -> None:
    done = CliRunner().invoke(cli, ["score", "run", *given])
    assert str(done.exception).startswith(f"{refused} to --predictions only; leave ")


def test_a_failure_says_how_much_is_stored(windtunnel_command: Command, tmp_path: Path) -> None:
    (tmp_path / "fragile.py").write_text(
        "import numpy as np\n"
        "def make():\n"
        "    calls = []\n"
        "    def predict(batch):\n"
        "        calls.append(1)\n"
        "        if len(calls) > 30:\n"
        "            raise MemoryError('no room')\n"
        "        return np.tile(np.arange(10.0), (len(batch), 1))\n"
        "    return predict\n"
    )
    options = ("--suite", "smoke", "--workers", 1, "--chunk", 7, "--subset", 100, "--out", "run")
    out = windtunnel_command("run", "fragile.py:make", "demo", *options)
    assert out.returncode == 70
    stored = len(list((tmp_path / "run" / "shards").glob("*.parquet"))) * 77
    assert f"no room. {stored} of 1,100 predictions are stored in run" in out.stderr.splitlines()[-1]
